"""Calls of decorated methods that are computed together with one before them.

In: a call that is computed late (see :mod:`_late`), what comes after it, and among that further
calls that go without their Python. Out: for each of these a *joint*: where the functions of such a
call stand on the tree of what comes after the first one, so that it only has to give promises. What
may not happen: a guard that reads the values of a promise; a call that is taken for another one.
"""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from chainer import _tracing
from chainer.function_node import next_number

from ._carrier import Carrier, NotJoined
from ._device import ARRAYS
from ._errors import errors
from ._limits import are_within
from ._residual import MISS, defined
from ._settings import settings_now
from ._tree import specs_of

if TYPE_CHECKING:
    from ._late import Following, Late
    from ._proof import Proof
    from ._site import Site
    from ._tree import Application

_FIT = re.compile(r"if not fit\(\(layout\d+, (v\d+)\)\): return .*")
_ARRAY_OF = re.compile(r"(v\d+) = (v\d+)\._array")
#: What may be asked of a Variable whose values are not there.
_OF_FORM = re.compile(r"type\(X\)|id\(X\)|\bX\._requires_grad\b|\bX\._array\b|^\s*X = .*")


def has_some(site: Site) -> bool:
    """Whether calls of a method may be joined to others: some go briefly."""
    return bool(site.proofs.brief)


def joint_of(site: Site, begin: Application, end: Application) -> Joint | None:
    """That of a call whose functions were noted after ``begin``; None if there can be none."""
    for proof in site.proofs.brief:
        found = proof.shortcut.found
        if found is not None and _code_of(found[1], proof.late) is not None:
            try:
                return Joint(site, proof, begin, end)
            except LookupError:
                pass
    return None


class Joint:
    """Where the functions of a call stand after ``begin``, on the tree of what follows another.

    Raises:
        LookupError: They are not those of the proof, or take something else.
    """

    def __init__(self, site: Site, proof: Proof, begin: Application, end: Application) -> None:
        self._site, self._proof = weakref.ref(site), weakref.ref(proof)
        self._end, self._settings = end, proof.settings
        path, own = end.path(begin.depth + 1), proof.app.path(1)
        slots = _slots_of(own, path)
        specs, here, self._first = specs_of(own), specs_of(end.path(1)), path[0].first_slot
        outputs = {slot for app in own for slot in app.output_slots}
        taken = {slot: there for slot, there in slots.items() if slot not in outputs}
        for slot, there in taken.items():
            if specs[slot] != here[there]:
                raise LookupError(slot)
        #: What was there before the call: slots of the call, and here.
        self._known = [pair for pair in taken.items() if pair[1] < self._first]
        back = {there: slot for slot, there in slots.items()}
        if len(back) < len(slots) or max(back) - self._first + 1 + len(self._known) != len(back):
            raise LookupError(self._first)
        #: Slots of the call in the order of those here, from the first on that is new.
        self._order = [back[there] for there in range(self._first, max(back) + 1)]
        #: Of what is new and comes from outside: both slots, and whether it is an array.
        self._leaves = [
            (slot, there, specs[slot].kind in ARRAYS)
            for slot, there in taken.items() if there >= self._first]
        views = {slot: leaf for app in end.path(1) for slot, leaf in app.views.items()}
        #: Slots of what somebody may have written since it was used before.
        self._again = list(dict.fromkeys(
            [s for _, there in self._known for s in (there, views.get(there, there))]))
        self._draws = [(a, b) for a, b in zip(own, path, strict=True) if a.draws]

    def is_of(self, site: Site) -> bool:
        """Whether it is for calls of a method of this very object."""
        return self._site() is site

    def is_of_calls_like(self, late: Late) -> bool:
        """Whether it is for calls of the proof of others."""
        proof = self._proof()
        return proof is not None and proof.late is late

    def is_like(self, other: Joint) -> bool:
        """Whether it is for the same calls."""
        return self._proof() is other._proof() and self._end is other._end

    def call(self, run: Following, site: Site, chain: Any, args: Any, kw: Any) -> Any:
        """The result of the call that comes next in a run; MISS if it is another one.

        Nothing has happened then, but that what is pending may have been computed.
        """
        proof = self._proof()
        found = None if proof is None else proof.shortcut.found
        if found is None or not proof.goes_briefly(found) or settings_now() is not self._settings:
            return MISS
        if run.settings is not self._settings:
            run.check_settings()
        if errors() is not run.errors or warnings.filters is not run.warns.filters:
            return MISS
        code = _code_of(found[1], proof.late)
        if code is None or run.is_over():
            return MISS
        run.joint = self, proof.late
        carrier = Carrier(rests=True)
        result = code(chain, args, kw, carrier)
        if result is not MISS:
            proof.uses += 1
            site.ledger.without_python += 1
            site.account.let_pass(1)
        return result

    def take(self, run: Following, late: Late, carrier: Carrier) -> None:
        """Have what a call has be the next values of a run, and its results be promises.

        Raises:
            NotJoined: The call takes something else than it did.
        """
        given, values, bound = carrier.values, run.values, run.bound
        if len(values) != self._first or any(
                [given[slot] is not values[there] for slot, there in self._known]):
            raise NotJoined
        for slot, _, is_array in self._leaves:
            x = given[slot]
            if id(x) in bound or id(x) in run.given or not is_array and (
                    type(x._array) is _tracing.Promise):
                raise NotJoined
        if late.limits and not are_within(given, late.limits):
            raise NotJoined
        for there in self._again:
            self._guards_again(run, there)
        if run.is_over() or run.first > 1:  # something was written, and what is pending computed
            raise NotJoined
        for slot, promise in late.promises:
            given[slot]._array = promise
        values += [given[slot] for slot in self._order]
        for _, there, _ in self._leaves:
            bound[id(values[there])] = values[there]
            run.guard_leaf(there)
        number = next_number()
        run.places += [number + place for place in late.places]
        run.funcs += [None] * len(late.places)  # type: ignore[list-item]
        if self._draws:
            run.drawn += carrier.drawn
            run.states.update({there: carrier.states[own] for own, there in self._draws})
        run.app, run.step = self._end, self._end.go

    @staticmethod
    def _guards_again(run: Following, slot: int) -> None:
        x = run.values[slot]
        if slot in run.guards:
            run.guard_again(slot)
        elif type(x) in ARRAYS:
            run.guard(slot)
        elif run.handed and x is not None:
            run.guard_handed(slot)


class _Joins:
    """In the place of the program in the code of a call."""

    @staticmethod
    def run(carrier: Carrier) -> None:
        run = _tracing.state.run
        joint, late = run.joint
        joint.take(run, late, carrier)


def _code_of(replay: Any, late: Late) -> Any:
    """The code of calls that are joined to others, to which promises may be handed; or None."""
    try:
        return replay.joins
    except AttributeError:
        replay.joins = None
    if late.may_be_joined(replay):
        text = _for_promises(replay.text)
        names = {**replay.names, late.name: _Joins, "Promise": _tracing.Promise}
        replay.joins = defined(compile(text, "<chainwright joined>", "exec"), names, "brief")
    return replay.joins


def _for_promises(text: str) -> str:
    """Code for which promises will do, where nothing but the form of a Variable is asked for."""
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.lstrip().startswith("carrier.values"))
    guards = lines[:first]
    arrays: dict[str, list[str]] = {}  # by the Variable, the names that its array has
    for line in guards:
        if (m := _ARRAY_OF.fullmatch(line.strip())) is not None:
            arrays.setdefault(m[2], []).append(m[1])
    for k, line in enumerate(guards):
        if (m := _FIT.fullmatch(line.strip())) is None:
            continue
        of = [x for x, names in arrays.items() if m[1] in names]
        if len(of) == 1 and _are_asked_for_form(of[0], arrays[of[0]], guards):
            lines[k] = line.replace("if not", f"if type({m[1]}) is not Promise and not")
    return "\n".join(lines) + "\n"


def _are_asked_for_form(variable: str, arrays: Iterable[str], lines: list[str]) -> bool:
    """Whether lines ask a Variable and its array for nothing but what a promise has, too."""
    of_form = re.compile(_OF_FORM.pattern.replace("X", variable))
    for line in lines:
        if re.search(rf"\b{variable}\b", of_form.sub("", line)):
            return False
        for name in arrays:
            if re.search(rf"\b{name}\b", line) and not (
                    _FIT.fullmatch(line.strip()) or _ARRAY_OF.fullmatch(line.strip())):
                return False
    return True


def _slots_of(own: list[Application], path: list[Application]) -> dict[int, int]:
    """By the slots of a call, those of the same functions at another place.

    Raises:
        LookupError: They are others.
    """
    found: dict[int, int] = {}
    if len(own) != len(path):
        raise LookupError(len(path))
    for a, b in zip(own, path, strict=True):
        alike = a.kind is b.kind and a.settings is b.settings and a.images == b.images
        if not alike or a.images is None or a.arrays.keys() != b.arrays.keys() or (
                a.outputs != b.outputs or a.draws != b.draws or b.numbers):
            raise LookupError(b)
        one = [*a.inputs, *a.arrays.values(), *a.output_slots]
        other = [*b.inputs, *[b.arrays[key] for key in a.arrays], *b.output_slots]
        for slot, there in zip(one, other, strict=True):
            if found.setdefault(slot, there) != there:
                raise LookupError(slot)
    return found
