"""How long a method is left alone, where its programs do not pay, or not yet.

In: what calls without a program tell, and what the account asks for. Out: for how many calls nobody
looks at the method, and why. What may not happen: a method that is left alone for good, though it
could be served later.
"""

from __future__ import annotations

LEFT_ALONE = "left alone for a while: no program was found for earlier calls, or none has paid"
PATIENCE = 16  # calls in a row without a program, until the method is left alone for a while
LONGEST = 1024  # calls for which it is left alone at most
_FIRST, _LONG = 4, 8  # calls at first; and after more than so many, a few without a program will do


class Sleep:
    """Of one method: the calls that are still to be left alone, or 0."""

    def __init__(self) -> None:
        self.calls, self.why = 0, LEFT_ALONE
        self.rests = False  # since programs are slower
        self.unseen = 0  # calls of which the arguments are not looked at meanwhile
        self._in_vain = 0  # calls in a row without a program
        self._next = _FIRST

    def begins(self, calls: int, why: str) -> None:
        """Leave it alone for so many calls, or for fewer, if it is asleep; but let it rest."""
        if self.rests and self.calls:
            return
        self.calls, self.why, self.rests = min(self.calls or calls, calls), why, False

    @property
    def rests_now(self) -> bool:
        """Whether programs are left alone since they are slower."""
        return self.rests and self.calls > 0

    def begins_to_rest(self, calls: int) -> None:
        """Programs make it slower: for so many calls."""
        self.calls, self.why, self.rests = calls, LEFT_ALONE, True

    def is_served(self) -> None:
        """A program has served a call."""
        self._in_vain, self._next = 0, _FIRST

    def was_in_vain(self) -> None:
        """No program has served a call."""
        self._in_vain += 1

    def may_begin(self, longest: int) -> None:
        """After some such calls in a row: for twice as long each time, or as the ``longest``."""
        if self._in_vain >= PATIENCE:
            self.calls, self.why, self.rests = self._next, LEFT_ALONE, False
            self._next = min(2 * self._next, longest)
            if self._next > _LONG:
                self._in_vain = PATIENCE - 4

    def wakes(self) -> None:
        """It is looked at again."""
        self.calls = 0
