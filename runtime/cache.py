"""A bounded cache of schedules, by everything that a schedule assumes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

E = TypeVar("E")


class Key(NamedTuple):
    """What must be equal for two calls to share a schedule; guards compare the rest."""

    arguments: Hashable  # structure, and layout (shape, dtype, strides) of each array
    aliases: Hashable  # which arguments are one and the same object
    train: bool
    enable_backprop: bool


class Cache(Generic[E]):
    """Least recently used entries go first; ``limit`` counts entries over all keys."""

    def __init__(self, limit: int, per_key: int) -> None:
        self.limit, self.per_key = limit, per_key
        self._entries: OrderedDict[Any, list[E]] = OrderedDict()

    def get(self, key: Hashable) -> list[E] | None:
        """The entries under ``key``, the newest first; None where there are none."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def add(self, key: Hashable, entry: E) -> list[E]:
        """Add an entry and return those that had to go."""
        entries = self._entries.setdefault(key, [])
        self._entries.move_to_end(key)
        entries.insert(0, entry)
        gone = entries[self.per_key :]
        del entries[self.per_key :]
        while len(self) > self.limit and len(self._entries) > 1:
            gone += self._entries.popitem(last=False)[1]
        return gone

    def clear(self) -> None:
        self._entries.clear()

    def __len__(self) -> int:
        return sum(len(entries) for entries in self._entries.values())

    def __iter__(self) -> Iterator[E]:
        return (entry for entries in self._entries.values() for entry in entries)
