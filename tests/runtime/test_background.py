"""The thread that compiles: nobody waits for it but who forks, and nothing is lost without it."""

import logging
import os
import threading

import pytest

from chainwright.runtime.background import Background


@pytest.fixture
def background():
    found = Background()
    yield found
    found.stop()


class Job:
    """One that takes until it is told to end."""

    def __init__(self):
        self.begun, self.may_end, self.ended = (threading.Event() for _ in range(3))

    def __call__(self):
        self.begun.set()
        self.may_end.wait(30)
        self.ended.set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_fork_waits_for_the_job_that_runs(background):
    """Else the child would find locked what the job has locked; the next job waits, too."""
    first, second, seen = Job(), Job(), []
    background.do(first)
    background.do(second)
    assert first.begun.wait(30)
    background._gate = gate = Told(background._gate)

    def let_it_end():
        gate.taken.wait(30)  # the fork has begun
        seen.append(first.ended.is_set())
        first.may_end.set()

    helper = threading.Thread(target=let_it_end)
    helper.start()
    child = os.fork()
    if not child:
        fine = first.ended.is_set() and not second.begun.is_set() and background.wait(0)
        os._exit(0 if fine and seen == [False] else 1)
    helper.join()
    assert os.waitpid(child, 0)[1] == 0
    assert second.begun.wait(30)
    second.may_end.set()
    assert background.wait(30)


class Told:
    """A lock that says when it is taken by a thread that forks."""

    def __init__(self, lock):
        self._lock, self.taken = lock, threading.Event()
        self.release = lock.release

    def acquire(self):
        self._lock.acquire()
        self.taken.set()

    def __enter__(self):
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()


def test_without_threads_nothing_is_raised(background, monkeypatch, caplog):
    done = []

    def fails(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as m, caplog.at_level(logging.WARNING, "chainwright"):
        m.setattr(threading.Thread, "start", fails)
        for k in range(3):
            background.do(lambda k=k: done.append(k))
    assert [r.getMessage() for r in caplog.records] == [
        "nothing is compiled to native code for now: can't start new thread"]
    assert background.wait(0) and not done
    background.do(lambda: done.append(3))
    assert background.wait(30)
    assert done == [0, 1, 2, 3]


def test_what_a_job_raises_is_logged(background, caplog):
    with caplog.at_level(logging.WARNING, "chainwright"):
        background.do(lambda: 1 / 0)
        assert background.wait(30)
    assert "ZeroDivisionError" in caplog.text
