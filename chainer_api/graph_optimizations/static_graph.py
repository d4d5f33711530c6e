"""``chainer.static_graph``: a decorator that compiles the forward method of a chain."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Set
from typing import Any, TypeVar, overload

from chainer import _tracing, configuration

from ._again import Gradients
from ._frames import entry_code
from ._lives import Lives
from ._node import StaticScheduleFunction
from ._report import (
    CompiledProgram,
    Reports,
    begun,
    collecting,
    programs_of,
    save_at_the_end,
)
from ._residual import MISS
from ._site import Site
from ._ways import FEW, MANY

__all__ = [
    "CompiledProgram",
    "Reports",
    "ScheduleManager",
    "StaticScheduleFunction",
    "collecting",
    "reports_of",
    "static_graph",
]

_OPTIONS = (
    "force_test_define_by_run",
    "minimize_cache_size",
    "verbosity_level",
    "enable_double_backprop",
    "exact",
    "report",
)
_state = _tracing.state
_BRIEF_LIVES = "chains of this kind have lived for a few calls only"
Method = TypeVar("Method", bound=Callable[..., Any])


class Options:
    """The checked arguments of the decorator."""

    inside: Set[Any] = frozenset()  # of turns of a loop: the functions that they are inside of
    #: Of these: what is known of the calls of each object.
    sites: list[weakref.ref[Site]] | None = None

    def __init__(
        self,
        force_test_define_by_run: bool = False,
        minimize_cache_size: bool = True,
        verbosity_level: int = 0,
        enable_double_backprop: bool = False,
        exact: bool | None = None,
        report: Any = None,
    ) -> None:
        for name, value in (
            ("force_test_define_by_run", force_test_define_by_run),
            ("minimize_cache_size", minimize_cache_size),
            ("enable_double_backprop", enable_double_backprop),
            ("exact", exact if exact is not None else True),
        ):
            if not isinstance(value, bool):
                raise TypeError(f"static_graph: {name} must be True or False, not {value!r}")
        if verbosity_level not in (0, 1, 2) or isinstance(verbosity_level, bool):
            raise ValueError(
                f"static_graph: verbosity_level must be 0, 1 or 2, not {verbosity_level!r}"
            )
        self.force_test_define_by_run = force_test_define_by_run
        self.limit = FEW if minimize_cache_size else MANY
        self.exact = exact
        if report is not None and not isinstance(report, (str, os.PathLike)):
            raise TypeError(f"static_graph: report must be the name of a file, not {report!r}")
        if report == "":
            raise ValueError("static_graph: report is '', which is the name of no file")
        self.report = report

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked for that holds for one method alone."""
        return not (self.force_test_define_by_run or self.report) and self.exact is None

    def decorate_turns(
        self, turns: Any, inside: Set[Any], sites: list[weakref.ref[Site]]
    ) -> Callable[..., Any]:
        """Compile the turns of a loop that are inside of some functions."""
        made = copy.copy(self)
        made.report, made.inside, made.sites = None, inside, sites
        return _decorate(turns, made)


class ScheduleManager:
    """What a chain knows about its compiled methods: ``chain.schedule_manager``.

    Copies and pickles of the chain start with an empty one.
    """

    def __init__(self, chain: Any) -> None:
        self._chain = weakref.ref(chain)
        #: By method; those of calls around these by themselves.
        self._sites: dict[Any, Site] = {}
        self.gradients = Gradients(chain)

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
        """Why each trace happened, on which line, and how long it took.

        The reports of the chain's compiled methods, and of loss functions that were compiled as a
        whole since they call these, as a tuple; ``str()`` of it is a table, and
        ``save('report.html')`` writes a page with everything that is known.
        """
        return Reports(_called(self._sites.values()))

    @property
    def programs(self) -> list[CompiledProgram]:
        """The compiled programs, with their source, IR text and graphs.

        What would have been compiled later, since it did not pay yet, is compiled now.
        """
        sites = self._sites.values()
        for site in sites:
            site.compile_what_waits()
        return [program for site in sites for program in programs_of(site)]

    def __copy__(self) -> None:
        return None

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> Any:
        return _nothing, ()


def _nothing() -> None:
    """What a pickled manager becomes."""


def reports_of(links: Iterable[Any]) -> Reports:
    """The reports of the compiled methods of some links, each once."""
    managers = [vars(link).get("schedule_manager") for link in dict.fromkeys(links)]
    return Reports(site for m in managers if m is not None for site in _called(m._sites.values()))


def _called(sites: Iterable[Site]) -> list[Site]:
    """Those that have had calls of their own, or all: others were parts of the calls of these."""
    sites = [*sites]
    return [s for s in sites if s.ledger.hits or s.ledger.eager_calls] or sites


def manager_of(chain: Any) -> ScheduleManager:
    manager = chain.__dict__.get("schedule_manager")
    if manager is None or not manager.of(chain):
        manager = chain.__dict__["schedule_manager"] = ScheduleManager(chain)
    return manager


@overload
def static_graph(method: Method, /) -> Method: ...


@overload
def static_graph(
    *,
    force_test_define_by_run: bool = ...,
    minimize_cache_size: bool = ...,
    verbosity_level: int = ...,
    enable_double_backprop: bool = ...,
    report: str | os.PathLike[str] | None = ...,
) -> Callable[[Method], Method]: ...


def static_graph(*args: Any, **kwargs: Any) -> Any:
    """Compile the forward method of a chain.

    Calls that are new run as always (define-by-run); when the same functions are applied for the
    second time they are compiled, or later, when that pays (``chainer.config.static_budget``), and
    further calls have programs compute their results, and their backward. The method's Python runs
    in every call, unless it is proved to do nothing that matters. Results, gradients,
    exceptions, random
    numbers, updated statistics and whatever else the method does are those of the undecorated
    method. ``chain.schedule_manager.report()`` and the logger ``chainwright`` tell what happens.

    Use it on ``__call__`` or ``forward`` of a :class:`~chainer.Chain` (or of any
    :class:`~chainer.Link`), with or without arguments::

        @chainer.static_graph
        @chainer.static_graph(minimize_cache_size=False)

    Args:
        force_test_define_by_run (bool): Do not compile while ``chainer.config.train`` is False.
        minimize_cache_size (bool): Keep few schedules for different shapes, modes and attributes:
            8, and up to 64 as long as they take little memory. Otherwise 64. Those that are used
            no more go first.
        verbosity_level (int): 0, 1 or 2, accepted for compatibility. The logger ``chainwright``
            has a record of level INFO for each compilation, and warnings of what is wrong;
            ``CHAINWRIGHT_LOGS=recompiles,code,graph`` in the environment writes them, programs
            and graphs to standard error.
        enable_double_backprop (bool): Accepted for compatibility. Differentiating gradients
            always works; it goes through the define-by-run graph.
        exact (bool or None): ``False``: native code may give other last bits than define-by-run,
            where that is faster (``None``: as ``chainer.config.static_exact`` says).
        report (str or path): File that :meth:`Reports.save` writes when the chain is gone, at the
            end of the process at the latest.

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
        >>> with chainer.using_config('static_budget', None):  # compile at once
        ...     for _ in range(3):
        ...         loss = F.sum(model(np.ones((5, 4), np.float32)))
        ...         model.cleargrads()
        ...         loss.backward()
        >>> model.schedule_manager.report()[0].hits
        1
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
    if method.__code__ in _tracing.inner_codes:
        method = inspect.unwrap(method)  # whatever is inside is compiled with it anyway
    name, lives = method.__qualname__.replace("<locals>.", ""), Lives()

    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        manager = vars(self).get("schedule_manager") if hasattr(self, "__dict__") else None
        site = None if manager is None else manager._sites.get(method)
        if site is None or site.chain() is not self:
            if sys.is_finalizing():  # nothing can be imported any more
                return method(self, *args, **kwargs)
            site = _site_of(self, method, name, options, lives)
        if (run := _state.run) is not None:
            if run.is_late and (result := run.joined(site, self, args, kwargs)) is not MISS:
                return result
            if _state.run is not None:
                return method(self, *args, **kwargs)
        # What is a part of another call, the method's own for instance, adds few frames.
        if (outer := _state.site) is not None and site.is_part_of(outer):
            return method(self, *args, **kwargs)
        if (ledger := site.ledger).to_pass > 0:
            ledger.to_pass -= 1
            _state.site = site
            try:
                return method(self, *args, **kwargs)
            finally:
                _state.site = outer
        return site(self, args, kwargs)

    entry_code(call.__code__, Site._run.__code__)
    call._static_options = options  # type: ignore[attr-defined]
    _tracing.decorated[0] = True
    return call


def brief_lives(site: Site, lives: Lives) -> None:
    """Let the first calls of a chain pass, where such chains have few."""
    if (calls := lives.to_pass()) and configuration.peek("static_budget") is not None:
        site.ledger.let_pass(calls, _BRIEF_LIVES)
        site.account.let_pass(calls)


def _site_of(
    chain: Any, method: Callable[..., Any], name: str, options: Options, lives: Lives
) -> Site:
    from chainer.link import Link

    if not isinstance(chain, Link):
        raise TypeError(
            f"static_graph: {name} was called on a {type(chain).__name__}; only methods of a "
            "chainer.Chain (or another Link) can be compiled"
        )
    manager = manager_of(chain)
    site = manager._sites.get(method)
    if site is None:
        site = manager._sites[method] = Site(method, name, options, lives)
        site.chain = weakref.ref(chain)
        brief_lives(site, lives)
        lives.begins(chain, site.ledger)
        if options.sites is not None:
            options.sites.append(weakref.ref(site))
        begun(site)
        if options.report is not None:
            save_at_the_end(chain, manager._sites, options.report)
    return site
