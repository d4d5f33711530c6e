"""The op table: every row of every family."""

from . import elementwise, library, reductions, shapes
from .op import OPS, Op

FAMILIES = (elementwise, reductions, shapes, library)

__all__ = ["FAMILIES", "OPS", "Op"]
