"""Arrays that functions write to, running statistics, while somebody else holds them, too.

Users may keep such an array, or a view of it, and read and write it whenever they like.
:mod:`trust` says what is compared.
"""

import gc

import numpy as np
import pytest
from trust import Base, check, table, total, variable

import chainer
import chainer.functions as F
from chainer import _tracing

FAULTS, fault = table()


class Kept(Base):
    """Has kept an array of statistics, and a view of it."""

    def __init__(self):
        super().__init__()
        self.kept, self.view = [self.bn.avg_mean], self.bn.avg_mean[::-1]

    def step(self, k):
        x = variable(k)
        with chainer.using_config("train", k % 2 == 0):
            y = self(x)
        if isinstance(y, tuple):
            y = y[0] * float(y[1])
        total(y).backward()
        return y, x, self.bn.avg_mean, self.bn.avg_var, self.kept, self.view


def other_mode():
    return chainer.using_config("train", not chainer.config.train)


@fault
def read_by_another_name():
    class Model(Kept):
        def forward(self, x):
            return self.bn(x), self.kept[0].sum()

    return Model


@fault
def read_as_a_view():
    class Model(Kept):
        def forward(self, x):
            with other_mode():
                y = self.bn(x)
            return self.bn(y), self.view.sum()

    return Model


@fault
def read_and_looked_at_later():
    """The attribute itself, which is what the functions write to from then on."""

    class Model(Base):
        def forward(self, x):
            mean = self.bn.avg_mean
            y = self.bn(x)
            return y * float(mean.sum())

        def step(self, k):
            x = variable(k)
            y = self(x)
            total(y).backward()
            return y, x, self.bn.avg_mean

    return Model


@fault
def written_before_functions_write():
    class Model(Kept):
        def forward(self, x):
            with other_mode():
                y = self.bn(x)
            self.kept[0] *= 0.5
            return self.bn(y)

    return Model


@fault
def written_after_functions_wrote():
    class Model(Kept):
        def forward(self, x):
            y = self.bn(x)
            self.kept[0] *= 0.5
            return self.bn(y)

    return Model


@fault
def written_after_functions_wrote_and_others_read():
    class Model(Kept):
        def forward(self, x):
            with other_mode():
                y = self.bn(x)
            y = self.bn(y)
            self.kept[0] *= 0.5
            return y * 2

    return Model


@fault
def written_twice():
    class Model(Kept):
        def forward(self, x):
            for _ in range(2):
                with other_mode():
                    x = self.bn(x)
                x = self.bn(x)
                self.kept[0] *= 0.5
            return x

    return Model


@fault
def written_as_a_view():
    class Model(Kept):
        def forward(self, x):
            with other_mode():
                y = self.bn(x) + self.view
            self.view *= 0.5
            y = self.bn(y)
            with other_mode():
                return self.bn(y) + self.view

    return Model


@fault
def written_by_name():
    class Model(Kept):
        def forward(self, x):
            with other_mode():
                y = self.bn(x) * self.bn.avg_mean
            self.bn.avg_mean *= 0.5
            y = self.bn(y)
            self.bn.avg_var += 0.5
            with other_mode():
                return self.bn(y) + self.bn.avg_var

    return Model


@fault
def an_array_of_the_user():
    """The link works on an array that its user goes on to use."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.mine = np.zeros((2, 4), "f")
            self.bn.avg_mean = self.mine[1]

        def forward(self, x):
            y = self.bn(x)
            return F.tanh(y) * float(self.mine.sum())

        def step(self, k):
            x = variable(k)
            y = self(x)
            total(y).backward()
            return y, x, self.mine, self.bn.avg_var

    return Model


class Arrays(Base):
    """Statistics that belong to the user, without a link."""

    def __init__(self):
        super().__init__()
        self.mean, self.var = np.zeros(4, "f"), np.ones(4, "f")
        self.view = self.mean[::-1]

    def fixed(self, x):
        return F.fixed_batch_normalization(x, self.bn.gamma, self.bn.beta, self.mean, self.var)

    def norm(self, x):
        return F.batch_normalization(
            x, self.bn.gamma, self.bn.beta, running_mean=self.mean, running_var=self.var)

    def step(self, k):
        x = variable(k)
        y = self(x)
        if isinstance(y, tuple):
            y = y[0] * float(y[1])
        total(y).backward()
        return y, x, self.mean, self.var


@fault
def read_by_a_function_then_written_then_read():
    class Model(Arrays):
        def forward(self, x):
            return self.norm(self.fixed(x)), self.mean.sum()

    return Model


@fault
def read_by_functions_as_a_view():
    class Model(Arrays):
        def forward(self, x):
            y = self.norm(x * self.view)
            return y * self.view, float(self.view[0])

    return Model


@fault
def written_by_a_function_and_bound_anew():
    class Model(Arrays):
        def forward(self, x):
            y = self.norm(self.fixed(x) * self.mean)
            self.mean = self.mean * 0.5
            return self.fixed(self.norm(y))

    return Model


def gradient(y):
    return chainer.grad([F.sum(F.tanh(y) ** 3)], [y], enable_double_backprop=True)[0]


class Opaque(chainer.FunctionNode):
    """A function of the user's, which keeps what nobody can compare."""

    def forward(self, inputs):
        self.seen = object()
        return (inputs[0] * 2,)

    def backward(self, indexes, grad_outputs):
        return (grad_outputs[0] * 2,)


BETWEEN = {
    "nothing": lambda y: y,
    "grad": gradient,
    "look": lambda y: y * float(y.array[0, 0]),
    "own": lambda y: Opaque().apply((y,))[0],
}


@pytest.mark.parametrize("writes", ["", "before", "after"])
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("modes", ["rw w", "w rw", "r w w", "rw rw", "wr w w"])
def test_read_and_written_in_parts(modes, between, writes):
    """Functions read statistics and write them, with sync points and ways that part in between.

    The user writes an array of his own beside it, which functions have used, too.
    """

    def make():
        class Model(Base):
            def __init__(self):
                super().__init__()
                self.own, self.calls = np.zeros(4, "f"), 0

            def forward(self, x):
                self.calls += 1
                y = x + self.own
                if writes == "before":
                    self.own[:2] += 0.5
                for k, part in enumerate(modes.split()):
                    if k:
                        y = y + BETWEEN[between](y)
                        if self.calls % 3 == 1:
                            return F.tanh(y)
                    for mode in part:
                        with chainer.using_config("train", mode == "w"):
                            y = self.bn(y) + x
                if writes == "after":
                    self.own[:2] += 0.5
                return y

            def step(self, k):
                x = variable(k)
                y = self(x)
                total(y).backward()
                return y, x, self.own, self.bn.avg_mean, self.bn.avg_var

        return Model

    check(make)


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_statistics(make):
    check(make)


def decorated():
    class Model(Base):
        @chainer.static_graph
        def forward(self, x):
            return F.tanh(self.bn(x * 2))

    return Model()


def without_python(model):
    return model.schedule_manager.report()[0].without_python


def test_kept_after_the_method_was_proved():
    model, plain = decorated(), Base()
    plain.forward = lambda x: F.tanh(plain.bn(x * 2))
    for (_, p), (_, q) in zip(model.namedparams(), plain.namedparams(), strict=True):
        p.array[...] = q.array
    x = variable(0)
    for _ in range(12):
        model(x), plain(x)
    before = without_python(model)
    assert before
    kept = model.bn.avg_mean
    for _ in range(3):
        np.testing.assert_array_equal(model(x).array, plain(x).array)
        np.testing.assert_array_equal(kept, plain.bn.avg_mean)
    assert "somebody has kept the array" in str(model.schedule_manager.report())
    assert without_python(model) == before, "their Python may read the array that they have kept"


@pytest.mark.parametrize("chained", [False, True], ids=["alone", "graph"])
def test_only_read(chained):
    model, x = decorated(), variable(0)
    read, before = [], 0
    for k in range(40):
        y = model(x)
        if chained:
            total(y).backward()  # and its graph, which holds the arrays, lives on in the next call
        read.append(model.bn.avg_mean.copy())
        if k == 9:
            before = without_python(model)
    assert without_python(model) > before + 20, "nobody has kept the array"
    assert len({a.tobytes() for a in read}) == 40


@pytest.mark.parametrize("since", [0, 20])
@pytest.mark.parametrize("budget", [0.1, None])
def test_read_in_a_loop_that_keeps_its_loss(since, budget):
    """The graph of the last loss holds the array when the next call begins: nobody writes there."""
    model, plain = decorated(), Base()
    plain.forward = lambda x: F.tanh(plain.bn(x * 2))
    for p, q in zip(model.params(), plain.params(), strict=True):
        p.array[...] = q.array
    with chainer.using_config("static_budget", budget):
        for k in range(40):
            loss, expected = total(model(variable(k))), total(plain(variable(k)))
            for chain, y in (model, loss), (plain, expected):
                chain.cleargrads()
                y.backward()
            assert loss.array == expected.array
            if k >= since:
                assert model.bn.avg_mean.copy().tobytes() == plain.bn.avg_mean.tobytes()
    report = model.schedule_manager.report()[0]
    assert not report.stops, "programs end before the array is written"
    assert budget or report.without_python > 20


def test_functions_that_hold_arrays_are_forgotten_with_these():
    gc.collect()
    bn, before = Base().bn, len(_tracing.last_functions)
    for k in range(4):
        bn.avg_mean, bn.avg_var = np.zeros(4, "f"), np.ones(4, "f")
        y = bn(variable(k))
        bn.avg_mean.copy()
        assert not _tracing.is_handed_out(bn.__dict__, "avg_mean"), "only y's graph holds it"
        assert y.creator.running_mean is bn.__dict__["avg_mean"]
        del y
        assert id(bn.__dict__["avg_mean"]) in _tracing.last_functions
        assert len(_tracing.last_functions) <= before + 2


def test_what_is_handed_out():
    bn, other = Base().bn, Base().bn
    assert bn.avg_mean is bn.__dict__["avg_mean"]
    other.avg_mean = bn.avg_mean
    assert other.avg_mean is bn.avg_mean
    mine = np.ones(4, "f")
    bn.avg_mean = mine
    assert bn.avg_mean is mine and _tracing.is_handed_out(bn.__dict__, "avg_mean")
    del mine
    assert not _tracing.is_handed_out(bn.__dict__, "avg_mean")
    bn.avg_mean = 3
    assert bn.avg_mean == 3


def test_nothing_is_kept_of_what_was_handed_out():
    gc.collect()
    before = len(_tracing.handed_out), len(_tracing._holders)
    models = [Base() for _ in range(3)]
    kept = [m.bn.avg_mean[1:] for m in models]
    ys = [m.bn(variable(0)) for m in models]
    assert len(_tracing.handed_out) == before[0] + 3
    assert len(_tracing._holders) == before[1] + 3
    assert all([_tracing.is_handed_out(m.bn.__dict__, "avg_mean") for m in models])
    del kept
    assert not _tracing.is_handed_out(models[2].bn.__dict__, "avg_mean"), "only functions hold it"
    del models, ys
    gc.collect()
    assert before == (len(_tracing.handed_out), len(_tracing._holders))
