"""What Python code reads in a traced call: by that a later call of the same kind is known.

In: attributes, configuration entries, globals and closure variables, as they are read. Out: each
with the image of its value, for the guards; and stand-ins in the places of arrays that code
reaches without asking anybody. What may not happen: a read that no guard knows of.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Container
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chainer.link import Link
from chainwright import tracer
from chainwright.runtime import LARGE, SMALL, fingerprint
from chainwright.tracer import Source

from ._arguments import is_object

if TYPE_CHECKING:
    from ._session import Session

_DEEP = 3  # how far into containers arrays are looked for


class Read(NamedTuple):
    """A plain value that the call depends on, and its image at the time it was read.

    ``how`` is 'item', 'attr' or 'cell', or 'absent' for an attribute that was not there.
    """

    text: str
    how: str
    owner: Any
    key: str
    value: Any
    image: Any


class Reads:
    """All reads of one call."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: dict[tuple[int, str, str], Read] = {}
        self._functions = tracer.Functions()
        self._stand_ins = tracer.StandIns()
        self._sums: list[tuple[str, np.ndarray, int]] = []  # arrays that no guard compares

    def all(self) -> list[Read]:
        """What was read, in order."""
        return list(self._found.values())

    def begin(self, method: Callable[..., Any]) -> None:
        """The method is about to run."""
        self._functions.add(method)

    def end(self) -> None:
        """It has run: names hold again what they held."""
        self._stand_ins.restore()

    def check(self, written: Container[tuple[int, str]]) -> None:
        """Escape if the call has changed what it has read, except in the names ``written``."""
        for read in self._found.values():
            if read.image is not None and (id(read.owner), read.key) not in written:
                now = tracer.look_up(read.how, read.owner, read.key)
                if now is not tracer.GONE and fingerprint(now, is_object) != read.image:
                    self._session.escape(f"{read.text} was changed by the call")
        for text, array, checksum in self._sums:
            if zlib.crc32(np.ascontiguousarray(array)) != checksum:
                self._session.escape(f"{text} was changed by the call")

    def code_seen(self, frame: FrameType) -> None:
        """A function of the user's is about to run."""
        with self._session.passive():
            found = tracer.code_reads(frame, self._functions)
            if found.problem:
                self._session.escape(found.problem)
            for read in found.reads:
                self.note(read.text, read.how, read.owner, read.key, read.value)
                self._functions.add(read.value)
                if type(read.value) is np.ndarray:
                    self._stand_ins.place(read, self.view_of(read.value))
                elif tracer.reporting(read.value) is not None:
                    self._stand_ins.place(read, tracer.reporting(read.value))

    def note(self, text: str, how: str, owner: Any, key: str, value: Any) -> None:
        """A value was read."""
        name = (id(owner), how, key)
        if name not in self._found and self._session.recorder.live:
            image = fingerprint(value, is_object)
            self._found[name] = Read(text, how, owner, key, value, image)
            self._offer_arrays(text, value, _DEEP)

    def missed(self, path: str, link: Link, name: str) -> None:
        """An attribute was asked for that a link does not have (yet)."""
        key = (id(link), "absent", name)
        if key not in self._found and self._session.recorder.live:
            self._found[key] = Read(path, "absent", link, name, None, None)

    def view_of(self, array: np.ndarray) -> np.ndarray:
        """What code sees of an array.

        A small one is a constant, compared by value at each call; a larger one is fetched.
        """
        if array.nbytes <= SMALL:
            return tracer.fresh(array, self._session)
        return self._session.watch(array)

    def _offer_arrays(self, text: str, value: Any, depth: int, place: Any = None) -> None:
        """Arrays inside of what was read are used by reference, not captured by value.

        ``place`` is the list or dictionary that holds the value, and where.
        """
        if isinstance(value, np.ndarray):
            source = Source(text, "item", (value,), 0)
            self._session.recorder.offer_source(value, source)
            if value.nbytes > SMALL and value.dtype != object:
                self._sums.append((text, value, zlib.crc32(np.ascontiguousarray(value))))
            if place is not None and type(value) is np.ndarray:
                read = tracer.Read(text, "item", *place, value)
                self._stand_ins.place(read, self.view_of(value))
        elif depth and isinstance(value, (list, tuple)) and len(value) <= LARGE:
            for k, item in enumerate(value):
                inside = (value, k) if type(value) is list else None
                self._offer_arrays(f"{text}[{k}]", item, depth - 1, inside)
        elif depth and isinstance(value, dict) and len(value) <= LARGE:
            for key, item in list(value.items()):
                self._offer_arrays(f"{text}[{key!r}]", item, depth - 1, (value, key))
        elif depth and not is_object(value) and not isinstance(value, (type, ModuleType)):
            own = getattr(value, "__dict__", None)
            if isinstance(own, dict):
                self._offer_arrays(text, own, depth - 1)
