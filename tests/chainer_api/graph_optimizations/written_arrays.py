"""Chains with arrays of their own, into which is written between a call and its backward."""

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

ROWS = np.arange(5)
USES = {
    "labels": lambda m, y: F.softmax_cross_entropy(y, m.labels),
    "indexes": lambda m, y: y[ROWS, m.labels],
    "class_weight": lambda m, y: F.softmax_cross_entropy(y, m.labels, class_weight=m.weight),
    "factor": lambda m, y: (y * m.weight) ** 2,
    "condition": lambda m, y: F.where(m.mask, y, y * 2),
    "embedding": lambda m, y: F.sum(F.embed_id(m.labels, m.a.W) ** 2, 1) + F.sum(y, 1),
    "selected": lambda m, y: F.select_item(y, m.labels) ** 2,
    "statistics": lambda m, y: m.bn(y) ** 2,
    "fixed_statistics": lambda m, y: F.fixed_batch_normalization(
        y, m.xp.ones(4, "f"), m.xp.zeros(4, "f"), m.weight, m.weight
    ) ** 2,
    "scale": lambda m, y: F.scale(y, m.weight, 1) ** 2,
    "huber": lambda m, y: F.huber_loss(y, m.target, 1.0),
    "squared_error": lambda m, y: F.mean_squared_error(y, m.target),
    "binary_labels": lambda m, y: F.sigmoid_cross_entropy(y, m.binary),
    "hinge": lambda m, y: F.hinge(y, m.labels),
    "permutation": lambda m, y: F.permutate(y, m.order) ** 2,
    "addend": lambda m, y: F.scatter_add(y, (ROWS, m.labels), m.target[:, 0]) ** 2,
}


def make_chain(use, xp=np):
    """What makes a chain class of such a use, as `trust.run` takes it."""

    class Model(chainer.Chain):
        decorate = ("forward",)

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = L.Linear(3, 4)
                self.bn = L.BatchNormalization(4)
            self.labels, self.order = xp.zeros(5, "i"), xp.arange(5)
            self.binary, self.target = xp.zeros((5, 4), "i"), xp.zeros((5, 4), "f")
            self.mask, self.weight = xp.zeros((5, 4), bool), xp.ones(4, "f")

        def forward(self, x):
            return use(self, self.a(x))

        def fill(self, rng):
            for array, values in (
                (self.labels, rng.randint(0, 4, 5)), (self.order, rng.permutation(5)),
                (self.binary, rng.randint(0, 2, (5, 4))), (self.target, rng.rand(5, 4)),
                (self.mask, rng.rand(5, 4) > 0.5), (self.weight, rng.rand(4) + 0.5),
                (self.bn.avg_mean, rng.rand(4)),
            ):
                array[...] = xp.asarray(values)

        def step(self, k):
            rng = np.random.RandomState(k)
            self.fill(rng)
            x = chainer.Variable(xp.asarray(rng.randn(5, 3).astype("f")))
            with chainer.using_config("train", False):
                y = self(x)
                self.fill(rng)
                loss = F.sum(y)
                if k in (5, 9):  # a backward for which the graph is built again
                    loss += F.sum(self(x))
            loss.backward(retain_grad=k in (6, 9))
            return y, x

    return lambda: Model
