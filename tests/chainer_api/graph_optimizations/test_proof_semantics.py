"""Calls without Python do what Python does: its order, its aliases, its methods and iterators.

Each of these was read otherwise once. All that a call computes here decides which link is applied.
"""

import abc
import collections
import functools
import itertools
import logging
import sys

import numpy as np
import pytest
from trust import Base, Box, check, difference, run, table, total, variable

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _residual

FAULTS, fault = table()


class Model(Base):
    def __init__(self):
        super().__init__()
        self.n, self.log, self.links_ = 0, [], None
        self.u, self.fixed = np.ones(4, "f"), (1, 2, 3)

    def step(self, k):
        self.k = k
        self.links_ = [self.a, self.b]
        self.named = {"a": self.a, "b": self.b}
        self.log = [0]
        y = self(variable(k))
        total(y).backward()
        return y, self.n, self.log


def method(forward, base=Model):
    """A model with this method, as a fault."""

    def make():
        return type(base.__name__, (base,), {"forward": forward})

    make.__name__ = forward.__name__
    return fault(make)


# -- Order -----------------------------------------------------------------------------------------


@method
def second_condition_of_a_comprehension(self, x):
    it = iter((1, 0, 1))
    return (self.a if [v for v in (0, 1) if v if next(it)] else self.b)(x)


@method
def keys_before_values(self, x):
    it = iter((0, 1))
    return (self.a, self.b)[{next(it): next(it)}.get(0, 0)](x)


@method
def decorators_before_defaults(self, x):
    it = iter((0, 1))

    def decorate(k):
        return lambda f: lambda: f() + k * 10

    @decorate(next(it))
    def chosen(k=next(it)):  # noqa: B008
        return k

    return (self.a if chosen() == 1 else self.b)(x)


@method
def sums_as_their_items_come(self, x):
    found = []

    def item(k):
        found.append(k)
        return self.links_[k](x) if k else x

    return sum(item(k) for k in (0, 1)) + len(found)


# -- Names and aliases -----------------------------------------------------------------------------


@method
def named_in_a_comprehension(self, x):
    link = self.a
    [link := q for q in (self.a, self.b)]
    return link(x)


@method
def repeated_in_place(self, x):
    links = [self.a]
    same = links
    links *= 2
    links[0] = self.b
    return same[0](x)


@method
def extended_by_itself(self, x):
    ys = [self.a(x), x]
    ys.extend(ys)
    ys += ys
    return F.concat(ys, 1)


@method
def reversed_and_changed(self, x):
    links = [self.a, self.a]
    it = reversed(links)
    links[1] = self.b
    return next(it)(x)


@method
def values_of_a_dictionary_that_changes(self, x):
    links = {"a": self.a}
    values, items = links.values(), links.items()
    links["a"] = self.b
    return [*values][0](x) + [*items][0][1](x)


@method
def keys_that_are_equal(self, x):
    one, other = {"a": 1, "b": 2}, {"b": 1, "a": 2}
    return (self.a if one.keys() == other.keys() else self.b)(x)


@method
def found_in_a_generator(self, x):
    return (self.a if self.n in (v for v in [-1, self.n]) else self.b)(x)


# -- Containers of the object, changed in the call ------------------------------------------------


@method
def list_compared_after_it_has_grown(self, x):
    self.log.append(7)
    return (self.a if self.log == [0] else self.b)(x)


@method
def list_as_text_after_it_has_grown(self, x):
    self.log.append(7)
    return (self.a if "7" in str(self.log) else self.b)(x)


@method
def list_that_grows_in_its_loop(self, x):
    h = x
    for k, link in enumerate(self.links_):
        if k == 0:
            self.links_.append(self.b)
        h = link(h)
    return h


@method
def iterator_of_a_list_that_changes(self, x):
    it = iter(self.links_)
    self.links_[1] = self.a
    next(it)
    return next(it)(x)


@method
def view_of_a_dictionary_of_the_object(self, x):
    values = self.named.values()
    self.named["a"] = self.b
    return [*values][0](x)


@method
def dictionary_of_the_object_read(self, x):
    there = self.__dict__
    self.n = there.get("n", 0) + 1
    return self.a(x) * there["n"]


@method
def dictionary_of_the_object_written(self, x):
    self.__dict__["n"] = getattr(self, "n", 0) + 1
    return self.a(x) * self.n


@method
def list_compared_twice(self, x):
    before = self.log == [0]
    self.log.append(7)
    return (self.a if before and self.log == [0] else self.b)(x)


@method
def dictionaries_joined(self, x):
    items = [1]
    both = {"a": items} | {"b": 2}
    items.append(5)
    return (self.a if len(both["a"]) == 1 else self.b)(x)


@method
def attributes_of_containers(self, x):
    return (self.a if hasattr([x, x], "shape") or hasattr(self.log, "dtype") else self.b)(x)


@method
def one_object_twice(self, x):
    pair = Pair(3, 4)
    self.p, self.q, self.r = pair, pair, tuple(self.fixed)
    return self.a(x), self.p is self.q, self.r is self.fixed


@method
def unpacked_without_end(self, x):
    try:
        p, q = itertools.repeat(1)
    except ValueError:
        return self.a(x)
    return self.b(x) * (p + q)


counter = 0


@method
def global_in_a_branch_that_is_not_run(self, x):
    if self.k < 0:
        global counter
    counter = self.k
    return self.a(x)


@method
def key_asked_as_items_come(self, x):
    seen = []
    largest = max((seen.append(k) or k for k in (1, 2)), key=lambda v: len(seen))
    return (self.a if largest == 2 else self.b)(x) * len(seen)


# -- NumPy, into its arguments ---------------------------------------------------------------------


@method
def written_by_the_place_of_an_argument(self, x):
    u = np.linspace(-1, 1, 4).astype("f")
    h = self.a(x) * u
    np.clip(u, 0, 0.5, u)
    np.cumsum(u, 0, None, u)
    u.clip(0.1, 0.6, u)
    return h * u


@method
def written_by_nan_to_num(self, x):
    self.u[1] = np.nan
    s = int(np.isnan(self.u).sum())
    np.nan_to_num(self.u, copy=False)
    return self.a(x) * s + self.u


# -- Classes ---------------------------------------------------------------------------------------


class Token:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return self.k == other.k

    __hash__ = None


@method
def not_equal_by_equality(self, x):
    return (self.a if Token(1) != Token(1) else self.b)(x)


class Sum:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Sum(self.v + 1)


class Below(Sum):
    def __radd__(self, other):
        return Sum(self.v + 10)


@method
def operator_of_the_class_below(self, x):
    return (self.a if (Sum(1) + Below(1)).v == 2 else self.b)(x)


class Swapped:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __getattribute__(self, name):
        return object.__getattribute__(self, {"a": "b", "b": "a"}.get(name, name))


@method
def attributes_got_in_another_way(self, x):
    return Swapped(self.a, self.b).a(x)


class Exchanged(collections.namedtuple("Exchanged", "x y")):
    def __new__(cls, x, y):
        return super().__new__(cls, y, x)


@method
def named_tuple_made_in_another_way(self, x):
    return Exchanged(self.a, self.b).x(x)


class Scaled(collections.namedtuple("Scaled", "h k")):
    factor = [2.0]

    @property
    def scale(self):
        return Scaled.factor[0]


Pair = collections.namedtuple("Pair", "p q")


class Longer(collections.namedtuple("Longer", "x")):
    def __len__(self):
        return 5

    def __add__(self, other):
        return 7


@method
def named_tuple_with_methods_of_its_own(self, x):
    made = Longer(1)
    return (self.a if len(made) == 5 and made + made == 7 else self.b)(x)


class Unsure:
    def __eq__(self, other):
        return NotImplemented

    __hash__ = None

    def __len__(self):
        return True


@method
def what_special_methods_give(self, x):
    return (self.a if Unsure() == Unsure() else self.b)(x) * len(Unsure())


class SaysInt:
    @property
    def __class__(self):
        return int


@method
def class_that_an_object_says(self, x):
    return (self.a if isinstance(SaysInt(), int) else self.b)(x)


class Counted:
    """A data descriptor that counts who reads."""

    reads = 0

    def __get__(self, obj, cls):
        Counted.reads += 1
        return obj.__dict__["v"]

    def __set__(self, obj, value):
        obj.__dict__["v"] = value


class Held:
    v = Counted()


class Read:
    """An array that counts who reads it."""

    def __init__(self):
        self.reads = 0

    def __array__(self, dtype=None, copy=None):
        self.reads += 1
        return np.full(4, self.reads, "f")


@fault
def reads_that_are_counted():
    class Reading(Model):
        def __init__(self):
            super().__init__()
            self.held, self.read = Held(), Read()
            self.held.v, Counted.reads = 1.5, 0

        def forward(self, x):
            return self.a(x) * self.held.v + np.asarray(self.read), self.held.v

        def step(self, k):
            return super().step(k), Counted.reads, self.read.reads

    return Reading


# -- What changes between calls --------------------------------------------------------------------


def changing(forward, change):
    """A model of which ``change(model, k)`` comes before the k-th call; what it changes is its own.
    """

    class Changing(Model):
        def __init__(self):
            super().__init__()
            self.kind = type("Kind", (abc.ABC,), {})
            self.plain = type("Plain", (), {})
            self.one, self.other = self.plain(), self.plain()

        def step(self, k):
            change(self, k)
            return super().step(k)

    Changing.forward = forward
    return Changing


@fault
def class_that_gets_a_length():
    def change(self, k):
        if k == 15:
            self.plain.__len__ = lambda self: 0

    return changing(lambda self, x: (self.a if self.one else self.b)(x), change)


@fault
def class_that_gets_an_equality():
    def change(self, k):
        if k == 15:
            self.plain.__eq__ = lambda self, other: True

    return changing(lambda self, x: (self.a if self.one == self.other else self.b)(x), change)


@fault
def class_that_is_registered():
    def change(self, k):
        if k == 15:
            self.kind.register(self.plain)

    return changing(
        lambda self, x: (self.a if isinstance(self.one, self.kind) else self.b)(x), change)


@fault
def property_of_a_named_tuple():
    def change(self, k):
        Scaled.factor[0] = 2.0 if k < 15 else 5.0

    return changing(lambda self, x: self.a(x) * Scaled(x, 3).scale, change)


RANKS = {}


@fault
def key_by_which_a_set_is_sorted():
    def change(self, k):
        RANKS.update(a=k < 15, b=k >= 15)

    def forward(self, x):
        return self.named[sorted({"a", "b"}, key=lambda v: RANKS[v])[0]](x)

    return changing(forward, change)


def given(function):
    """Of a model whose attributes, given by name to a function of Python's, are others at the end.
    """

    def make():
        def change(self, k):
            late = k >= 15
            self.w, self.m, self.late = 5.0 if late else 1.0, 1 if late else 2, late
            self.numbers = [1e16 + 0j, 1 + 0j, -1e16 + 2j] if late else [1 + 0j, 2 + 1j]

        return changing(lambda self, x: self.a(x) * float(function(self)), change)

    make.__name__ = function.__name__
    return fault(make)


@given
def start_of_a_sum(self):
    return sum([2.0, 3.0, np.float32(1)], start=self.w)


@given
def start_of_accumulated_items(self):
    return [*itertools.accumulate([2, 3], func=lambda a, b: a * b, initial=self.m)][-1]


@given
def start_of_counting(self):
    return [*enumerate("ab", start=self.m)][1][0]


@given
def times_of_an_item(self):
    return len([*itertools.repeat(2.0, times=self.m)])


@given
def size_of_combinations(self):
    return len([*itertools.combinations([1, 2, 3], r=self.m)])


@given
def times_of_a_product(self):
    return len([*itertools.product([1, 2, 3], repeat=self.m)])


@given
def number_if_there_is_none(self):
    return max([], default=self.w)


@given
def order_of_a_list(self):
    items = [1.0, 2.0]
    items.sort(reverse=self.late)
    return items[0]


@given
def place_of_an_item_that_there_is_not(self):
    empty = collections.OrderedDict()
    return empty.pop("a", default=self.w) + empty.setdefault("a", default=self.w)


@given
def base_of_a_number(self):
    return int("11", base=self.m + 2)


@given
def digits_of_a_number(self):
    return round(1.2345, ndigits=self.m)


@given
def power_by_a_modulus(self):
    return pow(7, 2, mod=self.m + 3)


@given
def splits_of_a_text(self):
    return len("a b c".split(maxsplit=self.m))


@given
def sum_of_complex_numbers(self):
    """Which has the errors of its steps in mind from Python 3.14 on."""
    return abs(sum(self.numbers))


if sys.version_info >= (3, 14):

    @given
    def start_of_reduced_items(self):
        return functools.reduce(lambda a, b: a * b, [2.0, 3.0], initial=self.w)

    @given
    def items_side_by_side(self):
        try:
            return sum(map(lambda a, b: a * b, [1.0, 2.0], [3.0, 4.0, 5.0], strict=self.late))
        except ValueError:
            return 0.5

    @given
    def argument_that_is_given_later(self):
        f = functools.partial(lambda *args: args[0], functools.Placeholder, self.m)
        return f(self.w)


@fault
def errors_that_are_raised_from_some_call_on():
    def change(self, k):
        self.how = "ignore" if k < 15 else "raise"

    def forward(self, x):
        with np.errstate(divide=self.how):
            return self.a(x) * float(np.divide(1.0, 0.0) > 0)

    return changing(forward, change)


@fault
def report_of_what_is_not_registered():
    class Reporting(Model):
        def forward(self, x):
            h = self.a(x)
            try:
                chainer.report({"m": F.sum(h)}, self)
            except KeyError:
                h = self.b(x)
            return h

        def step(self, k):
            reporter = chainer.Reporter()
            if k < 15:
                reporter.add_observer("n", self)
            with reporter:
                return super().step(k), sorted(reporter.observation)

    return Reporting


@fault
def exception_of_a_function_that_nobody_needs():
    class Unneeded(Model):
        def forward(self, x):
            F.select_item(self.b(x), self.t)
            return self.a(x)

        def step(self, k):
            self.t = np.array([0, 1, 9 if k % 7 == 6 else 2], "i")
            return super().step(k)

    return Unneeded


# -- Types that change ------


class Typed(Model):
    """``self.n`` is of another type from some call on."""

    def step(self, k):
        types = {0: 1.0, 12: 3, 17: np.full(3, 2.0, "f"), 19: np.array(2), 20: np.array(0.5),
                 21: np.float32(2), 22: 2.5, 23: True}
        self.n = types.get(k, self.n)
        return super().step(k)


typed = functools.partial(method, base=Typed)


@typed
def changed_in_place(self, x):
    """An array is changed itself, and may refuse what it would have to become."""
    before = self.n
    self.n *= 1.5
    self.log = [before, self.n]
    return self.a(x)


@typed
def changed_in_place_once_computed(self, x):
    n = self.n + 1
    same = n
    n -= 0.5
    self.log = [same, n]
    return self.a(x)


@typed
def kept_as_it_is(self, x):
    self.kept = self.n
    self.log += [self.n, (self.n, x)]
    return self.a(x)


@typed
def of_the_larger_one(self, x):
    """An int or a float, by values."""
    self.kept = max(float(self.k) if self.k % 2 else self.k, 5)
    return self.a(x)


@fault
def an_attribute_that_becomes_a_property():
    """What is set is not what is read, then."""

    class Becoming(Model):
        def forward(self, x):
            self.n += 1
            self.kept = max(self.n, 3)
            return self.a(x)

        def step(self, k):
            cls = type(self)
            if k == 17:
                cls.n = property(
                    lambda self: self.__dict__["n"],
                    lambda self, n: self.__dict__.__setitem__("n", n + 1))
            return super().step(k)

    return Becoming


# -- The configuration ------


@fault
def configuration_that_is_set():
    """What is read of it afterwards is what was set."""

    class Setting(Model):
        def forward(self, x):
            chainer.config.mine = self.k // 4
            return self.a(x) * chainer.config.mine

        def close(self):
            del chainer.config.mine

    return Setting


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_as_python(make, caplog):
    with caplog.at_level(logging.WARNING, "chainwright"):
        check(make, 24)
    assert not caplog.records


# -- The net below ---------------------------------------------------------------------------------


def test_what_functions_were_applied_to_is_checked(caplog):
    """A proof that takes another link of the same kind is found out by its first check."""

    def forward(self, x):
        return (self.a if self.n >= 0 else self.b)(x)

    def make():
        return type("Model", (Model,), {"forward": forward})

    def misread(model):
        (site,) = model.schedule_manager._sites.values()
        (proof,) = site.proofs.proofs
        holds, model.n = proof.holds, -1
        proof.holds = lambda chain, *rest: (
            Box.__setattr__(chain, "n", 0), holds(chain, *rest), Box.__setattr__(chain, "n", -1))[1]
        proof.uses = 31
        with caplog.at_level(logging.WARNING, "chainwright"):
            model(variable(3))
        assert site.proofs.proofs == ()

    assert difference(run(make, False, 12), run(make, True, 12, misread)) is None
    assert "not applied to" in caplog.text


@pytest.mark.parametrize("of", [lambda n: n, lambda n: max(n, 2)], ids=["kept", "computed"])
def test_what_has_another_type_is_nothing_else(of, caplog):
    """A check finds a call that has done as it was to do: no reason to distrust anything."""

    class Keeping(Model):
        @chainer.static_graph
        def forward(self, x):
            self.kept = of(self.n)
            return self.a(x)

    model = Keeping()
    with caplog.at_level(logging.WARNING, "chainwright"):
        for k in range(70):
            model.n = 2.5 if k < 19 else 1
            model(variable(k))
    assert not caplog.records
    assert model.kept == of(1)
    assert model.schedule_manager.report()[0].without_python > 30


@pytest.mark.parametrize("computes", [True, False])
def test_a_method_that_does_much_besides_is_not_read_to_its_end(computes):
    class Much(Model):
        @chainer.static_graph
        def forward(self, x):
            s = self.n if computes else 2
            self.n += 1
            for i in range(1000000):
                s = (s * 31 + i) % 1009
            return self.a(x) * (s % 7)

    model = Much()
    for _ in range(6):
        model(variable(0))
    (report,) = model.schedule_manager.report()
    assert report.without_python == 0
    why = f"more than {_residual._MOST_VALUES} values" if computes else "does too much"
    assert any(why in event.reason for event in report.events)
    assert report.spent["prove"] < 10.0


@pytest.mark.parametrize("kind, through", [
    (list, max), (list, lambda h: len([v for v in h if v > 2])), (tuple, lambda h: [*h][1]),
    (dict.fromkeys, max), (lambda values: dict(enumerate(values)), lambda h: max(h.values())),
    (set, max), (list, lambda h: float(h == [*h[:]])),
])
@pytest.mark.parametrize("items", [100, 3000])
def test_long_containers_are_not_read_item_by_item(kind, through, items):
    """A line of the proof, an object and 11 KiB each; or a comparison of all in each call."""

    class Long(Model):
        @chainer.static_graph
        def forward(self, x):
            return self.a(x) * through(self.history)

    model = Long()
    model.history = kind([0.5 + k for k in range(items)])
    wanted = (model.a(variable(3)) * through(model.history)).array.tobytes()
    for _ in range(12):
        assert model(variable(3)).array.tobytes() == wanted
    (report,) = model.schedule_manager.report()
    assert bool(report.without_python) is (items == 100)
    assert any("items" in event.reason for event in report.events) is (items > 100)


def test_a_method_that_reads_very_many_values_keeps_its_python(monkeypatch):
    monkeypatch.setattr(_residual, "_MOST_VALUES", 8)

    class Reads(Model):
        @chainer.static_graph
        def forward(self, x):
            return self.a(x) * (self.n + self.log[0])

    model = Reads()
    model.log = [1]
    for _ in range(12):
        model(variable(0))
    (report,) = model.schedule_manager.report()
    assert report.hits and not report.without_python
    assert any("more than 8 values" in event.reason for event in report.events)


def test_a_dtype_is_not_its_name(caplog):
    """They are equal, and a node has one or the other: no proof of the one is one of the other."""

    class Casting(Model):
        @chainer.static_graph
        def forward(self, x):
            return F.cast(self.a(x), self.n)

    model = Casting()
    with caplog.at_level(logging.WARNING, "chainwright"):
        for k in range(200):
            model.n = ("f", np.dtype("f"))[k // 20 % 2]
            y = model(variable(k))
    assert y.creator.type is model.n
    assert not caplog.records and model.schedule_manager.report()[0].without_python > 30
