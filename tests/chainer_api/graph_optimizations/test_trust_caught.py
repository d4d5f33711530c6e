"""Functions that raise for some values, where the method deals with exceptions.

Whatever the method catches, swallows, notes or cleans up after it does so where define-by-run
raises: in the same ``try`` or ``with``, or in none. Computed late a function would meet others.
"""

import contextlib
import logging
import warnings

import numpy as np
import pytest
from trust import Base, check, run, table

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _contexts, _frames

FAULTS, fault = table()
BAD = (3, 6, 7, 13, 14, 17)  # calls with an index out of range
CALLS = 20


class Model(Base):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.rows = L.EmbedID(6, 4)
        self.k = self.count = 0

    def step(self, k):
        self.k = k
        rng = np.random.RandomState(k)
        x, index = chainer.Variable(rng.randn(3, 4).astype("f")), rng.randint(0, 6, 3)
        if k in BAD:
            index[1] = 9
        try:
            y = self(x, index)
        except Exception as e:
            return type(e).__name__, str(e), self.count
        F.sum(y * y).backward()
        return y, x, self.count


def method(forward):
    """A model with this method, as a fault."""

    def make():
        return type("Model", (Model,), {"forward": forward})

    make.__name__ = forward.__name__
    return fault(make)


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is IndexError


class Counts:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.model.count += kind is not None


@contextlib.contextmanager
def swallowing():
    try:
        yield
    except IndexError:
        pass


# -- The same function within, and not -----------------------------------------------------------


@method
def within_in_every_other_call(self, x, index):
    if self.k % 2:
        h = self.rows(index)
    else:
        try:
            h = self.rows(index)
        except IndexError:
            h = x
    return self.a(h)


@method
def within_in_later_calls(self, x, index):
    if self.k < 10:
        h = self.rows(index % 6)
    else:
        try:
            h = self.rows(index)
        except IndexError:
            h = x * 2
    return self.a(h)


@method
def within_a_function_that_catches_others(self, x, index):
    def inner():
        try:
            return self.rows(index)
        except KeyError:
            return x

    try:
        h = inner()
    except IndexError:
        h = x * 3
    return self.a(h)


@method
def applied_again_by_the_handler(self, x, index):
    g = self.rows(index % 6)
    try:
        h = self.rows(index)
    except IndexError:
        h = self.rows(np.clip(index, 0, 5))
    return self.a(h) + g


@method
def turned_into_another_one(self, x, index):
    try:
        h = self.rows(index)
    except IndexError as e:
        raise ValueError("mine") from e
    return self.a(h)


@method
def noted_at_the_end(self, x, index):
    try:
        h = self.rows(index)
    finally:
        self.count += 1
    return self.a(h) * self.count


@method
def in_a_loop(self, x, index):
    h = x
    for k in range(3):
        try:
            v = float(F.sum(h).array)
        except IndexError:
            v = 0
        h = self.rows((index + k) % (9 if self.k % 5 == 0 else 6)) * v
    return self.a(h)


# -- Contexts --------------------------------------------------------------------------------------


@method
def swallowed_by_an_exit(self, x, index):
    h = x
    with Swallows():
        h = self.rows(index)
    return self.a(h)


@method
def counted_by_an_exit(self, x, index):
    with Counts(self):
        h = self.rows(index)
    return self.a(h) * self.count


@method
def suppressed(self, x, index):
    h = x
    with contextlib.suppress(IndexError):
        h = self.rows(index)
    return self.a(h)


@method
def swallowed_by_a_generator(self, x, index):
    h = x
    with chainer.using_config("train", False), swallowing():
        h = self.rows(index)
    return self.a(h)


@method
def swallowed_by_a_stack(self, x, index):
    h = x
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(IndexError))
        h = self.rows(index)
    return self.a(h)


@method
def among_what_hands_exceptions_on(self, x, index):
    with chainer.using_config("train", False), np.errstate(under="ignore"):
        h = self.rows(index)
    with chainer.no_backprop_mode():
        g = self.rows(index)
    return self.a(h) + g


# -- Applied outside, and read within ----------------------------------------------------------


@method
def read_within(self, x, index):
    h = self.rows(index)
    try:
        v = float(F.sum(h).array)
    except IndexError:
        v = 0
    return self.a(h) * v


@method
def read_within_a_context(self, x, index):
    h, v = self.rows(index), 0
    with contextlib.suppress(IndexError):
        v = float(F.sum(h).array)
    return self.a(h) * v


@method
def read_within_in_later_calls(self, x, index):
    h, v = self.rows(index), 1
    if self.k > 10:
        try:
            v = float(F.sum(h).array)
        except IndexError:
            v = 0
    return self.a(h) * v


def sum_or_nothing(h):
    try:
        return float(F.sum(h).array)
    except IndexError:
        return 0


@method
def read_within_another_function(self, x, index):
    h = self.rows(index)
    return self.a(h) * sum_or_nothing(h)


# -- Floating-point errors that are raised ------------------------------------------------------


@method
def errors_raised_within(self, x, index):
    try:
        with np.errstate(all="raise"):
            y = F.log(x)
    except FloatingPointError:
        y = x * 2
    return self.a(y)


@method
def errors_raised_around(self, x, index):
    with np.errstate(all="raise"):
        try:
            y = F.log(F.exp(x) + self.a(x))
        except FloatingPointError:
            y = x * 2
    return self.a(y)


@method
def warnings_raised_within(self, x, index):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            y = F.log(x)
        except RuntimeWarning:
            y = x * 2
    return self.a(y)


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_caught(make, caplog):
    with caplog.at_level(logging.WARNING, "chainwright"):
        check(make, CALLS)
    assert not caplog.records


def test_errors_that_were_raised_before_and_are_caught():
    """Where functions raise, and warnings do, from the beginning of the call on."""

    def forward(self, x, index):
        try:
            y = F.log(x)
        except (FloatingPointError, RuntimeWarning):
            y = x * 2
        return self.a(y)

    def make():
        return type("Model", (Model,), {"forward": forward, "step": self_step})

    def self_step(self, k):
        with warnings.catch_warnings(), np.errstate(**({"all": "raise"} if k % 2 else {})):
            warnings.simplefilter("error")
            return Model.step(self, k)

    check(make, CALLS)


def test_contexts_that_hand_exceptions_on_are_in_nobodys_way():
    """Programs still contain functions that may raise."""
    reports = []
    run(among_what_hands_exceptions_on, True, CALLS,
        after=lambda model: reports.extend(model.schedule_manager.report()))
    assert reports[0].hits > CALLS / 2
    assert not any("catch" in stop.reason for stop in reports[0].stops)


def contexts(self):
    with chainer.using_config("train", False), np.errstate(all="ignore"):
        pass
    with contextlib.suppress(KeyError):
        pass
    np_ = np
    with np_.errstate(all="ignore"):
        pass
    with self:
        pass
    with chainer.testing.assert_warns(UserWarning):
        pass
    with chainer.no_backprop_mode():
        with contextlib.nullcontext():
            pass


def test_which_contexts_are_known_to_hand_exceptions_on():
    code = contexts.__code__
    seen = {r.with_at: _contexts.hands_on(code, globals(), r.with_at)
            for r in _frames.handled(code) if r.with_at}
    first = code.co_firstlineno
    assert {line - first: known for (line, _), known in sorted(seen.items())} == {
        1: True, 3: False, 6: False, 8: False, 10: False, 12: True, 13: True}
