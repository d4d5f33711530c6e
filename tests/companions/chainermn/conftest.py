"""Scripts run under mpiexec, with an end in any case."""
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def find_mpiexec():
    beside = pathlib.Path(sys.executable).with_name('mpiexec')
    return str(beside) if beside.exists() else shutil.which('mpiexec')


def what_is_missing():
    if importlib.util.find_spec('mpi4py') is None:
        return "mpi4py is not installed (pip install 'chainwright[mn]')"
    if find_mpiexec() is None:
        return 'there is no mpiexec'
    return None


class Done:
    """What a job has written, and how it ended."""

    def __init__(self, returncode, out, err):
        self.returncode = returncode
        self.out = out
        self.err = err


class Job:
    """Processes of ``mpiexec`` that run a script."""

    def __init__(self, n, script, *args, timeout=120, env=None, cwd=None):
        # The script runs inside of run.py, which shows where each process is if it takes too long.
        command = [find_mpiexec(), '-n', str(n), sys.executable, str(HERE / 'run.py'),
                   str(timeout), str(script), *map(str, args)]
        self.timeout = timeout
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, cwd=cwd, env={
                **os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1',
                'MPLBACKEND': 'Agg', **(env or {})})

    def wait(self):
        try:
            out, err = self.process.communicate(timeout=self.timeout + 3)
        except subprocess.TimeoutExpired:
            self.stop()
            out, err = self.process.communicate()
            err += '\n(killed by the test: it did not end)'
        return Done(self.process.returncode, out, err)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)


@pytest.fixture
def start():
    """Start a job: ``start(n, script, *args, timeout=..., env=..., cwd=...)``."""
    missing = what_is_missing()
    if missing:
        pytest.skip(missing)
    jobs = []

    def start_job(*args, **kwargs):
        jobs.append(Job(*args, **kwargs))
        return jobs[-1]

    yield start_job
    for job in jobs:
        job.stop()


@pytest.fixture
def mpiexec(start):
    """Run a script to its end: ``mpiexec(n, script, *args)`` gives what it has written."""
    return lambda *args, **kwargs: start(*args, **kwargs).wait()
