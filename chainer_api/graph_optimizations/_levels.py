"""Where the functions of a piece stand in the graph.

In: the ranks of its leaves. Out: those of its results, and the order in which backward comes to the
uses of the leaves. What may not happen: gradients that are added in another order than
define-by-run's.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._piece import Piece


class Levels:
    """Where functions of a piece stand in a graph in which its leaves have certain ranks."""

    _base: Levels | None = None
    _by = 0

    def __init__(self, piece: Piece, ranks: tuple[int, ...]) -> None:
        self._of = dict(zip(piece._node_leaves, ranks, strict=True))
        self._piece = piece
        self.highest = max(ranks, default=0)
        #: The ranks of the chained results.
        self.heights = [1 + self._rank(far) for far in piece.distances]

    def moved(self, by: int) -> Levels:
        """Where they stand if all leaves above 0 are higher: so is what is computed from these.

        All of that has to be above all that is computed from leaves at 0.
        """
        made = object.__new__(Levels)
        made._base, made._by, made._piece = self, by, self._piece
        made.highest = self.highest + by
        made.heights = [
            h + by if moves else h for h, moves in zip(self.heights, self._moving[0], strict=True)]
        return made

    def _rank(self, far: Iterable[tuple[int, int]]) -> int:
        return max([self._of.get(slot, 0) + d for slot, d in far])

    @functools.cached_property
    def _moving(self) -> tuple[list[bool], list[bool]]:
        """Whether results, and the functions of the uses, are computed from leaves above 0."""
        results, uses = [
            [any([self._of.get(slot) for slot, _ in far]) for far in distances]
            for distances in (self._piece.distances, self._piece.use_distances)]
        return results, uses

    @functools.cached_property
    def places(self) -> list[tuple[int, float, int]]:
        """Of each use: the rank of its function, below 0, its part_of, and which input it is."""
        if self._base is not None:
            places = zip(self._base.places, self._base._moving[1], strict=True)
            return [(place[0] - self._by, *place[1:]) if moves else place
                    for place, moves in places]
        uses = zip(self._piece.use_distances, self._piece.use_positions, strict=True)
        return [(-self._rank(far), part, k) for far, (_, k, part) in uses]

    @functools.cached_property
    def order(self) -> Any:
        """Ranks of the leaves, where the order of sums inside depends on them."""
        if self._base is not None:  # nothing has come before anything else
            return self._base.order
        slots = self._piece.order_matters
        if not self.highest or not slots:
            return None
        return self._piece.normal_order(tuple([self._of[slot] for slot in slots]))


@functools.lru_cache(64)
def ranks_of(n: int) -> Any:
    """A function of nodes that gives their ranks; None if all are 0, as they are for the most."""
    names = [f"x{k}" for k in range(n)]
    some = " or ".join([f"{x}._rank" for x in names]) or "0"
    ranks = "".join([f"{x}._rank, " for x in names])
    return eval(f"lambda {', '.join(names)}: ({ranks}) if {some} else None")
