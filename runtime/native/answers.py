"""Which rules about NumPy have held when they were tested on this machine.

Tests take some 20 ms in each process that compiles anything. So their answers are kept on disk, for
as long as everything they depend on stays the same: the processor, NumPy and the libraries that it
calls, the environment variables that both look at, and the code under test.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chainwright import codegen, ir

from . import disk

_HERE = Path(__file__).parent
_CODE = Path(ir.__file__).parent, Path(codegen.__file__).parent / "native_target", _HERE
_LIBRARIES = "_multiarray_umath", "/libm.", "/libm-", "/libc.", "/libc-"
_BLAS = "blas", "mkl", "blis"
_VARIABLES = "NPY_", "OPENBLAS_", "OMP_", "MKL_", "GOTO_", "BLIS_", "GLIBC_", "LD_"


class Answers:
    """Whether rules hold, by what was asked; an answer that is added is kept on disk."""

    def __init__(self) -> None:
        facts = _facts()
        self._path = None if facts is None else disk.path_of(facts, ".rules")
        lines = [line.partition(" ") for line in disk.read_lines(self._path)]
        self._known = {asked: answer == "1" for answer, _, asked in lines}

    def get(self, asked: Any) -> bool | None:
        """The answer; None if nobody has asked this before."""
        return self._known.get(repr(asked))

    def add(self, asked: Any, holds: bool) -> None:
        """From now on this is the answer, in later processes as well."""
        self._known[repr(asked)] = holds
        disk.add_line(self._path, f"{holds:d} {asked!r}")


def _facts() -> list[str] | None:
    """What answers depend on; None where that is not known."""
    processor = disk.processor()
    try:
        versions = [disk.version_of(path) for path in (*_libraries(), *_code())]
    except OSError:
        return None
    if processor is None:
        return None
    variables = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)]
    return [*processor, platform.release(), sys.version, np.__version__, *variables, *versions]


def _libraries() -> Iterator[Path]:
    """The files of NumPy and of the libraries for numbers that this process has loaded."""
    maps = os.fsdecode(Path("/proc/self/maps").read_bytes())
    found = {line[line.index("/") :] for line in maps.splitlines() if "/" in line}
    for path in sorted(found):
        # Other packages bring a BLAS of their own.
        numpys = "numpy" in path or "site-packages" not in path
        names = (*_LIBRARIES, *_BLAS) if numpys else _LIBRARIES
        if any(name in path for name in names):
            yield Path(path)


def _code() -> Iterator[Path]:
    for folder in _CODE:
        yield from sorted(folder.glob("*.py"))
