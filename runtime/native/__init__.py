"""Runs native code: llvmlite's engine, objects on disk, NumPy's inner loops, rules tested first."""

from .available import native_target

__all__ = ["native_target"]
