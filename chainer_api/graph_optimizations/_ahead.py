"""Which lines of a proof's code can be run before the call does anything.

In: the code, the line where the call begins to compute, draw or write, and what kinds of values the
names stand for. Out: the later lines that say ahead what they say where they stand. What may not
happen: one that reads what the call computes, or the contents of an array that it may have written
by then. So a line of a form that is not known here stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

_GUARD = re.compile(r"\s*if (.*): return [^:]*")
#: That objects are different ones: one guard for all leaves, of which only some may be known.
DISTINCT = re.compile(r"(\s*if len\(\{)((?:id\(\w+\), )*id\(\w+\))\}\) != \d+(: return .*)")
_ASSIGNED = re.compile(r"\s*((?:v|size)\d+) = (.*)")
_NAME = re.compile(r"(?<![\w.])(?:[vs]|size)\d+\b")
_NAMED_IN_A_GUARD = re.compile(r"\((v\d+) := ")
_PATH = re.compile(r"[vk]\d+(\.\w+|\[[^][()]*\])*")
_LENGTH = re.compile(r"len\(v\d+\)")
_SUM = re.compile(r"-?[\w.]+( [-+*/%<>=!]{1,2} -?[\w.]+)*")
_SUBSCRIPTED = re.compile(r"([\w.]*)\[")
_OF_SIZES = (".shape", ".strides")
#: What is asked of an array that is no matter of its contents.
_NO_CONTENTS = re.compile(
    r"(type|id)\(v\d+\)|v\d+\.(shape|dtype|strides)\b|v\d+ is |overlap\(v\d+, v\d+(\._array)?\)"
)


class Guard(NamedTuple):
    """One that stands where the call has begun.

    ``of_form`` are those which hold whenever the same functions are applied.
    """

    line: int
    depth: int  # of functions that have been applied before
    of_form: bool


def ahead(
    lines: Sequence[str], begun: int, kinds: Mapping[str, type], writes: bool
) -> dict[int, str]:
    """What can be run before ``begun`` of the lines from there on, by their numbers.

    That several objects are different ones can be known in part. ``writes``: to arrays of others.
    """
    known = {found[1] for line in lines[:begun] if (found := _ASSIGNED.fullmatch(line))}
    known |= {name for line in lines[:begun] for name in _NAMED_IN_A_GUARD.findall(line)}
    found: dict[int, str] = {}
    for k in range(begun, len(lines)):
        if DISTINCT.fullmatch(lines[k]):
            found[k] = distinct_of(lines[k], known.__contains__)
            continue
        guard, assigned = _GUARD.fullmatch(lines[k]), _ASSIGNED.fullmatch(lines[k])
        if guard is not None:
            named = set(_NAMED_IN_A_GUARD.findall(guard[1]))
            if not _is_known(guard[1], known | named, kinds):
                continue
            if "differs(" in guard[1] and writes or _asks_contents(guard[1], kinds):
                continue
            known |= named
        elif assigned is not None:
            if not _is_known(assigned[2], known, kinds) or not _is_read(assigned[2], kinds):
                continue
            known.add(assigned[1])
        else:
            continue
        found[k] = lines[k]
    return found


def distinct_of(line: str, counts: Callable[[str], bool]) -> str:
    """A guard that objects are different ones, of those whose names count."""
    m = DISTINCT.fullmatch(line)
    assert m is not None
    ids = [x for x in m[2].split(", ") if counts(x[3:-1])]
    return f"{m[1]}{', '.join(ids)}}}) != {len(ids)}{m[3]}" if ids else "pass"


def _is_known(text: str, known: set[str], kinds: Mapping[str, type]) -> bool:
    """Whether what is named is there, and only containers are subscripted."""
    if not known.issuperset(_NAME.findall(text)):
        return False
    return all([
        base == "" or base[0] == "k" or base.endswith(_OF_SIZES)
        or issubclass(kinds.get(base, object), (tuple, list, dict))
        for base in _SUBSCRIPTED.findall(text)
    ])  # fmt: skip


def _is_read(text: str, kinds: Mapping[str, type]) -> bool:
    """Whether it reads something, or computes with numbers."""
    if _PATH.fullmatch(text) or _LENGTH.fullmatch(text):
        return True
    numbers = [kinds.get(name, object) for name in _NAME.findall(text)]
    return _SUM.fullmatch(text) is not None and all([
        issubclass(kind, (bool, int, float, complex, np.generic)) for kind in numbers
    ])  # fmt: skip


def _asks_contents(text: str, kinds: Mapping[str, type]) -> bool:
    rest = _NAME.findall(_NO_CONTENTS.sub("", text))
    return any([kinds.get(name) is np.ndarray for name in rest])
