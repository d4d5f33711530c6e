"""One thread that compiles while calls go on."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from collections.abc import Callable

logger = logging.getLogger("chainwright")

Job = Callable[[], None]
_LONGEST = 20.0  # seconds for which ``fork`` waits for a job


class Background:
    """Runs jobs one after the other in a thread, which lives as long as there are any.

    A child of ``fork`` has none of its parent's jobs. No job runs while a process forks: the child
    would find what it has locked (modules that are imported, LLVM) locked for ever. At exit the
    job that runs is waited for.
    """

    def __init__(self) -> None:
        self._has_told = False
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._pause, after_in_parent=self._go_on, after_in_child=self._reset)
        atexit.register(self.stop)

    def _reset(self) -> None:
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()  # as in runtime/trees.py
        self._gate, self._works = threading.Lock(), threading.Lock()  # to begin a job, and for it
        self._is_still = False  # whether no job runs while a process forks
        self._idle = threading.Event()
        self._idle.set()

    def do(self, job: Job) -> None:
        """Run a job some time; what it raises is logged."""
        with self._lock:
            self._jobs.append(job)
            self._idle.clear()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="chainwright", daemon=True)
                try:
                    thread.start()
                except RuntimeError as e:  # a limit of the system, or Python is shutting down
                    self._idle.set()
                    self._tell(e)
                else:
                    self._thread = thread  # which waits for the lock

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is nothing left to do; whether that came in time."""
        return self._idle.wait(timeout)

    def stop(self) -> None:
        """Drop the jobs that have not begun, and wait for the one that has."""
        with self._lock:
            self._jobs.clear()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _next(self) -> Job | None:
        with self._lock:
            if self._jobs:
                return self._jobs.popleft()
            self._thread = None
            self._idle.set()
            return None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            with self._gate:
                works = self._works
                works.acquire()
            try:
                job()
            except Exception:
                logger.warning("compiling in the background failed", exc_info=True)
            finally:
                works.release()

    def _tell(self, error: RuntimeError) -> None:
        if not self._has_told:
            self._has_told = True
            logger.warning("nothing is compiled to native code for now: %s", error)

    def _pause(self) -> None:
        """Before a fork: wait for the job that runs, and let none begin."""
        if threading.current_thread() is self._thread:  # a job of its own forks
            return
        self._gate.acquire()
        self._is_still = self._works.acquire(timeout=_LONGEST)
        if not self._is_still:
            logger.warning("a process is forked while native code is being made: it may hang")

    def _go_on(self) -> None:
        if threading.current_thread() is self._thread:
            return
        if self._is_still:
            self._works.release()
        self._gate.release()


BACKGROUND = Background()
