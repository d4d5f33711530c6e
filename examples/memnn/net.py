"""End-to-end memory networks of S. Sukhbaatar et al. (arXiv:1503.08895)."""
import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import initializers


def position_encoding(embed, sentences, xp):
    """Return a vector of each sentence in which the order of the words counts.

    Args:
        embed: Link that embeds words; that of word 0 is zero.
        sentences: Array of words of the shape (..., words).
    """
    e = embed(sentences)
    n_words, n_units = e.shape[-2:]
    j = np.arange(1, n_words + 1, dtype=np.float32)[:, None] / n_words
    k = np.arange(1, n_units + 1, dtype=np.float32) / n_units
    weights = xp.asarray(1 - j - k * (1 - 2 * j))
    return F.sum(e * F.broadcast_to(weights, e.shape), axis=-2)


def bag_of_words(embed, sentences, xp):
    """Return the sums of the vectors of the words."""
    return F.sum(embed(sentences), axis=-2)


ENCODERS = {'pe': position_encoding, 'bow': bag_of_words}


class Memory(chainer.Chain):
    """What is kept of a story: vectors to look for, and vectors to answer with.

    Args:
        A, C: Links that embed words for the one and for the other.
        max_memory (int): The largest number of sentences.
        encode: Makes the vector of a sentence.
    """

    def __init__(self, A, C, max_memory, encode):
        super().__init__()
        n_units = A.W.shape[1]
        self.encode = encode
        with self.init_scope():
            self.A, self.C = A, C
            self.TA = chainer.Parameter(initializers.Normal(0.1), (max_memory, n_units))
            self.TC = chainer.Parameter(initializers.Normal(0.1), (max_memory, n_units))

    def forward(self, stories, u):
        m = self._with_time(self.encode(self.A, stories, self.xp), self.TA)
        c = self._with_time(self.encode(self.C, stories, self.xp), self.TC)
        p = F.softmax(F.sum(m * F.broadcast_to(u[:, None], m.shape), axis=2))
        p = F.broadcast_to(p[:, :, None], c.shape)
        return F.sum(p * c, axis=1) + u

    def _with_time(self, x, time):
        return x + F.broadcast_to(time[:x.shape[1]], x.shape)


class MemNN(chainer.Chain):
    """Reads a story several times, each time knowing more of what to look for.

    The vectors to answer with of one reading are those to look for of the next one.
    """

    def __init__(self, n_units, n_vocab, max_memory, n_hops=3, encoder='pe'):
        super().__init__()
        self.encode = ENCODERS[encoder]
        embeds = [L.EmbedID(n_vocab, n_units, initializers.Normal(0.1), ignore_label=0)
                  for _ in range(n_hops + 1)]
        with self.init_scope():
            self.memories = chainer.ChainList(*[
                Memory(A, C, max_memory, self.encode) for A, C in zip(embeds, embeds[1:])])
        self.B, self.W = embeds[0], embeds[-1]  # they are in the first and the last memory

    def scores(self, stories, queries):
        u = self.encode(self.B, queries, self.xp)
        for memory in self.memories:
            u = memory(stories, u)
        return F.linear(u, self.W.W)

    def forward(self, stories, queries, answers):
        scores = self.scores(stories, queries)
        loss = F.softmax_cross_entropy(scores, answers)
        chainer.report({'loss': loss, 'accuracy': F.accuracy(scores, answers)}, self)
        return loss
