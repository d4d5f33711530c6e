"""``chainer.static_graph``: a decorator that compiles the forward method of a chain."""

from __future__ import annotations

import functools
import inspect
import time
import weakref
from collections.abc import Callable
from typing import Any

from chainer import _tracing, configuration, function_hook, link_hook
from chainwright.runtime import Cache, Key, Ledger, Report

from ._arguments import Flat, Unsupported, rebuild
from ._host import Changed
from ._recording import Results, Unreplayable
from ._replay import Entry, StaticScheduleFunction, first_call
from ._session import Session

__all__ = ["ScheduleManager", "StaticScheduleFunction", "static_graph"]

_FEW, _MANY, _PER_KEY = 8, 64, 4  # schedules kept by a chain: minimize_cache_size or not
_MISSES = 6  # traces in a row, each because the same thing has changed
_OPTIONS = (
    "force_test_define_by_run",
    "minimize_cache_size",
    "verbosity_level",
    "enable_double_backprop",
)
_trace_state = _tracing.state
_local, _global = configuration.local_entries, configuration.global_entries
_function_hooks = function_hook._thread_local
_link_hooks = link_hook._thread_local


class Options:
    """The checked arguments of the decorator."""

    def __init__(
        self,
        force_test_define_by_run: bool = False,
        minimize_cache_size: bool = True,
        verbosity_level: int = 0,
        enable_double_backprop: bool = False,
    ) -> None:
        for name, value in (
            ("force_test_define_by_run", force_test_define_by_run),
            ("minimize_cache_size", minimize_cache_size),
            ("enable_double_backprop", enable_double_backprop),
        ):
            if not isinstance(value, bool):
                raise TypeError(f"static_graph: {name} must be True or False, not {value!r}")
        if verbosity_level not in (0, 1, 2) or isinstance(verbosity_level, bool):
            raise ValueError(
                f"static_graph: verbosity_level must be 0, 1 or 2, not {verbosity_level!r}"
            )
        self.force_test_define_by_run = force_test_define_by_run
        self.limit = _FEW if minimize_cache_size else _MANY
        self.verbosity = verbosity_level


class Site:
    """One decorated method of one chain: its schedules, and the way of each call."""

    def __init__(self, method: Callable[..., Any], name: str, options: Options) -> None:
        self.method, self.name, self.options = method, name, options
        self.ledger = Ledger(name, options.verbosity)
        self.cache: Cache[Entry] = Cache(options.limit, _PER_KEY)
        self._misses: list[str] = []
        self._changing: str | None = None
        self._told: set[str] = set()
        self._last: tuple[Entry, Any, bool, bool] | None = None

    def __call__(self, chain: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        local = _local.__dict__.get
        train = local("train", _global["train"])
        backprop = local("enable_backprop", _global["enable_backprop"])
        if (
            _trace_state.trace is not None  # an outer call records this one as its own part
            or self._changing is not None
            or _function_hooks.function_hooks
            or _link_hooks.hooks
            or local("debug", _global["debug"])
            or (not train and self.options.force_test_define_by_run)
        ):
            return self._eager(chain, args, kwargs)
        last = self._last
        if last is not None and not kwargs and last[2] is train and last[3] is backprop:
            # The common case: as the last time.
            entry, check, _, _ = last
            arrays = check(args)
            if arrays is not None and (entry.schedule is not None or entry.ready()):
                return self._replay(entry, args, arrays, chain, args, kwargs)
        return self._look_up(chain, args, kwargs, train, backprop)

    def _look_up(self, chain: Any, args: Any, kwargs: Any, train: bool, backprop: bool) -> Any:
        try:
            flat = Flat(args, kwargs)
            key = Key(flat.structure, flat.aliases, train, backprop)
            entries = self.cache.get(key)
        except (Unsupported, TypeError) as e:
            return self._unsupported(e, chain, args, kwargs)
        for entry in entries or ():
            arrays = entry.enter(args, flat.leaves)
            if arrays is not None:
                if entry.reason is not None:
                    return self._eager(chain, args, kwargs)
                if not entry.ready():
                    self.ledger.eager_calls += 1
                    session = Session(self.name, recording=False)
                    return self._run(session, entry, chain, args, kwargs, flat.leaves)[0]
                if entry.simple:
                    self._last = (entry, entry.check, train, backprop)
                return self._replay(entry, flat.leaves, arrays, chain, args, kwargs)
        return self._trace(chain, args, kwargs, flat, key, entries)

    def _replay(self, entry: Entry, leaves: Any, arrays: Any, *call: Any) -> Any:
        try:
            result = entry.replay(leaves, arrays)
        except Changed:
            self._last = None
            return self._eager(*call)
        self.ledger.hits += 1
        return result

    def _eager(self, chain: Any, args: Any, kwargs: Any) -> Any:
        self.ledger.eager_calls += 1
        return self.method(chain, *args, **kwargs)

    def _unsupported(self, error: Exception, chain: Any, args: Any, kwargs: Any) -> Any:
        reason = f"an argument cannot be compared with those of another call: {error}"
        if reason not in self._told:
            self._told.add(reason)
            self.ledger.add("define-by-run", reason, _line(self.method))
        return self._eager(chain, args, kwargs)

    def _trace(self, chain: Any, args: Any, kwargs: Any, flat: Flat, key: Key, entries: Any) -> Any:
        reason = self._why(entries)
        if self._changing is not None:
            return self._eager(chain, args, kwargs)
        started = time.perf_counter()
        session = Session(self.name)
        entry = Entry(self.ledger, key, args, kwargs)
        result, results = self._run(session, entry, chain, args, kwargs, flat.leaves)
        self._keep(entry, session, results)
        self.ledger.add("trace", reason, _line(self.method), time.perf_counter() - started)
        if entry.reason is not None:
            self.ledger.eager_calls += 1
        if self._last is not None:
            self.cache.get(self._last[0].key)  # it has been used without the cache noticing
        for gone in self.cache.add(key, entry):
            self.ledger.add("evicted", "the cache is full")
            if self._last is not None and self._last[0] is gone:
                self._last = None
        return result

    def _run(
        self, session: Session, entry: Entry, chain: Any, args: Any, kwargs: Any, leaves: Any
    ) -> tuple[Any, Results]:
        """Run the method define-by-run, as one node of the caller's graph."""
        inner: dict[int, Any] = {}
        for i, leaf in enumerate(leaves):
            if id(leaf) not in inner:
                inner[id(leaf)] = session.argument(leaf, i)

        def stand_in(leaf: Any) -> Any:
            return inner.get(id(leaf), leaf)

        given = tuple(rebuild(a, stand_in) for a in args)
        named = {k: rebuild(v, stand_in) for k, v in kwargs.items()}
        result = None
        try:
            result = session.run(chain, self.method, given, named)
        finally:
            # After an exception, what the call has set by now stays set, as without the decorator.
            results = Results(session, result, leaves)
            result = first_call(session, entry, results, leaves)
        return result, results

    def _keep(self, entry: Entry, session: Session, results: Results) -> None:
        entry.saw(session)
        if session.recorder.live:
            try:
                entry.record(session, results)
            except Unreplayable as e:
                session.escape(str(e))
        if not session.recorder.live:
            entry.give_up(session.recorder.escaped)

    def _why(self, entries: list[Entry] | None) -> str:
        """Why no schedule fits; the same thing changing again and again ends the attempts."""
        if not entries:
            self._misses.clear()
            return "the first call with these arguments" if len(self.cache) else "the first call"
        reason = entries[0].prologue.explain() or "a guard failed"
        self._misses.append(reason)
        if len(self._misses) >= _MISSES and len(set(self._misses[-_MISSES:])) == 1:
            self._changing = reason
            self.ledger.add(
                "define-by-run",
                f"{reason} in every call, so no recording stays valid",
                _line(self.method),
            )
        return reason

    def end_forward(self) -> None:
        for entry in self.cache:
            if entry.schedule is not None:
                entry.schedule.trim()


def _line(method: Callable[..., Any]) -> str:
    code = inspect.unwrap(method).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


class ScheduleManager:
    """What a chain knows about its compiled methods: ``chain.schedule_manager``.

    Copies and pickles of the chain start with an empty one.
    """

    def __init__(self, chain: Any) -> None:
        self._chain = weakref.ref(chain)
        self._sites: dict[Callable[..., Any], Site] = {}

    def of(self, chain: Any) -> bool:
        """Whether this manager belongs to ``chain`` (and not to the one it was copied from)."""
        return self._chain() is chain

    def end_forward(self) -> None:
        """Say that no forward pass is under way: buffers that no call uses are released.

        Calls keep what their backward needs until they are dropped, so calling this is never
        necessary; code written for the original, which needs it, may.
        """
        for site in self._sites.values():
            site.end_forward()

    def report(self) -> Reports:
        """Why each trace happened, on which line, and how long it took."""
        return Reports(site.ledger.report() for site in self._sites.values())

    @property
    def programs(self) -> list[CompiledProgram]:
        """The compiled programs, with their source, IR text and graphs."""
        return [
            CompiledProgram(entry)
            for site in self._sites.values()
            for entry in site.cache
            if entry.schedule is not None
        ]

    def __copy__(self) -> None:
        return None

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> Any:
        return _nothing, ()


def _nothing() -> None:
    """What a pickled manager becomes."""


class Reports(tuple[Report, ...]):
    """Reports of all compiled methods of a chain; ``str()`` is a table for people."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class CompiledProgram:
    """A schedule, for reading: its programs, its graphs, and the memory it takes."""

    def __init__(self, entry: Entry) -> None:
        self._schedule = entry.schedule

    @property
    def source(self) -> str:
        """The generated programs (forward, then each backward), as Python text."""
        return self._schedule.source

    @property
    def recorded(self) -> Any:
        """The graph as it was recorded (``str()`` is its text, ``to_dot()`` its picture)."""
        return self._schedule.recorded

    @property
    def optimized(self) -> Any:
        """The forward graph after the passes."""
        return self._schedule.built.forward

    def to_dot(self) -> Any:
        """The picture of :attr:`optimized`, as a ``graphviz.Digraph``."""
        built = self._schedule.built
        return built.forward.to_dot(results=len(built.forward.outputs) - len(built.saved))

    @property
    def backwards(self) -> list[Any]:
        """The backward graphs after the passes."""
        return list(self._schedule.built.backwards.values())

    @property
    def scratch_bytes(self) -> int:
        """Size of the arena that intermediate values share."""
        return self._schedule.program.scratch_bytes

    @property
    def kept_bytes(self) -> int:
        """Size of what one call keeps for its backward."""
        return self._schedule.program.kept_bytes

    @property
    def intermediate_bytes(self) -> int:
        """What all intermediate values would take without sharing."""
        return self._schedule.program.intermediate_bytes


def _manager(chain: Any) -> ScheduleManager:
    manager = chain.__dict__.get("schedule_manager")
    if manager is None or not manager.of(chain):
        manager = chain.__dict__["schedule_manager"] = ScheduleManager(chain)
    return manager


def static_graph(*args: Any, **kwargs: Any) -> Any:
    """Compile the forward method of a chain.

    The first call with arguments of certain shapes runs as always (define-by-run) and is
    recorded; later calls run a program generated from the recording, and so does their backward.
    Results, gradients, exceptions, random numbers and updated statistics are those of the
    undecorated method: what the recorded code has read (attributes, ``chainer.config``, globals,
    arguments that are no arrays) is compared at each call, and a call that differs is recorded
    anew. What cannot be replayed (code that looks at the values of arrays, for instance) stays
    define-by-run; ``chain.schedule_manager.report()`` and the logger ``chainwright`` say why.

    Use it on ``__call__`` or ``forward`` of a :class:`~chainer.Chain` (or of any
    :class:`~chainer.Link`), with or without arguments::

        @chainer.static_graph
        @chainer.static_graph(minimize_cache_size=False)

    Args:
        force_test_define_by_run (bool): Do not compile while ``chainer.config.train`` is False.
        minimize_cache_size (bool): Keep few schedules (8; otherwise 64) for different shapes,
            modes and attributes; the least recently used goes first.
        verbosity_level (int): 0: log what stays define-by-run (as a warning); 1: also each trace
            and compilation (level INFO); 2: the same.
        enable_double_backprop (bool): Accepted for compatibility. Differentiating gradients
            always works; it goes through the define-by-run graph.

    Raises:
        TypeError: For an unknown option, or if the decorated object is no function.
        ValueError: For an option out of its range.

    .. doctest::

        >>> import chainer.functions as F, chainer.links as L
        >>> class MLP(chainer.Chain):
        ...     def __init__(self):
        ...         super().__init__()
        ...         with self.init_scope():
        ...             self.l1 = L.Linear(4, 8)
        ...             self.l2 = L.Linear(8, 2)
        ...     @chainer.static_graph
        ...     def forward(self, x):
        ...         return self.l2(F.relu(self.l1(x)))
        >>> model = MLP()
        >>> for _ in range(3):
        ...     loss = F.sum(model(np.ones((5, 4), np.float32)))
        ...     model.cleargrads()
        ...     loss.backward()
        >>> model.schedule_manager.report()[0].hits
        2
    """
    if len(args) == 1 and not kwargs and not isinstance(args[0], (bool, int)):
        return _decorate(args[0], Options())
    if args:
        raise TypeError(
            "static_graph takes a method, or options by keyword: @static_graph or "
            f"@static_graph({_OPTIONS[0]}=True)"
        )
    unknown = sorted(set(kwargs) - set(_OPTIONS))
    if unknown:
        raise TypeError(
            f"static_graph has no option {', '.join(unknown)}; the options are "
            f"{', '.join(_OPTIONS)}"
        )
    options = Options(**kwargs)
    return lambda method: _decorate(method, options)


def _decorate(method: Any, options: Options) -> Callable[..., Any]:
    if not inspect.isfunction(method):
        hint = ""
        if isinstance(method, type):
            hint = "; decorate its __call__ or forward method instead of the class"
        raise TypeError(f"static_graph decorates a method of a chain, not {method!r}{hint}")
    name = method.__qualname__.replace("<locals>.", "")

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            site = self.__dict__["schedule_manager"]._sites[method]
            if site.chain() is self:
                return site(self, args, kwargs)
        except (KeyError, AttributeError):
            pass
        return _site(self, method, name, options)(self, args, kwargs)

    return call


def _site(chain: Any, method: Callable[..., Any], name: str, options: Options) -> Site:
    from chainer.link import Link

    if not isinstance(chain, Link):
        raise TypeError(
            f"static_graph: {name} was called on a {type(chain).__name__}; only methods of a "
            "chainer.Chain (or another Link) can be compiled"
        )
    manager = _manager(chain)
    site = manager._sites.get(method)
    if site is None:
        site = manager._sites[method] = Site(method, name, options)
        site.chain = weakref.ref(chain)
    return site
