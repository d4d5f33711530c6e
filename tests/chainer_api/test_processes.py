"""Processes are made as code expects that was written when all of them were made by fork."""

import multiprocessing
import subprocess
import sys
import textwrap

import pytest

from chainer import _processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork is the usual way there only")

SCRIPT = """
import multiprocessing, sys, tempfile
from multiprocessing import pool
import numpy, chainer
from chainer import iterators
from chainer.training.extensions import snapshot_writers

class Local:  # a module that nobody can import again, and an object that cannot be pickled
    def __init__(self):
        self.f = lambda k: k * k
    def __len__(self):
        return 6
    def __getitem__(self, k):
        return self.f(k)

{before}
with iterators.MultiprocessIterator(Local(), 3, shuffle=False, n_processes=2) as iterator:
    print([next(iterator) for _ in range(2)])
"""
BEFORE = {
    "nothing": "",
    "threads": """
        with iterators.MultithreadIterator(Local(), 3, shuffle=False) as first:
            next(first)
        """,
    "snapshots": """
        writer = snapshot_writers.ProcessQueueWriter()
        with tempfile.TemporaryDirectory() as folder:
            writer("a", folder, {"x": numpy.ones(3)})
            writer.finalize()
        """,
    "a lock of somebody's": "multiprocessing.RLock()",
    "threads of somebody's": "pool.ThreadPool(1).map(abs, [1])",
    "fork": "multiprocessing.set_start_method('fork')",
}


@pytest.mark.parametrize("before", BEFORE)
def test_local_datasets(before):
    script = SCRIPT.format(before=textwrap.dedent(BEFORE[before]))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[[0, 1, 4], [9, 16, 25]]\n", done.stderr[-2000:]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_what_was_said_holds(method, monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: method)
    monkeypatch.setattr(multiprocessing, "get_context", lambda name=None: name or "as it is")
    assert _processes.context() == "as it is"
    assert ("__main__" in _processes.advice()) is (method != "fork")
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: None)
    assert _processes.context() == "fork" and _processes.advice() == ""


UNGUARDED = """
import multiprocessing
from chainer import iterators
if __name__ != "__main__":
    raise SystemExit(3)  # as it would begin to work
multiprocessing.set_start_method("spawn")
next(iterators.MultiprocessIterator([1, 2], 2))
"""


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode and "made by spawn import the script first" in done.stderr
