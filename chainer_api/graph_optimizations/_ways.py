"""Which ways through a method keep programs, and what is known of the forms of its arguments.

In: the calls of one method: the forms of their arguments, the ways that they have gone. Out: which
forms are worth a look, which ways have room for programs, which are forgotten. What may not happen:
memory without bound, or ways that drive each other out in turns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from chainer import configuration

from ._chance import Chance
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


class _Form:
    """What is known of the calls whose arguments have one form."""

    __slots__ = ("calls", "in_vain", "last", "score", "seen", "to_pass")

    def __init__(self) -> None:
        self.calls = 0
        #: Whether its calls go ways with programs (above 0), or leave them; None: nobody knows.
        self.score: int | None = None
        self.seen = 0  # calls of which the way was noted
        self.last: tuple[int, ...] = ()  # ways of the last ones, by their ids
        self.in_vain = 0  # calls in a row that had no program
        self.to_pass = 0  # calls that are not looked at

    def has_gone(self, way: object) -> None:
        """One of its calls has."""
        self.last = (*self.last[1 - _LATE :], id(way))


class Forms:
    """Forms of arguments, and how many calls had each."""

    def __init__(self) -> None:
        self._forms: OrderedDict[int, _Form] = OrderedDict()
        self._all, self._chance = 0, Chance(1)
        self._again = 0  # calls of forms that had come often
        self._hot = 0  # forms of which calls have programs
        self.differ = False  # whether calls have left ways with programs

    def of(self, arguments: object) -> int:
        """The form of the arguments of a call, which is counted.

        A call of an evaluation goes another way than one of training with the same arguments.
        """
        train, backprop = configuration.peek("train"), configuration.peek("enable_backprop")
        form = hash((form_of(arguments), bool(train), bool(backprop)))
        known = self._known(form)
        known.calls += 1
        self._all += 1
        self._again += known.calls > _OFTEN
        if len(self._forms) > _FORMS:
            self._rate(self._forms.popitem(last=False)[1], None)
        return form

    def _rate(self, known: _Form, score: int | None) -> None:
        self._hot += ((score or 0) > 0) - ((known.score or 0) > 0)
        known.score = score

    def _known(self, form: int) -> _Form:
        """What is known of a form, which becomes the last one that came."""
        known = self._forms[form] = self._forms.pop(form, None) or _Form()
        return known

    def came(self, form: int, calls: int) -> None:
        """So many calls had arguments of a form that is known."""
        self._known(form).calls += calls
        self._all += calls
        self._again += calls

    def uncounted(self, seconds: float) -> int:
        """How many calls that are left alone may pass until the form of one is counted.

        By chance, since calls may take turns; the more, the less ``seconds`` a call takes.
        """
        if seconds >= _COUNTING:
            return 0
        return self._chance.below(int(2 * _COUNTING / max(seconds, 1e-6)) or 1)

    def unseen(self, unserved: int) -> int:
        """Likewise where some have programs, and so many in a row were looked at in vain."""
        return self._chance.below(min(unserved, _PASS)) if unserved >= _IN_VAIN else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._forms)

    def calls_before(self, form: int) -> int:
        """How many calls had arguments of this form before the last of them."""
        return max(self._get(form).calls - 1, 0)

    def _get(self, form: int) -> _Form:
        return self._forms.get(form) or _Form()

    def every(self, form: int | None) -> float:
        """The calls between two with arguments of this form, on average."""
        return self._all / max(self._get(form).calls, 1) if form is not None else 1.0

    def was_seen(self, form: int, way: object) -> None:
        """The way was noted that a call with such arguments has gone."""
        known = self._known(form)
        known.seen += 1
        known.has_gone(way)

    def share(self, form: int | None, calls: int, way: object) -> float:
        """The part of the calls to come that go a way which ``calls`` of those noted have gone.

        It is that of calls with such arguments, which are counted also where nobody looks. Where
        most have gone it of late, they are likely to: a method may go another way from some day on.
        """
        if form is None or not (known := self._get(form)).seen:
            return 0.0
        part = min((calls - 1) / max(known.seen - 1, 1), 1.0)
        of_late = known.last.count(id(way))
        if of_late >= _LATE - 1:
            part = max(part, (of_late - 1) / (_LATE - 1))
        return part / self.every(form)

    def are_many(self) -> bool:
        """Whether there are more forms than a method usually has."""
        return len(self._forms) > _USUAL_FORMS

    def come_back(self) -> bool:
        """Whether most calls have one of those that come often.

        Then programs of whole calls are to be had: what is spent is spent on them.
        """
        return 2 * self._again > self._all

    def wakes(self, form: int) -> bool:
        """Whether a call with such arguments is looked at though the method is left alone.

        There is a program, or the form has come so often that it is likely to come again.
        """
        if self.is_hot(form):
            return True
        n = self.calls_before(form) + 1 - _OFTEN
        return n in (1, 2) or n > 2 and n & (n - 1) == 0

    def follows(self, form: int) -> bool:
        """Whether such a call is to follow the ways that have programs.

        That is tried where such calls are known that nothing is said of, and now and then where
        they have left a way: later ways may be theirs.
        """
        n, score = self.calls_before(form), self._get(form).score
        if score is None:
            return n > 0
        return score > 0 or score >= -_WORTH and n & (n - 1) == 0

    def is_hot(self, form: int) -> bool:
        """Whether calls with such arguments have gone a way with programs to its end."""
        return (self._get(form).score or 0) > 0

    def becomes_hot(self, form: int) -> None:
        """There are programs for calls with such arguments."""
        self._rate(self._known(form), _WORTH)

    def any_is_hot(self) -> bool:
        """Whether calls of some form have programs."""
        return self._hot > 0

    def give_up(self, form: int | None) -> None:
        """Calls with such arguments have no program: they are not looked at for a while."""
        self.differ = True
        if form is not None:
            self._rate(self._known(form), -_LONG)

    def is_given_up(self, form: int) -> bool:
        """Whether such calls are not to be looked at; asked for each of them."""
        score = self._get(form).score or 0
        if score < -_WORTH:
            self._rate(self._known(form), score + 1)
        return score < -_WORTH

    def tells_the_way(self, form: int) -> bool:
        """Whether the last calls with such arguments have gone one way: no values decide."""
        return len(set(self._get(form).last)) <= 1

    def passes(self, form: int) -> bool:
        """Whether a call with such arguments is not looked at though others are served."""
        known = self._get(form)
        known.to_pass -= (passes := known.to_pass > 0)
        return passes

    def was_served(self, form: int, way: object) -> None:
        """A program has served a call with such arguments."""
        known = self._known(form)
        known.in_vain = 0
        known.has_gone(way)

    def was_in_vain(self, form: int) -> None:
        """A call with such arguments was looked at and had no program: more pass each time."""
        known = self._known(form)
        known.in_vain += 1
        if known.in_vain >= _IN_VAIN:
            known.to_pass = min(2 << min(known.in_vain - _IN_VAIN, 8), _PASS)

    def has_found_none(self, form: int) -> None:
        """A call with such arguments has had no program to follow: those there were are gone."""
        known = self._get(form)
        if known.score is not None and known.score > 0:
            self._rate(known, known.score - 1)

    def has_gone(self, form: int, left: bool, hot: bool) -> None:
        """A call has left a way in the middle, or gone one with programs to its end."""
        known = self._known(form)
        score = known.score or 0
        if left:  # its functions were followed and applied, which takes longer
            self._rate(known, max(score - 1, min(score, -_WORTH)))
        elif hot:
            self._rate(known, min(score + _WORTH, 4 * _WORTH))

    def forgets_programs(self) -> None:
        """Of no form it is known whether its calls have programs."""
        for known in list(self._forms.values()):
            self._rate(known, None)


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
