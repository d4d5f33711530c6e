"""Holds programs, buffers, guards and caches, and replays recorded calls.

It knows arrays and graphs, not the front end: :class:`Schedule` compiles and runs,
:class:`Prologue` checks what a schedule assumes, :class:`Cache` and :class:`Ledger` keep and tell.
"""

from .cache import Cache, Key
from .guards import LARGE, SMALL, Prologue, Ref, fingerprint
from .ledger import Event, Ledger, Report
from .options import OPTIONS, TARGETS
from .schedule import Kept, Schedule

__all__ = [
    "Cache",
    "Event",
    "OPTIONS",
    "TARGETS",
    "Kept",
    "Key",
    "Ledger",
    "Prologue",
    "Ref",
    "Report",
    "Schedule",
    "LARGE",
    "SMALL",
    "fingerprint",
]
