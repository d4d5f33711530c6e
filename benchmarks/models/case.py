"""What a model of the benchmark is, and data for it."""

import collections
import functools
import os

import numpy as np

import chainer
import chainer.functions as F

CASES = {}
ONE_BATCH = "BENCH_MODELS_ONE_BATCH"  # of the environment: all calls get the first batch


class Case:
    """A model, its batches, and one step of training without the update.

    ``batch(k)`` gives the arguments of the k-th step, ``step(*arguments)`` returns what is to be
    compared; by default it takes the model's result as the loss.
    """

    def __init__(self, model, batch, step=None):
        self.model = model
        if os.environ.get(ONE_BATCH):
            first = batch(0)
            self.batch = lambda k: first
        else:
            self.batch = functools.lru_cache(maxsize=None)(batch)
        self.step = step or functools.partial(loss_of_model, model)

    def run(self, k):
        return self.step(*self.batch(k))


def loss_of_model(model, *arguments):
    """Forward and backward; the result is the loss, or a tuple that begins with it."""
    model.cleargrads()
    result = model(*arguments)
    loss = result[0] if isinstance(result, tuple) else result
    loss.backward()
    return result


def case(make):
    """Register ``make(compiled)``: it gives a :class:`Case`, with the outermost method compiled.

    ``compiled`` is ``chainer.static_graph``, or a decorator that does nothing.
    """
    CASES[make.__name__] = make
    return make


def classifier(compiled, predictor, accuracy=False):
    """A chain with a loss; its method is the outermost one."""

    class Classifier(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.predictor = predictor

        @compiled
        def forward(self, x, t):
            y = self.predictor(x)
            loss = F.softmax_cross_entropy(y, t)
            if accuracy:
                chainer.report({"loss": loss, "accuracy": F.accuracy(y, t)}, self)
            return loss

    return Classifier()


def rng(k):
    return np.random.RandomState(10_000 + k)


def images(n=4, channels=3, size=16, classes=5, vary=False):
    """Images and labels; with ``vary`` the last batch of an epoch of eight is smaller."""

    def batch(k):
        count = n // 2 + 1 if vary and k % 8 == 7 else n
        r = rng(k)
        x = r.randn(count, channels, size, size).astype("f")
        return x, r.randint(0, classes, count).astype("i")

    return batch


def vectors(n=16, size=10, classes=5):
    def batch(k):
        r = rng(k)
        return r.randn(n, size).astype("f"), r.randint(0, classes, n).astype("i")

    return batch


def sentences(n=6, longest=12, words=30, r=None):
    """Sequences of word numbers of different lengths."""
    return [r.randint(2, words, r.randint(2, longest + 1)).astype("i") for _ in range(n)]


def padded(xs, length=None, fill=-1):
    """One array, filled up at the end."""
    length = length or max(map(len, xs))
    found = np.full((len(xs), length), fill, xs[0].dtype)
    for row, x in zip(found, xs, strict=True):
        row[: len(x)] = x
    return found


Step = collections.namedtuple("Step", "state action reward next done")
