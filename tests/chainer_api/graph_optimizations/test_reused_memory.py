"""Large arrays in different layouts: NumPy writes into an operand that nobody else holds.

Then the result has the layout of that operand, and sums over it add up in another order. Who holds
what is not known while a function is recorded, nor in code that goes without the method's Python.
"""

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainwright.ir.layout import REUSED, reuse_matters

SHAPE = (2, 64, 32, 16)  # as many bytes as it takes


def array(k, layout):
    a = np.random.RandomState(k).rand(*SHAPE).astype("f") + np.float32(0.1)
    if layout == "NHWC":
        return np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    return np.asfortranarray(a) if layout == "F" else a


FUNCTIONS = {
    "tanh": F.tanh, "sigmoid": F.sigmoid, "relu": F.relu, "elu": F.elu, "selu": F.selu,
    "softplus": F.softplus, "leaky_relu": F.leaky_relu, "hard_sigmoid": F.hard_sigmoid,
    "clip": lambda h: F.clip(h, 0.3, 0.9), "exp": F.exp, "log": F.log, "log1p": F.log1p,
    "sqrt": F.sqrt, "rsqrt": F.rsqrt, "sin": F.sin, "arctan": F.arctan, "square": F.square,
    "cube": lambda h: h**3, "inverse": lambda h: 1 / h, "erf": F.erf, "log_softmax": F.log_softmax,
    "softmax": F.softmax, "square of tanh": lambda h: F.tanh(h) ** 2 * h,
    "normalize": lambda h: F.normalize(h, axis=1), "swish": lambda h: h * F.sigmoid(h * 2),
    "bilinear": lambda h: h * (1 - h) + F.tanh(h) * (1 - F.tanh(h)),
}  # fmt: skip


class Net(chainer.Chain):
    def __init__(self, body):
        super().__init__()
        self.body = body
        with self.init_scope():
            self.bias = L.Bias(1, SHAPE[1:2])

    def forward(self, x):
        return self.body(self.bias(x))


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


def gradients(model, x, weights):
    for w in weights:
        model.cleargrads()
        y = model(x)
        F.sum(y * w).backward()
        yield y.array.strides, y.array.tobytes(), model.bias.b.grad.tobytes()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("layouts", [("NHWC", "C"), ("C", "NHWC"), ("F", "C"), ("F", "NHWC")])
def test_gradients_in_other_layouts_than_values(name, layouts, monkeypatch):
    monkeypatch.setattr(chainer.global_config, "static_budget", None)
    monkeypatch.setattr(chainer.global_config, "static_check", "never")
    x, w = (array(k, layout) for k, layout in enumerate(layouts))
    weights = [w] * 5 + [np.ascontiguousarray(w)] * 2 + [w] * 2
    expected = gradients(Net(FUNCTIONS[name]), x, weights)
    actual = gradients(Compiled(FUNCTIONS[name]), x, weights)
    assert [e == a for e, a in zip(expected, actual, strict=True)] == [True] * len(weights)


@pytest.mark.parametrize("code", [
    lambda a, b: a * (1 - b), lambda a, b: (1 - b) + a, lambda a, b: (1 - a) - b,
    lambda a, b: a / (1 + b), lambda a, b: (1 + a) * (b * b), lambda a, b: a - b * (1 - b),
])  # fmt: skip
@pytest.mark.parametrize("way", ["arrays in the method", "a function of the user's"])
def test_array_code(code, way, monkeypatch):
    monkeypatch.setattr(chainer.global_config, "static_budget", None)
    monkeypatch.setattr(chainer.global_config, "static_check", "never")
    compiled = chainer.static_code(code)

    class Model(chainer.Chain):
        def forward(self, x, y):
            if way == "arrays in the method":
                return F.tanh(x) * float(code(x.array, y.array).sum())
            return F.sum(chainer.Variable(compiled(x.array, y.array))) * F.tanh(x)

    class Decorated(Model):
        forward = chainer.static_graph(Model.forward)

    plain, decorated = Model(), Decorated()
    for k in range(9):
        x, y = chainer.Variable(array(k, "C")), chainer.Variable(array(k + 9, "NHWC"))
        assert (plain(x, y).array == decorated(x, y).array).all()


def test_where_it_matters():
    a, b = array(0, "C"), array(1, "NHWC")
    assert a.nbytes == REUSED
    # What NumPy does itself, with the second operand held and not.
    held = 1 - b
    matters = (a * (1 - b)).strides != (a * held).strides
    assert reuse_matters("multiply", (a, held), (False, True)) or not matters
    assert not reuse_matters("multiply", (a, held), (True, False))
    assert not reuse_matters("subtract", (a, held), (True, True))
    assert not reuse_matters("multiply", (a, a), (True, True))
    assert not reuse_matters("multiply", (a[:1], held[:1]), (True, True))
