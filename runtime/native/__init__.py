"""Runs native code: llvmlite's engine, objects on disk, NumPy's inner loops, rules tested first."""

from .available import native_target
from .bits import same_bits

__all__ = ["native_target", "same_bits"]
