"""Programs for what comes again and again within calls of which none is like another one.

In: what some calls have applied: sentences of other lengths in each batch, trees of any form. Out:
a tree of *phrases*, runs of functions that have come several times, with a program for each. A call
that goes no known way walks this tree from its root, again and again. What may not happen: that a
phrase means something else at one place than at another one.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from chainer.function_node import FunctionNode
from chainer.variable import Variable

from ._account import Account, clock
from ._plan import Plan, groups_of
from ._specs import Spec
from ._trace import Untraceable
from ._tree import Application, reads, specs_of

if TYPE_CHECKING:
    from ._run import Run, Sync

_LONGEST = 32  # functions in a phrase
_OFTEN = 3  # times that a phrase comes in the calls that were noted
_TEXTS, _WORDS = 64, 1200  # calls that are compared with each other, and functions in them
_ATTENTION = 4  # calls that are noted in a row
_MANY_MISSING = 0.2  # of the functions
_SHARE = 0.05  # of the functions of a call, that are expected where calls leave phrases often
_KNOWN = 16  # uses of a program, until it is known what it saves
_READINGS = 3  # until it is known which phrases calls follow when others are left out
_FUNCTIONS_OF_PIECE = 8  # of fewer functions, programs are hardly faster: calling one takes time
_COUNTS = 3  # calls of which the functions are counted, to begin with
_ENOUGH = 0.3  # of the functions: where fewer are part of phrases, to look for these takes longer
_PHRASES = {True: 256, False: 64}  # that keep programs: where memory is plentiful, and else
_IN_VAIN = 16  # calls that end at a place without a program, until it is asked what goes on there
_LARGEST = 4096  # words of a vocabulary, until it is begun anew

Made = tuple[Plan, float]  # a plan, and the seconds that it has taken


class Segment(NamedTuple):
    """A run of functions in a call.

    ``values`` are the slots of all values that it has to do with, in the order of appearance;
    ``pattern`` says, by their places there, what the functions are applied to. Two segments with
    the same words and the same pattern compute the same of other values.
    """

    words: tuple[int, ...]
    pattern: tuple[int, ...]
    values: tuple[int, ...]
    first: int  # of the call's functions

    def joined(self, other: Segment) -> Segment:
        """This one and the next."""
        places = {slot: k for k, slot in enumerate(self.values)}
        moved = [places.setdefault(slot, len(places)) for slot in other.values]
        pattern = (*self.pattern, *[moved[k] for k in other.pattern])
        return Segment(self.words + other.words, pattern, tuple(places), self.first)

    @property
    def what(self) -> Any:
        """Equal for segments that are the same."""
        return self.words, self.pattern


class Text:
    """The functions of one call, and their words: None for those that are no part of phrases."""

    def __init__(
        self, apps: list[Application], words: list[int | None], syncs: Sequence[Sync]
    ) -> None:
        self.apps, self.words = apps, words
        #: What the calls have stopped behind: no phrase goes on there.
        self.stops = {sync.app.depth for sync in syncs}
        # By slot: the last function that reads a value, by its number, or a sync point where it
        # was still there.
        self._kept_until: dict[int, int] = {}
        for k, app in enumerate(apps):
            for slot in reads(app):
                self._kept_until[slot] = k
        for sync in syncs:
            for slot in sync.alive:
                self._kept_until[slot] = max(self._kept_until.get(slot, 0), sync.app.depth)

    def segments(self) -> list[Segment | None]:
        """One for each function; None stands where none may be joined."""
        found = list[Segment | None]()
        for k, (app, word) in enumerate(zip(self.apps, self.words, strict=True)):
            if word is None or k in self.stops:
                found.append(None)
            if word is not None:
                values: dict[int, int] = {}
                pattern = [values.setdefault(s, len(values)) for s in reads(app)]
                for slot in app.output_slots:
                    values[slot] = len(values)
                found.append(Segment((word,), tuple(pattern), tuple(values), k))
        return found

    def wanted(self, first: int, end: int) -> set[int]:
        """The slots of what some functions give, and what somebody has after them."""
        made = {slot for app in self.apps[first:end] for slot in app.output_slots}
        return {slot for slot in made if self._kept_until.get(slot, -1) >= end}


class Place:
    """A place on the tree of phrases that might be: what the calls that were noted would gain."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.children: dict[Any, Place] = {}
        self.forget()

    def forget(self) -> None:
        """Nothing has been read yet."""
        self.ends = 0  # how often a call would end here
        self.wanted = set[int]()  # and what it would need then, by the places of values
        self.example: tuple[Text, int, dict[int, int]] | None = None
        for child in self.children.values():
            child.forget()

    def read(self, text: Text) -> None:
        """Follow a call."""
        k = 0
        while k < len(text.apps):
            place, values, first = self, dict[int, int](), k
            while k < len(text.apps) and not (k in text.stops and k > first):
                key = _step(text, k, values)
                child = place.children.get(key)
                if child is None:
                    break
                _take(text, k, values)
                place, k = child, k + 1
            if place is self:
                k += 1
                continue
            place.ends += 1
            place.example = text, first, values
            place.wanted |= {values[s] for s in text.wanted(first, k)}

    def prune(self) -> bool:
        """Leave out the ways that lead to no program; whether there is one."""
        self.children = {key: child for key, child in self.children.items() if child.prune()}
        return self.pays or bool(self.children)

    @property
    def pays(self) -> bool:
        """Whether a program here would be used often, and be faster than its functions."""
        if self.ends < _OFTEN or self.example is None or not self.wanted:
            return False
        text, first, values = self.example
        slots = {s for s, k in values.items() if k in self.wanted}
        groups = groups_of(text.apps[first : first + self.depth], slots, frozenset())
        return self.depth > _FUNCTIONS_OF_PIECE * len([*groups])

    def all(self) -> Iterable[Place]:
        """This one, and all behind it."""
        yield self
        for child in self.children.values():
            yield from child.all()


def _step(text: Text, k: int, values: dict[int, int]) -> Any:
    """What a function is, besides what came before; ``values`` are the places of these."""
    n, new = len(values), dict[int, int]()
    pattern = []
    for slot in reads(text.apps[k]):
        place = values.get(slot)
        pattern.append(new.setdefault(slot, n + len(new)) if place is None else place)
    return text.words[k], tuple(pattern)


def _take(text: Text, k: int, values: dict[int, int]) -> None:
    app = text.apps[k]
    for slot in (*reads(app), *app.output_slots):
        values.setdefault(slot, len(values))


class Phrases:
    """Those of one decorated method."""

    def __init__(self, name: str, account: Account, spacious: bool) -> None:
        self._name, self._account, self._limit = name, account, _PHRASES[spacious]
        self.root = Application(None)
        self.root.count = 0
        self.notes = 0  # calls that are still to be noted
        self.counts = 0  # calls of which the functions are still to be counted
        self.is_there = False  # whether there are phrases, or most of them
        self._missing = 0.0  # the part of functions that will be in phrases still to be compiled
        self._missed = 0.0  # the part of functions that were in none
        self._followed, self._patience = 0, 16  # calls, and so many until this is looked at
        self._vocabulary: dict[Any, int] = {}
        self._results: list[Any] = []  # of each word: what its results look like
        self._refused: set[int | None] = set()  # words that no program can have
        self._word_of: dict[Application, int | None] = {}  # of the places on the tree
        self._texts: deque[Text] = deque(maxlen=_TEXTS)
        self._like: dict[Any, Application] = {}  # by their attributes, and shapes of inputs
        self._candidates: list[tuple[float, Place]] = []
        self._refused_places: set[Application] = set()  # where programs do not pay
        self._sightings: Counter[tuple[Application, int]] = Counter()
        #: Of places without a program: the uses of those behind it, when it was asked last.
        self._uses_behind: Counter[Application] = Counter()

    # -- calls that follow phrases

    def find(self, run: Run, app: Application, func: FunctionNode, inputs: Any) -> Any:
        """The outputs of ``func``, if some phrase goes on with it after ``app``."""
        outputs = app.go(run, func, inputs)
        if outputs is not None or not app.by_shapes:
            return outputs
        for child in app.by_shapes.get(_shapes(func, inputs), ()):
            if child is not app.next:
                outputs = child.match(run, func, inputs)
                if outputs is not None:
                    app.predict(child)
                    return outputs
        return None

    # -- calls that are noted

    def listen(self) -> None:
        """Note the next calls."""
        self.notes = _ATTENTION

    def gives_up(self) -> None:
        """Programs do not pay: do not look for more for now."""
        self.notes, self._candidates = 0, []

    def was_followed(self, run: Run) -> None:
        """A call has followed phrases: listen again, and later again, where many are missing."""
        missed = run.missed + run.realized
        self._missed += 0.1 * (missed / max(missed + run.programs, 1) - self._missed)
        self._followed += 1
        if self._followed >= self._patience:
            self._followed, self._patience = 0, 2 * self._patience
            self._forget_what_does_not_pay()
            self.counts = 1
            if self._missed > _MANY_MISSING and self._account.allows_phrases():
                self.listen()

    def keep(self, app: Application, func: FunctionNode, inputs: Any) -> None:
        """Let an application that is noted know what a program needs, as others like it do."""
        try:
            known = self._like.setdefault((_shapes(func, inputs), app.images), app)
        except TypeError:  # an attribute that is in no table
            known = app
        if known is app:
            app.keep(func)
        else:
            app.take_over(known)

    def heard(self, run: Run) -> None:
        """A call has been noted."""
        started = clock()
        self.notes -= 1
        apps = run.app.path(1)
        if len(self._results) > _LARGEST:
            self._vocabulary, self._results, self._refused = {}, [], set()
            self._texts.clear()
            self._like.clear()
            self._candidates = []
        if apps:
            specs = specs_of(apps)
            words = [self._word(app, specs) for app in apps]
            self._texts.append(Text(apps, words, run.syncs))
            while sum([len(t.apps) for t in self._texts]) > _WORDS and len(self._texts) > 1:
                self._texts.popleft()
        if self.notes == 0:
            self._compare()
        self._account.spend("trace", started)

    def has_heard_nothing(self) -> None:
        """A call had nothing to be noted: functions of arrays that no program takes."""
        self.notes -= 1
        if self.notes == 0:
            self.gives_up()

    def _word(self, app: Application, specs: dict[int, Spec]) -> int | None:
        if app.eager is not None or not app.kept or app.direct:
            return None
        key = (
            app.kind, app.settings, _images(app), app.numbers, tuple(app.arrays),
            tuple([specs[s] for s in reads(app)]),
        )
        word = self._vocabulary.setdefault(key, len(self._results))
        if word == len(self._results):
            self._results.append(app.outputs)
        elif self._results[word] != app.outputs:  # it depends on values
            self._refused.add(word)
        return word

    def _compare(self) -> None:
        """Find the phrases that pay."""
        for text in self._texts:
            text.words = [None if word in self._refused else word for word in text.words]
        root = Place()
        for text, segment in _repeated(self._texts):
            place, values = root, dict[int, int]()
            for k in range(segment.first, segment.first + len(segment.words)):
                key = _step(text, k, values)
                _take(text, k, values)
                place = place.children.setdefault(key, Place(place.depth + 1))
        for _ in range(_READINGS):
            root.forget()
            for text in self._texts:
                root.read(text)
            root.prune()
        functions = sum([len(text.apps) for text in self._texts])
        self._candidates = [
            (place.ends * place.depth / functions, place) for place in root.all() if place.pays
        ]
        self._missing = sum([share for share, _ in self._candidates])
        if self._missing < _ENOUGH:
            self._candidates = []
        elif not self.is_there:
            self.counts = _COUNTS
        self._candidates.sort(key=lambda c: c[1].ends)

    # -- programs

    @property
    def waits(self) -> bool:
        """Whether there is something to be compiled, as soon as it pays."""
        return bool(self._candidates)

    def compile(self, syncs: Sequence[Sync], at_once: bool = False) -> Iterable[Made]:
        """Compile what pays, or everything ``at_once``: plans, and how long each has taken.

        ``syncs`` are the sync points of a call that had no program, or not all of one.
        """
        while self._candidates:
            share, place = self._candidates[-1]
            if not at_once and not self._account.affords_phrase(place.depth, share):
                break
            self._candidates.pop()
            if len(self.plans()) < self._limit:
                yield from self._add(place)
            self._missing -= share
            if self._missing < _ENOUGH / 2 and self.plans():
                self.is_there = True
        yield from self._cut()
        yield from self._learn(syncs)

    def _add(self, place: Place) -> Iterable[Made]:
        assert place.example is not None
        text, first, values = place.example
        words = text.words[first : first + place.depth]
        if not self._refused.isdisjoint(words):
            return
        specs = specs_of(text.apps)
        app = self.root
        for k, word in enumerate(words, first):
            app = _child(app, text.apps[k], values, specs)
            self._word_of[app] = word
        yield from self._plan(app, place.wanted)

    def _plan(
        self, app: Application, wanted: Set[int], ends: Set[int] = frozenset()
    ) -> Iterable[Made]:
        """The program at a place, which gives ``wanted`` besides what it has given before.

        None is there any more, and its word is refused, if a function cannot be traced.
        """
        started, old = clock(), app.plans.get(1)
        if app in self._refused_places:
            return
        if old is not None:
            if not old.ready() or wanted <= old.results and ends <= (old.ends or set()):
                return
            wanted, ends = wanted | old.wanted, ends | (old.ends or set())
        path = app.path(1)
        try:
            plan = Plan(self._name, path, specs_of(path), wanted, self._account, _NO_NAMES, ends)
        except Untraceable as e:
            self._refused.add(self._word_of.get(e.app))
            self._leave_out(app)
            return
        for piece in plan.pieces:
            piece.is_cut = True
        app.plans[1] = plan
        for a in path:
            if not a.hot:
                a.becomes(hot=True)
                assert a.parent is not None
                others = a.parent.by_shapes.get(shapes := _shapes_of(a), ())
                a.parent.by_shapes = {**a.parent.by_shapes, shapes: (*others, a)}
        yield plan, clock() - started

    def _learn(self, syncs: Sequence[Sync]) -> Iterable[Made]:
        """Compile what calls have wanted of phrases, besides, or where they have left them."""
        for sync in syncs:
            app, key = sync.app, (sync.app, sync.first)
            if sync.first != 1 or app.depth < 2:
                continue
            self._sightings[key] += 1
            least = 2 if 1 in app.plans else 8
            if self._sightings[key] < least or len(self.plans()) >= self._limit:
                continue
            if app not in self._refused_places and (
                    self._account.affords_phrase(app.depth, _SHARE)):
                self._sightings[key] = 0
                yield from self._plan(app, sync.alive)
            elif 1 not in app.plans and self._sightings[key] >= _IN_VAIN:
                self._sightings[key] = 0
                self._goes_on_or_not(app)

    def _goes_on_or_not(self, app: Application) -> None:
        """Calls often end at a place without a program, after their functions were promised.

        What is behind it is left out, if calls go on to it less often.
        """
        behind = self._places(app)
        uses = sum([p.uses_since_check for a in behind for q in a.plans.values() for p in q.pieces])
        if uses - self._uses_behind[app] < _IN_VAIN:
            for place in reversed(behind):
                self._leave_out(place)
        self._uses_behind[app] = uses

    def _cut(self) -> Iterable[Made]:
        """Compile again what was dissolved, in more pieces."""
        pieces, self._account.coarse_pieces = self._account.coarse_pieces, []
        for app in self._places() if pieces else ():
            plan = app.plans.get(1)
            found = [] if plan is None else [p for p in plan.pieces if p in pieces]
            if found and plan is not None:
                ends = set[int]().union(*[piece.ends for piece in found])
                yield from self._plan(app, plan.wanted, ends)

    def _forget_what_does_not_pay(self) -> None:
        for app in self._places():
            plan = app.plans.get(1)
            if plan is None or any([p.uses_since_check < _KNOWN for p in plan.pieces]):
                continue
            if plan.dropped or self._account.gain_of(plan) < 0.0:
                self._leave_out(app)

    def _leave_out(self, app: Application) -> None:
        """There is to be no program here, and no call goes to this place if none is behind it."""
        app.plans.pop(1, None)
        self._refused_places.add(app)
        while app.hot and app.parent is not None and not app.plans and not app.by_shapes:
            app.becomes(hot=False)
            shapes, parent = _shapes_of(app), app.parent
            rest = tuple([c for c in parent.by_shapes[shapes] if c is not app])
            others = {s: found for s, found in parent.by_shapes.items() if s != shapes}
            parent.by_shapes = {**others, shapes: rest} if rest else others
            app = parent

    def _places(self, first: Application | None = None) -> list[Application]:
        """Everything that phrases go through, or what is behind one of these places."""
        found, stack = [], [first or self.root]
        while stack:
            found.append(app := stack.pop())
            stack += app.all_children()
        return found

    def plans(self) -> list[Plan]:
        """Those of all phrases."""
        return [plan for app in self._places() for plan in list(app.plans.values())]


_NO_NAMES: dict[int, str] = {}


def _shapes(func: FunctionNode, inputs: Any) -> Any:
    """Of a function and its inputs, what tells most phrases from each other."""
    return (
        type(func),
        *[x._array.shape if isinstance(x, Variable) else getattr(x, "shape", None)
          for x in inputs],
    )


def _shapes_of(app: Application) -> Any:
    specs = specs_of(app.path(1))
    return (app.kind, *[specs[s].shape for s in app.inputs])


def _repeated(texts: Iterable[Text]) -> list[tuple[Text, Segment]]:
    """What comes several times: neighbours that often are neighbours become one.

    As in byte pair encoding, or Re-Pair (Larsson and Moffat, "Offline dictionary-based
    compression", 1999).
    """
    parts = [(text, text.segments()) for text in texts]
    while True:
        joined = [(t, s, [_joined(a, b) for a, b in itertools.pairwise(s)]) for t, s in parts]
        count = Counter([j.what for _, _, found in joined for j in found if j is not None])
        if max(count.values(), default=0) < _OFTEN:
            break
        parts = [(t, _merged(s, found, count)) for t, s, found in joined]
    found = {s.what: (t, s) for t, segments in parts for s in segments if s is not None}
    count = Counter([s.what for _, segments in parts for s in segments if s is not None])
    return [x for what, x in found.items() if count[what] >= _OFTEN]


def _joined(a: Segment | None, b: Segment | None) -> Segment | None:
    if a is None or b is None or len(a.words) + len(b.words) > _LONGEST:
        return None
    return a.joined(b)


def _merged(segments: Any, joined: Any, count: Counter[Any]) -> list[Segment | None]:
    """The segments, with neighbours that often are neighbours joined."""
    often = [0 if j is None else count[j.what] for j in joined] + [0]
    made, k = [], 0
    while k < len(segments):
        if often[k] >= _OFTEN and often[k] >= often[k + 1]:
            made.append(joined[k])
            k += 2
        else:
            made.append(segments[k])
            k += 1
    return made


def _child(
    parent: Application, other: Application, places: dict[int, int], specs: dict[int, Spec]
) -> Application:
    """The child that is the same function as ``other``, of which the slots are ``places``."""
    made = Application(parent)
    made.kind, made.settings, made.numbers = other.kind, other.settings, other.numbers
    made.attributes, made.images = other.attributes, other.images
    made.inputs = tuple([places[s] for s in other.inputs])
    made.arrays = {name: places[s] for name, s in other.arrays.items()}
    known = 0 if parent.parent is None else parent.count
    made.first_slot = known
    made.leaves = {places[s]: specs[s] for s in reads(other) if places[s] >= known}
    made.outputs, made.first_output = other.outputs, known + len(made.leaves)
    made.count = made.first_output + len(made.outputs)
    made.place = (
        made.kind, made.settings, made.inputs, tuple(made.leaves.items()),
        tuple(made.arrays.items()),
    )
    made.template, made.label, made.origin = other.template, other.label, other.origin
    made.direct, made.in_try, made.kept, made.anywhere = False, False, True, True
    key = made.place, _images(made), made.numbers, made.outputs
    if key not in parent.children:
        parent.children[key] = (made,)
        made.renew()
    return parent.children[key][0]


def _images(app: Application) -> Any:
    names = {name for name, _ in app.numbers}
    return tuple([i for i in app.images or () if i[0] not in names])
