"""Writes down what array code does: real arrays in, graph nodes out.

It knows arrays and Python, not the front end: :class:`Recorder` and the recording arrays write
nodes, :mod:`.blank` makes arrays to record on that take no memory, and :mod:`.places` tells the
user's code from libraries'.
"""

from .blank import blank, let_go, virtual
from .number import Number
from .places import add_library, is_library, user_frame
from .recarray import DIFFERENT_LAYOUTS, TOO_FEW_ITEMS, RecArray, Storage, root, unwrap
from .recorder import Escape, Recorder

__all__ = [
    "DIFFERENT_LAYOUTS",
    "TOO_FEW_ITEMS",
    "Escape",
    "Number",
    "RecArray",
    "Recorder",
    "Storage",
    "add_library",
    "blank",
    "is_library",
    "let_go",
    "root",
    "unwrap",
    "user_frame",
    "virtual",
]
