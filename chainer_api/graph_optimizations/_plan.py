"""What is computed at a sync point, as pieces.

In: applications that lie between two sync points, and what somebody holds. Out: a :class:`Plan`,
whose pieces are cut so that the graph among what is held is define-by-run's. What may not happen: a
Variable that somebody can reach inside of a piece.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import TYPE_CHECKING

from ._account import Account
from ._piece import Piece
from ._specs import Spec
from ._tree import Application, reads
from ._values import copied

if TYPE_CHECKING:
    from ._run import Run


class Plan:
    """What is computed at a sync point: pieces, cut where somebody keeps a Variable.

    So the graph among the Variables that a caller can reach is define-by-run's: ``grad`` with
    respect to a kept Variable, ``unchain`` of it, its gradient, need no rebuilt graph.
    """

    def __init__(
        self, name: str, apps: Sequence[Application], specs: dict[int, Spec],
        wanted: Iterable[int], account: Account, names: dict[int, str],
        ends: Set[int] | None = None, arrays: Set[int] = frozenset(),
        same: dict[int, int] | None = None, piece_of: Callable[..., Piece] = Piece,
    ) -> None:
        self.apps, self.ends, self.names = apps, ends, names
        #: Results of which only the arrays are wanted; arrays taken that are those of results.
        self.arrays, self.same = arrays, same
        self.slots = [slot for app in apps for slot in app.output_slots]
        self.wanted = set(wanted)
        self.results = frozenset(self.wanted)
        self.pieces: list[Piece] = []
        for group, results, apart in groups_of(apps, self.results, ends, arrays):
            piece = piece_of(
                name, group, specs, results, account, names, ends is not None, apart, same)
            self.pieces.append(piece)
        #: Slots of all values that pieces give: the results, and what one piece needs of another.
        self.given = frozenset().union(*[piece.results for piece in self.pieces])
        #: Slots of what is written before the last piece runs, which may fail.
        self._written_early = {s for piece in self.pieces[:-1] for s in piece.written}
        self.dropped = False
        self.guessed = False  # whether nobody has seen yet what is held where it runs

    def all_pieces(self) -> list[Piece]:
        """The pieces, and those in which gradients of their results are differentiated."""
        return [one for piece in self.pieces for one in piece.with_backward()]

    def compiled_pieces(self) -> list[Piece]:
        """Those of all that have programs already."""
        return [piece for piece in self.all_pieces() if piece.schedule is not None]

    def ready(self) -> bool:
        """Whether the programs are there and trusted, or wait for the first backward."""
        if self.dropped:
            return False
        for piece in self.pieces:
            if piece.dropped:
                return False
        return True

    def run(self, run: Run) -> None:
        """Compute the results.

        Raises:
            FloatingPointError: The functions are to be applied, which tell of it.
        """
        drawn, places = run.drawn, run.places
        if len(self.pieces) == 1:
            piece = self.pieces[0]
            piece.run(run, drawn, places and places[: len(piece.apps)])
            return
        before = [(run.values[slot], copied(run.values[slot])) for slot in self._written_early]
        guards = {slot: run.guards[slot] for slot in self._written_early if slot in run.guards}
        try:
            for piece in self.pieces:
                n, m = piece.draws, len(piece.apps)
                piece.run(run, drawn[:n], places[:m])
                drawn, places = drawn[n:], places[m:]
        except BaseException:
            for array, copy in before:  # who applies the functions instead writes them again
                array[...] = copy
            run.guards.update(guards)
            raise


def groups_of(
    apps: Sequence[Application], results: Set[int], ends_of_coarse: Set[int] | None = None,
    arrays: Set[int] = frozenset(),
) -> Iterable[tuple[list[Application], set[int], set[int]]]:
    """The applications of each piece, the slots that it gives, and those outside of its graph.

    Of ``arrays``, some of the results, only the arrays are wanted: they are no part of the graph,
    as far as no later piece takes them.
    What takes part in no gradient is no part of anybody's graph.
    In coarse pieces one result may be computed from another one, if that is not one of the
    ``ends``: where gradients might be added in another order, the engine has them dissolved.
    """
    ends = {
        slot for app in apps for slot, spec in zip(app.output_slots, app.outputs, strict=True)
        if spec.requires_grad and slot in results and slot not in arrays}
    if ends_of_coarse is not None:
        ends.intersection_update(ends_of_coarse)
    while True:
        groups: list[list[Application]] = [[]]
        for k, app in enumerate(apps):
            groups[-1].append(app)
            kept = ends.intersection(app.output_slots)
            if kept and any(kept.intersection(reads(a)) for a in apps[k + 1 :]):
                groups.append([])
        groups = [g for g in groups if g]
        more = _used_on_both_sides(groups) - ends
        if not more:
            break
        ends |= more
    for k, group in enumerate(groups):
        made = {slot for app in group for slot in app.output_slots}
        later = {slot for g in groups[k + 1 :] for app in g for slot in reads(app)}
        yield group, made & (results | later), made & arrays - later


def _used_on_both_sides(groups: list[list[Application]]) -> set[int]:
    """Slots of values that are used in the group that makes them, and behind it.

    Where there are three uses and more, the order in which their gradients are added up matters.
    A group adds up those of its own, and what comes from behind it is added up before.
    """
    found = set()
    for k, group in enumerate(groups):
        made = {slot for app in group for slot in app.output_slots}
        inside = Counter(s for app in group for s in app.inputs if s in made)
        behind = Counter(s for g in groups[k + 1 :] for app in g for s in app.inputs if s in made)
        found |= {s for s in inside.keys() & behind.keys() if inside[s] + behind[s] > 2}
    return found
