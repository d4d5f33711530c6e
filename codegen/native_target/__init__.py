"""Native code through LLVM, with the bits of NumPy's own calls."""

from .program import NativeProgram
from .target import NativeTarget

__all__ = ["NativeProgram", "NativeTarget"]
