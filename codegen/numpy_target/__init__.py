"""Programs of NumPy calls: the form of every schedule that people read, and the reference."""

from .target import NUMPY, NumpyTarget
from .writer import generate

__all__ = ["NUMPY", "NumpyTarget", "generate"]
