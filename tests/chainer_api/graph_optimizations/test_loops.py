"""Loops whose turns are calls: the method does what it did, and programs serve the turns."""

import copy
import gc
import warnings

import numpy as np
import pytest
from open_loops import open_loops
from trust import Base, check

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import (
    _account,
    _comparison,
    _loops,
    _opening,
    _rests,
    _site,
    static_graph,
)
from chainer.graph_optimizations._source import syntax_of
from chainer.graph_optimizations._specs import laid_out, usual_strides

# -- The text ------


class Turns:
    """Calls the function of a loop's turns, so many at a time."""

    def __init__(self, turns, most):
        self._turns, self.most = turns.function, most

    def __call__(self, *arguments):
        return self._turns(*arguments)

    def chunks(self, iterable, chain):
        if not _loops.is_steady(iterable):
            yield from zip(iterable, strict=False)
            return
        items = list(iterable)
        for k in range(0, len(items), self.most):
            yield tuple(items[k : k + self.most])

    def listed(self, iterable, chain, *arguments):
        found = []
        for items in self.chunks(iterable, chain):
            found += self(chain, *arguments, *items)
        return found


class Methods:
    """What people write in loops."""

    __secret = 5
    total = None

    def __init__(self):
        self.log = []

    def say(self, x):
        self.log.append(x)
        return x

    def sums(self, xs):
        total = 0
        for x in xs:
            total += x
            self.say(total)
        return total

    def writes_what_comes_next(self, n):
        values, s, k = np.arange(n + 1), 0, 0
        for v in values:
            s, k = s * 3 + v, k + 1
            if k < len(values):
                values[k] += v
        return int(s)

    def breaks_and_else(self, n, m=3, *, k=2):
        h = None
        for i in range(n):
            if h is None:
                h = i
            else:
                h = h * m + i
            if h > 50 * k:
                break
        else:
            return "all", h
        return h, i

    def goes_on(self, n):
        found = []
        for i in range(n):
            if i % 2:
                continue
            found.append(self.say(i))
        return found, i

    def has_no_value(self, n):
        for i in range(n):
            y = i
        return y

    def has_a_value_sometimes(self, n):
        z = 0
        for i in range(n):
            if i > 2:
                z = i
        return z

    def mangled(self, xs):
        ys = xs
        return [x * y + self.__secret for x, y in zip(xs, ys, strict=True) if x]

    def unpacks(self, xs):
        s = 0
        for k, (a, *b) in enumerate(xs):
            s += a * k + sum(c for c in b)
            for c in b:
                s += c
        return s, a, b, k

    def targets_have_no_names(self, n):
        z, box = 0, {}
        for box["i"] in range(n):
            if box["i"] > 2:
                z = box["i"]
        return z

    def nested(self, n):
        s = 0
        for i in range(n):
            for j in range(i):
                if j == 3:
                    break
                s += j
        return s, i

    def changes_what_it_loops_over(self, xs):
        for x in xs:
            if x == 2:
                xs.append(9)
            if x == 1:
                xs.remove(1)
            self.say(x)

    def swaps(self, n):
        a = b = 1
        for _ in range(n):
            a, b = b, a + b
        return a

    def keeps_the_name(self, n):
        i = 10
        for i in range(n):  # noqa: B007
            pass
        return i

    def stores_in_items(self, n):
        x = [0]
        for x[0] in range(n):
            self.say(x[0])
        return x

    def raises(self, n):
        for i in range(n):
            raise KeyError(i)

    def catches_inside(self, xs):
        m = {}
        for i, x in enumerate(xs):
            try:
                m[x] = 1 / x
            except ZeroDivisionError:
                m[x] = None
            finally:
                self.say(i)
        return m

    def lists(self, n):
        a = [self.say(i) for i in range(n)]
        b = [j + a[0] for j in range(n)] if n else None
        return a, b

    def pairs(self, xs):
        found = []
        for k, (x, y) in enumerate(zip(xs, range(9)), 2):  # noqa: B905
            found.append(self.say(k * x + y))
        return found

    def pairs_strictly(self, xs):
        for k, (x, y) in enumerate(zip(xs, range(3), strict=True), start=2):
            self.say(k * x + y)
        return [self.say(x) for x, y in zip(xs, range(3), strict=len(xs) > 1)]

    def is_given_by_name(self, xs):
        for k, x in enumerate(iterable=xs):
            self.say(k + x)

    def backwards(self, xs):
        for x in reversed(xs):
            self.say(x)
        return [(x, y) for x, y in zip(reversed(xs), self.log)]  # noqa: B905

    def reads_what_it_has_said(self, xs):
        self.say(1)
        for x, y in zip(xs, self.log):  # noqa: B905
            self.say(x + y)

    def has_a_zip_of_its_own(self, xs):
        zip = map
        for x in zip(self.say, xs):
            self.say(x)

    def cannot_be_reversed(self, xs):
        for x in reversed(enumerate(xs)):
            self.say(x)

    def carries_private_names(self, __n):
        __s = 0
        import math as __math

        for __k in range(__n):
            try:
                __s += __math.sqrt(__k * __n)
                self.say([__j + __s for __j in range(2)] + [1 // (__k - 1)])
            except ZeroDivisionError as __error:
                self.say(str(__error))
        return __s, __k if __n else None

    def with_files(self, n):
        s = 0
        for i in range(n):
            with open("/dev/null") as f:
                s += len(f.read()) + i
        return s


class Inherits(Methods):
    def sums(self, xs):
        for x in xs:
            self.say(super().sums([x]))
        return __class__  # noqa: F821 - the compiler's

    def names_its_class(self, n):
        for i in range(n):
            self.say(super(Inherits, self).say(i))  # noqa: UP008


def _as_it_is(callee):
    return callee


def _gives(function, cls, argument):
    made = cls()
    try:
        return function(made, copy.deepcopy(argument)), made.log
    except Exception as e:
        return type(e), str(e), made.log


@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize(
    "name, argument",
    [
        ("sums", [1, 2, 3]), ("sums", ()), ("sums", 5), ("breaks_and_else", 3),
        ("breaks_and_else", 9), ("goes_on", 7), ("goes_on", 0), ("has_no_value", 0),
        ("has_no_value", 3), ("has_a_value_sometimes", 6), ("has_a_value_sometimes", 1),
        ("targets_have_no_names", 6), ("targets_have_no_names", 1),
        ("mangled", [0, 1, 2]), ("unpacks", [(1, 2, 3), (4,), (5, 6)]), ("unpacks", []),
        ("nested", 7), ("changes_what_it_loops_over", [1, 2, 3]), ("swaps", 10),
        ("keeps_the_name", 0), ("keeps_the_name", 4), ("stores_in_items", 5), ("raises", 1),
        ("raises", 0), ("catches_inside", [1, 0, 2]), ("lists", 0), ("lists", 5),
        ("pairs", ()), ("pairs", (1, 2, 3)), ("pairs", [1, 2, 3]), ("pairs", 3),
        ("pairs", range(20)), ("pairs_strictly", (1, 2, 3)), ("pairs_strictly", (1, 2)),
        ("pairs_strictly", (1, 2, 3, 4)), ("pairs_strictly", [1, 2, 3]), ("pairs_strictly", ()),
        ("is_given_by_name", (1, 2, 3)), ("backwards", (1, 2, 3)), ("backwards", [1, 2]),
        ("backwards", {1}),
        ("reads_what_it_has_said", (1, 2, 3)), ("has_a_zip_of_its_own", (1, 2, 3)),
        ("cannot_be_reversed", (1, 2)), ("with_files", 3), ("writes_what_comes_next", 6),
        ("carries_private_names", 4), ("carries_private_names", 0),
    ],
)  # fmt: skip
def test_an_opened_method_does_what_it_did(name, argument, most):
    method = vars(Methods)[name]
    found = _opening.opened(method)
    assert found is not None
    opened = found.function([Turns(turns, most) for turns in found.turns], _as_it_is)
    assert _gives(opened, Methods, argument) == _gives(method, Methods, argument)


@pytest.mark.parametrize("name, argument", [("sums", [1, 2]), ("names_its_class", 3)])
def test_super_and_the_class_are_those_of_the_method(name, argument):
    method = vars(Inherits)[name]
    found = _opening.opened(method)
    opened = found.function([Turns(turns, 2) for turns in found.turns], _as_it_is)
    assert _gives(opened, Inherits, argument) == _gives(method, Inherits, argument)


class Parts(Methods):
    """What people write before, between and behind loops."""

    def before_and_behind(self, xs):
        a, b = self.say(1), self.say(2)
        for x in xs:
            a += self.say(x)
        c = self.say(a) + b
        return self.say(c) * self.say(a)

    def while_it_goes(self, n):
        total, k = self.say(0), 0
        while True:
            k += 1
            if k % 3 == 2:
                self.say("next")
                continue
            total += self.say(k)
            if total > n:
                last = self.say(total)
                break
        else:
            self.say("never")
        return self.say(total), last, k

    def state_in_a_while(self, n):
        h = self.say(1)
        while n > 0:
            h = self.say(h) * 2
            n = self.say(n) - 1
        return h

    def returns_in_a_loop(self, n):
        for k in range(n):
            y = self.say(k) * 2
            if y > 5:
                return self.say(y) + 1
        return self.say(n)

    def sets_it_sometimes(self, n):
        a = self.say(n)
        if a > 2:
            z = self.say(5)
        for k in range(n):
            a += self.say(k)
        return self.say(z + a)

    def a_list_comes_first(self, n):
        y = sum([self.say(k) for k in range(n)]) + self.say(7)
        z = self.say(y) + sum([self.say(k) for k in range(n)])
        y += self.say(len([self.say(k) for k in range(n)] + [self.say(3) for k in range(n)]))
        return y, z, self.say([self.say(k) for k in range(n)])

    def numbers_only(self, xs):
        a = self.say(max([len(x) for x in xs]))
        b = [[0.0] * len(x) + [1.0] * (a - len(x)) for x in xs]
        for x in xs:
            a += self.say(len(x))
        return a, b

    def deletes_and_looks(self, n):
        a = self.say(1)
        del a
        b = self.say(2)
        for k in range(n):
            b += self.say(k)
        try:
            return a
        except NameError as e:
            return str(e), b

    def keeps_functions(self, n):
        a = self.say(1)
        f = lambda: a + b  # noqa: E731
        b = self.say(2)
        for k in range(n):
            b += self.say(k)
        b = self.say(b)
        return f()

    def in_a_with(self, n):
        y = self.say(0)
        with chainer.using_config("train", False):
            y += self.say(chainer.config.train)
            for k in range(n):
                y += self.say(k) + self.say(chainer.config.train)
            y = self.say(y)
        return y, chainer.config.train

    def raises_between(self, n):
        y = self.say(1)
        z = 1 / (n - self.say(2))
        for k in range(n):
            y += self.say(k)
        return self.say(y) / (n - 3) + z

    def layers_do_not_count(self, n):
        y = self.say(1)
        for k in (1, 2):
            y += self.say(k)
        for k in range(n):
            y = self.say(y) + k
        return y

    def else_sets_what_the_loop_sets(self, n):
        y = self.say(0)
        for k in range(n):
            y = self.say(k)
            if y > 2:
                break
        else:
            y = self.say(10)
        return self.say(y)

    def ends_in_several_ways(self, n):
        if n > 3:
            y = self.say(n)
            for k in range(n):
                y += self.say(k)
            return self.say(y)
        y = self.say(-n)
        if n == 2:
            raise ValueError(self.say(y))
        return y

    def class_of_its_own(self, n):
        y = super().say(n)
        for k in range(n):
            y += super().say(k)
        return __class__.__name__, self.say(y) + super().say(1)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("name", [k for k in vars(Parts) if not k.startswith("_")])
def test_parts_between_loops_do_what_they_did(name, n):
    method = vars(Parts)[name]
    found = _opening.opened(method, lambda path: False)
    assert any([turns.goes_on for turns in found.turns]) == (name != "keeps_functions")
    argument = n
    if name in ("before_and_behind", "numbers_only"):
        argument = [[1] * k if name == "numbers_only" else k for k in range(n)]
    opened = found.function([Turns(turns, 2) for turns in found.turns], _as_it_is)
    assert _gives(opened, Parts, argument) == _gives(method, Parts, argument)


@pytest.mark.parametrize(
    "name, parts",
    [
        ("before_and_behind", 2), ("while_it_goes", 3), ("state_in_a_while", 2),
        ("returns_in_a_loop", 3), ("a_list_comes_first", 3), ("numbers_only", 1),
        ("in_a_with", 3), ("layers_do_not_count", 1), ("class_of_its_own", 2),
    ],
)  # fmt: skip
def test_what_computes_something_is_a_part(name, parts):
    found = _opening.opened(vars(Parts)[name], lambda path: False)
    loops = len(_opening.opened(vars(Parts)[name]).turns)
    assert len(found.turns) - loops == parts


class Rebinds(Methods):
    """What is looked up before something that has loops, which sets it anew."""

    def __init__(self):
        super().__init__()
        self.state, self.f, self.inner = 1, self.say, self.Inner()
        self.inner.say = self.say

    class Inner:
        one = 1

        def __getattr__(self, name):
            return self.say(name) and 2

    @property
    def drawn(self):
        """Whoever looks it up is told of."""
        return self.say(7)

    def reads_a_property(self, n):
        y = self.say(self.drawn + self.turns(n)) + self.say(1)
        y += self.say(self.inner.one + self.turns(n))
        y += self.say(self.inner.two * self.turns(n))
        for k in range(n):
            y += self.say(k)
        return y

    def more(self):
        return 0

    def turns(self, n):
        n += self.more() * self.say(n)
        self.state += n
        self.f = lambda x: self.say(-x)
        return n

    def reads_before(self, n):
        y = self.state * self.turns(n) + self.say(5)
        z = self.say(self.state)
        for k in range(n):
            y += self.say(k)
        return y, z

    def reads_behind(self, n):
        y = self.turns(n) * self.state + self.say(5)
        for k in range(n):
            y += self.say(k)
        return y

    def calls(self, n):
        y = self.f(self.turns(n)) + 1
        z = self.say(y)
        for k in range(n):
            y += self.say(k)
        return y, z, self.f(self.turns(n))

    def calls_the_same(self, n):
        y = self.say(self.turns(n), *[self.say(k) for k in ()]) + 1
        z = self.say(y)
        for k in range(n):
            y += self.say(k)
        return self.say(self.turns(n)) + z

    def unpacks_before(self, n):
        y = self.add(*map(self.say, [1, 2]), self.turns(n))
        y += self.add(**self.named(), b=self.turns(n))
        for k in range(n):
            y += self.say(k)
        return y

    def named(self):
        self.say("named")
        return {"a": self.state}

    def add(self, a, b=0, c=0):
        return a + b + c

    def sets_a_variable(self, n):
        def more():
            nonlocal z
            z += 100
            return 0

        z = 1
        self.more = more
        y = self.say(z + self.turns(n))
        z += self.turns(n)
        for k in range(n):
            y += self.say(k)
        return y, z

    def two(self, n):
        y = self.say(self.turns(n) + self.state * self.turns(n + 1))
        for k in range(n):
            y += self.say(k)
        return y


@pytest.mark.parametrize("n", [0, 2, 3])
@pytest.mark.parametrize(
    "name, parts",
    [
        ("reads_before", 1), ("reads_behind", 1), ("calls", 2), ("calls_the_same", 2), ("two", 1),
        ("unpacks_before", 0), ("sets_a_variable", 0), ("reads_a_property", 3),
    ],
)  # fmt: skip
def test_what_is_looked_up_before_something_with_loops_is_what_it_was(name, parts, n):
    method = vars(Rebinds)[name]
    found = _opening.opened(method, lambda path: path == ("turns",))
    assert [turns.goes_on for turns in found.turns].count(False) == parts
    opened = found.function([Turns(turns, 2) for turns in found.turns], _as_it_is)
    assert _gives(opened, Rebinds, n) == _gives(method, Rebinds, n)


def test_what_has_loops_itself_is_no_part():
    def leads(path):
        return path == ("say",)

    found = _opening.opened(Parts.before_and_behind, leads)
    assert [turns.goes_on for turns in found.turns] == [True]


class Left:
    """What stays as it is."""

    def returns(self, n):
        for i in range(n):
            if i == 4:
                return i

    def yields(self, n):
        for i in range(n):  # noqa: UP028
            yield i

    def looks(self, n):
        s = 0
        for i in range(n):
            s += i
        return locals()

    def warns_its_caller(self, n):
        for i in range(n):
            warnings.warn(str(i), stacklevel=2)

    def keeps_a_function(self, n):
        found = []
        for i in range(n):
            found.append(lambda: i)  # noqa: B023
        return found

    def shares_a_name(self, n):
        def one_more():
            nonlocal s
            s += 1

        s = 0
        for _ in range(n):
            one_more()
            self.s = s
        return s

    def is_within_try(self, n):
        v = None
        try:
            for i in range(n):
                v = i
                1 / (2 - i)
        except ZeroDivisionError:
            return v

    def may_have_no_value(self, n):
        if n > 3:
            z = 1
        for i in range(n):
            if i > 2:
                z += i
        return z

    def a_generator_sees_a_name(self, n):
        found = []
        for i in range(n):
            found.append(i + j for j in range(2))
        return found

    def deletes(self, n):
        for i in range(n):
            del i

    def goes_equally_often(self, n):
        for layer in self.layers:
            n = layer(n)
        for _ in range(3):
            n += 1
        return n


class _Private:
    def with_a_function(self, n):
        def __double(x):
            return 2 * x

        for i in range(n):
            n += __double(i)
        return n


def test_private_names_of_functions_inside_stay_as_they_are():
    assert _opening.opened(_Private.with_a_function) is None


@pytest.mark.parametrize("name", [n for n in vars(Left) if not n.startswith("_")])
def test_what_could_tell_the_difference_stays_as_it_is(name):
    found = _opening.opened(vars(Left)[name])
    assert found is None or not found.turns


# -- Models ------

V, E, H, B = 20, 4, 6, 3


class Recurrent(Base):
    """A language model over as many words as a batch has."""

    decorate = ("forward",)

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm, self.out = L.EmbedID(V, E), L.LSTM(E, H), L.Linear(H, V)

    def forward(self, words):
        self.lstm.reset_state()
        loss = 0
        for t in range(words.shape[1] - 1):
            h = self.lstm(self.embed(words[:, t]))
            loss += F.softmax_cross_entropy(self.out(F.dropout(h, 0.2)), words[:, t + 1])
        return loss / words.shape[1]

    def step(self, k):
        words = np.random.RandomState(k).randint(0, V, (B, 2 + 5 * k % 9)).astype("i")
        self.cleargrads()
        loss = self.forward(words)
        loss.backward()
        return loss, self.lstm.h, self.lstm.c


class Attention(Base):
    """Encoder and decoder, of different lengths; what the encoder gives is kept in a list."""

    decorate = ("forward",)

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.encoder = L.EmbedID(V, E), L.LSTM(E, H)
            self.decoder, self.out = L.LSTM(E + H, H), L.Linear(H, V)

    def forward(self, xs, ts):
        self.encoder.reset_state()
        self.decoder.reset_state()
        hs = []
        for t in range(xs.shape[1]):
            hs.append(self.encoder(self.embed(xs[:, t])))
        hs = F.stack(hs, axis=1)
        h, loss = hs[:, -1], 0
        for t in range(ts.shape[1] - 1):
            weights = F.softmax(F.squeeze(F.matmul(hs, F.expand_dims(h, 2)), 2))
            context = F.squeeze(F.matmul(F.expand_dims(weights, 1), hs), 1)
            h = self.decoder(F.concat([self.embed(ts[:, t]), context]))
            loss += F.softmax_cross_entropy(self.out(h), ts[:, t + 1])
        return loss

    def step(self, k):
        r = np.random.RandomState(k)
        xs = r.randint(0, V, (B, 2 + 3 * k % 7)).astype("i")
        ts = r.randint(0, V, (B, 2 + 5 * k % 8)).astype("i")
        self.cleargrads()
        loss = self.forward(xs, ts)
        loss.backward()
        return loss


class Separated(Base):
    """A list comprehension over what ``F.separate`` gives; a state goes on to the next call."""

    decorate = ("forward",)

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm, self.out = L.LSTM(E, H), L.Linear(H, 2)

    def forward(self, xs):
        if self.lstm.h is not None:
            self.lstm.h.unchain()
            self.lstm.c.unchain()
        es = F.separate(xs, axis=1)
        hs = [self.lstm(e) for e in es]
        return F.sum(self.out(F.concat(hs, axis=0)) ** 2)

    def step(self, k):
        xs = np.random.RandomState(k).randn(B, 1 + 5 * k % 9, E).astype("f")
        self.cleargrads()
        loss = self.forward(xs)
        loss.backward()
        return loss, self.lstm.h


class Branches(Base):
    """What a turn does depends on values, on numbers, and on what other turns have left."""

    decorate = ("forward",)
    last = None

    def forward(self, x, kinds):
        stack, seen = [x], 0
        for k, kind in enumerate(kinds):
            top = stack.pop() if len(stack) > 1 else stack[-1]
            if kind == 0:
                y = F.tanh(self.a(top)) * (1 + 0.1 * k)
            elif kind == 1:
                y = self.bn(self.b(top)) + x
            else:
                seen += 1
                continue
            if float(F.max(y).array) > 3:
                break
            stack.append(y)
        self.last = seen
        return F.sum(F.concat(stack)) + seen

    def step(self, k):
        r = np.random.RandomState(k)
        x, kinds = r.randn(3, 4).astype("f"), r.randint(0, 3, 1 + 4 * k % 7).tolist()
        self.cleargrads()
        loss = self.forward(x, kinds)
        loss.backward()
        return loss, self.last


class Decoder(chainer.Chain):
    """A link with a loop of its own, as old code writes it."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.cell, self.out = L.Linear(2 * H, H), L.Linear(H, V)

    def __call__(self, h, words):
        loss = 0
        for t in range(words.shape[1]):
            h = F.tanh(self.cell(F.concat([h, F.sigmoid(h * 2)])))
            loss += F.softmax_cross_entropy(self.out(h), words[:, t])
        return loss


class Translator(Base):
    """The loops stand in what the decorated method calls."""

    decorate = ("forward",)

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm, self.decoder = L.EmbedID(V, E), L.LSTM(E, H), Decoder()

    def encode(self, words):
        self.lstm.reset_state()
        for t in range(words.shape[1]):
            h = self.lstm(self.embed(words[:, t])) * 1.5
        return F.tanh(h)

    def forward(self, xs, ts):
        return self.decoder(self.encode(words=xs), ts) / len(ts)

    step = Attention.step


def _own(model):
    """A class of its own, to be decorated."""
    return lambda: type(model.__name__, (model,), {})


@pytest.mark.parametrize("model", [Recurrent, Attention, Separated, Branches, Translator])
@pytest.mark.parametrize("turns", [(), (4, 2)])
def test_turns_give_what_define_by_run_gives(model, turns):
    with open_loops(turns):
        check(_own(model), 24)


def _made(model, calls, **options):
    """A compiled model after so many calls, and the report of its first loop."""

    class Compiled(model):
        forward = chainer.static_graph(**options)(model.forward)

    np.random.seed(0)
    made = Compiled()
    for k in range(calls):
        made.step(k)
    return made, made.schedule_manager.report()


def test_calls_of_many_lengths_have_their_turns_without_python():
    with chainer.using_config("static_budget", None), open_loops((4,)):
        model, (method, turns) = _made(Recurrent, 40)
    assert turns.without_python > method.with_python > 30
    assert "loop at line" in turns.name and turns.is_part and not method.is_part
    several = {len(p.label.split("int32")) for p in model.schedule_manager.programs}
    assert len(several) > 1  # of one turn, and of four


def test_loops_are_found_in_what_the_method_calls():
    with chainer.using_config("static_budget", None), open_loops((4,)):
        model, (method, encoder) = _made(Translator, 40)
    (decoder,) = model.decoder.schedule_manager.report()
    assert "encode, loop at line" in encoder.name and "Decoder.__call__, loop" in decoder.name
    assert min(encoder.without_python, decoder.without_python) > 40


def test_links_with_hooks_are_called_as_they_are():
    class Inner(Decoder):
        forward = Decoder.__call__
        __call__ = chainer.Link.__call__

    class WithForward(Translator):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                del self.decoder
                self.decoder = Inner()

    def links(model):
        with chainer.link_hooks.TimerHook() as times:
            model.step(3)
        return [name for name, _ in times.call_history]

    with chainer.using_config("static_budget", None), open_loops((4,)):
        model, _ = _made(WithForward, 10)
        assert links(model) == links(WithForward())
    assert model.decoder.schedule_manager.report()[0].hits > 10


def test_loops_are_opened_where_calls_apply_more_or_fewer_functions():
    class All(Recurrent):
        def step(self, k):
            words = np.random.RandomState(k).randint(0, V, (B, 2 + 7 * k % 31)).astype("i")
            self.forward(words).backward()

    with chainer.using_config("static_budget", None):
        _, reports = _made(All, 31)
    events = [e.reason for e in reports[0].events if e.kind == "loops"]
    assert len(events) == 1 and "more or fewer functions" in events[0]


def test_loops_stay_closed_where_lengths_come_again():
    class Same(Recurrent):
        def step(self, k):
            return super().step(k % 2)

    with chainer.using_config("static_budget", None):
        _, reports = _made(Same, 40)
    assert len(reports) == 1 and reports[0].without_python > 20


class Lengths(Recurrent):
    """Three lengths that come again; rows of two arrays together."""

    def forward(self, words):
        self.lstm.reset_state()
        loss = 0
        for w, t in zip(words.T, words.T[1:]):  # noqa: B905
            h = self.lstm(self.embed(w))
            loss += F.softmax_cross_entropy(self.out(F.dropout(h, 0.2)), t)
        return loss

    def step(self, k):
        self.cleargrads()
        words = np.random.RandomState(k).randint(0, V, (B, (3, 6, 10)[k % 3])).astype("i")
        loss = self.forward(words)
        loss.backward()
        return loss, self.lstm.h


def test_loops_are_opened_where_a_few_lengths_would_take_too_long(monkeypatch):
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    monkeypatch.setattr(_account.Account, "affords_turns", lambda _: True)
    with chainer.using_config("static_budget", 0.1):
        _, reports = _made(Lengths, 20)
    assert [e.kind for e in reports[0].events].count("loops") == 1


@pytest.mark.parametrize("turns", [(), (4, 2)])
def test_calls_that_come_again_go_as_a_whole_when_that_pays(turns):
    with open_loops(turns):
        check(_own(Lengths), 60)
    with chainer.using_config("static_budget", None), open_loops(turns):
        model, (method, part) = _made(Lengths, 60)
        served = part.hits
        for k in range(60, 66):
            model.step(k)
        (method, part) = model.schedule_manager.report()
    assert method.without_python >= 6 and served > 30
    assert part.hits == served  # their turns are none of their calls any more


def test_several_pairs_of_rows_are_one_call():
    with chainer.using_config("static_budget", None), open_loops((4,)):
        model, _ = _made(Lengths, 18)
    several = {len(p.label.split("int32")) for p in model.schedule_manager.programs}
    assert len(several) > 1


@pytest.mark.parametrize("waits", [False, True])
def test_loops_are_closed_where_programs_do_not_serve_turns(monkeypatch, waits):
    """But not while it is only too early for them."""
    monkeypatch.setattr(_loops, "_LOOKED_AT", 8)
    monkeypatch.setattr(_loops, "_LONG", 0.0)
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    monkeypatch.setattr(static_graph.Site, "waits", waits)
    with chainer.using_config("static_budget", 0.1), open_loops():
        model, reports = _made(Recurrent, 24)
    assert [e.kind for e in reports[0].events].count("slower") == (0 if waits else 1)
    (site, *_) = model.schedule_manager._sites.values()
    assert (site._opened is None) != waits


@pytest.mark.parametrize("each", [-1.0, 1.0])
@pytest.mark.parametrize("proved", [False, True])
def test_loops_are_closed_where_programs_slow_turns_with_their_python(monkeypatch, each, proved):
    """Without it, what they save is estimated for the most part: only whole steps tell."""
    monkeypatch.setattr(_loops, "_LOOKED_AT", 8)
    monkeypatch.setattr(_loops, "_LONG", 0.0)
    monkeypatch.setattr(_loops.OpenLoop, "spent", 0.0)
    monkeypatch.setattr(
        _account.Account, "_gained",
        lambda account, _: setattr(account.ledger, "saved", account.ledger.saved + each))
    for name, value in (("wait_for_trace", 0), ("affords_proof", proved)):
        monkeypatch.setattr(_account.Account, name, lambda *_, given=value, **__: given)
    with chainer.using_config("static_budget", 0.1), open_loops():
        _, reports = _made(Recurrent, 24)
    assert sum([report.hits for report in reports[1:]]) > 20
    slower = [e.kind for e in reports[0].events].count("slower")
    assert slower == (0 if proved or each > 0.0 else 1)


def test_what_waits_for_its_time_is_known(monkeypatch):
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    with chainer.using_config("static_budget", 0.1), open_loops():
        model, _ = _made(Recurrent, 12)
    method, turns = model.schedule_manager._sites.values()
    assert turns.waits and not method.waits


@pytest.mark.parametrize("affords", [True, False])
@pytest.mark.parametrize("kind", [Recurrent, Attention])
def test_what_waits_for_turns_completes_a_step_that_is_slower(monkeypatch, kind, affords):
    """Before their loops are closed: turns of one size, and of any size."""
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    monkeypatch.setattr(_account.Account, "affords_rest_of_step", lambda *_: affords)
    monkeypatch.setattr(_loops.OpenMethod, "may_rest", lambda *_: 0)
    with chainer.using_config("static_budget", 0.1), open_loops():
        model, _ = _made(kind, 40)
        method, *turns = model.schedule_manager._sites.values()
        assert method.loops_are_open and any([site.waits for site in turns])
        assert not any([site.ledger.hits for site in turns])
        assert method.completes() is affords
        for k in range(40, 80):
            model.step(k)
    assert any([site.ledger.hits for site in turns]) is affords


def test_some_calls_go_plainly_to_be_compared(monkeypatch):
    monkeypatch.setattr(_comparison, "_FIRST", 20)
    monkeypatch.setattr(_comparison.Comparison, "_made", 0)
    with chainer.using_config("static_budget", 1e9), open_loops():
        model, reports = _made(Recurrent, 120)
    (site, *_) = model.schedule_manager._sites.values()
    assert site.ledger.plainly[_rests.TIMED] >= 16
    (loop,) = site._opened._loops
    assert 0 < loop.made < sum([1 + 5 * k % 9 for k in range(120)])


def test_loops_with_which_steps_are_slower_are_closed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_comparison, "_FIRST", 20)
    monkeypatch.setattr(_comparison.Comparison, "_made", 0)
    monkeypatch.setattr(_comparison, "clock", lambda: now[0])
    begins = _loops.OpenMethod.begins

    def slow(self):
        now[0] += 1.0
        begins(self)

    monkeypatch.setattr(_loops.OpenMethod, "begins", slow)
    # No call goes as it is, whatever the machine's time says of turns that wait or of whole calls.
    monkeypatch.setattr(_loops.OpenMethod, "may_rest", lambda *_: 0)
    monkeypatch.setattr(_site.Site, "_goes_whole", lambda *_: False)
    with chainer.using_config("static_budget", 1e9), open_loops():
        model, (method, *_) = _made(Recurrent, 400)
    (site, *_) = model.schedule_manager._sites.values()
    assert site._opened is None
    assert "slower" in [event.kind for event in method.events]


def test_calls_go_as_they_are_while_no_turn_would_be_looked_at(monkeypatch):
    monkeypatch.setattr(_comparison, "_FIRST", 1000)
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    looked_at = []
    monkeypatch.setattr(
        _loops.OpenMethod, "__call__",
        lambda self, *args: looked_at.append(self) or self._function(*args))
    with chainer.using_config("static_budget", 0.1), open_loops():
        _, (method, turns) = _made(Recurrent, 300)
    assert len(looked_at) < 150 and len({*looked_at}) == 1
    assert method.hits + method.eager_calls == 300 and method.hits == 0
    of_all = sum([1 + 5 * k % 9 for k in range(300)])
    ahead = 9 * _loops._REST  # those of calls that may go as they are are counted before
    assert 0.9 * of_all < turns.hits + turns.eager_calls < 1.1 * of_all + ahead


def test_parts_that_apply_next_to_nothing_are_closed_too(monkeypatch):
    class Mean(Recurrent):
        def forward(self, words):
            h = F.tanh(self.embed(words[:, 0]))  # two functions
            loss = 0
            for t in range(words.shape[1]):
                loss += F.sum(h * t)
            return loss

    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    with chainer.using_config("static_budget", 0.1), open_loops():
        model, reports = _made(Mean, 70)
    (site, *_) = model.schedule_manager._sites.values()
    assert site._opened is None
    assert sum([e.kind == "slower" for e in reports[0].events]) == 2


def test_what_one_object_has_opened_does_not_depend_on_another_one():
    """Their functions are equal, and those of one go with it."""
    first, second = [_opening.opened(Recurrent.forward) for _ in range(2)]
    assert first.turns[0].function.__code__ == second.turns[0].function.__code__
    del first
    gc.collect()
    assert syntax_of(second.turns[0].function) is not None


def test_options_are_those_of_the_method(tmp_path):
    file = tmp_path / "report.html"
    with chainer.using_config("static_budget", None), open_loops():
        model, _ = _made(Recurrent, 12, minimize_cache_size=False, report=str(file))
    sites = list(model.schedule_manager._sites.values())
    assert [site.options.limit for site in sites] == [sites[0].options.limit] * 2
    assert sites[0].options.report and sites[1].options.report is None


class Stacked(Base):
    """Gradients of the turns are rows of an array that is as long as there are turns."""

    decorate = ("forward",)

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed, self.lstm = L.EmbedID(V, E), L.LSTM(E, H)

    def forward(self, words):
        self.lstm.reset_state()
        hs = []
        for t in range(words.shape[1]):
            hs.append(self.lstm(self.embed(words[:, t])))
        return F.stack(hs, axis=1)

    def step(self, k):
        words = np.random.RandomState(k).randint(0, V, (B, 2 + 5 * k % 9)).astype("i")
        self.cleargrads()
        hs = self.forward(words)
        loss = F.sum(hs * np.random.RandomState(k).randn(*hs.shape).astype("f"))
        loss.backward()
        return loss, hs


def test_gradients_that_are_rows_of_something_longer_have_one_program():
    with open_loops(()):
        check(_own(Stacked), 24)
    with chainer.using_config("static_budget", None), open_loops(()):
        model, reports = _made(Stacked, 40)
    assert sum([r.hits for r in reports if r.is_part]) > 100
    sites = [s for s in model.schedule_manager._sites.values() if s.account.of_turns]
    pieces = [p for s in sites for plan in s.plans() for p in plan.compiled_pieces()]
    assert max([len(p.backwards) for p in pieces]) <= 6  # and not as many as there are lengths


# -- Rows of a batch ------


def test_usual_strides_say_nothing_of_how_long_a_batch_is():
    for t in (5, 9):
        ids, x = np.zeros((3, t), "i"), np.zeros((3, t, 4), "f")
        assert usual_strides(ids[:, 1]) == (4,)
        assert usual_strides(x[:, 1]) == (16 + 64, 4)
        assert usual_strides(x[:, 1:3]) == (32 + 64, 16, 4)
        for other in (x, x[:, :, 1], x[:, 1].T, x[:, ::2], x[:1, 1], x[:, :0]):
            assert usual_strides(other) is None


def test_an_array_is_laid_out_as_a_copy():
    x = np.arange(60, dtype="f").reshape(3, 5, 4)[:, 2]
    made = laid_out(x, usual_strides(x))
    assert made.strides == usual_strides(x) and (made == x).all()
    assert laid_out(made, made.strides) is made
    ids = np.arange(15).reshape(3, 5)[:, 1]
    assert (laid_out(ids, usual_strides(ids)) == ids).all()


class Rows(Base):
    """Takes rows of batches of different lengths, twice, and looks at how they lie."""

    decorate = ("forward",)

    def forward(self, x, ids):
        h = self.a(x) + F.sum(x * x, axis=0) + F.sum(x)
        return F.sum(F.sigmoid(h)) + F.select_item(h, ids)[0] + F.select_item(h * 2, ids)[1]

    def step(self, k):
        r = np.random.RandomState(k)
        x, ids = r.randn(3, 3 + k % 5, 4).astype("f"), r.randint(0, 4, (3, 3 + k % 5)).astype("i")
        v = chainer.Variable(x[:, 1])
        self.cleargrads()
        loss = self.forward(v, ids[:, 1] if k % 2 else chainer.Variable(ids[:, 2]))
        loss.backward()
        return loss, v.grad


def test_rows_of_batches_of_all_lengths_have_one_program():
    check(_own(Rows), 24)
    with chainer.using_config("static_budget", None):
        _, (report,) = _made(Rows, 24)
    assert report.without_python > 8
    assert sum(e.kind == "compile" for e in report.events) <= 6


class Looks(Base):
    """What a method does depends on how a row lies in memory."""

    decorate = ("forward",)

    def forward(self, x):
        return F.sum(self.a(x)) * (1 + x.strides[0])

    step = Rows.__dict__["step"]


def test_a_method_that_asks_for_strides_gets_those_of_its_array():
    class Asks(Looks):
        def step(self, k):
            x = np.random.RandomState(k).randn(3, 3 + k % 3, 4).astype("f")
            loss = self.forward(x[:, 1])
            self.cleargrads()
            loss.backward()
            return loss

    check(_own(Asks), 18)


class Written(Base):
    """Rows are written between forward and backward: backward finds what is there then."""

    decorate = ("forward",)

    def forward(self, x, w, ids):
        return F.sum(F.embed_id(ids, w) * F.matmul(x, w) ** 2) + F.sum(F.tanh(x) * x)

    def step(self, k):
        r = np.random.RandomState(k)
        ids = r.randint(0, 4, (4, 3 + k % 5)).astype("i")
        xs, w = r.randn(4, 3 + k % 5, 4).astype("f"), chainer.Variable(r.randn(4, 4).astype("f"))
        x = chainer.Variable(xs[:, 1])
        loss = self.forward(x, w, ids[:, 2])
        if k % 3:
            ids[:, 2] = ids[::-1, 2].copy()
            xs[...] *= 0.5
        loss.backward()
        return loss, x.grad, w.grad, x.node.data is x.array


def test_backward_finds_what_is_there_in_rows_that_were_written():
    check(_own(Written), 40)
