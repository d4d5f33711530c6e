"""What a compiled method costs and gains: when something may be traced."""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Hashable, Iterable
from threading import get_ident
from typing import TYPE_CHECKING, Any

from chainer import _tracing, configuration
from chainwright.runtime import NEWS, OPTIONS, Ledger
from chainwright.runtime.rate import Rate, measure_pace, pace

from ._lives import Lives

if TYPE_CHECKING:
    from chainer.function_node import FunctionNode

    from ._carrier import Carrier
    from ._piece import Piece
    from ._plan import Plan
    from ._proof import Proof
    from ._run import Run
    from ._tree import Application

_CALLS = 10  # calls' time that may be owed to begin with
_HORIZON = 200  # calls after which less is spent, where nothing has paid
# Calls within which what is spent before may be expected to come back. Of 92 models it does so in
# 0.5 to 2 times as many calls as expected: of those expected to in 140, all but three in 230.
_SOON = 140
_TOLD = 0.5  # of the calls that the loop of a trainer is still to make: it may be ended before
_GOES_ON = 0.5  # of the calls of a method that has had more, in which it may be expected later
# Seconds, of all methods together, up to which it may be expected in as many as there were.
_UNNOTICED = 0.02
# What programs are expected to save, as long as none has run: of a call's time, at most; for each
# function, and of its time. Seconds of the pace where they were measured (see Rate). The least part
# of a call that is tried for. Half of 90 models are within 0.7 and 1.5 times of what that gives.
_GAIN, _GAIN_OF_FUNCTION, _GAIN_OF_TIME, _LEAST = 0.9, 10e-6, 0.22, 0.15
# Programs of several results are made in several pieces, for several kinds of backward: they gain
# so much less for each further result, and take so much longer to be made, up to some results; and
# in a turn of a loop, which a program takes less time for, so many seconds more.
_LESS_FOR_RESULT, _LONGER_FOR_RESULT, _FURTHER_RESULTS, _RESULT_OF_TURN = 0.1, 0.2, 6, 55e-6
# Seconds of the pace that each program takes in a call besides, to come to it and to its backward:
# one of one or two functions saves less (36 workloads of 1 to 25 functions).
_OF_PROGRAM = 25e-6
# What a call and its backward save without the method's Python, besides what each function of it
# saves; and without most guards. Seconds of the pace, rather little of what was measured (12 small
# models: 75 to 500, 45 to 440).
_GAIN_OF_PROOF, _GAIN_OF_PROVED, _GAIN_OF_SHORTCUT = 20e-6, 14e-6, 60e-6
_FOR_CHECKS = 0.05  # of the time of calls: what checks may take that programs have not paid
_DOUBTS = 4  # checks in a row that say so, where other threads may have changed something
_LONG_AGO = 64  # calls since another thread has called
_GONE = 60.0  # seconds since then, until it is in no call any more
#: Of how many calls that are like each other one is timed, or runs of a program, after the first.
#: The clock of a thread asks the system: 0.3 us, but 100 in some containers of a busy machine.
TIMED_EACH = 8
_ALL_TIMED = 64
_KNOWN = 8  # calls with programs, until it is known what they save
_LEARNT = 32  # calls until others may be traced, if these are not used as often
_LONGEST = 1024  # calls until it is asked again whether a trace pays
_NOTINGS = 6  # calls that may be noted in any case: they tell numbers from constants
_BACKWARD = 2.8  # times as long as forward: forward and backward (2.0 to 5.0, of 90 models)
# How much longer where gradients are differentiated: backward with a graph, and backward through
# that (4 to 7 in small networks); and so many times, as for second derivatives, at most.
_BACKWARD_TWICE, _MOST_TIMES = 4.0, 3
TIMES_TWICE = 3  # as many functions with those of backward
_WARM, _COLD = 3, 0.4  # the first calls are slow; what is a usual call's time then
_STEP = 0.1  # by which a call may change what is thought a usual call's time
_GAIN_OF_PHRASE = 0.3
#: Of what programs of one size gain, those of any sizes do, as calls of NumPy and as native code.
GAIN_OF_ANY_SIZE = {False: 0.5, True: 0.9}
#: Of what programs of whole calls gain, those of the turns of their loops do.
GAIN_OF_TURNS = 0.6
_PAYBACK = 1000  # calls in which what is spent has to come back, or as many as there were so far
MATCHING, _COUNTING = 2e-6, 3.5e-6  # seconds to compare a function with a phrase, and to count it
AROUND_NODE = 25e-6  # seconds in which backward comes to a program among several nodes, and goes on
# Seconds that a call of some turns of a loop takes besides, which there are many of: to come to it,
# and to add the gradients of parameters that its node gives to those of the others, as measured.
_AROUND_TURNS = 80e-6
_COMING = 10e-6  # seconds to come to the program of a phrase, and back
# Seconds that a call with its Python takes besides: until its functions are followed, and for what
# is learned of it afterwards. Not for those of turns, which have more of that (21 and 13 measured).
_AROUND_CALL = 30e-6
_BACKWARD_OF_FUNCTION = 1.0  # times as long as its forward, at least
# Functions that are applied once more, to be compared with, take longer than in plain calls, by
# less in backward: forward 1.0 to 4.5 times as long, backward 0.8 to 2.6 (12 models).
_LESS_IN_BACKWARD = 1.5
_NOTED = 0.9  # of the time of a call that is noted, besides that of noting, a plain one takes
_LATELY = 10  # calls, of which the balance is
_LITTLE = 0.3  # of a call's time: who gains more than that is in no doubt
_LOOKING = 25e-6  # seconds that it takes to find that no program serves a call
_BRIEFLY = 8  # times as long: calls that take less are let pass
_MOST = 1.5  # times as long as before, that functions are thought to take

# For each small function, as learned on this machine. The first time modules are imported,
# templates and the library's sources read. As measured over 72 models on a Xeon, which needs 0.6 of
# an EPYC's time for the loop that tells the pace, but 0.9 for such work.
ANY_SIZE = Rate.elsewhere(0.7e-3, 0.014)  # for any sizes, and at each probe
COMPILING, PROVING = Rate.elsewhere(0.95e-3, 8e-3), Rate.elsewhere(0.95e-3, 0.024)
NATIVE = Rate.elsewhere(1.05e-3, 7e-3)  # native code of what is compiled, in the background
_GAIN_OF_TWICE = 0.5  # of what forward and backward take, where gradients are differentiated
_CHECKING = 0.4  # of what compiling takes: the first uses of programs are checked
# So are those of turns, and for gradients that are differentiated: so much longer that takes.
_LONGER_FOR_TURNS, _LONGER_TWICE = 1.5, 2.0
# Of a method's time: what may be spent on it where some programs slow its steps; and of its calls:
# those that go a way which is likely to be what slows them.
_OF_STEPS, _REST_OF_STEP = 0.2, 0.2
_LONGER_ANY_SIZE = 1.3  # what the first programs for any sizes do not give has others made
_PROVED = 1.0  # how many of these are proved later, mostly
_FIRST_CALLS = 5  # which take longer than others; who pays for many of them waits for these
_OF_LATE = 0.05  # the weight of the last call in averages
_OF_TURNS = 40  # functions that are traced for the turns of loops
_SAVED_BY_TURNS = 0.25  # of the time of calls with loops, that programs of their turns save
_WELL = 3  # times what several turns in one call take to be made: programs have saved so much
_GOOD_PART = 0.1  # of a method's time, that functions take which become native code soon
_SETTLING, _SETTLED = 64, 2  # calls in which functions may become native code, and without news


#: Seconds of this thread alone, whatever else the machine does. That of Windows is too coarse.
clock = time.perf_counter if os.name == "nt" else time.thread_time


def _further(results: int) -> int:
    return min(results - 1, _FURTHER_RESULTS)


def _budget() -> float:
    """The part of the time spent in a method that may be owed."""
    share = configuration.peek("static_budget")
    return math.inf if share is None else share


class Meter:
    """Seconds that something takes with programs, and without.

    Both are the least that was seen, since other work of the machine only adds to them; those of
    programs are forgotten slowly, since they become native code, for instance. ``factor`` corrects
    the time of functions that were applied once more, to be compared with.
    """

    __slots__ = ("_runs", "factor", "plain", "program")

    def __init__(self) -> None:
        self.plain = self.program = 0.0
        self.factor = 1.0
        self._runs = 0

    def starts(self) -> float:
        """When a program starts; 0 for most, once many have run: it takes what the others take."""
        self._runs = runs = self._runs + 1
        return clock() if runs < _ALL_TIMED or not runs % TIMED_EACH else 0.0

    def took_since(self, started: float, besides: float = 0.0) -> float:
        """A program has run that started then, and more that takes so long; gives what it saved."""
        return self.took(clock() - started + besides) if started else self.gain

    def took(self, seconds: float) -> float:
        """Programs took ``seconds``; gives what they have saved."""
        program = self.program
        self.program = min(seconds, 1.02 * program) if program else seconds
        return self.gain

    def took_plainly(self, seconds: float) -> None:
        """It took ``seconds`` without programs."""
        self.plain = min(seconds, self.plain or seconds)

    @property
    def gain(self) -> float:
        """Seconds that programs save; 0 where that is not known."""
        return self.factor * self.plain - self.program if self.plain and self.program else 0.0


class _All:
    """All methods of this process."""

    seconds = 0.0  # that their calls have taken


class Account:
    """Seconds spent on one method, and saved by its programs."""

    def __init__(
        self, ledger: Ledger, exact: bool | None = None, lives: Lives | None = None
    ) -> None:
        self.ledger = ledger
        self.exact = exact  # whether the last bits matter; None: as the configuration says
        self.lives = lives or Lives()
        self._came_at = _All.seconds
        self.spends_freely = False  # whether the call is one of a kind that is to be compiled
        self.new_backwards: list[Piece] = []  # for which a new kind of backward has come
        self.of_function = 0.0  # seconds of one, in calls that are counted
        self._counted = 0  # how often some calls in a row were
        self._each: list[float] = []  # seconds of a function, in the last calls that were counted
        self._usual = 0.0  # of these, when calls were counted before
        self.coarse_pieces: list[Piece] = []  # that are to be cut
        self.plain = 0.0  # seconds of a call without programs
        self.ways = 1  # that calls have gone, as far as they were looked at
        self.seen = self._seen_from = 0  # calls of which the way was noted; what that began with
        self.strayed = 0  # calls with programs of phrases, or that left their way: it was not noted
        #: Calls that come together, on average: the turns of a loop in one call of its method.
        self.together = 1.0
        self.calls = self._notings = 0
        self._granted = _NOTINGS
        self._usual_weight = 1.0
        # Functions of calls that were noted, and how often gradients through them had a graph.
        self._followed = self._differentiated = self._differentiated_later = 0
        # Seconds of calls that were noted, and of functions in them that are no part of programs.
        self._noted = self._between = 0.0
        self._thread = self._shared_until = 0  # who has called last; see is_shared
        self._shared_at = -math.inf  # when another thread has called
        self._balance = 0.0  # of the last calls: seconds saved
        # When steps were compared last: calls with programs by then, and seconds saved.
        self._compared = 0, 0.0
        self._guessed: tuple[Application, float] | None = None  # see called_plainly
        self._lost = 0.0  # since the last call; see lose
        self._longest_proof = 0.0  # seconds that it has taken to read a call of this method
        # Calls of which a part had no program, and seconds that they have saved: they do not tell
        # what is saved when it has one.
        self._partly, self._saved_partly = 0, 0.0
        self._news: Hashable = NEWS.state()  # of how long functions take
        #: The loop of the trainer that makes these calls; its iterations, and calls, by then.
        self._loop: weakref.ref[Any] | None = None
        self._since = 0, 0
        self._settles_at = 0  # the call from which on that is likely to stay
        # The calls at which something was traced last, and first; functions that were.
        self._traced_at, self.first_traced_at, self._traced = -math.inf, math.inf, 0

    @property
    def _weight(self) -> float:
        """How many times as long as a call all takes that comes of it, backward for instance."""
        of_training = (self._usual_weight - 1.0) / (_BACKWARD - 1.0)
        again = min(self._differentiated_later / max(self._followed, 1), _MOST_TIMES)
        return self._usual_weight + again * _BACKWARD_TWICE * of_training

    @property
    def _again(self) -> float:
        """How many gradients through a function are differentiated themselves, on average."""
        return min(self._differentiated / max(self._followed, 1), _MOST_TIMES)

    def follows(self, func: FunctionNode) -> None:
        """Hear whether gradients through a function of a call are differentiated."""
        self._followed += 1
        func.__dict__["_static_account"] = self  # whatever the user's class does where one is set

    def was_differentiated(self) -> None:
        """Gradients through one of these functions have a graph of their own."""
        self._differentiated += 1
        self._differentiated_later += not _tracing.state.inside  # else it is a part of the call

    @property
    def of_turns(self) -> bool:
        """Whether each call is one of some turns of a loop, or another part of calls."""
        return self.ledger.is_part

    def spend(self, what: str, since: float) -> float:
        """The seconds of this thread since ``since`` went into ``what``; gives them."""
        seconds = clock() - since
        self.ledger.spent[what] += seconds
        if what == "trace":
            self._traced_at = self.calls
            self.first_traced_at = min(self.first_traced_at, self.calls)
        return seconds

    def wait_for_trace(
        self, applications: int, calls: int, results: int = 1, share: float = 0.0,
        probes: int = 0, instead: float = 0.0, programs: int = 1,
    ) -> int:
        """In how many calls functions may be traced that ``calls`` of those so far have applied.

        So many ``results`` are held, most of which have programs of their own, and so many
        ``programs`` run one after the other in any case. ``share`` is the least part of the calls
        that is thought to apply them. Programs for any sizes are traced at so many ``probes``, and
        gain less. ``instead`` is the part of the gain that such programs have already.
        """
        if self.spends_freely:
            return 0
        served = self._served
        if _budget() < math.inf:
            measure_pace()
        gain = expected = self._weight * self._expected_gain(applications, results, programs)
        later = self.calls >= _SOON  # native code may come by then
        gain *= GAIN_OF_ANY_SIZE[later] if probes else 1.0 - instead
        if served >= _KNOWN and not instead:
            gain = self._saved_each
        share, least = max(self._share(calls), share), _LEAST * self._weight * self._in_programs
        if expected <= 0.0 and not self.of_turns:
            least = 0.0  # with so few functions in each, programs would slow it
        more = round(self._again * TIMES_TWICE * applications)  # which come soon
        seconds = self._seconds_to_compile(applications + more, probes, results)
        seconds *= _LONGER_ANY_SIZE if probes else 1.0
        seconds *= _LONGER_FOR_TURNS if self.of_turns else 1.0
        seconds *= _LONGER_TWICE if more else 1.0
        seconds += _PROVED * PROVING.of(applications)
        # What was spent on other ways comes back out of what these save.
        of_all = share if instead else share + self._served_share
        missing = self._missing(seconds, of_all * max(gain, 0.0))
        wait = self._until(missing, seconds, share * max(gain, least))
        if instead:  # what the others save is not for these to spend
            wait = max(wait, self._comes_back_in(seconds, share * gain))
        if _budget() < math.inf:
            wait = max(wait, self._settles_at - self.calls, self._learns_in(served))
            if seconds > _FIRST_CALLS * self._weight * self.plain:
                wait = max(wait, _FIRST_CALLS - self.calls)
        return wait

    @property
    def _served_share(self) -> float:
        """The part of the calls that programs serve, since there are some."""
        ledger = self.ledger
        since = max(self.calls - self.first_traced_at, _KNOWN)
        return (ledger.with_python + ledger.without_python) / since

    @property
    def _served(self) -> int:
        """Calls of which no part went without programs that there are by now."""
        return self.ledger.with_python + self.ledger.without_python - self._partly

    @property
    def _saved_each(self) -> float:
        """Seconds that programs have saved in each of these calls, of which there are some.

        Where more calls were served in part, the few others do not tell: it is that of all.
        """
        saved, calls = self.ledger.saved - self._saved_partly, self._served
        if self._partly > calls:
            saved, calls = self.ledger.saved, calls + self._partly
        return min(saved / calls, self._weight * self.plain)

    def was_traced(self, applications: int) -> None:
        """So many functions were."""
        self._traced += applications

    def _learns_in(self, served: int) -> int:
        """In how many calls it may be known what the programs save that were traced last."""
        if served >= _KNOWN:
            return 0
        return max(min(_KNOWN - served, self._traced_at + _LEARNT - self.calls), 0)

    @property
    def _in_programs(self) -> float:
        """Seconds of a call without programs, of what may be part of some."""
        part = min(self._between / self._noted, 1.0) if self._noted else 0.0
        return (1.0 - part) * self.plain

    def _expected_gain(self, applications: int, results: int, programs: int = 1) -> float:
        """The part of a call's time that programs are expected to save, without its backward."""
        plain = self._in_programs
        gain = min(pace() * _GAIN_OF_FUNCTION * applications + _GAIN_OF_TIME * plain, _GAIN * plain)
        if self.of_turns:
            return max(gain - pace() * _RESULT_OF_TURN * (results - 1) - AROUND_NODE, 0.0)
        gain /= 1.0 + _LESS_FOR_RESULT * _further(results)
        return max(gain - pace() * _OF_PROGRAM * programs, 0.0)

    def forgets(self) -> None:
        """Ways are not known any more: what share goes them is to be seen anew."""
        self.seen = self._seen_from = -self.ledger.with_python - self.ledger.without_python
        self.strayed = 0

    def _until(self, missing: float, seconds: float, gain: float) -> int:
        """In how many calls ``seconds`` may be spent, of which so many are ``missing``.

        What comes out of savings does not have to come back.
        """
        wait = self._wait(missing)
        if self.ledger.owed + seconds > 0.0:
            wait = max(wait, self._comes_back_in(seconds, gain))
        return wait

    def _comes_back_in(self, seconds: float, gain: float) -> int:
        """In how many calls it is likely that what saves ``gain`` in each will have paid.

        A method goes on for as long as it has gone on, at least.
        """
        calls, known = seconds / max(gain, 1e-12), self._to_come()
        likely = max(_PAYBACK * self.together, self.calls) if known is None else known
        if calls <= likely or _budget() == math.inf:
            return 0
        return 1 + int(min(max(calls - self.calls, 0.0), self.calls, _LONGEST))

    def _told(self) -> float | None:
        """How many calls are to come, by the loop of a trainer; None: it does not say.

        Besides as many as came before the loop: there may be others.
        """
        loop = _tracing.state.loop
        left = None if loop is None else loop.left()
        if left is None:
            return None
        if self._loop is None or self._loop() is not loop:
            self._loop, self._since = weakref.ref(loop), (loop.done(), self.calls)
        done, calls = self._since
        return calls + left * (self.calls - calls + 1) / (loop.done() - done + 1)

    def _to_come(self) -> float | None:
        """How many calls are to come, if that is known."""
        told = self._told()
        return self.lives.to_come(self.calls) if told is None else told

    def _seconds_to_compile(
        self, applications: int, probes: int = 0, results: int = 1
    ) -> float:
        if probes:
            return ANY_SIZE.of(probes * applications) + _CHECKING * COMPILING.of(applications)
        seconds = (1 + _CHECKING) * COMPILING.of(applications)
        seconds *= 1.0 + _LONGER_FOR_RESULT * _further(results)
        return seconds + NATIVE.of(applications) if OPTIONS.target() == "auto" else seconds

    def went_native(self, applications: int, seconds: float) -> None:
        """Programs of some functions have become native code; called by another thread."""
        self.ledger.spent["native"] += seconds
        NATIVE.learn(seconds, applications)

    def native_pays(
        self, applications: int, since: float, since_call: int, ran: float, runs: int
    ) -> bool:
        """Whether native code of functions pays, by the seconds that they ``ran`` as NumPy calls.

        They are a good part of the time that calls have taken since the method had taken
        ``since``, of those with these ``runs``; or come to what native code takes to be made. Of
        several programs one is to be its part of that.
        """
        share = min(runs / max(self.calls - since_call, 1), 1.0)
        share *= min(applications / max(self._traced, 1), 1.0)
        part = _GOOD_PART * share * (self.in_method - since)
        return ran >= min(part, NATIVE.of(applications))

    def affords_native(self, applications: int) -> bool:
        """Whether native code may be made of programs that are slow, and may stay so without it."""
        seconds = self.ledger.owed + NATIVE.of(applications)
        return seconds <= _budget() * self.of_steps

    def _wait(self, missing: float) -> int:
        """In how many calls there is to be enough for what seconds are missing for."""
        if missing <= 0.0:
            return 0
        each = max(_budget() * self._weight * self.plain, 1e-9)
        return 1 + int(min(missing / each, max(self.calls, 4), _LONGEST))

    def affords_phrase(self, applications: int, share: float) -> bool:
        """Whether functions may be traced that are a ``share`` of those that a call applies."""
        gain = share * self._weight * self.plain * _GAIN_OF_PHRASE
        # Most phrases come in every kind of backward that there is.
        seconds = self._weight * self._seconds_to_compile(applications)
        if self._comes_back_in(seconds, gain):
            return False
        return self.ledger.owed + seconds <= _budget() * self.of_steps

    def affords_rest_of_step(
        self, applications: int, calls: int, share: float, probes: int = 0
    ) -> bool:
        """Whether functions may be traced without which programs for others have made steps slower.

        To leave these alone would lose what was spent on them. But ``calls`` of those so far have
        applied them, or such a ``share``: of calls that go many ways, no one is the rest.
        """
        seconds = self._seconds_to_compile(applications, probes)
        seconds *= _LONGER_ANY_SIZE if probes else 1.0
        seconds += _PROVED * PROVING.of(applications)
        share = max(self._share(calls), share)
        if share < _REST_OF_STEP:
            gain = share * self._weight * self._expected_gain(applications, 1)
            if self._comes_back_in(seconds, gain):
                return False
        most = _OF_STEPS * self.of_steps
        return self.ledger.spent_on_programs + seconds <= most

    def affords_proof(self, applications: int, calls: int) -> bool:
        """Whether a way may be proved that ``calls`` of the calls so far have gone."""
        return not self.wait_for_proof(applications, calls)

    def wait_for_proof(self, applications: int, calls: int) -> int:
        """In how many calls such a way may be proved."""
        gain = self._share(calls) * pace() * (_GAIN_OF_PROOF + _GAIN_OF_PROVED * applications)
        # Functions do not tell how long the user's own code is.
        seconds = max(PROVING.of(applications), self._longest_proof)
        missing, tried = self._missing_beside_others(seconds, gain), self.ledger.spent["prove"]
        if tried + seconds <= _PROVED * PROVING.of(self._traced):
            return 0  # that was counted before the trace
        own = tried + seconds - _budget() / 2 * self.of_steps
        # However much programs save, proofs may be tried in vain; and where programs save nothing,
        # they may do so without the method's Python: where they lose, whatever is owed.
        if self.ledger.saved < 0.0:
            missing = own
        else:
            missing = max(missing, own) if tried else min(missing, own)
        return self._until(missing, seconds, gain)

    def wait_for_shortcut(self) -> int:
        """In how many calls guards may be looked for that can be left out: it is read again."""
        seconds, gain = self._longest_proof, pace() * _GAIN_OF_SHORTCUT
        return self._until(self._missing_beside_others(seconds, gain), seconds, gain)

    def patience_with_proof(self, applications: int) -> float:
        """Seconds that reading a call may take at most: its Python may do more than it applies."""
        if _budget() == math.inf:
            return 2.0 + 20 * PROVING.of(applications)
        return 0.2 + 5 * PROVING.of(applications)

    def proved(self, applications: int, since: float) -> None:
        """A call has been read that applies so many functions, whether that was a proof or not."""
        seconds = self.spend("prove", since)
        self._longest_proof = max(self._longest_proof, seconds)
        PROVING.learn(seconds, applications)

    def wait_for_twice(self, applications: int) -> int:
        """In how many calls backward may be traced as a part of a program, of which gradients are
        differentiated."""
        seconds = self._seconds_to_compile(applications)
        gain = self._weight * self.plain * _GAIN_OF_TWICE
        return self._until(self._missing_beside_others(seconds, gain), seconds, gain)

    def wait_for_lean(
        self, applications: int, fewer: int, calls: int, else_rests: bool, probes: int
    ) -> int:
        """In how many calls functions may be traced again, for so many pieces of programs fewer.

        ``else_rests``: the method is left alone otherwise, and what was spent on it is lost.
        """
        gain = self._share(calls) * self._weight * fewer * AROUND_NODE
        seconds = self._seconds_to_compile(applications, probes)
        missing = self._missing_beside_others(seconds, gain)
        if else_rests:
            missing = min(missing, seconds - _budget() / 2 * self.of_steps)
        return self._until(missing, seconds, gain)

    def _share(self, calls: int) -> float:
        """The part of the calls to come that go a way which ``calls`` have gone.

        By those of which the way is known, without the first of each way: of many that hardly come
        again, the one that has come twice is no more likely than others, or than one to come.
        """
        ledger = self.ledger
        others = self.seen + ledger.with_python + ledger.without_python - 1 + self.ways - 1
        return max(calls - 1, 0.5) / max(others, calls - 1, 0.5)

    @property
    def known_share(self) -> float:
        """Of how large a part of the calls without programs of their own the way was noted."""
        seen = max(self.seen - self._seen_from, 1)
        return seen / (seen + self.strayed)

    def _lasts(self, seconds: float) -> None:
        """Calls have taken so long."""
        self.ledger.in_method += seconds
        if not self.of_turns:  # they are in a call of another method
            _All.seconds += seconds

    @property
    def _part(self) -> float:
        """The part of this one in what all methods have taken since it is there."""
        return self.in_method / max(_All.seconds - self._came_at, self.in_method, 1e-9)

    def _missing(self, seconds: float, gain: float) -> float:
        """Seconds that are missing to spend ``seconds`` on what saves ``gain`` in each call.

        What is owed is what was spent and has not been saved yet. It may come to a share of the
        time spent in the method, the budget, and besides to what is expected to be saved in the
        first calls, or in some of those to come where there were many.
        """
        lives = self.lives
        told = self._told()
        known = lives.to_come(self.calls) if told is None else told
        together = self.together
        expected = gain * max(_SOON * together - self.calls, 0)
        if self.calls >= _HORIZON * together:
            expected = gain * self.calls
            unnoticed = 0.0 if self.of_turns else _UNNOTICED * self._part
            expected = max(_GOES_ON * expected, min(expected, unnoticed))
        if told is not None:
            expected = max(expected, _TOLD * gain * told)
        if known is not None:
            expected = min(expected, gain * known)
        hope = 1.0
        if self.ledger.spent["trace"]:
            # What has not paid in many calls is not likely to do so later.
            paid = max(self.ledger.saved, 0.0) / self.ledger.spent_on_programs
            hope = math.sqrt(_HORIZON * together / max(self.calls, 1)) + paid
            if self._served >= _KNOWN:  # those of more ways serve more calls
                hope = max(hope, self._saved_each / (_LITTLE * self._weight * self.plain))
            hope = min(hope, 1.0)
        earned = max(_budget() * hope * (self.in_method + lives.seconds), _CALLS * self._one)
        return self.ledger.owed + lives.owed + seconds - self._weight * earned - expected

    def _missing_beside_others(self, seconds: float, gain: float) -> float:
        """Likewise, for what makes programs faster that are there.

        What was spent on these comes back out of what they save, and does not stand in its way.
        """
        if self._served >= _KNOWN:
            gain += self._served_share * max(self._saved_each, 0.0)
        return self._missing(seconds, gain)

    @property
    def _one(self) -> float:
        """Seconds of those calls that come together, without programs: one call, mostly."""
        return self.together * self.plain

    @property
    def in_method(self) -> float:
        """Seconds that calls have taken."""
        return self.ledger.in_method

    @property
    def of_steps(self) -> float:
        """About the seconds that calls have taken, and what comes of them."""
        return self._weight * self.in_method

    def hurries(self) -> bool:
        """Whether what may be compiled is to be compiled at once."""
        return self.spends_freely or _budget() == math.inf

    def affords_turns(self) -> bool:
        """Whether programs of the turns of loops are likely to come back within the first calls.

        Nobody knows these turns yet.
        """
        if self.calls >= _SOON:
            return False
        gain = self._weight * _SAVED_BY_TURNS * self.plain
        return self._missing(self._seconds_for_turns(_OF_TURNS), gain) <= 0.0

    def affords_several(self, applications: int, fewer: float) -> bool:
        """Whether several turns may be traced as one call, that apply so many functions.

        So many calls of turns ``fewer`` there would have been by now: there may be as many again.
        """
        seconds = self._seconds_for_turns(applications)
        saved = fewer * (_AROUND_TURNS + 2 * AROUND_NODE)
        return self.ledger.owed + _WELL * seconds <= 0.0 and seconds <= saved

    def _seconds_for_turns(self, applications: int) -> float:
        """What programs of turns that apply so many functions take, and their proof."""
        seconds = _LONGER_FOR_TURNS * self._seconds_to_compile(applications)
        return seconds + _PROVED * PROVING.of(applications)

    def affords_check(self, seconds: float) -> bool:
        """Whether a check that is due may take so long; the first one of a program always may.

        It is paid by what programs have saved, or by a part of the time of calls. What a program
        gains says nothing of what a check takes: three steps, of networks that take seconds each.
        """
        if _budget() == math.inf or configuration.peek("static_check") != "spaced":
            return True
        if self.ledger.owed + seconds <= 0.0:
            return True
        spent = self.ledger.spent["check"] + seconds
        return spent <= _FOR_CHECKS * self.of_steps

    def allows_phrases(self) -> bool:
        """Whether calls may be noted to find phrases: of methods that are called often."""
        if _budget() == math.inf:
            return True
        return self.calls >= _HORIZON and self._has_for_noting()

    def _has_for_noting(self) -> bool:
        share, told = _budget() / 4 * self._usual_weight, self._told()
        to_come = 0.0 if told is None else _TOLD * told * self.plain
        return self.ledger.spent["noting"] <= share * (self.in_method + to_come)

    def allows_noting(self) -> bool:
        """Whether a call may be noted, which takes as long as a plain one besides."""
        self._notings += 1
        return self._notings <= self._granted or (
            self._has_for_noting() and self._missing(self.plain, 0.0) <= 0.0)

    def grants_notings(self) -> None:
        """Some more may be noted, whatever is owed."""
        self._granted = self._notings + _NOTINGS

    def distrust(self, piece: Piece, what: str, where: str) -> None:
        """A program gave other numbers than define-by-run.

        Where several threads call the method, one of them may have updated parameters meanwhile:
        it is to be seen a few times in a row.
        """
        piece.doubts += 1
        if self.is_shared and piece.doubts < _DOUBTS:
            piece.uses_since_check = 0  # so that the next use is checked
            return
        piece.dropped = True
        self.ledger.add(
            "distrusted",
            f"a compiled program gave another value than define-by-run for {what}; this part of "
            "the method stays define-by-run. Please report it",
            where,
        )

    def called(self, run: Run, seconds: float) -> None:
        """A call has ended."""
        weight = _BACKWARD if run.settings.backprop else 1.0
        # On average: the calls of an evaluation do not tell what a way of training gains.
        weight -= self._usual_weight
        self._usual_weight += weight * (_OF_LATE if self.calls else 1.0)
        self.strayed += (run.left or run.phrases is not None) and not run.noted
        app = run.app if run.phrases is None else run.phrases.root
        app.last = self.calls
        if run.programs:
            self.ledger.with_python += 1
            besides = 0.0 if self.of_turns else _AROUND_CALL
            self._ended(seconds, app.meter, app, run, besides=besides)
            return
        self.ledger.plain_calls += 1
        if run.realized and not run.noted and self.plain:
            # Functions were promised, and applied one by one: that tells of no plain call.
            self._count(seconds)
            if app.plain:
                self.lose(max(seconds - self._plain_of(app), 0.0))
                self._gained(0.0)
            return
        plain = self.plain_part(run, seconds)
        if run.noted:
            self._noted += plain
            self._between += run.between
        self._ended_plainly(plain, app if run.noted else None)

    def plain_part(self, run: Run, seconds: float) -> float:
        """What a call would have taken without being noted."""
        return _NOTED * (seconds - run.noting) if run.noted else seconds

    def called_without_python(
        self, seconds: float, proof: Proof, carrier: Carrier, more: int = 0
    ) -> None:
        """Likewise for a call that has gone without its Python.

        So many ``more`` have gone before it, and have taken as long. They are in the ledger.
        """
        self.ledger.without_python += 1
        proof.app.last = self.calls
        self._ended(seconds, proof.meter, proof.app, carrier, 1 + more)

    def _plain_of(self, app: Application) -> float:
        """Seconds of a call that goes the way to ``app``, without programs."""
        return min(app.plain, self.of_function * app.depth or app.plain)

    def gain_of(self, plan: Plan) -> float:
        """Seconds that the program of a phrase saves in each use, by what functions take."""
        plain = self.of_function * len(plan.apps)
        gain = plain - _COMING - MATCHING * len(plan.apps)
        for piece in plan.pieces:
            gain -= piece.forward_meter.program
            if piece.backward_meter.program:
                part = len(piece.apps) / len(plan.apps)
                gain += _BACKWARD_OF_FUNCTION * part * plain - piece.backward_meter.program
        return gain

    def called_and_counted(self, run: Run, seconds: float) -> None:
        """A call has ended of which the functions were counted."""
        self.ledger.plain_calls += 1
        self._ended_plainly(seconds, None)
        if run.missed:
            self._each.append(seconds / run.missed - pace() * _COUNTING)

    def times_by_functions(self, apps: Iterable[Application], plans: Iterable[Plan]) -> None:
        """Calls in a row were counted: what ways take plainly is as much longer as functions are.

        Where calls go several ways, nobody knows which one a call without programs would go.
        """
        if not self._each:
            return
        # The first ones find other things in the caches; others are stopped by other work.
        each, before = min(self._each), self.of_function
        each = min(each, _MOST * before or each)
        self._counted += 1
        self.of_function += (each - before) / min(self._counted, 4)
        longer = each / self._usual if self._usual else 1.0
        self._usual, self._each = each, []
        for app in apps:
            app.plain *= longer
        for piece in [piece for plan in plans for piece in plan.pieces]:
            piece.forward_meter.plain *= longer
            piece.backward_meter.plain *= longer

    def called_plainly(self, seconds: float, app: Application) -> None:
        """A call that may have gone the way to ``app`` has been timed."""
        if self._guessed is None:
            self._guessed = app, app.plain
        self.ledger.plain_calls += 1
        self._ended_plainly(seconds, app)

    def knows_other_ways(self) -> bool:
        """There are several ways: calls that were timed may have gone another than was thought.

        Gives whether any were, which do not count any more.
        """
        if self._guessed is None:
            return False
        app, plain = self._guessed
        app.plain, self._guessed = plain, None
        return True

    def _ended_plainly(self, seconds: float, app: Application | None) -> None:
        self._count(seconds)
        self._takes(seconds)
        if app is not None:
            app.plain = min(seconds, app.plain or seconds)

    def _takes(self, seconds: float) -> None:
        """So long a call without programs has taken."""
        # The first calls make what is kept for later ones.
        seconds *= _COLD if self.calls <= _WARM else 1.0
        # Towards the median: of training and evaluation, say, and whatever else the machine does.
        # The first calls tell what they take as soon as functions have become native code.
        low = (1 - _STEP) * self.plain if self.calls > _SETTLING else 0.0
        self.plain = min(max(seconds, low), (1 + _STEP) * self.plain) if self.plain else seconds
        if self.calls <= _SETTLING:
            news = NEWS.state()
            if news is None or news != self._news:
                # Functions that become native code take less time soon, without any program.
                self._news, self._settles_at = news, self.calls + _SETTLED

    def called_asleep(self, seconds: float = 0.0) -> None:
        """A call has ended that was left alone; ``seconds`` if it was timed."""
        self.ledger.plain_calls += 1
        self.calls += 1
        if seconds:
            self._takes(seconds)
        self._lasts(seconds or self.plain)

    def let_pass(self, calls: int) -> None:
        """So many calls will have ended before one is looked at again."""
        self.calls += calls
        self._lasts(calls * self.plain)

    @property
    def knows_calls(self) -> bool:
        """Whether it is known what a call takes without programs."""
        return self.calls > _SETTLING

    @property
    def is_shared(self) -> bool:
        """Whether several threads call the method at this time."""
        return self.calls < self._shared_until or self._thread != get_ident()

    @property
    def another_may_be_inside(self) -> bool:
        """Whether another thread may be in the middle of a call, for as long as it has to wait."""
        return self._thread != get_ident() or time.monotonic() - self._shared_at < _GONE

    def is_of_this_thread(self) -> bool:
        """Whether the last call that was counted was of this thread."""
        return self._thread == get_ident()

    def _count(self, seconds: float, calls: int = 1) -> None:
        if self._thread != (thread := get_ident()):
            if self._thread:
                self._shared_until = self.calls + _LONG_AGO
                self._shared_at = time.monotonic()
            self._thread = thread
        self._lasts(calls * seconds)
        self.calls += calls
        self.ledger.sample()

    def _ended(
        self, seconds: float, meter: Meter, app: Application, run: Run | Carrier, calls: int = 1,
        besides: float = 0.0,
    ) -> None:
        """So many calls that went the way to ``app``, with programs."""
        self._count(seconds, calls)
        forwards, programs, functions = 0.0, 0.0, 0
        waits = False
        for piece in run.pieces:
            waits = waits or piece.schedule is None
            forwards += piece.forward_meter.plain
            programs += piece.forward_meter.program
            functions += len(piece.apps)
        if app.plain:
            meter.plain = plain = self._plain_of(app)
            # A call that takes several times as long has been stopped by other work.
            gain = max(meter.took(seconds - run.checking), -plain)
            if functions < app.depth:
                # Other functions are applied between them: what is not theirs is no program's.
                plain = max(gain + programs, 0.0)
            factor = min(_LESS_IN_BACKWARD * plain / forwards, 1.0) if forwards else 1.0
        elif run.phrases is not None:
            # What functions take when they are applied once more, to be compared with, is more
            # than they take otherwise.
            plain, factor = self.of_function, 1.0
            gain = plain * (run.programs + run.missed + run.realized)
            gain -= clock() - run.started - run.checking
            for piece in run.pieces:
                piece.backward_meter.plain = _BACKWARD_OF_FUNCTION * plain * len(piece.apps)
        else:
            gain = sum([piece.forward_meter.gain for piece in run.pieces])
            factor = 1.0
        gain -= besides
        if self.of_turns:
            gain -= _AROUND_TURNS + 2 * AROUND_NODE * (len(run.pieces) - 1)
        if waits:  # functions were applied, for the last time
            self._partly += 1
            return
        self.ledger.saved += calls * gain
        for piece in run.pieces:
            backward = piece.backward_meter
            backward.factor = factor
            if piece.twice is not None:
                piece.twice.corrects(factor)
            if backward.program:
                gain += backward.gain
        if run.realized:
            self._partly += 1
            self._saved_partly += gain
        self._gained(gain)

    def is_brief(self) -> bool:
        """Whether it takes a good part of a call to find that no program serves it."""
        return self.plain < _BRIEFLY * pace() * _LOOKING

    def lose(self, seconds: float) -> None:
        """What programs have saved was lost: functions were applied after all."""
        self.ledger.saved -= seconds
        self._lost += seconds

    @property
    def gains_little(self) -> bool:
        """Whether calls with programs seem to take almost as long as those without, of late."""
        return self._balance < _LATELY * _LITTLE * self._weight * self.plain

    def has_saved(self, each: float) -> None:
        """Steps take so many seconds less for each call, even if less was added up.

        That compares the least that calls and programs have taken, at other times, other sizes.
        """
        ledger, (hits, saved) = self.ledger, self._compared
        ledger.saved = max(ledger.saved, saved + each * (ledger.hits - hits))
        self._compared = ledger.hits, ledger.saved

    def has_saved_nothing(self) -> None:
        """Steps take longer with programs, whatever was added up."""
        self.ledger.saved = min(self.ledger.saved, 0.0)
        self._compared = self.ledger.hits, self.ledger.saved

    def _gained(self, gain: float) -> None:
        """A call has ended in which programs have saved ``gain`` seconds."""
        gain, self._lost = gain - self._lost, 0.0
        self._balance = (1.0 - 1.0 / _LATELY) * self._balance + gain
