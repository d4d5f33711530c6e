"""Fewer and larger programs for calls that go without their Python.

In: the code of a proof, and where programs run in it. Out: what these programs would have to give
if no local variable of the method held anything, and the code with such programs. A Variable that
only the method's Python holds cuts a program into pieces, of which each takes its time; so does a
value that is read, even if it is only handed to the next function. What may not happen: a value
left out that the rest of the code, or anybody after the call, could ask for. So a value is left out
only where its name stands nowhere, and programs are joined only where all that stands between them
is understood.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from chainer.variable import Variable

from ._ahead import DISTINCT, distinct_of
from ._plan import groups_of
from ._safe import gives_new
from ._specs import Spec
from ._tree import Application, reads, specs_of

_ARRAY = re.compile(r"\s*(v\d+) = ([sv]\d+)\._array")
_VARIABLE = re.compile(r"\s*(v\d+) = Variable\((v\d+)(?:, requires_grad=\w+)?\)")
_OF_KIND = re.compile(r"if type\((v\d+)\) is not (k\d+): return .*")
_OF_LAYOUT = re.compile(
    r"if type\((v\d+)\) is not ndarray or \1\.shape != k\d+ or \1\.dtype is not (k\d+) and "
    r"\1\.dtype != \2 or \1\.strides != k\d+: return .*"
)
_OF_GRADIENT = re.compile(r"if (v\d+)\._requires_grad is not \w+: return .*")
#: What may stand between programs that are joined: guards, reads, what makes new values, draws.
_HARMLESS = [re.compile(rf"\s*{text}") for text in (
    r"if .*: return .*",
    r"v\d+ = [\w.]+(\[[^][()]*\])*",
    r"v\d+ = -?[\w.]+( [-+*/%<>=!]{1,2} -?[\w.]+)*",
    r"v\d+ = v\d+\.(astype|copy)\(.*\)",
    r"carrier\.first_state = first_state\(\)",
    r"carrier\.(numbers|states)\[.*\] = .*",
    r"carrier\.drawn\.append\(.*\)",
)]  # fmt: skip
_CALL = re.compile(r"\s*v\d+ = (\w+)\(.*\)")
_TOGETHER = 8  # programs that may be joined into one


class Ran(NamedTuple):
    """Where a program runs in the code of a proof: numbers of lines, what stands for values.

    ``names`` are those of the values from the slot ``placed`` on, ``variables`` the lines that make
    the results.
    """

    app: Application
    first: int
    plan: Any
    placed: int
    names: list[str]
    variables: dict[int, int]
    values_at: int
    run_at: int
    then: str


class Need(NamedTuple):
    """What a program, in the place of those that ``ran`` one after the other, has to give.

    Of ``arrays`` only the arrays are wanted. ``same`` are slots of arrays that are those of results
    of the program itself. Pieces end at ``ends`` alone, of the results from which others are
    computed; None: at all of them.
    """

    ran: list[Ran]
    slots: frozenset[int]
    arrays: frozenset[int]
    same: dict[int, int]
    ends: Set[int] | None

    @property
    def app(self) -> Application:
        return self.ran[-1].app

    @property
    def first(self) -> int:
        return self.ran[0].first

    @property
    def apps(self) -> list[Application]:
        return self.app.path(self.first)

    @property
    def fewer(self) -> int:
        """How many pieces are spared."""
        pieces = sum([len(ran.plan.pieces) for ran in self.ran])
        return pieces - len(list(groups_of(self.apps, self.slots, self.ends, self.arrays)))


class Code:
    """The lines of a proof's code, the objects that they name, and the programs."""

    def __init__(self, lines: Sequence[str], names: dict[str, Any], ran: Sequence[Ran]) -> None:
        self.lines, self._names, self.ran = lines, names, ran
        self._specs = specs_of(ran[-1].app.path(1))

    @functools.cached_property
    def _words(self) -> list[Set[str]]:
        """What stands in each line behind the first program."""
        first = self.ran[0].run_at
        return [set[str]()] * first + [_words_of(line) for line in self.lines[first:]]

    @functools.cached_property
    def _named(self) -> list[tuple[str, str]]:
        """Names of arrays of Variables, and of Variables of arrays; and of what they are."""
        lines = self.lines[self.ran[0].run_at :]
        found = [_ARRAY.fullmatch(line) or _VARIABLE.fullmatch(line) for line in lines]
        return [(m[1], m[2]) for m in found if m is not None]

    def needs(self) -> list[Need]:
        """What programs have to give that are to be joined, or cut into fewer pieces."""
        found: list[Need] = []
        at = 0
        while at < len(self.ran):
            for end in range(min(len(self.ran), at + _TOGETHER), at, -1):
                need = self._need(self.ran[at:end])
                if need is not None and (need.fewer > 0 or end == at + 1):
                    break
            if need is not None and need.fewer > 0:
                found.append(need)
            at = end
        return found

    def _need(self, group: Sequence[Ran]) -> Need | None:
        """What one program has to give in the place of some; None if they cannot be joined."""
        same: dict[int, int] = {}
        for k, after in enumerate(group[1:], 1):
            found = self._between(group[:k], after)
            if found is None:
                return None
            same |= found
        last, apps = group[-1], group[-1].app.path(group[0].first)
        behind = range(last.run_at + 1, len(self.lines))
        rest = [k for k in behind if DISTINCT.fullmatch(self.lines[k]) is None]
        words = set[str]().union(*[self._words[k] for k in rest])
        later = {
            slot for ran in self.ran if ran.app.depth > last.app.depth
            for app in ran.app.path(ran.first) for slot in reads(app)
        }
        made = {slot for app in apps for slot in app.output_slots}
        named = self._arrays_of(group)
        held = {slot for name, slot in named.items() if name in words}
        slots = {slot for slot in made if slot in later or slot in held or f"s{slot}" in words}
        text = "\n".join([self.lines[k] for k in rest])
        arrays = {slot for slot in slots - later if _is_read_as_array(f"s{slot}", text)}
        if same and (held or not _are_inside(apps, slots, same)):
            return None
        ends = None if some_leaf_comes_again(apps) else ends_of(last.app, group[0].first)
        return Need(group, frozenset(slots), frozenset(arrays), same, ends)

    def _arrays_of(self, group: Sequence[Ran]) -> dict[str, int]:
        """The names of arrays of results, and of Variables of these, and the slots of results."""
        known = {f"s{slot}": slot for ran in group for slot in ran.plan.results}
        found: dict[str, int] = {}
        for name, of in self._named:
            if of in known:
                found[name] = known[name] = known[of]
        return found

    def _between(self, group: Sequence[Ran], after: Ran) -> dict[int, int] | None:
        """The arrays of results that the next program takes; None if more is between them."""
        last, arrays = group[-1], self._arrays_of(group)
        if any([piece.written for piece in last.plan.pieces]):
            return None
        secret = {*arrays, *[f"s{slot}" for ran in group for slot in ran.plan.results]}
        block = {*after.variables.values(), after.values_at}
        for k in range(last.run_at + 1, after.run_at):
            line = self.lines[k]
            if k in block or self._says_nothing(line, arrays):
                continue
            if not self._is_harmless(line) or not secret.isdisjoint(self._words[k]):
                return None
        names = enumerate(after.names, after.placed)
        same = {slot: arrays[name] for slot, name in names if name in arrays}
        written = {slot for app in after.app.path(after.first) for slot in app.writes}
        if not same.keys() <= self._specs.keys():
            return None  # a function that is applied by itself takes it
        alike = [_layout(self._specs[s]) == _layout(self._specs[of]) for s, of in same.items()]
        return same if all(alike) and written.isdisjoint(same) else None

    def _is_harmless(self, line: str) -> bool:
        """Whether it may stand before a program as well as behind it."""
        if (m := _CALL.fullmatch(line)) is not None:
            return m[1] in ("int", "float", "len", "min", "max") or gives_new(self._names.get(m[1]))
        return any(text.fullmatch(line) for text in _HARMLESS)

    def _says_nothing(self, line: str, arrays: dict[str, int]) -> bool:
        """Whether it gives an array of a result a name, or tells what is known of such a one."""
        line = line.strip()
        if line == "pass" or DISTINCT.fullmatch(line) is not None:
            return True
        if (m := _OF_KIND.fullmatch(line)) is not None:
            return m[1] in arrays and self._names[m[2]] in (np.ndarray, Variable)
        for told in (_ARRAY, _VARIABLE, _OF_LAYOUT, _OF_GRADIENT):
            if (m := told.fullmatch(line)) is not None:
                return m[1] in arrays
        return False

    def written_with(self, needs: Sequence[Need], plans: Sequence[Any]) -> list[str]:
        """The code with other programs; their names are ``lean<k>``."""
        lines = [[line] for line in self.lines]  # what stands in the place of each
        for k, (need, plan) in enumerate(zip(needs, plans, strict=True)):
            self._write(lines, need, plan, f"lean{k}")
        return [line for there in lines for line in there]

    def _write(self, lines: list[list[str]], need: Need, plan: Any, name: str) -> None:
        drawn, indent = "", self.lines[need.ran[0].run_at].partition("k")[0]
        for ran in need.ran:
            gone = {slot for slot in ran.variables if slot not in plan.given}
            for slot in gone:
                lines[ran.variables[slot]] = []
            names = dict(enumerate(ran.names, ran.placed))
            more = [s for s in names if s in plan.given and s not in ran.variables]
            names |= {slot: "None" for slot in (*gone, *need.same) if slot in names}
            names |= {slot: f"s{slot}" for slot in more}  # other pieces, or proofs, need them
            lines[ran.values_at] = [
                *[f"{indent}{variable_line(s, self._specs[s].requires_grad)}" for s in more],
                f"{indent}carrier.values += [{', '.join(names.values())}]",
            ]
            lines[ran.run_at] = []
            drawn = ran.then or drawn
        first, last = need.ran[0].run_at, need.ran[-1].run_at
        lines[last] = [f"{indent}{name}.run(carrier){drawn}"]
        arrays = self._arrays_of(need.ran)
        for k in range(first + 1, len(lines) if need.same else last):
            there = "".join(lines[k])  # which other needs may have changed
            slots = {arrays[word] for word in _words_of(there) if word in arrays}
            if not slots:
                continue
            if not need.same:  # what names results, or says what they are, comes behind them
                lines[last] += lines[k] if slots <= plan.given else []
                lines[k] = []
            elif DISTINCT.fullmatch(there):
                lines[k] = [distinct_of(there, lambda name: name not in arrays)]
            else:
                lines[k] = []


def variable_line(slot: int, requires_grad: bool | None) -> str:
    """The Variable of a result."""
    return f"s{slot} = new(Variable); s{slot}._requires_grad = {requires_grad}"


def some_leaf_comes_again(apps: Sequence[Application]) -> bool:
    """Whether a program may add several gradients of one leaf, as long as pieces end early."""
    specs = specs_of(apps[-1].path(1))
    made = {slot for app in apps for slot in app.output_slots}
    taken = Counter(slot for app in apps for slot in app.inputs)
    return any(
        n > 1 and slot not in made and specs[slot].requires_grad for slot, n in taken.items())


def ends_of(app: Application, first: int) -> Set[int]:
    """Where it was seen before that pieces have to end."""
    plan = app.plans.get(-first)
    if plan is None or plan.ends is None:
        return frozenset()
    return frozenset(plan.ends).union(*[piece.ends for piece in plan.pieces])


def _are_inside(apps: Sequence[Application], slots: Set[int], same: dict[int, int]) -> bool:
    """Whether arrays that are those of results are taken by the piece that makes these.

    Nobody else may have them: who can reach an array may write into it, and backward would have to
    see that.
    """
    for group, results, _ in groups_of(apps, slots):
        made = {slot for app in group for slot in app.output_slots}
        taken = {same[slot] for app in group for slot in reads(app) if slot in same}
        if not taken <= made - results:
            return False
    return True


def _words_of(line: str) -> Set[str]:
    return {*re.findall(r"\w+", line)}


def _is_read_as_array(name: str, text: str) -> bool:
    """Whether all that is asked of a Variable is its array."""
    return all(re.findall(rf"\b{name}\b(\._array\b)?", text))


def _layout(spec: Spec) -> tuple[Any, ...]:
    return spec.shape, spec.dtype, spec.strides, spec.gpu
