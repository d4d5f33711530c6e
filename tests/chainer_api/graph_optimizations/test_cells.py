"""Methods that are called for each time step, and keep a state of which more is computed.

Their programs go on behind the state. Whatever is done with it, or with the gradients of time
steps, is as it would be without programs.
"""

import numpy as np
import pytest
from trust import decorated_class, difference, run, simple, variable

import chainer
import chainer.functions as F
import chainer.links as L


def plain_cell(self, x):
    self.h = F.tanh(self.a(x) if self.h is None else self.a(x) + self.more(self.h))
    return self.b(self.h)


def lstm_cell(self, x):
    self.h = self.lstm(x)
    return F.relu(self.b(self.h))


def two_states(self, x):
    self.h = F.tanh(self.a(x) * (0.5 if self.h is None else self.h))
    self.g = F.sigmoid(self.b(self.h))
    return self.g * self.h


def one_weight_twice(self, x):
    self.h = F.tanh(self.a(x if self.h is None else x + self.h))
    return self.a(self.h)


CELLS = [plain_cell, lstm_cell, two_states, one_weight_twice]


def of_all(self, k, ys, hs):
    self.loss = sum([F.sum(y * (j + 1)) for j, y in enumerate(ys)])
    self.loss.backward()


def cut_off_behind(self, k, ys, hs):
    of_all(self, k, ys, hs)
    self.loss.unchain_backward()
    self.goes_on = True


def of_the_last(self, k, ys, hs):
    F.sum(ys[-1]).backward()


def of_states_as_well(self, k, ys, hs):
    F.sum(F.concat(hs) * 2 + F.concat(ys) * F.concat(hs)).backward()


def of_states_alone(self, k, ys, hs):
    F.sum(F.concat(hs)).backward()


def with_respect_to_a_state(self, k, ys, hs):
    return chainer.grad([F.sum(y * y) for y in ys], [hs[1], hs[2], self.a.W])


def gradients_of_states_are_kept(self, k, ys, hs):
    F.sum(sum(ys)).backward(retain_grad=True)
    return [h.grad_var for h in hs]


def a_state_is_cut_off(self, k, ys, hs):
    hs[1].unchain()
    hs[2].unchain_backward()
    F.sum(sum(ys) * 3).backward()


def twice(self, k, ys, hs):
    (g,) = chainer.grad([F.sum(sum(ys))], [hs[0]], enable_double_backprop=True)
    F.sum(g * g + F.tanh(hs[3])).backward()


def a_gradient_is_set(self, k, ys, hs):
    hs[1].grad = np.full((3, 4), 0.5, "f")
    F.sum(sum(ys)).backward()


def states_are_written(self, k, ys, hs):
    for h in hs:
        h.array *= 1.25
    F.sum(sum(ys)).backward()


def weights_are_updated_before(self, k, ys, hs):
    self.a.W.array[...] += 0.01
    F.sum(sum(ys)).backward()


def in_two_parts(self, k, ys, hs):
    F.sum(ys[0] + ys[1]).backward()
    F.sum(ys[2] * ys[3]).backward()


def hooks_see_functions(self, k, ys, hs):
    if k % 8 == 7:
        with chainer.function_hooks.TimerHook() as hook:
            F.sum(sum(ys)).backward()
        return sorted({name for name, _ in hook.call_history})
    F.sum(sum(ys)).backward()


ENDS = [
    of_all, cut_off_behind, of_the_last, of_states_as_well, of_states_alone,
    with_respect_to_a_state, gradients_of_states_are_kept, a_state_is_cut_off, twice,
    a_gradient_is_set, states_are_written, weights_are_updated_before, in_two_parts,
    hooks_see_functions,
]  # fmt: skip


def sequences(cell, end):
    """A class of which each step is a sequence of four calls and what ``end`` does with them."""

    def make():
        cls = simple(
            cell, lstm=lambda: L.LSTM(4, 4), more=lambda: L.Linear(4, 4, nobias=True),
            h=lambda: None, goes_on=lambda: False)

        def step(self, k):
            self.cleargrads()
            if not self.goes_on:
                self.h = None
                self.lstm.reset_state()
            self.goes_on = False
            xs = [variable(10 * k + j) for j in range(4)]
            ys, hs = [], []
            for x in xs:
                ys.append(self(x))
                hs.append(self.h)
            found = end(self, k, ys, hs)
            links = [self.a, self.b, self.more, self.lstm.upward, self.lstm.lateral]
            gradients = [p.grad_var for link in links for p in link.params()]
            return ys, hs, xs, found, gradients

        cls.step = step
        return cls

    make.__name__ = f"{cell.__name__}, {end.__name__}"
    return make


def name_of(function):
    return function.__name__


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("end", ENDS, ids=name_of)
@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_same_as_define_by_run(cell, end, target):
    make = sequences(cell, end)
    with chainer.using_config("static_target", target):
        expected, actual = run(make, False, 14), run(make, True, 14)
    assert difference(expected, actual) is None


def replayed(cell, end, steps):
    """The pieces of each program that calls without Python run in the end, and how many did."""
    model = decorated_class(sequences(cell, end))()
    for k in range(steps):
        model.step(k)
    (site,) = model.schedule_manager._sites.values()
    (report,) = model.schedule_manager.report()
    assert "distrusted" not in {e.kind for e in report.events}
    return [len(plan.pieces) for proof in site.proofs.proofs
            for _, _, plan in proof.plans], report.without_python


@pytest.mark.parametrize("cell", [plain_cell, lstm_cell], ids=name_of)
@pytest.mark.parametrize("end", [of_all, cut_off_behind, in_two_parts], ids=name_of)
def test_programs_go_on_behind_a_state(cell, end):
    pieces, without = replayed(cell, end, 16)
    assert set(pieces) == {1}
    assert without > 32


@pytest.mark.parametrize("cell, end", [(plain_cell, of_states_as_well), (two_states, of_all)])
def test_programs_end_where_a_state_is_used_again(cell, end):
    """Of three gradients the order matters: others may come between those of the method."""
    pieces, without = replayed(cell, end, 24)
    assert max(pieces) == 2
    assert without > 32


def test_gradients_of_weights_do_not_wait_for_each_other(monkeypatch):
    """Those of all time steps at a time would take many times the memory of the weights."""
    from chainer import _backprop

    longest = []
    added = _backprop._sum
    model = decorated_class(sequences(lstm_cell, of_all))()
    for _ in range(16):
        model.step(0)
    monkeypatch.setattr(_backprop, "_sum", lambda gradients, *how: (
        longest.append(len(gradients)), added(gradients, *how))[1])
    model.step(0)
    assert max(longest) == 2


def test_what_follows_from_ranks_is_forgotten_where_these_grow_without_end(monkeypatch):
    from chainer.graph_optimizations import _piece

    monkeypatch.setattr(_piece, "_LEVELS", 64)
    model = decorated_class(sequences(lstm_cell, cut_off_behind))()
    for k in range(40):
        model.step(k)
    (site,) = model.schedule_manager._sites.values()
    assert model.h.rank > 64
    for plan in site.plans():
        for piece in plan.pieces:
            assert len(piece._levels) <= 1 + 64 // len(piece.uses)
