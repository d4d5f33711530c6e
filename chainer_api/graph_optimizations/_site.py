"""One decorated method of one chain: what becomes of each of its calls.

In: calls, and what the account expects of programs. Out: for each call a way to go it (without its
Python, with it, by the turns of its loops, as always), and what is compiled after it. What may not
happen: a call that gives something else than the method, or takes longer for good.
"""

from __future__ import annotations

import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from chainer import _tracing, configuration, function_hook
from chainer.variable import Parameter
from chainwright.runtime import BLOCKS, Ledger, is_asynchronous, pass_on

from . import _array_code  # noqa: F401 - whoever runs define-by-run code natively asks it
from ._account import GAIN_OF_ANY_SIZE, GAIN_OF_TURNS, TIMED_EACH, Account, clock
from ._any_size import AnySizes, Kind, probes_for
from ._errors import errors_are_heard
from ._lean import Need
from ._links import parameter_paths
from ._lives import Lives
from ._loops import OpenMethod, open_at
from ._making import Maker
from ._phrases import Phrases
from ._plan import Plan
from ._proof import Proofs
from ._report import line_of, way_of
from ._residual import MISS
from ._rests import TIMED, Rests
from ._run import NEW, Run, Sync
from ._settings import settings_now
from ._sleep import LEFT_ALONE, LONGEST, PATIENCE, Sleep
from ._trace import Untraceable
from ._tree import Application
from ._ways import FEW, Forms, Ways

if TYPE_CHECKING:
    from .static_graph import Options

_IN_VAIN = 4  # calls in a row without a program that are looked at though a way has to wait
_OF_ONE_WAY = 3  # calls with such arguments that have gone the way that waits, and no other one
_OFTEN = 7  # earlier calls with arguments of one form, where there are many
_TIMED_FIRST = 4  # hits after which a call is timed without programs; later several in a row
_TIMED_IN_A_ROW = 3  # at most: the first of them finds other things in the caches
_AWHILE = 32  # and where the arguments have forms of which some may come again
_ASKED_AGAIN = 8  # times as many calls there were as pass until it is asked again what pays
_AS_MANY = 8  # programs for one size each take longer to be made than one for any sizes
# Calls, until some are let pass; and how many at most, until it is known what they take.
_BEGUN, _AT_FIRST = 4, 8
_SERVED_SELDOM = 8  # calls for each that is served: parts of the others may have programs
_SEEN = 4  # calls that were noted, which tell whether ways come again
_GIVEN_UP = 512  # calls until nobody thinks that a program is going to serve any
_LET_PASS = 63  # calls in a row, where programs are slower
_WAYS, _KINDS_OF_WAYS = 12, 4  # forms of arguments, or ways, until loops are opened
_KINDS_THAT_WAIT = 3  # likewise, of fewer ways, where programs for them are too dear for now
_BY_TURNS = "the turns of its loops have no programs yet"
_DEAR = "to compile it would take too long for what its calls have taken so far"
_state = _tracing.state
_function_hooks = function_hook._thread_local


def _is_traced() -> bool:
    """Whether a debugger, say, sees what Python runs: it is to see the method's lines, too."""
    if sys.version_info >= (3, 12) and sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID):
        return True
    return sys.gettrace() is not None


class Waiting(NamedTuple):
    """A way that is too dear to be traced for now."""

    syncs: list[Sync]  # on it
    app: Application  # where it ends
    names: dict[int, str]  # of parameters
    functions: int  # to be traced
    calls: int  # that have gone this way, of those that were looked at
    form: int | None  # of their arguments


class Site:
    """One decorated method of one chain: the ways that its calls go, and their programs."""

    def __init__(
        self, method: Callable[..., Any], name: str, options: Options, lives: Lives
    ) -> None:
        self.method, self.name, self.options = method, name, options
        self.ledger = Ledger(name, is_part=bool(options.inside))
        self.account = Account(self.ledger, options.exact, lives)
        self._maker = Maker(name, method, self.account)
        self.root = Application(None)
        self.last = self.root  # where the last call has ended
        self.chain: Callable[[], Any] = lambda: None
        # No cycles: the parameters that proofs hold are to go with the chain, at once.
        forget = weakref.WeakMethod(self._forget)
        self.ways = Ways(options.limit, lambda app: forget()(app))  # type: ignore[misc]
        self.lock = threading.RLock()
        self.forms = Forms()
        self.sleep = Sleep()
        self._waiting: Waiting | None = None
        #: With so many hits a call is timed without programs.
        self._timed = _TIMED_FIRST
        self._to_time = 0  # so many calls are to be timed now
        self._noted = self._noted_again = 0  # calls, and those of them whose way had come before
        #: Not of turns of loops, and of parts of calls.
        self.rests = None if options.inside else Rests(self)
        self.proofs = Proofs(self)
        self.phrases = Phrases(name, self.account, options.limit > FEW)
        self.any_sizes = AnySizes()
        self._asked_again_at = 0  # call, whether programs for any sizes pay
        self._in_vain = 0  # calls in a row that programs might have served, and that none has
        self._unserved = 0  # calls in a row that were looked at, and had no program
        self._missed = 0  # calls without a program since calls were noted for phrases
        self._patience = PATIENCE  # so many, until some are noted
        self._opened: OpenMethod | None = None  # with the turns of its loops as compiled calls
        self._may_open = True
        self.calls_itself = False  # as for trees: calls that pass are not told from their parts
        self.most_functions = 0  # that a call has applied, of those that were looked at

    def __call__(self, chain: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _state.trace is not None:
            # A handler of signals that has come in the middle, or a part of what is recorded.
            with _tracing.aside_from_trace() if is_asynchronous() else nullcontext():
                return self.method(chain, *args, **kwargs)
        if _function_hooks.function_hooks and function_hook.functions_are_watched():
            return self._plainly(chain, args, kwargs)
        if (rests := self.rests) is not None:
            calls = self.ledger.calls
            if (rests.plainly > 0 or calls >= rests.steps.due) and rests.is_compared(calls):
                return self._compared_plainly(chain, args, kwargs)
        form = None
        if (opened := self._opened) is not None:
            if not self._goes_whole(form := self.forms.of((args, kwargs))):
                return self._turn_by_turn(opened, chain, args, kwargs)
        elif (sleep := self.sleep).calls:
            if sleep.rests or sleep.unseen > 0:
                return self._left_alone(chain, args, kwargs)
            if not self.forms.wakes(form := self.forms.of((args, kwargs))):
                return self._left_alone(chain, args, kwargs)
        settings = settings_now()
        if settings is None:
            return self._plainly(chain, args, kwargs, "the configuration does not allow programs")
        if settings.debug:
            return self._plainly(chain, args, kwargs, "debug mode is on")
        if self.options.force_test_define_by_run and not settings.train:
            return self._plainly(chain, args, kwargs, "force_test_define_by_run is set")
        proofs, proof = self.proofs, None
        if self.ledger.hits >= self._timed:
            self._to_time = self._count_to_time()
        if self._to_time:
            self._to_time -= 1
            return self._timed_plainly(self.last, chain, args, kwargs)
        may_prove = (proofs.proofs or proofs.wanted) and not (
            self.phrases.counts or errors_are_heard() or _is_traced())
        result = proofs.call_briefly(settings, chain, args, kwargs) if may_prove else MISS
        if result is MISS:
            if form is None and self.forms.differ:
                form = self.forms.of((args, kwargs))
            if form is not None and self.forms.passes(form):
                return self._passed(form, chain, args, kwargs)
            if may_prove:
                result, proof = proofs.call(settings, chain, args, kwargs, form)
        if result is not MISS:
            self._in_vain = self._unserved = 0
            self.sleep.is_served()
            if self.account.new_backwards:  # the next call with Python may be far away
                with self.lock:
                    self._renew_pieces()
            return result
        return self._run(settings, chain, args, kwargs, proof, form)

    def goes_on_briefly(self, site: Site | None = None) -> bool:
        """Whether the next call may go a brief way, with nothing else to be done or decided.

        What is due waits for the next call that is not computed together with one of ``site``.
        """
        ledger, rests = self.ledger, self.rests
        if ledger.to_pass or self._opened is not None or self.sleep.calls or self._to_time:
            return False
        if ledger.hits >= self._timed or _function_hooks.function_hooks or self.phrases.counts:
            return False
        if rests is not None and (
                rests.plainly > 0 or self is not site and ledger.calls >= rests.steps.due):
            return False
        if self.options.force_test_define_by_run and not configuration.peek("train"):
            return False
        return _state.trace is None and not (errors_are_heard() or _is_traced())

    def _count_to_time(self) -> int:
        """How many calls are to go without programs, to know what these save.

        That changes, since functions become native code, too.
        """
        times = int(math.log(self._timed, _TIMED_FIRST))
        self._timed *= 4
        if configuration.peek("static_budget") is None:
            return 0
        times = min(times, _TIMED_IN_A_ROW)
        if self._may_go_any_way:  # their functions are counted
            self.phrases.counts = max(self.phrases.counts, times)
            return 0
        return times

    @property
    def spent(self) -> float:
        """Seconds of this thread that went into programs; it does not make native code."""
        spent = self.ledger.spent
        inside = 0.0 if self._opened is None else self._opened.spent
        return sum(spent.values()) - spent["native"] + inside

    @property
    def asleep(self) -> int:
        """For how many calls it is left alone; 0 if it is not, or its own loops may be served."""
        return 0 if self._opened is not None else self.sleep.calls

    def is_part_of(self, outer: Site) -> bool:
        """A call comes inside of one of ``outer`` that goes plainly: whether it is left to that.

        So it is as long as programs may serve the outer one whole, unless there are some for calls
        from elsewhere. Where each chain in a chain has a decorated method, all of them would note
        and trace the same functions.
        """
        if outer is self:
            self.calls_itself = True
            return True
        return not (self.ledger.hits or outer.leaves_parts)

    @property
    def leaves_parts(self) -> bool:
        """Whether decorated methods that it calls get programs of their own.

        They do where hardly any program serves its calls, nor is going to; where programs have made
        it slower, smaller ones would do no better.
        """
        ledger = self.ledger
        if self._opened is not None or self.rests is None:
            return True
        if self.rests.count or ledger.plain_calls <= _SERVED_SELDOM * ledger.hits:
            return False
        if self._noted >= _SEEN and not self._ways_come_again:
            return True
        return ledger.plain_calls > _GIVEN_UP and not self.waits

    def sleeps_for(self, calls: int) -> None:
        """So many calls have gone without it while it was asleep."""
        self.sleep.calls = max(self.sleep.calls - calls, 1)
        self.ledger.plain_calls += calls
        self.ledger.plainly[self.sleep.why] += calls
        self.account.let_pass(calls)

    @property
    def waits(self) -> bool:
        """Whether there is something to be compiled, as soon as it pays."""
        return self._waiting is not None or self.any_sizes.waiting() is not None

    @property
    def _ways_come_again(self) -> bool:
        """Whether calls that were noted have gone ways of earlier ones, often enough."""
        return 4 * self._noted_again > self._noted

    @property
    def _may_go_any_way(self) -> bool:
        """Whether nobody knows which way a call goes without programs: values decide, or forms."""
        return self.forms.differ or self.account.ways > 1

    def _timed_plainly(self, app: Application, chain: Any, args: Any, kwargs: Any) -> Any:
        BLOCKS.trim()
        started = clock()
        result = self._as_one_call(chain, *args, **kwargs)
        self.account.called_plainly(clock() - started, app)
        self.ledger.plainly[TIMED] += 1
        return result

    def _share_of(self, form: int | None, calls: int, app: Application) -> float:
        """The part of the calls to come that go a way, by the forms of their arguments.

        Those that nobody has noted have gone others, as far as is known.
        """
        return self.forms.share(form, calls, app) * self.account.known_share

    def completes(self) -> bool:
        """Compile what waits: programs for some calls of a step may be what slows it.

        Where loops are open, that is what waits for their turns.
        """
        if self._opened is not None:
            return any([site.completes() for site in self.with_turns()])
        kind = self.any_sizes.waiting()
        if kind is not None and self._completes_any_size(kind):
            return True
        waiting = self._waiting
        if waiting is None:
            return False
        share = self._share_of(waiting.form, waiting.calls, waiting.app)
        if not self.account.affords_rest_of_step(waiting.functions, waiting.calls, share):
            return False
        with self.lock:
            if waiting.app in self.ways and self._has_room(waiting.app, None):
                self._compile(waiting.syncs, waiting.app, waiting.names)
                self._wakes_for(waiting)
        return self._waiting is not waiting

    def _completes_any_size(self, kind: Kind) -> bool:
        share, probes = min(kind.calls / max(self._noted, 1), 1.0), probes_for(kind.lengths)
        if kind.stops_anywhere or not self.account.affords_rest_of_step(
                kind.functions, kind.calls, share, probes):
            return False
        with self.lock:
            is_made = self._maker.of_any_size(kind, self.any_sizes)
            if is_made:
                self.forms.differ = True
                self._wake_up()
        return is_made

    def with_turns(self) -> list[Site]:
        """What serves its calls: where loops are open, what is known of their turns."""
        return [self] if self._opened is None else self._opened.sites()

    def looks_again(self) -> bool:
        """Have calls be noted anew, instead of what waits, which is too dear for what it would
        save; False where programs for any sizes wait."""
        if self.any_sizes.waiting() is not None:
            return False
        self._waiting = None
        self.account.grants_notings()
        return True

    def _compared_plainly(self, chain: Any, args: Any, kw: Any) -> Any:
        started = clock()
        try:
            return self._as_one_call(chain, *args, **kw)
        finally:
            self.account.called_asleep(clock() - started)
            self.ledger.plainly[TIMED] += 1

    def _as_one_call(self, chain: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Define-by-run; where the method calls itself (trees), that is a part of the call, too."""
        outer, _state.site = _state.site, self
        try:
            return self.method(chain, *args, **kwargs)
        finally:
            _state.site = outer

    def _plainly(self, chain: Any, args: Any, kwargs: Any, why: str = "") -> Any:
        if function_hook.functions_are_watched():
            why = "function hooks are registered"
        self.ledger.went_plainly(why or self.sleep.why)
        self.account.called_asleep()
        return self.method(chain, *args, **kwargs)

    def _left_alone(self, chain: Any, args: Any, kwargs: Any) -> Any:
        """A call while programs do not pay, or not yet."""
        account, sleep = self.account, self.sleep
        if not sleep.rests and self._seems_to_loop() and self._open_loops():
            return self(chain, args, kwargs)
        self.ledger.went_plainly(sleep.why)
        if sleep.rests:
            BLOCKS.trim()
        waits = self.waits and not sleep.rests
        sleep.calls = max(sleep.calls - 1, 0)  # other threads count, too
        sleep.unseen -= 1
        if sleep.unseen < 0 and not sleep.rests:
            forms, self._unserved = self.forms, self._unserved + 1
            hot = forms.any_is_hot()
            sleep.unseen = forms.unseen(self._unserved) if hot else forms.uncounted(account.plain)
        if sleep.calls > 1 and account.calls >= _BEGUN and not self.calls_itself:
            # Nobody looks at the next ones.
            most = _LET_PASS if sleep.rests else sleep.unseen
            calls = min(sleep.calls - 1, most if account.knows_calls else min(most, _AT_FIRST))
            self.ledger.let_pass(calls, sleep.why)
            account.let_pass(calls)
            sleep.calls -= calls
            sleep.unseen = 0
        # What calls take tells when a way pays that is too dear to be traced now.
        timed = waits and not (account.knows_calls and account.calls % TIMED_EACH)
        started = clock() if timed else 0.0
        result = self._as_one_call(chain, *args, **kwargs)
        account.called_asleep(clock() - started if timed else 0.0)
        if waits and not sleep.calls:
            self._compile_or_wait()
            self._compile_any_size()
        return result

    def _passed(self, form: int, chain: Any, args: Any, kwargs: Any) -> Any:
        """A call with arguments for which there is no program, while others are served."""
        ledger, account = self.ledger, self.account
        self._unserved += 1
        ledger.went_plainly(LEFT_ALONE)
        account.called_asleep()
        if not self.calls_itself and (calls := self.forms.unseen(self._unserved)):
            ledger.let_pass(calls, LEFT_ALONE)
            account.let_pass(calls)
        return self._as_one_call(chain, *args, **kwargs)

    def _run(
        self, settings: Any, chain: Any, args: Any, kwargs: Any, proof: Any, form: int | None
    ) -> Any:
        started = clock()
        run = Run(self, settings, (args, kwargs), form)
        if run.stopped is not None:
            try:
                return self._as_one_call(chain, *args, **kwargs)
            finally:
                self.account.called(run, clock() - started)
                if self.phrases.waits:
                    self._learn_phrases(run)
                self._compile_any_size()
                if run.form is not None and self._knows_way_of(run.form):
                    self._compile_or_wait()
                self._has_no_program(_AWHILE)
                if run.form is not None:
                    self.forms.has_found_none(run.form)
                    self._was_in_vain(run.form)
        if run.counts:
            return self._counted(run, chain, args, kwargs)
        result, raised = None, True
        try:
            _tracing.begin(run)
            try:
                result = self.method(chain, *args, **kwargs)
            except BaseException as error:
                # The Variables handed out may be held anywhere.
                failure = run.failure_to_finish()
                if failure is None or not isinstance(error, Exception):
                    raise
                pass_on(error)
            else:
                failure = None
                run.finish()
            if failure is not None:
                # What was pending has failed; define-by-run would not have come to the other one.
                try:
                    raise failure
                finally:
                    del failure
            raised = False
        finally:
            # At once: exceptions of signals (Ctrl-C) may come with each call of a function.
            _state.run = None
            _tracing.end(run)
            self.proofs.after(run, result, raised, proof)
            self._after(run, clock() - started)
        return result

    def _counted(self, run: Run, chain: Any, args: Any, kwargs: Any) -> Any:
        self.phrases.counts -= 1
        started = clock()
        run.stopped = NEW
        try:
            _tracing.begin(run)
            return self.method(chain, *args, **kwargs)
        finally:
            _state.run = None
            _tracing.end(run)
            self.account.called_and_counted(run, clock() - started)
            if not self.phrases.counts:
                ways = [*self.ways, *self.any_sizes.ends()]
                self.account.times_by_functions(ways, self.plans())

    # -- loops

    def _seems_to_loop(self) -> bool:
        """Whether calls apply more or fewer functions each time, or are read anywhere.

        Where all have programs of their own soon, they need no others.
        """
        sizes = self.any_sizes
        if not self._may_open:
            return False
        many = max(self.forms.count, self.account.ways) >= _WAYS
        least = _KINDS_OF_WAYS if many else _KINDS_THAT_WAIT
        if many and sizes.stop_anywhere:
            return True
        if len(sizes.kinds) < least or sizes.are_likely:
            return False
        return many or self._waiting is not None and self.account.affords_turns()

    @property
    def loops_are_open(self) -> bool:
        """Whether the turns of its loops are calls of their own."""
        return self._opened is not None

    def _goes_whole(self, form: int) -> bool:
        """Whether a call of a method with open loops goes as one all the same.

        Forms of arguments that keep coming get programs of their own, when these pay: one call
        takes less than its turns.
        """
        if self.account.of_turns:
            return False
        if self.sleep.rests_now:  # they were slower
            self.sleep.calls -= 1
            return False
        return self.forms.is_hot(form) or self.may_get_its_own(form)

    def _open_loops(self) -> bool:
        """Have the turns of loops be calls of their own, if there are loops for that."""
        if not self._may_open:
            return False
        self._may_open = False
        options, started = self.options, clock()
        found = open_at(self.method, self.chain(), options.inside)
        self.account.spend("loops", started)
        if found is None:
            return False
        self._opened = OpenMethod(found, options.decorate_turns, options.inside)
        reason = "calls apply more or fewer functions each time: the turns of loops are compiled"
        self.ledger.add("loops", reason, line_of(self.method))
        self.any_sizes.forget()
        self._waiting = None
        self.sleep.wakes()
        self.ledger.let_pass(0, "")
        return True

    def _turn_by_turn(self, method: OpenMethod, chain: Any, args: Any, kwargs: Any) -> Any:
        """A call in which the turns of loops are calls of their own."""
        method.begins()
        ledger, before = self.ledger, method.hits
        try:
            return method(chain, *args, **kwargs)
        finally:
            served = method.hits > before
            if served:
                ledger.with_python += 1
            else:
                ledger.plain_calls += 1
                ledger.plainly[_BY_TURNS] += 1
            self.account.let_pass(1)
            if rest := method.may_rest(served):
                method.rest(rest)
                ledger.let_pass(rest, _BY_TURNS)
                self.account.let_pass(rest)
            for place in method.close_what_does_not_pay():
                reason = "programs serve few calls of this part: it goes as before"
                ledger.add("slower", reason, place)
            if not method.is_open:
                self.close_loops()

    def close_loops(self) -> None:
        """Calls go as before they were opened; neither do phrases pay."""
        self._opened, self._patience = None, 1 << 30

    def is_worth_noting(self, form: int, outside: bool) -> bool:
        """Whether to note what a call with arguments of this form applies.

        Where there are many forms, most never come back, and one that has come twice need not
        come a third time. ``outside``: whether it does not go the ways of any sizes that are there.
        """
        forms, calls = self.forms, self.forms.calls_before(form)
        if self.account.spends_freely:
            return True
        if forms.is_given_up(form) or self._knows_way_of(form):
            return False
        if self.any_sizes.is_there:
            worth = outside or self._may_have_its_own(form, calls)
        else:
            worth = self.any_sizes.listens or not forms.are_many() or calls >= _OFTEN
        return worth and self.account.allows_noting()

    def _knows_way_of(self, form: int) -> bool:
        """Whether calls with such arguments go a way that waits, as far as anybody has seen."""
        waiting = self._waiting
        return waiting is not None and waiting.form == form and (
            waiting.calls >= _OF_ONE_WAY and self.forms.tells_the_way(form))

    def _gained(self) -> float:
        """The part of what programs gain that those of any sizes or of turns do, if there are."""
        if self._opened is not None and self._opened.hits:
            return GAIN_OF_TURNS
        return GAIN_OF_ANY_SIZE[self.any_sizes.are_native] if self.any_sizes.is_there else 0.0

    def may_get_its_own(self, form: int) -> bool:
        """Whether a call that programs for any sizes would serve is to be noted all the same."""
        if not self._may_have_its_own(form, self.forms.calls_before(form)):
            return False
        return not self.forms.is_given_up(form) and self.account.allows_noting()

    def _may_have_its_own(self, form: int, calls: int) -> bool:
        """Whether a form that goes a way of any sizes comes so often that others would pay."""
        if self._waiting is not None and self._waiting.form == form:
            return False
        often, rest = divmod(calls, _OFTEN)  # it takes a while to know, and is asked seldom
        if rest > 1 or often & (often - 1) or not often:
            return False
        functions, share = self.last.depth, 1 / self.forms.every(form)
        return not self.account.wait_for_trace(functions, calls, 1, share, instead=self._gained())

    # -- after a call

    def _after(self, run: Run, seconds: float) -> None:
        account = self.account
        run.took(seconds)
        ended, spent = (clock(), self.spent) if run.noted else (0.0, 0.0)
        account.called(run, seconds)
        self.most_functions = max(self.most_functions, run.app.depth)
        for reason, where in run.stops:
            self.ledger.stopped(reason, where)
        self._in_vain = 0 if run.programs else self._in_vain + 1
        if run.programs:
            self._unserved = 0
            self.sleep.is_served()
        elif self._waiting is None:
            self._has_no_program(LONGEST)
        self._learn_phrases(run)
        is_new = run.syncs or account.new_backwards or run.app is not self.last
        if run.any_size:
            with self.lock:
                self._learn_of_any_size(run)
        elif run.phrases is None and is_new:
            self.last = run.app
            with self.lock:
                self._learn(run)
        self._compile_any_size()
        if run.realized and not run.programs and not run.any_size and run.app.is_eager():
            self._leave(run)
        if run.form is not None:
            self._learn_of_form(run, run.form)
        if run.noted:
            learning = clock() - ended - (self.spent - spent)
            self.ledger.spent["noting"] += seconds - account.plain_part(run, seconds) + learning

    def _learn_of_form(self, run: Run, form: int) -> None:
        """What a call tells of those with such arguments: some are let pass from now on."""
        forms = self.forms
        hot = run.app.hot and run.stopped is None and not run.is_of_parts
        forms.has_gone(form, run.left, hot)
        if not (run.programs or run.left or hot):
            forms.has_found_none(form)
        if not run.programs:
            self._was_in_vain(form)
            return
        forms.was_served(form, run.app)

    def _was_in_vain(self, form: int) -> None:
        """A call with such arguments was looked at, and had no program."""
        phrases = self.phrases.is_there or self.phrases.notes
        if not self.ledger.hits or phrases or self.account.hurries():
            return
        arguments_decide = self.forms.differ and self.forms.tells_the_way(form)
        if arguments_decide and self.account.is_brief():
            self.forms.was_in_vain(form)

    def _leave(self, run: Run) -> None:
        """To follow a way takes longer than to go it, where no program is left on it."""
        app = run.app
        while app.parent is not None and not any([c.hot for c in app.all_children()]):
            app.becomes(hot=False)
            app = app.parent
        self.forms.give_up(run.form)

    def _has_no_program(self, longest: int) -> None:
        if self._opened is not None:
            return
        self._missed += 1
        self.sleep.was_in_vain()
        if self.phrases.notes:
            return
        # Where arguments come again, and go their ways again, to spend on these is better; trees
        # of one form are seldom like another one.
        settles = self.forms.come_back() and self._ways_come_again
        if settles and self._waiting is not None:
            self._compile_or_wait()
            if self._waiting is None or self.sleep.calls:
                return  # else there are programs for other calls: it sleeps for some only
        alike = self.any_sizes.are_likely  # one program for them all is better than phrases
        if not (settles or alike) and self._seems_to_loop() and self._open_loops():
            return
        if self._missed >= self._patience and not (settles or alike) and (
                self.account.allows_phrases()):
            if self.forms.count >= _WAYS and self._open_loops():
                return
            self._missed, self._patience = 0, 4 * self._patience
            self.phrases.listen()
            return
        self.sleep.may_begin(longest)

    def _learn(self, run: Run) -> None:
        """Trace what has been seen twice, as far as the account allows it."""
        app, ways = run.app, self.account.ways
        self.account.ways = self.ways.remember(app)
        if ways == 1 < self.account.ways and self.account.knows_other_ways():
            self.phrases.counts = _TIMED_IN_A_ROW
        self.account.seen += bool(run.syncs)
        least = LONGEST
        for sync in run.syncs:
            seen = sync.app.sightings[sync.first] = sync.app.sightings.get(sync.first, 0) + 1
            least = min(least, seen)
        if run.form is not None and run.syncs:
            self.forms.was_seen(run.form, app)
        if run.noted and run.syncs:
            self._noted += 1
            self._noted_again += least >= 2
            if run.stopped is None and self._opened is None:
                self.any_sizes.add(app, run.syncs, lambda: self.names_of(run), run.outside)
        # Following a way of which a part has no program takes longer than no program at all.
        is_left = self._is_left_to_any_size(app, run.form)
        if run.syncs and least >= 2 and not is_left and self._has_room(app, run.form):
            functions = sum([a.weight for s in run.syncs for a in s.app.path(s.first)])
            share = self._share_of(run.form, least, app)
            wait = self.account.wait_for_trace(
                functions, least, _results(run.syncs), share, instead=self._gained(),
                programs=_programs(run.syncs))
            if any(map(_was_guessed, run.syncs)):
                wait = 0  # what has been spent on it is lost otherwise
            made = not wait and not _is_compiled(run)
            if wait and not run.programs and self._opened is None:
                self._is_left_alone_for(wait)
                if self._waiting is None:
                    self.ledger.add("waits", _DEAR + way_of(app), line_of(self.method))
                if self._waiting is None or least >= self._waiting.calls:
                    names = self.names_of(run)
                    self._waiting = Waiting(
                        run.syncs, app, names, functions, least, run.form)
            elif made:
                self._compile(run.syncs, app, self.names_of(run))
            if made or self._opened is not None:
                self._wakes_for(run)
        self._renew_pieces()

    def _is_left_to_any_size(self, app: Application, form: int | None) -> bool:
        """Whether a way is one of so many that a program for any sizes is rather to serve it.

        To make that takes as long as to make those for some sizes. The sizes of a call of turns are
        those of all of them: they only seem to come back.
        """
        if self.account.of_turns:
            return self.any_sizes.may_serve(app)
        if not self.any_sizes.come_soon:
            return False
        if self.forms.are_many() and self.forms.every(form) > _AS_MANY:
            return True
        # Values may decide on sizes, not arguments, and most calls have gone ways of their own.
        of_values = 2 * self._noted_again < self._noted and self.account.ways > 2 * self.forms.count
        return of_values and self.any_sizes.may_serve(app)

    def _wakes_for(self, call: Run | Waiting) -> None:
        """There are programs for calls like this one: they are looked at while others wait."""
        if call.form is not None and _is_compiled(call):
            self.forms.becomes_hot(call.form)

    def _is_left_alone_for(self, wait: int) -> None:
        """A way is too dear for the next calls."""
        served = self.phrases.is_there or self.any_sizes.is_there
        # There may be programs that none of the last calls could run.
        if not served and (not self.ways.has_programs() or self._in_vain >= _IN_VAIN):
            self.sleep.begins(wait, _DEAR)

    def _compile_or_wait(self) -> None:
        """Compile the way that waits, if that pays by now: no call is noted for it once more."""
        with self.lock:
            waiting = self._waiting
            if waiting is None or waiting.app not in self.ways or _is_compiled(waiting) or (
                    self._is_left_to_any_size(waiting.app, waiting.form)):
                self._waiting = None
            elif wait := self.account.wait_for_trace(
                waiting.functions, waiting.calls, _results(waiting.syncs),
                self._share_of(waiting.form, waiting.calls, waiting.app), instead=self._gained(),
                programs=_programs(waiting.syncs),
            ):
                self._is_left_alone_for(wait)
            elif self._has_room(waiting.app, None):
                self._compile(waiting.syncs, waiting.app, waiting.names)
                self._wakes_for(waiting)

    # -- ways of any sizes

    def _learn_of_any_size(self, run: Run) -> None:
        """A call has followed a way of any sizes, or has begun to."""
        self._renew_pieces()
        if run.app is not self.any_sizes.root:
            self.last = run.app
            self.any_sizes.was_followed(run)

    def _compile_any_size(self) -> None:
        """Compile what is the same but for lengths, if that pays by now."""
        if self.account.calls < self._asked_again_at:
            return
        kind = self.any_sizes.waiting()
        if kind is None:
            return
        if kind.stops_anywhere and self._open_loops():
            return
        with self.lock:
            share = min(kind.calls / max(self._noted, 1), 1.0)
            wait = self.account.wait_for_trace(
                kind.functions, kind.calls, len(kind.syncs), share, probes_for(kind.lengths),
                programs=len(kind.syncs))
            if wait:
                # More calls tell more of what such programs are going to save.
                wait = min(wait, max(self.account.calls // _ASKED_AGAIN, PATIENCE))
                self._asked_again_at = self.account.calls + wait
                self._is_left_alone_for(wait)
            elif self._maker.of_any_size(kind, self.any_sizes):
                self.forms.differ = True
                self._wake_up()

    def _renew_pieces(self) -> None:
        # Without a program, a backward takes longer than define-by-run: most do not wait.
        pieces, self.account.new_backwards = self.account.new_backwards, []
        for piece in dict.fromkeys(pieces):  # one that several kinds have come for, once
            if not piece.dirty:
                continue
            if piece.may_be_renewed():
                self._maker.renew(piece)
            else:
                self.account.new_backwards.append(piece)

    def native_is_coming(self) -> bool:
        """Ask for native code of programs that are slow; whether there will be some."""
        pieces = [piece for plan in self.plans() for piece in plan.compiled_pieces()]
        schedules = []
        for piece in pieces:
            if (schedule := piece.schedule) is not None:
                schedules.append(schedule)
                if not schedule.native_takes_long or self.account.affords_native(piece.weight):
                    schedule.ask_for_native()
        return any([schedule.native_is_coming for schedule in schedules])

    def _learn_phrases(self, run: Run) -> None:
        """Note what a call has applied, and compile what has come often."""
        phrases = self.phrases
        with self.lock:
            if phrases.notes and run.noted:
                phrases.heard(run)
            elif phrases.notes and run.app is self.root:
                phrases.has_heard_nothing()
            if run.phrases is not None or phrases.waits:
                self._maker.were_made(phrases.compile(run.phrase_syncs))
            if run.phrases is not None:
                phrases.was_followed(run)
                self._renew_pieces()

    def compile_what_waits(self) -> None:
        """Compile what the account has thought that it does not pay yet."""
        with self.lock:
            self._maker.were_made(self.phrases.compile((), at_once=True))
            if (waiting := self._waiting) is not None:
                self._compile(waiting.syncs, waiting.app, waiting.names)
                self.sleep.wakes()
                self.ledger.let_pass(0, self.sleep.why)
            for piece in [piece for plan in self.plans() for piece in plan.pieces]:
                if piece.schedule is None:
                    self._maker.renew(piece)

    def _compile(self, syncs: list[Sync], app: Application, names: dict[int, str]) -> None:
        self._waiting = None
        try:
            are_new = self._maker.of_way(syncs, app, names)
        except Untraceable as e:
            # Its numbers must be constants: it is noted anew.
            assert e.app.parent is not None
            e.app.parent.constants_at.add(e.app.place)
            children = list(e.app.parent.children.items())
            self.forget(e.app.parent, next(k for k, found in children if e.app in found))
            return
        for a in app.path(1):
            a.becomes(hot=True)
        self.ways.compiled(app)
        if are_new:
            self._wake_up()

    def compile_lean(
        self, needs: Sequence[Need], names: dict[int, str],
        why: str = "without its Python a call needs fewer programs",
    ) -> list[Plan] | None:
        """Compile programs for calls that go without their Python; None if that does not work."""
        with self.lock:
            return self._maker.lean(needs, names, why)

    def _wake_up(self) -> None:
        """There are new programs: the method was left alone for calls that had none.

        Forms of arguments that have programs would wake it each time, which takes time.
        """
        if not self.sleep.rests:
            self.sleep.wakes()

    def names_of(self, run: Run) -> dict[int, str]:
        """The paths of the parameters among the values of a call, by slot."""
        chain = self.chain()
        paths = {} if chain is None else parameter_paths(chain)
        return {
            slot: paths.get(id(x), x.name)
            for slot, x in run.values_by_slot()
            if isinstance(x, Parameter)
        }

    # -- memory

    def _has_room(self, app: Application, form: int | None) -> bool:
        return self.ways.has_room(app, self.account.calls, self.forms.every(form))

    def _forget(self, app: Application) -> None:
        while app.parent is not None and not app.children and app not in self.ways:
            parent = app.parent
            for key, found in list(parent.children.items()):
                if app in found:
                    rest = tuple([c for c in found if c is not app])
                    if rest:
                        parent.children[key] = rest
                    else:
                        del parent.children[key]
            if parent.next is app:
                parent.predict(None)
            app.plans.clear()
            app = parent

    def forget(self, parent: Application, key: Any) -> None:
        """Forget the children with a key, and all ways through them."""
        with self.lock:
            gone = parent.children.pop(key, ())
            for app in _with_what_follows(gone):
                app.plans.clear()  # proofs that rest on them go as well
            self.account.forgets()
            for way in self.ways:
                if way.depth > parent.depth and way.path(parent.depth + 1)[0] in gone:
                    self.ways.lose(way)
            if parent.next in gone:
                parent.predict(None)

    def forget_programs(self) -> None:
        """What was known about the ways through the method does not hold any more."""
        for app in _with_what_follows([self.root]):
            app.becomes(hot=False)
            app.plans.clear()
            app.sightings.clear()
        self.any_sizes.forget()
        self.forms.forgets_programs()

    def plans(self) -> list[Plan]:
        """The programs of all ways."""
        apps = _with_what_follows([self.root])
        found = [p for app in apps for p in list(app.plans.values())]  # other threads add some
        return found + self.phrases.plans() + self.any_sizes.plans()

    def end_forward(self) -> None:
        for plan in self.plans():
            for piece in plan.compiled_pieces():
                piece.schedule.trim()


def _with_what_follows(apps: Iterable[Application]) -> Iterator[Application]:
    stack = list(apps)
    while stack:
        app = stack.pop()
        yield app
        stack += app.all_children()


def _results(syncs: Sequence[Sync]) -> int:
    """How many values somebody holds at sync points."""
    return sum([max(len(sync.alive), 1) for sync in syncs])


def _programs(syncs: Sequence[Sync]) -> int:
    """How many programs run between sync points, at least."""
    return sum([sync.app.depth >= sync.first for sync in syncs])


def _is_compiled(call: Run | Waiting) -> bool:
    """Whether there are programs for all of a way."""
    return call.app.hot and all(map(Sync.has_program, call.syncs))


def _was_guessed(sync: Sync) -> bool:
    """Whether there is a program that does not give all that is held, as nobody knew it."""
    plan = sync.app.plans.get(sync.first)
    return plan is not None and plan.guessed and plan.ready() and not sync.alive <= plan.wanted
