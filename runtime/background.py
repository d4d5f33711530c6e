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


class Background:
    """Runs jobs one after the other in a thread, which lives as long as there are any.

    A child of ``fork`` has none of its parent's jobs. At exit the job that runs is waited for.
    """

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)
        atexit.register(self.stop)

    def _reset(self) -> None:
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()

    def do(self, job: Job) -> None:
        """Run a job some time; what it raises is logged."""
        with self._lock:
            self._jobs.append(job)
            self._idle.clear()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="chainwright", daemon=True)
                thread.start()
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
            try:
                job()
            except Exception:
                logger.warning("compiling in the background failed", exc_info=True)


BACKGROUND = Background()
