"""The links of a chain and their parameters, read from dictionaries.

Nothing of the user's runs for that: methods of a chain may be overridden, and a function or None
may stand where a link was registered (``model.head = F.identity`` makes a feature extractor).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chainer.link import Link
from chainer.variable import Parameter


def links_of(chain: Any) -> Iterator[tuple[str, Link]]:
    """A chain and the links below it, each once, with their paths as Python writes them.

    >>> import chainer, chainer.links as L
    >>> from chainer.graph_optimizations._links import links_of
    >>> model = chainer.Sequential(L.Linear(2, 2), chainer.Chain(a=L.Linear(2, 2)))
    >>> model[1].a = None
    >>> [path for path, link in links_of(model)]
    ['self', 'self[0]', 'self[1]']
    """
    stack, seen = [("self", chain)], {id(chain)}
    while stack:
        path, link = stack.pop()
        yield path, link
        below = [
            (at, child)
            for at, child in _children(path, vars(link))
            if issubclass(type(child), Link) and id(child) not in seen
        ]
        seen.update([id(child) for _, child in below])
        stack += below[::-1]


def parameter_paths(chain: Any) -> dict[int, str]:
    """The paths of the parameters of a chain, by their identity."""
    paths: dict[int, str] = {}
    for path, link in links_of(chain):
        found = vars(link)
        for name in _registered(found.get("_params")):
            if issubclass(type(found.get(name)), Parameter):
                paths.setdefault(id(found[name]), f"{path}.{name}")
    return paths


def _children(path: str, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    children = found.get("_children")
    if type(children) is list:
        yield from [(f"{path}[{k}]", child) for k, child in enumerate(children)]
    else:
        yield from [(f"{path}.{name}", found.get(name)) for name in _registered(children)]


def _registered(names: Any) -> list[str]:
    """The names that a link has registered; none where something else stands there."""
    if not isinstance(names, (set, frozenset)):
        return []
    return sorted([name for name in names if type(name) is str])
