"""The memory that programs run in: lent for one run, or for one call and its backward.

Small programs keep some sets of buffers of their own. What is large is shared by all programs of
the process, since of most of them one runs at a time: forward and backward, methods that take
turns, batches of other sizes. A process holds little more of it than was in use at some time, and
what define-by-run has left lying idle before goes back to the system first.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from chainwright.codegen.plan.arena import View
from chainwright.codegen.program import Loaded, arrays_in, memory_of

Buffers = tuple[Any, ...]

LARGE = 1 << 20  # bytes of an arena, from which on it is shared
_SLACK = 1.3  # how many times what was lent at a time is held: pieces of it do not fit all
_PART = 8 << 20  # bytes of an arena, from which on it shows in what a process takes
IDLE, _IDLE_BYTES = 4, 1 << 20  # sets of buffers kept for calls to come; more if they are small
_ROOMY = 1.25  # how many times as large the memory may be that something is put in which lasts


class Pool:
    """Lends sets of buffers; ``list.append`` and ``list.pop`` make it safe between threads.

    What is lent until an object is gone comes back by a method of a ``deque``: exceptions of
    signal handlers come where an ``__del__`` or any function of Python's begins, and nobody would
    hear of them there.
    """

    __slots__ = ("_new", "room", "idle", "back", "lent")

    def __init__(self, new: Callable[[], Buffers], size: int = 0) -> None:
        self._new = new
        self.lent: dict[Any, Buffers] = {}  # by references to their holders
        self.back = deque[Any]()  # such references, of those that are gone
        self.idle: list[Buffers] = []
        #: Sets that are kept: as many as there were at a time, for each time step for instance.
        self.room = max(IDLE, _IDLE_BYTES // size if size else 0)

    def take(self) -> Buffers:
        try:
            return self.idle.pop()
        except IndexError:
            pass
        try:
            return self.lent.pop(self.back.popleft())
        except IndexError:
            return self._new()

    def give(self, buffers: Buffers) -> None:
        if len(self.idle) < self.room:
            self.idle.append(buffers)

    def lend(self, buffers: Buffers, holder: Any) -> None:
        """What was taken comes back when an object is gone."""
        self.lent[weakref.ref(holder, self.back.append)] = buffers
        if len(self.back) > self.room:
            self.put_away()

    def put_away(self) -> None:
        """Have what has come back so."""
        while self.back:
            try:
                gone = self.back.popleft()
            except IndexError:  # another thread has been faster
                return
            self.give(self.lent.pop(gone))

    def trim(self) -> None:
        self.put_away()
        self.idle.clear()


class Block:
    """A piece of memory, and the arrays in it by the program that has used it."""

    __slots__ = ("memory", "lasts", "arrays")

    def __init__(self, size: int) -> None:
        self.memory = memory_of(size)
        self.lasts = False  # whether it was lent for a call and its backward, the last time
        self.arrays = weakref.WeakKeyDictionary[SharedPool, Buffers]()

    @property
    def size(self) -> int:
        return self.memory.nbytes


class Blocks:
    """Memory that nobody uses at the moment, the least recently used first."""

    def __init__(self) -> None:
        self._idle: list[Block] = []
        #: What has come back. Garbage collection may bring it at any moment, also to a thread that
        #: holds the lock: it is put away by the next one who takes some.
        self._back = deque[Any]()  # or a reference to the object that it was lent to
        self._held: dict[Any, Block] = {}  # by such references
        #: Garbage collection may also run code of somebody's that runs programs.
        self._lock = threading.RLock()
        self._lent = self._most = 0  # bytes now, and the most of them at a time
        # Since define-by-run had its turn: how often some was taken, and when to give back next.
        self._taken, self._next = 0, 1
        self._large = False  # whether there are, or were, programs in a large part of a process
        self._untidy = False  # a check has come since

    @property
    def idle_bytes(self) -> int:
        """What is held for programs to come."""
        with self._lock:
            self._put_away()
            return self._idle_bytes()

    def take(self, pool: SharedPool) -> Block:
        """One that is large enough, or a new one.

        In steady state everyone gets what it had the last time: what is new has to be fetched from
        the system page by page, which takes longer than most programs do with it.
        """
        with self._lock:
            self._put_away()
            size, found = pool.size, self._fitting(pool)
            if found in self._idle:  # nobody has come in between
                self._idle.remove(found)
            else:
                found = None
            self._lent += size if found is None else found.size
            self._most = max(self._most, self._lent)
            self._let_go()
            self._taken += 1
            if self._taken >= self._next:  # not only once: the first calls check, and copy
                self._next *= 4
                give_back_what_is_free()
            try:
                found = found or Block(size)
            except MemoryError:
                self._lent -= size
                raise
            found.lasts = pool.lasts
            return found

    def _fitting(self, pool: SharedPool) -> Block | None:
        fitting = [block for block in self._idle if block.size >= pool.size]
        if not pool.lasts:  # it is back soon, and is not to have what others may keep something in
            return max(fitting, key=lambda block: (not block.lasts, block.size), default=None)
        near = [block for block in fitting if block.size <= _ROOMY * pool.size]
        return min(
            near,
            key=lambda block: (pool not in block.arrays, not block.lasts, block.size),
            default=None,
        )

    def give(self, block: Block) -> None:
        self._back.append(block)

    def lend(self, block: Block, holder: Any) -> None:
        """It comes back when an object is gone."""
        self._held[weakref.ref(holder, self._back.append)] = block

    def trim(self) -> None:
        """Let go of all that is idle: define-by-run has its turn, and needs memory of its own."""
        if self._idle or self._back or self._most != self._lent:
            with self._lock:
                self._put_away()
                self._idle.clear()
                self._most = self._lent
            self.comes()
        if self._untidy:
            self._untidy = False
            give_back_what_is_free()

    def is_to_check(self) -> None:
        """Define-by-run has its turn beside a program: the heap had better hold nothing free."""
        if self._large:
            give_back_what_is_free()

    def has_checked(self) -> None:
        """Both have had memory: before the next turn of define-by-run alone much of it is free."""
        self._untidy = self._large

    def comes(self, size: int = 0) -> None:
        """Programs are to run from now on, where define-by-run has; one has so large an arena."""
        self._taken, self._next = 0, 1
        self._large = self._large or size >= _PART

    def forked(self) -> None:
        """Another thread of the process that was forked may have held the lock."""
        self._lock = threading.RLock()

    def _put_away(self) -> None:
        while self._back:
            back = self._back.popleft()
            block = back if type(back) is Block else self._held.pop(back)
            self._lent -= block.size
            self._idle.append(block)
        self._let_go()

    def _let_go(self) -> None:
        """Hold little more, with what is lent, than was lent at some time."""
        while self._idle and self._lent + self._idle_bytes() > _SLACK * self._most:
            self._idle.pop(0)

    def _idle_bytes(self) -> int:
        return sum([block.size for block in self._idle])


BLOCKS = Blocks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BLOCKS.forked)


class SharedPool:
    """Lends the arrays of one program in memory that it has in common with others.

    What ``lasts`` is lent for a call and its backward, not only for one run.
    """

    __slots__ = ("_views", "size", "lasts", "_lent", "__weakref__")

    def __init__(self, views: Sequence[View], size: int, lasts: bool = False) -> None:
        self._views, self.size, self.lasts = views, size, lasts
        self._lent: dict[int, Block] = {}
        BLOCKS.comes(size)

    def take(self) -> Buffers:
        block = BLOCKS.take(self)
        buffers = block.arrays.get(self)
        if buffers is None:
            buffers = block.arrays[self] = arrays_in(block.memory, self._views)
        self._lent[id(buffers)] = block
        return buffers

    def give(self, buffers: Buffers) -> None:
        BLOCKS.give(self._lent.pop(id(buffers)))

    def lend(self, buffers: Buffers, holder: Any) -> None:
        """What was taken comes back when an object is gone."""
        BLOCKS.lend(self._lent.pop(id(buffers)), holder)

    def trim(self) -> None:
        BLOCKS.trim()


AnyPool = Pool | SharedPool
MakePools = Callable[[Loaded], tuple[AnyPool, AnyPool]]


def pools(loaded: Loaded) -> tuple[AnyPool, AnyPool]:
    """Of what a program runs in, and of what one forward run keeps for its backward."""
    program = loaded.program
    return (
        _pool(loaded.new_scratch, program.scratch, program.scratch_bytes),
        _pool(loaded.new_kept, program.kept, program.kept_bytes, lasts=True),
    )


def _pool(
    new: Callable[[], Buffers], views: Sequence[View], size: int, lasts: bool = False
) -> AnyPool:
    return Pool(new, size) if size < LARGE else SharedPool(views, size, lasts)


@functools.cache
def _malloc_trim() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)  # the GNU C library's


def give_back_what_is_free() -> None:
    """Give the system back what the C library holds of memory that is free.

    The arrays of define-by-run leave a heap as large as all of them together, with some parameter
    or gradient at its end: beside the arenas of programs, a process would hold both.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)

