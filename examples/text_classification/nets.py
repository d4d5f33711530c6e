"""Three ways to make a vector of a text, and a classifier of the vectors."""
import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


def embed_all(embed, xs):
    """Embed a list of texts by one call; return a list of matrices."""
    sections = np.cumsum([len(x) for x in xs[:-1]])
    return F.split_axis(embed(F.concat(xs, axis=0)), sections, axis=0)


class RNNEncoder(chainer.Chain):
    """The state of an LSTM network that has read the text."""

    def __init__(self, n_layers, n_vocab, n_units, dropout=0.1):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.encoder = L.NStepLSTM(n_layers, n_units, n_units, dropout)

    def forward(self, xs):
        h, _, _ = self.encoder(None, None, embed_all(self.embed, xs))
        return h[-1]


class CNNEncoder(chainer.Chain):
    """The largest outputs of filters over 3, 4 and 5 words.

    See Y. Kim, "Convolutional Neural Networks for Sentence Classification" (arXiv:1408.5882).
    """

    def __init__(self, n_layers, n_vocab, n_units, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, ignore_label=-1)
            self.filters = chainer.ChainList(*[
                L.Convolution1D(n_units, n_units, ksize=width, pad=width // 2)
                for width in (3, 4, 5)])
            self.mix = chainer.ChainList(*[
                L.Linear(3 * n_units, 3 * n_units) for _ in range(n_layers - 1)])
            self.out = L.Linear(3 * n_units, n_units)

    def forward(self, xs):
        x = F.pad_sequence(xs, padding=-1)  # the vector of -1 is zero
        e = F.dropout(F.transpose(self.embed(x), (0, 2, 1)), self.dropout)
        h = F.concat([F.max(F.relu(f(e)), axis=2) for f in self.filters])
        for layer in self.mix:
            h = F.relu(layer(F.dropout(h, self.dropout)))
        return F.tanh(self.out(F.dropout(h, self.dropout)))


class BOWEncoder(chainer.Chain):
    """The mean of the vectors of the words, and layers on top of it."""

    def __init__(self, n_layers, n_vocab, n_units, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.mix = chainer.ChainList(*[
                L.Linear(n_units, n_units) for _ in range(n_layers)])

    def forward(self, xs):
        h = F.stack([F.average(e, axis=0) for e in embed_all(self.embed, xs)])
        for layer in self.mix:
            h = F.tanh(layer(F.dropout(h, self.dropout)))
        return h


ENCODERS = {'rnn': RNNEncoder, 'cnn': CNNEncoder, 'bow': BOWEncoder}


class TextClassifier(chainer.Chain):
    """Scores of the classes of texts."""

    def __init__(self, encoder, n_class, n_units, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.encoder = encoder
            self.output = L.Linear(n_units, n_class)

    def scores(self, xs):
        return self.output(F.dropout(self.encoder(xs), self.dropout))

    def forward(self, xs, ys):
        scores = self.scores(xs)
        loss = F.softmax_cross_entropy(scores, ys)
        chainer.report({'loss': loss, 'accuracy': F.accuracy(scores, ys)}, self)
        return loss

    def predict(self, xs):
        """Return the probabilities of the classes."""
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            return F.softmax(self.scores(xs)).array
