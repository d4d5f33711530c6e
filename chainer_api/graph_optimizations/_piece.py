"""Programs for pieces of calls.

In: applications that one node of the graph may stand for. Out: a :class:`Piece`, which computes
what somebody holds of them and hangs it on that node (``_node.py``). What may not happen: another
graph than define-by-run's among the Variables that somebody can reach.
"""

from __future__ import annotations

import functools
import logging
import math
import operator
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import _tracing, function_hook
from chainer.function_node import FunctionNode, next_number
from chainer.variable import Variable
from chainwright.ir import Graph
from chainwright.ir.layout import dense_strides
from chainwright.runtime import BLOCKS, Schedule, pass_on
from chainwright.tracer import blank

from ._account import Account, Meter, clock
from ._device import ARRAYS, live_values, number_at, schedule
from ._errors import NO_ROOM, raising
from ._held import LARGE
from ._levels import Levels, ranks_of
from ._node import NUMBERS, SIZES, SMALL_RESULT, Rebuilt, StaticScheduleFunction
from ._random import set_generator_state
from ._specs import Spec, laid_out, usual_layout
from ._trace import Backward, Input, Traced, Untraceable, as_taken, gpu_of_apps, order_of_sums
from ._tree import Application, reads
from ._values import Snapshot, check_is_due, close, copied, same_bytes, same_numbers, shared_copy

if TYPE_CHECKING:
    from ._run import Run

logger = logging.getLogger("chainwright")
_SAID: dict[str, Any] = {"all": "ignore"}
_ref = weakref.ref
_kept = deque[weakref.ref["Piece"]]()  # pieces with traces
_hooks = function_hook._thread_local

# Uses for which the leaves are copied: of a new piece; after a backward of a new kind, of small
# pieces and of large ones.
_NEW, _AFTER_NEW_BACKWARD = 4, (64, 8)
_HEAVY = 0.25  # of the intermediate values: leaves that are too much to have them twice
_LARGE = 8 << 20  # bytes of intermediate values
_FEW = 16384  # bytes of leaves that are copied in each use
_LEVELS = 4096  # uses of leaves for which it is remembered where their functions stand
_KEPT, _SMALL = 8, 256  # traces, for backwards of other kinds: of the last pieces; functions
_OBSERVED = 8  # uses in which no gradients come back, until a program is made for forward alone


class Piece:
    """Applications that one program computes and one node of the graph stands for."""

    is_cut = False  # see ends_here: whether others come in its place, and it runs until then
    #: What of the layout of a gradient a program has to be made for.
    layout: Callable[[Any], Any] = staticmethod(operator.attrgetter("strides"))
    #: Whether programs take gradients laid out anew, whose strides tell how long something else is.
    lays_out = False
    _layout_in_turns = staticmethod(usual_layout)  # one turn's may be a part of those of them all
    twice: Any = None  # programs for gradients that are differentiated themselves
    sizes_of: Callable[[Any, Any], tuple[int, ...]] | None = None  # of a program for any sizes
    programs = 1  # that are compiled to get native code
    # What is known before it is compiled.
    same_bits, agree = True, staticmethod(same_numbers)
    dirty = False  # whether kinds of backward have come that it was not compiled for
    #: Whether programs wait for the first backward; None: unless the account is in a hurry.
    may_wait: bool | None = None

    def __init__(
        self, name: str, apps: Sequence[Application], specs: dict[int, Spec],
        results: Iterable[int], account: Account, names: dict[int, str], apart: bool = False,
        arrays: Set[int] = frozenset(), same: dict[int, int] | None = None,
    ) -> None:
        self._apart, self._arrays, self._same = apart, arrays, same or {}
        self.name, self.apps, self.account, self._names = name, apps, account, names
        self._specs, self.results = specs, sorted(results)
        if account.of_turns:
            self.layout, self.lays_out = self._layout_in_turns, True
        self.keys: dict[Any, None] = {}
        self._refused: set[Any] = set()
        self.forward_meter, self.backward_meter = Meter(), Meter()
        self.uses_since_check = 0
        self.check_seconds = 0.0  # that the last check has taken, and that of its backward
        self.computed: dict[Any, Any] = {}
        self.ends = set[int]()  # see ends_here
        self.doubts = 0  # see distrust
        self._dissolved = 0  # nodes that were replaced by the functions' own
        self.dropped = False
        self.backwards: dict[Any, Backward] = {}
        self._trace: Traced | None = None  # kept while backwards of other kinds are likely
        self.gpu = gpu_of_apps(apps, specs)
        self._is_new = True  # whether the first backward may be waited for
        self._observed = 0  # uses in which the functions were applied meanwhile
        self.traced_in = 0.0  # seconds that were spent before such uses
        self._renewals = self._renewed_at = 0  # how often it was compiled again; the use before
        self.schedule: Any = None
        self._compiled: Any = None
        traced = self._record(self._first_keys)
        self.results, self._arrays = traced.results, traced.arrays
        self.inputs: list[Input] = traced.inputs
        self.written, self.numbers = traced.written, traced.numbers
        #: Uses for which backwards of new kinds are likely.
        self._unsettled = _NEW
        leaves = {i.slot for i in traced.inputs}
        self.read = [
            slot for app in apps for slot in app.arrays.values()
            if slot in leaves and slot not in self.written
        ]
        self.uses = [(use.slot, use.ordinal) for use in traced.uses]
        self.same_leaf = traced.same_leaf
        self.all_alone = (True,) * len(self.same_leaf)
        #: Whether the program may add all gradients of each leaf.
        more = sum([len(group) - 1 for group in self.same_leaf])
        self.adds_all = len(dict(self.uses)) + more == len(self.uses)
        self.chained = traced.chained
        #: The numbers of the results that others are computed from, and how often they are used.
        self.inner = traced.inner_uses()
        self.plain = [s for s in self.results if s not in set(self.chained)]
        #: Which input of the node shows a leaf.
        self.node_inputs = [*[slot for slot, _ in self.uses], *traced.passive]
        self.input_of = {slot: k for k, slot in reversed([*enumerate(self.node_inputs)])}
        self._node_leaves = list(dict.fromkeys(self.node_inputs))
        #: Whether the nodes of these have no creator and no gradient.
        self.are_untouched = _untouched(len(self._node_leaves))
        self._ranks = ranks_of(len(self._node_leaves))
        #: Makes the inputs of the nodes of these, where some stand there several times.
        self._repeat = None
        if len(self._node_leaves) < len(self.node_inputs):
            self._repeat = operator.itemgetter(*map(self._node_leaves.index, self.node_inputs))
        place = {slot: k for k, slot in enumerate(self.chained)}
        self.chained_number = {
            k: place[s] for k, s in enumerate(self.results) if s in place
        }
        self.retained = [s for s in traced.retained if s in self.input_of]
        self.retained_outputs = [
            k for k, s in enumerate(self.results) if traced._values[s].node._data is not None
        ]
        #: Results whose nodes refer to their arrays, as functions have retained them: these find
        #: there what a caller sets.
        self.results_in_nodes = [
            self.results[k] for k in self.retained_outputs if k in self.chained_number]
        #: Arrays that functions have retained, or views of such: a caller may write to them.
        self.shown = sorted({*self.retained_outputs, *traced.shown})
        self.distances, self.use_distances = traced.distances()
        #: Of each use: which function of the piece it is, which input of it, and its part_of.
        self.functions = len(traced.functions)
        self.use_positions = [
            (use.app, use.input, self.part_of(use.app)) for use in traced.uses]
        self.order_matters = traced.leaves_of_order()
        self._takes_arrays = traced.takes_arrays
        self._orders: dict[Any, Any] = {}
        #: Where the ranks of all leaves are 0, and by those that they had.
        self._ground = Levels(self, (0,) * len(self._node_leaves))
        self._levels: dict[Any, Levels] = {}
        self.behind = traced.inputs_behind()
        self.siblings, self.covers = _relatives([traced._values[s] for s in self.chained])
        self.states_needed = any(app.draws for app in apps)
        self._order_of_inputs()
        self._last_uses = _last_uses(apps, self.results, self._same)

    def part_of(self, k: int) -> float:
        """Where a function stands among those of the piece, whose number is that of the last."""
        return (k + 1) / (self.functions + 1)

    def _order_of_inputs(self) -> None:
        slots = [i.slot for i in self.inputs]
        self._leaf_slots = [s for s in slots if s is not None]
        #: Those that may have gaps between their items, which programs do not take.
        known = self.sizes_of is None
        self.loose = {
            s: self._specs[s].strides if known else None for s in self._leaf_slots
            if self._specs[s].loose and s not in self.written}
        arrays = [self._specs[s] for s in self._leaf_slots]
        large = zip(self._leaf_slots, arrays, strict=True)
        self.large = [s for s, a in large if math.prod(a.shape) * a.dtype.itemsize >= LARGE]
        size = sum([math.prod(a.shape) * a.dtype.itemsize for a in arrays])
        self._copies_are_cheap = self.gpu is None and size <= _FEW
        #: Whether to build the graph takes less memory.
        self._copies_are_heavy = (
            self._is_large() and size > _HEAVY * self._intermediate_bytes())
        #: Slots of the inputs, where all of them have one.
        self.slots = None if None in slots else slots
        if self.slots is not None:
            self._read_arrays = _reader(tuple([self.array_text(s, f"values[{s}]") for s in slots]))
        self._read_nodes = _reader(tuple([f"values[{s}]._node" for s in self._node_leaves]))
        #: Whether its inputs are arrays as they are, or drawn ones; none is computed before.
        self.inputs_are_given = self.gpu is None and not self.numbers and all([
            i.number is None for i in self.inputs])
        self._is_simple = (
            self.inputs_are_given and self.slots is not None
            and not (self.written or self.states_needed)
        )
        self._number_inputs()
        self._publish()

    def array_text(self, slot: int, value: str) -> str:
        """An expression for the array of a leaf, as a program takes it, of that for its value."""
        text = value + "._array" * (self._specs[slot].requires_grad is not None)
        return f"laid_out({text}, {self.loose[slot]})" if slot in self.loose else text

    def _publish(self) -> None:
        """From now on calls run what has been compiled."""
        if self.schedule is None:
            return
        runs = self.schedule.backwards
        self._compiled = (
            self.schedule,
            {key: (runs[key], record, self._places_of_late(record))
             for key, record in self.backwards.items()},
        )

    def _places_of_late(self, backward: Backward) -> tuple[int | None, ...]:
        """Which inputs of the node show the leaves that backward reads late."""
        return tuple([
            None if late.leaf is None or late.memory else self.input_of.get(late.leaf)
            for late in backward.late
        ])

    def _number_inputs(self) -> None:
        """Prepare for computing the inputs that depend on numbers, and for those drawn."""
        self.draws = sum([len(app.draws) for app in self.apps])
        late = [late.number for b in self.backwards.values() for late in b.late]
        computed = {*late, *[i.number for i in self.inputs]} - {None}
        # Nodes of earlier compilations need theirs.
        self.computed = {**self.computed, **{c: c.function() for c in computed}}

    def _first_keys(self, traced: Traced) -> None:
        """Expect the one kind of backward that is likely: of the only result, or of the loss."""
        slots, values = traced.chained, traced._values
        if len(slots) > 1 and self._observed:
            return  # none has come
        if len(slots) > 1:
            kinds = {slot: app.kind for app in self.apps for slot in app.output_slots}
            slots = [s for s in slots if not values[s].shape and _has_backward(kinds.get(s))]
        if len(slots) != 1 or not traced.uses or not values[slots[0]].requires_grad:
            return
        y = values[slots[0]]
        form = y.dtype, self.layout(_dense(y)), True
        forms = [form if slot == slots[0] else None for slot in traced.chained]
        key = None, (True,) * len(traced.same_leaf), *forms
        if key not in self._refused:
            self.keys[key] = None

    def _is_to_be_observed(self, traced: Traced) -> bool:
        """Whether the first gradients are to tell which of them are to be computed.

        Of a loss that is known. Else programs would have to be made a second time, which takes as
        long. What is written, though, may be written once only, whatever functions raise.
        """
        results = [traced._values[slot] for slot in traced.chained]
        may_wait = not self.account.hurries() if self.may_wait is None else self.may_wait
        return (
            may_wait and self.gpu is None and not traced.written
            and (len(results) > 1 or any([y.shape for y in results]))
        )

    def _record(self, expect: Any = None) -> Traced:
        """Trace and compile; a fault of ours there is none of the user's program."""
        try:
            return self._recorded(expect)
        except Untraceable:
            raise
        except NO_ROOM as e:
            pass_on(e)
            raise self._refused_all(f"compiling raised {type(e).__name__}: {e}") from e
        except Exception as e:
            pass_on(e)
            place = self.apps[0].origin.place
            self.account.ledger.add("distrusted", (
                f"compiling raised {type(e).__name__}: {e}; this part of the method stays "
                "define-by-run. Please report it"), place)
            logger.debug("%s", self.name, exc_info=True)
            raise self._refused_all(str(e)) from e

    def _refused_all(self, reason: str) -> Untraceable:
        """Nothing of the piece is to be compiled again, whatever it is a part of."""
        for app in self.apps:
            app.eager = app.eager or reason
            app.renew()
        return Untraceable(self.apps[0], reason)

    def _recorded(self, expect: Any) -> Traced:
        started = clock()
        if self._is_new:
            traced = self._trace = self._traced()
            if self._is_to_be_observed(traced):
                self.traced_in = self.account.spend("trace", started)
                self.forward = traced.forward
                return traced
        while (traced := self._with_backwards(expect)) is None:
            expect = None
        self.account.spend("trace", started)
        started = clock()
        self.forward = traced.forward
        graphs = {key: backward.graph for key, backward in self.backwards.items()}
        self.schedule = self._schedule(traced.forward, graphs)
        weight, made, account = self.weight, self.schedule, self.account
        made.on_native = functools.partial(account.went_native, weight)
        since = account.in_method, account.calls
        if self.programs > 1:  # that takes so long that programs, backward too, are to take as long
            weight, since = weight // 3, (-math.inf, account.calls)
        made.native_pays = functools.partial(account.native_pays, weight, *since)
        self.same_bits = made.exact and made.repeatable
        self.agree = same_numbers if self.same_bits else close
        self.account.spend("compile", started)
        self.dirty = False
        return traced

    def _with_backwards(self, expect: Any) -> Traced | None:
        """A trace with all kinds of backward; None after one has failed, which is left out then."""
        known, self.backwards = self.backwards if self._trace is not None else {}, {}
        traced, self._trace = self._trace or self._traced(), None
        if expect is not None:
            expect(traced)
        for key in list(self.keys):
            try:
                self.backwards[key] = known[key] if key in known else traced.backward(key)
            except Exception as e:  # zeros are no good values for it, or it looks at values
                pass_on(e)
                if traced.numbers or self.sizes_of is not None:
                    app = self.apps[traced.numbers[0][0] if traced.numbers else 0]
                    raise Untraceable(app, str(e)) from e
                del self.keys[key]
                self._refused.add(key)
                self.dropped = True  # through the graph, backward takes longer than define-by-run
                self.account.ledger.add("define-by-run", f"{e}", self.apps[0].origin.place)
                return None
        if len(traced.chained) > 1 and self.programs * len(self.apps) <= _SMALL:
            self._trace = traced
            _kept.append(weakref.ref(self))
            if len(_kept) > _KEPT and (oldest := _kept.popleft()()) is not None:
                oldest._trace = None
        return traced

    def _traced(self) -> Traced:
        return Traced(
            self.name, self.apps, self._specs, self.results, self._names, self._apart,
            self._arrays, self._same)

    def _schedule(self, forward: Graph, backwards: Any) -> Schedule:
        try:
            return schedule(forward, backwards, self.name, self.gpu, self.account.exact)
        except Exception as e:
            if self.gpu is None:
                raise
            # What it says (kernels that do not compile, functions that CuPy lacks) holds for
            # all of the piece.
            logger.warning("%s stays define-by-run on the GPU: %s", self.name, e)
            self.account.ledger.add("define-by-run", str(e), self.apps[0].origin.place)
            raise self._refused_all(str(e)) from e

    def levels(self, ranks: tuple[int, ...]) -> Levels:
        """What follows from the ranks of the leaves."""
        found = self._levels.get(ranks)
        if found is None:
            by = min([rank for rank in ranks if rank]) - 1 - self.functions
            if by > 0:
                found = self.levels(tuple([rank and rank - by for rank in ranks])).moved(by)
            else:
                found = Levels(self, ranks)
            if len(self._levels) * len(self.uses) > _LEVELS:
                # Of a state that goes on from batch to batch, ranks grow in each call.
                self._levels = {}
            self._levels[ranks] = found
        return found

    def normal_order(self, ranks: tuple[int, ...]) -> Any:
        """The first ranks of leaves with which gradients are added up in the same order."""
        known = self._orders.get(ranks)
        if known is None:
            low = 0 if self._takes_arrays else min(ranks)
            slots = dict(zip(self.order_matters, [r - low for r in ranks], strict=True))
            signature = order_of_sums(self.apps, slots)
            known = self._orders.setdefault(("order", signature), ranks)
            if len(self._orders) < 1024:
                self._orders[ranks] = known
        return known

    def wants(self, key: Any) -> None:
        """A backward has come that the node has no program for."""
        if key in self.keys:  # a check has let go of it, or it is being compiled
            if self.dirty:
                self._unsettled = max(self._unsettled, _NEW)
            return
        if self.keys:
            self.graph_was_wanted()
        if key not in self._refused and len(self.keys) < 8:
            self.keys[key] = None
            self._is_to_be_compiled()

    @property
    def weight(self) -> int:
        """How many small functions its programs are worth."""
        return self.programs * sum([app.weight for app in self.apps])

    def _is_to_be_compiled(self) -> None:
        """Before the next call."""
        self.dirty = True
        self.account.new_backwards.append(self)

    def may_be_renewed(self) -> bool:
        """Whether to compile for kinds of backward that have come: later each time.

        Where they come one by one, one compilation is for several of them.
        """
        uses = self.uses_since_check - self._renewed_at
        return self._renewals < 1 or uses >= 4**self._renewals or self.account.hurries()

    def graph_was_wanted(self) -> None:
        """It may be wanted again, and come late, when parameters have been updated."""
        self._unsettled = max(self._unsettled, _AFTER_NEW_BACKWARD[self._is_large()])

    def was_dissolved(self, why: str) -> None:
        """The graph behind a node was wanted: where that is the rule, a program is in vain."""
        if self.inner:
            if not self.ends:
                self.ends_here([self.chained[k] for k in self.inner])
            return
        self._dissolved += 1
        if self._is_the_rule(self._dissolved):
            self.refuse(why)

    def _is_the_rule(self, times: int) -> bool:
        """Whether what has happened so often is what happens to most uses."""
        return times >= max(4, self.uses_since_check // 2)

    def refuse(self, why: str) -> None:
        """Let the functions be define-by-run from now on."""
        self.dropped = True  # proofs rest on it, too
        self._refused_all(why)
        self.account.ledger.add("define-by-run", why, self.apps[0].origin.place)

    def saves(self, seconds: float) -> None:
        """So much has been saved in a backward; a call counts on it already."""
        self.account.ledger.saved += seconds

    def ends_here(self, slots: Iterable[int]) -> None:
        """No piece is to go on behind these results: what somebody does with them needs that."""
        self.ends.update(slots)
        self.dropped = not self.is_cut
        self.account.coarse_pieces.append(self)

    def with_backward(self) -> list[Piece]:
        """It, and those in which gradients of its results are differentiated."""
        return [self] if self.twice is None else [self, *self.twice.pieces()]

    def renew(self) -> None:
        """Compile, again mostly, with the kinds of backward that have come."""
        was_new, self._is_new = self._is_new, False
        if not was_new:
            self._renewals, self._renewed_at = self._renewals + 1, self.uses_since_check
        self._record(None if self.keys else self._first_keys)
        if was_new and self.account.hurries():  # nobody has seen yet what is usual
            self.graph_was_wanted()
        self._number_inputs()
        self._publish()

    def _intermediate_bytes(self) -> int:
        if self.schedule is None:
            return 0
        return self.schedule.program.intermediate_bytes

    def _is_large(self) -> bool:
        return self._intermediate_bytes() > _LARGE

    def has_copies(self, leaves: Any, live: Any) -> bool:
        """Whether what may have been written meanwhile is there as it was."""
        return all([leaves[s] is not live[s] for s in self._leaf_slots])

    # -- running

    @property
    def counts(self) -> tuple[int, int]:
        """What has been counted of its uses: a use that does not count sets it back."""
        return self.uses_since_check, self._unsettled

    @counts.setter
    def counts(self, counts: tuple[int, int]) -> None:
        self.uses_since_check, self._unsettled = counts

    def arrays(self, values: Any, drawn: Any, numbers: tuple[Any, ...]) -> tuple[Any, ...]:
        """The program's inputs: of ``values``, by slot, of random draws, and of numbers."""
        if self.slots is not None:
            return self._read_arrays(values)
        draws = iter(drawn)
        leaves = [
            values[s] if s is not None else
            np.asarray(next(draws)) if number is None
            else number_at(self.gpu, self.computed[number](numbers))
            for s, _, number in self.inputs
        ]
        arrays = [v if type(v) in ARRAYS else v._array for v in leaves]
        return tuple([
            laid_out(a, self.loose[i.slot]) if i.slot in self.loose else a
            for i, a in zip(self.inputs, arrays, strict=True)])

    def run(self, run: Run, drawn: list[Any], places: list[int]) -> None:
        """Compute, and hang the results on a node.

        ``places`` are the numbers that the functions would have got in the graph, where others may
        have come between them.
        """
        compiled = self._compiled
        due = compiled is not None and self._check_is_due()
        if compiled is not None and self._is_simple and not due and not self._unsettled:
            self._run_simply(run, places)
            return
        started = clock()
        values = run.values
        numbers: tuple[Any, ...] = ()
        if self.numbers:
            numbers = tuple([run.number(self.apps[k], name) for k, name in self.numbers])
        arrays = (  # numbers may be too large for the dtype that they are to have
            raising(self.arrays, values, drawn, numbers) if self.computed
            else self.arrays(values, drawn, numbers))
        given = arrays
        if self.gpu is not None and run.guards:
            pairs = zip(self.inputs, arrays, strict=True)
            arrays = tuple([
                run.guards[i.slot][1].array
                if i.slot in run.guards and i.slot not in self.written
                else a for i, a in pairs])
        if self.slots is not None:
            leaves = dict(zip(self.slots, arrays, strict=True))
        else:
            pairs = zip(self.inputs, arrays, strict=True)
            leaves = {i.slot: a for i, a in pairs if i.slot is not None}
        if self.numbers:
            leaves[NUMBERS] = numbers
        sizes: tuple[int, ...] = ()
        if self.sizes_of is not None:
            leaves[SIZES] = sizes = self.sizes_of(values, run.sizes)
        if self.loose:
            leaves.update(self._as_they_are(values))
        live = leaves
        if self.gpu is not None and run.guards:  # what backward reads late are the caller's own
            live = {s: run.guards[s][0] if s in run.guards else a for s, a in leaves.items()}
        if compiled is None:
            self._observe(run, leaves, places)
            return
        graph = not (due and self._is_large())
        keeps_copies = self._copies_are_cheap
        if self._unsettled:
            # A backward of a kind that no program is there for may come, and come late, when
            # parameters have been updated: the graph is built now, or from what they were.
            self._unsettled -= 1
            if not self._unsettled:
                self._trace = None
            graph = keeps_copies = True
            due = due or self._copies_are_heavy
        if keeps_copies and self.chained and not (due and graph):
            leaves = {s: self._copied(s, a) if s >= 0 else a for s, a in leaves.items()}
        elif self.written:  # building the graph again changes a copy
            leaves = {**leaves, **{slot: copied(leaves[slot]) for slot in self.written}}
        # Both of one compilation: another thread may be renewing this piece.
        schedule, backwards = compiled
        made, kept = raising(schedule.forward, (*sizes, *arrays))
        for slot in self.written if run.guards else ():
            if slot in run.guards:  # what comes after it finds what it has written
                run.guards[slot] = run.guards[slot][0], Snapshot(run.guards[slot][0])
        if kept is not None and given is not arrays:
            kept.values = live_values(schedule.kept_arguments, kept.values, arrays, given)
        kept = None if kept is None else (kept, backwards)
        node = self._deliver(run, made, kept, leaves, live, places)
        del kept
        self.forward_meter.took(clock() - started)
        run.pieces.append(self)
        if due:
            self._check(run, node, leaves, made, graph)

    def _observe(self, run: Run, leaves: dict[int, Any], places: list[int]) -> None:
        """Apply the functions: nobody knows yet which gradients are to be computed."""
        self._observed += 1
        if self._observed == _OBSERVED:
            self._is_to_be_compiled()
        nodes = self._read_nodes(run.values)
        inputs = nodes if self._repeat is None else self._repeat(nodes)
        with _tracing.aside():
            rebuilt = raising(self.rebuild, leaves, run.states, inputs, True, {})
        made = [rebuilt.values[slot]._array for slot in self.results]
        node = self._deliver(run, made, None, leaves, leaves, places)
        if node is not None:
            node._rebuilt = rebuilt
        run.pieces.append(self)

    def _as_they_are(self, values: Any) -> dict[int, Any]:
        """The arrays that programs take a copy of: functions find in them what is there then."""
        found = {slot: values[slot] for slot in self.loose}
        return {s: v if type(v) in ARRAYS else v._array for s, v in found.items()}

    def _copied(self, slot: int, leaf: Any) -> Any:
        """A copy; of what is large, calls that find it as it was share one."""
        if slot in self.large and slot not in self.written and type(leaf) is np.ndarray:
            return shared_copy(leaf)
        return copied(leaf)

    def _run_simply(self, run: Any, places: list[int]) -> None:
        """The same, where nothing is to be checked, drawn, computed before, or written."""
        started = self.forward_meter.starts()
        values = run.values
        inputs = arrays = self._read_arrays(values)
        if self.sizes_of is not None:
            sizes = self.sizes_of(values, run.sizes)
            inputs = (*sizes, *arrays)
        schedule, backwards = self._compiled
        made, kept = raising(schedule.forward, inputs)
        for slot, array in zip(self.results, made, strict=True):
            values[slot]._array = array
        if self.chained:
            live = dict(zip(self._leaf_slots, arrays, strict=True))
            if self.loose:
                live.update(self._as_they_are(values))
            copies = self._copies_are_cheap
            leaves = {s: copied(a) for s, a in live.items()} if copies else live
            if self.sizes_of is not None:
                leaves[SIZES] = live[SIZES] = sizes
            node = StaticScheduleFunction(self, leaves, live, None)
            if kept is not None:
                node._kept, node._backwards = kept, backwards
            for slot, array in zip(self.results, made, strict=True):
                if array.nbytes <= SMALL_RESULT:
                    node._small_results[slot] = array.tobytes()
            self._place(node, values, made, places)
        self.forward_meter.took_since(started)
        run.pieces.append(self)

    def _place(self, node: StaticScheduleFunction, values: Any, made: Any, places: Any) -> None:
        """Put a node in the graph."""
        node._made = [_ref(array) for array in made]
        node._places = places
        node.number = places[-1] if places else next_number()
        self._attach(node, values)
        for k in self.shown:
            node._retained[k] = made[k]
        for slot in self.results_in_nodes:
            y = values[slot]
            y._node._data = y._array

    def _deliver(
        self, run: Run, made: Any, kept: Any, leaves: Any, live: Any, places: list[int]
    ) -> StaticScheduleFunction | None:
        """Give the results to the Variables, and hang them on a node, which is returned."""
        values, states = run.values, run.states
        for slot, array in zip(self.results, made, strict=True):
            values[slot]._array = array
        if not self.chained:
            return None
        node = StaticScheduleFunction(self, leaves, live, states if self.states_needed else None)
        if kept is not None:
            node._kept, node._backwards = kept
        if self.gpu is None:  # else it would mean to wait
            node._small_results = {
                slot: array.tobytes() for slot, array in zip(self.results, made, strict=True)
                if array.nbytes <= SMALL_RESULT}
        self._place(node, values, made, places)
        return node

    def _attach(self, node: StaticScheduleFunction, values: Any) -> None:
        """``FunctionNode._connect`` with the Variables that were handed out."""
        nodes = self._read_nodes(values)
        ranks = self._ranks(*nodes)
        levels = self._ground if ranks is None else self.levels(ranks)
        node.inputs = nodes if self._repeat is None else self._repeat(nodes)
        node._leaf_nodes, node._levels, node.rank = nodes, levels, levels.highest
        for slot in self.retained:
            x = values[slot]
            x._node._data = x._array
        heights = levels.heights
        if len(heights) == 1:  # a loss, mostly
            below = values[self.chained[0]]._node
            below._creator_node, below._rank = node, heights[0]
            node.outputs = (_ref(below),)
            return
        outputs = []
        for slot, height in zip(self.chained, heights, strict=True):
            below = values[slot]._node
            below._creator_node, below._rank = node, height
            outputs.append(_ref(below))
        node.outputs = tuple(outputs)

    # -- checks

    def _check_is_due(self) -> bool:
        self.uses_since_check = uses = self.uses_since_check + 1
        return check_is_due(uses) and (
            uses == 1 or self.account.affords_check(self.check_seconds))

    def _check(
        self, run: Run, node: StaticScheduleFunction | None, leaves: dict[int, Any], made: Any,
        graph: bool,
    ) -> None:
        """Compare what the program has computed with what the functions themselves give.

        ``node`` stands for it in the graph, if anything does.

        Two sets of intermediate values at a time are too much, where they are large: either the
        ``graph`` is built later again, or that of the program is let go.
        """
        started = clock()
        nodes = None if node is None else node.inputs
        if self._is_large():
            if node is not None and graph:
                node._kept, node._backwards = None, {}
            self.schedule.trim()
            BLOCKS.is_to_check()
        # The program takes these for arrays that are only read. The functions get them themselves:
        # what is written into them before backward counts there.
        before = {slot: copied(leaves[slot]) for slot in self.read}
        if node is not None and not graph:  # which is built from what was there before
            leaves = {**leaves, **{slot: copied(leaves[slot]) for slot in self.written}}
        with _tracing.aside():
            rebuilt = self.rebuild(leaves, run.states, nodes, graph=graph)
        self.forward_meter.took_plainly(clock() - started)
        wrong = []
        for slot, array in zip(self.results, made, strict=True):
            plain = rebuilt.values[slot]._array
            if not self.agree(array, plain):
                wrong.append(slot)
                run.values[slot]._array = plain
        # Where several threads call the method, others write to the same statistics.
        shared = self.account.is_shared
        for slot in self.written if not shared else ():
            array = run.values[slot]
            if not self.agree(array, leaves[slot]):
                wrong.append(slot)
                array[...] = leaves[slot]
        if not shared:
            wrong += [slot for slot in self.read if not same_bytes(before[slot], leaves[slot])]
        if node is not None:
            node._checking = True
            if graph:
                node._rebuilt = rebuilt
            else:
                node._results = dict(zip(self.results, made, strict=True))
        BLOCKS.has_checked()
        self.account.ledger.checks += 1
        self.check_seconds = self.account.spend("check", started)
        run.checking += self.check_seconds
        if wrong and node is not None:
            node._backwards = {}
        if not wrong:
            self.doubts = 0
        elif not (shared and self.states_needed):  # others draw from the same generator
            app = next((a for a in self.apps if wrong[0] in a.output_slots), self.apps[-1])
            self.account.distrust(self, f"the result of {app.label}", app.origin.place)

    def rebuild(
        self, leaves: dict[int, Any], states: Any, nodes: Any, graph: bool = True,
        errors: dict[str, Any] = _SAID,
    ) -> Rebuilt:
        """Apply the functions to the leaves of a call, with the random numbers of that call.

        Without a ``graph`` there are only the results in the end. ``errors`` is what
        :func:`numpy.errstate` takes: mostly the program has warned.
        """
        values: dict[int, Any] = {}
        by_slot: dict[int, list[Variable]] = {}
        functions, same = [], self._same
        others = {} if graph else {"enable_backprop": False}
        now = np.random.get_state() if states else None

        def array(slot: int) -> Any:
            slot = same.get(slot, slot)
            return values[slot]._array if slot in values else leaves[slot]

        hooks, _hooks.function_hooks = _hooks.function_hooks, None  # they see each function once
        try:
            with np.errstate(**errors):
                for k, app in enumerate(self.apps):
                    if app.is_backward:
                        functions += self._differentiated(
                            app, values, by_slot, leaves, nodes, functions)
                        continue
                    func = app.with_arrays(array, leaves.get(SIZES, ()))
                    numbers = leaves.get(NUMBERS, ())
                    for (j, name), number in zip(self.numbers, numbers, strict=True):
                        if j == k:
                            func.__dict__[name] = number
                    xs = [self._alias(s, values, by_slot, leaves, nodes) for s in app.inputs]
                    if states and app in states:
                        set_generator_state(states[app])
                    outputs = app.settings.call(func._apply, tuple(xs), **others)
                    values.update(zip(app.output_slots, outputs, strict=True))
                    if graph:
                        functions.append(func)
                    # What functions have not retained goes, as with define-by-run.
                    del func, xs, outputs
                    for slot in self._last_uses[k]:
                        values.pop(slot, None)
        finally:
            _hooks.function_hooks = hooks
            if now is not None:
                np.random.set_state(now)
        if not graph:
            return Rebuilt([], {}, values, [], [])
        aliases = [by_slot[slot][k] for slot, k in self.uses]
        outputs = [values[s] for s in self.chained]
        return Rebuilt(aliases, by_slot, values, functions, outputs)

    def _differentiated(
        self, app: Any, values: Any, by_slot: Any, leaves: Any, nodes: Any, functions: Any
    ) -> list[FunctionNode]:
        """Apply a backward through the functions before it; gives those that it applies."""
        given = []
        for slot in app.inputs:
            given.append(self._new_alias(slot, leaves, nodes))
        found, made = app.apply(
            by_slot, values, given, functions,
            lambda slot, k, i: self._alias(slot, {}, by_slot, leaves, nodes))
        values.update(zip(app.output_slots, found, strict=True))
        return made

    def _alias(self, slot: int, values: Any, by_slot: Any, leaves: Any, nodes: Any) -> Any:
        value = values.get(slot)
        if value is not None:
            return value
        spec = self._specs[slot]
        if slot in self._same:
            return as_taken(values[self._same[slot]]._array, spec)
        if spec.requires_grad is None:
            return leaves[slot]
        alias = self._new_alias(slot, leaves, nodes)
        by_slot.setdefault(slot, []).append(alias)
        return alias

    def _new_alias(self, slot: int, leaves: Any, nodes: Any) -> Variable:
        """A Variable that stands for a leaf."""
        k = self.input_of.get(slot) if nodes is not None else None
        alias = Variable(leaves[slot], requires_grad=self._specs[slot].requires_grad)
        if k is not None:
            alias.node._rank = nodes[k]._rank
            alias.node.name = nodes[k].name
        return alias


@functools.lru_cache(256)
def _reader(items: tuple[str, ...]) -> Any:
    """A function of values that gives some of them, or their attributes."""
    text = "".join([f"{item}, " for item in items])
    return eval(f"lambda values: ({text})", {"laid_out": laid_out})


@functools.lru_cache(64)
def _untouched(n: int) -> Any:
    """A function of nodes that tells whether all are leaves without a gradient."""
    names = [f"x{k}" for k in range(n)]
    tests = [
        f"{x}._grad_var is None and {x}._creator_node is None and "
        f"{x}._old_style_grad_generator is None" for x in names
    ]
    return eval(f"lambda {', '.join(names)}: {' and '.join(tests) or True}")


def _last_uses(
    apps: Sequence[Application], results: Iterable[int], same: dict[int, int]
) -> list[set[int]]:
    """After each application: the slots of values that are not needed any more."""
    last: dict[int, int] = {}
    for k, app in enumerate(apps):
        for slot in (*reads(app), *app.output_slots):
            last[same.get(slot, slot)] = k
    found: list[set[int]] = [set() for _ in apps]
    for slot, k in last.items():
        if slot not in set(results):
            found[k].add(slot)
    return found




def _has_backward(kind: type | None) -> bool:
    """Whether functions of a class may have gradients: that of an accuracy has none."""
    base, names = FunctionNode, ("backward", "backward_accumulate")
    return kind is not None and any([getattr(kind, n, None) is not getattr(base, n) for n in names])


def _dense(y: Variable) -> Any:
    """An array of this shape and dtype without gaps; it takes no memory."""
    return blank(y.shape, y.dtype, dense_strides(y.shape, y.dtype.itemsize))


def _relatives(outputs: Sequence[Variable]) -> tuple[list[frozenset[int]], ...]:
    """Which other outputs a walk from each of them to the leaves has to do with.

    First its siblings, whose set gradients a backward from it takes along if none reaches them:
    outputs of functions that it passes, as far as no such function uses them. Second all outputs
    of the functions that it passes.
    """
    siblings, covers = [], []
    for y in outputs:
        passed, stack = {}, [y.creator_node]
        while stack:
            func = stack.pop()
            if func is not None and id(func) not in passed and func.inputs is not None:
                passed[id(func)] = func
                stack += [node._creator_node for node in func.inputs]
        used = {id(node) for func in passed.values() for node in func.inputs or ()}
        made = {id(ref()) for func in passed.values() for ref in func.outputs or ()}
        covers.append(frozenset(k for k, x in enumerate(outputs) if id(x.node) in made))
        siblings.append(frozenset(k for k in covers[-1] if id(outputs[k].node) not in used))
    return siblings, covers
