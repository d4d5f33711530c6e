"""How long work of one kind takes here."""

from __future__ import annotations


class Rate:
    """Seconds for each item of some work, as measured so far, and once for the first time.

    >>> from chainwright.runtime.rate import Rate
    >>> compiling = Rate(1e-3, 0.02)
    >>> compiling.of(10)
    0.03
    >>> for _ in range(40):
    ...     compiling.learn(0.05, 10)
    >>> round(compiling.of(20), 3)
    0.1
    """

    def __init__(self, seconds: float, once: float) -> None:
        self.seconds, self._once = seconds, once

    def learn(self, seconds: float, items: int) -> None:
        """So long did some items take."""
        seconds, self._once = max(seconds - self._once, 0.0), 0.0
        self.seconds += 0.3 * (seconds / max(items, 1) - self.seconds)

    def of(self, items: int) -> float:
        """How long some items are going to take."""
        return self._once + self.seconds * max(items, 1)
