"""A process that fails ends the whole job soon, and a job goes on from its last checkpoint."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest

SCRIPTS = pathlib.Path(__file__).parent / 'scripts'


@pytest.mark.parametrize('rank', [0, 1])
def test_an_exception_ends_the_job_with_one_traceback(mpiexec, rank):
    done = mpiexec(2, SCRIPTS / 'fail.py', 'raise', rank)
    assert done.returncode != 0
    assert 'the end' not in done.out
    assert done.err.count('Traceback') == 1
    assert 'ValueError: this process has a problem' in done.err
    assert re.search(rf'uncaught exception in rank {rank} of 2 \(.+, process \d+\)', done.err)


def test_what_mpiexec_has_not_read_yet_is_known():
    """On a busy machine it was too late: a job ended without its traceback once in 120 times."""
    pytest.importorskip('fcntl')
    from chainermn.global_except_hook import _unread
    read, write = os.pipe()
    with open(read, 'rb', buffering=0) as reader, open(write, 'w') as stream:
        assert _unread(stream) == 0
        stream.write('Traceback')
        stream.flush()
        assert _unread(stream) == 9
        reader.read(4)
        assert _unread(stream) == 5
    assert _unread(stream) == 0  # closed
    assert _unread(None) == 0  # pythonw


def test_exceptions_in_all_processes_are_shown_once(mpiexec):
    done = mpiexec(2, SCRIPTS / 'fail.py', 'raise', -1)
    assert done.returncode != 0
    assert done.err.count('Traceback') == 1
    assert 'uncaught exception in rank 0 of 2' in done.err


@pytest.mark.parametrize('how', ['kill', 'exit'])
def test_a_process_that_dies_ends_the_job(mpiexec, how):
    done = mpiexec(2, SCRIPTS / 'fail.py', how, 1)
    assert done.returncode != 0
    assert 'the end' not in done.out


since_python_3_12 = pytest.mark.skipif(
    not hasattr(sys, 'monitoring'), reason='Python 3.11 does not tell of it')


@pytest.mark.parametrize('how, code', [
    ('sys.exit with a message', 1), ('quit', 5),
    pytest.param('SystemExit', 4, marks=since_python_3_12),
    pytest.param('SystemExit with a message', 1, marks=since_python_3_12)])
def test_an_exit_with_an_error_code_ends_the_job(mpiexec, how, code):
    done = mpiexec(2, SCRIPTS / 'fail.py', how, 1, timeout=30)
    assert done.returncode != 0
    assert 'the end' not in done.out
    assert 'killed by the test' not in done.err and 'Traceback' not in done.err
    assert re.search(rf'rank 1 of 2 \(.+\) has ended with the exit code {code}; abort', done.err)
    if code == 1:
        assert 'this process has a problem' in done.err


def test_nothing_happens_where_nothing_fails(mpiexec):
    """Nor where a process catches what ``sys.exit`` raises, or leaves a thread by it."""
    done = mpiexec(2, SCRIPTS / 'fail.py', 'caught', 1)
    assert (done.returncode, done.out.count('the end'), done.err) == (0, 2, '')
    assert 'caught 6' in done.out and 'caught 8' in done.out


def test_hanging_processes_show_their_stacks(mpiexec, tmp_path):
    script = tmp_path / 'hang.py'
    script.write_text('import time, chainermn\n'
                      "comm = chainermn.create_communicator('naive')\n"
                      'if comm.rank == 0:\n'
                      '    comm.mpi_comm.Barrier()\n'
                      'else:\n'
                      '    time.sleep(60)\n')
    done = mpiexec(2, script, timeout=8)
    assert done.returncode != 0
    assert 'hang.py", line 4' in done.err and 'hang.py", line 6' in done.err
    assert 'killed by the test' in done.err


def processes_of(job):
    """Process ids of the job's Python processes."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
            with open(f'/proc/{pid}/environ', 'rb') as file:
                mine = f'MN_TEST_JOB={job}'.encode() in file.read().split(b'\0')
        except OSError:  # it has ended meanwhile
            continue
        if mine and words[0].endswith(os.path.basename(sys.executable).encode()):
            found.append(int(pid))
    return sorted(found)


def lines(text, word):
    return [float(line.split()[2]) for line in text.splitlines() if line.startswith(word)]


@pytest.mark.skipif(not os.path.isdir('/proc/self'), reason='looks for processes in /proc')
@pytest.mark.parametrize('how', ['checkpointer', 'snapshot'])
def test_a_job_goes_on_after_a_process_was_killed(start, mpiexec, tmp_path, how):
    """The end is that of a run that was left alone."""
    n, iterations = 2, 24
    rng = random.Random(0)
    # So the job does not end by itself, however late the kill comes.
    last = rng.randint(3, 14)
    job = start(n, SCRIPTS / 'train.py', tmp_path / 'out', how, iterations,
                env={'MN_TEST_JOB': str(tmp_path), 'MN_TEST_PAUSE': str(last)})
    for rank in range(n if how == 'checkpointer' else 1):
        wait_for_checkpoint(job, tmp_path / 'out', rank, last, how)
    pids = processes_of(tmp_path)
    assert len(pids) == n
    os.kill(rng.choice(pids), signal.SIGKILL)
    done = job.wait()
    assert done.returncode != 0
    assert 'ends at' not in done.out
    done = mpiexec(n, SCRIPTS / 'train.py', tmp_path / 'out', how, iterations)
    assert done.returncode == 0, done.err
    assert lines(done.out, 'starts at') == [last] * n
    if how == 'checkpointer':  # which keeps the random numbers of each process, too
        whole = mpiexec(n, SCRIPTS / 'train.py', tmp_path / 'whole', how, iterations)
        assert whole.returncode == 0, whole.err
        assert sorted(ends(done.out)) == sorted(ends(whole.out))
    else:
        assert len(set(ends(done.out))) == 1


def ends(text):
    return [line for line in text.splitlines() if line.startswith('ends at')]


def newest(folder, rank, how):
    pattern = {'checkpointer': rf'run\.{rank}\.(\d+)', 'snapshot': rf'snapshot_iter_(\d+)\.{rank}'}
    names = os.listdir(folder) if folder.exists() else []
    return max([int(m[1]) for m in (re.fullmatch(pattern[how], name) for name in names) if m],
               default=0)


def wait_for_checkpoint(job, folder, rank, iteration, how):
    end = time.monotonic() + 60
    while newest(folder, rank, how) < iteration:
        assert job.process.poll() is None and time.monotonic() < end, job.wait().err
        time.sleep(0.001)


def test_a_snapshot_of_all_goes_on_with_another_number_of_processes(mpiexec, tmp_path):
    start = 0
    for n, end in ((2, 4), (3, 6), (1, 8)):
        done = mpiexec(n, SCRIPTS / 'train.py', tmp_path, 'snapshot', end)
        assert done.returncode == 0, done.err
        assert lines(done.out, 'starts at') == [start] * n
        assert len(set(ends(done.out))) == 1 and len(ends(done.out)) == n
        start = end


NO_MPI = '''
import sys
sys.modules['mpi4py'] = None
import chainermn, chainermn.functions, chainermn.links, chainermn.extensions
try:
    chainermn.create_communicator('naive')
except ImportError as error:
    print(error)
'''


def test_without_mpi():
    done = subprocess.run([sys.executable, '-c', NO_MPI], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pip install 'chainwright[mn]'" in done.stdout
    assert 'mpi4py' in done.stdout


def test_importing_does_not_start_mpi():
    done = subprocess.run(
        [sys.executable, '-c', "import chainermn, sys; print('mpi4py' in sys.modules)"],
        capture_output=True, text=True)
    assert done.stdout == 'False\n', done.stderr


@pytest.mark.parametrize('name, added', [
    ('CHAINERMN_FORCE_ABORT_ON_EXCEPTIONS', True), ('CHAINERMN_FORCE_ABORT_ON_EXCEPTION', True),
    ('CHAINERMN_OTHER', False)])
def test_hook_by_environment_variable(name, added):
    code = 'import chainermn, sys; print(sys.excepthook is not sys.__excepthook__)'
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, env={**os.environ, name: '1'})
    assert done.stdout == f'{added}\n', done.stderr


def test_one_process_without_mpiexec(tmp_path):
    pytest.importorskip('mpi4py')
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / 'train.py'), str(tmp_path), 'snapshot', '3'],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('starts at 0\nends at 3 ')
