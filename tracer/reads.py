"""What the user's functions depend on besides their arguments: globals and closure variables.

In: a frame that is about to run. Out: the names its code will look up, where they live and what
they hold now. A replay is valid only while they hold the same.
"""

from __future__ import annotations

import dis
import functools
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from .watch import is_library


class Read(NamedTuple):
    """A name that was looked up: ``how`` is 'item' (dict), 'attr' (object) or 'cell'."""

    text: str
    how: str
    owner: Any
    key: str
    value: Any


class StandIns:
    """Puts other objects in the place of globals and the like, until :meth:`restore`.

    Other threads see them meanwhile, so they have to do what the originals do.
    """

    def __init__(self) -> None:
        self._placed: list[tuple[Read, Any]] = []

    def place(self, read: Read, value: Any) -> None:
        """Have the name that was read hold ``value``."""
        _bind(read, value)
        self._placed.append((read, value))

    def restore(self) -> None:
        """Put back what was there, where nothing else has been put; also where it was moved to."""
        originals = {id(value): read.value for read, value in self._placed}
        for read, value in reversed(self._placed):
            if look_up(read.how, read.owner, read.key) is value:
                _bind(read, read.value)
            elif type(read.owner) is list:
                read.owner[:] = [originals.get(id(v), v) for v in read.owner]
        self._placed.clear()


GONE = object()


def look_up(how: str, owner: Any, key: str) -> Any:
    """What a name holds now, or ``GONE``."""
    try:
        if how == "item":
            return owner[key]
        return owner.cell_contents if how == "cell" else getattr(owner, key)
    except (LookupError, AttributeError, ValueError):
        return GONE


def _bind(read: Read, value: Any) -> None:
    if read.how == "item":
        read.owner[read.key] = value
    elif read.how == "cell":
        read.owner.cell_contents = value
    else:
        setattr(read.owner, read.key, value)


class CodeReads(NamedTuple):
    """What one code object reads; ``problem`` says why it cannot be watched."""

    reads: list[Read]
    problem: str | None


class Functions:
    """Functions that are known, by their code: the closure of a frame is that of one of them."""

    def __init__(self) -> None:
        self._by_code: dict[CodeType, list[FunctionType]] = {}

    def add(self, value: Any) -> None:
        """Know a function, and those in its closure; anything else is passed over."""
        while isinstance(value, (MethodType, functools.partial)):
            value = value.__func__ if isinstance(value, MethodType) else value.func
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if not isinstance(value, FunctionType):
            return
        known = self._by_code.setdefault(value.__code__, [])
        if not any(function is value for function in known):
            known.append(value)
            for cell in value.__closure__ or ():
                with suppress(ValueError):  # not filled yet
                    self.add(cell.cell_contents)
            self.add(getattr(value, "__wrapped__", None))

    def running(self, frame: FrameType) -> Iterator[list[FunctionType]]:
        """Functions that ``frame`` may be a call of; the likely ones come first."""
        code, caller = frame.f_code, frame.f_back
        yield self._by_code.get(code, [])
        near = [vars(base).get(code.co_name) for base in _class_of_first(frame).__mro__]
        for value in (*near, *(caller.f_locals.values() if caller is not None else ())):
            self.add(value)
        yield self._by_code.get(code, [])
        # All objects are looked through here, which takes long in a large program.
        found = [f for f in gc.get_referrers(code) if isinstance(f, FunctionType)]
        yield [function for function in found if function.__code__ is code]


def code_reads(frame: FrameType, functions: Functions) -> CodeReads:
    """The globals and closure variables that the code of ``frame`` looks up."""
    code = frame.f_code
    reads = [*_global_reads(code, frame.f_globals), *_class_reads(code, frame)]
    problem = _stored_global(code) or _unseen_reads(code, frame.f_globals)
    free = [n for n in code.co_freevars if n != "__class__"]
    if free:
        cells = _cells(code, frame, free, functions)
        if cells is None:
            problem = f"the closure of {code.co_name} cannot be found to be watched"
        else:
            reads += cells
    return CodeReads(reads, problem)


def _stored_global(code: CodeType) -> str | None:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return f"{code.co_name} assigns the global name {instruction.argval!r}"
        if instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars:
            return f"{code.co_name} assigns the nonlocal name {instruction.argval!r}"
    return None


def _unseen_reads(code: CodeType, namespace: dict[str, Any]) -> str | None:
    """What the code may do with arrays without their noticing."""
    chains = list(_chains(code))
    builtins = {chain[0] for chain in chains if chain[0] not in namespace}
    memory = sorted({"memoryview", "bytes", "bytearray"} & builtins)
    if memory:
        return f"{code.co_name} may read the memory of arrays ({', '.join(memory)})"
    if "type" in builtins and any("ndarray" in chain for chain in chains):
        return f"{code.co_name} may compare types of arrays, and those of a trace are others"
    return None


def _chains(code: CodeType) -> Iterator[list[str]]:
    """Each global name that is loaded, with the attribute names looked up on it in a row."""
    chain: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain.append(str(instruction.argval))
            continue
        if instruction.opname in ("PUSH_NULL", "CACHE", "PRECALL"):
            continue
        if chain:
            yield chain
        chain = [str(instruction.argval)] if instruction.opname in _LOADS else []
    if chain:
        yield chain


_LOADS = ("LOAD_GLOBAL", "LOAD_NAME")


def _global_reads(code: CodeType, namespace: dict[str, Any]) -> Iterator[Read]:
    done: set[tuple[str, ...]] = set()
    for chain in _chains(code):
        name = chain[0]
        if name not in namespace:
            continue  # a builtin
        value = namespace[name]
        if (name,) not in done:
            done.add((name,))
            yield Read(name, "item", namespace, name, value)
        yield from _attribute_reads(chain, value, done)


def _first(frame: FrameType) -> Any:
    """The first argument: ``self`` or ``cls``, in a method."""
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None


def _class_of_first(frame: FrameType) -> type:
    first = _first(frame)
    return first if isinstance(first, type) else type(first)


def _class_reads(code: CodeType, frame: FrameType) -> Iterator[Read]:
    """Data of the classes that a method may reach: ``type(self)``, ``self.__class__``, ``cls``."""
    if _first(frame) is _class_of_first(frame) or {"type", "__class__"} & {*code.co_names}:
        for base in _class_of_first(frame).__mro__:
            if _followed(base):
                yield Read(f"class {base.__name__}", "attr", base, "__dict__", vars(base))


def _attribute_reads(chain: list[str], value: Any, done: set[tuple[str, ...]]) -> Iterator[Read]:
    """Follow ``module.name`` and ``Class.name``: rebinding those changes what the code sees."""
    if value is os and not {"environ", "getenv"}.isdisjoint(chain):
        yield Read("os.environ", "attr", os, "environ", os.environ)
    for k, name in enumerate(chain[1:], 1):
        if not _followed(value) or name not in getattr(value, "__dict__", ()):
            return
        owner, value = value, getattr(value, name)
        path = tuple(chain[: k + 1])
        if path not in done:
            done.add(path)
            yield Read(".".join(path), "attr", owner, name, value)


def _followed(value: Any) -> bool:
    """Whether attributes of a module or class may be rebound, not being a library's."""
    if isinstance(value, ModuleType):
        file = getattr(value, "__file__", None)
        return file is not None and not is_library(file) and "site-packages" not in file
    if not isinstance(value, type) or value.__module__ == "builtins":
        return False
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    return file is None or not is_library(file)  # what is typed in has no file


def _cells(
    code: CodeType, frame: FrameType, free: list[str], functions: Functions
) -> list[Read] | None:
    """The closure cells of the function that runs ``code``: of all that look like it."""
    values = frame.f_locals
    for candidates in functions.running(frame):
        reads = []
        for function in candidates:
            cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
            with suppress(KeyError, ValueError):
                if all(cells[n].cell_contents is values.get(n) for n in free):
                    reads += [Read(n, "cell", cells[n], n, values.get(n)) for n in free]
        if reads:
            return reads
    return None
