"""Lengths that are not known yet: polynomials of symbols, in the shapes of a graph of any sizes.

In: the lengths of a first probe, and what they are in terms of the symbols. Out: integers that
print as expressions, so that whatever is written of them holds for any sizes. What may not happen:
two different polynomials that are taken for equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Probe = Sequence[int]
#: A coefficient for each product of symbols, which is a sorted tuple of their numbers.
Terms = tuple[tuple[tuple[int, ...], int], ...]


def symbol(k: int) -> str:
    """The name of a symbol in texts."""
    return f"size{k}"


class Size(int):
    """A length that is a polynomial of symbols; as an integer it is that of the first probe.

    Two are equal if their polynomials are.

    >>> from chainwright.ir.size import Size
    >>> n, m = Size(7, (((0,), 1),)), Size(7, (((1,), 1),))
    >>> n, n == m, n == 7, n == Size(7, (((0,), 1),))
    (size0, False, True, True)
    >>> Size(141, (((0, 1), 3), ((), -6)))
    (3 * size0 * size1 - 6)
    """

    terms: Terms

    def __new__(cls, value: int, terms: Terms) -> Size:
        made = super().__new__(cls, value)
        made.terms = terms
        return made

    def __eq__(self, other: object) -> bool:
        return self.terms == other.terms if type(other) is Size else int.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return self.terms != other.terms if type(other) is Size else int.__ne__(self, other)

    __hash__ = int.__hash__

    def __repr__(self) -> str:
        parts = []
        for symbols, factor in self.terms:
            names = [symbol(k) for k in symbols]
            factors = names if names and abs(factor) == 1 else [str(abs(factor)), *names]
            sign = "- " if factor < 0 else "+ " if parts else ""
            parts.append(sign + " * ".join(factors))
        text = " ".join(parts)
        return text if text.isidentifier() else f"({text})"

    def at(self, probe: Probe) -> int:
        """The length for certain lengths of the symbols."""
        return sum([c * math.prod([probe[k] for k in symbols]) for symbols, c in self.terms])


class Share(float):
    """A number divided by a length: what makes a mean of a sum.

    >>> from chainwright.ir.size import Share, Size
    >>> Share(1.0, Size(4, (((0,), 1),)))
    (1.0 / size0)
    """

    dividend: float
    size: Size

    def __new__(cls, dividend: float, size: Size) -> Share:
        made = super().__new__(cls, dividend / int(size))
        made.dividend, made.size = dividend, size
        return made

    def __repr__(self) -> str:
        return f"({self.dividend!r} / {self.size!r})"

    def at(self, probe: Probe) -> float:
        """The number for certain lengths of the symbols."""
        return self.dividend / self.size.at(probe)


#: Numbers of which a graph knows the expression only.
UNKNOWN = frozenset({Size, Share})


def plain(value: Any) -> Any:
    """A Python scalar as NumPy takes it: of its own class, not one below it.

    >>> from chainwright.ir.size import Size, plain
    >>> type(plain(Size(7, (((0,), 1),))))
    <class 'int'>
    """
    return int(value) if type(value) is Size else float(value) if type(value) is Share else value


def at(value: Any, probe: Probe) -> Any:
    """A nested value with lengths in the place of polynomials.

    >>> from chainwright.ir.size import Size, at
    >>> at([(Size(7, (((0,), 2),)), 1), slice(None)], (5,))
    [(10, 1), slice(None, None, None)]
    """
    kind = type(value)
    if kind in UNKNOWN:
        return value.at(probe)
    if kind is tuple or kind is list:
        return kind([at(item, probe) for item in value])
    if kind is slice:
        return slice(at(value.start, probe), at(value.stop, probe), at(value.step, probe))
    if kind is dict:
        return {key: at(item, probe) for key, item in value.items()}
    return value
