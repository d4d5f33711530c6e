"""Where the functions of a piece stand in the graph of a caller."""

import numpy as np
from trust import Base, variable

import chainer
import chainer.functions as F
from chainer.graph_optimizations._piece import Levels


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
