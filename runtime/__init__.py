"""Holds programs, their buffers and what they cost, and runs them.

It knows arrays and graphs, not the front end: :class:`Schedule` compiles and runs,
:class:`Ledger` keeps and tells.
"""

from .arenas import BLOCKS
from .eager import NEWS  # library ops ask the module for native code
from .interrupts import is_asynchronous, pass_on
from .ledger import Event, Ledger, Report, Stop
from .logs import begin as _begin
from .options import OPTIONS, TARGETS, blas_threads
from .schedule import Kept, Schedule
from .series import Loop, Turns, loops_are_native

_begin()

__all__ = [
    "BLOCKS",
    "Event",
    "NEWS",
    "OPTIONS",
    "TARGETS",
    "blas_threads",
    "is_asynchronous",
    "Kept",
    "Ledger",
    "Loop",
    "Report",
    "Schedule",
    "Stop",
    "Turns",
    "loops_are_native",
    "pass_on",
]
