"""Runs native code: llvmlite's engine, objects on disk, NumPy's inner loops, rules tested first."""

from .available import fast_target, native_target
from .bits import same_bits, same_bytes
from .products import own_products

__all__ = ["fast_target", "native_target", "own_products", "same_bits", "same_bytes"]
