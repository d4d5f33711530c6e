"""A program for a CUDA device, and the memory it runs in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..plan.arena import View
from ..program import Loaded, Program


def options(exact: bool) -> tuple[str, ...]:
    """The options of the compiler.

    Without contraction of products and sums the bits are those of one kernel after the other.
    """
    return ("-std=c++17", *(["-fmad=false"] if exact else []), "-lineinfo")


class KernelError(Exception):
    """Generated CUDA text that does not compile; the message is the compiler's."""


@dataclass(frozen=True)
class CudaProgram(Program):
    """``cuda`` is the text of the kernels, ``cupy`` the module whose arrays it runs on."""

    cuda: str = ""
    cupy: Any = field(default=None, repr=False, compare=False)

    def load(self) -> Loaded:
        """Compile the kernels and the Python around them for the current device.

        Raises:
            KernelError: The text of a kernel does not compile.
        """
        held = {name: self.cupy.asarray(value) if isinstance(value, np.ndarray) else value
                for name, value in self.constants.items()}
        try:
            loaded = Program.load(replace(self, constants=held))
            if self.cuda:
                loaded.function.__globals__["module"].compile()
        except self.cupy.cuda.compiler.CompileException as error:
            text = f"the CUDA kernels of {self.title} do not compile: {error}"
            raise KernelError(text) from error
        return DeviceLoaded(self, loaded.function, loaded.filename)


@dataclass(frozen=True, slots=True)
class DeviceLoaded(Loaded):
    """A program with its kernels; its memory comes from CuPy's pool."""

    def new_scratch(self) -> tuple[Any, ...]:
        """Memory for one run at a time."""
        return allocate(self.program.cupy, self.program.scratch_bytes, self.program.scratch)  # type: ignore[attr-defined]

    def new_kept(self) -> tuple[Any, ...]:
        """Memory for the values that one forward run saves for backward."""
        return allocate(self.program.cupy, self.program.kept_bytes, self.program.kept)  # type: ignore[attr-defined]


def allocate(cupy: Any, size: int, views: Sequence[View]) -> tuple[Any, ...]:
    """One new arena on the current device and the arrays in it; equal views are one object."""
    if not views:
        return ()
    memory = cupy.cuda.alloc(size)
    made = {view: cupy.ndarray(view.shape, view.dtype, memory + view.offset, view.strides)
            for view in dict.fromkeys(views)}
    return tuple(made[view] for view in views)
