"""Which ways through a method keep programs, and what is known of the forms of its arguments.

In: the calls of one method: the forms of their arguments, the ways that they have gone. Out: which
forms are worth a look, which ways have room for programs, which are forgotten. What may not happen:
memory without bound, or ways that drive each other out in turns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from chainer import configuration

from ._tree import Application
from ._values import form_of

FEW, MANY = 8, 64  # ways through a method that keep programs: in any case, and at most
_ROOM = 64 << 20  # bytes that the programs of more than a few ways may take
_OF_FUNCTION = 20_000  # bytes of what is known of one function of a program, as measured
_COLD = 8  # ways without programs that are remembered in any case
_FUNCTIONS = 4096  # in them, where there are more
_TURNS = 8  # times as many calls without a way as lie between two of its like: it is not taken
_FORMS = 1024  # forms of arguments that are remembered
_USUAL_FORMS = 4  # of arguments: of training, of evaluation, of last batches
_OFTEN = 7  # earlier calls with arguments of one form, where there are more than these
_LATE = 4  # calls of one form, of which it is known which ways they have gone of late
_WORTH = 4  # calls that leave a way in the middle lose what a call gains that follows it
_LONG = 1024  # calls for which those of a form are not looked at, where it led nowhere
_IN_VAIN = 4  # calls of a form in a row without a program, until some are let pass; the most
_PASS = 64
_COUNTING = 2.5e-3  # seconds that calls take of which the forms may be counted always


class Forms:
    """Forms of arguments, and how many calls had each."""

    def __init__(self) -> None:
        self._calls: OrderedDict[int, int] = OrderedDict()
        self._all, self._chance = 0, 1
        self._again = 0  # calls of forms that had come often
        #: Of each form: whether its calls go ways with programs (above 0), or leave them.
        self.hot: dict[int, int] = {}
        self._seen: dict[int, int] = {}  # calls of each of which the way was noted
        self._last: dict[int, tuple[int, ...]] = {}  # ways of the last ones, by their ids
        self.differ = False  # whether calls have left such ways
        self._in_vain: dict[int, int] = {}  # calls of each in a row that had no program
        self._to_pass: dict[int, int] = {}  # calls of each that are not looked at
        self._rested: dict[int, int] = {}  # how often programs of each have rested

    def of(self, arguments: object) -> int:
        """The form of the arguments of a call, which is counted.

        A call of an evaluation goes another way than one of training with the same arguments.
        """
        train, backprop = configuration.peek("train"), configuration.peek("enable_backprop")
        form = hash((form_of(arguments), bool(train), bool(backprop)))
        calls = self._calls
        calls[form] = calls.pop(form, 0) + 1
        self._all += 1
        self._again += calls[form] > _OFTEN
        if len(calls) > _FORMS:
            old, _ = calls.popitem(last=False)
            for known in (self.hot, self._seen, self._last, self._in_vain, self._to_pass,
                          self._rested):
                known.pop(old, None)
        return form

    def came(self, form: int, calls: int) -> None:
        """So many calls had arguments of a form that is known."""
        self._calls[form] = self._calls.pop(form, 0) + calls
        self._all += calls
        self._again += calls

    def uncounted(self, seconds: float) -> int:
        """How many calls that are left alone may pass until the form of one is counted.

        By chance, since calls may take turns; the more, the less ``seconds`` a call takes.
        """
        if seconds >= _COUNTING:
            return 0
        return self._by_chance(int(2 * _COUNTING / max(seconds, 1e-6)) or 1)

    def _by_chance(self, below: int) -> int:
        self._chance = (1103515245 * self._chance + 12345) & 0x7FFFFFFF
        return (self._chance >> 8) % below

    def unseen(self, unserved: int) -> int:
        """Likewise where some have programs, and so many in a row were looked at in vain."""
        return self._by_chance(min(unserved, _PASS)) if unserved >= _IN_VAIN else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._calls)

    def calls_before(self, form: int) -> int:
        """How many calls had arguments of this form before the last of them."""
        return self._calls.get(form, 1) - 1

    def every(self, form: int | None) -> float:
        """The calls between two with arguments of this form, on average."""
        return self._all / max(self._calls.get(form, 1), 1) if form is not None else 1.0

    def was_seen(self, form: int, way: object) -> None:
        """The way was noted that a call with such arguments has gone."""
        self._seen[form] = self._seen.get(form, 0) + 1
        self._went(form, way)

    def _went(self, form: int, way: object) -> None:
        self._last[form] = (*self._last.get(form, ())[1 - _LATE :], id(way))

    def share(self, form: int | None, calls: int, way: object) -> float:
        """The part of the calls to come that go a way which ``calls`` of those noted have gone.

        It is that of calls with such arguments, which are counted also where nobody looks. Where
        most have gone it of late, they are likely to: a method may go another way from some day on.
        """
        if form is None or form not in self._seen:
            return 0.0
        part = min((calls - 1) / max(self._seen[form] - 1, 1), 1.0)
        of_late = self._last[form].count(id(way))
        if of_late >= _LATE - 1:
            part = max(part, (of_late - 1) / (_LATE - 1))
        return part / self.every(form)

    def are_many(self) -> bool:
        """Whether there are more forms than a method usually has."""
        return len(self._calls) > _USUAL_FORMS

    def come_back(self) -> bool:
        """Whether most calls have one of those that come often.

        Then programs of whole calls are to be had: what is spent is spent on them.
        """
        return 2 * self._again > self._all

    def wakes(self, form: int) -> bool:
        """Whether a call with such arguments is looked at though the method is left alone.

        There is a program, or the form has come so often that it is likely to come again.
        """
        if self.hot.get(form, 0) > 0:
            return True
        n = self.calls_before(form) + 1 - _OFTEN
        return n in (1, 2) or n > 2 and n & (n - 1) == 0

    def follows(self, form: int) -> bool:
        """Whether such a call is to follow the ways that have programs.

        That is tried where such calls are known that nothing is said of, and now and then where
        they have left a way: later ways may be theirs.
        """
        n, score = self.calls_before(form), self.hot.get(form)
        if score is None:
            return n > 0
        return score > 0 or score >= -_WORTH and n & (n - 1) == 0

    def is_hot(self, form: int) -> bool:
        """Whether calls with such arguments have gone a way with programs to its end."""
        return self.hot.get(form, 0) > 0

    def becomes_hot(self, form: int) -> None:
        """There are programs for calls with such arguments."""
        self.hot[form] = _WORTH

    def any_is_hot(self) -> bool:
        """Whether calls of some form have programs."""
        return any([score > 0 for score in list(self.hot.values())])

    def give_up(self, form: int | None) -> None:
        """Calls with such arguments have no program: they are not looked at for a while."""
        self.differ = True
        if form is not None:
            self.hot[form] = -_LONG

    def is_given_up(self, form: int) -> bool:
        """Whether such calls are not to be looked at; asked for each of them."""
        score = self.hot.get(form, 0)
        if score < -_WORTH:
            self.hot[form] = score + 1
        return score < -_WORTH

    def tells_the_way(self, form: int) -> bool:
        """Whether the last calls with such arguments have gone one way: no values decide."""
        return len(set(self._last.get(form, ()))) <= 1

    def passes(self, form: int) -> bool:
        """Whether a call with such arguments is not looked at though others are served."""
        left = self._to_pass.get(form, 0)
        if left > 0:
            self._to_pass[form] = left - 1
        return left > 0

    def was_served(self, form: int, way: object) -> None:
        """A program has served a call with such arguments."""
        self._in_vain.pop(form, None)
        self._went(form, way)

    def was_in_vain(self, form: int) -> None:
        """A call with such arguments was looked at and had no program: more pass each time."""
        n = self._in_vain[form] = self._in_vain.get(form, 0) + 1
        if n >= _IN_VAIN:
            self._to_pass[form] = min(2 << min(n - _IN_VAIN, 8), _PASS)

    def rests(self, form: int, calls: int) -> None:
        """Programs for such calls lose time, and others do not: so many, or more each time."""
        if not calls:
            n = self._rested[form] = self._rested.get(form, 0) + 1
            calls = min(_PASS << 2 * min(n, 8), 16 * _LONG)
        self._to_pass[form] = calls

    def has_found_none(self, form: int) -> None:
        """A call with such arguments has had no program to follow: those there were are gone."""
        if self.is_hot(form):
            self.hot[form] -= 1

    def has_gone(self, form: int, left: bool, hot: bool) -> None:
        """A call has left a way in the middle, or gone one with programs to its end."""
        score = self.hot.get(form, 0)
        if left:  # its functions were followed and applied, which takes longer
            self.hot[form] = max(score - 1, min(score, -_WORTH))
        elif hot:
            self.hot[form] = min(score + _WORTH, 4 * _WORTH)


class Ways:
    """The ways of one method's calls, by their last application."""

    def __init__(self, few: int, forget: Callable[[Application], None]) -> None:
        self.few = few  # that have programs in any case
        self._ways: dict[Application, int] = {}  # and the bytes of their programs
        self._forget = forget

    def __contains__(self, app: Application) -> bool:
        return app in self._ways

    def __iter__(self) -> Iterator[Application]:
        return iter(list(self._ways))

    def has_programs(self) -> bool:
        """Whether any has."""
        return any([a.hot for a in self])

    def remember(self, app: Application) -> int:
        """A call has gone this way: forget those that were not taken for the longest time.

        How many there are.
        """
        if app not in self._ways:
            self._ways[app] = 0
            cold = self._by_age(False)
            functions = sum([a.depth for a in cold])
            while len(cold) > MANY or len(cold) > _COLD and functions > _FUNCTIONS:
                functions -= cold[0].depth
                self.drop(cold.pop(0))
        return len(self._ways)

    def compiled(self, app: Application) -> None:
        """A way has got programs."""
        self._ways[app] = bytes_of(app)
        hot = self._by_age(True)
        while len(hot) > self.few and (len(hot) > MANY or self._bytes(hot) > _ROOM):
            self.drop(next(a for a in hot if a is not app))
            hot = self._by_age(True)

    def _by_age(self, hot: bool) -> list[Application]:
        """Those that have programs, or those that have none; which was taken last comes last."""
        return sorted([a for a in self if a.hot is hot], key=lambda a: a.last)

    def _bytes(self, hot: list[Application]) -> int:
        return sum([self._ways[a] for a in hot])

    def has_room(self, app: Application, calls: int, every: float) -> bool:
        """Whether a way may have programs that was taken in each ``every``-th of the ``calls``.

        It must not drive out one that is still taken. Otherwise ways of which there are too many,
        and that take turns, would be traced forever.
        """
        hot = self._by_age(True)
        if app.hot or len(hot) < self.few:
            return True
        if len(hot) < MANY:
            each = self._bytes(hot) / max(sum([a.depth for a in hot]), 1)
            if self._bytes(hot) + max(each, _OF_FUNCTION) * app.depth <= _ROOM:
                return True
        return calls - hot[0].last > _TURNS * max(len(hot), every)

    def drop(self, app: Application) -> None:
        """Forget a way."""
        del self._ways[app]
        self._forget(app)

    def lose(self, app: Application) -> None:
        """A way is not there any more."""
        del self._ways[app]


def bytes_of(app: Application) -> int:
    """What the programs of a way take, about."""
    plans = [plan for a in app.path(1) for plan in list(a.plans.values())]
    pieces = [piece for plan in plans for piece in plan.compiled_pieces()]
    buffers = sum([piece.schedule.program.intermediate_bytes for piece in pieces])
    return buffers + _OF_FUNCTION * sum([len(piece.apps) for piece in pieces])
