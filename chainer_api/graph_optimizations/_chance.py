"""Chance that nobody else notices.

In: a seed. Out: numbers as good as drawn. What may not happen: a draw from the user's generators.
"""

from __future__ import annotations


class Chance:
    """Numbers that look as if they were random: a linear congruential generator.

    >>> from chainer.graph_optimizations._chance import Chance
    >>> one, other = Chance(1), Chance(1)
    >>> thrown = [one.below(6) for _ in range(100)]
    >>> set(thrown) == {0, 1, 2, 3, 4, 5}, thrown == [other.below(6) for _ in range(100)]
    (True, True)
    """

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, n: int) -> int:
        """One of 0, ..., ``n - 1``."""
        self._state = (1103515245 * self._state + 12345) & 0x7FFFFFFF
        return (self._state >> 8) % n
