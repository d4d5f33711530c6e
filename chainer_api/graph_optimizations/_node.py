"""The node of the graph that stands for functions which one program has computed.

In: the leaves that the program has read, and gradients of its results. Out: gradients of the
leaves, from a program or from the functions of define-by-run, applied again. What may not happen:
a gradient of other values than those that define-by-run's functions would find.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import weakref
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import _tracing
from chainer.function_node import FunctionNode
from chainer.variable import Variable, _make_gradient
from chainwright.runtime import BLOCKS, Kept

from ._account import AROUND_NODE, clock
from ._backward import gradients
from ._device import ARRAYS, address, number_at, on_host
from ._errors import noting, tell
from ._held import Held, held_values, values_of
from ._specs import laid_out
from ._trace import Backward
from ._values import Elsewhere, close, copied, largest

if TYPE_CHECKING:
    from ._levels import Levels
    from ._piece import Piece

_ref = weakref.ref
_new = object.__new__
#: How to run a backward, how it was recorded, and which inputs show what it reads late.
Run = tuple[Any, Backward, tuple[int | None, ...]]
NUMBERS, SIZES = -1, -2  # where the numbers of a piece, and sizes, stand among its leaves
SMALL_RESULT = 4096  # bytes of a result of which a copy is kept
_LOST = (
    "{}: parameters, arguments or results of a compiled call were written into, and then its graph "
    "was wanted in a way that had not come in the calls before (a gradient of another kind, double "
    "backprop, hooks). What was computed is lost then. Go backward before you update, or set "
    "chainer.config.static_check = 'always' around this call.")


def pieces_exist() -> None:
    """Have backward mind programs, from the first one on.

    Once: what is set on a class has whatever is known of it, and of those below it, found anew.
    """
    if not FunctionNode._pieces_exist:
        FunctionNode._pieces_exist = True


class StaticScheduleFunction(FunctionNode):
    """Functions that one program has computed, as a single node of the graph."""

    _is_piece = True
    _kept: Kept | None = None  # with _backwards, of the schedule that has run
    _backwards: Any = {}  # by key: see Piece._publish
    _leaf_nodes: Sequence[Any] = ()  # the inputs, each once
    _levels: Levels
    _rebuilt: Rebuilt | None = None
    _alone: tuple[bool, ...] = ()  # leaves used several times: no gradient has reached them yet
    _checking = False
    _places: Sequence[int] = ()  # the numbers of the functions, if others came between them
    _made: Sequence[Any] = ()  # references to the arrays that the program gave
    _found: Any = None  # gradients that have a graph, while backward hands them on
    _program_may_come = False  # for those
    _why_dissolved = "the graph of its results is wanted"
    _results: Any = None  # of a large piece that is being checked, by slot
    _is_reformed_inside = False  # a result that other functions of the piece have taken is
    _watched: Any = None  # bytes of gradients that somebody waits for, and how to tell of them

    def __init__(self, piece: Piece, leaves: Any, live: Any, states: Any) -> None:
        self._piece, self._states = piece, states
        # By slot: the leaves as they were, and those that a caller may have written into since.
        self._held = held_values(leaves, piece.large)
        self._held_live = self._held if live is leaves else held_values(live, piece.large)
        if _tracing.last_functions:
            others = () if live is leaves else live.values()
            _tracing.note_function(self, *leaves.values(), *others)
        if not FunctionNode._pieces_exist:
            pieces_exist()
        self._small_results: dict[int, bytes] = {}  # by slot; a caller may write into results
        self._retained: dict[int, Any] = {}  # arrays of results, or parts, that functions retain

    @property
    def _adds_inside(self) -> bool:
        """Whether a program may add several gradients of one leaf."""
        return bool(self._piece.same_leaf)

    @property
    def _leaves(self) -> dict[int, Any]:
        return values_of(self._held) if self._piece.large else self._held

    @property
    def _live(self) -> dict[int, Any]:
        return values_of(self._held_live) if self._piece.large else self._held_live

    def _prepare_backward(self, grads: Any, bound: Any) -> None:
        piece, inputs = self._piece, self.inputs
        assert inputs is not None
        # The gradients of several uses of a leaf are added by the program, where no other can
        # come before or between them; what comes before this piece has a lower rank than it.
        places = self._gradient_places(range(len(piece.uses)))
        self._alone = tuple(
            [
                inputs[group[0]] not in grads
                and (last := max([places[k] for k in group]))[:2] < bound
                and -last[0] >= self.rank
                for group in piece.same_leaf
            ]
        )

    @property
    def highest_rank(self) -> int:
        """The highest rank of the functions."""
        assert self.outputs is not None
        return max([node._rank for ref in self.outputs if (node := ref())], default=1) - 1

    @property
    def lowest_rank(self) -> int:
        """The lowest rank of a result."""
        assert self.outputs is not None
        return min([node._rank for ref in self.outputs if (node := ref())], default=1)

    def _gives_gradients(self, targets: Any) -> bool:
        """Whether the inputs ``targets`` are all of those that require a gradient."""
        return max(targets, default=0) < len(self._piece.uses)

    def _gradient_places(self, targets: Any) -> list[Any]:
        levels = self._levels.places
        if self._places:
            number, uses = self._places, self._piece.use_positions
            return [(levels[i][0], -number[uses[i][0]], levels[i][2]) for i in targets]
        below = self.number - 1
        return [(rank, -(below + part), k) for rank, part, k in map(levels.__getitem__, targets)]

    def _number_of(self, k: int) -> float:
        """The number of a function of the piece, as a node of the graph."""
        if self._places:
            return self._places[k]
        return self.number - 1 + self._piece.part_of(k)

    def _is_whole_behind(self, nodes: Any) -> bool:
        """Whether all results that are still there depend on ``nodes``, some of the results.

        Then whoever walks back from these passes all the functions that matter.
        """
        assert self.outputs is not None
        here = {k: node for k, ref in enumerate(self.outputs) if (node := ref()) is not None}
        passed = set[int]().union(*[self._piece.covers[k] for k in here if here[k] in nodes])
        return passed.issuperset(here)

    @property
    def _has_inner_results(self) -> bool:
        """Whether some results are computed from others."""
        return bool(self._piece.inner)

    def _is_reformed(self) -> bool:
        """Whether an input or a result has got an array of another form since.

        Gradients do not fit there, as functions find out.
        """
        number = self.number
        if _tracing.Reforms.last < number:
            return False
        if self._is_reformed_inside:
            return True
        assert self.inputs is not None and self.outputs is not None
        nodes = [*self.inputs, *[y for ref in self.outputs if (y := ref()) is not None]]
        return any([node._reformed > number for node in nodes])

    def _result_is_set(self, node: Any, array: Any) -> None:
        """A result has got another array.

        The node may be gone when that counts: other functions of the piece that have taken the
        result would hold it.
        """
        piece, outputs = self._piece, self.outputs
        assert outputs is not None
        for k in piece.inner:
            if outputs[k]() is node:
                self._retained = {**self._retained, piece.results.index(piece.chained[k]): array}
                self._is_reformed_inside |= node._reformed > self.number

    def _adds_in_between(self, grads: Any) -> bool:
        """Whether gradients of its own might belong before some that results have got.

        Of two the order does not matter.
        """
        piece, outputs = self._piece, self.outputs
        if not piece.inner:
            return False
        assert outputs is not None
        found = [
            piece.chained[k] for k, uses in piece.inner.items()
            if (arrived := grads.get(outputs[k]())) and len(arrived) + uses > 2
        ]
        if found:
            piece.ends_here(found)
        return bool(found)

    def _give_gradients(self, node: Any, gy: Variable) -> bool:
        """Give the leaves their gradients, where backward from ``node`` has nothing else to do.

        False, and nothing was done, if the leaves have gradients already, if there is no program,
        or if it is to be checked.
        """
        piece, outputs = self._piece, self.outputs
        assert outputs is not None
        if self._checking or self.rank or self._local_function_hooks or not piece.adds_all:
            return False
        if self._is_reformed():
            return False
        if not piece.are_untouched(*self._leaf_nodes):
            return False
        gys: tuple[Any, ...] = (gy,)
        if len(outputs) > 1:
            others = [y for ref in outputs if (y := ref()) is not None and y is not node]
            if any([y.grad_var is not None for y in others]):
                return False
            gys = tuple([gy if ref() is node else None for ref in outputs])
        started = piece.backward_meter.starts()
        self._alone = piece.all_alone  # no gradient has reached anything else
        known = self._backwards.get(self._key(gys))
        if known is None:
            return False
        made = self._arrays_by_program(known, gys)
        if made is None:
            return False
        self._hand_out(made, known[1], gys)
        piece.saves(piece.backward_meter.took_since(started))
        return True

    def _hand_out(self, made: Any, backward: Backward, gys: Any) -> None:
        """Let inputs have their gradients."""
        inputs = self.inputs
        assert inputs is not None
        if backward.shared:
            for k, gx in zip(backward.present, _as_gradients(made, backward, gys), strict=True):
                if inputs[k]._requires_grad:
                    inputs[k]._grad_var = gx
            return
        for k, array, requires_grad in zip(
            backward.present, made, backward.requires_grad, strict=True
        ):
            x = inputs[k]
            if x._requires_grad:  # what _make_gradient does, without a call for each
                x._grad_var = gx = _new(Variable)
                gx._array, gx._requires_grad = array, requires_grad

    def _inputs_behind(self, node: Any) -> list[Any]:
        """The inputs that an output depends on."""
        assert self.inputs is not None and self.outputs is not None
        for ref, behind in zip(self.outputs, self._piece.behind, strict=True):
            if ref() is node:
                return [self.inputs[k] for k in behind]
        return list(self.inputs)

    def siblings_of(self, reached: Sequence[bool]) -> list[int]:
        sets = [s for s, r in zip(self._piece.siblings, reached, strict=True) if r]
        return [k for k, r in enumerate(reached) if not r and any(k in s for s in sets)]

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        if self._found is not None:
            found, self._found = self._found, None
            return found
        key = self._key(grad_outputs)
        found = None
        known = self._backwards.get(key)
        piece = self._piece
        if known is not None:
            started = piece.backward_meter.starts()
            found = self._by_program(known, grad_outputs)
            if not _tracing.state.inside:  # else the call has saved it
                piece.saves(piece.backward_meter.took_since(started, AROUND_NODE))
        else:
            piece.wants(key)
        if found is None or self._checking:
            found = self._by_graph(found, grad_outputs)
        return tuple([found[i] if i < len(found) else None for i in target_input_indexes])

    def _goes_on_with_graph(self, targets: tuple[int, ...], gys: Sequence[Any]) -> bool:
        """Whether :meth:`backward` gives gradients with a graph of their own, made by a program."""
        from ._twice import gradients_with_graph  # which makes nodes like this one

        with _tracing.aside():
            found = gradients_with_graph(self, targets, gys)
        self._found = None if found is None else tuple(found)
        return found is not None

    def _key(self, grad_outputs: Any) -> Any:
        """What kind of backward this is."""
        layout = self._piece.layout
        return (
            self._levels.order,
            self._alone,
            *[None if g is None else
              (g._array.dtype, layout(g._array), g._requires_grad) for g in grad_outputs],
        )

    def _by_graph(self, found: Any, grad_outputs: Any) -> Any:
        """The gradients that define-by-run gives; ``found`` are those of a program."""
        piece = self._piece
        if self._results is not None and found is not None:
            if piece.same_bits:
                found = _digests(found)  # both gradients at a time would be too much
            BLOCKS.trim()
            if not self._is_as_it_was():
                # Parameters have been updated since: there is nothing to be compared with.
                key = self._key(grad_outputs)
                return self._by_program(self._backwards[key], grad_outputs)
            self._kept, self._backwards = None, {}
            piece.schedule.trim()
            BLOCKS.is_to_check()
        started, meter = clock(), piece.backward_meter
        rebuilt = self.rebuild()
        # Where a program has given them, it has warned, too.
        with contextlib.nullcontext() if found is None else np.errstate(all="ignore"):
            plain = gradients(
                rebuilt.aliases, rebuilt.outputs, grad_outputs, self._alone, piece.same_leaf,
                meter.took_plainly
            )
        agree = piece.agree
        if found is not None and not piece.same_bits:
            arrays = [None if g is None else g._array for g in plain]
            agree = functools.partial(close, beside=largest(arrays))
        if found is not None and not all([
            _agree_on_gradient(g, p, agree)
            for g, p in zip(self._by_leaf(found), self._by_leaf(plain), strict=True)
        ]):
            piece.account.distrust(piece, "a gradient", piece.apps[0].origin.place)
        if found is not None:
            BLOCKS.has_checked()
        # What a program has not given is what define-by-run would have taken as well.
        seconds = piece.account.spend("check", started + (meter.plain if found is None else 0.0))
        if found is not None:
            piece.check_seconds += seconds
        return plain

    def _by_leaf(self, found: list[Any]) -> list[Any]:
        """Gradients, sums at the first of the uses of their leaf: any place of it would do."""
        moved = list(found)
        for group, alone in zip(self._piece.same_leaf, self._alone, strict=False):
            if alone:
                there = [moved[k] for k in group if moved[k] is not None]
                for k, g in zip(group, [*there, *[None] * len(group)], strict=False):
                    moved[k] = g
        return moved

    def _is_as_it_was(self) -> bool:
        """Whether the functions still give the results that the program has given.

        Their graph is built afterwards, when what the program has kept is gone: both at a time
        would be too much.
        """
        results, self._results, self._checking = self._results, None, False
        leaves, piece = self._leaves, self._piece
        leaves = {**leaves, **{slot: copied(leaves[slot]) for slot in piece.written}}
        with _tracing.aside():
            again = piece.rebuild(leaves, self._states, self.inputs, graph=False)
        return all([piece.agree(again.values[s]._array, array) for s, array in results.items()])

    def _by_program(self, known: Run, grad_outputs: Any) -> Any:
        """The gradients of all uses of leaves; None where the program cannot give them."""
        made, present = self._arrays_by_program(known, grad_outputs), known[1].present
        if made is not None:
            made = _as_gradients(made, known[1], grad_outputs)
        if made is None or len(present) == len(self._piece.uses):
            return made
        found: list[Any] = [None] * len(self._piece.uses)
        for k, gradient in zip(present, made, strict=True):
            found[k] = gradient
        return found

    def _arrays_by_program(self, known: Run, grad_outputs: Any) -> Any:
        """The arrays of the gradients of those that get one; None if the program has none."""
        run, backward, places = known
        inputs = self.inputs
        assert inputs is not None
        arrays = [g._array for g in grad_outputs if g is not None]
        told: tuple[str, ...] = ()
        if self._piece.lays_out:
            arrays = [laid_out(array, None) for array in arrays]
        forms = backward.forms
        if SIZES in self._held:
            forms = backward.forms(self._held[SIZES])
        for place, late, form in zip(places, backward.late, forms, strict=True):
            if place is not None:
                array = inputs[place]._data
            elif late.number is not None:
                piece = self._piece
                number, said = noting(piece.computed[late.number], self._held[NUMBERS])
                told += said
                arrays.append(number_at(piece.gpu, number))
                continue
            else:
                array = self._late(late)
            if array is not None and late.leaf in self._piece.loose:
                array = laid_out(array, form[2])
            if array is None or (array.shape, array.dtype, array.strides) != form:
                return None
            arrays.append(array)
        made, said = noting(self._run, run, backward, tuple(arrays))
        if told or said:
            self._tell(told + said, grad_outputs)
        return made

    def _tell(self, texts: tuple[str, ...], grad_outputs: Any) -> None:
        """Warn of floating-point errors, or raise them, as define-by-run does."""
        piece = self._piece
        try:
            rebuilt = self.rebuild()
        except RuntimeError:  # leaves are others by now: the program's words are all there is
            tell(texts)
            return
        gradients(
            rebuilt.aliases, rebuilt.outputs, grad_outputs, self._alone, piece.same_leaf)

    def _run(self, run: Any, backward: Backward, arrays: tuple[Any, ...]) -> Any:
        assert self._kept is not None
        watched, self._watched = self._watched, None
        if watched is None or self._checking or backward.shared:
            return run(self._kept.values, arrays)
        least, tell = watched

        def tell_of_use(k: int, array: Any) -> None:
            tell(backward.present[k], _make_gradient(array, backward.requires_grad[k]))

        return run.in_parts(self._kept.values, arrays, least, tell_of_use)

    def _late(self, late: Any) -> Any:
        """What a function would find now in an input or output that it has retained."""
        assert self.inputs is not None
        if late.leaf is not None:
            k = self._piece.input_of.get(late.leaf)
            if k is not None and not late.memory:
                return self.inputs[k]._data
            held = self._held_live.get(late.leaf)
            return held.array if type(held) is Held else held
        return self.retained_result(late.output)

    def retained_result(self, number: int) -> Any:
        """What a function would find now in a result that it has retained, by its number."""
        k = self._piece.chained_number.get(number)
        assert self.outputs is not None
        if k is not None and (node := self.outputs[k]()) is not None:
            if (variable := node.get_variable_or_none()) is not None:
                return variable._array
            if node._data is not None:  # what was set on the Variable
                return node._data
        return self._retained.get(number)

    def rebuild(self, at_any_rate: bool = False) -> Rebuilt:
        """The functions of define-by-run, applied again with the same random numbers.

        Where what was there before is not there any more, they are for show, ``at_any_rate``: none
        has data, and backward says why.

        Raises:
            RuntimeError: In that case otherwise.
        """
        if self._rebuilt is None:
            with _tracing.aside():
                rebuilt = self._piece.rebuild(self._leaves, self._states, self.inputs)
            if not (self._piece.has_copies(self._leaves, self._live)
                    or self._leaves_are_as_they_were(rebuilt)):
                why = _LOST.format(self._piece.name)
                if not at_any_rate:
                    raise RuntimeError(why)
                rebuilt.is_lost(why, {*(self.inputs or ())})
                return rebuilt
            self._rebuilt = rebuilt
        self._read_late(self._rebuilt)
        return self._rebuilt

    def _leaves_are_as_they_were(self, rebuilt: Rebuilt) -> bool:
        piece = self._piece
        agree, made = piece.agree, dict(zip(piece.results, self._made, strict=True))
        for slot, inner in zip(piece.chained, rebuilt.outputs, strict=True):
            plain, given = inner._array, self._small_results.get(slot)
            if given is None:
                array = made[slot]()  # the Variable may have got another one
                same = array is None or agree(array, plain)
            else:
                same = agree(np.ndarray(plain.shape, plain.dtype, given), plain)
            if not same:
                return False
        return True

    def _read_late(self, rebuilt: Rebuilt) -> None:
        """Have functions find in what they have retained what they would find now."""
        piece = self._piece
        assert self.inputs is not None
        for slot in piece.retained:
            array = self.inputs[piece.input_of[slot]]._data
            for alias in rebuilt.by_slot[slot] if array is not None else ():
                alias._array = alias.node._data = array
        self._see_what_is_live(rebuilt)
        numbers = piece.retained_outputs
        if self._is_reformed_inside:
            numbers = [*numbers, *[piece.results.index(piece.chained[k]) for k in piece.inner]]
        for k in numbers:
            y = rebuilt.values[piece.results[k]]
            array = self.retained_result(k)
            if array is not None:
                y._array = array
                y.node._update_data_info(array)

    def _see_what_is_live(self, rebuilt: Rebuilt) -> None:
        """Have the functions see the memory of the call, also through views of it.

        They have been applied to copies of the leaves, and have made results of their own.
        """
        there = [(self._leaves[s], a) for s, a in self._live.items() if s >= 0]
        results = zip(self._piece.results, self._made, strict=True)
        made = [(rebuilt.values[s]._array, a) for s, ref in results if (a := ref()) is not None]
        # A result may be part of what a function has retained.
        there += [*made, *[pair for y, a in made if (pair := _whole(y, a)) is not None]]
        elsewhere = Elsewhere(there)
        if not elsewhere.pairs:
            return
        for func in rebuilt.functions:
            nodes = [] if func.inputs is None else [*func.inputs]
            nodes += [node for ref in func.outputs or () if (node := ref()) is not None]
            for node in nodes:
                data = elsewhere.seen(node._data)
                if data is not None:
                    node._data = data
                    variable = node.get_variable_or_none()
                    if variable is not None:
                        variable._array = data
            for name, value in vars(func).items():
                if type(value) in ARRAYS:
                    data = elsewhere.seen(value)
                    if data is not None:
                        func.__dict__[name] = data
                        _tracing.note_function(func, data)
                elif type(value) in (tuple, list) and any(type(v) in ARRAYS for v in value):
                    items = [elsewhere.seen(v) for v in value]
                    func.__dict__[name] = type(value)([
                        v if data is None else data
                        for v, data in zip(value, items, strict=True)])

    def _dissolve(self) -> None:
        """Put the define-by-run graph in the place of this node, for good."""
        if self.inputs is None or self.outputs is None:
            return
        started = clock()
        rebuilt = self.rebuild(at_any_rate=True)
        piece, places = self._piece, {}
        piece.graph_was_wanted()
        if not self._program_may_come:
            piece.was_dissolved(self._why_dissolved)
        for slot, aliases in rebuilt.by_slot.items():
            k = piece.input_of.get(slot)
            for alias in aliases if k is not None else ():
                places[id(alias.node)] = self.inputs[k]
        for inner, ref in zip(rebuilt.outputs, self.outputs, strict=True):
            outer = ref()
            if outer is not None:
                places[id(inner.node)] = outer
                outer._creator_node = inner.node._creator_node
                if outer._data is None and inner.node._data is not None:
                    variable = outer.get_variable_or_none()
                    outer._data = inner.node._data if variable is None else variable._array
        for k, func in enumerate(rebuilt.functions):
            if func.inputs is None:
                continue
            func.inputs = tuple([places.get(id(node), node) for node in func.inputs])
            func.outputs = tuple(
                [_ref(places[id(ref())]) if id(ref()) in places else ref for ref in func.outputs]
            )
            func.number = self._number_of(k)
            func.rank = max([node._rank for node in func.inputs], default=0)
            for ref in func.outputs:
                node = ref()
                if node is not None:
                    node._rank = func.rank + 1
        piece.account.lose(clock() - started + max(piece.backward_meter.gain, 0.0))


def _whole(y: Any, given: Any) -> tuple[Any, Any] | None:
    """What two arrays are parts of, where it is the same part: there, too, one is for the other."""
    a, b = y.base, given.base
    if type(a) not in ARRAYS or type(b) not in ARRAYS:
        return None
    return (a, b) if address(y) - address(a) == address(given) - address(b) else None


def _as_gradients(made: Any, backward: Backward, grad_outputs: Any) -> list[Any]:
    """The Variables of what a program has made: some of them are one."""
    found = list(map(_make_gradient, made, backward.requires_grad))
    if backward.shared:
        given = [g for g in grad_outputs if g is not None]
        for k, same in enumerate(backward.same):
            if same != k:
                found[k] = found[same] if same >= 0 else given[-1 - same]
    return found


def _agree_on_gradient(found: Any, plain: Any, agree: Any) -> bool:
    """Whether a program's gradient (or shape, dtype and digest of a large one) is right."""
    if found is None or plain is None:
        return found is plain
    array = plain._array
    if type(found) is tuple:
        return found == (array.shape, array.dtype, _digest(array))
    return agree(found._array, array)


def _digests(found: list[Any]) -> list[Any]:
    """Shapes, dtypes and digests of gradients, which are let go."""
    made = []
    for k, g in enumerate(found):
        found[k] = None
        made.append(None if g is None else (g._array.shape, g._array.dtype, _digest(g._array)))
    return made


def _digest(array: np.ndarray) -> bytes:
    array = on_host(array)
    if array.dtype.kind == "f" and (nans := np.isnan(array)).any():
        array = np.where(nans, array.dtype.type(np.nan), array)  # any NaN is as good as another
    return hashlib.blake2b(np.ascontiguousarray(array).data.cast("B")).digest()


class Rebuilt:
    """The define-by-run graph of a call of a piece."""

    def __init__(self, aliases: Any, by_slot: Any, values: Any, functions: Any, outputs: Any):
        self.aliases: list[Variable] = aliases
        self.by_slot: dict[int, list[Variable]] = by_slot
        self.values: dict[int, Variable] = values
        self.functions: list[FunctionNode] = functions
        self.outputs: list[Variable] = outputs

    def is_lost(self, why: str, others: Set[Any]) -> None:
        """What the functions have been applied to is something else than in the call.

        ``others`` are nodes that are not theirs alone.
        """

        def backward(*_: Any) -> Any:
            raise RuntimeError(why)

        for func in self.functions:
            func.__dict__.update(backward=backward, backward_accumulate=backward)
            for node in [*(func.inputs or ()), *[ref() for ref in func.outputs or ()]]:
                if node is not None and node not in others:
                    node._data = None
