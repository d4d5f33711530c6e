"""Compiles LLVM IR text with llvmlite, and keeps the objects: in this process and on disk.

A module lives as long as the process, so that no function can outlive it: kernels have no sizes in
them, which keeps their number small. Texts name no foreign symbols (addresses of NumPy's loops
stand in the tables of programs); what LLVM itself may call is looked up before anything is
finalised.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import disk
from .objects import MAGIC, placed, symbols

logger = logging.getLogger("chainwright")

_lock = threading.RLock()  # as in runtime/trees.py
_in_llvm = 0.0  # seconds
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_linkers: list[Any] = []  # all there have been: what they have linked is never unmapped


def _new_lock() -> None:
    """A child of ``fork`` would wait for a thread that it does not have."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class Engine:
    """One processor, one LLVM. Raises :class:`ImportError` where llvmlite is missing.

    LLVM is loaded when something is to be compiled, or takes more than copying to be linked.
    """

    def __init__(self) -> None:
        found = importlib.util.find_spec("llvmlite")
        if found is None:
            raise ImportError("llvmlite is missing")
        self._functions = dict[str, int]()
        self._linker: Any = None
        self._facts = self._machine_facts(found.origin)
        self.compiled = self.loaded = 0  # modules that LLVM compiled, and that came from disk

    @functools.cached_property
    def _llvm(self) -> Any:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return llvm

    def _machine_facts(self, origin: str | None) -> list[str]:
        """Triple, processor, its features, versions of LLVM and llvmlite: as LLVM says.

        What it has said once is kept on disk for the same processor and the same file of LLVM.
        """
        path = None
        with contextlib.suppress(OSError):
            file = disk.version_of(Path(origin or "").parent / "binding" / "libllvmlite.so")
            processor = disk.processor()
            path = None if processor is None else disk.path_of([*processor, file], ".facts")
        known = disk.read(path)
        if known is not None:
            return known.decode().split("\0")
        import llvmlite

        llvm = self._llvm
        facts = [
            llvm.get_default_triple(),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
            str(llvm.llvm_version_info),
            llvmlite.__version__,
        ]
        disk.write(path, "\0".join(facts).encode())
        return facts

    @property
    def cpu(self) -> str:
        """LLVM's name of the processor: ``znver5``, ``sapphirerapids`` ..."""
        return self._facts[1]

    @property
    def features(self) -> str:
        """What the processor can do: ``+avx2,-avx512f,...``."""
        return self._facts[2]

    def function(self, name: str, text: Callable[[], str]) -> int:
        """The address of a function of a module, whose text is asked for if it is new."""
        found = self._functions.get(name)
        if found is not None:
            return found
        with _lock:
            if name not in self._functions:
                self._add(text())
            return self._functions[name]

    def _add(self, text: str) -> None:
        names = re.findall(r"^define (?!internal)\S+ @(\w+)\(", text, re.M)
        path = self._path(text)
        data = disk.read(path)
        if data is not None:
            try:
                self._functions |= self._linked(data, names)
                self.loaded += 1
                return
            except RuntimeError as error:
                logger.info(
                    "a foreign file in the cache of compiled code is replaced: %s (%s)", path, error
                )
        global _in_llvm
        started = time.thread_time()
        data = self._compiled(text, self._machine())
        _in_llvm += time.thread_time() - started
        self.compiled += 1
        disk.write(path, data)
        self._functions |= self._linked(data, names)

    def _linked(self, data: bytes, names: list[str]) -> dict[str, int]:
        """The addresses of the functions of an object, which is part of the process from now on.

        Raises:
            RuntimeError: It is no object, or lacks one of them, or asks for what is not there.
        """
        try:
            undefined = self._check_symbols(data, names)
            addresses = placed(data) if data[: len(MAGIC)] == MAGIC else None
        except ValueError as error:
            raise RuntimeError(str(error)) from error
        return addresses or self._linked_by_llvm(data, names, undefined)

    def _linked_by_llvm(
        self, data: bytes, names: list[str], undefined: list[str]
    ) -> dict[str, int]:
        if self._linker is None:
            self._linker = self._new_linker()  # with one, LLVM knows the symbols of the process
        for name in undefined:  # for which LLVM would end the process
            if not self._llvm.address_of_symbol(name):
                raise RuntimeError(f"compiled code asks for {name}, which this process lacks")
        linker, self._linker = self._linker, None  # after an error the next object gets another one
        linker.add_object_file(self._llvm.ObjectFileRef.from_data(data))
        linker.finalize_object()
        addresses = {name: linker.get_function_address(name) for name in names}
        for name, address in addresses.items():
            if not address:
                raise RuntimeError(f"the compiled module lacks {name}")
        self._linker = linker
        return addresses

    def _new_linker(self) -> Any:
        """What puts objects into memory: with one for each, that takes eight times as long."""
        llvm = self._llvm
        linker = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine())
        _linkers.append(linker)
        return linker

    def _machine(self) -> Any:
        llvm = self._llvm
        target = llvm.Target.from_default_triple()
        _, cpu, features, *_ = self._facts
        return target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)

    def _check_symbols(self, data: bytes, names: list[str]) -> list[str]:
        """What an object asks for; LLVM would take any for a sound one, and end the process."""
        if data[: len(MAGIC)] != MAGIC:
            if sys.platform == "linux":
                raise RuntimeError("this is no object")
            return []  # of other formats nothing is known here
        defined, undefined = symbols(data)
        if set(defined) != set(names):
            raise RuntimeError(f"the compiled module has {defined}, and was to have {names}")
        return undefined

    # -- objects on disk -----------------------------------------------------------------------

    def _compiled(self, text: str, machine: Any) -> bytes:
        llvm = self._llvm
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = self._facts[0], str(machine.target_data)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)

    def _path(self, text: str) -> Path | None:
        return disk.path_of([*self._facts, text], ".o")


def python_seconds() -> float:
    """CPU seconds of this thread, without those of LLVM, where other threads go on meanwhile."""
    return time.thread_time() - (_in_llvm if _CORES > 1 else 0.0)


def libc_address(name: str) -> int:
    """The address of a function of the C library of this process."""
    function = getattr(ctypes.CDLL(None), name)
    return ctypes.cast(function, ctypes.c_void_p).value or 0
