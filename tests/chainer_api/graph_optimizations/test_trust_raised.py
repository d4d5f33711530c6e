"""Functions that raise for some values, and what define-by-run would not have come to after them.

Computed late, they raise late: the attributes that were set meanwhile, the random numbers that
were drawn, and exceptions of the method are as if they had raised at once.
"""

import itertools

import numpy as np
import pytest
from trust import Base, check, decorated_class, run, table, total, variable

import chainer
import chainer.functions as F
import chainer.links as L

FAULTS, fault = table()
BAD = (5, 6, 9, 14)  # calls with an index out of range


def index(k):
    """Indexes into five rows, in some calls out of range."""
    found = np.random.RandomState(k).randint(0, 5, 4)
    if k in BAD:
        found[1] = 5
    return found


def chained(error):
    """What a traceback shows of an exception."""
    found = []
    while error is not None:
        found.append((type(error).__name__, str(error), error.__suppress_context__))
        error = error.__cause__ or error.__context__
    return found


class Embedded(Base):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.rows = L.EmbedID(5, 4)
            self.lstm = L.LSTM(4, 4)

    def step(self, k):
        try:
            y = self(index(k))
        except (IndexError, KeyError, RuntimeError) as e:
            return chained(e), np.random.rand()
        total(y).backward()
        return y, np.random.rand()


@fault
def a_state_after_it():
    class Model(Embedded):
        def forward(self, x):
            return self.lstm(self.rows(x))

        def step(self, k):
            found = super().step(k)
            if self.lstm.h is not None:
                self.lstm.h.unchain_backward()
            return found, self.lstm.h, self.lstm.c

    return Model


@fault
def a_state_after_several():
    """What the first ones have set stays."""

    class Model(Embedded):
        def forward(self, x):
            self.h = self.a(self.lstm(self.rows(np.abs(x - 1) % 5)))
            self.count = self.h.shape
            self.h = self.b(self.rows(x)) + self.h
            self.after = self.h * 2
            self.h = F.tanh(self.h)
            return self.h

    return Model


@fault
def a_counter_after_it():
    class Model(Embedded):
        count, last = 0, None

        def forward(self, x):
            self.count += 1
            h = self.rows(x)
            self.count += 10
            self.last = F.sum(h)
            return h

    return Model


def statistics(forward):
    """A model with this method, which raises behind a program that has written statistics."""

    class Model(Embedded):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.other = L.BatchNormalization(4)

        def step(self, k):
            self.t = np.array([0, 9 if k in BAD else 3, k % 4], "i")
            try:
                y = self(variable(k))
            except (IndexError, ValueError) as e:
                return chained(e)
            total(y).backward()
            return y

    Model.forward = forward
    return Model


@fault
def statistics_written_and_read_before_it():
    def forward(self, x):
        y = self.bn(self.a(x))
        with chainer.using_config("train", False):
            z = self.bn(self.b(x))
        return F.softmax_cross_entropy(y + z, self.t), y

    return statistics(forward)


@fault
def statistics_written_and_read_around_draws_before_it():
    def forward(self, x):
        y = F.dropout(self.bn(self.a(x)))
        with chainer.using_config("train", False):
            z = self.bn(self.b(x))
        return F.softmax_cross_entropy(y + z, self.t), y, F.dropout(z)

    return statistics(forward)


@fault
def statistics_written_before_it_and_behind():
    def forward(self, x):
        self.h = y = self.bn(self.a(x))
        with chainer.using_config("train", False):
            z = self.bn(self.b(x)) + self.other(y)
        loss = F.softmax_cross_entropy(y + z, self.t)
        return loss, self.other(z), y

    return statistics(forward)


@fault
def noise_after_it():
    class Model(Embedded):
        def forward(self, x):
            h = F.dropout(self.rows(np.abs(x - 1) % 5), 0.3)
            h = h + self.rows(x)
            return F.dropout(F.dropout(h), 0.2)

    return Model


@fault
def another_exception_after_it():
    class Model(Embedded):
        calls = 0

        def forward(self, x):
            h = self.rows(x)
            self.calls += 1
            if self.calls % 5 == 1:
                raise KeyError(self.calls)
            return h

    return Model


@fault
def a_call_in_a_handler():
    class Model(Embedded):
        def forward(self, x):
            return self.rows(x) * 2

        def step(self, k):
            try:
                raise ValueError("before")
            except ValueError:
                return super().step(k)

    return Model


@fault
def try_around_another_compiled_method():
    class Model(Embedded):
        decorate = "forward", "inner"

        def inner(self, x):
            return self.rows(x) * 2

        def forward(self, x):
            try:
                return self.inner(x)
            except IndexError as e:
                self.error = str(e)
                raise RuntimeError("bad labels") from e

    return Model


class Normalized(Embedded):
    """Statistics are written by the program that raises, between pieces of native code."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.norm = self.make_norm()

    def step(self, k):
        x = np.random.RandomState(k).randn(6, 4).astype("f")
        z = np.float32([k not in BAD, 1])
        if k in BAD:
            x[1, 0] = self.bad
        try:
            with np.errstate(divide="raise", invalid="ignore"):
                y = self(x, z)
        except (np.linalg.LinAlgError, FloatingPointError) as e:
            y = str(e)
        else:
            total(y).backward()
        return y, self.norm.avg_mean.copy()


@fault
def statistics_before_eigenvalues():
    class Model(Normalized):
        bad = np.inf

        def make_norm(self):
            return L.DecorrelatedBatchNormalization(4, groups=1)

        def forward(self, x, z):
            return F.sum(F.sigmoid(x)) + F.sum(self.norm(x) ** 2)

    return Model


@fault
def statistics_before_floating_point_errors():
    class Model(Normalized):
        bad = 0.0

        def make_norm(self):
            return L.BatchNormalization(4)

        def forward(self, x, z):
            real, _ = F.fft((self.norm(x), x))  # by Python
            return F.log(F.absolute(real[0, :2]) * z)

    return Model


@fault
def try_around_a_compiled_method_of_another_chain():
    class Inner(Embedded):
        @chainer.static_graph
        def forward(self, x):
            return self.b(self.rows(x))

    class Model(Embedded):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner = Inner()

        def forward(self, x):
            try:
                return self.inner(x)
            except IndexError:
                return self.a(np.ones((4, 4), "f"))

    return Model


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_raised_late(make):
    check(make, 20)


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_programs_have_run(make):
    reports = []
    run(make, True, 20, after=lambda model: reports.extend(model.schedule_manager.report()))
    assert reports[0].hits > 5


def test_what_has_no_values_says_why():
    kept = []

    class Model(Embedded):
        def forward(self, x):
            kept.append(self.rows(x))
            return kept[-1] * 2

    model = decorated_class(lambda: Model)()
    for k in range(5):
        model(index(k))
    with pytest.raises(IndexError):
        model(index(BAD[0]))
    with pytest.raises(RuntimeError, match="has raised an exception before"):
        kept[-1].array  # noqa: B018


class Several(Base):
    """Results of several elements, from which backward cannot start."""

    def forward(self, x):
        self.inner = F.sum(self.a(x) ** 2, 1)
        return self.inner + 0.01

    def step(self, k):
        y = self(variable(k))
        raised = []
        starts = [y, self.inner] if k % 2 else [self.inner, y]
        for start, retain in itertools.product(starts, (False, True)):
            try:
                start.backward(retain_grad=retain)
            except ValueError as e:
                raised.append(str(e))
        assert len(raised) == 4
        F.sum(y).backward()
        return y, raised, self.inner.grad


def test_backward_without_a_gradient_to_start_with():
    check(lambda: Several)


def test_a_note_names_the_line_of_what_is_computed_late():
    """Two tables look alike in a traceback that ends at the call."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.one, self.other = L.EmbedID(5, 4), L.EmbedID(5, 4)

        @chainer.static_graph
        def forward(self, x, y):
            h = F.tanh(self.one(x))
            return self.second(h, y)

        def second(self, h, y):
            return F.sum(h * self.other(y))

    first = Model.forward.__wrapped__.__code__.co_firstlineno
    model, rows = Model(), np.arange(4)
    for _ in range(40):
        model(rows, rows.copy())
    assert model.schedule_manager.report()[0].hits > 30
    told = []
    for x, y in ((rows + 2, rows.copy()), (rows.copy(), rows + 2)):
        with pytest.raises(IndexError) as caught:
            model(x, y)
        (note,) = caught.value.__notes__
        told.append(note)
        assert "out of bounds" in str(caught.value)
    assert told[0].startswith(f"EmbedIDFunction stands at {__file__}:{first + 2};")
    places = f"{__file__}:{first + 6} < {__file__}:{first + 3}"
    assert told[1].startswith(f"EmbedIDFunction stands at {places};")
