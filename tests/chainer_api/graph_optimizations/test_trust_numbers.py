"""What differs from call to call: numbers, indexes, shapes. And methods that programs make slower.

Numbers among the attributes of functions become inputs of programs; index arrays are inputs, too.
See :mod:`trust` for what is compared.
"""

import itertools

import numpy as np
import pytest
from trust import Base, check, difference, run, table, total, variable

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _node

FAULTS, _add = table()


def fault(cls):
    """A case from a class; each run decorates one of its own."""

    def make():
        return type(cls.__name__, (cls,), {"forward": cls.forward})

    make.__name__ = cls.__name__
    return _add(make)


def changing(forward, number=lambda k: 1 + k / 8):
    """A case whose method has another ``self.n`` in each call."""

    class Changing(Base):
        def step(self, k):
            self.n = number(k)
            x = variable(k)
            y = self(x)
            total(y).backward()
            return y, x

    Changing.forward, Changing.__name__ = forward, forward.__name__
    return fault(Changing)


@changing
def weights(self, x):
    h = self.a(x) * self.n + F.tanh(self.b(x)) * (1 - self.n)
    return h / (self.n + 1), 0.5 + h - self.n


@changing
def slopes(self, x):
    return F.leaky_relu(self.a(x), self.n / 10) + F.elu(self.b(x), self.n)


@changing
def reciprocals(self, x):
    return self.n / (self.a(x) ** 2 + 1), F.softplus(self.b(x), self.n)


@changing
def powers(self, x):
    """NumPy computes some powers by other means: these cannot be inputs."""
    return (self.a(x) ** 2 + 1) ** self.n, self.n ** self.b(x)


@changing
def ratios(self, x):
    return F.dropout(self.a(x), self.n / 10)


@changing
def gaussian_weights(self, x):
    return F.gaussian(self.a(x), self.b(x) * self.n)


@changing
def clipped(self, x):
    return F.clip(self.a(x), -self.n, self.n), F.clipped_relu(self.b(x), self.n)


def case(number):
    """The same with numbers of other kinds."""

    def decorate(forward):
        return changing(forward, number)

    return decorate


@case(lambda k: [1, 1.0, True, np.float32(1), np.float64(1), 2][k % 6])
def equal_numbers_of_several_types(self, x):
    return self.a(x) * self.n


@case(lambda k: [0.0, -0.0, float("inf"), 1e300, 1e-300, float("nan")][k % 6])
def numbers_at_the_edge(self, x):
    return self.a(x) * self.n


@case(lambda k: [0.5, 2.0][k % 2])
def numbers_in_turns(self, x):
    return F.tanh(self.a(x) * self.n)


@case(lambda k: 1.0 if k % 5 else 0.0)
def a_number_that_is_zero_now_and_then(self, x):
    return F.softplus(self.a(x), beta=self.n) if self.n else self.n / (self.b(x) + 1)


@case(lambda k: k)
def whole_numbers(self, x):
    return self.a(x) * self.n + F.tanh(self.n - self.b(x))


@case(lambda k: k % 3)
def whole_numbers_that_are_axes(self, x):
    return F.sum(F.reshape(self.a(x), (x.shape[0], 2, -1)), axis=self.n)


@case(lambda k: (1 + k / 8, 2 - k / 8))
def two_numbers(self, x):
    return self.a(x) * self.n[0] - F.leaky_relu(self.b(x), self.n[1])


@case(lambda k: 1 + k / 8)
def a_number_and_what_python_makes_of_it(self, x):
    self.seen = [*getattr(self, "seen", []), f"{self.n:.2f}"]
    return self.a(x) * round(self.n, 1) if self.n < 2 else self.b(x) * int(self.n)


@fault
class numbers_differentiated_twice(Base):
    def forward(self, x):
        return F.tanh(self.a(x) * self.n) * self.n

    def step(self, k):
        self.n = 1 + k / 8
        x = variable(k)
        y = self(x)
        (gx,) = chainer.grad([total(y)], [x], enable_double_backprop=True)
        F.sum(gx * gx).backward()
        return y, gx, x


@fault
class a_number_changed_before_backward(Base):
    def forward(self, x):
        return F.leaky_relu(self.a(x) * self.n, self.n / 10)

    def step(self, k):
        self.n = 1 + k / 8
        x = variable(k)
        y, z = self(x), None
        self.n = 100.0
        if k % 3 == 2:
            z = self(y)
        total(z if z is not None else y).backward()
        return y, z, x


# -- Index arrays ----------------------------------------------------------------------------------


@fault
class indexes_in_a_tuple(Base):
    def forward(self, x, t):
        h = self.a(x)
        return h[np.arange(len(t)), t], h[:, t[:2]], h[t > 1]

    def step(self, k):
        x = variable(k)
        t = np.random.RandomState(k).randint(0, 4, len(x)).astype("i")
        y = self(x, t)
        total(y).backward()
        return y, x


@fault
class indexes_written_after_use(Base):
    def forward(self, x):
        self.t[:] = (self.t + 1) % 4
        y = self.a(x)[np.arange(len(self.t)), self.t]
        self.t[0] = 0
        return y, self.b(x)[:, self.t]

    def step(self, k):
        x = variable(k)
        if k == 0:
            self.t = np.zeros(len(x), "i")
        y = self(x)
        total(y).backward()
        return y, x


@fault
class an_index_out_of_range(Base):
    def forward(self, x, t):
        return self.a(x)[np.arange(len(t)), t]

    def step(self, k):
        x = variable(k)
        t = np.full(len(x), 100 if k % 4 == 3 else k % 4)
        y = self(x, t)
        total(y).backward()
        return y, x


@fault
class indexes_of_several_views_of_one_array(Base):
    def forward(self, x, order):
        h = self.a(x)
        return [h[np.arange(len(order)), order[:, j]] for j in range(order.shape[1])]

    def step(self, k):
        x = variable(k)
        y = self(x, np.random.RandomState(k).randint(0, 4, (len(x), 3)))
        total(y).backward()
        return y, x


# -- Shapes and ways -------------------------------------------------------------------------------


@fault
class shapes_that_come_again(Base):
    def forward(self, xs):
        return F.concat([F.tanh(self.a(x)) for x in xs], axis=0)

    def step(self, k):
        xs = [variable(k + j) for j in range(1 + k * k % 4)]
        y = self(xs)
        total(y).backward()
        return y, xs


@fault
class states_cut_by_unchain_backward(Base):
    """Truncated backpropagation with two states, one of which goes on."""

    def forward(self, x):
        self.h = F.tanh(self.a(x) + (0 if self.h is None else self.h))
        self.g = F.sigmoid(self.h + (0 if self.g is None else self.g))
        return F.sum(self.h), F.sum(self.g)

    def step(self, k):
        if k == 0:
            self.h = self.g = None
        x = variable(k)
        y, z = self(x)
        (y if k % 2 else z).backward()
        if k % 3 == 2:
            (y if k % 2 else z).unchain_backward()
        if k % 5 == 4:
            self.g.unchain_backward()
        return y, z, self.h, self.g, x


@fault
class statistics_read_and_then_written(Base):
    """An array that is an input of one function, and that another one writes to (both bn's)."""

    def forward(self, x):
        with chainer.using_config("train", False):
            y = self.bn(x)
        return self.bn(self.a(x)) + self.bn(y)

    def step(self, k):
        x = variable(k)
        y = self(x)
        total(y).backward()
        return y, x


@fault
class layouts_while_new_kinds_of_backward_come(Base):
    """Sums over what an index array picks; their order depends on its strides."""

    def forward(self, x):
        h = x[:, np.argsort(x.array[0])]
        y = F.broadcast_to(F.sum(h) * 0.1, h.shape) + h
        F.sum(F.tanh(h)).backward()
        return y

    def step(self, k):
        x = variable(k, 5, 4)
        y = self(F.transpose(x) if k % 3 == 2 else x)
        total(y).backward()
        return y, x


@fault
class gradients_that_are_one_object(Base):
    """``+`` hands one gradient to both of its inputs, and to whoever asks for theirs."""

    def forward(self, x):
        self.h, self.g = self.a(x), x * 2
        return self.h + self.g

    def step(self, k):
        x = variable(k)
        y = self(x)
        grads = chainer.grad([y], [self.h, self.g], [variable(k + 1, *y.shape)])
        y.grad = np.ones_like(y.array)
        y.backward(retain_grad=True)
        self.h.grad[0] += 1
        return y, grads, self.h, self.g, x


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_what_differs_from_call_to_call(make):
    check(make, 14)


# -- Numbers that are arrays ------

T = np.array([0, 1, 3], "i")


def full(shape, n):
    return np.full(shape, n, "f")


#: What functions make of a number, or of an array that is among their attributes.
NUMBERS = {
    "leaky_relu": lambda x, n: F.leaky_relu(x, n),
    "elu": lambda x, n: F.elu(x, n),
    "selu": lambda x, n: F.selu(x, n, n),
    "clip": lambda x, n: F.clip(x, -n, n),
    "softplus": lambda x, n: F.softplus(x, n),
    "rrelu": lambda x, n: F.rrelu(x, n / 10, n),
    "huber_loss": lambda x, n: F.huber_loss(x, x * 0.5, n, reduce="no"),
    "contrastive": lambda x, n: F.contrastive(x, x * 0.5, np.array([0, 1, 0], "i"), n),
    "triplet": lambda x, n: F.triplet(x, x * 0.5, x * 2, n),
    "normalize": lambda x, n: F.normalize(x, n),
    "local_response_normalization": lambda x, n: F.local_response_normalization(x, 3, n, n, n),
    "power": lambda x, n: abs(x) ** n,
    "base": lambda x, n: n ** abs(x),
    "quotient": lambda x, n: n / (1 + x * x),
    "class_weight": lambda x, n: F.softmax_cross_entropy(x, T, class_weight=full(4, n)),
    "class_weight_twice": lambda x, n: F.softmax_cross_entropy(
        x, T, class_weight=full(4, n), reduce="no", enable_double_backprop=True),
    "mask": lambda x, n: F.dropout(x, 0.5, mask=full(x.shape, n)),
    "running_mean": lambda x, n: F.batch_normalization(
        x, full(4, 1), full(4, n), running_mean=full(4, n), running_var=full(4, n), decay=n),
    "batch_renormalization": lambda x, n: F.batch_renormalization(
        x, full(4, 1), full(4, n), n + 5, n + 1, running_mean=full(4, n), running_var=full(4, n)),
    "scatter_add": lambda x, n: F.scatter_add(
        x, (np.array([0, 1, 0]), np.array([1, 2, 1])), full(3, n)),
    "rows_twice": lambda x, n: x[np.array([0, 2, 2])] * n,
    "pad": lambda x, n: F.pad(x, 1, "constant", constant_values=n),
    "average": lambda x, n: F.average(x, axis=1, weights=full(4, n)),
    "negative_sampling": lambda x, n: F.negative_sampling(
        x, T, full((5, 4), n), lambda shape: np.ones(shape, "i"), 2),
    "roi_pooling_2d": lambda x, n: F.roi_pooling_2d(
        F.reshape(x, (1, 1, 3, 4)), np.array([[0, 0, 0, 3, 2]], "f"), 2, 2, float(n)),
    "roi_average_align_2d": lambda x, n: F.roi_average_align_2d(
        F.reshape(x, (1, 1, 3, 4)), np.array([[0, 0, 3, 2]], "f"), np.zeros(1, "i"), 2, float(n)),
}
KINDS = {
    "array": lambda n: np.array(n, "f"), "array of doubles": np.array, "float32": np.float32,
    "float64": np.float64, "float": float}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_arrays(name, kind):
    """No check comes before they are compared; the first calls have one number, the others not."""

    def forward(self, x, n):
        return NUMBERS[name](self.a(x), n)

    def make():
        class Model(Base):
            def step(self, k):
                x = variable(k)
                y = self(x, KINDS[kind](0.3 + max(k - 4, 0) / 8))
                total(y).backward()
                return y, x

        Model.forward = forward
        return Model

    with chainer.using_config("static_check", "never"):
        told = difference(run(make, False, 9), run(make, True, 9))
    assert told is None, told


ROWS = len(variable(0))


def run_calls(model, calls, *arguments):
    for k in range(calls):
        total(model(variable(k), *[a(k) for a in arguments])).backward()
    return model.schedule_manager.report()[0]


def compiled(forward):
    return type("Model", (Base,), {"forward": chainer.static_graph(forward)})()


def test_numbers_and_indexes_run_in_programs():

    def forward(self, x, n, t):
        return F.leaky_relu(self.a(x) * n, n)[np.arange(len(t)), t]

    model = compiled(forward)
    report = run_calls(model, 10, lambda k: 0.5 + k / 16, lambda k: np.arange(k, k + ROWS) % 4)
    assert report.hits >= 5
    assert len([e for e in report.events if e.kind == "compile"]) <= 3


def test_new_shapes_are_not_noted_but_the_first_few():
    """Five tell what is the same of all, although one of them has a single row."""
    model = compiled(lambda self, x, n: F.sum(self.a(x)) * 2)
    for k in range(12):
        model(variable(0, k + 1, 4), k)
    (site,) = model.schedule_manager._sites.values()
    assert len(site.root.children) == 5 and site.ledger.hits == 12 - 5


def test_draws_that_are_numbers():
    """NumPy draws a Python float where the shape is ()."""
    model = compiled(lambda self, x: F.dropout(F.sum(self.a(x))))
    assert run_calls(model, 6).hits >= 2
    assert not [e for e in model.schedule_manager.report()[0].events if e.kind == "define-by-run"]


def test_any_nan_is_as_good_as_another(monkeypatch, caplog):
    """Training that diverges is no fault of a program: which NaN comes out is left open."""

    class Diverges(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return F.sum(F.tanh(F.exp(x)))

    signs = itertools.cycle([1.0, -1.0])
    by_graph = _node.gradients

    def other_nans(*args):
        found = by_graph(*args)
        for g in found:
            np.copysign(g.array, next(signs), out=g.array, where=np.isnan(g.array))
        return found

    monkeypatch.setattr(_node, "gradients", other_nans)
    model = Diverges()
    for _ in range(12):
        x = chainer.Variable(np.array([1.0, np.nan, 2.0], "f"))
        model(x).backward()
        assert np.isnan(x.grad).tolist() == [False, True, False]
    (report,) = model.schedule_manager.report()
    assert report.checks > 2 and not caplog.records
    assert "distrusted" not in {event.kind for event in report.events}
    # Of large gradients digests are compared.
    a, b = np.array([np.nan, 1, -np.nan], "f"), np.array([-np.nan, 1, np.nan], "f")
    assert _node._digest(a) == _node._digest(b) != _node._digest(np.ones(3, "f"))
