"""Library ops of define-by-run in native code, where they have a native form.

The first calls with arrays of some layout run the NumPy kernel; then a program of this one op is
compiled, as the target asks: by the thread in the background, or at once. Its bits are those of
the kernel. Large memory to work in is taken for each call, as the kernel does.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from chainwright.codegen.native_target.steps import Forms
from chainwright.codegen.native_target.writer import parts_of
from chainwright.ir import Graph, make, placeholder
from chainwright.ir.passes import prepare

from . import kernels
from .background import BACKGROUND
from .native import native_target
from .options import OPTIONS

logger = logging.getLogger("chainwright")

OPS = frozenset({"convolution", "convolution_transpose", "convolution_weight", "add_rows"})
_CALLS = 3  # with one layout before a program is made
_LIMIT = 256  # programs and layouts that are remembered
_KEPT_BYTES = 1 << 20  # memory that waits for the next call


class _Op:
    """One op on arrays of one layout."""

    def __init__(self) -> None:
        self.calls = 0
        self.run: Callable[..., Any] | None = None
        self.memory: list[Any] = []
        self.new_memory: Callable[[], Any] | None = None
        self.keeps = False

    def __call__(self, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        assert self.run is not None and self.new_memory is not None
        try:
            memory = self.memory.pop()
        except IndexError:
            memory = self.new_memory()
        (result,) = self.run(*arrays, memory, ())
        if self.keeps and not self.memory:
            self.memory.append(memory)
        return result

    def compile(self, name: str, arrays: list[Any], settings: Any, made: Any) -> None:
        target = native_target()
        if target is None:
            return
        try:
            inputs = [placeholder(f"x{k}", *facts) for k, facts in enumerate(arrays)]
            shape, dtype, strides = made
            facts = {"shape": shape, "dtype": dtype, "strides": strides}
            node = make(name, *inputs, kwargs=settings, **facts)
            graph = prepare(Graph(tuple(inputs), (node,), (node,), name), target.passes)
            if not all(part.native for part in parts_of(graph, Forms(target.machine))):
                return
            program = target.program(graph, name)
            loaded = program.load()
        except Exception:
            logger.warning("%s stays calls of NumPy", name, exc_info=True)
            return
        self.new_memory, self.keeps = loaded.new_scratch, program.scratch_bytes <= _KEPT_BYTES
        self.run = loaded.function


_known: OrderedDict[Hashable, _Op] = OrderedDict()


def native(
    name: str, implementation: Callable[..., Any], arrays: tuple[Any, ...], settings: dict[str, Any]
) -> Any:
    """The result of an op by native code; None where the NumPy kernel is to run."""
    if name not in OPS or OPTIONS.target() == "numpy":
        return None
    for a in arrays:
        if type(a) is not np.ndarray:
            return None
    key = name, *[(a.shape, a.dtype, a.strides) for a in arrays], *settings.items()
    op = _known.get(key)
    if op is None:
        op = _known[key] = _Op()
        while len(_known) > _LIMIT:
            _known.popitem(last=False)
        return None
    if op.run is not None:
        return op(arrays)
    op.calls += 1
    if op.calls != _CALLS:
        return None
    result = implementation(*arrays, **settings)
    layouts = [(a.shape, a.dtype, a.strides) for a in arrays]
    made = result.shape, result.dtype, result.strides

    def compile_it() -> None:
        op.compile(name, layouts, settings, made)

    if OPTIONS.target() == "native":
        compile_it()
    else:
        BACKGROUND.do(compile_it)
    return result


kernels.native = native
