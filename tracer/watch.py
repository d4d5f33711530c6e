"""What Python sees during a trace: arrays that tell when their values are read, and calls.

In a trace the user's code is handed *watched* arrays: views of the real ones, of a subclass that
reports the first look at their values. Shape, dtype and passing the array on are no looks.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy as np

from . import __file__ as _here

_OUR_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(_here)))
_STDLIB = sysconfig.get_paths()["stdlib"]
_NUMPY = os.path.dirname(np.__file__)
_FACTS = frozenset(
    "shape dtype ndim size strides itemsize nbytes flags base device "
    "__class__ __dict__ __array_finalize__ __array_priority__ __array_ufunc__ __array_function__ "
    "_held _report __len__ __doc__ __module__".split()
)


class WatchedArray(np.ndarray):
    """A view of an array that reports when its values are read."""

    _held: np.ndarray
    _report: Callable[[str], None]

    def __array_finalize__(self, obj: Any) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name not in _FACTS:
            _report(self, f"ndarray.{name}")
        return np.ndarray.__getattribute__(self, name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        _report(self, f"numpy.{ufunc.__name__}")
        return getattr(ufunc, method)(*_plain(inputs), **_plain(kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in _FACT_FUNCTIONS:
            _report(self, f"numpy.{func.__name__}")
        return func(*_plain(args), **_plain(kwargs))


_FACT_FUNCTIONS = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj}


def _report(array: WatchedArray, how: str) -> None:
    report = array.__dict__.get("_report")
    if report is not None:
        report(how)


def _watched_method(name: str) -> Any:
    plain = getattr(np.ndarray, name)

    def method(self: WatchedArray, *args: Any) -> Any:
        _report(self, f"ndarray.{name}")
        return plain(unwatch(self), *_plain(args))

    method.__name__ = name
    return method


for _name in (
    "getitem setitem iter contains float int bool index complex repr str format "
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul "
    "rmatmul neg pos abs invert and rand or ror xor rxor lt le gt ge eq ne iadd isub imul "
    "itruediv ifloordiv ipow imod copy deepcopy reduce reduce_ex divmod"
).split():
    _dunder = f"__{_name}__"
    if hasattr(np.ndarray, _dunder):
        setattr(WatchedArray, _dunder, _watched_method(_dunder))


def watch(array: np.ndarray, report: Callable[[str], None]) -> np.ndarray:
    """A view of ``array`` that calls ``report(how)`` when its values are read."""
    view = np.ndarray.view(unwatch(array), WatchedArray)
    view.__dict__["_held"] = array
    view.__dict__["_report"] = report
    return view


def unwatch(value: Any) -> Any:
    """The real array behind a watched one; anything else as it is."""
    if type(value) is WatchedArray:
        held = value.__dict__.get("_held")
        return np.ndarray.view(value, np.ndarray) if held is None else held
    return value


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([_plain(v) for v in value])
    if kind is dict:
        return {k: _plain(v) for k, v in value.items()}
    return unwatch(value)


# -- which code ran


def is_library(filename: str) -> bool:
    """Whether a source file is ours, NumPy's or the standard library's, not the user's."""
    return _library_cache.get(filename) if filename in _library_cache else _classify(filename)  # type: ignore[return-value]


_library_cache: dict[str, bool] = {}


def _classify(filename: str) -> bool:
    packages = ("chainer_api", "chainwright", "tracer", "ir", "codegen", "runtime", "chainer")
    ours = any(filename.startswith(os.path.join(_OUR_ROOT, p) + os.sep) for p in packages)
    standard = filename.startswith(_STDLIB) and "site-packages" not in filename
    known = ours or standard or filename.startswith((_NUMPY + os.sep, "<frozen", "<chainwright"))
    _library_cache[filename] = known
    return known


def user_location(depth: int = 1) -> tuple[str, int]:
    """File and line of the innermost frame of the user's code."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else ("?", 0)


_CONVERTERS = {
    name: getattr(np, name)
    for name in ("asarray", "array", "asanyarray", "ascontiguousarray", "asfortranarray")
}


class _Converters:
    """Has ``numpy.asarray`` and its kin report watched arguments while any trace runs.

    NumPy reads an array of a subclass there without asking it.
    """

    def __init__(self) -> None:
        self._lock, self._traces = threading.Lock(), 0

    def install(self) -> None:
        with self._lock:
            self._traces += 1
            if self._traces == 1:
                for name, function in _CONVERTERS.items():
                    setattr(np, name, _reporting(function))

    def remove(self) -> None:
        with self._lock:
            self._traces -= 1
            if self._traces == 0:
                for name, function in _CONVERTERS.items():
                    setattr(np, name, function)


def _reporting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def convert(*args: Any, **kwargs: Any) -> Any:
        for value in args[:1]:
            items = value if type(value) in (list, tuple) else (value,)
            for item in items:
                if type(item) is WatchedArray:
                    _report(item, f"numpy.{function.__name__}")
        return function(*args, **kwargs)

    return convert


_converters = _Converters()
_EFFECTS = frozenset(
    {
        print,
        input,
        open,
        time.time,
        time.perf_counter,
        time.monotonic,
        time.process_time,
        time.time_ns,
        os.urandom,
    }
)


def _resume_profiler(profiler: Any) -> None:
    """Put back the profiler that a trace has replaced; cProfile's is an object, no function."""
    if callable(profiler):
        sys.setprofile(profiler)
    elif hasattr(profiler, "enable"):
        profiler.enable()


class CallWatch:
    """Sees the user's functions that run, and their calls of C functions with effects.

    ``code_seen`` is called with the frame of each function of the user's, before it runs first;
    ``recording`` tells whether what happens now is replayed (and not called anew each time).
    """

    def __init__(
        self,
        code_seen: Callable[[FrameType], None],
        effect: Callable[[str], None],
        handed_out: Callable[[], bool],
        recording: Callable[[], bool],
    ) -> None:
        self._code_seen, self._effect = code_seen, effect
        self._handed_out, self._recording = handed_out, recording
        self._seen: set[CodeType] = set()
        self._previous: Any = None

    def __enter__(self) -> CallWatch:
        self._previous = sys.getprofile()
        _converters.install()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *exc: Any) -> None:
        sys.setprofile(None)
        _resume_profiler(self._previous)
        _converters.remove()

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if is_library(code.co_filename) or not self._recording():
            return
        if event == "call" and code not in self._seen:
            self._seen.add(code)
            if not str(frame.f_globals.get("__name__")).startswith("namedtuple_"):
                self._code_seen(frame)
        elif event == "c_call":
            self._c_call(arg)

    def _c_call(self, function: Any) -> None:
        try:
            if function in _EFFECTS:
                self._effect(f"{function.__name__}() was called")
            elif function in _CONVERTERS.values() and self._handed_out():
                self._effect(f"{function.__name__}() of NumPy was called")
        except TypeError:
            return  # an unhashable callable is none of those
        owner = getattr(function, "__self__", None)
        if isinstance(owner, random.Random):
            self._effect("a random number was drawn outside of recorded functions")
