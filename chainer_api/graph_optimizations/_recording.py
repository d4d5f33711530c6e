"""What is left of a traced call: enough to replay it, and to rebuild its define-by-run graph.

In: a finished :class:`Session` and the method's result. Out: a :class:`Recording`: the forward
graph, what the result is made of, and which Variables the call's node has as inputs.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from chainer.function_node import FunctionNode
from chainer.link import Link
from chainer.variable import Parameter, Variable
from chainwright.ir import Graph, Node
from chainwright.tracer import unwatch

from ._arguments import rebuild
from ._host import OpaqueForward, RandomAfter, StaticCall, nodes_in, renewed
from ._random import PLAIN_DRAWS, set_generator_state
from ._session import Application, Fetch, Session, Use


class Out(NamedTuple):
    """A Variable or array that the call makes: output ``index`` of the graph.

    ``kind`` is 'chained' (an output of the call's node), 'plain' (a Variable without history) or
    'array'.
    """

    kind: str
    index: int
    name: str | None = None
    requires_grad: bool = True


class Given(NamedTuple):
    """The caller's own argument ``index``, or the known object ``value``."""

    index: int | None
    value: Any = None


class Writing(NamedTuple):
    """An attribute that the call sets."""

    own: dict[str, Any]
    name: str
    spec: Any


class Results:
    """What the call makes, with the graph's outputs numbered."""

    def __init__(self, session: Session, result: Any, arguments: Sequence[Any]) -> None:
        self._session = session
        self._arguments = {id(a): i for i, a in enumerate(arguments)}
        self._made: dict[int, tuple[Any, Any]] = {}
        self.arrays: list[np.ndarray] = []
        self.chained: list[Variable] = []
        self.chained_indexes: list[int] = []
        self.structure = rebuild(result, self._spec, self._plain)
        self.writings = [
            Writing(vars(link), name, rebuild(vars(link)[name], self._spec, self._plain))
            for link, name in session.written.values()
            if name in vars(link)
        ]
        self.reports = [
            (rebuild(report.values, self._spec), report.observer) for report in session.reports
        ]

    def _plain(self, value: Any) -> Any:
        """Whatever else the call gives must be the same object each time."""
        if not isinstance(value, _SAME_EACH_TIME):
            self._session.escape(f"the call makes a {type(value).__name__}, which is no array")
        return value

    def _spec(self, value: Any) -> Out | Given:
        value = unwatch(value)
        if id(value) not in self._made:
            self._made[id(value)] = (value, self._describe(value))
        return self._made[id(value)][1]

    def _describe(self, value: Any) -> Out | Given:
        if not isinstance(value, Variable):
            if id(value) in self._arguments:
                return Given(self._arguments[id(value)])
            return Out("array", self._number(value))
        if isinstance(value, Parameter):
            return Given(None, value)
        leaf = self._session.leaf_of(value)
        if leaf is not None:
            return Given(leaf.place) if leaf.kind == "argument" else Given(None, leaf.outer)
        if value.creator_node is None:
            return Out("plain", self._number(value._array), value.name, value.requires_grad)
        if not self._session.made_here(value):
            return Given(None, value)
        self.chained.append(value)
        self.chained_indexes.append(self._number(value._array))
        return Out("chained", self.chained_indexes[-1], value.name)

    def _number(self, array: np.ndarray) -> int:
        self.arrays.append(unwatch(array))
        return len(self.arrays) - 1


class Source(NamedTuple):
    """Where an applied function's input comes from when the graph is rebuilt.

    ``kind`` is 'use' (of a leaf), 'output' (of an earlier function) or 'array' (of a node).
    """

    kind: str
    index: int = 0
    output: int = 0
    node: Node | None = None


class Applied(NamedTuple):
    """A function of the call as it was before it ran, and where its inputs come from."""

    application: Application | RandomAfter
    inputs: tuple[Source, ...]


class Rebuilt(NamedTuple):
    """The define-by-run graph of a call."""

    aliases: Sequence[Variable]
    outputs: Sequence[Variable]
    functions: Sequence[FunctionNode]
    arrays: dict[Node, Any]
    same_leaf: Sequence[Sequence[int]]  # aliases that stand for one Variable


class Recording:
    """A traced call, ready for replay."""

    def __init__(self, session: Session, results: Results) -> None:
        rec = session.recorder
        outputs = tuple(rec.node_of(a) for a in results.arrays)
        rec.pending_writes()
        self.name = session.name
        self.argument_indexes = tuple(session.argument_nodes)
        self.fetches: list[Fetch] = session.all_fetches()
        inputs = (*session.argument_nodes.values(), *[f.node for f in self.fetches])
        self.uses = reached_uses(session, results.chained)
        self.same_leaf = same_leaves(self.uses)
        self._applied, self._extras = _applied(session, self.uses, inputs)
        if not results.chained:  # nobody can ask for the graph
            self._extras = []
        outputs = (*outputs, *self._extras)
        self.forward = Graph(inputs, tuple(rec.nodes), outputs, name=session.name)
        self.written = tuple(n.inputs[0] for n in rec.nodes if n.op == "write")
        self.draws = session.draws.any
        called = [n.attr("fn") for n in rec.nodes if n.op == "host"]
        called = [fn for fn in called if isinstance(fn, (OpaqueForward, StaticCall))]
        self.calls_back = bool(called)
        self.static_calls = [fn.label for fn in called if isinstance(fn, StaticCall)]
        for fn in called if self.draws else ():
            fn.keeps_random = True
        names = {n.attr("fn") for n in rec.nodes if n.op == "random"}
        self.draws_plainly = names <= PLAIN_DRAWS and not called
        self._recorder = rec.constants_only()
        self._outputs = tuple(_where_made(session, v) for v in results.chained)

    def rebuild(self, arrays: Sequence[Any], extras: Sequence[Any]) -> Rebuilt:
        """Apply the functions of the call again, to the inputs of a later call.

        ``extras`` are what that call gave besides its results: arrays that no function made.
        """
        env: dict[Node, Any] = dict(zip(self.forward.inputs, arrays, strict=True))
        env.update(zip(self._extras, extras, strict=True))
        aliases = [use.renewed(env) for use in self.uses]
        made: list[tuple[Variable, ...]] = []
        functions = []
        for application, sources in self._applied:
            if isinstance(application, RandomAfter):
                set_generator_state(env.get(application.node))
                made.append(())
                continue
            inputs = tuple(_input(source, aliases, made, env) for source in sources)
            if application.token is not None:
                token = env[application.token]
                func, outputs = token.again(inputs)
                set_generator_state(token.random)
            else:
                func = renewed(
                    application.template, application.given, functools.partial(env_value, env)
                )
                outputs = func.apply(inputs)
            for node, y in zip(application.output_nodes, outputs, strict=True):
                env[node] = y._array
            for (name, *indexes), node in application.left:
                env[node] = functools.reduce(operator.getitem, indexes, getattr(func, name))
            made.append(outputs)
            functions.append(func)
        outputs = [made[i][k] for i, k in self._outputs]
        return Rebuilt(aliases, outputs, functions, env, self.same_leaf)

    def extended(self, fetches: Sequence[Fetch]) -> Recording:
        """The recording with further arrays to fetch, which only a backward needs."""
        known = set(self.forward.inputs)
        new = [f for f in fetches if f.node not in known]
        if not new:
            return self
        made = copy.copy(self)
        made.fetches = [*self.fetches, *new]
        graph = self.forward
        inputs = (*graph.inputs, *[f.node for f in new])
        made.forward = Graph(inputs, graph.nodes, graph.outputs, name=graph.name)
        return made

    def renewed_session(self, rebuilt: Rebuilt) -> Session:
        """A session that knows the arrays of a rebuilt graph as this recording's nodes."""
        session = Session(self.name)
        session.recorder.adopt_all(self._recorder)
        session.rebuilt = True
        for node, array in rebuilt.arrays.items():
            if isinstance(array, np.ndarray):
                session.recorder.adopt(array, node)
        applied = [a for a, _ in self._applied if isinstance(a, Application)]
        for func, application in zip(rebuilt.functions, applied, strict=True):
            if application.token is not None:
                session.opaque.adopt(func, application.token)
        return session


_SAME_EACH_TIME = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type,
    np.generic,
    np.dtype,
    FunctionType,
    Link,
)


class Unreplayable(Exception):
    """The recording lacks what a replay would need; the text says what."""


def _input(source: Source, aliases: Any, made: Any, env: dict[Node, Any]) -> Any:
    if source.kind == "use":
        return aliases[source.index]
    if source.kind == "output":
        return made[source.index][source.output]
    assert source.node is not None
    return env_value(env, source.node)


def env_value(env: dict[Node, Any], node: Node) -> Any:
    """The array of a node while a graph is rebuilt."""
    return env[node] if node in env else node.attr("box").value


def _where_made(session: Session, value: Variable) -> tuple[int, int]:
    for i, application in enumerate(session.applications):
        if isinstance(application, RandomAfter):
            continue
        for k, output in enumerate(application.outputs):
            if output.node is value.node:
                return i, k
    raise Unreplayable("a result was made by no function of the call")


def _applied(
    session: Session, uses: Sequence[Use], inputs: Sequence[Node]
) -> tuple[tuple[Applied, ...], list[Node]]:
    """The functions of the call, and the nodes of the arrays that no function of it made."""
    use_index = {id(use.alias.node): k for k, use in enumerate(uses)}
    made: dict[int, tuple[int, int]] = {}
    known, missing, applied = set(inputs), [], []
    for i, application in enumerate(session.applications):
        if isinstance(application, RandomAfter):
            applied.append(Applied(application, ()))
            missing += [application.node] if session.draws.any else []
            continue
        sources = []
        nodes = nodes_in(application.given)
        if application.token is not None:
            nodes.append(application.token)
        for x, node in zip(application.inputs, application.input_nodes, strict=True):
            if id(x.node) in use_index:
                sources.append(Source("use", index=use_index[id(x.node)]))
            elif id(x.node) in made:
                index, output = made[id(x.node)]
                sources.append(Source("output", index=index, output=output))
            else:
                sources.append(Source("array", node=node))
                nodes.append(node)
        applied.append(Applied(application, tuple(sources)))
        for node in nodes:
            if node not in known and node.op != "constant":
                missing.append(node)
                known.add(node)
        made.update({id(y.node): (i, k) for k, y in enumerate(application.outputs)})
        known.update(application.output_nodes)
        known.update(node for _, node in application.left)
    return tuple(applied), missing


def functions_before(outputs: Sequence[Variable]) -> list[FunctionNode]:
    """All functions that Variables were computed by."""
    found: dict[int, FunctionNode] = {}
    stack = [y.creator_node for y in outputs]
    while stack:
        func = stack.pop()
        if func is None or id(func) in found or func.inputs is None:
            continue
        found[id(func)] = func
        stack += [node.creator_node for node in func.inputs]
    return list(found.values())


def reached_uses(session: Session, outputs: Sequence[Variable]) -> tuple[Use, ...]:
    """The uses of leaves on which the outputs depend."""
    reached = {id(node) for func in functions_before(outputs) for node in func.inputs}
    return tuple(use for use in session.uses if id(use.alias.node) in reached)


def siblings(outputs: Sequence[Variable]) -> list[frozenset[int]]:
    """Whose set gradients a backward from each output takes along, if none reaches them.

    These are outputs of functions that it passes, as far as no such function uses them.
    """
    found = []
    for y in outputs:
        passed = functions_before([y])
        used = {id(node) for func in passed for node in func.inputs or ()}
        made = {id(ref()) for func in passed for ref in func.outputs or ()} - used
        found.append(frozenset(k for k, other in enumerate(outputs) if id(other.node) in made))
    return found


def same_leaves(uses: Sequence[Use]) -> list[list[int]]:
    """Which uses are of one leaf, where there are several."""
    groups: dict[int, list[int]] = {}
    for k, use in enumerate(uses):
        groups.setdefault(id(use.leaf.outer), []).append(k)
    return [slots for slots in groups.values() if len(slots) > 1]


def make_results(structure: Any, given: Sequence[Any], make: Callable[[Out], Any]) -> Any:
    """The caller's result from its description."""

    def put(value: Any) -> Any:
        kind = type(value)
        if kind is Out:
            return make(value)
        if kind is Given:
            return value.value if value.index is None else given[value.index]
        if kind is tuple or kind is list:
            return kind([put(v) for v in value])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return kind(*[put(v) for v in value])
        if kind is dict:
            return {k: put(v) for k, v in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            made = copy.copy(value)
            for field in dataclasses.fields(value):
                object.__setattr__(made, field.name, put(getattr(value, field.name)))
            return made
        return value

    return put(structure)
