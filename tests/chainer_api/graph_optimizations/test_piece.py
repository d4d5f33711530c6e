"""Where the functions of a piece stand in the graph of a caller, and what programs wait for."""

import warnings

import numpy as np
import pytest
from trust import Base, variable

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _account
from chainer.graph_optimizations._levels import Levels
from chainer.graph_optimizations._piece import Piece


class Cell(Base):
    """What it is given is used at several depths, some of it three times."""

    @chainer.static_graph
    def forward(self, c, h, x):
        a = F.tanh(self.a(x) + h)
        c = c * F.sigmoid(self.b(h + x)) + a
        h = F.tanh(c) * a + h * x
        return c, h, F.sum(x * x)


def test_leaves_that_stand_higher_move_what_is_computed_from_them():
    cell = Cell()
    with chainer.using_config("static_budget", None):
        for k in range(3):
            c, h, y = cell(*[variable(k + j, 3, 4) for j in range(3)])
            F.sum(c * h * y).backward()
    (site,) = cell.schedule_manager._sites.values()
    pieces = [piece for plan in site.plans() for piece in plan.pieces]
    seen = [_is_moved(piece, np.random.RandomState(k)) for piece in pieces for k in range(60)]
    assert any(piece.order_matters for piece in pieces)
    assert 20 < sum(seen) < len(seen) - 20


def _is_moved(piece, r):
    """Compare what is known of leaves with random ranks with what is computed for just these."""
    n = len(piece._node_leaves)
    ranks = (r.randint(0, 6, n) + r.choice([0, 9, 30, 1000])) * (r.rand(n) < 0.6)
    ranks = tuple(ranks.tolist()) if ranks.any() else (1,) * n
    found, plain = piece.levels(ranks), Levels(piece, ranks)
    assert (found.highest, found.heights) == (plain.highest, plain.heights)
    assert (found.places, found.order) == (plain.places, plain.order)
    return found._base is not None


@pytest.fixture
def waiting(monkeypatch):
    """Programs that wait for the first gradients, as those do that are not compiled at once."""
    monkeypatch.setattr(Piece, "may_wait", True)
    monkeypatch.setitem(vars(chainer.global_config), "static_budget", None)
    monkeypatch.setitem(vars(chainer.global_config), "static_step", False)  # calls by themselves


def compiled(model):
    return [e.reason for e in model.schedule_manager.report()[0].events if e.kind == "compile"]


def steps(kind, decorated, times, backward):
    np.random.seed(0)
    if not decorated:
        kind = type("Plain", (kind,), {"forward": kind.forward.__wrapped__})
    model, found = kind(), []
    for k in range(times):
        model.cleargrads()
        results = model(*[variable(k + j, 3, 4) for j in range(3)])
        backward(*results)
        found.append([y.array.tobytes() for y in results])
        found.append([None if p.grad is None else p.grad.tobytes() for p in model.params()])
    return found, model


@pytest.mark.parametrize("backward", [
    lambda c, h, y: F.sum(c * h * y).backward(),
    lambda c, h, y: F.sum(c).backward(),
    lambda c, h, y: (y * F.sum(h)).backward(),
    lambda c, h, y: None,
])
def test_programs_wait_for_the_first_gradients(waiting, backward):
    """They are made once, for those that come; or for forward alone, where none do."""
    plain, _ = steps(Cell, False, 20, backward)
    found, model = steps(Cell, True, 20, backward)
    assert found == plain
    (site,) = model.schedule_manager._sites.values()
    pieces = [piece for plan in site.plans() for piece in plan.pieces if not piece._is_new]
    made = [why for why in compiled(model) if why.startswith("a new kind of backward has come")]
    assert len(made) == len(pieces) > 0  # each once
    has_gradients = any(grad is not None for grad in plain[1])
    assert max(len(piece.backwards) for piece in pieces) == int(has_gradients)
    assert model.schedule_manager.report()[0].hits > 10


class Halves(Base):
    @chainer.static_graph
    def forward(self, c, h, x):
        return F.split_axis(F.tanh(self.a(c)) * h, 2, axis=1)


def test_programs_for_several_kinds_of_backward_are_made_at_once(waiting):
    """All have come by the time of the next call."""

    def backward(*halves):
        for y in halves:
            F.sum(y).backward()

    plain, _ = steps(Halves, False, 12, backward)
    found, model = steps(Halves, True, 12, backward)
    assert found == plain
    (site,) = model.schedule_manager._sites.values()
    (piece,) = [piece for plan in site.plans() for piece in plan.pieces]
    assert len(piece.backwards) == 2
    made = [why for why in compiled(model) if why.startswith("a new kind of backward has come")]
    assert len(made) == 1


class Written(Cell):
    @chainer.static_graph
    def forward(self, c, h, x):
        return self.bn(self.a(c)), F.log(h), self.b(x)


@pytest.mark.parametrize("kind", [Cell, Written])
def test_errors_while_they_wait(waiting, kind):
    """What functions raise is raised once, and statistics are written once."""

    def told(decorated):
        with warnings.catch_warnings(record=True) as said, np.errstate(invalid="raise"):
            warnings.simplefilter("always")
            found = []
            for k in range(6):
                try:
                    found.append(steps(kind, decorated, k, lambda *ys: ys[0].unchain_backward()))
                except FloatingPointError as e:
                    found.append(str(e))
        return [f if type(f) is str else f[0] for f in found], [str(w.message) for w in said]

    assert told(True) == told(False)


def test_programs_that_are_asked_for_do_not_wait(waiting):
    _, model = steps(Cell, True, 2, lambda *ys: None)
    assert model.schedule_manager.programs


def test_what_differs_is_seen_several_times_where_threads_may_have_changed_it(waiting, caplog):
    _, model = steps(Cell, True, 12, lambda c, h, y: F.sum(c * h * y).backward())
    (site,) = model.schedule_manager._sites.values()
    account = site.account
    piece = next(piece for plan in site.plans() for piece in plan.pieces if plan.ready())
    account._shared_until = account.calls + 100
    for _ in range(_account._DOUBTS - 1):
        account.distrust(piece, "a gradient", "here")
        assert not piece.dropped and piece.uses_since_check == 0  # the next one is checked
    piece.doubts -= 1
    steps_before = site.ledger.checks
    model(*[variable(j, 3, 4) for j in range(3)])
    assert site.ledger.checks == steps_before + 1 and piece.doubts == 0
    for _ in range(_account._DOUBTS):
        account.distrust(piece, "a gradient", "here")
    assert piece.dropped and "distrusted" in caplog.text
