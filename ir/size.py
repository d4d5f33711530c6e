"""Lengths that are not known yet: polynomials of symbols, in the shapes of a graph of any sizes.

In: the lengths of a first probe, and what they are in terms of the symbols. Out: integers that
print as expressions, so that whatever is written of them holds for any sizes. What may not happen:
two different polynomials that are taken for equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

#: What is found out about nodes with gaps: their strides, in terms of the symbols.
STRIDES = "strides"
Probe = Sequence[int]
#: A coefficient for each product of symbols, which is a sorted tuple of their numbers.
Terms = tuple[tuple[tuple[int, ...], int], ...]


def symbol(k: int) -> str:
    """The name of a symbol in texts."""
    return f"size{k}"


class Size(int):
    """A length that is a polynomial of symbols; as an integer it is that of the first probe.

    Two are equal if their polynomials are. None is equal to a plain number, which it is at some
    sizes only.

    >>> from chainwright.ir.size import Size
    >>> n, m = Size(7, (((0,), 1),)), Size(7, (((1,), 1),))
    >>> n, n == m, n == 7, n == Size(7, (((0,), 1),))
    (size0, False, False, True)
    >>> Size(141, (((0, 1), 3), ((), -6)))
    (3 * size0 * size1 - 6)
    """

    terms: Terms

    def __new__(cls, value: int, terms: Terms) -> Size:
        made = super().__new__(cls, value)
        made.terms = terms
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is Size and self.terms == other.terms

    def __ne__(self, other: object) -> bool:
        return not self == other

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
    """A number that depends on a length ``n``: ``factor / n``, which makes a mean of a sum.

    Or, ``unbiased``, ``factor * (n / (n - 1))``, which makes the variance of a sample one of what
    it was drawn from. Two are equal if their expressions are; none is equal to a plain number.

    >>> from chainwright.ir.size import Share, Size
    >>> n = Size(4, (((0,), 1),))
    >>> Share(1.0, n), Share(0.5, n, unbiased=True)
    ((1.0 / size0), (0.5 * (size0 / (size0 - 1))))
    """

    factor: float
    size: Size
    unbiased: bool

    def __new__(cls, factor: float, size: Size, unbiased: bool = False) -> Share:
        made = super().__new__(cls, cls._number(factor, int(size), unbiased))
        made.factor, made.size, made.unbiased = factor, size, unbiased
        return made

    @staticmethod
    def _number(factor: float, n: int, unbiased: bool) -> float:
        if n == (1 if unbiased else 0):
            return math.nan  # there is no such mean
        return factor * (n / (n - 1)) if unbiased else factor / n

    @property
    def least(self) -> int:
        """The least length for which there is such a number."""
        return 2 if self.unbiased else 1

    def __eq__(self, other: object) -> bool:
        if type(other) is not Share:
            return False
        mine = self.factor, self.size, self.unbiased
        return mine == (other.factor, other.size, other.unbiased)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__

    def __repr__(self) -> str:
        if self.unbiased:
            return f"({self.factor!r} * ({self.size!r} / ({self.size!r} - 1)))"
        return f"({self.factor!r} / {self.size!r})"

    def at(self, probe: Probe) -> float:
        """The number for certain lengths of the symbols."""
        return self._number(self.factor, self.size.at(probe), self.unbiased)


#: Numbers of which a graph knows the expression only.
UNKNOWN = frozenset({Size, Share})


def plain(value: Any) -> Any:
    """A Python scalar as NumPy takes it: of its own class, not one below it.

    >>> from chainwright.ir.size import Size, plain
    >>> type(plain(Size(7, (((0,), 1),))))
    <class 'int'>
    """
    return int(value) if type(value) is Size else float(value) if type(value) is Share else value


def symbols_in(value: Any) -> set[int]:
    """The numbers of the symbols on which a nested value depends.

    >>> from chainwright.ir.size import Size, symbols_in
    >>> symbols_in([(Size(10, (((0,), 2),)), 1), slice(None, Size(9, (((3,), 1), ((), 2))))])
    {0, 3}
    """
    kind = type(value)
    if kind is Size:
        return {k for symbols, _ in value.terms for k in symbols}
    if kind is Share:
        return symbols_in(value.size)
    if kind is slice:
        value = (value.start, value.stop, value.step)
    elif kind is dict:
        value = [*value.values()]
    elif kind is not tuple and kind is not list:
        return set()
    return set().union(*map(symbols_in, value))


def source_of(value: Any, bind: Callable[[Any], str]) -> str:
    """An expression that gives a nested value for the symbols; ``bind`` names what has no text.

    >>> from chainwright.ir.size import Size, source_of
    >>> source_of([(Size(7, (((0,), 2),)), "x", None)], lambda value: "k0")
    '[((2 * size0), k0, None,)]'
    """
    kind = type(value)
    if kind in UNKNOWN or value is None or kind is int or kind is bool:
        return repr(value)
    if kind is slice:
        parts = [source_of(v, bind) for v in (value.start, value.stop, value.step)]
        return f"slice({', '.join(parts)})"
    if kind is dict:
        return f"{{{', '.join([f'{k!r}: {source_of(v, bind)}' for k, v in value.items()])}}}"
    if kind is tuple or kind is list:
        items = ", ".join([source_of(v, bind) for v in value])
        return f"[{items}]" if kind is list else f"({items}{',' * bool(value)})"
    return bind(value)


def function_of(value: Any, count: int) -> Callable[[Probe], Any]:
    """What :func:`at` does for one value and any lengths of so many symbols, as fast as can be.

    >>> from chainwright.ir.size import Size, function_of
    >>> function_of((Size(7, (((1,), 2),)), "x"), 2)([5, 6])
    (12, 'x')
    """
    names: dict[str, Any] = {}

    def bind(item: Any) -> str:
        name = f"k{len(names)}"
        names[name] = item
        return name

    symbols = "".join([f"{symbol(k)}, " for k in range(count)])
    text = source_of(value, bind)
    exec(f"def f(sizes):\n    {symbols and f'{symbols}= sizes'}\n    return {text}", names)
    return names.pop("f")  # which would hold itself, until garbage is collected


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
