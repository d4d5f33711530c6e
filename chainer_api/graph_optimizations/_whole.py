"""Loss functions with a compiled method inside: they are compiled as a whole.

In: calls of loss functions that the library makes, and those of its links that call other links.
Out: the same calls, compiled as if the function were decorated, where a link below has a decorated
method: all of it is one program then, and backward goes from the loss straight to the parameters.
What may not happen: anything that a decorated method might not do.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

from chainer import _tracing, configuration, link_hook
from chainer.link import Link

from ._frames import is_decorated
from ._links import links_of
from ._lives import Lives
from ._own import MISSING, in_class
from ._report import begun
from ._site import Site
from .static_graph import Options, brief_lives, manager_of

_MANY = 64  # links or functions that are known, until those that may be gone are forgotten
_state = _tracing.state
_lock = threading.Lock()
_lives: weakref.WeakKeyDictionary[Any, Lives] = weakref.WeakKeyDictionary()


class _Outer:
    """A link whose calls may lead to compiled methods.

    What is known of its calls belongs to the link with these methods, and goes with it.
    """

    def __init__(self, link: Link) -> None:
        self.link = weakref.ref(link)
        self._calls, self._next = 0, 1
        self._inside: tuple[weakref.ref[Link], Options] | None = None
        #: By what is called, and whether the link is its first argument.
        self._sites: weakref.WeakValueDictionary[Any, Site] = weakref.WeakValueDictionary()
        #: Functions that were called once: there may be one for each step.
        self._once: weakref.WeakSet[Any] = weakref.WeakSet()

    def site_of(self, link: Link, called: Callable[..., Any], is_method: bool) -> Site | None:
        """What is known of such calls; None if no method below is compiled."""
        self._calls += 1
        inside = self._inside
        if self._calls >= self._next:  # links come and go, and may be decorated later on
            self._next *= 2
            self._look(link)
        elif inside is not None and inside[0]() is None:
            self._look(link)
        if self._inside is None:
            return None
        site = self._sites.get((called, is_method))
        if site is None:
            if not is_method and called not in self._once:
                self._once.add(called)
                return None
            site = self._begin(link, called, is_method, *self._inside)
        return site

    def _look(self, link: Link) -> None:
        inner, options = next(_compiled_below(link), (None, None))
        before = None if self._inside is None else self._inside[0]()
        if inner is None or options is None:
            self._inside = None
        elif inner is not before:
            self._inside = weakref.ref(inner), options
            self._sites.clear()

    def _begin(
        self, link: Link, called: Any, is_method: bool, inside: weakref.ref[Link], options: Options
    ) -> Site | None:
        inner = inside()
        if inner is None:
            return None
        with _lock:
            if (site := self._sites.get((called, is_method))) is None:
                name = f"{type(link).__name__}.{called.__name__}" if is_method else called.__name__
                lives = _lives.setdefault(called, Lives())
                method = called if is_method else _as_method(called)
                site = self._sites[called, is_method] = Site(method, name, options, lives)
                site.chain = self.link
                brief_lives(site, lives)
                lives.begins(link, site.ledger)
                # Whoever asks the inner one what has become of its calls is to be told.
                sites = manager_of(inner)._sites
                for other in [other for other in sites if sites[other].chain() is None]:
                    sites.pop(other, None)
                sites[site] = site
                begun(site)
        return site


_outers: dict[int, _Outer] = {}


def _outer_of(link: Link) -> _Outer:
    found = _outers.get(id(link))
    if found is None or found.link() is not link:
        if len(_outers) >= _MANY:
            for key, other in [*_outers.items()]:
                if other.link() is None:
                    _outers.pop(key, None)
        found = _outers[id(link)] = _Outer(link)
    return found


def _compiled_below(link: Link) -> Iterator[tuple[Link, Options]]:
    """A link and those below it that have a decorated method, with what its decorator was told.

    Where it was told something of what a whole call is not to do, they do not count.
    """
    for _, inner in links_of(link):
        for name in ("forward", "__call__"):
            options = getattr(in_class(type(inner), name), "_static_options", None)
            if options is not None and options.is_plain:
                yield inner, options


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a method of the link whose loss it gives."""

    @functools.wraps(function)
    def method(link: Link, /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return method


def as_whole(lossfun: Any, target: Link) -> Any:
    """A loss function of a link, compiled as a whole where a method below it is compiled.

    That is so for links, methods of links and functions, if they are not decorated themselves.
    Anything else, and what has nothing compiled inside, is given back as it is.
    """
    link, called = target, lossfun
    if isinstance(lossfun, Link):
        link, called = lossfun, _method_of(lossfun)
    elif type(lossfun) is MethodType and isinstance(lossfun.__self__, Link):
        link, called = lossfun.__self__, lossfun.__func__
    if type(called) is not FunctionType or is_decorated(called.__code__):
        return lossfun
    is_method = called is not lossfun
    site = _site_of(link, called, is_method)
    if site is None:
        return lossfun
    return functools.partial(_call, site, site.method, link)


def called_as_whole(
    method: Callable[..., Any], link: Link, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of a call of a method, likewise."""
    site = _site_of(link, method, True)
    if site is None:
        return method(link, *args, **kwargs)
    return _call(site, method, link, *args, **kwargs)


def _method_of(link: Link) -> Any:
    """The function that a call of a link calls, if nothing else happens in it."""
    if type(link).__call__ is not Link.__call__:
        return in_class(type(link), "__call__")
    if link_hook._thread_local.hooks or link._local_link_hooks or "forward" in vars(link):
        return MISSING
    return in_class(type(link), "forward")


def _site_of(link: Link, called: Callable[..., Any], is_method: bool) -> Site | None:
    if not configuration.peek("static_step"):
        return None
    return _outer_of(link).site_of(link, called, is_method)


def _call(site: Site, method: Callable[..., Any], link: Link, /, *args: Any, **kwargs: Any) -> Any:
    """What the wrapper of a decorated method does."""
    if (outer := _state.site) is not None and site.is_part_of(outer):
        return method(link, *args, **kwargs)
    if (ledger := site.ledger).to_pass > 0:
        ledger.to_pass -= 1
        _state.site = site
        try:
            return method(link, *args, **kwargs)
        finally:
            _state.site = outer
    return site(link, args, kwargs)
