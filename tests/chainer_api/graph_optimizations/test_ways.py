"""Which ways keep programs, which forms of arguments are looked at, and how long."""

import time

import numpy as np
import pytest
from compare import pair

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _account, _node, _site, _ways
from chainer.graph_optimizations._account import Account
from chainer.graph_optimizations._tree import Application
from chainer.graph_optimizations._ways import FEW, MANY, Forms, Ways
from chainwright.runtime.rate import Rate


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2)

    def forward(self, x):
        return F.tanh(self.l(x)) * 2


def inputs(n):
    return chainer.Variable(np.linspace(-1, 1, 3 * n, dtype="f").reshape(n, 3))


def called(cls, sizes):
    """The report and the site of a decorated chain, after calls that were compared."""
    plain, static = pair(cls)
    for n in sizes:
        found = []
        for chain in (plain, static):
            x = inputs(n)
            chain.cleargrads()
            y = chain(x)
            F.sum(y * y).backward()
            found.append([y.array, x.grad, *[p.grad for p in chain.params()]])
        assert [a.tobytes() for a in found[0]] == [a.tobytes() for a in found[1]]
    (site,) = static.schedule_manager._sites.values()
    return static.schedule_manager.report()[0], site


def hot(site):
    return sum(a.hot for a in site.ways)


@pytest.fixture
def counted(monkeypatch):
    """However long calls take, the forms of all are counted."""
    monkeypatch.setattr(_ways, "_COUNTING", 0.0)


@pytest.mark.usefixtures("counted")
def test_forty_lengths_in_turn_all_have_programs_and_need_no_python():
    report, site = called(Net, [1 + k % 40 for k in range(40 * 24)])
    assert hot(site) == 40 and report.traces == 1 + 40  # first for any sizes
    assert report.without_python > 40 * 6  # the earliest are noted seven times


@pytest.mark.usefixtures("counted")
def test_where_programs_take_much_memory_few_ways_have_some(monkeypatch):
    monkeypatch.setattr(_ways, "_ROOM", 0)
    report, site = called(Net, [1 + k % 12 for k in range(12 * 24)])
    # The first trace is for any sizes. None of the others drives out another one.
    assert hot(site) == FEW and report.traces == 1 + FEW


@pytest.mark.usefixtures("counted")
def test_what_is_taken_no_more_makes_room(monkeypatch):
    monkeypatch.setattr(_ways, "_ROOM", 0)
    sizes = [1 + k % FEW for k in range(FEW * 12)] + [20] * 12 * _ways._TURNS * FEW
    report, site = called(Net, sizes)
    assert hot(site) == FEW and report.traces == 1 + FEW + 1


def path(depth, last, root=None):
    app = root or Application(None)
    for _ in range(depth):
        app = Application(app)
    app.hot, app.last = True, last
    return app


def test_ways_are_kept_while_they_take_little_memory():
    gone = []
    ways = Ways(FEW, gone.append)
    for k in range(MANY):
        app = path(3, k)
        assert ways.has_room(app, MANY, 1.0)
        ways.remember(app)
        ways.compiled(app)
    assert not gone and not ways.has_room(path(3, 0), MANY, 1.0) or app.hot
    cold = path(3, 0)
    cold.hot = False
    assert not ways.has_room(cold, MANY, 1.0)
    assert ways.has_room(cold, 9 * MANY + 1, 1.0)  # the oldest was not taken for long
    assert not ways.has_room(cold, 9 * MANY + 1, 1000.0)  # but a rare one is no better


def test_long_ways_that_have_no_programs_are_forgotten_sooner():
    gone = []
    ways = Ways(FEW, gone.append)
    for k in range(20):
        app = path(1024, k)
        app.hot = False
        ways.remember(app)
    assert len(gone) == 12 and [a.last for a in ways] == list(range(12, 20))


def test_forms_that_come_often_are_looked_at_though_the_method_is_left_alone():
    forms = Forms()
    rare, often = (np.zeros(1),), (np.zeros(2),)
    woken = [forms.wakes(forms.of(often)) for _ in range(40)]
    assert [k for k, w in enumerate(woken) if w] == [7, 8, 10, 14, 22, 38]
    form = forms.of(rare)
    assert not forms.wakes(form) and forms.every(form) == 41
    forms.has_gone(form, left=False, hot=True)
    assert forms.wakes(form)
    forms.give_up(form)
    assert not forms.wakes(form)
    assert sum(forms.is_given_up(form) for _ in range(2000)) == 1020


def test_ways_are_followed_by_forms_that_are_known():
    forms = Forms()
    form = forms.of((np.zeros(1),))
    assert not forms.follows(form)  # nobody knows whether it comes again
    assert forms.of((np.zeros(1),)) == form and forms.follows(form)
    with chainer.using_config("train", False):
        assert forms.of((np.zeros(1),)) != form  # another way, with the same arguments
    forms.has_gone(form, left=True, hot=False)
    follows = []
    for _ in range(40):
        forms.of((np.zeros(1),))
        follows.append(forms.follows(form))
    assert [k for k, f in enumerate(follows) if f] == [0, 2, 6, 14, 30]
    forms.has_gone(form, left=False, hot=True)
    assert forms.follows(form)


def test_evaluation_does_not_end_the_programs_of_training(monkeypatch):
    """It leaves the way of training, with the same arguments, before anything is known of them."""

    class WithDropout(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(3, 4)

        @chainer.static_graph
        def forward(self, x):
            time.monotonic()  # it needs its Python
            return F.tanh(F.dropout(F.tanh(self.l(x))))

    model, x = WithDropout(), inputs(4)
    for _ in range(6):
        model(x)
    (site,) = model.schedule_manager._sites.values()
    site.forms.forgets_programs()  # as where a way has waited, and was compiled between calls
    monkeypatch.setattr(Account, "allows_noting", lambda account: False)
    for _ in range(3):
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            model(x)
        hits = model.schedule_manager.report()[0].hits
        for _ in range(5):
            model(x)
        assert model.schedule_manager.report()[0].hits == hits + 5


def test_where_most_forms_come_back_programs_are_those_of_whole_calls():
    def forms_of(sizes):
        forms = Forms()
        for n in sizes:
            forms.of((np.zeros(n),))
        return forms

    assert forms_of(1 + k % 12 for k in range(400)).come_back()
    assert not forms_of(1 + k % 12 for k in range(100)).come_back()  # not yet
    assert forms_of(1 for k in range(400)).come_back()
    assert not forms_of(range(400)).come_back()


def test_forms_of_brief_calls_are_counted_by_chance():
    forms = Forms()
    assert not any(forms.uncounted(3e-3) for _ in range(100))
    for seconds, least, most in ((5e-4, 3, 6), (2.5e-4, 8, 12), (2.5e-5, 80, 120)):
        gaps = [forms.uncounted(seconds) for _ in range(4000)]
        assert least < sum(gaps) / len(gaps) < most
        for turns in (2, 3, 4, 5, 12):  # calls that take turns are counted all
            at = {(sum(gaps[:k]) + k) % turns for k in range(200)}
            assert at == set(range(turns))


def test_a_way_that_is_noted_again_is_not_compiled_again():
    _, static = pair(Net)
    for k in range(60):
        static(inputs(4))
        (site,) = static.schedule_manager._sites.values()
        if k % 5 == 4:  # as where calls leave it in the middle
            site.forms.differ = True
            site.forms.forgets_programs()
            site.proofs.proofs = ()
    assert static.schedule_manager.report()[0].traces == 1


class Inner(Net):
    """Differentiates a gradient: the graph behind the first results is wanted."""

    def forward(self, x):
        y = F.sum(F.tanh(self.l(x)))
        (g,) = chainer.grad([y], [self.l.W], enable_double_backprop=True)
        return F.linear(x, self.l.W - 0.1 * g)


def test_a_graph_that_is_always_wanted_is_not_left_to_a_proof(monkeypatch):
    count = []
    dissolve = _node.StaticScheduleFunction._dissolve
    monkeypatch.setattr(
        _node.StaticScheduleFunction, "_dissolve", lambda n: count.append(n) or dissolve(n))
    report, _ = called(Inner, [4] * 40)
    assert report.without_python > 10 and len(count) < 10


def test_a_way_without_a_function_that_a_program_computes_is_left():
    """A penalty on a gradient: the graph behind each result is wanted outside of the method."""
    plain, static = pair(Net)
    for k in range(60):
        found = []
        for chain in (plain, static):
            x = inputs(4)
            chain.cleargrads()
            (g,) = chainer.grad([F.sum(chain(x) ** 2)], [x], enable_double_backprop=True)
            F.sum(g * g).backward()
            found.append((x.grad.tobytes(), chain.l.W.grad.tobytes()))
        assert found[0] == found[1], k
    (site,) = static.schedule_manager._sites.values()
    assert hot(site) == 0 and site.account.calls - site.ledger.to_pass == 60
    assert site.ledger.with_python + site.ledger.without_python < 10
    assert site.ledger.spent["noting"] and not site.proofs.proofs


def test_the_share_of_a_way_is_that_of_its_form_though_few_calls_are_looked_at():
    forms = Forms()
    found = [forms.of((np.zeros(k % 4, "f"),)) for k in range(100)]
    way, other = object(), object()
    assert forms.share(found[0], 2, way) == 0.0  # nobody knows which way its calls go
    forms.was_seen(found[0], way)
    forms.was_seen(found[0], way)
    assert forms.share(found[0], 2, way) == 0.25
    forms.was_seen(found[0], other)
    assert forms.share(found[0], 2, way) == 0.125  # one of them has gone another way
    assert forms.share(None, 2, way) == forms.share(found[1], 2, way) == 0.0


def test_a_form_may_go_another_way_from_some_day_on():
    forms, before, now = Forms(), object(), object()
    form = forms.of(((), {}))
    for way in [before] * 12 + [now, now]:
        forms.was_seen(form, way)
    assert forms.share(form, 2, now) == pytest.approx(1 / 13)
    forms.was_seen(form, now)
    assert forms.share(form, 3, now) == pytest.approx(2 / 3)
    forms.was_seen(form, now)
    assert forms.share(form, 4, now) == 1.0
    assert forms.share(form, 12, before) == pytest.approx(11 / 15)
    for way in [before, now] * 4:  # in turns
        forms.was_seen(form, way)
    assert forms.share(form, 8, now) == pytest.approx(7 / 23)


class Reporting(Net):
    """It has others see values, and hands out more of them when ``keeps`` is set."""

    keeps = False

    def hidden(self, x):
        h = F.tanh(self.l(x))
        self.kept = h if self.keeps else None
        return h * 2

    @chainer.static_graph
    def forward(self, x, t):
        y = self.hidden(x)
        loss = F.softmax_cross_entropy(y, t)
        chainer.report({"loss": loss, "accuracy": F.accuracy(y, t)}, self)
        self.smooth = 0.9 * getattr(self, "smooth", 0.0) + 0.1 * float((loss + F.max(y)).array)
        return loss


def reporting(model, calls):
    """The observations of some calls, and the sites of the model."""
    reporter, found = chainer.Reporter(), []
    reporter.add_observer("main", model)
    for k in range(calls):
        r, seen = np.random.RandomState(k), {}
        with reporter.scope(seen):
            model(r.randn(4, 3).astype("f"), r.randint(0, 2, 4)).backward()
        found.append({name: (float(y.array), y.name, y.creator) for name, y in seen.items()})
    manager = getattr(model, "schedule_manager", None)
    return found, *([] if manager is None else manager._sites.values())


def test_what_is_reported_is_not_read():
    """Neither where a call is noted: there is one program from the start."""
    class Plain(Reporting):
        forward = Reporting.forward.__wrapped__

    model, plain = Reporting(), Plain()
    plain.copyparams(model)
    found, site = reporting(model, 12)
    assert [len(plan.apps) for plan in site.plans()][:1] == [7]
    expected, = reporting(plain, 12)
    assert found == expected
    assert model.smooth == plain.smooth


def test_a_way_that_waits_is_left_alone_though_it_has_programs(monkeypatch):
    """Programs that give too few results serve no call: the functions are applied in vain."""
    model = Reporting()
    _, site = reporting(model, 8)
    assert site.ways.has_programs() and site.ledger.hits
    monkeypatch.setattr(Account, "wait_for_trace", lambda *args, **kwargs: 50)
    model.keeps = True
    reporting(model, 6)
    assert site._waiting is not None and 0 < site.sleep.calls <= 50
    monkeypatch.undo()
    reporting(model, 60)
    assert site._waiting is None and not site.sleep.calls
    before = site.ledger.hits
    reporting(model, 4)
    assert site.ledger.hits == before + 4


class Tree(Net):
    @chainer.static_graph
    def forward(self, t):
        if isinstance(t, np.ndarray):
            return F.tanh(self.l(t))
        return F.relu(sum([self.forward(part) for part in t]))


@pytest.mark.parametrize("budget", [1e-9, None])
def test_what_a_method_calls_of_itself_is_a_part_of_the_call(budget):
    """Where the call is define-by-run, too: leaves have no programs that trees would not have."""
    model, plain = Tree(), Tree()
    plain.copyparams(model)
    with chainer.using_config("static_budget", budget):
        for k in range(20):
            r, found = np.random.RandomState(k), []
            leaves = [r.randn(2, 3).astype("f") for _ in range(5)]
            tree = [leaves[0], [leaves[1], [leaves[2]]], leaves[3 + k % 2:]]
            for net, forward in ((model, Tree.forward), (plain, _plain_tree)):
                net.cleargrads()
                y = forward(net, tree)
                F.sum(y * y).backward()
                found.append([y.array.tobytes(), *[p.grad.tobytes() for p in net.params()]])
            assert found[0] == found[1]
    (site,) = model.schedule_manager._sites.values()
    assert site.ledger.hits + site.ledger.eager_calls == 20
    assert (site.ledger.hits > 10) is (budget is None)


def _plain_tree(net, t):
    if isinstance(t, np.ndarray):
        return F.tanh(net.l(t))
    return F.relu(sum([_plain_tree(net, part) for part in t]))


def test_values_decide_where_some_calls_of_a_form_are_served():
    """Only those without a program are noted: all of these go one way."""
    forms = Forms()
    form, served, other = forms.of((1,)), object(), object()
    for _ in range(8):
        forms.was_served(form, served)
        forms.was_seen(form, other)
    assert not forms.tells_the_way(form)


def test_a_way_that_waits_is_not_noted_again_and_again(monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    _, static = pair(Net)
    noted, add = [], _site.Site._learn

    def learn(self, run):
        noted.append(run.noted)
        return add(self, run)

    monkeypatch.setattr(_site.Site, "_learn", learn)
    for _ in range(200):
        static(np.ones((4, 3), "f"))
    assert sum(map(bool, noted)) <= 4
