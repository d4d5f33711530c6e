"""Watches arrays flow through one call and writes down what happened.

It knows arrays and Python, not the front end: :class:`Recorder` and the recording arrays write
nodes, :mod:`.watch` tells when values are looked at and which functions of the user ran, and
:mod:`.reads` tells which globals and closure variables those depend on.
"""

from .reads import GONE, CodeReads, Functions, Read, StandIns, code_reads, look_up
from .recarray import RecArray, Storage, root, unwrap
from .recorder import Escape, Mark, Recorder, Source
from .watch import (
    CallWatch,
    FreshArray,
    WatchedArray,
    add_library,
    fresh,
    holds_watched,
    is_library,
    reporting,
    unwatch,
    user_location,
    watch,
)

__all__ = [
    "CallWatch",
    "CodeReads",
    "Escape",
    "FreshArray",
    "Functions",
    "GONE",
    "Mark",
    "Read",
    "RecArray",
    "Recorder",
    "Source",
    "StandIns",
    "Storage",
    "WatchedArray",
    "add_library",
    "code_reads",
    "fresh",
    "holds_watched",
    "is_library",
    "look_up",
    "reporting",
    "root",
    "unwatch",
    "unwrap",
    "user_location",
    "watch",
]
