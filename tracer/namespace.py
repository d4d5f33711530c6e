"""The array namespace (``xp``) that array code sees inside a recorded function.

NumPy itself, but what NumPy does not dispatch on its arguments is recorded too: creating arrays,
converting them, and drawing random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from chainwright.ir import constant, freeze

from .recarray import RecArray, Storage, Template, find, record, unwrap

if TYPE_CHECKING:
    from .recorder import Recorder

_FILLED = frozenset("zeros ones empty".split())
_CREATORS = frozenset("zeros ones empty full arange eye identity linspace tri".split())
_CONVERTERS = frozenset("array asarray asanyarray ascontiguousarray asfortranarray".split())


class Namespace:
    """``numpy`` for one recording."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.random = Random(recorder) if recorder.random is None else recorder.random

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        if name in _CREATORS:
            value = self._creator(name, value)
        elif name in _CONVERTERS:
            value = self._converter(name, value)
        self.__dict__[name] = value
        return value

    def _creator(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def create(*args: Any, **kwargs: Any) -> Any:
            rec = self._recorder
            if not rec.live or find((args, kwargs)) is not None:
                return function(*args, **kwargs)
            made = np.zeros if name == "empty" else function  # no values by chance: see recarray
            array = made(*args, **kwargs)
            if name in _FILLED:
                node = rec.emit(name, (), array)
            else:
                # It depends on no input, so it is a constant; a later write copies it first.
                node = constant(array.copy())
            return RecArray(rec, array, Storage(node))

        create.__name__ = name
        return create

    def _converter(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def convert(a: Any, *args: Any, **kwargs: Any) -> Any:
            rec = self._recorder
            if not rec.live:
                return function(unwrap(a), *args, **kwargs)
            if type(a) in (tuple, list) and find(a) is not None:
                return self._convert_list(a, *args, **kwargs)
            if type(a) is not RecArray:
                if not isinstance(a, np.ndarray):
                    return function(a, *args, **kwargs)
                a = rec.wrap(a)
            result = function(a.held, *args, **kwargs)
            if result is a.held:
                return a
            if result.dtype != a.dtype:
                node = rec.emit("cast", (a,), result)
            else:
                node = rec.emit("copy", (a,), result)
            return RecArray(rec, result, Storage(node))

        convert.__name__ = name
        return convert

    def _convert_list(self, items: Any, dtype: Any = None, **kwargs: Any) -> Any:
        stacked = np.stack([self.asarray(i) for i in items])
        return stacked if dtype is None else stacked.astype(dtype, copy=False)


class Random:
    """``numpy.random`` for one recording: each draw is a node, in order."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        function = getattr(np.random, name)
        if not callable(function):
            return function

        def draw(*args: Any, **kwargs: Any) -> Any:
            rec = self._recorder
            if not rec.live:
                return function(*unwrap(args), **unwrap(kwargs))
            template = Template()
            frozen = freeze(template.take(args)), freeze(template.take(kwargs))
            return record(
                rec,
                "random",
                tuple(template.arrays),
                lambda: function(*unwrap(args), **unwrap(kwargs)),
                fn=name,
                args=frozen[0],
                kwargs=frozen[1],
            )

        self.__dict__[name] = draw
        return draw


def namespace(recorder: Recorder) -> Namespace:
    """The one namespace of a recording."""
    found = recorder.__dict__.get("namespace")
    if found is None:
        found = recorder.__dict__["namespace"] = Namespace(recorder)
    return found
