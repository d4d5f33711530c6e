"""What scripts in the style of real projects have found: the smallest program of each.

:mod:`trust` says what is compared.
"""

import warnings

import numpy as np
import pytest
from trust import CALLS, Base, check, table, total, variable

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _piece
from chainer.link_hooks import SpectralNormalization

FAULTS, fault = table()


class _Turns(Base):
    """Two ways that take turns: the first cuts the graph where the second goes on with it."""

    cut = True

    def other(self, h):
        return chainer.Variable(h.array) if self.cut else h

    def step(self, k):
        self.cut = k % 8 < 4
        x = variable(k, 16, 4)
        y = self(x)
        total(y).backward()
        return y, x


@fault
def cut_behind_a_function_that_is_applied():
    """Three uses of what a function between programs gives; the third may be of a new Variable."""

    class Model(_Turns):
        def forward(self, x):
            h = F.forget(lambda v: F.leaky_relu(self.a(v)), x)
            return (F.exp(-h) + F.tanh(h)) * self.other(h)

    return Model


@fault
def cut_behind_a_program():
    """The same of what a program has given when somebody looks."""

    class Model(_Turns):
        def forward(self, x):
            h = F.leaky_relu(self.a(x))
            self.seen = float(h.array.sum())
            return (F.exp(-h) + F.tanh(h)) * self.other(h)

    return Model


@fault
def cut_behind_a_program_that_was_not_there():
    """The same where functions have to be applied: somebody holds more than the program gives."""

    class Model(_Turns):
        def forward(self, x):
            g = self.a(x)
            h = F.leaky_relu(g)
            if self.cut and float(h.array[0, 0]) > 0:
                self.held = g
            return (F.exp(-h) + F.tanh(h)) * self.other(h)

        def step(self, k):
            self.held = None
            return super().step(k)

    return Model


@fault
def cut_of_several_results():
    """The parts of one result, of which the second way uses one four times."""

    class Model(_Turns):
        def forward(self, x):
            p, q = F.forget(lambda v: F.split_axis(self.a(v), 2, 1), x)
            r = self.other(q)
            return F.sin(q) * p + F.exp(-q) * q, F.tanh(r) - q * r

    return Model


@fault
def cut_of_a_state():
    """A state goes on from step to step, or is cut where its array is wrapped anew."""

    class Model(_Turns):
        def forward(self, x):
            h = F.tanh(self.a(x))
            for _ in range(3):
                if float(h.array[0, 0]) > 2:
                    break
                g = self.other(h)
                h = F.sigmoid(self.b(h)) * h + F.tanh(g) * x
            return h

    return Model


@fault
def cut_without_gradients():
    """Results that are no part of a graph are leaves of one afterwards."""

    class Model(_Turns):
        def forward(self, x):
            with chainer.no_backprop_mode():
                h = F.leaky_relu(self.a(x))
                self.mean = np.float32(h.array.mean())
            return h, (F.exp(-h) + F.tanh(h)) * self.other(h) + self.b(x)

    return Model


@fault
def evaluated_before_a_batch_of_training():
    """A layer is called in test mode, then in training mode, and backward comes afterwards."""

    class Model(Base):
        decorate = "forward", "block"

        def block(self, x):
            return F.tanh(self.bn(self.a(x)))

        def forward(self, x):
            with chainer.using_config("train", False):
                y = self.block(x)
            return self.bn(self.b(y)) * y

    return Model


@fault
def evaluated_before_a_batch_of_training_outside():
    """The same in two calls before one backward."""

    class Model(Base):
        def forward(self, x):
            return F.tanh(self.bn(self.a(x)))

        def step(self, k):
            x = variable(k)
            with chainer.using_config("train", False):
                y = self(x)
            z = self(x)
            (total([y, z]) + F.sum(y * z)).backward()
            return y, z, x

    return Model


class _Scaled(chainer.FunctionNode):
    """A function whose backward takes a view of an array."""

    _supports_static_optimizations = True

    def forward(self, inputs):
        (x,) = inputs
        self.retain_inputs((0,))
        return (x * x[:, :1],)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (grad_outputs[0] * np.broadcast_to(x.array[:, :1], x.shape),)


class _Failing(_Scaled):
    """A function whose backward fails for zeros, with which it is traced."""

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        if not x.array.any():
            raise ValueError("zeros")
        return (grad_outputs[0] * x,)


def _with_function(kind, parts):
    class Model(Base):
        def forward(self, x):
            h = F.tanh(self.a(x))
            for _ in range(parts):
                h = F.sin(kind().apply((h,))[0])
            return h

    return Model


@fault
def view_in_backward():
    return _with_function(_Scaled, 1)


@fault
def views_in_backward():
    return _with_function(_Scaled, 3)


@fault
def failure_in_backward():
    return _with_function(_Failing, 2)


@fault
def convolution_to_one_pixel():
    """A LeNet's third layer: what is added up, in which order, goes by the layout of columns."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv = L.Convolution2D(16, 80, 4)
                self.out = L.Deconvolution2D(80, 16, 4)

        def forward(self, x):
            return F.tanh(self.out(F.tanh(self.conv(x))))

        def step(self, k):
            x = variable(k, 32, 16, 4, 4)
            y = self(x)
            total(y).backward()
            for p in self.params():
                p.array -= 0.1 * p.grad
            return y, x

    return Model


@fault
def spectral_normalization_in_evaluation():
    """Nothing is written then: the function was pending when its singular vector was read."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.c = L.Linear(4, 4).add_hook(SpectralNormalization())

        def forward(self, x):
            return F.tanh(self.c(self.a(x)))

        def step(self, k):
            with chainer.using_config("train", k % 3 != 2):
                return super().step(k)

    return Model


def _warns(forward, backward):
    """Every third batch is too large; all warnings count, each time."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.wide = L.Linear(4, 100)

        def step(self, k):
            x = variable(k, 128, 4)
            if k % 3 == 2:
                x.array[:] = 3e38
                x.array[0] = np.inf
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                y = self(x)
                if backward:
                    F.sum(y * y).backward()
            return y, x, [str(w.message) for w in found]

    Model.forward = forward
    return Model


@fault
def warnings_of_products():
    return _warns(lambda self, x: self.wide(x), False)


@fault
def warnings_of_normalization():
    return _warns(lambda self, x: F.tanh(self.bn(x)), True)


@fault
def warnings_of_elementwise_functions():
    return _warns(lambda self, x: F.exp(x) * 2 - x, True)


def _of_dtype(dtype, forward):
    """Arguments as they were read from a file, say: programs do not know all dtypes."""

    class Model(Base):
        def step(self, k):
            x = chainer.Variable((variable(k).array + 2).astype(dtype))
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                results = self(x)
                total(results[0]).backward()
            # Of 16 bytes of a long double 6 mean nothing.
            grad = x.grad if x.grad is None else x.grad.astype("d")
            return [y.array.astype("d") for y in results], grad, len(found)

    Model.forward = forward
    return Model


@fault
def numbers_of_another_byte_order():
    """Without gradients: those are numbers in the order of the machine, which is an error."""

    def forward(self, x):
        with chainer.no_backprop_mode():
            return F.cast(x, "f"), F.transpose(x), F.exp(x), x[1:], F.concat([x, x], 0)

    return _of_dtype(">f4", lambda self, x: (self.a(F.cast(x.array, "f")), *forward(self, x)))


@fault
def gradients_of_numbers_of_another_byte_order():
    return _of_dtype(">f8", lambda self, x: (F.tanh(x), F.relu(x)))


@fault
def whole_numbers_of_another_byte_order():
    return _of_dtype(">i4", lambda self, x: (self.a(F.cast(x, "f")), x.T, x[:, 1:], x * 2))


@fault
def long_doubles():
    return _of_dtype("g", lambda self, x: (F.exp(x), F.sum(x, 1), F.cast(x, "f")))


@fault
def complex_numbers():
    """NumPy warns where the imaginary part goes, once."""
    return _of_dtype("F", lambda self, x: (self.a(F.cast(x, "f")), F.cast(x * 2, "f")))


def left_in_the_middle(use):
    """A generator that has something to do when it is left: define-by-run lets it go at once."""

    def make():
        class Model(Base):
            done = None

            def layers(self):
                for k in range(3):
                    try:
                        yield self.a
                    finally:
                        self.done = k

            def scopes(self):
                for k in range(3):
                    with chainer.using_config("train", k > 0):
                        yield self.bn
                self.done = -1

            def forward(self, x):
                return use(self, x), self.done

            def step(self, k):
                y = self(variable(k))
                total(y).backward()
                return y

        return Model

    make.__name__ = use.__name__
    return fault(make)


@left_in_the_middle
def generator_left_by_a_break(self, h):
    for layer in self.layers():
        h = F.tanh(layer(h))
        if h.shape[0] > 1:
            break
    return h * self.done


@left_in_the_middle
def generator_left_by_a_shorter_one(self, h):
    for layer, k in zip(self.layers(), range(2)):  # noqa: B905
        h = F.tanh(layer(h)) * k + h
    return h


@left_in_the_middle
def generator_of_which_one_is_taken(self, h):
    return next(self.layers())(h)


@left_in_the_middle
def generator_left_within_a_context(self, h):
    for layer in self.scopes():
        h = layer(h)
        if h.shape[0] > 1:
            break
    return self.bn(h)


class _EqualKeys(Base):
    """Keys and items that are equal, and others: ``turns`` are there one after the other."""

    def forward(self, x):
        h = F.tanh(self.a(x))
        for key in self.keys:
            h = h * (1 + key)
        return h, [type(key).__name__ for key in self.keys], str([*self.keys])

    def step(self, k):
        self.keys = self.turns[0 if k < CALLS else k % len(self.turns)]
        return super().step(k)


@fault
def items_of_a_set_that_are_equal_and_others():
    class Model(_EqualKeys):
        turns = {1, 8}, {1.0, 8}, {True, 8}, {8, 1}, frozenset({1, 8.0})

    return Model


@fault
def keys_of_a_dict_that_are_equal_and_others():
    class Model(_EqualKeys):
        turns = {1: 0, 0: 0}, {1.0: 0, 0: 0}, {True: 0, False: 0}, {1: 0, -0.0: 0}, {0: 0, 1: 0}

    return Model


class _OtherThanLinks(Base):
    """What was registered as a link becomes something else: the library cannot list it then."""

    instead = None

    def cleargrads(self):
        for link in (self.a, self.bn):
            link.cleargrads()

    def forward(self, x):
        h = self.bn(self.a(x))
        return F.tanh(h) if self.b is None else self.b(h)

    def step(self, k):
        if k == CALLS // 2:
            self.b = type(self).instead
        return super().step(k)


@fault
def link_that_becomes_a_function():
    """As people made extractors of features."""

    class Model(_OtherThanLinks):
        instead = staticmethod(F.identity)

    return Model


@fault
def link_that_becomes_none():
    """A head that is dropped."""
    return _OtherThanLinks


@fault
def link_that_was_a_function_from_the_first_call_on():
    class Model(_OtherThanLinks):
        def __init__(self):
            super().__init__()
            self.b = lambda h: h * 2

        def step(self, k):
            return Base.step(self, k)

    return Model


@fault
def methods_that_list_links_and_parameters():
    """They are the user's, and nobody else calls them."""

    class Model(Base):
        called = 0

        def namedparams(self, include_uninit=True):
            self.called += 1
            return super().namedparams(include_uninit)

        def links(self, skipself=False):
            self.called += 1
            return super().links(skipself)

        def children(self):
            raise RuntimeError("not yet")

        def forward(self, x):
            self.c = self.b(F.tanh(self.a(x)))
            return self.c

    return Model


@fault
def attributes_with_the_names_of_such_methods():
    """``self.links = [('conv1', L...), ('relu', F.relu)]`` was a usual style."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.links = [("a", self.a), ("tanh", F.tanh), ("b", self.b)]
            self.children = self.namedlinks = self.params = 3
            self._children = self._params = None

        def cleargrads(self):
            self.a.cleargrads()
            self.b.cleargrads()

        def forward(self, x):
            for _, link in self.links:
                x = link(x)
            return x

    return Model


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_found_by_strangers(fault):
    check(fault, 2 * CALLS)


@pytest.mark.parametrize("what", ["Traced", "schedule"])
def test_a_fault_in_the_compiler_is_none_in_the_program(monkeypatch, caplog, what):
    """What tracing and compiling raise is no exception of the call that happened to cause them."""

    def fails(*_):
        raise AssertionError("a fault of ours")

    class Model(Base):
        @chainer.static_graph
        def forward(self, x):
            return self.b(F.tanh(self.a(x)))

    monkeypatch.setattr(_piece, what, fails)
    model = Model()
    results = [model(variable(3)).array for _ in range(CALLS)]
    assert all([(y == results[0]).all() for y in results])
    assert model.schedule_manager.report()[0].hits == 0
    assert [r.levelname for r in caplog.records if "a fault of ours" in r.message] == ["WARNING"]
