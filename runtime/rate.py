"""How long work of one kind takes here."""

from __future__ import annotations

_MANY = 16  # items, beside which the time that any number takes is small


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
        """So long did some items take: the fewer, the less it tells what each of many takes."""
        seconds, self._once = max(seconds - self._once, 0.0), 0.0
        weight = 0.3 * min(items / _MANY, 1.0)
        self.seconds += weight * (seconds / max(items, 1) - self.seconds)

    def of(self, items: int) -> float:
        """How long some items are going to take."""
        return self._once + self.seconds * max(items, 1)
