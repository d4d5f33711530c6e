"""Python code that a replay calls back: opaque functions and ``static_code``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainer import configuration
from chainer.function_node import FunctionNode
from chainer.variable import Variable
from chainwright.tracer import unwatch


class Token(NamedTuple):
    """What an opaque function leaves for its backward; holding it keeps the graph piece alive."""

    node: FunctionNode
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]


class OpaqueForward:
    """Calls a copy of a function as it was before it first ran.

    Takes the input arrays; returns the output arrays and a :class:`Token` for the backward.
    """

    def __init__(self, template: FunctionNode, in_data: tuple[Any, ...], n_outputs: int) -> None:
        self._template, self._n = template, n_outputs

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        func = copy.copy(self._template)
        inputs = tuple(Variable(a) for a in arrays)
        outputs = func.apply(inputs)
        if len(outputs) != self._n:
            raise RuntimeError(
                f"{func.label} gave {self._n} outputs when it was traced and {len(outputs)} now; "
                "a function in a static graph must keep their number"
            )
        return (*[y._array for y in outputs], Token(func, inputs, outputs))


class OpaqueBackward:
    """Calls the backward of the function that an :class:`OpaqueForward` has run."""

    def __init__(
        self, indexes: tuple[int, ...], given: tuple[bool, ...], present: tuple[bool, ...]
    ) -> None:
        self._indexes, self._given, self._present = indexes, given, present

    def __call__(self, token: Token, *arrays: np.ndarray) -> tuple[Any, ...]:
        left = iter(arrays)
        gradients = tuple(Variable(next(left)) if g else None for g in self._given)
        with configuration.using_config("enable_backprop", False):
            results = token.node.backward(self._indexes, gradients)
        results = results if isinstance(results, tuple) else (results,)
        if tuple(r is not None for r in results) != self._present:
            raise RuntimeError(
                f"the backward of {token.node.label} gave gradients for other inputs than when it "
                "was traced; return the same Nones in every call, or decorate a smaller method"
            )
        return tuple(r._array for r in results if r is not None)


class _Slot(NamedTuple):
    k: int
    variable: bool


class StaticCall:
    """Calls a ``static_code`` function with the arrays of the present call.

    Arrays in the keyword argument ``outputs`` are made anew for each call and filled by it.
    """

    def __init__(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._fn, self._plain = fn, (args, kwargs)
        self.arrays: list[np.ndarray] = []
        self._filled: list[int] = []
        self._args = self._take(args)
        outputs = len(self.arrays)
        self._kwargs = {k: self._take(v) for k, v in kwargs.items() if k != "outputs"}
        if "outputs" in kwargs:
            outputs = len(self.arrays)
            self._kwargs["outputs"] = self._take(kwargs["outputs"])
            self._filled = list(range(outputs, len(self.arrays)))

    def _take(self, value: Any) -> Any:
        if isinstance(value, (Variable, np.ndarray)):
            is_variable = isinstance(value, Variable)
            self.arrays.append(value._array if is_variable else value)
            return _Slot(len(self.arrays) - 1, is_variable)
        if type(value) in (list, tuple):
            return type(value)([self._take(v) for v in value])
        if type(value) is dict:
            return {k: self._take(v) for k, v in value.items()}
        return value

    def run_plain(self) -> Any:
        """The first call, with the arguments as they came."""
        args, kwargs = self._plain
        self._plain = ((), {})
        return self._fn(*_unwatched(args), **_unwatched(kwargs))

    def results(self, result: Any) -> list[np.ndarray]:
        """The arrays that a call has made: what it filled, then what it returned."""
        given = [unwatch(self.arrays[k]) for k in self._filled]
        items = result if isinstance(result, (list, tuple)) else (result,)
        arrays = [i._array if isinstance(i, Variable) else i for i in items]
        return given + [unwatch(a) for a in arrays if isinstance(a, np.ndarray)]

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        now = list(arrays)
        for k in self._filled:
            now[k] = now[k].copy()

        def put(value: Any) -> Any:
            if type(value) is _Slot:
                return Variable(now[value.k]) if value.variable else now[value.k]
            if type(value) in (list, tuple):
                return type(value)([put(v) for v in value])
            if type(value) is dict:
                return {k: put(v) for k, v in value.items()}
            return value

        result = self._fn(*put(self._args), **put(self._kwargs))
        items = result if isinstance(result, (list, tuple)) else (result,)
        made = [i._array if isinstance(i, Variable) else i for i in items]
        return (*[now[k] for k in self._filled], *[a for a in made if isinstance(a, np.ndarray)])


def _unwatched(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)([_unwatched(v) for v in value])
    if type(value) is dict:
        return {k: _unwatched(v) for k, v in value.items()}
    return unwatch(value)
