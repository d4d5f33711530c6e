"""One traced call: define-by-run runs as always, and everything it does is written down.

In: a chain, its undecorated method and the arguments. Out: the method's result on *inner*
Variables (detached from the caller's graph), and a recording: the graph of array operations, what
Python read, the functions applied. What may not happen: a result other than define-by-run's.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from chainer import configuration, function, function_node
from chainer._tracing import state
from chainer.link import Link
from chainer.variable import Parameter, Variable
from chainwright import tracer
from chainwright.ir import Node, Origin
from chainwright.tracer import RecArray, Recorder, Source, unwatch, unwrap, user_location

from . import _patches
from ._arguments import rebuild
from ._host import RandomAfter, Slot, holder
from ._opaque import Opaque
from ._random import Draws
from ._reads import Reads


class Leaf(NamedTuple):
    """A Variable from outside that the call uses.

    ``kind`` is 'argument', 'state' (an attribute of a link), 'parameter', or 'outside'; ``place``
    is the argument's index, the attribute's (dictionary, name), or the parameter.
    """

    outer: Variable
    kind: str
    place: Any
    node: Node | None


class Use(NamedTuple):
    """One use of a leaf by a function: an alias of its own, so that each use has its gradient."""

    alias: Variable
    leaf: Leaf

    def renewed(self, arrays: dict[Node, Any]) -> Variable:
        """The alias for another call."""
        assert self.leaf.node is not None
        made = Variable(arrays[self.leaf.node], name=self.alias.name)
        made.node._rank = self.alias.rank
        return made


Path = tuple[Any, ...]  # an attribute's name, then indexes


class Application(NamedTuple):
    """A function as it was before it ran, its inputs, and the arrays it gave.

    ``given`` are the attributes with recorded arrays it was made with (see
    :meth:`Session.given`), ``left`` names those that forward left on it.
    """

    template: function_node.FunctionNode
    inputs: tuple[Variable, ...]
    input_nodes: tuple[Node, ...]
    outputs: tuple[Variable, ...]
    output_nodes: tuple[Node, ...]
    given: tuple[tuple[str, Any], ...]
    left: tuple[tuple[Path, Node], ...]
    token: Node | None


class Fetch(NamedTuple):
    """An array that each replay fetches: ``path`` are the attributes to follow from the source."""

    node: Node
    source: Source
    suffix: str
    array: np.ndarray


class _Bridge(function_node.FunctionNode):
    """Carries gradients of an alias on to the Variable that it stands for, inside of the call."""

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        return grad_outputs


def _bridge(alias: Variable, given: Variable, user: function_node.FunctionNode, k: int) -> None:
    """Let ``chainer.grad`` inside of the call reach ``given``, right after the function.

    The bridges of its inputs come in their order.
    """
    func = _Bridge()
    func.inputs, func.outputs = (given.node,), (weakref.ref(alias.node),)
    func.rank, func.number = user.rank, user.number - 0.5 - k * 2**-20
    alias.node._creator_node = func


class Report(NamedTuple):
    """A ``chainer.report`` call, to be repeated at each replay."""

    values: dict[str, Any]
    observer: Any


class Session:
    """Records one call. It is ``state.trace`` of its thread while the call runs."""

    def __init__(self, name: str, recording: bool = True) -> None:
        self.name = name
        self.recorder = Recorder()
        self.recorder.live = recording
        self.reads = Reads(self)
        self.leaves: dict[int, tuple[Variable, Leaf]] = {}
        self.uses: list[Use] = []
        self.argument_nodes: dict[int, Node] = {}
        self.states: list[tuple[dict[str, Any], str, Variable]] = []
        self.written: dict[tuple[int, str], tuple[Link, str]] = {}
        self.applications: list[Application | RandomAfter] = []
        self.reports: list[Report] = []
        self.draws = Draws(self.escape)
        self.recorder.on_random = self.draws.account
        self.opaque = Opaque(self)
        self._functions: dict[int, function_node.FunctionNode] = {}
        self._made: dict[int, Any] = {}  # nodes of the Variables that the call has made
        self._stand_for: dict[int, tuple[Variable, Leaf]] = {}  # by node of the alias
        self._fetches: list[Fetch] = []
        self._parameters: dict[int, Leaf] = {}
        self._left: list[tuple[Path, Node]] = []
        self._watched = False
        self._paths: dict[int, str] = {}
        self._origins: dict[int, Origin] = {}
        self.linking = False
        self.in_function = False
        self.rebuilt = False  # whether this records the backward of a rebuilt graph

    # -- running

    def run(self, chain: Link, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the method under the trace."""
        self._paths = {id(chain): "self"}
        self.reads.begin(method)
        self.linking = True
        try:
            with _patches.installed(), self.active():
                if not self.recorder.live:
                    return method(chain, *args, **kwargs)
                watch = tracer.CallWatch(
                    self.reads.code_seen,
                    self.escape,
                    lambda: self._watched,
                    lambda: state.trace is self,
                    self,
                )
                with watch:
                    result = method(chain, *args, **kwargs)
        finally:
            self.linking = False
            self.reads.end()
        self._check_after()
        return result

    @contextmanager
    def active(self) -> Any:
        """Record what this thread does."""
        state.trace = self
        try:
            yield
        finally:
            state.trace = None

    @contextmanager
    def passive(self) -> Any:
        """Run code without recording."""
        was, state.trace = state.trace, None
        try:
            yield
        finally:
            state.trace = was

    def escape(self, reason: str) -> None:
        """The call does what cannot be replayed: it stays define-by-run."""
        file, line = user_location(2)
        self.recorder.escape(reason, f"{file}:{line}")

    def _check_after(self) -> None:
        """What only shows after the call: mutated data, and draws nobody recorded."""
        if not self.recorder.live:
            return
        self.draws.check()
        self.reads.check({(id(vars(link)), name) for link, name in self.written.values()})

    @contextmanager
    def accounted_draws(self) -> Iterator[None]:
        """Draws inside (parameter initialisation) happen once, and are no part of the call."""
        with self.draws.once(), self.recorder.suspended():
            yield

    # -- what enters

    def argument(self, outer: Any, index: int) -> Any:
        """The inner stand-in for a Variable or array argument."""
        if isinstance(outer, Parameter):
            return outer
        name = f"x{index}"
        if isinstance(outer, Variable):
            inner = _detached(outer)
            inner._array = outer._array.view()  # an array of its own, whatever else shares it
            node = self.recorder.input(inner._array, name, "argument")
            self.leaves[id(inner)] = (inner, Leaf(outer, "argument", index, node))
            self.made_variable(inner)
            self.argument_nodes[index] = node
            return inner
        if id(outer) not in self.recorder.known:
            self.argument_nodes[index] = self.recorder.input(outer, name, "argument")
        return self.watch(outer)

    def leaf_of(self, value: Variable) -> Leaf | None:
        """Which Variable of the caller's an inner one stands for."""
        found = self.leaves.get(id(value))
        return found[1] if found else None

    def leaves_before(self, value: Variable) -> list[Variable]:
        """The Variables of the caller's from which an inner one was computed."""
        leaf = self.leaf_of(value)
        if leaf is not None:
            return [leaf.outer]
        nodes, seen, found = [value.node], set(), []
        while nodes:
            node = nodes.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if id(node) in self._stand_for:
                found.append(self._stand_for[id(node)][1].outer)
            elif node.creator_node is not None:
                nodes += node.creator_node.inputs or ()
        return found

    def made_here(self, value: Variable) -> bool:
        """Whether a function of this call made the Variable."""
        return id(value._node._creator_node) in self._functions

    def made_function(self, func: function_node.FunctionNode) -> None:
        """The call has applied a function."""
        self._functions[id(func)] = func

    def functions(self) -> list[function_node.FunctionNode]:
        """The functions that the call has applied."""
        return list(self._functions.values())

    def all_fetches(self) -> list[Fetch]:
        """What each replay has to fetch besides the arguments."""
        bound = [
            Fetch(node, source, "", storage.held)
            for node, source, storage in self.recorder.externals
        ]
        return [*self._fetches, *bound]

    def watch(self, array: np.ndarray) -> np.ndarray:
        """The array, as a view that tells when its values are looked at."""
        if not self.recorder.live:
            return unwatch(array)
        self._watched = True
        return tracer.watch(array, self)

    def read_array(self, x: Variable) -> np.ndarray:
        """``x.array`` was read."""
        if id(x._array) not in self.recorder.known and id(x.node) not in self._made:
            path = self._paths.get(id(x), x._node.name or "a Variable") + ".array"
            self.recorder.offer_source(x._array, Source(path, "attr", x, "_array"))
        return self.watch(x._array)

    @staticmethod
    def unwatched(value: Any) -> Any:
        """The value to store in an attribute: real arrays for watched ones."""
        return unwatch(value)

    def operate(self, how: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The user's code computes with a watched array: recorded, and watched again."""
        rec = self.recorder
        if state.trace is not self or not rec.live:
            return fn(*unwrap(args), **unwrap(kwargs))
        file, line = user_location(2)
        rec.origin = Origin(file, line, how)
        result = fn(*self._recording(args), **self._recording(kwargs))
        return self._watched_result(how, result) if rec.live else unwrap(result)

    def _watched_result(self, how: str, result: Any) -> Any:
        rec = self.recorder
        if type(result) is RecArray and not result.scalar:
            if id(result.held) not in rec.known:
                rec.know(result.held, result)
            return self.watch(result.held)
        if isinstance(result, (tuple, list)):
            items = [self._watched_result(how, item) for item in result]
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        self.looked(f"{how} gave no array, but a number: it")
        return unwrap(result)

    def _recording(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.recorder.wrap(value)
        if type(value) in (tuple, list):
            return type(value)([self._recording(v) for v in value])
        if type(value) is dict:
            return {k: self._recording(v) for k, v in value.items()}
        return value

    def made(self, array: np.ndarray) -> np.ndarray:
        """The user's code has made an array: a constant, as long as nothing is put into it."""
        recording = state.trace is self and self.recorder.live
        return tracer.fresh(array, self) if recording and not self.in_function else array

    def changing(self, how: str, array: np.ndarray, values: Any) -> None:
        """``values`` are about to be put into an array of the user's own."""
        if state.trace is self:
            if tracer.holds_watched(values):
                self.escape(f"{how} puts values of a traced array into another one")
            elif id(tracer.root(array)) in self.recorder.roots:
                self.escape(f"{how} changes an array that was used before")

    def looked(self, how: str) -> None:
        """Values of a watched array were looked at."""
        if state.trace is self:
            self.escape(f"{how} looked at the values of an array")

    # -- what Python reads

    def read_attribute(self, link: Link, name: str, value: Any) -> Any:
        """A link's attribute was read; the value that the call is to see."""
        if name.startswith(("__", "_Link__")):
            caller = sys._getframe(2).f_code.co_filename
            if name == "__dict__" and not tracer.is_library(caller):
                self.escape("the dictionary of a link's attributes was read")
            return value
        path = f"{self._paths.get(id(link), type(link).__name__)}.{name}"
        own = vars(link)
        if name not in own:
            if not callable(value) and name in dir(type(link)) and not _computed(type(link), name):
                self.reads.note(path, "attr", link, name, value)
            return self.reads.view_of(value) if type(value) is np.ndarray else value
        if (id(link), name) in self.written:
            return self.watch(value) if type(value) is np.ndarray else value
        if isinstance(value, Link):
            self._paths.setdefault(id(value), path)
        elif isinstance(value, Parameter):
            self._paths.setdefault(id(value), path)
        elif isinstance(value, Variable):
            return self._read_state(own, name, value, path)
        elif type(value) is np.ndarray:
            self.recorder.offer_source(value, Source(path, "item", own, name))
            return self.watch(value)
        elif name == "_local_link_hooks" and value:
            self.escape("a link hook is registered")
        self.reads.note(path, "item", own, name, value)
        return value

    def _read_state(self, own: dict[str, Any], name: str, value: Variable, path: str) -> Variable:
        place = (own, name)
        for inner, leaf in self.leaves.values():
            if leaf.outer is value:
                if leaf.kind != "state" or leaf.place[0] is not own or leaf.place[1] != name:
                    self.escape(f"{path} is a Variable that reaches the call in a second way")
                return inner
        inner = _detached(value)
        node = None
        if type(value._array) is np.ndarray:
            inner._array = value._array.view()
            node = self.recorder.input(inner._array, path, "state")
            source = Source(path, "item", own, name)
            self._fetches.append(Fetch(node, source, "._array", value._array))
        else:
            self.escape(f"{path} holds no NumPy array")
        self.leaves[id(inner)] = (inner, Leaf(value, "state", place, node))
        self.made_variable(inner)
        self.states.append((own, name, value))
        return inner

    def wrote_attribute(self, link: Link, name: str, value: Any) -> None:
        """A link's attribute was set."""
        self.written[id(link), name] = (link, name)
        if isinstance(value, (Parameter, Link)):
            self.escape(f"the attribute {name!r} was set to a {type(value).__name__}")

    def missed_attribute(self, link: Link, name: str) -> None:
        """An attribute was asked for that a link does not have (yet)."""
        if not name.startswith("__"):
            path = self._paths.get(id(link), type(link).__name__)
            self.reads.missed(f"{path}.{name}", link, name)

    def read_config(self, name: str, value: Any, owner: Any = configuration.config) -> None:
        """A configuration entry was read."""
        if name in _KEYED_CONFIG:
            return
        path = "config" if owner is configuration.config else "global_config"
        self.reads.note(f"chainer.{path}.{name}", "attr", owner, name, value)

    def made_variable(self, made: Variable) -> None:
        """A Variable was constructed by the call."""
        made._array = unwatch(made._array)
        self._made[id(made.node)] = made.node

    def report(self, values: dict[str, Any], observer: Any) -> None:
        """``chainer.report`` was called."""
        if configuration.config.keep_graph_on_report:
            self.escape("values are reported with their graph (keep_graph_on_report)")
        self.reports.append(Report(dict(values), observer))

    # -- functions

    def apply(
        self, func: function_node.FunctionNode, inputs: Any, plain: Callable[..., Any]
    ) -> tuple[Variable, ...]:
        """``FunctionNode.apply`` inside the call."""
        linked = tuple(self._link_input(x) for x in inputs)
        template = func._copied()
        self.made_function(func)
        given = self.given(holder(func))
        self._left = []
        outputs = plain(func, linked)
        self.opaque.applied(func)
        for k, x in enumerate(linked):
            if id(x.node) in self._stand_for:
                _bridge(x, self._stand_for[id(x.node)][0], func, k)
        for y in outputs:
            self.made_variable(y)
        if self.recorder.live:
            application = Application(
                template,
                linked,
                tuple(self.recorder.node_of(x._array) for x in linked),
                outputs,
                tuple(self.recorder.node_of(y._array) for y in outputs),
                given,
                tuple(self._left),
                self.opaque.token(func),
            )
            self.applications.append(application)
        return outputs

    def given(self, func: Any) -> tuple[tuple[str, Any], ...]:
        """The attributes that hold arrays of the call, with a :class:`Slot` in place of each."""
        rec, found = self.recorder, []

        def traced(leaf: Any) -> Any:
            array = unwatch(leaf._array if isinstance(leaf, Variable) else leaf)
            if isinstance(leaf, Parameter) or not isinstance(array, np.ndarray):
                return leaf
            if id(array) not in rec.known and id(array) not in rec.sources:
                return leaf
            recorded = rec.wrap(array)
            places.append(recorded)
            return Slot(rec.home_of(recorded), isinstance(leaf, Variable))

        for name, value in vars(func).items():
            places: list[Any] = []
            spec = rebuild(value, traced)
            if places:
                found.append((name, spec))
        return tuple(found)

    def _link_input(self, given: Any) -> Variable:
        """The Variable to use for an input: an alias, where it comes from outside."""
        if not isinstance(given, Variable):
            made = Variable(unwatch(given), requires_grad=False)
            self._made[id(made.node)] = made.node
            return made
        creator = given._node._creator_node
        if isinstance(given, Parameter):
            return self._alias(given, self._parameter_leaf(given))
        if id(given) in self.leaves:
            return self._alias(given, self.leaves[id(given)][1])
        if id(given.node) in self._stand_for:  # retained, for a gradient inside of the call
            return self._alias(*self._stand_for[id(given.node)])
        if id(given.node) in self._made or id(creator) in self._functions:
            return given
        self.escape("a Variable is used that is no argument, attribute or parameter of the chain")
        return self._alias(given, Leaf(given, "outside", None, None))

    def _alias(self, x: Variable, leaf: Leaf) -> Variable:
        if not x.requires_grad:
            return x
        alias = _detached(x)
        self.uses.append(Use(alias, leaf))
        self._stand_for[id(alias.node)] = (x, leaf)
        return alias

    def _parameter_leaf(self, parameter: Parameter) -> Leaf:
        known = self._parameters.get(id(parameter))
        if known is not None:
            return known
        path = self._paths.get(id(parameter), parameter._node.name or "parameter")
        array, node = parameter._array, None
        if not isinstance(array, np.ndarray):
            self.escape(f"{path} holds no NumPy array")
        elif id(array) in self.recorder.known:
            self.escape(f"{path} shares its array with another value of the call")
        else:
            node = self.recorder.input(array, path, "parameter")
            source = Source(path, "attr", parameter, "_array")
            self._fetches.append(Fetch(node, source, "", array))
        leaf = self._parameters[id(parameter)] = Leaf(parameter, "parameter", parameter, node)
        return leaf

    def apply_function(self, func: function_node.FunctionNode, in_data: Any) -> Any:
        """The doorway: run a function's forward on recording arrays; whole, where that fails."""
        rec = self.recorder
        in_data = tuple(unwatch(a) for a in in_data)
        if not rec.live:
            return func.forward(in_data)
        rec.origin = self._origin(func)
        recs = tuple(rec.wrap(a) for a in in_data)
        if not rec.live:
            return func.forward(in_data)
        for name, value in list(vars(func).items()):
            if isinstance(value, tracer.WatchedArray):
                vars(func)[name] = unwatch(value)
        recordable = _opaque_reason(func) is None
        before = self.opaque.before(func, trusted=recordable and _ours(func, "forward"))
        if recordable:
            mark = rec.mark()
            self.in_function = True
            try:
                outputs = self._settle(func, func.forward(recs))
            finally:
                self.in_function = False
            if rec.live:
                return outputs
            rec.rewind(mark)
        else:
            with self.passive():
                outputs = func.forward(in_data)
        return self.opaque.called(before, func, in_data, outputs)

    def _origin(self, func: function_node.FunctionNode) -> Origin:
        """The user's line; in backward, that of the function that is differentiated."""
        if self.linking:
            file, line = user_location(3)
            self._origins[id(func)] = Origin(file, line, func.label)
            return self._origins[id(func)]
        source = self._differentiated()
        # Arrays that a user's backward makes by plain array code would stay as they are now.
        self.recorder.closed = self.rebuilt or source is not None and not _ours(source, "backward")
        if source is not None:
            return self._origins.get(id(source), _UNKNOWN)._replace(function=func.label)
        file, line = user_location(3)
        return Origin(file, line, func.label)

    def _differentiated(self) -> function_node.FunctionNode | None:
        """The function of the call whose backward is running."""
        frame = sys._getframe(3)
        while frame is not None:
            if frame.f_code.co_name in ("backward", "backward_accumulate"):
                found = self._functions.get(id(frame.f_locals.get("self")))
                if found is not None:
                    return found
            frame = frame.f_back
        return None

    def _settle(self, func: function_node.FunctionNode, outputs: Any) -> Any:
        """Real arrays for the recording ones that a function gave or left in attributes."""
        rec = self.recorder
        if not isinstance(outputs, tuple):
            return outputs
        real = tuple(self._real(o) for o in outputs)
        for name, value in list(vars(func).items()):
            plain = self._real(value)
            if plain is not value:
                vars(func)[name] = plain
                if rec.live:
                    self._left += _recorded_parts((name,), value)
        for array in real:
            if rec.live and isinstance(array, np.ndarray):
                rec.wrap(array)
        return real

    def _real(self, value: Any) -> Any:
        kind = type(value)
        if kind is RecArray:
            if self.recorder.live and id(value.held) not in self.recorder.known:
                self.recorder.know(value.held, value)
            return value.held
        if isinstance(value, (tuple, list)):
            items = [self._real(v) for v in value]
            if all(a is b for a, b in zip(items, value, strict=True)):
                return value
            return kind(*items) if hasattr(value, "_fields") else kind(items)
        if kind is dict:
            return {k: self._real(v) for k, v in value.items()}
        return value


# Compared at each call anyway; type_check changes no result of arguments of the same types.
_KEYED_CONFIG = frozenset({"train", "enable_backprop", "debug", "type_check"})
tracer.add_library(os.path.dirname(os.path.abspath(configuration.__file__)))
_UNKNOWN = Origin("?", 0, "")


def _recorded_parts(path: Path, value: Any) -> list[tuple[Path, Node]]:
    """The recording arrays in a nested value, with the way to each."""
    if type(value) is RecArray:
        return [(path, value.node())]
    items: Any = ()
    if isinstance(value, (tuple, list)):
        items = enumerate(value)
    elif type(value) is dict:
        items = value.items()
    return [part for k, item in items for part in _recorded_parts((*path, k), item)]


def _detached(x: Variable) -> Variable:
    """A leaf with the array of ``x``, at its place in the order of the graph."""
    made = Variable(x._array, requires_grad=x._requires_grad, name=x._node.name)
    made.node._rank = x._node._rank
    return made


def _computed(kind: type, name: str) -> bool:
    """Whether a class attribute is computed (a property): what it reads is seen by itself."""
    for base in kind.__mro__:
        if name in vars(base):
            return hasattr(vars(base)[name], "__get__")
    return True


def _opaque_reason(func: function_node.FunctionNode) -> str | None:
    """Why a function is called whole at each replay; None where it is recorded."""
    if func.opaque:
        return func.opaque
    if _ours(func, "forward") or func._supports_static_optimizations:
        return None
    return "a function of the user's"


def _ours(func: function_node.FunctionNode, method: str) -> bool:
    """Whether a method of a function is this library's own."""
    kind = type(func.function) if isinstance(func, function.FunctionAdapter) else type(func)
    owner = next((c for c in kind.__mro__ if method in vars(c)), kind)
    return owner.__module__.partition(".")[0] == "chainer"
