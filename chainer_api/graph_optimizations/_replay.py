"""Calls of a compiled method: the function node that stands for one, and its replay.

The first call and every replay look alike from outside: the Variables that come in (parameters
and state included) are inputs of one node, what goes out are its outputs, and gradients flow
through :meth:`StaticScheduleFunction.backward`.
"""

from __future__ import annotations

import functools
import itertools
import random
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

import chainer
from chainer import _backprop, configuration
from chainer.function_node import FunctionNode
from chainer.variable import Variable, VariableNode, _make_gradient, _make_output
from chainwright.ir import Graph
from chainwright.runtime import Kept, Key, Ledger, Prologue, Schedule
from chainwright.tracer import Escape

from ._arguments import is_object
from ._host import Changed
from ._random import generator_bytes, generator_state, set_generator_state
from ._reads import Read
from ._recording import (
    Out,
    Rebuilt,
    Recording,
    Results,
    functions_before,
    make_results,
    reached_uses,
    same_leaves,
    siblings,
)
from ._session import Fetch, Session, Use

_WAITING = 3  # calls without a backward until one is no longer waited for


class StaticScheduleFunction(FunctionNode):
    """One call of a static chain: all of its functions as a single node of the graph."""

    trusted_gradients = True
    _arrival: tuple[int, ...] = (0,)  # of gradients at the outputs, in order
    _alone: tuple[bool, ...] = ()  # leaves used several times: no gradient has reached them yet
    _same_leaf: Sequence[Sequence[int]] = ()
    _siblings: Sequence[frozenset[int]] = ()  # of each output; see siblings()
    _rebuilt: Rebuilt | None = None
    _kept: Kept  # with _backwards, the programs of the schedule that has run
    _backwards: Any = {}
    _session: Session | None = None

    _extras: Sequence[Any] = ()

    def __init__(self, entry: Entry, arrays: Sequence[Any], random_state: Any = None) -> None:
        self._entry, self._arrays, self._random_state = entry, arrays, random_state
        self._recording = entry.recording
        if entry.recording is not None:
            self._same_leaf = entry.recording.same_leaf

    def attach(self, inputs: Any, arrays: Sequence[Any], ranks: Sequence[int]) -> Any:
        """Link the node to its inputs; returns its outputs, ``ranks`` above the inputs."""
        outputs = self._connect(inputs, arrays, True)
        for y, above in zip(outputs, ranks, strict=True):
            y._node._rank = self.rank + above
        return outputs

    @property
    def all_inputs(self) -> tuple[int, ...]:
        """The indexes of the inputs, all of which require gradients."""
        assert self.inputs is not None
        return self._entry.all_inputs or tuple(range(len(self.inputs)))

    def siblings_of(self, reached: Sequence[bool]) -> list[int]:
        """The outputs whose set gradients count where backward has reached some."""
        sets = [s for s, r in zip(self._siblings, reached, strict=True) if r]
        return [k for k, r in enumerate(reached) if not r and any(k in s for s in sets)]

    def prepare_alone(self, node: VariableNode) -> None:
        """Like :meth:`prepare`, where backward begins at the output ``node`` and ends here."""
        assert self.inputs is not None and self.outputs is not None
        if self._same_leaf or len(self.outputs) > 1:
            held = {x: None for x in self.inputs if x._grad_var is not None}
            self.prepare({node: None, **held})

    def prepare(self, grads: dict[VariableNode, Any]) -> None:
        """Note what decides the order in which gradients are added."""
        assert self.inputs is not None and self.outputs is not None
        if len(self.outputs) > 1:
            index = {ref(): k for k, ref in enumerate(self.outputs)}
            self._arrival = tuple([index[node] for node in grads if node in index])
        if self._same_leaf:
            self._alone = tuple([self.inputs[s[0]] not in grads for s in self._same_leaf])

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        if configuration.peek("enable_backprop"):
            return self._differentiable(target_input_indexes, grad_outputs)
        key = (
            self._arrival,
            self._alone,
            *[None if g is None else (g._array.dtype, g._array.strides) for g in grad_outputs],
        )
        run = self._backwards.get(key)
        if run is None:
            grads = self._through_graph(key, grad_outputs)
        else:
            try:
                arrays = run(
                    self._kept.values, tuple([g._array for g in grad_outputs if g is not None])
                )
            except Changed as change:
                del self._backwards[key]
                self._entry.refuse_backward(key, Escape(str(change), ""))
                return self.backward(target_input_indexes, grad_outputs)
            targets = self._entry.targets[key]
            if targets == target_input_indexes:
                return tuple([_make_gradient(array) for array in arrays])
            grads = [None] * len(self._entry.present[key])
            for array, k in zip(arrays, targets, strict=True):
                grads[k] = _make_gradient(array)
        return tuple([grads[i] for i in target_input_indexes])

    def _through_graph(self, key: Any, grad_outputs: tuple[Any, ...]) -> list[Any]:
        """Gradients by define-by-run, recorded if this kind of backward is new."""
        entry, rebuilt = self._entry, self._graph()
        session = self._session
        if session is None and self._recording is entry.recording and entry.learns(key):
            session = self._recording.renewed_session(rebuilt)
        if session is None or not session.recorder.live or key in entry.backwards:
            return _gradients(rebuilt, grad_outputs, self._arrival, self._alone)
        started = time.perf_counter()
        recorder = session.recorder
        first = len(recorder.nodes)
        inner: list[Any] = [None] * len(grad_outputs)
        nodes = []
        for k, g in enumerate(grad_outputs):
            if g is not None:
                view = g._array.view()
                nodes.append(recorder.input(view, f"gy{k}", "gradient"))
                inner[k] = Variable(view, requires_grad=False)
        with session.active():
            grads = _gradients(rebuilt, tuple(inner), self._arrival, self._alone)
            outputs = tuple(recorder.node_of(g._array) for g in grads if g is not None)
        if recorder.live:
            graph = Graph(
                tuple(nodes),
                tuple(recorder.nodes[first:]),
                outputs,
                name=f"{session.name} backward",
            )
            present = tuple(g is not None for g in grads)
            entry.add_backward(key, graph, present, session, time.perf_counter() - started)
        elif self._session is not None:
            entry.give_up(recorder.escaped)
        else:
            entry.refuse_backward(key, recorder.escaped)
        return grads

    def _graph(self) -> Rebuilt:
        if self._rebuilt is None:
            self._rebuilt = rebuild(
                self._recording, self._arrays, self._extras, self._random_state
            )
            self._entry.ledger.add(
                "recomputed", "the define-by-run graph of a replayed call was asked for"
            )
        return self._rebuilt

    def _differentiable(self, indexes: tuple[int, ...], grad_outputs: Any) -> tuple[Any, ...]:
        """Gradients that can be differentiated again: through the define-by-run graph."""
        grads = _gradients(self._graph(), grad_outputs, self._arrival, self._alone)
        self.dissolve([g for g in grads if g is not None])
        return tuple(grads[i] for i in indexes)

    def dissolve(self, others: Sequence[Variable] = ()) -> None:
        """Put the define-by-run graph in the place of this node, for good.

        ``others`` are Variables that were computed from it and stay.
        """
        rebuilt = self._graph()
        assert self.inputs is not None and self.outputs is not None
        places = {
            id(alias.node): outer for alias, outer in zip(rebuilt.aliases, self.inputs, strict=True)
        }
        for inner, outer in zip(rebuilt.outputs, self.outputs, strict=True):
            node = outer()
            if node is not None:
                places[id(inner.node)] = node
                node._creator_node = inner.creator_node
        for alias in (*rebuilt.aliases, *rebuilt.outputs):
            outer = places.get(id(alias.node))
            if outer is not None and outer._data is None:
                outer._data = alias.node._data
        for func in functions_before([*rebuilt.outputs, *others]):
            func.inputs = tuple(places.get(id(node), node) for node in func.inputs)
            func.outputs = tuple(
                weakref.ref(places[id(ref())]) if id(ref()) in places else ref
                for ref in func.outputs
            )

    def expand_for_graph(self) -> list[VariableNode]:
        """The output nodes, made by the functions that this node has stood for."""
        self.dissolve()
        assert self.outputs is not None
        return [node for ref in self.outputs if (node := ref()) is not None]


def rebuild(
    recording: Recording, arrays: Sequence[Any], extras: Sequence[Any], random_state: Any
) -> Rebuilt:
    """The define-by-run graph of an earlier call, with that call's random numbers.

    Arrays that the call has updated (running statistics) keep their present values.
    """
    positions = {n: k for k, n in enumerate(recording.forward.inputs)}
    held = [(arrays[positions[n]], arrays[positions[n]].copy()) for n in recording.written]
    now = np.random.get_state()
    try:
        set_generator_state(random_state)
        with configuration.using_config("enable_backprop", True):
            return recording.rebuild(arrays, extras)
    finally:
        np.random.set_state(now)
        for array, before in held:
            array[...] = before


class _Port(FunctionNode):
    """Stands for what uses an output outside of the call."""

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        return grad_outputs


def _port(y: Variable) -> Variable:
    """A Variable whose gradient reaches ``y`` when that of a function outside would.

    So backward takes the functions in the order of define-by-run, as far as the rank of what uses
    ``y`` outside is the one that ``y`` gives it.
    """
    return _Port()._connect((y,), (y._array,), True)[0]


def _gradients(
    rebuilt: Rebuilt,
    grad_outputs: tuple[Any, ...],
    arrival: Sequence[int],
    alone: Sequence[bool],
) -> list[Any]:
    """The gradients of the uses of leaves.

    Those of several uses of one leaf are put in the order in which backward has made them, so that
    they are added in the same order as without the call's node; where they are the first that
    the leaf gets (``alone``), they are added here.
    """
    aliases = [alias.node for alias in rebuilt.aliases]
    outputs = [rebuilt.outputs[k] for k in arrival]
    if not outputs:
        return [None] * len(aliases)
    if len(rebuilt.outputs) > 1:
        outputs = [_port(y) for y in outputs]
    start = [y.node for y in outputs]
    grads = {node: [grad_outputs[k]] for node, k in zip(start, arrival, strict=True)}
    wanted = _backprop._nodes_between(start, aliases)
    results = _backprop._backward_between(grads, start, wanted, aliases, False)
    found = dict(zip(aliases, results, strict=True))
    order = {node: k for k, node in enumerate(grads)}
    for slots, first in zip(rebuilt.same_leaf, alone, strict=True):
        made = sorted((aliases[k] for k in slots), key=lambda n: order.get(n, len(order)))
        parts = [found[node] for node in made]
        if first:
            present = [g for g in parts if g is not None]
            parts = [functools.reduce(_add, present)] if present else []
        for k, g in itertools.zip_longest(slots, parts):
            results[k] = g
    return results


def _add(a: Variable, b: Variable) -> Variable:
    return a + b


class Entry:
    """What is known about calls with one cache key and one state of what Python read.

    Either a recording with its schedule, or the reason why such calls stay define-by-run.
    """

    def __init__(self, ledger: Ledger, key: Key, args: Any, kwargs: Any) -> None:
        self.ledger, self.key = ledger, key
        self.prologue = Prologue(is_object)
        self.check: Any = None
        #: Whether the arguments are nothing but Variables and arrays, in their order.
        self.simple = not kwargs and all(type(a) in (Variable, np.ndarray) for a in args)
        self._args = args if self.simple else ()
        self.reason: str | None = None
        self.all_inputs: tuple[int, ...] = ()
        self.recording: Recording | None = None
        self._reads: list[Read] = []
        self._states: list[Any] = []
        self.schedule: Schedule | None = None
        self.backwards: dict[Any, Graph] = {}
        self.present: dict[Any, tuple[bool, ...]] = {}
        self.targets: dict[Any, tuple[int, ...]] = {}
        self._waited = 0
        self._refused: set[Any] = set()

    def saw(self, session: Session) -> None:
        """Take over what Python read in the trace."""
        self._reads, self._states = session.reads.all(), list(session.states)

    def record(self, session: Session, results: Results) -> None:
        """Keep what a finished trace has recorded."""
        self.recording = recording = Recording(session, results)
        self._guard(recording.fetches)
        self._results = results
        self._indexes = recording.argument_indexes
        self._chained = tuple(results.chained_indexes)
        self._inputs = tuple(_fetcher(use) for use in recording.uses)
        self.all_inputs = tuple(range(len(recording.uses)))
        places = [u.leaf.place for u in recording.uses if u.leaf.kind == "parameter"]
        self._siblings = siblings(results.chained)
        self._fixed = places if len(places) == len(recording.uses) else None
        self._draws = recording.draws
        self._random_state = generator_state if recording.draws_plainly else np.random.get_state
        self._calls_back = recording.calls_back
        self._ranks = ranks_above(recording.uses, results)
        one = results.structure
        self._single = (
            type(one) is Out
            and one.kind == "chained"
            and len(self._chained) == 1
            and not results.writings
            and not results.reports
        )

    def _guard(self, fetches: Sequence[Fetch]) -> None:
        """Generate the checks of what the trace read, and the fetching of its arrays."""
        self.prologue = prologue = Prologue(is_object)
        if self.simple:
            prologue.arguments(self._args, "._array", "._requires_grad")
        for read in self._reads:
            if read.how == "absent":
                prologue.absent(read.text, read.owner, read.key)
                continue
            expression = prologue.expression(read.how, read.owner, read.key)
            prologue.expect(read.text, expression, read.value, read.image)
        for own, name, value in self._states:
            expression = prologue.expression("item", own, name)
            text = f"{name}.requires_grad"
            prologue.expect(text, f"{expression}.requires_grad", value.requires_grad)
        for fetch in fetches:
            source = fetch.source
            expression = prologue.expression(source.how, source.owner, source.key) + fetch.suffix
            prologue.fetch(source.text, expression, fetch.array)
        self.check = prologue.build()

    def enter(self, args: Any, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
        """The arrays to replay with, or None if these calls are not of this entry's kind."""
        if self.simple:
            return self.check(args)
        fetched = self.check(())
        if fetched is None or self.recording is None:
            return fetched
        given = [leaves[i] for i in self._indexes]
        return (*[x if type(x) is np.ndarray else x._array for x in given], *fetched)

    def give_up(self, escape: Any) -> None:
        """Calls like this one stay define-by-run."""
        if self.check is None:
            self._guard(())
        self.reason = f"{escape.reason}" if escape else "the trace was incomplete"
        where = escape.where if escape else ""
        self.schedule = None
        self.ledger.add("define-by-run", self.reason, where)

    def learns(self, key: Any) -> bool:
        """Whether this kind of backward is to be recorded when it comes."""
        return key not in self.backwards and key not in self._refused

    def refuse_backward(self, key: Any, escape: Any) -> None:
        """This kind of backward goes through the define-by-run graph each time."""
        self._refused.add(key)
        self.ledger.add("define-by-run", f"in backward: {escape.reason}", escape.where)

    def add_backward(
        self, key: Any, graph: Graph, present: tuple[bool, ...], session: Session, seconds: float
    ) -> None:
        """A kind of backward has been recorded: schedules from now on have it."""
        assert self.recording is not None
        extended = self.recording.extended(session.all_fetches())
        if extended is not self.recording:
            self.recording = extended
            self._guard(extended.fetches)
        self.backwards[key] = graph
        self.present[key] = present
        self.targets[key] = tuple(k for k, p in enumerate(present) if p)
        self.schedule = None  # made anew, with what this backward needs
        self.ledger.add("backward trace", "a backward with these gradients is new", "", seconds)

    def ready(self) -> bool:
        """Whether the call can be replayed now; compiles on the first occasion."""
        if self.schedule is not None:
            return True
        if self.reason is not None or self.recording is None:
            return False
        if self.recording.uses and not self.backwards and self._waited < _WAITING:
            self._waited += 1
            return False
        self.schedule = Schedule(self.recording.forward, self.backwards, self.recording.name)
        self.ledger.add("compile", "first replay", "", self.schedule.seconds)
        return True

    def replay(self, leaves: Sequence[Any], arrays: tuple[Any, ...]) -> Any:
        """Run the schedule and give the caller what the method would have given."""
        schedule = self.schedule
        state = self._random_state() if self._draws else None
        inputs = self._fixed
        if inputs is None:
            inputs = [get(leaves) for get in self._inputs]
        if self._calls_back:
            made, kept = self._run_with_calls(arrays, state)
        else:
            made, kept = schedule.forward(arrays)  # type: ignore[union-attr]
        if self._single:
            node = self._node(arrays, kept, state)
            if len(made) > 1:
                node._extras, made = made[1:], made[:1]
            return node.attach(inputs, made, self._ranks)[0]
        outputs = [made[k] for k in self._chained]
        chained = {}
        if outputs:
            node = self._node(arrays, kept, state)
            node._extras = made[len(self._results.arrays) :]
            ys = node.attach(inputs, outputs, self._ranks)
            chained = dict(zip(self._chained, ys, strict=True))
        return deliver(self._results, leaves, made, chained)

    def _run_with_calls(self, arrays: tuple[Any, ...], state: Any) -> Any:
        """Run the schedule; if a function that it calls whole has changed, undo its draws.

        Raises:
            Changed: The caller is to run the method itself.
            RuntimeError: It cannot, since the effects of ``static_code`` would come twice.
        """
        assert self.schedule is not None and self.recording is not None
        before, python_state = generator_bytes(), random.getstate()
        try:
            return self.schedule.forward(arrays)
        except Changed as change:
            obstacles = self.recording.static_calls
            if state is None and generator_bytes() != before:
                obstacles = ["random numbers that were drawn"]
            if obstacles:
                raise RuntimeError(
                    f"{self.recording.name}: {change}. The call cannot be repeated "
                    f"define-by-run, because of {obstacles[0]}: keep shapes and dtypes, or "
                    "decorate a smaller method"
                ) from change
            set_generator_state(state)
            random.setstate(python_state)
            self.give_up(Escape(str(change), ""))
            raise

    def _node(self, arrays: Any, kept: Kept | None, state: Any) -> StaticScheduleFunction:
        node = StaticScheduleFunction(self, arrays, state)
        node._siblings = self._siblings
        if kept is not None:
            assert self.schedule is not None
            node._kept, node._backwards = kept, self.schedule.backwards
        return node


def deliver(results: Results, leaves: Sequence[Any], made: Any, chained: dict[int, Any]) -> Any:
    """Set the attributes, report the values, and return the result of a call."""

    def make(spec: Out) -> Any:
        if spec.kind == "array":
            return made[spec.index]
        if spec.kind == "chained":
            y = chained[spec.index]
        else:
            y = plain.get(spec.index)
            if y is None:
                y = plain[spec.index] = _make_output(made[spec.index], spec.requires_grad)
        if spec.name is not None:
            y.name = spec.name
        return y

    plain: dict[int, Any] = {}
    result = make_results(results.structure, leaves, make)
    for own, name, spec in results.writings:
        own[name] = make_results(spec, leaves, make)
    for spec, observer in results.reports:
        chainer.report(make_results(spec, leaves, make), observer)
    return result


def _fetcher(use: Use) -> Any:
    place = use.leaf.place
    if use.leaf.kind == "argument":
        return lambda leaves: leaves[place]
    if use.leaf.kind == "state":
        own, name = place
        return lambda leaves: own[name]
    return lambda leaves: place


def first_call(session: Session, entry: Entry, results: Results, leaves: Sequence[Any]) -> Any:
    """Connect the traced call to the caller's graph, as one node."""
    uses = reached_uses(session, results.chained)
    arrays = results.arrays
    chained = {}
    if results.chained:
        node = StaticScheduleFunction(entry, ())
        node._siblings = siblings(results.chained)
        aliases = [use.alias for use in uses]
        node._rebuilt = Rebuilt(
            aliases, results.chained, session.functions(), {}, same_leaves(uses)
        )
        node._session, node._same_leaf = session, node._rebuilt.same_leaf
        ys = node.attach(
            [use.leaf.outer for use in uses],
            [arrays[k] for k in results.chained_indexes],
            ranks_above(uses, results),
        )
        chained = dict(zip(results.chained_indexes, ys, strict=True))
    quiet = results if not results.reports else _without_reports(results)
    return deliver(quiet, leaves, arrays, chained)


def ranks_above(uses: Sequence[Use], results: Results) -> tuple[int, ...]:
    """How far each output stands above the inputs: backward then keeps its order elsewhere."""
    inputs = max([use.alias.rank for use in uses], default=0)
    return tuple(max(y.rank - inputs, 1) for y in results.chained)


def _without_reports(results: Results) -> Any:
    """The first call has reported already."""
    quiet = object.__new__(Results)
    quiet.structure, quiet.writings, quiet.reports = results.structure, results.writings, []
    return quiet
