"""One thread that compiles while calls go on."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
from collections.abc import Callable

logger = logging.getLogger("chainwright")

Job = Callable[[], None]


class Background:
    """Runs jobs one after the other in a thread that starts with the first.

    A child of ``fork`` starts its own; at exit the job that runs is waited for.
    """

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)
        atexit.register(self.stop)

    def _reset(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._idle.set()
        self._waiting = 0

    def do(self, job: Job) -> None:
        """Run a job some time; what it raises is logged."""
        with self._lock:
            self._waiting += 1
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="chainwright", daemon=True)
                self._thread.start()
        self._jobs.put(job)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is nothing left to do; whether that came in time."""
        return self._idle.wait(timeout)

    def stop(self) -> None:
        """Let the thread end after the job it is at."""
        thread = self._thread
        while not self._jobs.empty():
            self._jobs.get()
        self._jobs.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception:
                logger.warning("compiling in the background failed", exc_info=True)
            finally:
                with self._lock:
                    self._waiting -= 1
                    if not self._waiting:
                        self._idle.set()


BACKGROUND = Background()
