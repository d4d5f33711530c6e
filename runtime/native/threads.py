"""Threads that take part in native code: they sleep inside of it, and never come back to Python.

Each pool has a number of threads; nothing but the memory of it is shared with native code, whose
text is in :mod:`chainwright.codegen.native_target.driver`. Pools are for the life of the process: a
child of ``fork`` starts with none.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
from collections.abc import Callable

from chainwright.codegen.native_target.driver import (
    POOL_ITEMS,
    SEM_END,
    SEM_POST,
    SEM_START,
    SEM_TRY,
    SEM_WAIT,
    WORKERS,
    YIELD,
)
from chainwright.codegen.native_target.program import LOCAL_BYTES

from .engine import libc_address

logger = logging.getLogger("chainwright")

_MOST = 256


class Threads:
    """The pools of a process, by their number of threads."""

    def __init__(self, worker: Callable[[], int]) -> None:
        self._worker = worker
        self._pools: dict[int, int] = {}
        self._lock = threading.RLock()  # as in runtime/trees.py
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """A child of ``fork`` has none of the threads."""
        self._pools, self._lock = {}, threading.RLock()

    def pool(self, threads: int) -> int:
        """The address of a pool with which ``threads`` threads are at work; 0 for one."""
        found = self._pools.get(threads)
        if found is not None:
            return found
        with self._lock:
            if threads not in self._pools:
                self._pools[threads] = self._new(min(threads, _MOST) - 1)
            return self._pools[threads]

    def _new(self, workers: int) -> int:
        # Elsewhere there are no semaphores of this kind.
        if workers < 1 or sys.platform != "linux":
            return 0
        libc = ctypes.CDLL(None)
        libc.calloc.restype = ctypes.c_void_p
        libc.calloc.argtypes = ctypes.c_size_t, ctypes.c_size_t
        address = libc.calloc(POOL_ITEMS, 8)  # never freed, as the threads never end
        if not address:
            return 0
        items = (ctypes.c_int64 * POOL_ITEMS).from_address(address)
        for place, name in (
            (SEM_WAIT, "sem_wait"), (SEM_TRY, "sem_trywait"), (SEM_POST, "sem_post"),
            (YIELD, "sched_yield"),
        ):
            items[place] = libc_address(name)
        for semaphore in (SEM_START, SEM_END):
            if libc.sem_init(ctypes.c_void_p(address + 8 * semaphore), 0, 0):
                return 0
        work = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(self._worker())
        for k in range(workers):
            memory = libc.calloc(LOCAL_BYTES + 64, 1)
            if not memory:
                break
            memory += -memory % 64
            thread = threading.Thread(
                target=work, args=(address, memory), name=f"chainwright-{k + 1}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                logger.info("native code has %d threads, and not more: %s", k + 1, error)
                break
            items[WORKERS] += 1
        return address if items[WORKERS] else 0
