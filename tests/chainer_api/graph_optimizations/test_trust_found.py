"""What random programs and the models of the benchmark have found: the smallest program of each.

:mod:`trust` says what is compared.
"""

import numpy as np
import pytest
from trust import Base, check, run, table, total, variable

import chainer
import chainer.functions as F

FAULTS, fault = table()


@fault
def sums_in_a_call_of_a_call():
    """The second call takes what the first gave; an argument of both has three uses."""

    class Model(Base):
        def forward(self, x, z):
            return F.sigmoid(self.b(z)) * z + x

        def step(self, k):
            x, z = variable(k), variable(k + 40)
            y = self(self(x, z), z)
            total(y).backward()
            return y, x, z

    return Model


@fault
def sums_of_parts_inside_and_outside():
    """Arguments that come from functions, that the method cuts, and that go on outside."""

    class Model(Base):
        def forward(self, x, z):
            one, two = F.split_axis(z, 2, 1), F.split_axis(x, 2, 1)
            return x, F.concat([one[0], two[1]], axis=1)

        def step(self, k):
            x, z = variable(k), variable(k + 40)
            h, g = F.sin(x), F.exp(-z * z)
            y, w = self(h, g)
            (total([y, w]) + F.sum(h * g) + F.sum(F.tanh(y) * y)).backward()
            return y, w, x, z

    return Model


@fault
def sums_over_waiting_calls():
    """Parameters that are used twice in each of three calls before one backward."""

    class Model(Base):
        waiting = 0

        def forward(self, x):
            with chainer.no_backprop_mode():
                h = F.tanh(x)
            h = h * x
            return self.bn(h) + self.bn(h)

        def step(self, k):
            x = variable(k, 2 if k % 7 == 4 else 3, 4)
            self.waiting = self.waiting + total(self(x))
            if k % 3 == 2:
                self.waiting.backward()
                self.waiting.unchain_backward()
                self.waiting = 0
            return x

    return Model


@fault
def spatial_transformer():
    """A function of the library with an attribute that is called like a method of nodes."""

    class Model(Base):
        def forward(self, x):
            theta = F.reshape(F.tile(self.a(x)[:, :3] * 0.1, (1, 2)), (-1, 2, 3))
            grid = F.spatial_transformer_grid(theta, (4, 4))
            image = F.reshape(F.tile(x, (1, 4)), (-1, 1, 4, 4))
            return F.spatial_transformer_sampler(image, grid)

    return Model


@fault
def attributes_of_a_function_of_the_users():
    """Names that a user takes for attributes of a function are the user's."""
    names = "places retained kept order image leaf piece run promise program app matcher key"

    class Mine(chainer.FunctionNode):
        def __init__(self):
            super().__init__()
            for name in names.split():
                setattr(self, name, (1, 2))

        def forward(self, inputs):
            self.places = inputs[0].shape
            return (np.tanh(inputs[0]),)

        def backward(self, indexes, gys):
            return (gys[0] * len(self.places),)

    class Model(Base):
        def forward(self, x):
            return F.sigmoid(Mine().apply((self.a(x),))[0]) * x

    return Model


@fault
def numbers_and_then_arrays_as_indexes():
    """What was a tuple of numbers is one of arrays, which have no truth value, or of both."""

    class Model(Base):
        index = [(0, 1), (np.arange(2), np.arange(2)), (0, np.array([1, 2])), (None, 1), (..., 0)]

        def forward(self, x):
            k = self.calls // 3 % len(self.index)
            self.calls += 1
            return F.sum(F.tanh(self.a(x))[self.index[k]] * 2)

        calls = 0

    return Model


def statistics_beside(written):
    """Statistics are read, then written by functions, while the user writes what others read."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.running = np.zeros(4, "f")

        def forward(self, x):
            with chainer.using_config("train", not chainer.config.train):
                y = self.bn(x) + x
            y = self.bn(y) + self.bn(x) + written(self.running)
            self.running += 1
            return y

        def step(self, k):
            x = variable(k)
            with chainer.using_config("train", k % 2 == 0):
                y = self(x)
            total(y).backward()
            return y, x, self.running, self.bn.avg_mean, self.bn.avg_var

    return Model


@fault
def statistics_beside_an_array_that_is_written():
    return statistics_beside(lambda array: array)


@fault
def statistics_beside_a_view_that_is_written():
    return statistics_beside(lambda array: array[::-1])


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_found(make):
    check(make)


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_none_raises_define_by_run(make):
    """Names inside of the library are not in the way of a function's own."""
    raised = [fact for step in run(make, False) for fact in step if fact[0] == "exception"]
    assert not raised
