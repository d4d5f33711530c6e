"""What the user's functions depend on besides their arguments: globals and closure variables.

In: a frame that is about to run. Out: the names its code will look up, where they live and what
they hold now. A replay is valid only while they hold the same.
"""

from __future__ import annotations

import dis
import gc
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from .watch import is_library


class Read(NamedTuple):
    """A name that was looked up: ``how`` is 'item' (dict), 'attr' (object) or 'cell'."""

    text: str
    how: str
    owner: Any
    key: str
    value: Any


class CodeReads(NamedTuple):
    """What one code object reads; ``problem`` says why it cannot be watched."""

    reads: list[Read]
    problem: str | None


def code_reads(frame: FrameType) -> CodeReads:
    """The globals and closure variables that the code of ``frame`` looks up."""
    code = frame.f_code
    reads = list(_global_reads(code, frame.f_globals))
    problem = _stored_global(code)
    free = [n for n in code.co_freevars if n != "__class__"]
    if free:
        cells = _cells(code, frame, free)
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


def _attribute_reads(chain: list[str], value: Any, done: set[tuple[str, ...]]) -> Iterator[Read]:
    """Follow ``module.name`` and ``Class.name``: rebinding those changes what the code sees."""
    for k, name in enumerate(chain[1:], 1):
        if not _followed(value) or name not in getattr(value, "__dict__", ()):
            return
        owner, value = value, getattr(value, name)
        path = tuple(chain[: k + 1])
        if path not in done:
            done.add(path)
            yield Read(".".join(path), "attr", owner, name, value)


def _followed(value: Any) -> bool:
    if isinstance(value, ModuleType):
        file = getattr(value, "__file__", None)
        return file is not None and not is_library(file) and "site-packages" not in file
    return isinstance(value, type) and value.__module__.partition(".")[0] not in (
        "builtins",
        "numpy",
        "chainer",
        "chainwright",
    )


def _cells(code: CodeType, frame: FrameType, free: list[str]) -> list[Read] | None:
    """The closure cells of the function that runs ``code``."""
    values = frame.f_locals
    for function in gc.get_referrers(code):
        if not isinstance(function, FunctionType) or function.__code__ is not code:
            continue
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
        try:
            if all(cells[n].cell_contents is values.get(n) for n in free):
                return [Read(n, "cell", cells[n], n, values.get(n)) for n in free]
        except (KeyError, ValueError):
            continue
    return None
