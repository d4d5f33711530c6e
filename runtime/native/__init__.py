"""Runs native code: llvmlite's engine, objects on disk, NumPy's inner loops, rules tested first."""

from .available import native_target
from .bits import same_bits, same_bytes
from .products import own_products

__all__ = ["native_target", "own_products", "same_bits", "same_bytes"]
