"""Makes the programs of a method's ways: of its calls as they come, of any sizes, or anew.

In: a way through the method, and what somebody held at its sync points. Out: programs at these
points, an account of what they took, a line in the report. What may not happen: a call that fails
because a program could not be made; it goes on as before.
"""

from __future__ import annotations

import functools
import gc
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from chainwright.runtime import pass_on

from ._account import ANY_SIZE, COMPILING, Account, clock
from ._any_size import AnySizePiece, AnySizes, Kind, Refused, TooFew, probes_for
from ._lean import Need
from ._piece import Piece
from ._plan import Plan
from ._report import label_of, line_of
from ._run import Sync
from ._specs import Spec
from ._trace import Untraceable
from ._tree import Application, specs_of

logger = logging.getLogger("chainwright")
Method = TypeVar("Method", bound=Callable[..., Any])


def without_collection(method: Method) -> Method:
    """Let the garbage collector rest meanwhile: it would take a fifth of the time, in vain.

    Neither do finalizers of the user's come in the middle, and call compiled methods themselves.
    """

    @functools.wraps(method)
    def call(*args: Any) -> Any:
        was = gc.isenabled()
        gc.disable()
        try:
            return method(*args)
        finally:
            if was:
                gc.enable()

    return call


class Maker:
    """Makes the programs of one method."""

    def __init__(self, name: str, method: Callable[..., Any], account: Account) -> None:
        self._name, self._account, self._ledger = name, account, account.ledger
        self._method = method

    def _labels(self, pieces: Iterable[Piece]) -> str:
        """What a report calls them: what comes several times, once."""
        return "; ".join(dict.fromkeys(label_of(self._name, piece) for piece in pieces))

    @without_collection
    def of_way(self, syncs: Sequence[Sync], app: Application, names: dict[int, str]) -> bool:
        """Make the programs of the way to ``app`` up to its sync points; whether any are new.

        Raises:
            Untraceable: If numbers of a function must be constants.
        """
        started = clock()
        new = self._plans(syncs, app, names)
        if not new:
            return False
        seconds = clock() - started
        functions = sum([a.weight for piece in new for a in piece.apps])
        self._account.was_traced(functions)
        if all([piece.schedule is not None for piece in new]):
            COMPILING.learn(seconds, functions)
        reason = f"a way through the method was seen for the second time: {self._labels(new)}"
        self._ledger.add("compile", reason, line_of(self._method), seconds)
        return True

    @without_collection
    def of_any_size(self, kind: Kind, sizes: AnySizes) -> bool:
        """Make programs for calls that are the same but for lengths; whether there are any."""
        started, new, functions = clock(), list[Piece](), kind.functions
        why, missing = "none of its functions may be part of one", 0
        shortest = (1, 2) if kind.have_ones else (2,)
        known = kind.way if kind.lacks_programs_only else None
        bounds = [(widely, n) for n in shortest for widely in (True, False)]
        for widely, least in bounds[:1] if known else bounds:
            try:
                app = known or sizes.way(kind, widely, least)
                new = self._plans(kind.syncs_on(app), app, kind.names)
            except Refused as e:  # which itself would keep all frames of the call alive
                why, missing = str(e), e.missing if isinstance(e, TooFew) else 0
            except Exception as e:  # calls go on as they have until now
                pass_on(e)
                logger.warning("%s has no program for any sizes", self._name, exc_info=True)
                why, missing = "please report what the log says", 0
                break
            if new:
                sizes.has(kind, app)
                break
        seconds = clock() - started
        if not new:
            kind.failed(missing)
            reason = f"no program for any sizes: {why}"
            self._ledger.add("define-by-run", reason, line_of(self._method), seconds)
            return False
        ANY_SIZE.learn(seconds, functions * probes_for(kind.lengths))
        reason = f"the same functions have come with arrays of other sizes: {self._labels(new)}"
        self._ledger.add("compile", reason, line_of(self._method), seconds)
        return True

    def were_made(self, phrases: Iterable[tuple[Plan, float]]) -> None:
        """Programs of phrases have been made, in so many seconds each."""
        for plan, seconds in phrases:
            COMPILING.learn(seconds, sum([a.weight for a in plan.apps]))
            reason = f"functions that come again and again: {self._labels(plan.pieces)}"
            self._ledger.add("compile", reason, line_of(self._method), seconds)

    def _plans(
        self, syncs: Sequence[Sync], app: Application, names: dict[int, str]
    ) -> list[Piece]:
        """Make the programs of the way to ``app`` up to its sync points; gives what is new.

        Raises:
            Untraceable: If numbers of a function must be constants, or lengths must be.
        """
        path = app.path(1)
        specs, piece_of = _specs_and_pieces(app)
        waiting, new = list(syncs), list[Piece]()
        while waiting:
            sync = waiting.pop(0)
            if sync.app.depth < sync.first:
                continue
            old = sync.app.plans.get(sync.first)
            if old is not None and (not old.ready() or sync.alive <= old.wanted):
                continue  # calls that are noted come here, too
            wanted = sync.alive | (old.wanted if old is not None else frozenset())
            apps = sync.app.path(sync.first)
            eager = next((a for a in apps if a.eager is not None), None)
            if eager is not None:
                waiting[:0] = _split(sync, eager, path)
                continue
            try:
                plan = Plan(
                    self._name, apps, specs, wanted, self._account, names, piece_of=piece_of)
                plan.guessed = sync.guessed
                sync.app.plans[sync.first] = plan
                new += plan.pieces
            except Untraceable as e:
                eager = path[e.app.depth - 1]
                # Of any sizes, what is traced are copies; the others speak of all of a piece.
                if app.sizes is not None and (e.app is eager or not e.app.fails):
                    raise
                if e.app.numbers and e.app.parent is not None:
                    raise
                if eager.eager is None:
                    eager.eager = str(e)
                    eager.renew()
                    self._ledger.add("opaque", f"{e.app.label}: {e}", e.app.origin.place)
                waiting.insert(0, sync)
        return new

    @without_collection
    def lean(self, needs: Sequence[Need], names: dict[int, str], why: str) -> list[Plan] | None:
        """Make programs for calls that go without their Python; None if that does not work.

        ``why`` is for the report.
        """
        started, found = clock(), list[Plan]()
        for need in needs:
            try:
                found.append(self._lean_plan(need, names))
            except Refused:
                return None
        seconds = clock() - started
        functions, sizes = sum([a.weight for plan in found for a in plan.apps]), needs[0].app.sizes
        if sizes is None:
            COMPILING.learn(seconds, functions)
        else:
            ANY_SIZE.learn(seconds, functions * probes_for(len(sizes.all)))
        labels = self._labels([piece for plan in found for piece in plan.pieces])
        self._ledger.add("compile", f"{why}: {labels}", line_of(self._method), seconds)
        return found

    def _lean_plan(self, need: Need, names: dict[int, str]) -> Plan:
        old = need.app.plans.get(-need.first)
        slots, arrays = need.slots, need.arrays
        if old is not None and old.ready() and (old.same, old.ends) == (need.same, need.ends):
            if need.slots <= old.wanted and need.arrays >= old.arrays & need.slots:
                return old
            slots, wanted = slots | old.wanted, (slots - arrays) | (old.wanted - old.arrays)
            arrays = slots - wanted
        specs, piece_of = _specs_and_pieces(need.app)
        plan = Plan(
            self._name, need.apps, specs, slots, self._account, names, need.ends, arrays, need.same,
            piece_of)
        need.app.plans[-need.first] = plan
        return plan

    @without_collection
    def renew(self, piece: Piece) -> None:
        """Make programs for the kinds of backward that have come."""
        started, traced = clock(), piece.traced_in if piece.schedule is None else 0.0
        try:
            piece.renew()
        except Untraceable as e:  # what could be traced once can be traced again
            piece.dropped = True
            self._ledger.add("define-by-run", str(e), e.app.origin.place)
        seconds = clock() - started
        if traced:
            COMPILING.learn(traced + seconds, sum([a.weight for a in piece.apps]))
        reason = f"a new kind of backward has come: {label_of(self._name, piece)}"
        self._ledger.add("compile", reason, line_of(self._method), seconds)


def _specs_and_pieces(app: Application) -> tuple[dict[int, Spec], type[Piece]]:
    """What the values on the way to ``app`` look like, and which kind of pieces it has."""
    return specs_of(app.path(1)), AnySizePiece if app.sizes is not None else Piece


def _split(sync: Sync, eager: Application, path: list[Application]) -> list[Sync]:
    """The sync points before and after an application that is no part of a program."""
    assert eager.parent is not None
    later = {s for a in path[eager.depth - 1 :] for s in (*a.inputs, *a.arrays.values())}
    made = {s for a in path[sync.first - 1 : eager.depth - 1] for s in a.output_slots}
    alive = frozenset(made & (later | sync.alive))  # the method's variables may hold more
    before = sync._replace(app=eager.parent, alive=alive, guessed=True)
    return [before, sync._replace(first=eager.depth + 1)]
