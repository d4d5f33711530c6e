"""Calls of a method with its loops opened: turns as calls of compiled methods.

In: a method with the bodies of its loops as functions (:mod:`._opening`). Out: its calls, in which
the turns are served by programs, several at a time, or as before where that does not pay. What may
not happen: turns that are taken together although what comes next may be changed by the first.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import zip_longest
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from chainer import configuration, link_hook
from chainer.link import Link
from chainwright.tracer import is_library

from ._opening import Opened, Turns, opened
from ._own import in_class
from ._steady import is_steady

if TYPE_CHECKING:
    from ._account import Account
    from ._site import Site

_TURNS = 16, 4  # of a loop in one call, once those of one turn have been served
_SERVED, _IN_A_ROW, _SELDOM = 256, 6, 1024  # so often; tries, until they come seldom
_LOOKED_AT = 64  # calls of a method, until it is asked again whether loops pay
_DEPTH = 8  # calls in calls in which loops are looked for
_FEWEST, _NOTED = 5, 24  # functions in a turn that may pay; calls until it is known how many
_LONG = 4.0  # seconds in the turns of a loop, likewise
_SERVES = 8  # one in so many, at least: to come to those that have no program takes little
_LOSES = 0.1  # of their time, with programs that hardly any call runs without its Python
_IDLE, _REST = 16, 64  # calls in a row without a turn that was served, until some rest; how many


class Several:
    """Whether so many turns of a loop are to be one call: when there are programs for that."""

    def __init__(self, turns: int) -> None:
        self.turns, self.served = turns, False  # the last call of so many
        self._chances = self._tries = self._left = 0

    def are_tried(self, account: Account, functions: int, instead: int) -> bool:
        """Whether the next call is to be one of so many turns, of so many functions each.

        Otherwise it is going to be one of as many as there are programs for ``instead``.
        """
        if self.served:
            return True
        self._left -= 1
        self._chances += 1
        fewer = self._chances * (self.turns / instead - 1.0)
        return self._left < 0 and account.affords_several(self.turns * functions, fewer)

    def were_tried(self, served: bool) -> None:
        """It was, and programs have served it or not."""
        self.served, self._tries = served, 0 if served else self._tries + 1
        self._left = 0 if self._tries < _IN_A_ROW else min(2**self._tries, _SELDOM)


class OpenLoop:
    """A loop whose turns are compiled: some of them are a call of a method like a decorated one."""

    def __init__(self, turns: Turns, decorate: Callable[[FunctionType, list[Any]], Any]) -> None:
        self.turns, self._method = turns, turns.function
        self._refs: list[weakref.ref[Site]] = []  # of each chain whose turns they are
        self._call = decorate(turns.function, self._refs)
        # At first, a state that a loop goes on with is often none.
        self._first, self._later = [[Several(n) for n in _TURNS] for _ in range(2)]
        self.is_open = True
        self.made = 0  # turns
        self._functions = 0  # of a turn
        self._seen = (0.0,) * 5  # see pays

    @property
    def _sites(self) -> list[Site]:
        return [site for ref in self._refs if (site := ref()) is not None]

    def _site(self, chain: Any) -> Any:
        manager = vars(chain).get("schedule_manager")
        return None if manager is None else manager._sites.get(self._method)

    def __call__(self, *arguments: Any) -> Any:
        """Some turns."""
        self.made += max(len(arguments) - self._method.__code__.co_argcount, 1)
        return self._call(*arguments)

    @property
    def hits(self) -> int:
        """The calls that programs have served."""
        return sum([site.ledger.hits for site in self._sites])

    @property
    def spent(self) -> float:
        """Seconds of this thread that went into programs."""
        return sum([site.spent for site in self._sites])

    def pays(self) -> bool:
        """Whether programs have served some of the calls of late, as far as it is known by now.

        What is too dear as yet may pay later, and takes next to nothing until then. But calls with
        their Python that are slower with programs, and remain so, are better off without.
        """
        accounts = [site.account for site in self._sites]
        now = (
            sum([a.in_method for a in accounts]), self.hits, sum([a.calls for a in accounts]),
            sum([a.ledger.with_python for a in accounts]),
            sum([a.ledger.saved for a in accounts]))
        seconds, hits, calls, with_python, saved = [
            a - b for a, b in zip(now, self._seen, strict=True)]
        if configuration.peek("static_budget") is None:
            return True
        if self.hits == 0 and now[2] >= _NOTED:
            if max([site.most_functions for site in self._sites]) < _FEWEST:
                return False
        if seconds < _LONG:
            return True
        self._seen = now
        if 2 * with_python > hits and saved < -_LOSES * seconds:
            return False
        return _SERVES * hits > calls or any([site.waits for site in self._sites])

    def close(self) -> None:
        """Its turns are no calls any more."""
        self.is_open, self._call = False, self._method

    def listed(self, iterable: Any, chain: Any, *arguments: Any) -> list[Any]:
        """What a list comprehension gives, whose turns these are."""
        found = list[Any]()
        for items in self.chunks(iterable, chain):
            found += self(chain, *arguments, *items)
        return found

    def chunks(self, iterable: Any, chain: Any) -> Iterator[tuple[Any, ...]]:
        """The items of the turns of each call: several, as soon as calls of one turn are served."""
        site = self._site(chain)
        if not self.is_open and is_steady(iterable):
            yield from [tuple(iterable)] if len(iterable) else ()
        elif site is None or site.ledger.without_python < _SERVED or not is_steady(iterable):
            yield from zip(iterable, strict=False)
        else:
            yield from self._several(iterable, site)

    def _several(self, iterable: Any, site: Any) -> Iterator[tuple[Any, ...]]:
        items, left, levels = iter(iterable), len(iterable), self._first
        account, ledger = site.account, site.ledger
        functions = self._functions = self._functions or site.most_functions
        while left:
            possible = [some for some in levels if some.turns <= left]
            instead = max([some.turns for some in possible if some.served], default=1)
            tried = next(
                (some for some in possible if some.are_tried(account, functions, instead)), None)
            if tried is None:
                yield (next(items),)
                left -= 1
            else:
                hits = ledger.hits
                account.spends_freely = not tried.served  # they will be most of the calls
                try:
                    yield tuple(itertools.islice(items, tried.turns))
                finally:
                    account.spends_freely = False
                tried.were_tried(ledger.hits > hits)
                left -= tried.turns
            levels = self._later


class OpenMethod:
    """A method with its loops opened, and those of what it calls of its object and of its links.

    ``decorate`` makes a compiled method of the function of some turns, and of the functions that
    these turns are inside of: ``inside`` and the one that has the loop. They are not opened again
    where they call themselves. It adds what is known of the calls of each object to a list.
    """

    def __init__(
        self, found: Opened, decorate: Callable[[FunctionType, Set[Any], list[Any]], Any],
        inside: Set[Any],
    ) -> None:
        self._decorate, self._inside = decorate, inside
        self._loops = list[OpenLoop]()
        self._inner: dict[FunctionType, Callable[..., Any] | None] = {}
        self._function = self._inner[found.method] = self._opened(found)
        self._calls = 0
        self._idle, self._since = 0, list[int]()  # calls; turns that had been made before these

    def _opened(self, found: Opened) -> Callable[..., Any]:
        inside = self._inside | {found.method}

        def decorate(turns: FunctionType, sites: list[Any]) -> Any:
            return self._decorate(turns, inside, sites)

        loops = [OpenLoop(turns, decorate) for turns in found.turns]
        self._loops += loops
        return found.function(loops, self._within)

    def _within(self, callee: Any) -> Any:
        """What is called in the place of a method, or of a link."""
        target = _target_of(callee)
        if target is None or target[1] in self._inside:
            return callee
        owner, function = target
        if function not in self._inner:
            self._inner[function] = None
            found = open_at(function, owner, self._inside)
            if found is not None:
                self._inner[function] = self._opened(found)
        made = self._inner[function]
        return callee if made is None else functools.partial(made, owner)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def begins(self) -> None:
        """A call begins."""
        self._calls += 1
        for loop in self._loops:
            sites = loop._sites
            for site in sites:
                site.account.together = max(loop.made / self._calls / len(sites), 1.0)

    def may_rest(self, served: bool) -> int:
        """After a call whose turns were ``served`` or not: how many calls may go as they are now.

        That is as long as nobody would look for programs of their turns.
        """
        if served or not self._idle:
            self._idle, self._since = int(not served), [loop.made for loop in self._loops]
            return 0
        self._idle += 1
        if self._idle < _IDLE:
            return 0
        calls = [int(site.asleep / max(each, 1.0)) for site, each in self._of_call()]
        return min(_REST, *calls) if calls else 0

    def rest(self, calls: int) -> None:
        """So many calls go as they are."""
        for site, each in self._of_call():
            site.sleeps_for(int(calls * each))

    def _of_call(self) -> Iterator[tuple[Any, float]]:
        """The turns of each open loop, and how many a call has made of late."""
        for loop, before in zip_longest(self._loops, self._since, fillvalue=0):
            for site in loop._sites if loop.is_open else ():
                yield site, (loop.made - before) / max(self._idle - 1, 1) / len(loop._sites)

    def sites(self) -> list[Site]:
        """What is known of the turns of each open loop."""
        return [site for loop in self._loops if loop.is_open for site in loop._sites]

    @property
    def spent(self) -> float:
        """Seconds of this thread that went into programs of turns."""
        return sum([loop.spent for loop in self._loops])

    @property
    def hits(self) -> int:
        """The calls of turns that programs have served."""
        return sum([loop.hits for loop in self._loops])

    @property
    def is_open(self) -> bool:
        """Whether any loop is, or may be one that no call has come to yet."""
        return not self._loops or any([loop.is_open for loop in self._loops])

    def close_what_does_not_pay(self) -> list[str]:
        """Close the loops whose turns programs hardly serve; gives where they stand."""
        n = self._calls
        if n % _LOOKED_AT and (n < 8 or n & (n - 1)):
            return []
        closed = [loop for loop in self._loops if loop.is_open and not loop.pays()]
        for loop in closed:
            loop.close()
        return [loop.turns.place for loop in closed]


def leads_to_loops(found: Opened, owner: Any, known: Set[Any], depth: int = 0) -> bool:
    """Whether a method that is to be opened has loops, or calls something that has.

    What it calls is looked up as it is, and nobody's code runs for that. Some functions are
    ``known`` to be inside of.
    """
    if any([turns.goes_on for turns in found.turns]):
        return True
    known = known | {found.method}
    return depth < _DEPTH and any(
        [_path_leads_to_loops(owner, path, known, depth + 1) for path in found.callees])


def _path_leads_to_loops(
    owner: Any, path: Sequence[str], known: Set[Any], depth: int = 0
) -> bool:
    target = _target_at(owner, path)
    if target is None or target[1] in known:
        return False
    inner = opened(target[1], lambda path: False)
    return inner is not None and leads_to_loops(inner, target[0], known, depth)


def open_at(method: Any, owner: Any, inside: Set[Any]) -> Opened | None:
    """A method of an object with its loops opened, and what stands between them as functions.

    None if it has no loops, nor leads to some, where it is ``inside`` of some functions.
    """
    known = inside | {method}
    found = opened(method, lambda path: _path_leads_to_loops(owner, path, known))
    return found if found is not None and leads_to_loops(found, owner, inside) else None


def _target_at(owner: Any, path: Sequence[str]) -> tuple[Any, FunctionType] | None:
    """What a call of an attribute calls: the object, and the function of its class."""
    *links, last = path
    for name in links:
        owner = vars(owner).get(name)
        if not isinstance(owner, Link):
            return None
    if last in vars(owner):
        return _target_of(vars(owner)[last])
    found = _of_class(owner, last)
    return None if found is None else (owner, found)


def _target_of(callee: Any) -> tuple[Any, FunctionType] | None:
    """The object and the function of a method, or of a link, that may have its loops opened."""
    if type(callee) is MethodType:
        owner, found = callee.__self__, callee.__func__
        if not isinstance(owner, Link) or not _is_users(found):
            return None
        return owner, found
    if not isinstance(callee, Link) or "__call__" in vars(callee) or "forward" in vars(callee):
        return None
    if type(callee).__call__ is not Link.__call__:
        found = _of_class(callee, "__call__")
    elif link_hook._thread_local.hooks or callee._local_link_hooks:
        return None
    else:
        found = _of_class(callee, "forward")
    return None if found is None else (callee, found)


def _of_class(owner: Any, name: str) -> Any:
    """A method of an object's class; None if it is none of the user's, or a compiled one."""
    found = in_class(type(owner), name)
    return found if _is_users(found) else None


def _is_users(found: Any) -> bool:
    if type(found) is not FunctionType or hasattr(found, "__wrapped__"):
        return False
    return not is_library(found.__code__.co_filename)
