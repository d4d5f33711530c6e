"""One program of a call that goes briefly, with nothing around it.

In: a plan of a single program, which may draw, and write statistics. Out: functions that do
what :meth:`Plan.run` and :meth:`StaticScheduleFunction._give_gradients` do where nothing is to be
checked, timed or computed before, as most calls are. A single result has its place in the graph,
but the node that shows it is made when somebody asks for it: mostly nobody does. What may not
happen: a call for which something is to be looked at, and goes this way. So what decides is
compared in each call, and all else is left to the plan.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import _tracing
from chainer.function_node import next_number
from chainer.variable import Variable
from chainwright.runtime import OPTIONS, Kept, Schedule
from chainwright.runtime.arenas import Pool
from chainwright.runtime.native import looks

from ._account import clock
from ._errors import noting, raising
from ._held import hold
from ._node import SMALL_RESULT, StaticScheduleFunction, pieces_exist
from ._residual import defined
from ._specs import laid_out
from ._values import copied

if TYPE_CHECKING:
    from ._piece import Piece
    from ._plan import Plan

_ref = weakref.ref
_TRIES = 8  # code is made anew so often: native code comes once, new kinds of backward sometimes


class DirectFunctions(StaticScheduleFunction):
    """The node of several results."""

    _states = None
    _retained: dict[int, Any] = {}
    #: By the number of a result and what tells gradients of it apart: what lets the leaves have
    #: theirs, where no other result has one. See _giver.
    _gives: dict[Any, Any]

    def _give_gradients(self, node: Any, gy: Variable) -> bool:
        array, number = gy._array, None
        for k, ref in enumerate(self.outputs or ()):
            y = ref()
            if y is node:
                number = k
            elif y is not None and y.grad_var is not None:
                return False
        give = self._gives.get((number, array.dtype, array.strides, gy._requires_grad))
        return give is not None and give(self, array) or super()._give_gradients(node, gy)


class DirectFunction(DirectFunctions):
    """The node of a single result, which a Variable refers to until it has a node itself."""

    #: Of these, that for a loss, and the gradient of it.
    _of_loss: tuple[Any, np.ndarray] | None

    def _give_gradients(self, node: Any, gy: Variable) -> bool:
        array = gy._array
        give = self._gives.get((0, array.dtype, array.strides, gy._requires_grad))
        if give is not None and give(self, array):
            return True
        return StaticScheduleFunction._give_gradients(self, node, gy)

    def _hang(self, below: Any) -> None:
        """Put ``below``, the new node of the result, into the graph."""
        piece = self._piece
        below._creator_node, below._rank = self, self._levels.heights[0]
        self.outputs = (_ref(below),)
        for slot in piece.results_in_nodes:
            below._data = self._retained[piece.results.index(slot)]


class Direct:
    """In the place of a plan: its ``run`` takes a carrier that says whether the account rests."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.piece: Piece = plan.pieces[0]
        self.run: Any = self.otherwise
        #: ``put_off(carrier)`` may have the call be computed later (see Late): true if so.
        self.put_off: Any = None
        self._code: Any = None
        self._found: Any = None  # what the code was made for
        self._tries = 0
        #: Backwards of which the account is still to be told.
        self.untold = 0

    def otherwise(self, carrier: Any) -> None:
        """Where the code does not go on, or the account wants to know of the call."""
        if carrier.rests or self._code is None:
            self.plan.run(carrier)
            self._renew(carrier)
        else:
            self._timed(carrier)

    def goes(self) -> None:
        """Run the code from now on, as far as there is some and nothing may be put off."""
        self.run = self._code or self.otherwise if self.put_off is None else self._unless_put_off

    def _unless_put_off(self, carrier: Any) -> None:
        if not self.put_off(carrier):
            (self._code or self.otherwise)(carrier)

    def _timed(self, carrier: Any) -> None:
        piece, known = self.piece, len(carrier.pieces)
        piece.account.ledger.saved += self.untold * piece.backward_meter.gain
        self.untold = 0
        started = clock()
        carrier.rests = True
        try:
            self._code(carrier)
        finally:
            carrier.rests = False
        if len(carrier.pieces) > known:  # it did not go on
            return
        piece.forward_meter.took(clock() - started)
        carrier.pieces.append(piece)
        if not piece.chained:
            return
        result = carrier.values[piece.chained[0]]
        if is_single := len(piece.chained) == 1:
            function = result._made_by
        else:
            function = result._node._creator_node
        function._gives = {key: self._timing(give) for key, give in function._gives.items()}
        if is_single and function._of_loss is not None:
            give, one = function._of_loss
            function._of_loss = self._timing(give), one

    def _timing(self, give: Any) -> Any:
        """The same, timed."""

        def timed(function: DirectFunction, array: np.ndarray) -> bool:
            started = clock()
            if not give(function, array):
                return False
            self.piece.backward_meter.took(clock() - started)
            return True

        return timed

    def _renew(self, carrier: Any) -> None:
        """Make the code, where it is not there, or not for the programs that run now."""
        piece = self.piece
        if self._tries < _TRIES and self._found != _found(piece):
            started = clock()
            self._found = _found(piece)
            self._tries += 1
            if _is_direct(self.plan):
                self._code = _runner(self)
                self.goes()
            carrier.checking += piece.account.spend("prove", started)


def _found(piece: Piece) -> Any:
    """What code is made for: the programs, whether they stay, and what runs them."""
    compiled = piece._compiled
    if compiled is None:
        return None
    schedule = compiled[0]
    runners = [run.runner for run, _, _ in compiled[1].values()]
    return compiled, schedule._left < 0, schedule._runner, runners


def _is_direct(plan: Plan) -> bool:
    piece = plan.pieces[0]
    schedule = piece._compiled[0]
    if len(plan.pieces) > 1 or not piece.inputs_are_given or type(schedule) is not Schedule:
        return False
    if not set(piece.written).isdisjoint(piece.large):
        return False
    if schedule._left >= 0:
        return False
    if piece.chained and not piece._node_leaves:
        return False
    pools = schedule._runner.scratch, schedule._runner.kept
    return all(type(pool) is Pool for pool in pools)


class _Text:
    """Lines of a function, and the objects that they name."""

    def __init__(self, head: str) -> None:
        self.lines, self.names = [f"def {head}:"], dict[str, Any]()

    def line(self, text: str, depth: int = 1) -> None:
        self.lines.append("    " * depth + text)

    def function(self, name: str) -> Any:
        code = compile("\n".join(self.lines) + "\n", "<chainwright direct>", "exec")
        return defined(code, self.names, name)

    def take(self, name: str, pool: Pool) -> None:
        """Take a set of buffers: what ``Pool.take`` does."""
        self.names[f"{name}_idle"], self.names[f"new_{name}"] = pool.idle, pool.take
        self.line("try:")
        self.line(f"{name} = {name}_idle.pop()", 2)
        self.line("except IndexError:")
        self.line(f"{name} = new_{name}()", 2)

    def take_back(self, name: str, pool: Pool) -> None:
        """Take what has been lent before; as ``Pool.take`` where there is nothing of that kind."""
        self.names |= {"back": pool.back, "lent": pool.lent, f"new_{name}": pool.take}
        self.line("try:")
        self.line(f"{name} = lent.pop(back.popleft())", 2)
        self.line("except IndexError:")
        self.line(f"{name} = new_{name}()", 2)

    def give(self, name: str, pool: Pool) -> None:
        """Give it back: what ``Pool.give`` does."""
        self.line(f"if len({name}_idle) < {pool.room}:")
        self.line(f"{name}_idle.append({name})", 2)


def _runner(direct: Direct) -> Any:
    """The function in the place of the plan's."""
    piece = direct.piece
    compiled = piece._compiled
    schedule, runner = compiled[0], compiled[0]._runner
    t = _Text("run(carrier)")
    t.names |= {
        "piece": piece, "compiled": compiled, "schedule": schedule, "runner": runner,
        "function": runner.function, "otherwise": direct.otherwise,
        "handed_out": _tracing.handed_out, "new": object.__new__,
        "profiled": OPTIONS.profile, "raising": raising, "asarray": np.asarray, "copied": copied,
    }
    t.line("n = piece.uses_since_check + 1")
    t.line("if (not carrier.rests or piece._compiled is not compiled or handed_out")
    t.line("        or schedule._runner is not runner or piece._unsettled")
    t.line("        or not (n & (n - 1) and n % 1024) or profiled()):")
    t.line("return otherwise(carrier)", 2)
    t.line("piece.uses_since_check = n")
    t.line("values = carrier.values")
    arrays, own = _read(t, piece)
    for slot in piece.written if piece.chained else ():
        t.line(f"c{slot} = copied({own[slot]})")
    (t.take_back if piece.chained and schedule._saves else t.take)("kept", runner.kept)
    t.take("scratch", runner.scratch)
    numbers = itertools.count()
    inputs = "".join([
        f"asarray(carrier.drawn[{next(numbers)}]), " if i.slot is None else f"{arrays[i.slot]}, "
        for i in piece.inputs])
    t.line(f"made = raising(function, {inputs}scratch, kept)")
    t.give("scratch", runner.scratch)
    for k, slot in enumerate(piece.results):
        t.line(f"values[{slot}]._array = y{k} = made[{k}]")
    if not piece.chained:
        t.give("kept", runner.kept)
        return t.function("run")
    if schedule._saves:
        t.names["Kept"], t.names["lend"] = Kept, runner.kept.lend
        t.line("held = new(Kept)")
        t.line(f"held.values = made[{schedule._n}:]")
        t.line("lend(kept, held)")
    else:
        t.give("kept", runner.kept)
    _hang(t, direct, own)
    return t.function("run")


def _read(t: _Text, piece: Piece) -> tuple[dict[int, str], dict[int, str]]:
    """Read the arrays of the leaves, and their nodes: the names of what the program takes, and of
    what is there."""
    own, t.names["laid_out"] = {}, laid_out
    nodes = dict(zip(piece._node_leaves, range(len(piece._node_leaves)), strict=True))
    for slot in dict.fromkeys([*piece._leaf_slots, *piece._node_leaves]):
        own[slot] = f"a{slot}"
        if piece._specs[slot].requires_grad is None:
            t.line(f"a{slot} = values[{slot}]")
            continue
        t.line(f"x = values[{slot}]")
        t.line(f"a{slot} = x._array")
        if slot in nodes and piece.chained:
            t.line(f"n{nodes[slot]} = x._node")
    for slot, strides in piece.loose.items():
        t.line(f"d{slot} = laid_out(a{slot}, {strides})")
    return {s: f"d{s}" if s in piece.loose else a for s, a in own.items()}, own


def _hang(t: _Text, direct: Direct, own: dict[int, str]) -> None:
    """Make the node, as :meth:`Piece._place` and :meth:`Piece._attach` do."""
    piece = direct.piece
    is_single = len(piece.chained) == 1
    t.names |= {
        "Function": DirectFunction if is_single else DirectFunctions, "ref": _ref,
        "next_number": next_number, "ground": piece._ground, "levels_of": piece.levels,
        "backwards": piece._compiled[1],
    }
    pieces_exist()
    n = len(piece._node_leaves)
    nodes = "".join([f"n{k}, " for k in range(n)])
    ranks = "".join([f"n{k}._rank, " for k in range(n)])
    above = " or ".join([f"n{k}._rank" for k in range(n)]) or "0"
    for slot in piece.retained:
        t.line(f"n{piece._node_leaves.index(slot)}._data = {own[slot]}")
    t.line("f = new(Function)")
    t.line("f._piece = piece")
    _hold(t, piece, own)
    small = "".join([
        f"{slot}: y{k}.tobytes(), " for k, slot in enumerate(piece.results) if _is_small(piece, k)
    ])
    t.line(f"f._small_results = {{{small}}}")
    made = "".join([f"ref(y{k}), " for k in range(len(piece.results))])
    t.line(f"f._made = ({made})")
    if piece._compiled[0]._saves:
        t.line("f._kept = held")
        t.line("f._backwards = backwards")
    if piece.shown:
        t.line(f"f._retained = {{{''.join([f'{k}: y{k}, ' for k in piece.shown])}}}")
    t.line("f.number = next_number()")
    t.line(f"f._leaf_nodes = nodes = ({nodes})")
    if piece._repeat is None:
        t.line("f.inputs = nodes")
    else:
        t.names["repeat"] = piece._repeat
        t.line("f.inputs = repeat(nodes)")
    t.line(f"f._levels = levels = levels_of(({ranks})) if {above} else ground")
    t.line("f.rank = levels.highest")
    t.names["gives"] = gives = _givers(direct)
    t.line("f._gives = gives")
    if is_single:
        t.names["of_loss"] = _of_loss(piece, gives)
        t.line("f._of_loss = of_loss")
        t.line(f"values[{piece.chained[0]}]._made_by = f")
        return
    for k, slot in enumerate(piece.chained):
        t.line(f"r{k} = values[{slot}]._node")
    t.line(f"{''.join([f'r{k}._rank, ' for k in range(len(piece.chained))])} = levels.heights")
    t.line(f"{''.join([f'r{k}._creator_node = ' for k in range(len(piece.chained))])}f")
    t.line(f"f.outputs = ({''.join([f'ref(r{k}), ' for k in range(len(piece.chained))])})")
    for slot in piece.results_in_nodes:
        t.line(f"r{piece.chained.index(slot)}._data = y{piece.results.index(slot)}")


def _hold(t: _Text, piece: Piece, own: dict[int, str]) -> None:
    """Have the node hold the leaves, and how the generator stood, as its constructor does."""
    t.names |= {
        "hold": hold, "last_functions": _tracing.last_functions,
        "note_function": _tracing.note_function,
    }
    live = "".join([
        f"{slot}: {f'hold({own[slot]})' if slot in piece.large else own[slot]}, "
        for slot in piece._leaf_slots
    ])
    if piece._copies_are_cheap:
        copies = "".join([
            f"{slot}: {f'c{slot}' if slot in piece.written else f'copied({own[slot]})'}, "
            for slot in piece._leaf_slots])
        t.line(f"f._held = {{{copies}}}")
        t.line(f"f._held_live = {{{live}}}")
    else:
        t.line(f"f._held = f._held_live = {{{live}}}")
        if piece.written:
            before = ", ".join([f"{slot}: c{slot}" for slot in piece.written])
            t.line(f"f._held = {{**f._held, {before}}}")
    if piece.states_needed:
        t.line("f._states = carrier.states")
    if piece.written:
        written = ", ".join([own[slot] for slot in piece.written])
        t.line(f"if last_functions: note_function(f, {written})")


def _givers(direct: Direct) -> dict[Any, Any]:
    """What gives gradients, by the number of the one result that has one, and its dtype, strides
    and ``requires_grad``."""
    piece = direct.piece
    if not piece.adds_all:
        return {}
    found = {}
    for (order, alone, *of_results), known in piece._compiled[1].items():
        there = [(k, *one) for k, one in enumerate(of_results) if one is not None]
        if (order, alone) == (piece._ground.order, piece.all_alone) and len(there) == 1:
            found[there[0]] = _giver(direct, known)
    return {of_result: give for of_result, give in found.items() if give is not None}


def _of_loss(piece: Piece, gives: dict[Any, Any]) -> tuple[Any, np.ndarray] | None:
    """What gives gradients where the result is a loss, and the gradient that it has."""
    schedule, (result,) = piece._compiled[0], piece.chained
    node = schedule.built.forward.outputs[piece.results.index(result)]
    give = None if node.shape else gives.get((0, node.dtype, (), True))
    return None if give is None else (give, np.array(1, node.dtype))


def _giver(direct: Direct, known: Any) -> Any:
    """``give(function, array)`` for one kind of backward: what ``_give_gradients`` does.

    None where more has to be looked at. False, and nothing was done, where that is so in a call.
    """
    piece = direct.piece
    run, backward, places = known
    runner = run.runner
    shown = [k is not None or late.leaf is not None
             for k, late in zip(places, backward.late, strict=True)]
    if backward.shared or not all(shown) or type(runner.scratch) is not Pool:
        return None
    t = _Text("give(f, array)")
    t.names |= {
        "run": run, "runner": runner, "function": runner.function, "new": object.__new__,
        "Variable": Variable, "profiled": OPTIONS.profile, "direct": direct,
        "noting": noting, "all_alone": piece.all_alone, "reforms": _tracing.Reforms,
    }
    t.line("if (f._checking or f.rank or f._local_function_hooks or reforms.last > f.number")
    t.line("        or run.runner is not runner or profiled()):")
    t.line("return False", 2)
    n = len(piece._node_leaves)
    t.line(f"{''.join([f'n{k}, ' for k in range(n)])} = f._leaf_nodes")
    t.line("if (" + " or ".join([
        f"n{k}._grad_var is not None or n{k}._creator_node is not None"
        f" or n{k}._old_style_grad_generator is not None" for k in range(n)
    ]) + "):")
    t.line("return False", 2)
    late = _late(t, piece, backward, places)
    t.line("f._alone = all_alone")
    t.line("values = f._kept.values")
    t.take("scratch", runner.scratch)
    kept = "".join([f"values[{k}], " for k in run._picks])
    t.line(f"made, told = noting(function, {kept}array, {late}scratch, ())")
    t.give("scratch", runner.scratch)
    t.line("if told:")
    t.line("return False", 2)
    for k, (use, requires_grad) in enumerate(
        zip(backward.present, backward.requires_grad, strict=True)
    ):
        node = f"n{_leaf_of(piece, use)}"
        t.line(f"if {node}._requires_grad:")
        t.line(f"{node}._grad_var = g = new(Variable)", 2)
        t.line(f"g._array, g._requires_grad = made[{k}], {requires_grad}", 2)
    t.line("direct.untold += 1")
    t.line("return True")
    return t.function("give")


def _leaf_of(piece: Piece, place: int) -> int:
    """Which of the leaves an input of the node shows."""
    return piece._node_leaves.index(piece.node_inputs[place])


def _late(t: _Text, piece: Piece, backward: Any, places: Sequence[int | None]) -> str:
    """Read what the functions would find now, and compare their forms; the names."""
    names = [f"l{k}" for k in range(len(places))]
    for name, place, late in zip(names, places, backward.late, strict=True):
        if place is not None:
            t.line(f"{name} = n{_leaf_of(piece, place)}._data")
        else:
            held = ".array" if late.leaf in piece.large else ""
            t.line(f"{name} = f._held_live[{late.leaf}]{held}")
        if late.leaf in piece.loose:
            t.names["laid_out"] = laid_out
            t.line(f"if {name} is not None: {name} = laid_out({name}, {piece.loose[late.leaf]})")
    given = "".join([f"{name}, " for name in names])
    fit = looks.layouts() if looks.are_native() else None
    table = None if fit is None else looks.layouts_table(backward.forms)
    if table is not None:
        t.names |= {"fit": fit, "table": table}
        t.line(f"if not fit((table, {given})):")
        t.line("return False", 2)
        return given
    for k, name in enumerate(names):
        t.names[f"form{k}"] = backward.forms[k]
        t.line(f"if {name} is None or ({name}.shape, {name}.dtype, {name}.strides) != form{k}:")
        t.line("return False", 2)
    return given


def _is_small(piece: Piece, k: int) -> bool:
    """Whether a copy of a result is kept."""
    return piece._compiled[0].built.forward.outputs[k].nbytes <= SMALL_RESULT
