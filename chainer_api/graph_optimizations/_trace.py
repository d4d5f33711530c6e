"""Recording a list of applications as a graph, offline: no code of the user's runs here.

In: applications from the tree, which say what each function was and what its inputs looked like.
Out: a :class:`Traced`: the forward graph, and on demand backward graphs. Functions run on arrays
of the right layout without memory of their own, so that recording takes time, but no space.
What may not happen: a recorded value that other inputs would have made different.
"""

from __future__ import annotations

import functools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from chainer import configuration
from chainer._tracing import aside_from_trace, state
from chainer.function_node import FunctionNode
from chainer.variable import Variable
from chainwright import tracer
from chainwright.ir import OPS, Graph, Node, Origin
from chainwright.runtime import is_asynchronous, loops_are_native, pass_on
from chainwright.runtime.kernels import recording
from chainwright.runtime.trees import unheard
from chainwright.tracer import Number, RecArray, Recorder, blank

from ._backward import gradients, same_leaves
from ._limits import Limit, limits_of
from ._random import sample_of
from ._specs import Spec
from ._tree import Application, Draw, of_the_library
from ._values import map_values

tracer.add_library(os.path.dirname(os.path.abspath(configuration.__file__)))


class Untraceable(Exception):
    """The function ``app`` cannot be part of a program; the text says why."""

    def __init__(self, app: Application, reason: str) -> None:
        super().__init__(reason)
        self.app = app


class Computed(NamedTuple):
    """An array of no dimensions, computed from the numbers ``n`` of a piece."""

    text: str
    dtype: np.dtype[Any]

    def function(self) -> Callable[[tuple[Any, ...]], np.ndarray]:
        """What gives it for the numbers of a call."""
        compute, dtype = eval(f"lambda n: {self.text}"), self.dtype
        return lambda n: np.asarray(compute(n), dtype)


class Input(NamedTuple):
    """Where a program's input comes from.

    The value in ``slot``, what is computed from numbers, or the next random draw.
    """

    slot: int | None
    node: Node
    number: Computed | None = None


class Use(NamedTuple):
    """One use of a leaf by a function: an alias of its own, so that each use has its gradient."""

    alias: Variable
    slot: int
    ordinal: int  # among the aliases of the slot
    app: int  # the number of the application
    input: int  # and of its input


class Late(NamedTuple):
    """An array that backward reads when it runs, and not as forward left it.

    So do functions themselves: what they retain may have been changed meanwhile, if the caller
    can reach it. ``leaf`` is the slot of a leaf, or ``output`` the number of a result. ``number``
    is computed from numbers that only backward uses. By views of a leaf that they have retained
    functions find the ``memory`` that it had in the call, whatever the leaf itself is by now.
    """

    node: Node | None
    leaf: int | None
    output: int | None
    number: Computed | None = None
    memory: bool = False


class Differentiation:
    """Backward through the functions before it, as an application that comes after them.

    ``uses`` are those of leaves (slots and ordinals) whose gradients it gives, ``results`` the
    slots of what is differentiated, and ``inputs`` those of the gradients of these.
    """

    is_backward = True
    draws, writes, numbers, eager = (), frozenset[int](), (), None
    fails = in_try = read_in_try = kept = False
    label = "backward"

    def __init__(
        self, first: Application, uses: Sequence[tuple[int, int]], results: Sequence[int],
        inputs: Sequence[int], first_output: int, outputs: Sequence[Spec],
    ) -> None:
        self.uses, self.results, self.inputs = tuple(uses), tuple(results), tuple(inputs)
        self.output_slots = range(first_output, first_output + len(outputs))
        self.requires_grad = (True,) * len(outputs)  # of the gradients; known once it is traced
        self.arrays: dict[Any, int] = {}
        self.origin, self.settings, self.weight = first.origin, first.settings, first.weight

    def apply(
        self, aliases: dict[int, list[Variable]], values: dict[int, Any], given: list[Variable],
        functions: Sequence[FunctionNode], alias_of: Callable[[int, int, int], Variable],
    ) -> tuple[list[Variable], list[FunctionNode]]:
        """The gradients, and the functions that have computed them.

        ``aliases`` are those of the leaves, by slot, and ``functions`` those that were applied
        before. What the new functions read of leaves is another use of them: ``alias_of`` gives
        an alias for a slot, and the k-th new function's i-th input.

        Raises:
            _CannotBeApplied: If gradients are not there, or are others that are known already.
        """
        uses = [aliases[slot][k] for slot, k in self.uses]
        with configuration.using_config("enable_backprop", True):
            found = gradients(uses, [values[slot] for slot in self.results], given, (), ())
        known = {id(func) for func in functions}
        made, outputs = dict[int, FunctionNode](), set[int]()
        stack = []
        for g in found:
            func = None if g is None else g.node._creator_node
            if func is None or id(func) in known or id(g) in outputs:
                raise _CannotBeApplied("a gradient is no result of a function in backward")
            outputs.add(id(g))
            stack.append(func)
        while stack:
            func = stack.pop()
            if id(func) not in made:
                made[id(func)] = func
                creators = [node._creator_node for node in func.inputs or ()]
                stack += [c for c in creators if c is not None and id(c) not in known]
        functions = sorted(made.values(), key=lambda func: func.number)
        slots = {id(a.node): slot for slot, several in aliases.items() for a in several}
        slots.update({id(g.node): s for s, g in zip(self.inputs, given, strict=True)})
        leaves_and_results = known.union(slots).difference([id(g.node) for g in given])
        read = [node for func in functions for node in func.inputs or ()]
        if not leaves_and_results.intersection(
                [id(x) for node in read for x in (node, node._creator_node)]):
            raise _CannotBeApplied("gradients depend on nothing: one by one they take less")
        for k, func in enumerate(functions):
            if func._draws_in_backward:
                raise _CannotBeApplied("its backward draws random numbers")
            inputs = list(func.inputs or ())
            for i, node in enumerate(inputs):
                slot = slots.get(id(node))
                if slot is not None:
                    alias = alias_of(slot, k, i)
                    alias.node._rank = node._rank
                    if node._data is not None:
                        alias.node._data = alias._array
                    inputs[i] = alias.node
            func.inputs = tuple(inputs)
        return found, functions


class _CannotBeApplied(Exception):
    """A backward is no application like others; the text says why."""


def _needed(
    apps: Sequence[Application], results: Iterable[int], same: dict[int, int]
) -> set[Application]:
    """The applications on which results depend, or arrays that are written.

    ``same`` tells of arrays of results that functions have got as such.
    """
    slots, found = {*results}, set()
    for app in reversed(apps):
        if app.writes or not slots.isdisjoint(app.output_slots):
            found.add(app)
            slots.update([same.get(s, s) for s in (*app.inputs, *app.arrays.values())])
    return found


def gpu_of_apps(apps: Sequence[Application], specs: Any) -> int | None:
    """Where all arrays of some applications are.

    Raises:
        Untraceable: They are not all on one device.
    """
    found = set()
    for app in apps:
        slots = (*app.inputs, *app.arrays.values(), *app.output_slots)
        found |= {specs[slot].gpu for slot in slots}
        if len(found) > 1:
            raise Untraceable(app, f"{app.label} has arrays on several devices")
    return found.pop() if found else None


class Traced:
    """The recording of a list of applications.

    ``inputs`` say where the program's inputs come from; ``results`` are slots, in the order of
    the graph's outputs; ``chained`` those of them that are outputs of the call's node, and
    ``uses`` what its inputs are.
    """

    def __init__(
        self, name: str, apps: Sequence[Application], specs: Any, results: Iterable[int],
        names: dict[int, str], apart: bool = False, arrays: Set[int] = frozenset(),
        same: dict[int, int] | None = None,
    ) -> None:
        self.apart = apart  # whether gradients of several uses of a leaf are added up elsewhere
        #: Results that are no part of the graph. There may be more of them than were asked for.
        self.arrays = {*arrays}
        self._same = same or {}  # arrays taken that are those of results
        self.name, self.apps, self._specs, self._names = name, apps, specs, names
        self.results = sorted(results)
        self.inputs: list[Input] = []
        self.uses: list[Use] = []
        on_host = gpu_of_apps(apps, specs) is None
        self.session = session = Session(name, on_host and loops_are_native())
        self._values: dict[int, Any] = {}
        self._as_attributes = {slot for app in apps for slot in app.arrays.values()}
        self._nodes: dict[int, Node] = {}
        self.functions: list[FunctionNode] = []
        self.written: list[int] = []  # slots of arrays that the program changes
        self._aliases: dict[int, list[Variable]] = {}
        self.numbers: list[tuple[int, str]] = []  # applications and attributes
        self._computed: dict[Computed, np.ndarray] = {}
        self._late: dict[Any, tuple[Late, np.ndarray]] = {}
        self._in_backward = False
        self._needed = _needed(apps, self.results, self._same)
        with session.active():
            for app in apps:
                if app.is_backward:
                    self._differentiate(app)
                else:
                    self._apply(app)
            self._finish()

    def _apply(self, app: Application) -> None:
        gpu = gpu_of_apps([app], self._specs)
        session, rec = self.session, self.session.recorder
        func = app.with_arrays(self._attribute)
        for name, _ in app.numbers:
            text = f"n[{len(self.numbers)}]"
            self.numbers.append((len(self.functions), name))
            func.__dict__[name] = Number(rec, text, self._number)
        inputs = tuple([self._input(k, slot) for k, slot in enumerate(app.inputs)])
        draws = session.begin(func, app, self._drawn)
        mark = len(rec.nodes)
        try:
            outputs = app.settings.call(func.apply, inputs)
        except Exception as e:
            pass_on(e)
            raise Untraceable(app, f"{app.label} raises {type(e).__name__} on zeros") from e
        if not rec.live:
            assert rec.escaped is not None
            raise Untraceable(app, rec.escaped.reason)
        if not app.gives_blank(outputs):
            raise Untraceable(app, f"the results of {app.label} depend on values")
        self.functions.append(func)
        for slot, y in zip(app.output_slots, outputs, strict=True):
            self._values[slot] = y
        failing = [n for n in rec.nodes[mark:] if _may_fail(n)] if func._may_raise else []
        if bool(failing) is not app.fails:
            app.fails = bool(failing)
            app.renew()
        if failing and app.limits is None:
            app.limits = self._limits_of(app, failing)
        is_known = app.asks_limits and not app.may_raise
        if app.fails and not is_known and (
                app.in_try or app.read_in_try or _uses_linear_algebra(rec.nodes[mark:])):
            raise Untraceable(app, f"{app.label} may raise an exception for some values")
        if app.fails and app not in self._needed:
            # A program would leave it out, and what it raises: it gives the arrays in vain.
            self.arrays.update(app.output_slots)
            self.results = sorted({*self.results, *app.output_slots})
        writes = frozenset(
            s for s in app.arrays.values()
            if s not in self._same and rec.is_written(self._values[s]))
        if draws and gpu is not None:
            raise Untraceable(app, f"{app.label} draws random numbers on a GPU")
        if tuple(draws) != app.draws or writes != app.writes:
            app.draws, app.writes = tuple(draws), writes
            app.renew()

    def _limits_of(self, app: Application, nodes: list[Node]) -> tuple[Limit, ...] | None:
        leaves = {slot for a in app.path(1) for slot in a.leaves}
        slots = {i.node: i.slot for i in self.inputs if i.slot is not None and i.slot in leaves}
        return limits_of(nodes, slots)

    def _differentiate(self, app: Any) -> None:
        """Apply a backward through what was applied before."""
        rec, given = self.session.recorder, list[Variable]()
        for slot in app.inputs:
            array = self._array(slot)
            self.inputs.append(Input(slot, rec.input(array, f"gy{slot}", "argument")))
            self._values[slot] = array
            given.append(Variable(array, requires_grad=self._specs[slot].requires_grad))

        def alias_of(slot: int, k: int, i: int) -> Variable:
            spec = self._specs[slot]
            alias = Variable(self._values[slot], requires_grad=spec.requires_grad)
            aliases = self._aliases.setdefault(slot, [])
            if spec.requires_grad:
                self.uses.append(Use(alias, slot, len(aliases), len(self.functions) + k, i))
            aliases.append(alias)
            return alias

        try:
            found, functions = app.settings.call(
                app.apply, self._aliases, self._values, given, self.functions, alias_of)
        except _CannotBeApplied as e:
            raise Untraceable(app, str(e)) from e
        if not rec.live:
            assert rec.escaped is not None
            raise Untraceable(app, rec.escaped.reason)
        for slot, gx in zip(app.output_slots, found, strict=True):
            if (gx.shape, gx.dtype) != self._specs[slot][1:3]:
                raise Untraceable(app, "a gradient has another shape or dtype than its input")
            self._values[slot] = gx
        app.requires_grad = tuple([gx.requires_grad for gx in found])
        self.functions += functions

    @property
    def _applied(self) -> list[tuple[FunctionNode, Application]]:
        """The functions that are applications of their own."""
        apps = [app for app in self.apps if not app.is_backward]
        return [*zip(self.functions, apps, strict=False)]

    @functools.cached_property
    def _in_backward_of(self) -> list[FunctionNode]:
        """The functions that have computed gradients."""
        return self.functions[len(self._applied) :]

    def _array(self, slot: int) -> np.ndarray:
        """An array that stands for the leaf in ``slot``."""
        spec: Spec = self._specs[slot]
        return blank(spec.shape, spec.dtype, spec.strides)

    def _attribute(self, slot: int) -> np.ndarray:
        """An array among a function's attributes: the user's own, read and written in place."""
        slot = self._same.get(slot, slot)
        if slot not in self._values:
            array = self._array(slot)
            node = self.session.recorder.external(array, f"v{slot}")
            self.inputs.append(Input(slot, node))
            self._values[slot] = array
        value = self._values[slot]
        return value._array if isinstance(value, Variable) else value

    def _input(self, k: int, slot: int) -> Any:
        if slot in self._same:
            return as_taken(self._values[self._same[slot]]._array, self._specs[slot])
        value = self._values.get(slot)
        if value is None:
            if slot in self._as_attributes:  # it may be written later: running statistics
                return self._attribute(slot)
            array = self._array(slot)
            name = self._names.get(slot)
            kind = "argument" if name is None else "parameter"
            node = self.session.recorder.input(array, name or f"x{slot}", kind)
            self.inputs.append(Input(slot, node))
            self._nodes[slot] = node
            value = self._values[slot] = array
        if type(value) is not np.ndarray:
            return value
        spec: Spec = self._specs[slot]
        if spec.requires_grad is None:
            return value
        alias = Variable(value, requires_grad=spec.requires_grad)
        aliases = self._aliases.setdefault(slot, [])
        if spec.requires_grad:
            self.uses.append(Use(alias, slot, len(aliases), len(self.functions), k))
        aliases.append(alias)
        return alias

    def _drawn(self, draw: Draw, sample: np.ndarray) -> Any:
        """A random draw: an input of the program."""
        rec = self.session.recorder
        array = blank(sample.shape, sample.dtype, sample.strides)
        node = rec.input(array, f"random{len(self.inputs)}", "argument")
        self.inputs.append(Input(None, node))
        return rec.wrap(array)

    def _number(self, text: str, dtype: np.dtype[Any]) -> RecArray:
        """What an expression of numbers gives, in a dtype: an input of the program."""
        rec, computed = self.session.recorder, Computed(text, dtype)
        array = self._computed.get(computed)
        if array is None:
            array = self._computed[computed] = blank((), dtype)
            name = f"number{len(self._computed)}"
            if self._in_backward:
                node = rec.input(array, name, "gradient")
                self._late[computed] = Late(node, None, None, computed), array
            else:
                node = rec.input(array, name, "argument")
                self.inputs.append(Input(None, node, computed))
        return rec.wrap(array)

    def _finish(self) -> None:
        rec, values = self.session.recorder, self._values
        nodes = []
        for slot in self.results:
            y = values[slot]
            node = rec.node_of(y._array)
            if node.op in ("constant", "literal"):  # each call has an array of its own
                node = rec.emit("copy", (node,), y._array)
            nodes.append(node)
        rec.pending_writes()
        if not rec.live:
            assert rec.escaped is not None
            raise Untraceable(self.apps[-1], rec.escaped.reason)
        written = {n.inputs[0] for n in rec.nodes if n.op == "write"}
        self.written = [i.slot for i in self.inputs if i.slot is not None and i.node in written]
        self.forward = Graph(
            tuple([i.node for i in self.inputs]), tuple(rec.nodes), tuple(nodes), name=self.name
        )
        self.chained = [
            s for s in self.results
            if values[s].creator_node is not None and s not in self.arrays]
        reached = _reached([values[s] for s in self.chained])
        self.uses = [use for use in self.uses if id(use.alias.node) in reached]
        self.passive = [  # inputs of the graph through which no gradient flows
            slot for slot, found in self._aliases.items()
            if not found[0].requires_grad and any(id(a.node) in reached for a in found)
        ]
        self.same_leaf = [] if self.apart else same_leaves([use.slot for use in self.uses])
        #: Slots of the leaves that the functions retain.
        self.retained = {
            slot for func, app in self._applied
            for i in func._input_indexes_to_retain or ()
            if (slot := app.inputs[i]) in self._aliases
        }
        if self._in_backward_of:
            slots = self._slots_of_aliases()
            self.retained |= {
                slots[id(node)] for func in self._in_backward_of
                for i in func._input_indexes_to_retain or ()
                if id(node := (func.inputs or ())[i]) in slots}
        self.shown = self._results_that_are_retained()

    def _slots_of_aliases(self) -> dict[int, int]:
        """The slots of the leaves, by the ids of their nodes."""
        return {id(a.node): slot for slot, several in self._aliases.items() for a in several}

    def inner_uses(self) -> dict[int, int]:
        """Of the chained results: how often others are computed from them, by their numbers."""
        uses = Counter(slot for app in self.apps for slot in app.inputs)
        slots = {id(self._values[slot].node): slot for slot in self.chained}
        uses.update([
            slots[id(node)] for func in self._in_backward_of for node in func.inputs or ()
            if id(node) in slots])
        return {k: n for k, slot in enumerate(self.chained) if (n := uses[slot])}

    def _results_that_are_retained(self) -> list[int]:
        """The numbers of the results with memory in which functions have retained something."""
        known = self.session.recorder.known  # to ask for nodes would record more of them
        funcs = [func for func in self.functions if func.inputs is not None]
        nodes = [x for func in funcs for x in func.inputs or ()]
        nodes += [y for func in funcs for ref in func.outputs or () if (y := ref()) is not None]
        retained = {id(known[id(x._data)].storage) for x in nodes if id(x._data) in known}
        made = [known.get(id(self._values[slot]._array)) for slot in self.results]
        return [k for k, y in enumerate(made) if y is not None and id(y.storage) in retained]

    def inputs_behind(self) -> list[list[int]]:
        """Of each chained result: the numbers of the node's inputs that it depends on."""
        found = []
        for slot in self.chained:
            reached = _reached([self._values[slot]])
            behind = [k for k, use in enumerate(self.uses) if id(use.alias.node) in reached]
            for k, passive in enumerate(self.passive, len(self.uses)):
                if any([id(a.node) in reached for a in self._aliases[passive]]):
                    behind.append(k)
            found.append(behind)
        return found

    def distances(self) -> tuple[list[Any], list[Any]]:
        """How far functions stand above the leaves: ``(slot, functions between)``, -1 for none.

        Of the functions that give the chained results, and of those of the uses.
        """
        apps = [app for app in self.apps if not app.is_backward]
        far = _distances(apps, set(self._aliases))
        by_output = {slot: far[k] for k, a in enumerate(apps) for slot in a.output_slots}
        if self._in_backward_of:
            by_output.update(self._distances_in_backward(far))
        return (
            [tuple(by_output[slot].items()) for slot in self.chained],
            [tuple(far[use.app].items()) for use in self.uses],
        )

    def _distances_in_backward(self, far: list[dict[int, int]]) -> dict[int, dict[int, int]]:
        """Put the distances of the functions of backward into ``far``; those of its results."""
        known = {node: {slot: -1} for node, slot in self._slots_of_aliases().items()}
        for k, func in enumerate(self.functions):
            if k == len(far):
                longest = {-1: 0}
                for node in func.inputs or ():
                    for leaf, d in known.get(id(node), {}).items():
                        longest[leaf] = max(longest.get(leaf, 0), d + 1)
                far.append(longest)
            if func.inputs is not None:
                made = [node for ref in func.outputs or () if (node := ref()) is not None]
                known.update(dict.fromkeys([id(node) for node in made], far[k]))
        slots = [slot for app in self.apps if app.is_backward for slot in app.output_slots]
        return {slot: known[id(self._values[slot].node)] for slot in slots}

    def leaves_of_order(self) -> list[int]:
        """The leaves whose ranks decide the order of sums of three and more gradients, if any."""
        # Those through which no gradient flows have a rank, too.
        leaves = sorted({use.slot for use in self.uses}.union(self.passive))
        counts: dict[int, int] = {}
        for app in self.apps:
            for slot in app.inputs:
                if not self.apart or slot not in self._aliases:
                    counts[slot] = counts.get(slot, 0) + 1
        if self._in_backward_of:
            counts = self._counts_of_uses()
        compared = len(leaves) + self.takes_arrays
        return leaves if max(counts.values(), default=0) >= 3 and compared > 1 else []

    def _counts_of_uses(self) -> dict[int, int]:
        """How many gradients each value gets, where functions of backward are among the others."""
        slots, counts = self._slots_of_aliases(), Counter[int]()
        for func in self.functions:
            for node in func.inputs or ():
                slot = slots.get(id(node))
                if slot is None or not self.apart:
                    counts[id(node) if slot is None else -1 - slot] += 1
        return counts

    @functools.cached_property
    def takes_arrays(self) -> bool:
        """Whether functions are applied to arrays: they have the rank 0, whatever leaves have."""
        made = {slot for app in self.apps for slot in app.output_slots}
        taken = {slot for app in self.apps for slot in app.inputs}
        return not taken <= made | self._aliases.keys()

    def _set_ranks(self, ranks: dict[int, int]) -> None:
        for slot, aliases in self._aliases.items():
            for alias in aliases:
                alias.node._rank = ranks.get(slot, 0)
        for func in self.functions:
            if func.inputs is not None:
                func.rank = max([node._rank for node in func.inputs], default=0)
                for ref in func.outputs or ():
                    node = ref()
                    if node is not None:
                        node._rank = func.rank + 1

    # -- backward

    def backward(self, key: Any) -> Backward:
        """Record the gradients of the uses; ``key`` is that of a node's backward."""
        session, rec = self.session, self.session.recorder
        self._in_backward = True
        ranks, alone, *forms = key
        self._set_ranks(dict(zip(self.leaves_of_order(), ranks, strict=True)) if ranks else {})
        outputs = [self._values[s] for s in self.chained]
        self._read_late()
        first = len(rec.nodes)
        nodes, given = [], []
        for k, form in enumerate(forms):
            if form is None:
                given.append(None)
                continue
            array = blank(outputs[k].shape, form[0], form[1])
            nodes.append(rec.input(array, f"gy{k}", "gradient"))
            given.append(Variable(array, requires_grad=form[2]))
        aliases = [use.alias for use in self.uses]
        with session.active(), configuration.using_config("enable_backprop", False):
            found = gradients(aliases, outputs, given, alone, self.same_leaf)
            results = tuple([rec.node_of(g._array) for g in found if g is not None])
        if not rec.live:
            assert rec.escaped is not None
            raise Untraceable(self.apps[-1], f"in backward: {rec.escaped.reason}")
        made = tuple(rec.nodes[first:])
        read = {source for node in made for source in node.inputs} | set(results)
        late = [late for late, _ in self._late.values() if late.node in read]
        graph = Graph(
            (*nodes, *[x.node for x in late]), made, results, name=f"{self.name} backward"
        )
        present = tuple([k for k, g in enumerate(found) if g is not None])
        requires_grad = tuple([g.requires_grad for g in found if g is not None])
        objects = [g for g in found if g is not None]
        first = {id(g): k for k, g in reversed([*enumerate(objects)])}
        present_given = [g for g in given if g is not None]
        first.update({id(g): -1 - k for k, g in reversed([*enumerate(present_given)])})
        same = tuple([first[id(g)] for g in objects])
        shared = same != tuple(range(len(same)))
        forms = tuple([
            x.node and (x.node.shape, x.node.dtype, x.node.strides) for x in late
        ])
        return Backward(graph, present, requires_grad, tuple(late), forms, same, shared)

    def _read_late(self) -> None:
        """Have functions find other arrays in what they have retained and a caller can reach."""
        for slot in self.retained:
            array = self._late_leaf(slot)
            for alias in self._aliases[slot]:
                alias._array = array
                alias.node._data = array
        for func, app in self._applied:
            for i in func._input_indexes_to_retain or () if func.inputs is not None else ():
                if self._is_array(app.inputs[i]):
                    func.inputs[i]._data = self._late_leaf(app.inputs[i])
            for key, slot in app.arrays.items():
                if self._is_array(slot):
                    replace_array(func.__dict__, key, self._values[slot], self._late_leaf(slot))
        for k, slot in enumerate(self.results):
            y = self._values[slot]
            if y.node._data is not None:
                array = self._late_array(("output", k), y._array.strides, None, k, y._array)
                y._array = array
                y.node._data = array

        rec = self.session.recorder
        for slot, storage in self._viewed.items():
            if not storage.shared:  # views are derived anew where they are read
                rec.write(storage, rec.node_of(self._late_leaf(slot, "memory")))

    @functools.cached_property
    def _viewed(self) -> dict[int, Any]:
        """The memory of the leaves of which there are views."""
        known = self.session.recorder.known
        views = {id(array.storage) for array in known.values() if array.path}
        leaves = {i.slot: known.get(id(self._values[i.slot]))
                  for i in self.inputs if i.slot is not None}
        return {
            slot: leaf.storage for slot, leaf in leaves.items()
            if leaf is not None and id(leaf.storage) in views}

    def _is_array(self, slot: int) -> bool:
        """Whether a leaf is an array of the user's, no Variable."""
        return type(self._values.get(slot)) is np.ndarray

    def _late_leaf(self, slot: int, what: str = "leaf") -> np.ndarray:
        spec: Spec = self._specs[slot]
        return self._late_array((what, slot), spec.strides, slot, None, spec)

    def _late_array(
        self, key: Any, strides: Any, leaf: int | None, output: int | None, like: Any
    ) -> np.ndarray:
        known = self._late.get(key)
        if known is None:
            array = blank(like.shape, like.dtype, strides)
            name = f"late_x{leaf}" if leaf is not None else f"late_y{output}"
            node = self.session.recorder.input(array, name, "gradient")
            known = self._late[key] = (Late(node, leaf, output, None, key[0] == "memory"), array)
        return known[1]


def as_taken(array: Any, spec: Spec) -> Any:
    """An array as a function takes it that is described: as it is, or as that of a Variable."""
    if spec.requires_grad is None:
        return array
    return Variable(array, requires_grad=spec.requires_grad)


def replace_array(attributes: dict[str, Any], key: Any, old: Any, new: Any) -> None:
    """Put an array in the place of another: an attribute, or an item of one."""
    value = attributes.get(key[0])
    if len(key) == 1:
        if value is old:
            attributes[key[0]] = new
    elif isinstance(value, tuple | list):
        attributes[key[0]] = type(value)([new if x is old else x for x in value])


def _distances(apps: Sequence[Application], leaves: Any) -> list[dict[int, int]]:
    """Of each application: the longest ways down to the leaves."""
    far: dict[int, dict[int, int]] = {}
    found = []
    for app in apps:
        longest: dict[int, int] = {-1: 0}
        for slot in app.inputs:
            below = far.get(slot)
            if below is None:
                below = {slot: -1} if slot in leaves else {}
            for leaf, d in below.items():
                longest[leaf] = max(longest.get(leaf, 0), d + 1)
        found.append(longest)
        # Without backprop outputs have no history: they are leaves for what follows.
        above = longest if app.settings.backprop else {}
        far.update(dict.fromkeys(app.output_slots, above))
    return found


def order_of_sums(apps: Sequence[Application], ranks: dict[int, int]) -> tuple[Any, ...]:
    """In which order gradients are added up, where there are three and more, for these leaves.

    ``ranks`` are those of the leaves. Of each value: the functions that use it, as backward takes
    them.
    """
    far = _distances(apps, ranks)
    levels = [max([ranks.get(s, 0) + d for s, d in f.items()]) for f in far]
    users: dict[int, list[int]] = {}
    for k, app in enumerate(apps):
        for slot in app.inputs:
            users.setdefault(slot, []).append(k)
    return tuple([
        tuple(sorted(ks, key=lambda k: (-levels[k], -k))) for ks in users.values() if len(ks) > 2
    ])


class Backward(NamedTuple):
    """A recorded backward.

    ``present`` are the uses that get a gradient, ``requires_grad`` whether each of these requires
    one itself, ``late`` what it reads besides what forward has kept, and ``forms`` the shape, dtype
    and strides that each of these has to have: a function of the sizes, where they may be any.
    ``same`` tells which gradients are one object with an earlier one (its number among them), or
    with one that is given (-1 for the first, -2 for the second); the others have their own number.
    ``shared``: whether any is.
    """

    graph: Graph
    present: tuple[int, ...]
    requires_grad: tuple[bool, ...]
    late: tuple[Late, ...]
    forms: Any
    same: tuple[int, ...]
    shared: bool


def _reached(outputs: Sequence[Variable]) -> set[int]:
    """The ids of the nodes that Variables were computed from."""
    seen: set[int] = set()
    stack = [y.creator_node for y in outputs]
    functions: set[int] = set()
    while stack:
        func = stack.pop()
        if func is None or id(func) in functions or func.inputs is None:
            continue
        functions.add(id(func))
        for node in func.inputs:
            seen.add(id(node))
            stack.append(node._creator_node)
    return seen


_LINEAR_ALGEBRA = frozenset({"numpy.linalg", "scipy.linalg", "numpy.linalg._linalg"})


def _uses_linear_algebra(nodes: Iterable[Node]) -> bool:
    """Whether there are computations that fail on singular matrices and the like."""
    for node in nodes:
        module = getattr(node.attr("fn"), "__module__", "") if node.op == "call" else ""
        if node.op in ("inverse", "determinant") or module in _LINEAR_ALGEBRA:
            return True
    return False


#: Operations of the library that compute something of any values: no index is one of these.
_OF_ANY_VALUES = frozenset({
    "convolution", "convolution_transpose", "convolution_weight", "local_convolution",
    "local_convolution_transpose", "local_convolution_weight", "im2col", "col2im", "max_pooling",
    "sum_pooling", "sum_pooling_spread", "linear_recurrence", "write", "copy", "cast",
})


def _may_fail(node: Node) -> bool:
    """Whether computing a node may raise, depending on values: an index out of range, mostly."""
    kind = OPS[node.op].kind
    if node.op in ("concatenate", "stack"):
        return False
    if kind in ("elementwise", "reduction", "scan", "creation", "product", "leaf"):
        return False
    if kind in ("shape", "update"):
        indexes = node.inputs[1:] if kind == "shape" else node.inputs[2:]
        return any(x.op not in ("literal", "constant") for x in indexes)
    return node.op not in _OF_ANY_VALUES


class Session:
    """Records functions: ``state.trace`` while a list of applications is traced."""

    def __init__(self, name: str, loops_are_ops: bool = False) -> None:
        self.name, self.recorder, self._loops_are_ops = name, Recorder(), loops_are_ops
        self._origins: dict[int, tuple[FunctionNode, Origin]] = {}
        self._applying: tuple[FunctionNode, Origin] | None = None
        self._random = Random()
        self.recorder.random = self._random

    @contextmanager
    def active(self) -> Any:
        """Record the functions that this thread applies."""
        was, state.trace, run, state.run = state.trace, self, state.run, None
        try:
            loops = recording(loops_are_ops=self._loops_are_ops)
            with np.errstate(all="ignore"), unheard(), tracer.virtual(), loops:
                yield
        finally:
            state.trace, state.run = was, run

    def begin(
        self, func: FunctionNode, app: Application, drawn: Callable[[Draw, np.ndarray], Any]
    ) -> list[Draw]:
        """The function of ``app`` comes next; gives the list of draws that it is going to fill."""
        self._applying = self._origins[id(func)] = (func, app.origin)
        draws: list[Draw] = []
        self._random.begin(draws, drawn)
        return draws

    def apply_function(self, func: FunctionNode, in_data: Any) -> Any:
        """In the place of ``func.forward``: run it on recording arrays."""
        rec = self.recorder
        if not rec.live:
            return func.forward(in_data)
        origin = self._origin(func)
        if origin is None and is_asynchronous():
            with aside_from_trace():  # a handler of signals, which comes at any time
                return func.forward(in_data)
        rec.origin = origin or _UNKNOWN._replace(function=_label(func))
        if not of_the_library(type(func)) and _has_arrays(func):
            rec.escape("a function of the user's may look at the arrays among its attributes")
            return func.forward(in_data)
        for name, value in list(vars(func).items()):
            vars(func)[name] = map_values(value, self._recording)
        outputs = func.forward(tuple([rec.wrap(a) for a in in_data]))
        tracer.let_go()
        return self._settle(func, outputs) if isinstance(outputs, tuple) else outputs

    def looked_at(self, frame: Any) -> None:
        """The array of a Variable is read; the user's code may decide something by its values."""
        while frame is not None and frame.f_globals.get("__name__") == Variable.__module__:
            frame = frame.f_back
        name = frame.f_globals.get("__name__") or "" if frame is not None else ""
        if name.partition(".")[0] not in ("chainer", "chainwright") and not is_asynchronous():
            self.recorder.escape("the array of a Variable is read by code of the user's")

    def _origin(self, func: FunctionNode) -> Origin | None:
        """The user's line; in backward, that of the function that is differentiated.

        None where it is known of neither.
        """
        if self._applying is not None and self._applying[0] is func:
            self._applying = None
            return self._origins[id(func)][1]
        frame = sys._getframe(3)
        while frame is not None:
            if frame.f_code.co_name in ("backward", "backward_accumulate"):
                found = self._origins.get(id(frame.f_locals.get("self")))
                if found is not None:
                    return found[1]._replace(function=_label(func))
            frame = frame.f_back
        return None

    def _settle(self, func: FunctionNode, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Real arrays for the recording ones that a function gave or left in attributes."""
        rec = self.recorder
        made = tuple([map_values(o, self._real) for o in outputs])
        for name, value in list(vars(func).items()):
            vars(func)[name] = map_values(value, self._real)
        for array in made:
            if rec.live and isinstance(array, np.ndarray):
                rec.wrap(array)
        return made

    def _recording(self, value: Any) -> Any:
        """What records for an array that is known: else what NumPy makes of it were a constant."""
        found = self.recorder.known.get(id(value)) if type(value) is np.ndarray else None
        return found if found is not None and found.held is value else value

    def _real(self, value: Any) -> Any:
        if type(value) is not RecArray:
            return value
        if self.recorder.live and id(value.held) not in self.recorder.known:
            self.recorder.know(value.held, value)
        return value.held


def _has_arrays(func: FunctionNode) -> bool:
    """Whether an attribute of a function is an array, or has some as its items."""
    values = list(vars(func).values())
    values += [item for v in values if isinstance(v, tuple | list) for item in v]
    return any([isinstance(v, np.ndarray) for v in values])


def _label(func: FunctionNode) -> str:
    unknown = any([type(value) is Number for value in vars(func).values()])
    return type(func).__name__ if unknown else func.label


_UNKNOWN = Origin("?", 0, "")


class Random:
    """``xp.random`` while a function is traced: draws are inputs of the program."""

    def __init__(self) -> None:
        self._draws: list[Draw] | None = None
        self._drawn: Any = None

    def begin(self, draws: list[Draw], drawn: Any) -> None:
        """Draws from now on are those of another function."""
        self._draws, self._drawn = draws, drawn

    def __getattr__(self, name: str) -> Any:
        def draw(*args: Any, **kwargs: Any) -> Any:
            sample = sample_of(name, args, kwargs)
            made = Draw(name, args, kwargs)
            assert self._draws is not None
            self._draws.append(made)
            return self._drawn(made, sample)

        return draw
