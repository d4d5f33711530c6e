"""Processes that load examples, and the memory they share with this one.

Each worker has a pipe of its own. It is sent chunks of indices, works them off in order, and
answers in order; nobody else reads or writes there, so that whatever happens to a worker, this
process knows what it was doing. Examples of some size come through memory that the worker makes,
without a name in the file system, and hands over through the pipe: it is gone when both have closed
it, however they end. The arrays of such examples lie in that memory; this process tells the workers
which parts (slots) of it are not in use any more.
"""
import collections
import contextlib
import faulthandler
import functools
import mmap
import os
import pickle
import random
import signal
import socket
import sys
import tempfile
import time
import traceback
import weakref
from multiprocessing import connection

import numpy

from chainer import _processes

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
        n_slots (int): The number of chunks of one worker that may be under way or in use without
            being sent through the pipe.
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
            watch: Called with a :class:`Worker`, the index of the example that it is loading, and
                the seconds for which it has done so; ``None`` and the seconds of waiting for it if
                it is starting, or sending. Returns the seconds after which to be called again, or
                ``None``.

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
        context = _processes.context()
        self.submitted = 0
        self.under_way = collections.deque()
        self._n_slots = n_slots
        self._memory = None
        self._free_slots = collections.deque(range(n_slots))
        self._slots_in_use = {}
        self._doing = context.RawArray('d', (_IDLE, 0.))
        self._pipe, theirs = context.Pipe()
        self.process = _processes.started(
            target=_work, name='MultiprocessIterator worker', daemon=True,
            args=(theirs, dataset, self._doing, n_slots, slot_size))
        theirs.close()
        self._log = None
        if _POSIX:
            self._log = tempfile.TemporaryFile()
            _send_file(self._pipe, self._log.fileno())

    @property
    def index(self):
        """The index of the example that the worker is loading, or ``None``."""
        index = int(self._doing[0])
        return None if index == _IDLE else index

    def submit(self, indices, seeds):
        """Sends a chunk; returns its number."""
        number = self.submitted
        self.submitted += 1
        slot = self._free_slots.popleft() if self._free_slots else None
        self.under_way.append((number, slot))
        with contextlib.suppress(OSError):  # it is dead, which receive() will find and report
            self._pipe.send((slot, indices, seeds))
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
            answered, slot = self.under_way.popleft()
            examples, error = self._open(slot, kind, *content)
            if answered == number:
                return examples, error

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
        stack = self._logged(before).splitlines()
        ours = [i for i, line in enumerate(stack) if __file__ in line]
        return '\n'.join(stack[:ours[0]] if ours else stack)

    def end(self, deadline):
        """Waits for the terminated process, and kills it at ``deadline``."""
        self.process.join(max(deadline - time.monotonic(), 0.))
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self._pipe.close()
        if self._log is not None:
            self._log.close()

    def _wait(self, watch):
        begin = time.monotonic()
        while True:
            number, since = self._doing
            index = None if number == _IDLE else int(number)
            seconds = time.monotonic() - (begin if index is None else since)
            if connection.wait([self._pipe, self.process.sentinel], watch(self, index, seconds)):
                return

    def _map(self, size):
        handle = _receive_file(self._pipe)
        try:
            self._memory = mmap.mmap(handle, size)
        finally:
            os.close(handle)
        # Arrays in the memory before hold on to it. Chunks under way will lie in the new one.
        taken = {slot for _, slot in self.under_way}
        self._free_slots = collections.deque(i for i in range(self._n_slots) if i not in taken)
        self._slots_in_use = {}

    def _open(self, slot, kind, *content):
        if kind == 'error':
            examples, error = None, _rebuild_error(*content)
        else:
            entries, used = content
            memory = self._hand_out(slot) if used else None
            examples, error = [_load(memory, *entry) for entry in entries], None
            if used:
                return examples, error
        if slot is not None:
            self._free_slots.append(slot)
        return examples, error

    def _hand_out(self, slot):
        """The memory of a slot, which is free again when all that holds on to it is gone."""
        slot_size = len(self._memory) // self._n_slots
        memory = numpy.frombuffer(self._memory, numpy.uint8, slot_size, slot * slot_size)
        free, in_use = self._free_slots, self._slots_in_use

        def release(_):
            in_use.pop(slot, None)
            free.append(slot)

        in_use[slot] = weakref.ref(memory, release)
        return memory

    def _logged(self, start=0):
        if self._log is None:
            return ''
        return os.pread(self._log.fileno(), 1 << 16, start).decode('utf-8', 'replace').strip()

    def _obituary(self):
        self.process.join(1.)
        doing = 'between two examples' if self.index is None else (
            f'while loading dataset index {self.index}')
        log = self._logged()
        has_begun = bool(self._doing[1])  # since when it has been at some example
        advice = '' if has_begun else _processes.advice()
        return (f'worker process {self.process.pid} of a MultiprocessIterator '
                f'{_how_it_ended(self.process.exitcode)} {doing}.{advice} Read that example '
                'without processes, through a SerialIterator, to see more'
                + (f':\n{log}' if log else '.'))


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


def _load(memory, pickled, places):
    buffers = [memory[start:start + size] for start, size in places]
    if pickled is None:
        pickled = buffers.pop(0)
    return pickle.loads(pickled, buffers=buffers)


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
            log = os.fdopen(_receive_file(pipe), 'w')
            faulthandler.enable(log)
            faulthandler.register(signal.SIGUSR1, log, all_threads=True)
        memory = _Memory(pipe, n_slots, slot_size)
        while True:
            while not pipe.poll(2.):  # siblings may hold the pipe open that the parent has left
                if os.getppid() != parent:
                    return
            slot, indices, seeds = pipe.recv()
            pipe.send(_answer(dataset, doing, memory, slot, indices, seeds))
    except (EOFError, ConnectionError):
        return


def _answer(dataset, doing, memory, slot, indices, seeds):
    entries = []
    where = None
    memory.begin(slot, len(indices))
    try:
        for index, seed in zip(indices, seeds, strict=True):
            where = index
            doing[1] = time.monotonic()
            doing[0] = index
            random.seed(seed)
            numpy.random.seed(seed)
            # Stored at once: the dataset makes the next example in the same, warm memory.
            entries.append(memory.store(dataset[index]))
        answer = 'examples', entries, memory.used
    except Exception as error:
        answer = 'error', where, *_describe(error)
    # Not where the process ends, by sys.exit in the dataset: what it was doing is reported then.
    doing[0] = _IDLE
    return answer


def _describe(error):
    text = ''.join(traceback.format_exception(error))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        pickled = b''
    return pickled, text


class _Memory:
    """The worker's end of the shared memory: a row of slots of one size, each for a chunk.

    Attributes:
        used (int): Bytes used of the current slot.
    """

    def __init__(self, pipe, n_slots, slot_size):
        self._pipe = pipe
        self._n_slots = n_slots
        self._slot_size = 0
        self._map = None
        self._possible = sys.platform == 'linux'  # the others want an answer to each handle
        if slot_size:
            self._grow(slot_size)

    def begin(self, slot, n_examples):
        """Begins a chunk of examples, in a slot or (``None``) all through the pipe."""
        self._slot = slot
        self._to_come = n_examples
        self.used = 0

    def store(self, example):
        """What to send through the pipe for an example: its pickle (``None`` if that is large as
        well) and the places of its large buffers in the slot."""
        large = []

        def keep_in_band(buffer):
            buffer = buffer.raw()
            if buffer.nbytes > _SMALL:
                large.append(buffer)
            return buffer.nbytes <= _SMALL

        pickled = pickle.dumps(example, protocol=5, buffer_callback=keep_in_band)
        if len(pickled) > _SMALL:
            large.insert(0, memoryview(pickled))
        size = sum(_rounded(buffer.nbytes) for buffer in large)
        has_room = not large or self._make_room(size)
        self._to_come -= 1
        if not has_room:
            return pickle.dumps(example, protocol=5), ()
        places = []
        for buffer in large:
            start = self._slot * self._slot_size + self.used
            self._map[start:start + buffer.nbytes] = buffer
            places.append((self.used, buffer.nbytes))
            self.used += _rounded(buffer.nbytes)
        return None if len(pickled) > _SMALL else pickled, places

    def _make_room(self, size):
        if self._slot is None or not self._possible:
            return False
        if self.used + size > self._slot_size:
            start = self._slot * self._slot_size
            stored = self._map[start:start + self.used] if self.used else b''
            self._grow(self.used + self._to_come * size * 5 // 4)
            if not self._possible:
                return False
            start = self._slot * self._slot_size
            self._map[start:start + self.used] = stored
        return True

    def _grow(self, slot_size):
        size = _rounded(slot_size, mmap.PAGESIZE) * self._n_slots
        try:
            with tempfile.TemporaryFile(dir=_MEMORY_FOLDER) as file:
                os.posix_fallocate(file.fileno(), 0, size)  # or a full disk would be a SIGBUS
                new_map = mmap.mmap(file.fileno(), size)
                self._pipe.send(('memory', size))
                _send_file(self._pipe, file.fileno())
        except OSError:  # no room: examples go through the pipe
            self._possible = False
            return
        # The parent maps it when it comes to this place in the pipe, behind the chunks that lie in
        # the memory before.
        self._map = new_map
        self._slot_size = size // self._n_slots


def _send_file(pipe, descriptor):
    """Send the descriptor of an open file; nothing is waited for.

    What multiprocessing has for that takes the next byte for an answer, since Python 3.14: another
    chunk may be under way.
    """
    with socket.fromfd(pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as s:
        socket.send_fds(s, [b'F'], [descriptor])


def _receive_file(pipe):
    """A descriptor of the file that comes next."""
    with socket.fromfd(pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as s:
        _, descriptors, _, _ = socket.recv_fds(s, 1, 1)
    if not descriptors:
        raise EOFError
    return descriptors[0]


def _rounded(size, unit=64):
    return -(-size // unit) * unit
