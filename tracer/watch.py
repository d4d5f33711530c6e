"""What Python sees during a trace: arrays that tell when their values are read, and calls.

In a trace the user's code is handed *watched* arrays: views of the real ones, of a subclass that
reports looks at their values. Shape, dtype and passing the array on are no looks; arithmetic,
indexing and NumPy functions are handed to the recording, which may write them down. Arrays that
the user's code makes by itself (``np.zeros``) are *fresh*: constants with which it does as it
likes, but which report when watched values are put into them, or when they are changed after use.
"""

from __future__ import annotations

import functools
import operator
import os
import random
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol

import numpy as np

from . import __file__ as _here

_OUR_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(_here)))
_STDLIB = sysconfig.get_paths()["stdlib"]
_NUMPY = os.path.dirname(np.__file__)
_FACTS = frozenset(
    "shape dtype ndim size strides itemsize nbytes flags base device "
    "__class__ __dict__ __array_finalize__ __array_priority__ __array_ufunc__ __array_function__ "
    "_held _watcher __len__ __doc__ __module__".split()
)


class Watcher(Protocol):
    """Who hands out watched arrays, and hears what is done with them."""

    def looked(self, how: str) -> None:
        """Values were looked at."""

    def operate(self, how: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run ``fn(*args, **kwargs)``, an operation whose result is an array."""

    def made(self, array: np.ndarray) -> np.ndarray:
        """The user's code has made an array; what it is to get."""
        ...

    def changing(self, how: str, array: np.ndarray, values: Any) -> None:
        """``values`` are about to be put into a fresh array."""


class WatchedArray(np.ndarray):
    """A view of an array that tells a :class:`Watcher` what is done with it."""

    _held: np.ndarray
    _watcher: weakref.ref[Watcher]  # an array that outlives the trace does not keep it alive

    def __array_finalize__(self, obj: Any) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in _METHODS:
            return functools.partial(_method, self, name)
        if name == "T":
            return _operate(self, "ndarray.T", np.transpose, (self,), {})
        if name not in _FACTS:
            _look(self, f"ndarray.{name}")
        return np.ndarray.__getattribute__(self, name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        fn, how = getattr(ufunc, method), f"numpy.{ufunc.__name__}"
        if method != "at" and "out" not in kwargs:
            return _operate(self, how, fn, inputs, kwargs)
        _look(self, how)
        return fn(*_plain(inputs), **_plain(kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _FACT_FUNCTIONS:
            return func(*_plain(args), **_plain(kwargs))
        return _operate(self, f"numpy.{func.__name__}", func, args, kwargs)


_FACT_FUNCTIONS = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj}
_METHODS = frozenset(
    "astype reshape transpose ravel flatten swapaxes squeeze clip dot copy sum mean max min prod "
    "std var argmax argmin cumsum cumprod repeat take".split()
)


def _watcher(array: np.ndarray) -> Watcher | None:
    ref = array.__dict__.get("_watcher")
    return None if ref is None else ref()


def _look(array: WatchedArray, how: str) -> None:
    watcher = _watcher(array)
    if watcher is not None:
        watcher.looked(how)


def _operate(array: WatchedArray, how: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    watcher = _watcher(array)
    if watcher is None:
        return fn(*_plain(args), **_plain(kwargs))
    return watcher.operate(how, fn, args, kwargs)


def _method(array: WatchedArray, name: str, *args: Any, **kwargs: Any) -> Any:
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    return _operate(array, f"ndarray.{name}", call, (array, *args), kwargs)


def _looking(name: str) -> Any:
    plain = getattr(np.ndarray, name)

    def method(self: WatchedArray, *args: Any) -> Any:
        _look(self, f"ndarray.{name}")
        return plain(unwatch(self), *_plain(args))

    return method


def _operating(name: str, fn: Callable[..., Any], reflected: bool = False) -> Any:
    looking = _looking(name)

    def method(self: WatchedArray, *args: Any) -> Any:
        if not all(_is_operand(a) for a in args):
            return looking(self, *args)
        given = (*args, self) if reflected else (self, *args)
        return _operate(self, f"ndarray.{name}", fn, given, {})

    return method


def _is_operand(value: Any) -> bool:
    """Numbers, arrays and indexes; with anything else NumPy has rules of its own."""
    if isinstance(value, (tuple, list)):
        return all(_is_operand(v) for v in value)
    return (
        value is None
        or value is Ellipsis
        or isinstance(value, (bool, int, float, complex, slice, np.generic, np.ndarray))
    )


for _name in (
    "setitem iter contains float int bool index complex repr str format iadd isub imul itruediv "
    "ifloordiv ipow imod iand ior ixor ilshift irshift imatmul copy deepcopy reduce reduce_ex "
    "divmod rdivmod round lshift rshift rlshift rrshift"
).split():
    if hasattr(np.ndarray, f"__{_name}__"):
        setattr(WatchedArray, f"__{_name}__", _looking(f"__{_name}__"))
for _name in "getitem neg pos abs invert lt le gt ge eq ne".split():
    setattr(WatchedArray, f"__{_name}__", _operating(f"__{_name}__", getattr(operator, _name)))
for _name in "add sub mul truediv floordiv mod pow matmul and or xor".split():
    _fn = getattr(operator, f"__{_name}__")
    setattr(WatchedArray, f"__{_name}__", _operating(f"__{_name}__", _fn))
    setattr(WatchedArray, f"__r{_name}__", _operating(f"__r{_name}__", _fn, reflected=True))


def watch(array: np.ndarray, watcher: Watcher) -> np.ndarray:
    """A view of ``array`` that tells ``watcher`` what is done with it."""
    view = np.ndarray.view(unwatch(array), WatchedArray)
    view.__dict__["_held"] = unwatch(array)
    view.__dict__["_watcher"] = weakref.ref(watcher)
    return view


def unwatch(value: Any) -> Any:
    """The real array behind a watched or fresh one; anything else as it is."""
    if type(value) is WatchedArray:
        held = value.__dict__.get("_held")
        return np.ndarray.view(value, np.ndarray) if held is None else held
    if type(value) is FreshArray:
        held = value.__dict__.get("_held")
        if held is None:
            held = value.__dict__["_held"] = np.ndarray.view(value, np.ndarray)
        return held
    return value


def holds_watched(value: Any) -> bool:
    """Whether there is a watched array in a nested value."""
    if type(value) in (tuple, list):
        return any(holds_watched(v) for v in value)
    return type(value) is WatchedArray


class FreshArray(np.ndarray):
    """A view of an array that the user's code has made in a trace, or of a part of one."""

    def __array_finalize__(self, obj: Any) -> None:
        if type(obj) is FreshArray:
            self.__dict__["_watcher"] = obj.__dict__.get("_watcher")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        targets = kwargs.get("out", inputs[:1] if method == "at" else ())
        if holds_watched([*inputs, *targets]):
            return NotImplemented  # the watched one sees to it
        for target in targets:
            _change(target, f"numpy.{ufunc.__name__}", ())
        result = getattr(ufunc, method)(*_plain(inputs), **_plain(kwargs))
        if "out" in kwargs:
            return kwargs["out"][0]
        return fresh(result, _watcher(self))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        watcher = _watcher(self)
        if WatchedArray in types:
            return NotImplemented  # the watched one sees to it
        if watcher is not None and holds_watched([*args, *kwargs.values()]):
            return watcher.operate(f"numpy.{func.__name__}", func, args, kwargs)  # as an index
        for value in (*args[:1], *kwargs.values()):  # what a function writes to stands there
            if func in _WRITING or value is kwargs.get("out"):
                _change(value, f"numpy.{func.__name__}", args[1:])
        result = func(*_plain(args), **_plain(kwargs))
        return fresh(result, watcher)


_WRITING = {
    np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal,
}  # fmt: skip


def fresh(array: Any, watcher: Any) -> Any:
    """A view of an array that tells ``watcher`` what is put into it; numbers as they are."""
    if type(array) in (tuple, list):
        return type(array)([fresh(item, watcher) for item in array])
    if type(array) is not np.ndarray or watcher is None:
        return array
    view = np.ndarray.view(array, FreshArray)
    view.__dict__["_held"], view.__dict__["_watcher"] = array, weakref.ref(watcher)
    return view


def _change(array: Any, how: str, values: Any) -> None:
    watcher = _watcher(array) if type(array) is FreshArray else None
    if watcher is not None:
        watcher.changing(how, unwatch(array), values)


def _changing(name: str) -> Any:
    plain = getattr(np.ndarray, name)

    def method(self: FreshArray, *args: Any, **kwargs: Any) -> Any:
        _change(self, f"ndarray.{name}", (*args, *kwargs.values()))
        result = plain(unwatch(self), *_plain(args), **_plain(kwargs))
        return self if isinstance(result, np.ndarray) else result

    return method


def _taking(name: str) -> Any:
    plain = getattr(np.ndarray, name)

    def method(self: FreshArray, *args: Any, **kwargs: Any) -> Any:
        watcher = _watcher(self)
        if watcher is None or not holds_watched([*args, *kwargs.values()]):
            return plain(self, *_plain(args), **_plain(kwargs))

        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(x, name)(*args, **kwargs)

        return watcher.operate(f"ndarray.{name}", call, (self, *args), kwargs)

    return method


def _flat(array: FreshArray) -> Any:
    watcher = _watcher(array)
    if watcher is not None:
        watcher.looked("ndarray.flat")
    return unwatch(array).flat


FreshArray.flat = property(_flat)  # type: ignore[assignment,misc]
for _name in "__getitem__ take dot choose compress repeat searchsorted clip".split():
    setattr(FreshArray, _name, _taking(_name))
for _name in (
    "__setitem__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__ __iand__ "
    "__ior__ __ixor__ __ilshift__ __irshift__ __imatmul__ fill put sort partition setfield resize "
    "setflags"
).split():
    setattr(FreshArray, _name, _changing(_name))


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([_plain(v) for v in value])
    if kind is dict:
        return {k: _plain(v) for k, v in value.items()}
    return unwatch(value)


# -- which code ran


_libraries = [os.path.join(_OUR_ROOT, p) for p in ("tracer", "ir", "codegen", "runtime")]
_libraries += [_NUMPY]
_classified: dict[str, bool] = {}


def add_library(folder: str) -> None:
    """Code below ``folder`` is a library's (the front end's), not the user's."""
    _libraries.append(folder)
    _classified.clear()


def is_library(filename: str) -> bool:
    """Whether a source file is a library's or the standard library's, not the user's."""
    known = _classified.get(filename)
    if known is None:
        standard = filename.startswith(_STDLIB) and "site-packages" not in filename
        library = any(filename.startswith(folder + os.sep) for folder in _libraries)
        known = standard or library or filename.startswith(("<frozen", "<chainwright"))
        _classified[filename] = known
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
_READERS = {"nditer": np.nditer, "nested_iters": np.nested_iters}
_CREATORS = {
    name: getattr(np, name)
    for name in (
        "zeros ones empty full arange eye identity linspace logspace geomspace tri indices diag "
        "diagflat zeros_like ones_like empty_like full_like tile repeat concatenate stack vstack "
        "hstack copy where"
    ).split()
}
_FUNCTIONS: dict[str, Any] = _CONVERTERS | _READERS | _CREATORS
_VECTORIZED = np.vectorize.__call__
_thread = threading.local()  # .watchers: those of the traces that run


class _Replaced:
    """Has some of NumPy's functions report what they do while any trace runs.

    ``numpy.asarray``, ``nditer`` and their kin read an array of a subclass without asking it; and
    arrays that the user's code makes are to be known.
    """

    def __init__(self) -> None:
        self._lock, self._traces = threading.Lock(), 0

    def install(self) -> None:
        with self._lock:
            self._traces += 1
            if self._traces == 1:
                for name, function in _FUNCTIONS.items():
                    setattr(np, name, _reporting(function, name not in _CREATORS))
                np.vectorize.__call__ = _reporting_all(_VECTORIZED)

    def remove(self) -> None:
        with self._lock:
            self._traces -= 1
            if self._traces == 0:
                for name, function in _FUNCTIONS.items():
                    setattr(np, name, function)
                np.vectorize.__call__ = _VECTORIZED


def reporting(value: Any) -> Any:
    """What stands for one of NumPy's own functions while traces run; None for anything else."""
    for name, function in _FUNCTIONS.items():
        if value is function:
            return getattr(np, name)
    return None


def _reporting_all(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if type(value) is WatchedArray:
                _look(value, "numpy.vectorize")
        return method(self, *args, **kwargs)

    return call


def _reporting(function: Callable[..., Any], converts: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (args[:1] or [*kwargs.values()]) if converts else ():
            items = value if type(value) in (list, tuple) else (value,)
            for item in items:
                if type(item) is WatchedArray:
                    _look(item, f"numpy.{function.__name__}")
        result = function(*args, **kwargs)
        watchers = getattr(_thread, "watchers", None)
        if not watchers or type(result) is not np.ndarray or any(result is a for a in args):
            return result
        if is_library(sys._getframe(1).f_code.co_filename):
            return result
        return watchers[-1].made(result)

    return call


_replaced = _Replaced()
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


# Modules whose compiled functions take arrays as plain memory, and those that do not: the standard
# library's others, and NumPy, which asks its subclasses.
_MEMORY_READERS = frozenset("zlib binascii hashlib _hashlib _struct _md5 _sha1 _sha2 _sha3".split())
_MEMORY_READERS |= frozenset("_sha256 _sha512 _blake2 marshal _ctypes _bz2 _lzma mmap".split())
_SILENT = frozenset({*sys.stdlib_module_names, "numpy"})


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
        watcher: Watcher,
    ) -> None:
        self._code_seen, self._effect, self._watcher = code_seen, effect, watcher
        self._handed_out, self._recording = handed_out, recording
        self._seen: set[CodeType] = set()
        self._previous: Any = None

    def __enter__(self) -> CallWatch:
        self._previous = sys.getprofile()
        _replaced.install()
        if not hasattr(_thread, "watchers"):
            _thread.watchers = []
        _thread.watchers.append(self._watcher)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *exc: Any) -> None:
        sys.setprofile(None)
        _resume_profiler(self._previous)
        _thread.watchers.pop()
        _replaced.remove()

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
        if isinstance(owner, np.ndarray):
            return
        module = getattr(function, "__module__", None) or type(owner).__module__
        top = module.partition(".")[0]
        if top in _MEMORY_READERS or top not in _SILENT:
            if self._handed_out():
                name = getattr(function, "__qualname__", function)
                self._effect(f"{module}.{name}() was called, compiled code that may read arrays")
