"""Text: translation, language models, classification, attention."""

import math

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

from .case import Case, case, padded, rng, sentences

EOS = 1


def _embedded(embed, xs):
    """One call of the embedding for all sequences, cut again."""
    ends = np.cumsum([len(x) for x in xs[:-1]])
    return F.split_axis(embed(F.concat(xs, axis=0)), ends, 0)


class Seq2seq(chainer.Chain):
    """Encoder and decoder by NStepLSTM, as in the seq2seq example."""

    def __init__(self, layers=2, units=16, words=30):
        super().__init__()
        with self.init_scope():
            self.embed_x, self.embed_y = L.EmbedID(words, units), L.EmbedID(words, units)
            self.encoder = L.NStepLSTM(layers, units, units, 0.1)
            self.decoder = L.NStepLSTM(layers, units, units, 0.1)
            self.out = L.Linear(units, words)

    def forward(self, xs, ys):
        xs = [x[::-1] for x in xs]
        eos = np.array([EOS], "i")
        ys_in = [F.concat([eos, y], axis=0) for y in ys]
        ys_out = [F.concat([y, eos], axis=0) for y in ys]
        hx, cx, _ = self.encoder(None, None, _embedded(self.embed_x, xs))
        _, _, os = self.decoder(hx, cx, _embedded(self.embed_y, ys_in))
        concat_out = F.concat(ys_out, axis=0)
        loss = F.sum(
            F.softmax_cross_entropy(self.out(F.concat(os, axis=0)), concat_out, reduce="no")
        )
        loss = loss / len(xs)
        n_words = concat_out.shape[0]
        chainer.report({"loss": loss, "perp": np.exp(loss.array * len(xs) / n_words)}, self)
        return loss


@case
def seq2seq_ragged(compiled):
    """Fresh lengths in each batch."""
    model = type("Model", (Seq2seq,), {"forward": compiled(Seq2seq.forward)})()

    def batch(k):
        return sentences(r=rng(k)), sentences(r=rng(k + 7777))

    return Case(model, batch)


@case
def seq2seq_bucketed(compiled):
    """Lengths that come back: four buckets."""
    model = type("Model", (Seq2seq,), {"forward": compiled(Seq2seq.forward)})()

    def batch(k):
        lengths = rng(k % 4).randint(2, 12, 6)
        r = rng(k)
        xs = [r.randint(2, 30, n).astype("i") for n in lengths]
        return xs, [x[::-1].copy() for x in xs]

    return Case(model, batch)


class Lm(chainer.Chain):
    """A language model with state in its links."""

    def __init__(self, words=50, units=24):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(words, units)
            self.l1, self.l2 = L.LSTM(units, units), L.LSTM(units, units)
            self.out = L.Linear(units, words)

    def reset_state(self):
        self.l1.reset_state()
        self.l2.reset_state()

    def forward(self, x):
        h = self.l1(F.dropout(self.embed(x)))
        h = self.l2(F.dropout(h))
        return self.out(F.dropout(h))


@case
def rnnlm_stateful(compiled):
    """Truncated backpropagation: a decorated call a word, one backward for five."""
    model = type("Model", (Lm,), {"forward": compiled(Lm.forward)})()

    def batch(k):
        words = rng(k).randint(0, 50, (6, 8)).astype("i")
        return (words,)

    def step(words):
        model.cleargrads()
        loss = 0
        for x, t in zip(words[:-1], words[1:], strict=True):
            loss += F.softmax_cross_entropy(model(x), t)
        loss.backward()
        loss.unchain_backward()
        return loss

    return Case(model, batch, step)


@case
def rnnlm_unrolled(compiled):
    """The whole loop over time in one method, state carried from batch to batch."""

    class Whole(Lm):
        def step(self, x):
            return Lm.forward(self, x)

        @compiled
        def forward(self, words):
            loss = 0
            for x, t in zip(words[:-1], words[1:], strict=True):
                loss += F.softmax_cross_entropy(self.step(x), t)
            return loss

    model = Whole()

    def batch(k):
        return ([*rng(k).randint(0, 50, (12, 8)).astype("i")],)

    def step(words):
        model.cleargrads()
        loss = model(words)
        loss.backward()
        loss.unchain_backward()
        return loss

    return Case(model, batch, step)


@case
def gru_language_model(compiled):
    """A hand-written cell and tied weights."""

    class Model(chainer.Chain):
        def __init__(self, words=40, units=16):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(words, units)
                self.cell = L.StatelessGRU(units, units)
                self.bias = chainer.Parameter(0, (words,))

        @compiled
        def forward(self, words):
            h, loss = np.zeros((len(words[0]), self.embed.W.shape[1]), "f"), 0
            for x, t in zip(words[:-1], words[1:], strict=True):
                h = self.cell(h, self.embed(x))
                loss += F.softmax_cross_entropy(F.linear(h, self.embed.W, self.bias), t)
            return loss / (len(words) - 1)

    return Case(Model(), lambda k: ([*rng(k).randint(0, 40, (10, 6)).astype("i")],))


@case
def char_lm_sampling(compiled):
    """Generation: the next word is drawn by NumPy from the model's output; no backward."""
    model = type("Model", (Lm,), {"forward": compiled(Lm.forward)})()

    def step(start):
        model.cleargrads()
        model.reset_state()
        words = [start]
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            for _ in range(8):
                p = F.softmax(model(np.array([words[-1]], "i"))).array[0].astype("d")
                words.append(int(np.random.choice(len(p), p=p / p.sum())))
        return words

    return Case(model, lambda k: (int(rng(k).randint(50)),), step)


class Classifier(chainer.Chain):
    def __init__(self, encoder, units):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(30, 12, initialW=chainer.initializers.Uniform(0.25))
            self.encoder = encoder
            self.out = L.Linear(units, 4)

    def forward(self, xs, ts):
        h = self.encoder([F.dropout(e, 0.2) for e in _embedded(self.embed, xs)])
        y = self.out(F.dropout(h, 0.4))
        ts = np.array(ts, "i")
        loss = F.softmax_cross_entropy(y, ts)
        chainer.report({"loss": loss.array, "accuracy": F.accuracy(y, ts).array}, self)
        return loss


def _classification(compiled, encoder, units, longest=12):
    model = type("Model", (Classifier,), {"forward": compiled(Classifier.forward)})(encoder, units)

    def batch(k):
        r = rng(k)
        return sentences(6, longest, 30, r), [int(t) for t in r.randint(0, 4, 6)]

    return Case(model, batch)


@case
def text_classification_lstm(compiled):
    class Encoder(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.rnn = L.NStepBiLSTM(1, 12, 8, 0.2)

        def forward(self, exs):
            hy, _, _ = self.rnn(None, None, exs)
            return F.concat([hy[0], hy[1]], axis=1)

    return _classification(compiled, Encoder(), 16)


@case
def text_classification_bow(compiled):
    class Encoder(chainer.Chain):
        def forward(self, exs):
            return F.stack([F.sum(e, axis=0) / e.shape[0] for e in exs])

    return _classification(compiled, Encoder(), 12)


@case
def text_classification_cnn(compiled):
    """Filters of three widths over padded sentences."""

    class Encoder(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                for w in (3, 4, 5):
                    setattr(self, f"cnn{w}", L.Convolution2D(12, 6, (w, 1), pad=(w // 2, 0)))

        def forward(self, exs):
            block = F.pad_sequence(exs, max(len(e) for e in exs) + 4, 0.0)
            block = F.transpose(block, (0, 2, 1))[..., None]
            hs = [F.relu(self[f"cnn{w}"](block)) for w in (3, 4, 5)]
            hs = [F.max(h, axis=(2, 3)) for h in hs]
            return F.concat(hs, axis=1)

    return _classification(compiled, Encoder(), 18)


@case
def hierarchical_attention(compiled):
    """Attention over words with a mask."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(30, 10, ignore_label=-1)
                self.gru = L.NStepBiGRU(1, 10, 6, 0.0)
                self.proj, self.context = L.Linear(12, 8), L.Linear(8, 1)
                self.out = L.Linear(12, 4)

        @compiled
        def forward(self, xs, t):
            _, hs = self.gru(None, [self.embed(x) for x in xs])
            block = F.pad_sequence(hs)
            n, length, units = block.shape
            score = self.context(F.tanh(self.proj(F.reshape(block, (-1, units)))))
            mask = np.arange(length)[None] < np.array([len(x) for x in xs])[:, None]
            score = F.where(mask, F.reshape(score, (n, length)), np.full((n, length), -1e9, "f"))
            weight = F.softmax(score, axis=1)
            self.weight = weight
            pooled = F.sum(block * F.broadcast_to(weight[..., None], block.shape), axis=1)
            return F.softmax_cross_entropy(self.out(pooled), t)

    def batch(k):
        r = rng(k)
        return sentences(5, 9, 30, r), r.randint(0, 4, 5).astype("i")

    return Case(Model(), batch)


# -- Attention ------


class MultiHead(chainer.Chain):
    def __init__(self, units, heads, dropout=0.1):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        with self.init_scope():
            for name in "qkvo":
                setattr(self, name, L.Linear(units, units, nobias=True))

    def split(self, x):
        b, n, u = x.shape
        return F.transpose(F.reshape(x, (b, n, self.heads, u // self.heads)), (0, 2, 1, 3))

    def forward(self, x, z, mask):
        b, n, u = x.shape
        q = self.split(self.q(x, n_batch_axes=2))
        k = self.split(self.k(z, n_batch_axes=2))
        v = self.split(self.v(z, n_batch_axes=2))
        scores = F.matmul(q, k, transb=True) * (u // self.heads) ** -0.5
        mask = np.broadcast_to(mask[:, None], scores.shape)
        scores = F.where(mask, scores, np.full(scores.shape, -1e9, "f"))
        weights = F.dropout(F.softmax(scores, axis=3), self.dropout)
        h = F.reshape(F.transpose(F.matmul(weights, v), (0, 2, 1, 3)), (b, n, u))
        return self.o(h, n_batch_axes=2)


class Block(chainer.Chain):
    def __init__(self, units, heads, cross=False, act=F.relu):
        super().__init__()
        self.act = act
        with self.init_scope():
            self.own = MultiHead(units, heads)
            self.cross = MultiHead(units, heads) if cross else None
            self.up, self.down = L.Linear(units, 2 * units), L.Linear(2 * units, units)
            for k in range(3 if cross else 2):
                setattr(self, f"ln{k}", L.LayerNormalization(units))

    def norm(self, k, x):
        return F.reshape(self[f"ln{k}"](F.reshape(x, (-1, x.shape[2]))), x.shape)

    def forward(self, x, mask, z=None, zmask=None):
        x = self.norm(0, x + F.dropout(self.own(x, x, mask), 0.1))
        if z is not None:
            x = self.norm(2, x + F.dropout(self.cross(x, z, zmask), 0.1))
        h = self.down(self.act(self.up(x, n_batch_axes=2)), n_batch_axes=2)
        return self.norm(1, x + F.dropout(h, 0.1))


def _positions(length, units):
    """Sines and cosines, made anew in each call."""
    position = np.arange(length)[:, None] / 10000 ** (np.arange(0, units, 2) / units)
    return np.concatenate([np.sin(position), np.cos(position)], axis=1).astype("f")


class Transformer(chainer.Chain):
    def __init__(self, units=16, heads=4, layers=2, words=30):
        super().__init__()
        self.units = units
        with self.init_scope():
            self.embed = L.EmbedID(words, units, ignore_label=-1)
            self.encoder = chainer.ChainList(*[Block(units, heads) for _ in range(layers)])
            self.decoder = chainer.ChainList(*[Block(units, heads, True) for _ in range(layers)])

    def embedded(self, x):
        h = self.embed(x) * math.sqrt(self.units)
        return F.dropout(h + np.broadcast_to(_positions(x.shape[1], self.units), h.shape), 0.1)

    def forward(self, x, y_in, y_out):
        xmask = (x[:, None, :] >= 0) & np.ones((1, x.shape[1], 1), bool)
        cross = (x[:, None, :] >= 0) & np.ones((1, y_in.shape[1], 1), bool)
        future = np.tri(y_in.shape[1], dtype=bool)[None]
        z = self.embedded(x)
        for block in self.encoder:
            z = block(z, xmask)
        h = self.embedded(y_in)
        for block in self.decoder:
            h = block(h, future & (y_in[:, None, :] >= 0), z, cross)
        logits = F.linear(h, self.embed.W, n_batch_axes=2)
        rows = F.reshape(logits, (-1, logits.shape[2]))
        log_p = F.log_softmax(rows)
        t = y_out.reshape(-1)
        mask = (t >= 0).astype("f")
        picked = F.select_item(log_p, np.where(t < 0, 0, t).astype("i"))
        smooth = F.mean(log_p, axis=1)
        return -F.sum((0.9 * picked + 0.1 * smooth) * mask) / mask.sum()


def _translation(k, length=None):
    r = rng(k)
    xs, ys = sentences(4, 9, 30, r), sentences(4, 9, 30, r)
    y = [np.r_[EOS, y].astype("i") for y in ys], [np.r_[y, EOS].astype("i") for y in ys]
    more = None if length is None else length + 1
    return padded(xs, length), padded(y[0], more), padded(y[1], more)


@case
def transformer(compiled):
    """Label smoothing, masks, positions; batches padded to one length."""
    model = type("Model", (Transformer,), {"forward": compiled(Transformer.forward)})()
    return Case(model, lambda k: _translation(k, 9))


@case
def transformer_ragged(compiled):
    """Padded to the longest of each batch, so shapes change."""
    model = type("Model", (Transformer,), {"forward": compiled(Transformer.forward)})()
    return Case(model, _translation)


def gelu(x):
    return 0.5 * x * (1 + F.erf(x * 0.70710678))


@case
def bert(compiled):
    """Masked words and next sentences; the words to guess are picked by index."""

    class Bert(chainer.Chain):
        def __init__(self, units=16, words=40):
            super().__init__()
            with self.init_scope():
                self.word, self.kind = L.EmbedID(words, units), L.EmbedID(2, units)
                self.place = chainer.Parameter(chainer.initializers.Normal(0.02), (16, units))
                self.blocks = chainer.ChainList(*[Block(units, 4, act=gelu) for _ in range(2)])
                self.pool, self.next = L.Linear(units, units), L.Linear(units, 2)
                self.transform, self.bias = L.Linear(units, units), chainer.Parameter(0, (words,))

        @compiled
        def forward(self, x, kinds, where, words, follows):
            h = self.word(x) + self.kind(kinds)
            h = F.dropout(h + F.broadcast_to(self.place[: x.shape[1]], h.shape), 0.1)
            mask = (x[:, None, :] > 0) & np.ones((1, x.shape[1], 1), bool)
            for block in self.blocks:
                h = block(h, mask)
            rows = F.reshape(h, (-1, h.shape[2]))
            flat = (where + np.arange(len(x))[:, None] * x.shape[1]).reshape(-1)
            guess = F.relu(self.transform(F.embed_id(flat.astype("i"), rows)))
            guess = F.linear(guess, self.word.W, self.bias)
            lm = F.softmax_cross_entropy(guess, words.reshape(-1))
            pooled = F.tanh(self.pool(h[:, 0]))
            return lm + F.softmax_cross_entropy(self.next(pooled), follows)

    def batch(k):
        r = rng(k)
        x = r.randint(1, 40, (4, 12)).astype("i")
        kinds = (np.arange(12)[None] > r.randint(3, 9, (4, 1))).astype("i")
        where = np.stack([np.sort(r.choice(12, 2, False)) for _ in range(4)])
        words = x[np.arange(4)[:, None], where].copy()
        return x, kinds, where, words, r.randint(0, 2, 4).astype("i")

    return Case(Bert(), batch)


@case
def attention_decoder(compiled):
    """Bahdanau's attention, word by word, with scheduled sampling."""

    class Model(chainer.Chain):
        def __init__(self, units=12, words=25):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(words, units, ignore_label=-1)
                self.encoder = L.NStepBiLSTM(1, units, units, 0.0)
                self.cell = L.StatelessLSTM(3 * units, units)
                self.wh, self.ws = L.Linear(2 * units, units), L.Linear(units, units)
                self.v, self.out = L.Linear(units, 1), L.Linear(3 * units, words)

        @compiled
        def forward(self, xs, ys):
            _, _, hs = self.encoder(None, None, [self.embed(x) for x in xs])
            block = F.pad_sequence(hs)
            b, n, u = block.shape
            mask = np.array([[0.0] * len(x) + [-1e9] * (n - len(x)) for x in xs], "f")
            keys = F.reshape(self.wh(F.reshape(block, (-1, u))), (b, n, -1))
            c = s = None
            word, loss = np.full(b, EOS, "i"), 0
            s = chainer.Variable(np.zeros((b, u // 2), "f"))
            for t in ys.T:
                query = F.broadcast_to(self.ws(s)[:, None], keys.shape)
                energy = self.v(F.reshape(F.tanh(keys + query), (b * n, -1)))
                weight = F.softmax(F.reshape(energy, (b, n)) + mask)
                context = F.reshape(F.matmul(weight[:, None], block), (b, u))
                c, s = self.cell(c, s, F.concat([self.embed(word), context]))
                logits = self.out(F.concat([s, context]))
                loss += F.softmax_cross_entropy(logits, t)
                guess = np.random.rand() < 0.2
                word = logits.array.argmax(axis=1).astype("i") if guess else t
            return loss / ys.shape[1]

    def batch(k):
        r = rng(k)
        return sentences(4, 7, 25, r), r.randint(2, 25, (4, 5)).astype("i")

    return Case(Model(), batch)


@case
def pointer_network(compiled):
    """Points at inputs, each one once: a mask grows with what was chosen."""

    class Model(chainer.Chain):
        def __init__(self, units=12):
            super().__init__()
            with self.init_scope():
                self.inp = L.Linear(2, units)
                self.encoder = L.StatelessLSTM(units, units)
                self.decoder = L.StatelessLSTM(units, units)
                self.w1, self.w2 = L.Linear(units, units), L.Linear(units, units)
                self.v = L.Linear(units, 1)

        @compiled
        def forward(self, points, order):
            b, n, _ = points.shape
            c = h = None
            hs = []
            for k in range(n):
                c, h = self.encoder(c, h, self.inp(points[:, k]))
                hs.append(h)
            block = F.stack(hs, axis=1)
            keys = F.reshape(self.w1(F.reshape(block, (b * n, -1))), block.shape)
            taken = np.zeros((b, n), "f")
            loss, x = 0, h
            for k in range(n):
                c, h = self.decoder(c, h, x)
                query = F.broadcast_to(self.w2(h)[:, None], keys.shape)
                u = F.reshape(self.v(F.reshape(F.tanh(keys + query), (b * n, -1))), (b, n))
                loss += F.softmax_cross_entropy(u - 1e6 * taken, order[:, k])
                taken = taken.copy()
                taken[np.arange(b), order[:, k]] = 1
                x = block[np.arange(b), order[:, k]]
            return loss

    def batch(k):
        r = rng(k)
        order = np.stack([r.permutation(5) for _ in range(4)]).astype("i")
        return r.rand(4, 5, 2).astype("f"), order

    return Case(Model(), batch)


@case
def word2vec(compiled):
    """Skip-gram with negative sampling."""

    class SkipGram(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(40, 12, initialW=chainer.initializers.Uniform(0.1))
                self.loss_func = L.NegativeSampling(12, list(range(1, 41)), 5)

        @compiled
        def forward(self, x, contexts):
            e = self.embed(contexts)
            batch, n, units = e.shape
            x = F.broadcast_to(x[:, None], (batch, n))
            return self.loss_func(F.reshape(e, (batch * n, units)), F.reshape(x, (batch * n,)))

    def batch(k):
        r = rng(k)
        return r.randint(0, 40, 8).astype("i"), r.randint(0, 40, (8, 4)).astype("i")

    return Case(SkipGram(), batch)


@case
def word2vec_hierarchical(compiled):
    class Cbow(chainer.Chain):
        def __init__(self):
            super().__init__()
            tree = L.BinaryHierarchicalSoftmax.create_huffman_tree({k: k + 1 for k in range(20)})
            with self.init_scope():
                self.embed = L.EmbedID(20, 8)
                self.loss_func = L.BinaryHierarchicalSoftmax(8, tree)

        @compiled
        def forward(self, x, contexts):
            h = F.sum(self.embed(contexts), axis=1) * (1.0 / contexts.shape[1])
            return self.loss_func(h, x)

    def batch(k):
        r = rng(k)
        return r.randint(0, 20, 8).astype("i"), r.randint(0, 20, (8, 4)).astype("i")

    return Case(Cbow(), batch)


@case
def crf_tagger(compiled):
    """Sequences sorted by length, a conditional random field on top."""

    class Tagger(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.crf = L.EmbedID(30, 5), L.CRF1d(5)

        @compiled
        def forward(self, xs, ys):
            order = np.argsort([-len(x) for x in xs], kind="stable")
            hs = [self.embed(xs[k]) for k in order]
            return self.crf(F.transpose_sequence(hs), F.transpose_sequence([ys[k] for k in order]))

    def batch(k):
        r = rng(k)
        xs = sentences(5, 8, 30, r)
        return xs, [r.randint(0, 5, len(x)).astype("i") for x in xs]

    return Case(Tagger(), batch)


@case
def ctc_recognition(compiled):
    """Frames through a bidirectional GRU; labels of different lengths."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.rnn = L.NStepBiGRU(1, 6, 8, 0.0)
                self.out = L.Linear(16, 7)

        @compiled
        def forward(self, xs, labels, lengths):
            _, hs = self.rnn(None, xs)
            steps = [self.out(h) for h in F.transpose_sequence(hs)]
            n = np.array([len(x) for x in xs], "i")
            return F.connectionist_temporal_classification(steps, labels, 0, n, lengths)

    def batch(k):
        r = rng(k)
        xs = [r.randn(10, 6).astype("f") for _ in range(4)]
        return xs, r.randint(1, 7, (4, 3)).astype("i"), r.randint(1, 4, 4).astype("i")

    return Case(Model(), batch)


@case
def memory_network(compiled):
    """End-to-end memory with three hops and position encoding."""

    class MemN2N(chainer.Chain):
        def __init__(self, units=12, words=30, hops=3):
            super().__init__()
            self.hops = hops
            with self.init_scope():
                for k in range(hops + 1):
                    setattr(self, f"e{k}", L.EmbedID(words, units, ignore_label=-1))
                    setattr(self, f"t{k}", L.EmbedID(10, units))
                self.out = L.Linear(units, words, nobias=True)

        def encode(self, embed, x):
            e = embed(x)
            n, d = e.shape[-2:]
            places, k = np.arange(1, n + 1) / n, np.arange(1, d + 1)[:, None]
            code = (1 - places - (k / d) * (1 - 2 * places)).T.astype("f")
            return F.sum(F.broadcast_to(code, e.shape) * e, axis=-2)

        @compiled
        def forward(self, story, query, answer):
            u = self.encode(self.e0, query)
            when = np.arange(story.shape[1], dtype="i")[::-1]
            for k in range(self.hops):
                m = self.encode(self[f"e{k}"], story)
                c = self.encode(self[f"e{k + 1}"], story)
                m += F.broadcast_to(self[f"t{k}"](when), m.shape)
                c += F.broadcast_to(self[f"t{k + 1}"](when), c.shape)
                p = F.softmax(F.matmul(m, F.expand_dims(u, -1)), axis=1)
                o = F.matmul(F.swapaxes(c, 2, 1), p)
                u = F.squeeze(o, -1) + u
            y = self.out(u)
            chainer.report({"accuracy": F.accuracy(y, answer)}, self)
            return F.softmax_cross_entropy(y, answer)

    def batch(k):
        r = rng(k)
        story = r.randint(-1, 30, (5, 6, 4)).astype("i")
        return story, r.randint(0, 30, (5, 4)).astype("i"), r.randint(0, 30, 5).astype("i")

    return Case(MemN2N(), batch)


@case
def fasttext_adaptive(compiled):
    """Bags of words of different sizes in one flat array."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.out = L.EmbedID(50, 10), L.Linear(10, 4)

        @compiled
        def forward(self, words, ends, t):
            parts = F.split_axis(self.embed(words), ends, 0)
            h = F.stack([F.average(p, axis=0) for p in parts])
            return F.softmax_cross_entropy(self.out(h), t)

    def batch(k):
        r = rng(k)
        lengths = r.randint(2, 10, 5)
        words = r.randint(0, 50, lengths.sum()).astype("i")
        return words, np.cumsum(lengths)[:-1], r.randint(0, 4, 5).astype("i")

    return Case(Model(), batch)


# -- Plain loops, which go as often as a batch is long ------


@case
def rnnlm_of_any_length(compiled):
    """A loop over the words of sentences that are as long as they are in each batch."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.lstm = L.EmbedID(50, 16), L.LSTM(16, 24)
                self.out = L.Linear(24, 50)

        @compiled
        def forward(self, xs, ts):
            self.lstm.reset_state()
            loss = 0
            for t in range(xs.shape[1]):
                h = self.lstm(self.embed(xs[:, t]))
                loss += F.softmax_cross_entropy(self.out(h), ts[:, t])
            return loss / xs.shape[1]

    def batch(k):
        r = rng(k)
        words = r.randint(0, 50, (8, r.randint(6, 32))).astype("i")
        return words[:, :-1], words[:, 1:]

    return Case(Model(), batch)


@case
def attention_of_any_lengths(compiled):
    """An encoder and a decoder with attention, in methods of their own, word by word."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.encoder = L.EmbedID(50, 16), L.LSTM(16, 24)
                self.decoder, self.att = L.LSTM(40, 24), L.Linear(24, 24, nobias=True)
                self.out = L.Linear(24, 50)

        def encode(self, xs):
            self.encoder.reset_state()
            return F.stack([self.encoder(self.embed(x)) for x in xs.T], axis=1)

        def attend(self, hs, h):
            weight = F.softmax(F.squeeze(F.matmul(hs, F.expand_dims(self.att(h), 2)), 2))
            return F.squeeze(F.matmul(F.expand_dims(weight, 1), hs), 1)

        @compiled
        def forward(self, xs, ts):
            hs = self.encode(xs)
            self.decoder.reset_state()
            h, loss = hs[:, -1], 0
            for t in range(ts.shape[1] - 1):
                context = self.attend(hs, h)
                h = self.decoder(F.concat([self.embed(ts[:, t]), context]))
                loss += F.softmax_cross_entropy(self.out(h), ts[:, t + 1])
            return loss

    def batch(k):
        r = rng(k)
        return [r.randint(0, 50, (8, r.randint(5, 20))).astype("i") for _ in range(2)]

    return Case(Model(), batch)


@case
def tagger_of_three_lengths(compiled):
    """Batches of 4, 7 or 12 words: each length has a way of its own, and they take turns."""

    class Tagger(chainer.Chain):
        def __init__(self, words=50, units=24, tags=9):
            super().__init__()
            with self.init_scope():
                self.embed, self.cell = L.EmbedID(words, units), L.StatelessLSTM(units, units)
                self.out = L.Linear(units, tags)

        @compiled
        def forward(self, xs, ts):
            c = h = None
            loss = 0
            for x, t in zip(xs.T, ts.T, strict=True):
                c, h = self.cell(c, h, F.dropout(self.embed(x), 0.1))
                loss += F.softmax_cross_entropy(self.out(h), t)
            return loss / len(xs)

    def batch(k):
        x = rng(k).randint(0, 50, (8, (4, 7, 12)[k % 3])).astype("i")
        return x, x % 9

    return Case(Tagger(), batch)


@case
def documents(compiled):
    """Sentences of any number, of words of any number: a loop in what a loop calls."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.words = L.EmbedID(30, 8), L.GRU(8, 12)
                self.sentences, self.out = L.GRU(12, 12), L.Linear(12, 3)

        def sentence(self, words):
            self.words.reset_state()
            for w in words:
                h = self.words(self.embed(w[None]))
            return F.dropout(h, 0.1)

        @compiled
        def forward(self, document, t):
            self.sentences.reset_state()
            losses = []
            for words in document:
                h = self.sentences(self.sentence(words))
                losses.append(F.softmax_cross_entropy(self.out(h), t))
            return sum(losses) / len(losses)

    def batch(k):
        r = rng(k)
        return sentences(r.randint(1, 8), 12, 30, r), r.randint(0, 3, 1).astype("i")

    return Case(Model(), batch)


@case
def translation_of_any_lengths(compiled):
    """A ragged encoder, then a decoder with attention as a loop in a method of its own."""

    class Translator(chainer.Chain):
        def __init__(self, words=30, units=16):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(words, units)
                self.encoder = L.NStepLSTM(1, units, units, 0.1)
                self.cell, self.query = L.StatelessLSTM(units, units), L.Linear(units, units)
                self.out = L.Linear(2 * units, words)

        def decode(self, h, block, ys):
            c, loss = None, 0
            for t in range(ys.shape[1] - 1):
                c, h = self.cell(c, h, self.embed(ys[:, t]))
                energy = F.squeeze(F.matmul(block, F.expand_dims(self.query(h), 2)), 2)
                context = F.matmul(F.expand_dims(F.softmax(energy), 1), block)
                logits = self.out(F.concat([h, F.squeeze(context, 1)]))
                loss += F.softmax_cross_entropy(logits, ys[:, t + 1])
            return loss

        @compiled
        def forward(self, xs, ys):
            h, _, hs = self.encoder(None, None, [self.embed(x) for x in xs])
            return self.decode(h[0], F.pad_sequence(hs), ys) / len(xs)

    def batch(k):
        r = rng(k)
        return sentences(4, 9, 30, r), r.randint(0, 30, (4, r.randint(3, 12))).astype("i")

    return Case(Translator(), batch)
