"""Gradients that are differentiated themselves, by programs.

In: the node of a piece, and gradients of its results, in a backward whose own graph is wanted
(``enable_double_backprop``). Out: gradients of the leaves, and one node in the place of the old
one, which stands for the functions of the piece and for those that have computed the gradients.
What may not happen: another graph than define-by-run's, where gradients of those gradients and of
the results come together in it.

A program computes the piece once more, and the gradients with it: so that nothing has to be kept
for the case that somebody wants this, and both have one backward.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainer import _backprop, _tracing
from chainer.function_node import FunctionNode, next_number
from chainer.variable import Variable, _make_gradient
from chainwright.ir.layout import dense_strides

from ._account import COMPILING, TIMES_TWICE, clock
from ._errors import raising
from ._node import NUMBERS, SMALL_RESULT, StaticScheduleFunction
from ._piece import Piece
from ._random import draw_function, set_generator_state
from ._report import label_of
from ._specs import Spec, laid_out
from ._trace import Differentiation, Untraceable
from ._values import copied, same_bytes

logger = logging.getLogger("chainwright")
_ref = weakref.ref

_KINDS = 8  # of gradients of one piece, for which there may be programs


class TwicePiece(Piece):
    """A piece together with the functions that compute gradients of its results."""

    may_wait = False

    def __init__(self, piece: Piece, app: Differentiation, specs: dict[int, Spec]) -> None:
        self.before, self.app, self._in_vain = piece, app, 0
        super().__init__(
            piece.name, [*piece.apps, app], specs, {*piece.results, *app.output_slots},
            piece.account, piece._names, piece._apart, piece._arrays, piece._same)

    def _first_keys(self, traced: Any) -> None:
        """Expect a loss of the gradients alone, of which there are gradients as usual."""
        app = self.app
        forms = [None] * len(self.before.chained)
        for slot in app.output_slots:
            y = traced._values[slot]
            strides = dense_strides(y.shape, y.dtype.itemsize)
            forms.append((y.dtype, strides, True))
        self.keys[(None, (True,) * len(traced.same_leaf), *forms)] = None

    def inputs_of(self, leaves: dict[int, Any], drawn: Any, numbers: Any) -> tuple[Any, ...]:
        """The program's inputs. What it writes into is a copy: the piece has done so already."""
        draws, found = iter(drawn), []
        for slot, _, number in self.inputs:
            if slot is None:
                found.append(next(draws) if number is None else self.computed[number](numbers))
            elif slot in self.written:
                found.append(copied(leaves[slot]))
            elif slot in self.loose:
                found.append(laid_out(leaves[slot], self.loose[slot]))
            else:
                found.append(leaves[slot])
        return tuple(found)

    def is_to_be_checked(self) -> bool:
        """Whether the functions are to be applied as well, this time."""
        due = self._check_is_due()
        if self._unsettled:
            self._unsettled -= 1
            if not self._unsettled:
                self._trace = None
        return due

    def check(self, node: StaticScheduleFunction, found: Sequence[Variable]) -> None:
        """Compare gradients with those that the functions themselves give."""
        started = clock()
        with _tracing.aside():
            rebuilt = node._rebuilt = self.rebuild(node._leaves, node._states, node.inputs)
        self.forward_meter.took_plainly(clock() - started - self.before.forward_meter.plain)
        node._checking = True
        self.account.ledger.checks += 1
        self.check_seconds = self.account.spend("check", started)
        pairs = zip(self.app.output_slots, found, strict=True)
        wrong = [(g, y) for slot, g in pairs
                 if not self.agree(g._array, (y := rebuilt.values[slot]._array))]
        for g, y in wrong:
            g._array, node._backwards = y, {}
        if wrong:
            self.account.distrust(self, "a gradient", self.apps[0].origin.place)

    def normal_order(self, ranks: tuple[int, ...]) -> Any:
        """Each order of leaves is one of its own: functions of backward have none of ours."""
        return ranks

    def saves(self, seconds: float) -> None:
        """It counts for the next call: none has it among its pieces."""
        self.account.lose(-seconds)

    def ends_here(self, slots: Any) -> None:
        """It goes on behind its results: that is what it is for."""

    def was_dissolved(self, why: str) -> None:
        """As for any piece, but that no method is the worse for it."""
        self._dissolved += 1
        self.dropped = self.dropped or self._is_the_rule(self._dissolved)

    def was_in_vain(self, why: str) -> None:
        """Functions behind it are applied: where that is the rule, programs of a part take longer
        than none."""
        self._in_vain += 1
        if self._is_the_rule(self._in_vain):
            self.dropped = True
            self.before.refuse(why)

    def _refused_all(self, reason: str) -> Untraceable:
        """The functions of the piece itself can be compiled."""
        return Untraceable(self.apps[0], reason)


class Twice:
    """The programs for gradients of one piece that are differentiated, by their kind."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._made: dict[Any, TwicePiece | None] = {}
        self._seen = set[Any]()
        self._lock = threading.RLock()  # as in runtime/trees.py

    def of(self, key: Any) -> TwicePiece | None:
        """The piece for a kind of gradients, if there is one: from the second time on."""
        if key in self._made:
            made = self._made[key]
            return None if made is None or made.dropped else made
        if key not in self._seen:
            if len(self._seen) < _KINDS:
                self._seen.add(key)
            return None
        account = self._piece.account
        weight = TIMES_TWICE * sum([a.weight for a in self._piece.apps])
        # Without the first, the piece itself is in vain.
        if self._made and account.wait_for_twice(weight):
            return None
        with self._lock:  # several threads may take the same gradient
            if key not in self._made:
                self._made[key] = self._compiled(key, weight)
        return self._made[key]

    def corrects(self, factor: float) -> None:
        """Functions take so much of the time that they take where they are applied once more."""
        for piece in self.pieces():
            piece.forward_meter.factor = piece.backward_meter.factor = factor

    def pieces(self) -> list[Piece]:
        """The pieces that have programs, and those behind them."""
        made = [piece for piece in list(self._made.values()) if piece is not None]
        return [one for piece in made for one in piece.with_backward()]

    def may_come(self, key: Any) -> bool:
        """Whether there may be a program later, where there is none now."""
        return key in self._seen and key not in self._made

    def _compiled(self, key: Any, weight: int) -> TwicePiece | None:
        piece, started = self._piece, clock()
        try:
            made = TwicePiece(piece, *_differentiation(piece, *key))
        except Untraceable as e:
            made = None
            logger.debug("%s: no program for a gradient that is differentiated: %s", piece.name, e)
        seconds = clock() - started
        COMPILING.learn(seconds, weight)
        if made is not None:
            place = piece.apps[0].origin.place
            text = f"gradients are differentiated: {label_of(piece.name, made)}"
            piece.account.ledger.add("compile", text, place, seconds)
        return made


def _differentiation(
    piece: Piece, targets: tuple[int, ...], forms: tuple[Any, ...]
) -> tuple[Differentiation, dict[int, Spec]]:
    """Backward as an application behind those of a piece, and the descriptions of all values."""
    specs = dict(piece._specs)
    first = max(specs) + 1
    results, given = [], []
    for slot, form in zip(piece.chained, forms, strict=True):
        if form is not None:
            given.append(first + len(given))
            results.append(slot)
            specs[given[-1]] = Spec(Variable, *form)
    uses = [piece.uses[k] for k in targets]
    outputs = []
    for slot, _ in uses:
        shape, dtype = specs[slot].shape, specs[slot].dtype
        outputs.append(Spec(Variable, shape, dtype, dense_strides(shape, dtype.itemsize), True))
    app = Differentiation(
        piece.apps[0], uses, results, given, first + len(given), outputs)
    specs.update(zip(app.output_slots, outputs, strict=True))
    return app, specs


def gradients_with_graph(
    node: StaticScheduleFunction, targets: tuple[int, ...], gys: Sequence[Any]
) -> list[Any] | None:
    """The gradients of the inputs ``targets`` of a node, and a new node in the place of that one.

    None, and nothing was done, if the functions are to be applied.
    """
    piece = node._piece
    if not _is_ordinary(node, targets):
        return None
    between = _functions_between(gys, node)
    if between:  # the new node would come before itself
        node._why_dissolved = "gradients that are differentiated depend on its results"
        for func in between:
            if isinstance(func, StaticScheduleFunction) and isinstance(func._piece, TwicePiece):
                func._piece.was_in_vain(node._why_dissolved)
        return None
    if node._checking or node._rebuilt is not None:  # the functions have been applied
        node._program_may_come = True
        return None
    forms = tuple([
        None if g is None else (g._array.shape, g._array.dtype, g._array.strides, g._requires_grad)
        for g in gys])
    key = targets, forms
    if piece.twice is None:
        piece.twice = Twice(piece)
    made = piece.twice.of(key)
    if made is None:
        node._program_may_come = piece.twice.may_come(key)
        return None
    return _run(node, made, [g for g in gys if g is not None])


def _is_ordinary(node: StaticScheduleFunction, targets: tuple[int, ...]) -> bool:
    """Whether a node can have such a program at all."""
    piece = node._piece
    if type(piece) not in (Piece, TwicePiece) or piece.gpu is not None or (
            node._local_function_hooks):
        return False
    if node._levels.order is not None or any([k >= len(piece.uses) for k in targets]):
        return False
    slots = [piece.uses[k][0] for k in targets]
    # More than two gradients are added one after the other, as they come.
    return max(map(slots.count, slots), default=3) <= 2


def _run(node: StaticScheduleFunction, made: TwicePiece, gys: list[Any]) -> list[Any] | None:
    started = clock()
    piece, app = node._piece, made.app
    leaves, live = dict(node._leaves), dict(node._live)
    now = _found_now(node, leaves, live)
    if now is None:
        return None
    live.update({slot: now[slot] for slot in live if slot not in piece.written})
    for slot, g in zip(app.inputs, gys, strict=True):
        leaves[slot] = live[slot] = now[slot] = g._array
    nodes = dict(zip(piece._node_leaves, node._leaf_nodes, strict=True))
    nodes.update(zip(app.inputs, [g._node for g in gys], strict=True))
    if not nodes.keys() >= {*made._node_leaves}:
        return None
    numbers = leaves.get(NUMBERS, ())
    drawn = _drawn(piece, node._states) if made.draws else ()
    schedule, backwards = made._compiled
    try:
        arrays = raising(made.inputs_of, now, drawn, numbers)
        results, kept = raising(schedule.forward, arrays)
    except FloatingPointError:
        return None  # the functions tell of it
    values = dict(zip(made.results, results, strict=True))
    if not all([_is_as_given(node, slot, values[slot]) for slot in piece.results]):
        return None
    given = zip(made.inputs, arrays, strict=True)
    if not all([made.agree(a, live[i.slot]) for i, a in given if i.slot in made.written]):
        return None  # written again since: functions that have retained them find that
    new = StaticScheduleFunction(made, leaves, live, node._states)
    if kept is not None:
        new._kept, new._backwards = kept, backwards
    found = [
        _make_gradient(values[slot], requires_grad)
        for slot, requires_grad in zip(app.output_slots, app.requires_grad, strict=True)]
    _put_in_place(new, node, nodes, values, found)
    for slot, array in values.items():
        if slot in node._small_results:
            new._small_results[slot] = node._small_results[slot]
        elif slot in app.output_slots and array.nbytes <= SMALL_RESULT:
            new._small_results[slot] = array.tobytes()
    made.saves(made.forward_meter.took(clock() - started))
    if made.is_to_be_checked():
        made.check(new, found)
    return found


def _functions_between(gys: Sequence[Any], node: StaticScheduleFunction) -> set[FunctionNode]:
    """The functions before some gradients, if these were computed from results of a node."""
    found = set[FunctionNode]()
    for g in gys:
        func = None if g is None else g._node._creator_node
        if func is not None:
            found |= {func, *_backprop._functions_before(func)}
    return found if node in found else set()


def _found_now(
    node: StaticScheduleFunction, leaves: dict[int, Any], live: dict[int, Any]
) -> dict[int, Any] | None:
    """The arrays of the leaves as functions would find them now, also by views of them that they
    have retained; None where these are not what they were in the call.

    Those that the piece itself writes are as they were before.
    """
    piece, found = node._piece, dict(leaves)
    assert node.inputs is not None
    for slot, array in live.items():
        if slot < 0 or slot in piece.written:
            continue
        now = node.inputs[piece.input_of[slot]]._data if slot in piece.retained else array
        if now is not leaves[slot]:
            if now is None or now.strides != leaves[slot].strides or (
                    not same_bytes(now, leaves[slot])):
                return None
            found[slot] = now
    return found


def _is_as_given(node: StaticScheduleFunction, slot: int, array: np.ndarray) -> bool:
    """Whether a result is what the node has given, and what somebody may have written since."""
    piece, known = node._piece, node._small_results.get(slot)
    if known is not None and array.tobytes() != known and not piece.agree(
            array, np.ndarray(array.shape, array.dtype, known)):
        return False
    there = node.retained_result(piece.results.index(slot))
    return there is None or piece.agree(array, there)


def _drawn(piece: Piece, states: Any) -> list[Any]:
    """The random numbers of a call, once more."""
    now, drawn = np.random.get_state(), list[Any]()
    try:
        for app in piece.apps:
            if app.draws:
                set_generator_state(states[app])
                drawn += [np.asarray(draw_function(name)(*args, **kwargs))
                          for name, args, kwargs in app.draws]
    finally:
        np.random.set_state(now)
    return drawn


def _put_in_place(
    new: StaticScheduleFunction, old: StaticScheduleFunction, nodes: dict[int, Any],
    values: dict[int, Any], found: list[Variable],
) -> None:
    """Put a node in the place of an old one, with ``found`` as results of its own."""
    made, piece = new._piece, old._piece
    assert isinstance(made, TwicePiece) and old.outputs is not None
    numbers = [old._number_of(k) for k in range(piece.functions)]
    new._places = [*numbers, *[next_number() for _ in range(made.functions - len(numbers))]]
    new.number = new._places[-1]
    leaf_nodes = tuple([nodes[slot] for slot in made._node_leaves])
    ranks = made._ranks(*leaf_nodes)
    new._levels = levels = made._ground if ranks is None else made.levels(ranks)
    new._leaf_nodes, new.rank = leaf_nodes, levels.highest
    new.inputs = leaf_nodes if made._repeat is None else made._repeat(leaf_nodes)
    for slot in made.retained:
        if nodes[slot]._data is None:
            y = nodes[slot].get_variable_or_none()
            nodes[slot]._data = new._leaves[slot] if y is None else y._array
    refs = dict(zip(piece.chained, old.outputs, strict=True))
    gradients = dict(zip(made.app.output_slots, found, strict=True))
    refs.update({slot: _ref(g._node) for slot, g in gradients.items()})
    for slot, height in zip(made.chained, levels.heights, strict=True):
        below = refs[slot]()
        if below is not None:
            below._creator_node, below._rank = new, height
    new.outputs = tuple([refs[slot] for slot in made.chained])
    arrays = dict(zip(piece.results, old._made, strict=True))
    arrays.update({slot: _ref(g._array) for slot, g in gradients.items()})
    new._made = [arrays[slot] for slot in made.results]
    for k in made.shown:
        new._retained[k] = values[made.results[k]]
    for slot in made.results_in_nodes:
        below = refs[slot]()
        if below is not None and below._data is None:
            below._data = values[slot]
