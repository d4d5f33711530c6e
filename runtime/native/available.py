"""The native target of this process, or the reason why there is none."""

from __future__ import annotations

import functools
import logging

from chainwright.codegen.native_target import NativeTarget

logger = logging.getLogger("chainwright")


@functools.cache
def native_target() -> NativeTarget | None:
    """The target, made at the first call; None, with one line in the log, where it cannot be."""
    try:
        from . import convolution, pooling  # noqa: F401 - native forms of library ops
        from .answers import Answers
        from .machine import MachineLinker, NumpyMachine

        linker = MachineLinker()
        return NativeTarget(NumpyMachine(linker, Answers()), linker)
    except (ImportError, OSError, RuntimeError, AttributeError, TypeError) as error:
        logger.info("programs of NumPy calls run, since there is no native code here: %s", error)
        return None


@functools.cache
def fast_target() -> NativeTarget | None:
    """The same, of which the bits need not be those of NumPy's calls."""
    same = native_target()
    return None if same is None else NativeTarget(same.machine, same.linker, exact=False)
