"""A network that looks at a picture and writes a sentence.

See J. Donahue et al., "Long-term Recurrent Convolutional Networks for Visual Recognition and
Description" (arXiv:1411.4389). The convolutions are small, and trained together with the rest.
"""
import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


class ImageEncoder(chainer.Chain):
    """Makes a vector of a picture."""

    def __init__(self, n_units, n_channels=16):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, n_channels, 3, 1, 1)
            self.conv2 = L.Convolution2D(n_channels, 2 * n_channels, 3, 1, 1)
            self.conv3 = L.Convolution2D(2 * n_channels, 4 * n_channels, 3, 1, 1)
            self.fc = L.Linear(None, n_units)

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.max_pooling_2d(F.relu(conv(x)), 2)
        return self.fc(x)


class CaptionModel(chainer.Chain):
    """An LSTM network that gets the vector of the picture with each word."""

    def __init__(self, n_vocab, n_units, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.encoder = ImageEncoder(n_units)
            self.embed = L.EmbedID(n_vocab, n_units, ignore_label=-1)
            self.lstm = L.NStepLSTM(1, 2 * n_units, n_units, dropout)
            self.out = L.Linear(n_units, n_vocab)

    def step(self, h, c, v, words):
        """Go on by some words for each picture.

        Args:
            h, c: The state, ``None`` at the beginning.
            v: Vectors of the pictures, of the shape (pictures, n_units).
            words: Array of the shape (pictures, words).

        Returns:
            The state and the scores of the words that follow, of the shape
            (pictures * words, n_vocab).
        """
        e = self.embed(words)
        x = F.concat([e, F.broadcast_to(v[:, None], e.shape)], axis=2)
        h, c, y = self.lstm(h, c, [row[0] for row in F.split_axis(x, len(x), axis=0)])
        return h, c, self.out(F.dropout(F.concat(y, axis=0), self.dropout))

    def scores(self, images, words):
        return self.step(None, None, self.encoder(images), words)[-1]

    def forward(self, images, words, next_words):
        scores = self.scores(images, words)
        targets = next_words.reshape(-1)
        loss = F.softmax_cross_entropy(scores, targets, ignore_label=-1)
        accuracy = F.accuracy(scores, targets, ignore_label=-1)
        chainer.report({'loss': loss, 'accuracy': accuracy}, self)
        return loss

    def describe(self, images, begin, end, max_length=20):
        """Return a sentence about each picture, the likeliest word at each place."""
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            v = self.encoder(images)
            h = c = None
            written = [self.xp.full((len(images), 1), begin, np.int32)]
            for _ in range(max_length):
                h, c, scores = self.step(h, c, v, written[-1])
                written.append(scores.array.argmax(axis=1).astype(np.int32)[:, None])
        sentences = chainer.backends.cuda.to_cpu(self.xp.concatenate(written, axis=1)[:, 1:])
        return [(words + [end])[:(words + [end]).index(end)] for words in sentences.tolist()]
