"""Whole models as people wrote them, used by record_models.py (Chainer) and by the tests (ours).

Each is trained for a few steps with Adam or SGD; the losses and samples of all parameters count.
"""
import numpy as np


def classes(chainer):
    """The models, as classes of the given chainer."""
    F, L = chainer.functions, chainer.links

    class Seq2seq(chainer.Chain):
        """Encoder and decoder with NStepLSTM, as in the seq2seq example."""

        def __init__(self, n_source=12, n_target=10, n_units=6):
            super().__init__()
            with self.init_scope():
                self.embed_x = L.EmbedID(n_source, n_units)
                self.embed_y = L.EmbedID(n_target, n_units)
                self.encoder = L.NStepLSTM(2, n_units, n_units, .1)
                self.decoder = L.NStepLSTM(2, n_units, n_units, .1)
                self.W = L.Linear(n_units, n_target)

        def forward(self, xs, ys):
            eos = np.array([0], np.int32)
            ys_in = [F.concat([eos, y], axis=0) for y in ys]
            ys_out = [F.concat([y, eos], axis=0) for y in ys]
            exs = self.embed(self.embed_x, xs)
            eys = self.embed(self.embed_y, ys_in)
            hx, cx, _ = self.encoder(None, None, exs)
            _, _, os = self.decoder(hx, cx, eys)
            concat_os = F.concat(os, axis=0)
            concat_ys_out = F.concat(ys_out, axis=0)
            return F.sum(F.softmax_cross_entropy(
                self.W(concat_os), concat_ys_out, reduce='no')) / len(xs)

        @staticmethod
        def embed(table, xs):
            lengths = [len(x) for x in xs]
            sections = np.cumsum(lengths[:-1])
            return F.split_axis(table(F.concat(xs, axis=0)), sections, 0)

    class Word2vec(chainer.Chain):
        """Skip-gram with negative sampling, as in the word2vec example."""

        def __init__(self, n_vocab=15, n_units=5):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(
                    n_vocab, n_units,
                    initialW=chainer.initializers.Uniform(1. / n_units))
                self.loss_func = L.NegativeSampling(
                    n_units, [i + 1 for i in range(n_vocab)], 3)

        def forward(self, x, contexts):
            e = self.embed(contexts)
            n_batch, n_context, n_units = e.shape
            x = F.broadcast_to(x[:, None], (n_batch, n_context))
            e = F.reshape(e, (n_batch * n_context, n_units))
            x = F.reshape(x, (n_batch * n_context,))
            return self.loss_func(e, x)

    class LanguageModel(chainer.Chain):
        """LSTM language model over several steps, as in the ptb example."""

        def __init__(self, n_vocab=15, n_units=6):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(n_vocab, n_units)
                self.l1 = L.LSTM(n_units, n_units)
                self.l2 = L.LSTM(n_units, n_units)
                self.l3 = L.Linear(n_units, n_vocab)
            for param in self.params():
                param.array[...] = np.random.uniform(-.1, .1, param.shape)

        def step(self, x):
            h0 = self.embed(x)
            h1 = self.l1(F.dropout(h0))
            h2 = self.l2(F.dropout(h1))
            return self.l3(F.dropout(h2))

        def forward(self, xs, ts):
            self.l1.reset_state()
            self.l2.reset_state()
            loss = 0
            for x, t in zip(xs, ts):  # noqa: B905  Python 3.8
                loss += F.softmax_cross_entropy(self.step(x), t)
            return loss

    class Generator(chainer.Chain):
        """Generator of a small DCGAN."""

        def __init__(self, ch=8):
            super().__init__()
            w = chainer.initializers.Normal(.02)
            with self.init_scope():
                self.l0 = L.Linear(4, 4 * 4 * ch, initialW=w)
                self.dc1 = L.Deconvolution2D(ch, ch // 2, 4, 2, 1, initialW=w)
                self.dc2 = L.Deconvolution2D(ch // 2, 3, 3, 1, 1, initialW=w)
                self.bn0 = L.BatchNormalization(4 * 4 * ch)
                self.bn1 = L.BatchNormalization(ch // 2)

        def forward(self, z):
            h = F.reshape(F.relu(self.bn0(self.l0(z))), (len(z), -1, 4, 4))
            h = F.relu(self.bn1(self.dc1(h)))
            return F.sigmoid(self.dc2(h))

    class Discriminator(chainer.Chain):
        """Discriminator of a small DCGAN, with noise."""

        def __init__(self, ch=8):
            super().__init__()
            w = chainer.initializers.Normal(.02)
            with self.init_scope():
                self.c0 = L.Convolution2D(3, ch // 2, 3, 1, 1, initialW=w)
                self.c1 = L.Convolution2D(ch // 2, ch, 4, 2, 1, initialW=w)
                self.l2 = L.Linear(4 * 4 * ch, 1, initialW=w)
                self.bn1 = L.BatchNormalization(ch, use_gamma=False)

        def forward(self, x):
            h = x + .2 * np.random.randn(*x.shape).astype(np.float32)
            h = F.leaky_relu(self.c0(h))
            h = F.leaky_relu(self.bn1(self.c1(h)))
            return self.l2(h)

    class Gan(chainer.Chain):
        """Both losses of a DCGAN, added."""

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.gen = Generator()
                self.dis = Discriminator()

        def forward(self, x_real, z):
            x_fake = self.gen(z)
            y_fake, y_real = self.dis(x_fake), self.dis(x_real)
            n = len(x_real)
            return (F.sum(F.softplus(-y_real)) + F.sum(F.softplus(y_fake))
                    + F.sum(F.softplus(-y_fake))) / n

    return {c.__name__: c for c in (Seq2seq, Word2vec, LanguageModel, Gan)}


def ids(rng, high, *shape):
    return rng.randint(1, high, shape).astype(np.int32)


INPUTS = {
    'Seq2seq': lambda rng: (
        [ids(rng, 12, n) for n in (3, 5, 2)], [ids(rng, 10, n) for n in (4, 2, 3)]),
    'Word2vec': lambda rng: (ids(rng, 15, 4), ids(rng, 15, 4, 3)),
    'LanguageModel': lambda rng: (
        [ids(rng, 15, 4) for _ in range(5)], [ids(rng, 15, 4) for _ in range(5)]),
    'Gan': lambda rng: (
        rng.uniform(0, 1, (4, 3, 8, 8)).astype(np.float32),
        rng.uniform(-1, 1, (4, 4)).astype(np.float32)),
}
NAMES = sorted(INPUTS)


def train(chainer, name, cls, n_steps=3):
    """Losses of all steps, and samples of the parameters and of their gradients at the end."""
    np.random.seed(0)
    model = cls()
    optimizer = chainer.optimizers.SGD(.1).setup(model)
    losses = []
    for step in range(n_steps):
        args = INPUTS[name](np.random.RandomState(step))
        np.random.seed(step)
        model.cleargrads()
        loss = model(*args)
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    results = {'losses': np.array(losses)}
    for path, param in sorted(model.namedparams()):
        results['param ' + path] = param.array.ravel()[:7]
        results['grad ' + path] = param.grad.ravel()[:7]
    return results
