"""Python code that a replay calls back: opaque functions and ``static_code``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from chainer import configuration
from chainer.function import FunctionAdapter
from chainer.function_node import FunctionNode
from chainer.variable import Variable
from chainwright.ir import Node
from chainwright.tracer import unwatch

from ._arguments import rebuild, same


def holder(func: FunctionNode) -> Any:
    """The object that user code sees of a function: of an adapter, the old-style function."""
    return func.function if isinstance(func, FunctionAdapter) else func


class Slot:
    """Stands for an array that is another in each call, or for a Variable of it.

    ``place`` says which one: its node, or its number.
    """

    __slots__ = ("place", "variable")

    def __init__(self, place: Any, variable: bool) -> None:
        self.place, self.variable = place, variable


def filled(spec: Any, array_of: Callable[[Any], Any]) -> Any:
    """The structure with the arrays of a call in the places of its slots."""

    def fill(value: Any) -> Any:
        if type(value) is not Slot:
            return value
        array = array_of(value.place)
        return Variable(array) if value.variable else array

    return rebuild(spec, same, fill)


def renewed(
    template: FunctionNode, given: Sequence[tuple[str, Any]], array_of: Callable[[Node], Any]
) -> FunctionNode:
    """A copy of a function, with the arrays of another call in the attributes ``given``."""
    func = template._copied()
    for name, spec in given:
        vars(holder(func))[name] = filled(spec, array_of)
    return func


def nodes_in(given: Sequence[tuple[str, Any]]) -> list[Node]:
    """The nodes whose arrays stand in the attributes ``given``."""
    found: list[Node] = []

    def note(value: Any) -> Any:
        if type(value) is Slot:
            found.append(value.place)
        return value

    for _, spec in given:
        rebuild(spec, same, note)
    return found


class Changed(Exception):
    """A function gave results of another form than when it was traced."""

    def __init__(self, label: str, before: Any, now: Any) -> None:
        super().__init__(f"{label} gave {before} when it was traced and {now} in another call")


class RandomAfter(NamedTuple):
    """The node that tells where the random generator stood after Python code was called back."""

    node: Node


class Token(NamedTuple):
    """What an opaque function leaves for its backward; holding it keeps the graph piece alive.

    ``random`` is the state of NumPy's generator after it, if that was asked for.
    """

    node: FunctionNode
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    random: Any

    def again(self, inputs: Sequence[Any]) -> tuple[FunctionNode, tuple[Variable, ...]]:
        """The function at its place in a new graph, without running it again."""
        func = self.node._copied()
        xs = [x if isinstance(x, Variable) else Variable(x, requires_grad=False) for x in inputs]
        needed = any(x.requires_grad for x in xs)
        return func, func._connect(xs, [y._array for y in self.outputs], needed)


class LeftArray:
    """Fetches an array that the forward of an opaque function has left in an attribute."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, token: Token) -> tuple[Any, ...]:
        return (getattr(holder(token.node), self._name),)


class OpaqueForward:
    """Calls a copy of a function as it was before it first ran.

    Takes the input arrays; returns the output arrays and a :class:`Token` for the backward.
    """

    keeps_random = False  # whether the state of the random generator is wanted

    def __init__(
        self, template: FunctionNode, given: Sequence[tuple[str, Any]], outputs: Sequence[Any]
    ) -> None:
        self._template, self._given, self._nodes = template, given, nodes_in(given)
        self._form = form_of(outputs)

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        n = len(arrays) - len(self._nodes)
        known = dict(zip(self._nodes, arrays[n:], strict=True))
        func = renewed(self._template, self._given, known.__getitem__)
        inputs = tuple([Variable(a) for a in arrays[:n]])
        outputs = func.apply(inputs)
        results = [y._array for y in outputs]
        if form_of(results) != self._form:
            raise Changed(func.label, self._form, form_of(results))
        after = np.random.get_state() if self.keeps_random else None
        return (*results, Token(func, inputs, outputs, after))


class OpaqueBackward:
    """Calls the backward of the function that an :class:`OpaqueForward` has run."""

    def __init__(
        self, indexes: tuple[int, ...], given: tuple[bool, ...], results: Sequence[Any]
    ) -> None:
        self._indexes, self._given, self._form = indexes, given, form_of(results)

    def __call__(self, token: Token, *arrays: np.ndarray) -> tuple[Any, ...]:
        left = iter(arrays)
        gradients = tuple(Variable(next(left)) if g else None for g in self._given)
        with configuration.using_config("enable_backprop", False):
            results = token.node.backward(self._indexes, gradients)
        results = results if isinstance(results, tuple) else (results,)
        arrays = tuple(None if r is None else r._array for r in results)
        if form_of(arrays) != self._form:
            raise Changed(f"backward of {token.node.label}", self._form, form_of(arrays))
        return tuple([a for a in arrays if a is not None])


def form_of(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Shape and dtype of each array."""
    return tuple([None if a is None else (a.shape, a.dtype.str) for a in arrays])


class StaticCall:
    """Calls a ``static_code`` function with the arrays of the present call.

    Arrays in the keyword argument ``outputs`` are made anew for each call and filled by it. The
    last result is the state of the random generator, if it is wanted.
    """

    keeps_random = False

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._fn, self._plain = fn, (args, kwargs)
        self.label = getattr(fn, "__qualname__", "static_code")
        self._form: Any = None
        self.arrays: list[np.ndarray] = []
        self._filled: list[int] = []
        self._args = rebuild(args, self._take)
        self._kwargs = {k: rebuild(v, self._take) for k, v in kwargs.items() if k != "outputs"}
        if "outputs" in kwargs:
            outputs = len(self.arrays)
            self._kwargs["outputs"] = rebuild(kwargs["outputs"], self._take)
            self._filled = list(range(outputs, len(self.arrays)))

    def _take(self, value: Any) -> Slot:
        is_variable = isinstance(value, Variable)
        self.arrays.append(value._array if is_variable else value)
        return Slot(len(self.arrays) - 1, is_variable)

    def run_plain(self) -> Any:
        """The first call, with the arguments as they came."""
        args, kwargs = self._plain
        self._plain = ((), {})
        return self._fn(*rebuild(args, unwatch), **rebuild(kwargs, unwatch))

    def results(self, result: Any) -> list[np.ndarray]:
        """The arrays that the first call has made: what it filled, then what it returned."""
        made = [unwatch(self.arrays[k]) for k in self._filled] + _arrays_of(result)
        self._form = form_of(made)
        return made

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        now = list(arrays)
        for k in self._filled:
            now[k] = now[k].copy()

        args, kwargs = (filled(s, now.__getitem__) for s in (self._args, self._kwargs))
        result = self._fn(*args, **kwargs)
        made = [now[k] for k in self._filled] + _arrays_of(result)
        if form_of(made) != self._form:
            raise RuntimeError(
                f"{self.label} in a static graph gave arrays of {self._form} when it was traced "
                f"and {form_of(made)} now; static_code must keep shapes and dtypes"
            )
        after = np.random.get_state() if self.keeps_random else None
        return (*made, after)


def _arrays_of(result: Any) -> list[np.ndarray]:
    items = result if isinstance(result, (list, tuple)) else (result,)
    arrays = [unwatch(i._array if isinstance(i, Variable) else i) for i in items]
    return [a for a in arrays if isinstance(a, np.ndarray)]
