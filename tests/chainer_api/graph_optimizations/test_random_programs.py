"""Random chains of functions give the same compiled as define-by-run: forward, backward, state.

Seeded programs with shared sub-expressions, branches on attributes, several and unused outputs,
views, matrix products of transposed arrays, random draws and statistics updated in place; plain
arrays between functions, functions of the user's, and gradients inside of the method.
"""

import numpy as np
import pytest
from compare import check, pair

import chainer
import chainer.functions as F
import chainer.links as L

SHAPE = (3, 4)


class Masked(chainer.FunctionNode):
    """A function of the user's, which draws and leaves an array."""

    def forward(self, inputs):
        self.mask = (np.random.rand(*SHAPE) > 0.3).astype("f")
        return (inputs[0] * self.mask,)

    def backward(self, indexes, gys):
        return (gys[0] * self.mask,)


class Doubled(chainer.Function):
    """An old-style function that keeps its output."""

    def forward(self, inputs):
        self.retain_inputs(())
        self.retain_outputs((0,))
        return (np.tanh(inputs[0]) * 2,)

    def backward(self, inputs, gys):
        return (gys[0] * (2 - self.output_data[0] ** 2 / 2),)


@chainer.static_code
def noise(a):
    return a * 0.1 + np.random.rand(*a.shape).astype("f")


def masked_twice(v):
    func = Masked()
    (y,) = func.apply((v,))
    return y + func.mask * 0.5


def dropped_twice(v):
    y, mask = F.dropout(v, 0.3, return_mask=True)
    return y if mask is None else y * mask


def position(v):
    code = np.zeros(SHAPE, "f")
    code[:, ::2] = np.sin(np.arange(3))[:, None]
    return v + code


def slope(v):
    (g,) = chainer.grad([F.sum(F.tanh(v) ** 3)], [v], enable_double_backprop=True)
    return v if g is None else g + v


UNARY = {
    "array": lambda v: v * (v.array > 0) + np.tanh(v.array) * 0.5,
    "detached": lambda v: chainer.Variable(v.array * 2) * v,
    "one hot": lambda v: v * np.eye(4, dtype="f")[np.argmax(v.array, axis=1)],
    "sorted": lambda v: v[:, np.argsort(v.array[0])],
    "position": position,
    "masked": masked_twice,
    "dropped": dropped_twice,
    "old style": lambda v: Doubled()(v),
    "noise": lambda v: v * noise(v.array),
    "slope": slope,
    "relu": F.relu,
    "tanh": F.tanh,
    "sigmoid": F.sigmoid,
    "softplus": lambda v: F.softplus(v),
    "leaky": lambda v: F.leaky_relu(v, 0.3),
    "clip": lambda v: F.clip(v, -1.0, 1.0),
    "square": lambda v: F.tanh(v) ** 2,
    "negate": lambda v: -v,
    "scale": lambda v: v * 0.5 + 1,
    "divide": lambda v: 1 / (abs(v) + 1.5),
    "log_softmax": lambda v: F.log_softmax(v),
    "reshape": lambda v: F.reshape(F.reshape(v, (2, 6)) * 2, SHAPE),
    "transpose": lambda v: F.transpose(F.tanh(F.transpose(v))),
    "transposed view": lambda v: F.transpose(F.reshape(F.transpose(v), SHAPE[::-1])),
    "mean": lambda v: v - F.broadcast_to(F.mean(v, axis=0, keepdims=True), SHAPE),
    "sum": lambda v: v * F.broadcast_to(F.sum(v, axis=1, keepdims=True), SHAPE) * 0.1,
    "gram": lambda v: F.matmul(F.matmul(v, v, transb=True), v) * 0.05,
    "turn": lambda v: F.matmul(F.transpose(v), F.matmul(v, F.transpose(v))).T * 0.05,
    "slices": lambda v: F.concat([v[:, 2:], v[:, :2]], axis=1),
    "rows": lambda v: F.stack([v[2], v[0], v[1]]),
    "backwards": lambda v: v[::-1] * 1.5,
    "gather": lambda v: v[np.array([2, 0, 2])],
    "dropout": lambda v: F.dropout(v, 0.4),
    "maximum": lambda v: F.maximum(v, F.tanh(v) * 2),
    "where": lambda v: F.where(np.arange(12).reshape(SHAPE) % 3 > 0, v, v * v),
    "cast": lambda v: F.cast(F.cast(v, "d") * 1.1, "f"),
    "expand": lambda v: F.squeeze(F.expand_dims(v, 1) * 0.7, 1),
}
BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: F.tanh(a) * b,
    "divide": lambda a, b: a / (abs(b) + 1),
    "halves": lambda a, b: F.concat([F.split_axis(a, 2, 1)[0], F.split_axis(b, 2, 1)[1]], axis=1),
    "unused half": lambda a, b: F.concat([F.split_axis(a, 4, 1)[k] for k in (3, 1, 1, 0)]) * b,
    "maximum": F.maximum,
    "product": lambda a, b: F.matmul(F.matmul(a, b, transb=True), a) * 0.05,
    "choose": lambda a, b: F.where(np.tri(*SHAPE, dtype=bool), a, b),
}


class RandomChain(chainer.Chain):
    def __init__(self, seed):
        super().__init__()
        random = np.random.RandomState(seed)
        self.program = []
        self.flag = bool(seed % 2)
        self.offset = random.randn(4).astype("f")
        names = (
            [*UNARY] * 2 + [*BINARY] * 3 + ["link", "statistics", "branch", "attribute", "state"]
        )
        for k in range(random.randint(4, 14)):
            op = names[random.randint(len(names))]
            sources = [int(random.randint(max(0, k - 3), k + 2)) for _ in range(2)]
            self.program.append((op, *sources))
        self.results = sorted({int(random.randint(2, len(self.program) + 2)) for _ in range(3)})
        with self.init_scope():
            self.fc = L.Linear(4, 4)
            self.bn = L.BatchNormalization(4)

    def forward(self, x, y):
        values = [x, y]
        for op, i, j in self.program:
            a, b = values[i], values[j]
            if op in UNARY:
                value = UNARY[op](a)
            elif op in BINARY:
                value = BINARY[op](a, b)
            elif op == "link":
                value = F.tanh(self.fc(a))
            elif op == "statistics":
                value = self.bn(a)
            elif op == "attribute":
                value = a + self.offset
            elif op == "state":
                self.last = a * 0.9
                value = self.last + b
            else:
                value = F.relu(a) if self.flag else F.tanh(b)
            values.append(value)
        return [values[k] for k in self.results]


def two(random):
    return tuple(chainer.Variable(random.randn(*SHAPE).astype("f")) for _ in range(2))


@pytest.mark.parametrize("group", range(20))
def test_random_programs(group):
    for seed in range(group * 12, group * 12 + 12):
        plain, static = pair(RandomChain, seed)
        try:
            check(plain, static, two, iterations=4, clear=seed % 3 > 0)
            for chain in (plain, static):
                chain.flag = not chain.flag
                chain.offset += 1
            check(plain, static, two, iterations=3)
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                check(plain, static, two, iterations=3)
        except AssertionError as e:
            raise AssertionError(f"seed {seed}: {plain.program} -> {plain.results}") from e
