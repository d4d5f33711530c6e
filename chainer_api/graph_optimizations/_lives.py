"""How long the chains of a decorated method have lived, as far as they are gone.

In: chains whose first call comes, and what their methods' ledgers say when they are gone. Out: how
many calls a chain is likely to get. What may not happen: copies that live for a few calls each
(meta-learning, searches, cross-validation) have their programs made again and again, in vain.
"""

from __future__ import annotations

import statistics
import weakref
from collections import deque
from typing import Any

from chainwright.runtime import Ledger

_LAST = 8  # chains that tell how long the next ones live
_BRIEF = 24  # calls: what is made for so few never comes back


class Lives:
    """Of one decorated method, on all of its chains.

    >>> from chainer.graph_optimizations._lives import Lives
    >>> lives = Lives()
    >>> lives.ended(5, 0, 0.0, 0.0), lives.ended(9, 2, 0.0, 0.0)
    (None, None)
    >>> lives.to_come(0), lives.to_come(6), lives.to_come(9)
    (7.0, 3, None)
    """

    def __init__(self) -> None:
        #: References to chains and their ledgers, by the ids of the references: a chain may have a
        #: hash of the user's, or none.
        self._there: dict[int, tuple[Any, Ledger]] = {}
        #: References to those that are gone. A callback that is a function of Python's would lose
        #: what a handler of signals raises (a timeout), which comes as such a function begins.
        self._gone = deque[Any]()
        self._calls = deque[int](maxlen=_LAST)
        self._served = deque[int](maxlen=_LAST)  # of these, by programs
        self._seconds = self._owed = 0.0

    def begins(self, chain: Any, ledger: Ledger) -> None:
        """The first call of a chain comes; the ledger is that of its method."""
        reference = weakref.ref(chain, self._gone.append)
        self._there[id(reference)] = reference, ledger

    def _look(self) -> None:
        """Hear of those that are gone."""
        while self._gone:
            try:
                reference = self._gone.popleft()
            except IndexError:  # another thread has been faster
                return
            _, ledger = self._there.pop(id(reference), (None, None))
            if ledger is not None:
                calls = ledger.hits + ledger.eager_calls
                self.ended(calls, ledger.hits, ledger.in_method, ledger.owed)

    @property
    def seconds(self) -> float:
        """Seconds that the methods of those that are gone have taken."""
        self._look()
        return self._seconds

    @property
    def owed(self) -> float:
        """Seconds that were spent on their programs, and not saved."""
        self._look()
        return self._owed

    def ended(self, calls: int, served: int, seconds: float, owed: float) -> None:
        """A chain is gone that has had so many calls, of which programs have ``served`` some."""
        self._calls.append(calls)
        self._served.append(served)
        self._seconds += seconds
        self._owed = max(self._owed + owed, 0.0)

    def to_come(self, calls: int) -> float | None:
        """How many calls a chain may still get that has had so many; None: nobody knows."""
        self._look()
        longer = [n - calls for n in list(self._calls) if n > calls]
        return statistics.median(longer) if longer else None

    def to_pass(self) -> int:
        """How many calls nobody is to look at, of a chain that is new."""
        usual = self.to_come(0)
        if usual is None:
            return 0
        if usual <= _BRIEF:
            return 1 + 2 * int(usual)
        # The last ones were gone before any program had paid.
        in_vain = len(self._served) == _LAST and not any(list(self._served))
        return 1 + int(usual) if in_vain else 0
