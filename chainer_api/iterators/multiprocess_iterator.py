"""An iterator that loads with processes."""
import multiprocessing
import warnings
import weakref
import zlib

import numpy

from chainer.iterators import _prefetch, _worker_pool


class MultiprocessIterator(_prefetch.PrefetchIterator):
    """Iterator that loads the next batches with worker processes.

    The dataset goes to the workers as the start method of :mod:`multiprocessing` has it: inherited
    with ``fork``, pickled with ``spawn`` and ``forkserver``. Orders are sampled in this process.
    Before each example a worker seeds ``random`` and ``numpy.random`` from the state that
    ``numpy.random`` had when the iterator was made and from the example's place in the sequence, so
    that random augmentation differs between examples and is the same in each run.

    What the dataset raises in a worker is raised here, with the worker's traceback. A worker that
    dies is reported with the index that it was loading, and so is one that takes very long. After
    such an error the next batch starts new workers.

    Args:
        dataset: Dataset with ``len`` and integer indexing.
        batch_size (int): Number of examples in a batch.
        repeat (bool): Whether to start again at the end of the dataset.
        shuffle (bool): As for :class:`~chainer.iterators.SerialIterator`.
        n_processes (int): Number of workers; that of the CPUs if ``None``.
        n_prefetch (int): Number of batches to load ahead.
        shared_mem (int): Bytes of shared memory for each example to begin with. It grows as
            needed; ``None`` begins with the size of the first ones.
        order_sampler: As for :class:`~chainer.iterators.SerialIterator`.
        dataset_timeout (float): A :class:`TimeoutWarning` comes when an example takes longer than
            so many seconds, and again each time this has doubled. ``None``: never.
        maxtasksperchild (int): Number of chunks (parts of batches) after which a worker is replaced
            by a fresh one. ``None``: never.

    Raises:
        ValueError: An argument is out of range, or both ``shuffle`` and ``order_sampler`` are
            given.
    """

    class TimeoutWarning(RuntimeWarning):
        """An example takes long. ``warnings.simplefilter('error', TimeoutWarning)`` makes it an
        error."""

    _own = '_pool', '_stop_workers'
    _pool = None
    _stop_workers = None
    _finalized = False

    def __init__(self, dataset, batch_size, repeat=True, shuffle=None, n_processes=None,
                 n_prefetch=1, shared_mem=None, order_sampler=None, dataset_timeout=30.0,
                 maxtasksperchild=None):
        random_state = numpy.random.get_state()
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler, n_prefetch)
        self.n_processes = multiprocessing.cpu_count() if n_processes is None else n_processes
        if self.n_processes < 1:
            raise ValueError(f'n_processes must be positive, not {n_processes}')
        self.shuffle = shuffle
        self.shared_mem = shared_mem
        self.dataset_timeout = dataset_timeout
        self._maxtasksperchild = maxtasksperchild
        self._seed = zlib.crc32(random_state[1].tobytes(), random_state[2])

    def _load(self, indices, state):
        if self._finalized:
            raise RuntimeError('this MultiprocessIterator is finalized')
        if self._pool is None:
            per_worker = -(-self.batch_size // self.n_processes)
            self._pool = _worker_pool.WorkerPool(
                # The batches begun, the one last handed out, and the one before it.
                self.dataset, self.n_processes, n_slots=self.n_prefetch + 3,
                slot_size=(self.shared_mem or 0) * per_worker, max_chunks=self._maxtasksperchild)
            self._stop_workers = weakref.finalize(self, self._pool.close)
        seeds = numpy.random.SeedSequence((self._seed, state.epoch, state.position))
        return self._pool.submit(indices, seeds.generate_state(len(indices)).tolist())

    def _collect(self, loading):
        try:
            batch, error = self._pool.collect(loading, _Watch(self.dataset_timeout))
        except BaseException:  # dead, hanging or interrupted: the pipes are in no known state
            self._drop_workers()
            raise
        if error is not None:
            raise error
        return batch

    def _drop_workers(self):
        self._forget_batches()
        self._pool = None
        if self._stop_workers is not None:
            self._stop_workers()

    def finalize(self):
        """Ends the workers; the iterator gives no more batches."""
        if not self._finalized:
            self._finalized = True
            if self._stop_workers is not None:
                self._drop_workers()

    def reset(self):
        """Goes back to the start, with a new order where there is an order sampler."""
        if self._finalized:
            raise NotImplementedError('a finalized MultiprocessIterator cannot be reset')
        super().reset()

class _Watch:
    """Warns about examples that take longer than ``limit`` seconds."""

    def __init__(self, limit):
        self.limit = limit
        self.example = None
        self.due = None

    def __call__(self, worker, index, seconds):
        if self.limit is None:
            return None
        if self.example != (worker, index):
            self.example = worker, index
            # To start may take long, and is not the dataset's fault.
            self.due = self.limit if index is not None else max(self.limit, 60.)
        if seconds >= self.due:
            self.due = 2 * seconds
            what = 'something outside of the dataset' if index is None else (
                f'dataset index {index}')
            warnings.warn(
                f'worker process {worker.process.pid} has been busy with {what} for '
                f'{seconds:.1f} s (dataset_timeout is {self.limit} s).\n{worker.where()}'.rstrip(),
                MultiprocessIterator.TimeoutWarning)
        return max(self.due - seconds, 0.01)
