"""Processes that load examples, and the memory they share with this one.

Each worker has a pipe of its own. It is sent chunks of indices, works them off in order, and
answers in order; nobody else reads or writes there, so that whatever happens to a worker, this
process knows what it was doing. Examples of some size come through memory that the worker makes,
without a name in the file system, and hands over through the pipe: it is gone when both have closed
it, however they end.
"""
import collections
import contextlib
import faulthandler
import functools
import mmap
import multiprocessing
import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
from multiprocessing import connection, reduction

import numpy

_POSIX = os.name == 'posix'
_SMALL = 1 << 14  # bytes up to which an array, or a whole answer, goes through the pipe
_MEMORY_FOLDER = '/dev/shm' if os.path.isdir('/dev/shm') else None
_IDLE = -1


class WorkerError(RuntimeError):
    """A worker of a MultiprocessIterator died."""


class _RemoteTraceback(Exception):
    """Shows where in a worker an exception came from."""

    def __str__(self):
        return self.args[0]


class WorkerPool:
    """Worker processes for one dataset.

    Args:
        dataset: The dataset, inherited (fork) or pickled (spawn, forkserver) by the workers.
        n_processes (int): The number of workers.
        n_slots (int): The number of chunks of one worker that may be under way or not yet
            collected, and one more.
        slot_size (int): Bytes of shared memory for a chunk to begin with.
        max_chunks (int): The number of chunks after which a worker is replaced, or ``None``.
    """

    def __init__(self, dataset, n_processes, n_slots, slot_size=0, max_chunks=None):
        self._make_worker = functools.partial(Worker, dataset, n_slots, slot_size)
        self._max_chunks = max_chunks
        self._workers = [None] * n_processes
        self._retired = []
        self._turn = 0
        self._owner = os.getpid()

    def submit(self, indices, seeds):
        """Begins to load examples, in as many chunks as there are workers; returns a handle for
        :meth:`collect`."""
        n = min(len(self._workers), len(indices))
        borders = [len(indices) * i // n for i in range(n + 1)]
        chunks = []
        for start, end in zip(borders, borders[1:], strict=False):
            worker = self._next_worker()
            chunks.append((worker, worker.submit(indices[start:end], seeds[start:end])))
        return chunks

    def collect(self, chunks, watch):
        """Waits for the examples of a handle.

        Args:
            chunks: What :meth:`submit` returned.
            watch: Called with a :class:`Worker` and the seconds for which it has been busy with one
                example; returns the seconds after which it wants to be called again, or ``None``.

        Returns:
            The examples and ``None``, or ``None`` and what the dataset raised.

        Raises:
            WorkerError: A worker died.
        """
        examples = []
        for worker, number in chunks:
            part, error = worker.receive(number, watch)
            if error is not None:
                return None, error
            examples.extend(part)
        for worker in [w for w in self._retired if not w.under_way]:
            self._retired.remove(worker)
            _end([worker])
        return examples, None

    def close(self):
        """Ends all workers, whatever they are doing."""
        if os.getpid() == self._owner:  # in a forked process they are not ours to end
            _end([w for w in (*self._workers, *self._retired) if w is not None])

    def _next_worker(self):
        turn, self._turn = self._turn, (self._turn + 1) % len(self._workers)
        worker = self._workers[turn]
        if worker is not None and self._max_chunks and worker.submitted >= self._max_chunks:
            self._retired.append(worker)
            worker = None
        if worker is None:
            worker = self._workers[turn] = self._make_worker()
        return worker


class Worker:
    """This process's end of one worker."""

    def __init__(self, dataset, n_slots, slot_size):
        context = multiprocessing.get_context()
        self.submitted = 0
        self.under_way = collections.deque()
        self._memory = None
        self._doing = context.RawArray('d', (_IDLE, 0.))
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_work, name='MultiprocessIterator worker', daemon=True,
            args=(theirs, dataset, self._doing, n_slots, slot_size))
        self.process.start()
        theirs.close()
        self._log = None
        if _POSIX:
            self._log = tempfile.TemporaryFile()
            reduction.send_handle(self._pipe, self._log.fileno(), self.process.pid)

    @property
    def index(self):
        """The index of the example that the worker is loading, or ``None``."""
        index = int(self._doing[0])
        return None if index == _IDLE else index

    def submit(self, indices, seeds):
        """Sends a chunk; returns its number."""
        number = self.submitted
        self.submitted += 1
        self.under_way.append(number)
        with contextlib.suppress(OSError):  # it is dead, which receive() will find and report
            self._pipe.send((number, indices, seeds))
        return number

    def receive(self, number, watch):
        """The examples of a chunk and an error, as for :meth:`WorkerPool.collect`.

        Answers to earlier chunks, which nobody wants any more, are skipped.
        """
        while True:
            self._wait(watch)
            try:
                if not self._pipe.poll():
                    raise EOFError('the process has ended')
                kind, *content = self._pipe.recv()
                if kind == 'memory':
                    self._map(*content)
                    continue
            except (EOFError, OSError) as error:
                raise WorkerError(self._obituary()) from error
            if self.under_way.popleft() == number:
                return self._open(kind, *content)

    def where(self):
        """The stack of the worker as text, as far as it can be had from outside."""
        if self._log is None or self.index is None:  # before the first one it has no handler yet
            return ''
        before = os.fstat(self._log.fileno()).st_size
        os.kill(self.process.pid, signal.SIGUSR1)
        size = before
        for _ in range(100):  # until something has come and nothing more comes; at most a second
            time.sleep(0.01)
            size, last = os.fstat(self._log.fileno()).st_size, size
            if size == last > before:
                break
        return self._logged(before)

    def end(self, deadline):
        """Waits for the terminated process, and kills it at ``deadline``."""
        self.process.join(max(deadline - time.monotonic(), 0.))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self._pipe.close()
        if self._memory is not None:
            self._memory.close()
        if self._log is not None:
            self._log.close()

    def _wait(self, watch):
        begin = time.monotonic()
        while True:
            index, since = self._doing
            seconds = time.monotonic() - (begin if index == _IDLE else since)
            if connection.wait([self._pipe, self.process.sentinel], watch(self, seconds)):
                return

    def _map(self, size):
        handle = reduction.recv_handle(self._pipe)
        try:
            if self._memory is not None:
                self._memory.close()
            self._memory = mmap.mmap(handle, size)
        finally:
            os.close(handle)

    def _open(self, kind, *content):
        if kind == 'error':
            return None, _rebuild_error(*content)
        if kind == 'sent':
            return pickle.loads(*content), None
        buffers = [numpy.frombuffer(self._memory, numpy.uint8, size, start).copy()
                   for start, size in content[0]]
        return pickle.loads(buffers[0], buffers=buffers[1:]), None

    def _logged(self, start=0):
        if self._log is None:
            return ''
        return os.pread(self._log.fileno(), 1 << 16, start).decode('utf-8', 'replace').strip()

    def _obituary(self):
        self.process.join(1.)
        doing = 'between two examples' if self.index is None else (
            f'while loading dataset index {self.index}')
        log = self._logged()
        return (f'worker process {self.process.pid} of a MultiprocessIterator '
                f'{_how_it_ended(self.process.exitcode)} {doing}. Read that example without '
                'processes, through a SerialIterator, to see more' + (f':\n{log}' if log else '.'))


def _how_it_ended(exitcode):
    if exitcode is None:
        return 'closed its pipe'
    if exitcode >= 0:
        return f'exited with code {exitcode}'
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = f'signal {-exitcode}'
    return f'was killed by {name}' + (
        ' (which the system sends where memory runs out)' if name == 'SIGKILL' else '')


def _end(workers):
    for worker in workers:
        worker.process.terminate()
    deadline = time.monotonic() + 1.
    for worker in workers:
        worker.end(deadline)


def _rebuild_error(index, pickled, text):
    try:
        error = pickle.loads(pickled)
    except Exception:
        error = RuntimeError(text.splitlines()[-1])
    error.add_note(f'(in a worker of a MultiprocessIterator, at dataset index {index})')
    error.__cause__ = _RemoteTraceback(f'\n"""\n{text}"""')
    return error


# In the worker


def _work(pipe, dataset, doing, n_slots, slot_size):
    """Loads chunks until the parent closes the pipe or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = os.getppid()
    try:
        if _POSIX:
            log = os.fdopen(reduction.recv_handle(pipe), 'w')
            faulthandler.enable(log)
            faulthandler.register(signal.SIGUSR1, log, all_threads=True)
        memory = _Memory(pipe, n_slots, slot_size)
        while True:
            while not pipe.poll(2.):  # siblings may hold the pipe open that the parent has left
                if os.getppid() != parent:
                    return
            number, indices, seeds = pipe.recv()
            pipe.send(_answer(dataset, doing, memory, number, indices, seeds))
    except (EOFError, ConnectionError):
        return


def _answer(dataset, doing, memory, number, indices, seeds):
    examples = []
    where = None
    try:
        for index, seed in zip(indices, seeds, strict=True):
            where = index
            doing[1] = time.monotonic()
            doing[0] = index
            random.seed(seed)
            numpy.random.seed(seed)
            examples.append(dataset[index])
        where = f'{indices[0]} to {indices[-1]}, while sending the examples'
        return memory.store(number, examples)
    except Exception as error:
        return 'error', where, *_describe(error)
    finally:
        doing[0] = _IDLE


def _describe(error):
    text = ''.join(traceback.format_exception(error))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = b''
    return pickled, text


class _Memory:
    """The worker's end of the shared memory: a ring of slots, one for an answer."""

    def __init__(self, pipe, n_slots, slot_size):
        self._pipe = pipe
        self._n_slots = n_slots
        self._slot_size = 0
        self._map = None
        self._possible = sys.platform == 'linux'  # the others want an answer to each handle
        if slot_size:
            self._grow(slot_size)

    def store(self, number, examples):
        """The message that brings the examples to the parent."""
        out_of_band = []

        def keep_out(buffer):
            if memoryview(buffer).nbytes <= _SMALL:
                return True
            out_of_band.append(buffer.raw())
            return False

        pickled = pickle.dumps(examples, protocol=5, buffer_callback=keep_out)
        buffers = [memoryview(pickled), *out_of_band]
        size = sum(_rounded(buffer.nbytes) for buffer in buffers)
        if size > _SMALL and size > self._slot_size and self._possible:
            self._grow(size + size // 4)
        if size <= _SMALL or size > self._slot_size:
            if out_of_band:
                pickled = pickle.dumps(examples, protocol=5)
            return 'sent', pickled
        places = []
        position = number % self._n_slots * self._slot_size
        for buffer in buffers:
            self._map[position:position + buffer.nbytes] = buffer
            places.append((position, buffer.nbytes))
            position += _rounded(buffer.nbytes)
        return 'shared', places

    def _grow(self, slot_size):
        size = _rounded(slot_size, mmap.PAGESIZE) * self._n_slots
        try:
            with tempfile.TemporaryFile(dir=_MEMORY_FOLDER) as file:
                os.posix_fallocate(file.fileno(), 0, size)  # or a full disk would be a SIGBUS
                new_map = mmap.mmap(file.fileno(), size)
                self._pipe.send(('memory', size))
                reduction.send_handle(self._pipe, file.fileno(), os.getppid())
        except OSError:  # no room: answers go through the pipe
            self._possible = False
            return
        # The old memory may hold answers that the parent has not read. It maps the new one when it
        # comes to this place in the pipe, behind those answers.
        self._map = new_map
        self._slot_size = size // self._n_slots


def _rounded(size, unit=64):
    return -(-size // unit) * unit
