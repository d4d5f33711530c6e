"""Watches arrays flow through one call and writes down what happened.

It knows arrays and Python, not the front end: :class:`Recorder` and the recording arrays write
nodes, :mod:`.watch` tells when values are looked at and which functions of the user ran, and
:mod:`.reads` tells which globals and closure variables those depend on.
"""

from .reads import CodeReads, Read, code_reads
from .recarray import RecArray, Storage, root, unwrap
from .recorder import Escape, Mark, Recorder, Source
from .watch import (
    CallWatch,
    WatchedArray,
    add_library,
    is_library,
    unwatch,
    user_location,
    watch,
)

__all__ = [
    "CallWatch",
    "CodeReads",
    "Escape",
    "Mark",
    "Read",
    "RecArray",
    "Recorder",
    "Source",
    "Storage",
    "WatchedArray",
    "add_library",
    "code_reads",
    "is_library",
    "root",
    "unwatch",
    "unwrap",
    "user_location",
    "watch",
]
