"""Faults of workers, and that nothing of them is left."""
import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

from chainer import iterators
from chainer.iterators import _worker_pool

pytestmark = pytest.mark.skipif(os.name != 'posix', reason='signals and forks')


class Dataset:
    """Examples with an array of ``size`` numbers; subclasses misbehave at index 5."""

    def __init__(self, size=3, n=12):
        self.size = size
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == 5:
            self.misbehave()
        return i, np.full(self.size, i, np.float64), os.getpid()

    def misbehave(self):
        pass


class Failing(Dataset):
    def misbehave(self):
        raise ValueError('no good')


class Unpicklable(Exception):
    def __init__(self, a, b):
        super().__init__('cannot come home')


class FailingBadly(Dataset):
    def misbehave(self):
        raise Unpicklable(1, 2)


class Killed(Dataset):
    def misbehave(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Exiting(Dataset):
    def misbehave(self):
        os._exit(3)


class Leaving(Dataset):
    def misbehave(self):
        sys.exit(4)


class Crashing(Dataset):
    def misbehave(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class Hanging(Dataset):
    def misbehave(self):
        threading.Event().wait()


class Slow(Dataset):
    """Takes until the file is there."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def misbehave(self):
        while not self.file.exists():
            threading.Event().wait(0.01)


def children():
    gc.collect()
    return multiprocessing.active_children()


def open_memory():
    """The shared memory that this process has mapped."""
    gc.collect()
    maps = pathlib.Path('/proc/self/maps').read_text()
    return sum('/dev/shm/#' in line for line in maps.splitlines())


def open_pipes():
    """How many descriptors are pipes, sockets or shared memory: what other threads read is none."""
    found = 0
    for entry in os.listdir('/proc/self/fd') if os.path.isdir('/proc/self/fd') else ():
        try:
            leads_to = os.readlink(f'/proc/self/fd/{entry}')
        except FileNotFoundError:  # that of the list itself, or one closed meanwhile
            continue
        found += not leads_to.startswith('/') or leads_to.startswith('/dev/shm/')
    return found


def shared_files():
    """What lies in shared memory, without that of MPI, which other tests run at the same time."""
    names = os.listdir('/dev/shm') if os.path.isdir('/dev/shm') else ()
    return {name for name in names if not name.startswith('mpich_')}


@pytest.fixture(autouse=True)
def nothing_is_left():
    files, descriptors = shared_files(), open_pipes()
    yield
    assert children() == []
    assert shared_files() <= files
    # The first use of multiprocessing opens some for good.
    assert open_pipes() <= descriptors + 2


def make(dataset, batch_size=4, n_processes=2, **kwargs):
    return iterators.MultiprocessIterator(
        dataset, batch_size, shuffle=False, n_processes=n_processes, **kwargs)


@pytest.fixture(params=['fork', 'spawn', 'forkserver'])
def start_method(request):
    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(request.param, force=True)
    yield request.param
    multiprocessing.set_start_method(before, force=True)


def check_batches(iterator, n, size):
    count = len(iterator.dataset)
    for k in range(n):
        batch = next(iterator)
        assert [i for i, _, _ in batch] == [(4 * k + j) % count for j in range(4)]
        for i, array, pid in batch:
            np.testing.assert_array_equal(array, np.full(size, i))
            assert array.flags.writeable and pid != os.getpid()


def test_start_methods(start_method):
    with make(Dataset(5000), n_processes=1 if start_method != 'fork' else 2) as iterator:
        check_batches(iterator, 4, 5000)


@pytest.mark.parametrize('kwargs', [
    {}, {'shared_mem': 0}, {'shared_mem': 100}, {'shared_mem': 1000000}, {'n_prefetch': 0},
    {'n_prefetch': 5}, {'maxtasksperchild': 1}, {'maxtasksperchild': 3}, {'n_processes': 5},
    {'dataset_timeout': None}])
@pytest.mark.parametrize('size', [3, 20000])
def test_arguments(kwargs, size):
    with make(Dataset(size), **kwargs) as iterator:
        check_batches(iterator, 9, size)


def test_growing_examples():
    class Growing(Dataset):
        def __getitem__(self, i):
            return np.full(1000 * 2 ** i, i), 'x' * (5000 * i)

    with make(Growing(), batch_size=4) as iterator:
        for k in range(6):
            for j, (array, text) in enumerate(next(iterator)):
                i = (4 * k + j) % 12
                np.testing.assert_array_equal(array, np.full(1000 * 2 ** i, i))
                assert text == 'x' * (5000 * i)


@pytest.mark.skipif(sys.platform != 'linux', reason='others send arrays through pipes')
def test_arrays_come_through_shared_memory_and_may_be_kept():
    with make(Dataset(5000)) as iterator:
        kept = [next(iterator) for _ in range(12)]  # more than there are slots
        assert open_memory() == 2
        for k, batch in enumerate(kept):
            for j, (_, array, _) in enumerate(batch):
                np.testing.assert_array_equal(array, np.full(5000, (4 * k + j) % 12))
        del kept, batch, array
        check_batches(iterator, 3, 5000)
    del iterator
    assert open_memory() == 0


@pytest.mark.skipif(sys.platform != 'linux', reason='others send arrays through pipes')
def test_full_memory_means_pipes(monkeypatch):
    def full(*args):
        raise OSError('no space left')

    monkeypatch.setattr(os, 'posix_fallocate', full)  # the workers are forked
    with make(Dataset(20000)) as iterator:
        check_batches(iterator, 4, 20000)
        assert open_memory() == 0


def test_arrays_outlive_the_iterator():
    with make(Dataset(5000)) as iterator:
        batch = next(iterator)
    np.testing.assert_array_equal(batch[3][1], np.full(5000, 3))


def test_error_of_the_dataset_has_index_and_traceback():
    with make(Failing()) as iterator:
        next(iterator)
        with pytest.raises(ValueError, match='no good') as caught:
            next(iterator)
        assert caught.value.__notes__ == [
            '(in a worker of a MultiprocessIterator, at dataset index 5)']
        assert 'in misbehave' in str(caught.value.__cause__)
        assert [i for i, _, _ in next(iterator)] == [8, 9, 10, 11]


def test_error_that_cannot_be_pickled():
    with make(FailingBadly()) as iterator:
        next(iterator)
        with pytest.raises(RuntimeError, match='Unpicklable: cannot come home') as caught:
            next(iterator)
        assert 'at dataset index 5' in caught.value.__notes__[0]


def test_example_that_cannot_be_pickled():
    class Local(Dataset):
        def __getitem__(self, i):
            return lambda: i

    with make(Local()) as iterator, pytest.raises(Exception, match='(?i)pickle') as caught:
        next(iterator)
    assert 'at dataset index 0' in caught.value.__notes__[0]


@pytest.mark.parametrize('dataset, how', [
    (Killed(), r'was killed by SIGKILL \(which the system sends where memory runs out\)'),
    (Exiting(), 'exited with code 3'),
    (Leaving(), 'exited with code 4'),
    (Crashing(), r'(?s)was killed by SIGSEGV .*Segmentation fault.*in misbehave'),
], ids=['killed', 'exit', 'sys.exit', 'crash'])
def test_dead_worker(dataset, how):
    with make(dataset) as iterator:
        next(iterator)
        with pytest.raises(RuntimeError, match=how) as caught:
            next(iterator)
        assert 'while loading dataset index 5' in str(caught.value)
        assert children() == []
        # New workers go on behind the batch that was lost.
        assert [i for i, _, _ in next(iterator)] == [8, 9, 10, 11]


def test_worker_killed_between_batches():
    with make(Dataset(), n_processes=1, n_prefetch=0) as iterator:
        os.kill(next(iterator)[0][2], signal.SIGKILL)
        with pytest.raises(RuntimeError, match='SIGKILL .* between two examples'):
            next(iterator)


def test_slow_example_is_reported_and_comes(tmp_path, monkeypatch):
    reported, warn = [], warnings.warn

    def noticed(*args):
        warn(*args)
        reported.append(args)
        if len(reported) == 3:
            (tmp_path / 'reported').touch()

    monkeypatch.setattr(warnings, 'warn', noticed)
    with make(Slow(tmp_path / 'reported'), dataset_timeout=0.05) as iterator:
        next(iterator)
        with pytest.warns(iterators.MultiprocessIterator.TimeoutWarning) as caught:
            batch = next(iterator)
    assert [i for i, _, _ in batch] == [4, 5, 6, 7]
    message = str(caught[0].message)
    assert 'busy with dataset index 5 for' in message and 'dataset_timeout is 0.05 s' in message
    assert 'in misbehave' in message and '_worker_pool' not in message
    assert len(caught) < 10  # each after twice the time


def test_hanging_worker_can_be_made_an_error():
    with make(Hanging(), dataset_timeout=0.05) as iterator:
        next(iterator)
        with warnings.catch_warnings():
            warnings.simplefilter('error', iterators.MultiprocessIterator.TimeoutWarning)
            with pytest.raises(iterators.MultiprocessIterator.TimeoutWarning, match='index 5'):
                next(iterator)
        assert children() == []
        assert [i for i, _, _ in next(iterator)] == [8, 9, 10, 11]


def test_finalize_ends_hanging_workers():
    iterator = make(Hanging(), batch_size=6)
    iterator._begin_batches()
    assert len(children()) == 2
    started = time.monotonic()
    iterator.finalize()
    iterator.finalize()
    assert children() == [] and time.monotonic() - started < 10
    with pytest.raises(RuntimeError, match='is finalized'):
        next(iterator)
    with pytest.raises(NotImplementedError, match='cannot be reset'):
        iterator.reset()


def test_workers_end_with_the_last_reference():
    iterator = make(Dataset())
    next(iterator)
    assert len(children()) == 2
    del iterator
    assert children() == []


@pytest.fixture
def interruptible():
    """A process that a shell has started in the background ignores SIGINT."""
    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, was)


def test_ctrl_c_while_waiting(interruptible):
    iterator = make(Hanging())
    next(iterator)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    timer.join()
    assert children() == []
    iterator.finalize()


def test_a_forked_child_leaves_the_workers_alone():
    with make(Dataset()) as iterator:
        next(iterator)
        child = os.fork()
        if child == 0:
            iterator.finalize()
            os._exit(0)
        os.waitpid(child, 0)
        assert [i for i, _, _ in next(iterator)] == [4, 5, 6, 7]


def run_script(body, **kwargs):
    script = textwrap.dedent('''
        import os, signal, sys, numpy as np
        from chainer import iterators
        class Dataset:
            def __len__(self): return 12
            def __getitem__(self, i): return np.zeros(5000), os.getpid()
    ''') + textwrap.dedent(body)
    return subprocess.run([sys.executable, '-c', script], capture_output=True, text=True,
                          timeout=60, **kwargs)


def wait_until_gone(pids):
    for _ in range(1000):
        if not any(os.path.exists(f'/proc/{pid}') and 'Z' not in pathlib.Path(
                f'/proc/{pid}/stat').read_text().rsplit(')')[-1].split()[0] for pid in pids):
            return True
        threading.Event().wait(0.01)
    return False


@pytest.mark.parametrize('end', ['sys.exit(1)', 'raise ValueError', 'os.kill(os.getpid(), 2)'])
def test_interpreter_ends_without_finalize(end):
    result = run_script(f'''
        iterator = iterators.MultiprocessIterator(Dataset(), 4, n_processes=2)
        print(*sorted({{pid for _, pid in next(iterator)}}))
        sys.stdout.flush()
        {end}
    ''')
    pids = result.stdout.split()
    assert len(pids) == 2 and wait_until_gone(pids), result.stderr
    assert 'leaked' not in result.stderr


@pytest.mark.skipif(sys.platform != 'linux', reason='looks into /proc')
def test_workers_notice_that_the_parent_was_killed():
    result = run_script('''
        iterator = iterators.MultiprocessIterator(Dataset(), 4, n_processes=2)
        print(*sorted({pid for _, pid in next(iterator)}))
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    ''')
    pids = result.stdout.split()
    assert len(pids) == 2 and wait_until_gone(pids)


def test_random_numbers_differ_between_examples_and_are_the_same_in_each_run():
    class Random(Dataset):
        def __getitem__(self, i):
            return np.random.rand()

    runs = []
    for n_processes in 1, 3:
        np.random.seed(7)
        with make(Random(), n_processes=n_processes) as iterator:
            runs.append([x for _ in range(6) for x in next(iterator)])
    assert runs[0] == runs[1] and len(set(runs[0])) == 24


def test_the_parent_draws_nothing_for_the_workers():
    np.random.seed(1)
    expected = np.random.rand()
    np.random.seed(1)
    with make(Dataset()) as iterator:
        next(iterator)
        assert np.random.rand() == expected


def test_number_of_processes():
    with pytest.raises(ValueError, match='n_processes must be positive'):
        make(Dataset(), n_processes=0)
    assert iterators.MultiprocessIterator([1], 1).n_processes == multiprocessing.cpu_count()


def test_how_it_ended():
    assert _worker_pool._how_it_ended(None) == 'closed its pipe'
    assert _worker_pool._how_it_ended(-200) == 'was killed by signal 200'
