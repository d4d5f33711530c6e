"""Programs for what comes again and again within calls of which none is like another one."""

import numpy as np
import pytest
from compare import assert_same_bits
from phrases import only_phrases

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.functions.noise.dropout import Dropout
from chainer.graph_optimizations import _phrases
from chainer.graph_optimizations._account import Account
from chainer.graph_optimizations._trace import Untraceable


class TreeNet(chainer.Chain):
    """A recursive network: the method goes another way for each tree."""

    def __init__(self, n=6):
        super().__init__()
        with self.init_scope():
            self.embed, self.left, self.right = L.EmbedID(9, n), L.Linear(n, n), L.Linear(n, n)
            self.gate, self.out = L.Linear(n, n), L.Linear(n, 3)

    def node(self, tree):
        if isinstance(tree, int):
            return F.tanh(self.embed(np.array([tree], "i")))
        a, b = map(self.node, tree)
        gate = F.sigmoid(self.gate(a) + self.gate(b))
        return gate * F.tanh(self.left(a) + self.right(b)) + (1 - gate) * F.relu(a - b)

    def forward(self, tree, label):
        return F.softmax_cross_entropy(self.out(self.node(tree)), np.array([label], "i"))


def tree(r, size):
    if size == 1:
        return int(r.randint(9))
    k = r.randint(1, size)
    return tree(r, k), tree(r, size - k)


def both(cls, **kwargs):
    np.random.seed(0)
    plain = cls(**kwargs)
    np.random.seed(0)
    return plain, type("Static", (cls,), {"forward": chainer.static_graph(cls.forward)})(**kwargs)


def steps(model, calls, first=0):
    optimizer = chainer.optimizers.Adam().setup(model)
    found = []
    for k in range(first, first + calls):
        r = np.random.RandomState(k)
        loss = model(tree(r, 3 + k % 7), k % 3)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        found.append((loss, [p.grad for p in model.params()]))
    return found


def test_trees_of_any_form_run_programs():
    plain, static = both(TreeNet)
    assert_same_bits(steps(plain, 60), steps(static, 60), "trees")
    (report,) = static.schedule_manager.report()
    assert report.with_python >= 25 and report.without_python == 0
    assert any("again and again" in e.reason for e in report.events)
    assert "again and again" in str(report)


def test_phrases_serve_most_functions():
    _, static = both(TreeNet)
    steps(static, 60)
    (site,) = static.schedule_manager._sites.values()
    assert len(site.phrases.plans()) >= 2
    assert site.phrases._missed < 0.5


def test_programs_of_phrases_are_listed():
    _, static = both(TreeNet)
    steps(static, 60)
    assert len(static.schedule_manager.programs) >= 2
    assert "tanh" in static.schedule_manager.programs[0].source


# -- results that others are computed from: one node gives both


class Kept(chainer.Chain):
    """Keeps what it has computed on the way, and goes other ways in turns."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b, self.c = (L.Linear(4, 4) for _ in range(3))

    def forward(self, x, how):
        self.h = F.tanh(self.a(x))
        self.g = F.sigmoid(self.b(self.h))
        y = self.c(self.g) * 2
        return y + x if how else y


def _uses(model, y, x, k):
    """Ways to use a graph in which h and g lie between x and y; gives what there is to compare."""
    model.cleargrads()
    x.cleargrad()
    h, g = model.h, model.g
    if k == 0:
        F.sum(y).backward()
    elif k == 1:
        F.sum(y * 3).backward(retain_grad=True)
        return [h.grad, g.grad]
    elif k == 2:
        return chainer.grad([F.sum(y)], [h, x])
    elif k == 3:
        h.unchain()
        F.sum(y).backward()
    elif k == 4:
        g.unchain_backward()
        F.sum(y).backward()
    elif k == 5:
        (F.sum(y) + F.sum(h * h) + F.sum(g) + F.sum(h * 5)).backward()
    elif k == 6:
        (F.sum(F.tanh(h)) + F.sum(F.exp(h * g)) + F.sum(y * h)).backward()
    elif k == 7:
        F.sum(h).backward()
        F.sum(y).backward()
    elif k == 8:
        gx, = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
        F.sum(gx * gx).backward()
    elif k == 9:
        h.grad = np.ones_like(h.array)
        F.sum(y).backward()
        return [h.grad]
    elif k == 10:
        h.array[...] *= 0.5
        F.sum(y).backward()
    elif k == 11:
        chainer.backward([F.sum(y), F.sum(h)])
    elif k == 12:
        return [h.creator.label, y.creator.label, y.rank, h.rank]
    elif k == 13:
        del h, g
        model.h = model.g = None
        F.sum(y).backward()
    elif k == 14:
        return chainer.grad([F.sum(h * h * h), F.sum(y)], [g, h, x])
    return []


@pytest.mark.parametrize("k", range(15))
def test_the_graph_among_kept_results_is_that_of_define_by_run(k):
    def use(model, how):
        r = np.random.RandomState(how)
        x = chainer.Variable(r.rand(3, 4).astype("f"))
        y = model(x, how % 2)
        found = _uses(model, y, x, k)
        return y, found, x.grad, [p.grad for p in model.params()]

    with only_phrases():
        plain, static = both(Kept)
        for how in range(9):
            expected, actual = use(plain, how), use(static, how)
            assert _described(expected) == _described(actual), how
    assert static.schedule_manager.report()[0].with_python > 0


def _described(value):
    if isinstance(value, (list, tuple)):
        return [_described(v) for v in value]
    if isinstance(value, chainer.Variable):
        value = value.array
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def test_pieces_that_were_dissolved_are_cut():
    """Where a gradient belongs between others, it is done by other programs from then on."""
    with only_phrases():
        _, static = both(Kept)
        dissolved = []
        for k in range(20):
            x = chainer.Variable(np.full((3, 4), k, "f"))
            y = static(x, k % 2)
            (F.sum(F.tanh(static.h)) + F.sum(F.exp(static.h)) + F.sum(y)).backward()
            (site,) = static.schedule_manager._sites.values()
            dissolved.append(sum(len(p.ends) for q in site.plans() for p in q.pieces))
    assert max(dissolved) > 0 and dissolved[-1] == 0
    assert static.schedule_manager.report()[0].with_python > 10


# -- what a phrase does not prove


class Tries(chainer.Chain):
    """The same functions, here within a try statement and there not."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(4, 3)

    def looked_up(self, k):
        return F.tanh(self.embed(k) * 2)

    def forward(self, k, guarded):
        if not guarded:
            return self.looked_up(k) + 1
        try:
            return self.looked_up(k) + 1
        except (IndexError, ValueError):
            return F.tanh(self.embed(k * 0) * 2) - 1


def test_exceptions_are_caught_where_they_are_raised():
    with only_phrases():
        plain, static = both(Tries)
        for k in range(24):
            i = np.array([k % 4, 9 if k % 5 == 4 else 1], "i")
            guarded = k % 3 > 0
            if not guarded:
                i %= 4
            assert_same_bits(plain(i, guarded), static(i, guarded), k)


class Masks(chainer.Chain):
    """The same function, here by the library and there by hand, to look at its mask."""

    def forward(self, x, by_hand):
        for k in range(4):
            x = F.tanh(x) * 2
            if by_hand and k == 2:
                func = Dropout(0.5)
                (x,) = func.apply((x,))
                x = F.sigmoid(x * func.mask)
            else:
                x = F.sigmoid(F.dropout(x, 0.5) * 2)
        return x


def test_functions_that_are_applied_by_hand_may_be_looked_at():
    with only_phrases():
        plain, static = both(Masks)
        for k in range(20):
            x = np.full((3, 4), 0.1 * k, "f")
            np.random.seed(k)
            a = plain(x, k > 5 and k % 3 == 2)
            np.random.seed(k)
            assert_same_bits(a, static(x, k > 5 and k % 3 == 2), k)
    assert static.schedule_manager.report()[0].with_python > 10


class Another(chainer.Chain):
    """Looks like a phrase for a while."""

    def forward(self, x, k):
        y = F.exp(F.tanh(x) * 0.5)
        for _ in range(k % 4):
            y = F.exp(F.tanh(y) * 0.5)
        if k % 3 == 2:
            y = F.tanh(y)
        if k % 5 == 4:
            y = F.exp(F.tanh(y) * 0.25)
        self.seen = float(y.array.sum()) if k % 2 else None
        return F.dropout(y, 0.3) if k % 7 > 3 else y


def test_beginnings_of_phrases_are_computed():
    with only_phrases():
        plain, static = both(Another)
        for k in range(40):
            xs = [chainer.Variable(np.full((2, 3), k + 1, "f")) for _ in range(2)]
            np.random.seed(k)
            a = plain(xs[0], k)
            np.random.seed(k)
            b = static(xs[1], k)
            assert_same_bits(a, b, k)
            assert plain.seen == static.seen
            F.sum(a).backward()
            F.sum(b).backward()
            assert_same_bits(xs[0].grad, xs[1].grad, k)
    assert static.schedule_manager.report()[0].with_python > 10


def test_beginnings_that_calls_end_with_are_not_promised_for_ever(monkeypatch):
    """Their functions would be promised in vain in each call, if no program may be made of them."""

    class Begun(chainer.Chain):
        def forward(self, x, goes_on):
            y = F.exp(F.tanh(x) * 0.5)
            return F.sin(F.tanh(y) * 0.25) if goes_on else y

    ends = [False] * (2 * _phrases._IN_VAIN)
    with only_phrases():
        plain, static = both(Begun)
        for k, goes_on in enumerate([True] * 8 + ends + [True, False] * 4):
            if k == 8:
                monkeypatch.setattr(Account, "affords_phrase", lambda *_: False)
            x = np.full((2, 3), k + 1, "f")
            assert_same_bits(plain(x, goes_on), static(x, goes_on), k)
    (report,) = static.schedule_manager.report()
    assert report.with_python >= 3
    assert sum([stop.count for stop in report.stops]) <= _phrases._IN_VAIN
    (site,) = static.schedule_manager._sites.values()
    assert not any([place.hot for place in site.phrases._places()])


def test_a_configuration_that_changes_is_not_another_phrase():
    class Modes(chainer.Chain):
        def forward(self, x, k):
            with chainer.using_config("train", bool(k % 2)):
                y = F.dropout(F.tanh(F.exp(x) * 0.5), 0.5)
            with np.errstate(over="raise" if k % 3 else "ignore"):
                return F.tanh(F.exp(y) * 0.5)

    with only_phrases():
        plain, static = both(Modes)
        for k in range(20):
            x = np.full((2, 3), 0.1 * k, "f")
            np.random.seed(k)
            a = plain(x, k)
            np.random.seed(k)
            assert_same_bits(a, static(x, k), k)


def test_what_cannot_be_traced_when_it_is_compiled_again_is_left_out(monkeypatch):
    """Where more is wanted of a phrase, or other pieces: the call goes on as always."""
    with only_phrases():
        plain, static = both(Kept)
        for k in range(30):
            if k == 12:
                made = _phrases.Plan

                def refuse(name, apps, *rest, made=made):
                    raise Untraceable(apps[-1], "not now")

                monkeypatch.setattr(_phrases, "Plan", refuse)
            losses = []
            for model in (plain, static):
                y = model(np.full((3, 4), 0.1 * k, "f"), k % 2)
                loss = F.sum(F.tanh(model.h)) + F.sum(F.exp(model.h)) + F.sum(y)
                model.cleargrads()
                if k > 10:
                    loss.backward()
                losses.append((loss, [p.grad for p in model.params()]))
            assert_same_bits(*losses, k)
    (site,) = static.schedule_manager._sites.values()
    assert site.phrases._refused_places


# -- what phrases are


def test_neighbours_become_phrases():
    a, b, c = (_phrases.Segment((w,), (0,), (w, 10 + w), 0) for w in (1, 2, 3))
    ab = a.joined(b)
    assert ab.words == (1, 2) and ab.values == (1, 11, 2, 12) and ab.pattern == (0, 2)
    assert ab.joined(c).what == a.joined(b.joined(c)).what


def test_a_value_that_is_used_again_is_another_pattern():
    first = _phrases.Segment((1,), (0,), (5, 6), 0)
    onward = _phrases.Segment((1,), (0,), (6, 7), 1)
    apart = _phrases.Segment((1,), (0,), (5, 7), 1)
    assert first.joined(onward).pattern == (0, 1)
    assert first.joined(apart).pattern == (0, 0)
