"""An iterator that loads with threads."""
import functools
from multiprocessing import pool

from chainer import _processes
from chainer.iterators import _prefetch


class MultithreadIterator(_prefetch.PrefetchIterator):
    """Iterator that loads the next batch with threads while the current one is worked on.

    Good for datasets that wait (files, networks) or leave the interpreter's lock (image decoders).

    Args:
        dataset: Dataset with ``len`` and integer indexing that several threads may read at once.
        batch_size (int): Number of examples in a batch.
        repeat (bool): Whether to start again at the end of the dataset.
        shuffle (bool): As for :class:`~chainer.iterators.SerialIterator`.
        n_threads (int): Number of threads.
        order_sampler: As for :class:`~chainer.iterators.SerialIterator`.

    Raises:
        ValueError: ``batch_size`` is not positive, or both ``shuffle`` and ``order_sampler`` are
            given.

    >>> from chainer.iterators import MultithreadIterator
    >>> with MultithreadIterator(range(5), 3, repeat=False, shuffle=False) as iterator:
    ...     list(iterator)
    [[0, 1, 2], [3, 4]]
    """

    _order_key = '_order'
    _saves_no_order = True
    _own = '_threads',
    _threads = None
    _finalized = False

    def __init__(self, dataset, batch_size, repeat=True, shuffle=None, n_threads=1,
                 order_sampler=None):
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler, n_prefetch=1)
        self.n_threads = n_threads

    def _load(self, indices, state):
        if self._threads is None:
            self._threads = _Threads(self.n_threads)
        read = functools.partial(_read, self.dataset)
        return self._threads.map_async(read, indices, chunksize=1)

    def _collect(self, loading):
        examples = loading.get()
        for example in examples:
            if isinstance(example, _Raised):
                raise example.error
        return examples

    def __next__(self):
        """The next batch, a list of examples; raises ``StopIteration`` at the end, and
        ``RuntimeError`` after :meth:`finalize`."""
        if self._finalized:
            raise RuntimeError('this MultithreadIterator is finalized; call reset() to begin anew')
        return super().__next__()

    next = __next__

    def reset(self):
        """Goes back to the beginning; after :meth:`finalize`, with new threads."""
        self._finalized = False
        super().reset()

    def finalize(self):
        """Stops the threads; what they are loading is dropped."""
        self._finalized = True
        threads, self._threads = self._threads, None
        if threads is not None:
            self._forget_batches()
            threads.terminate()


class _Threads(pool.ThreadPool):
    """Threads for which nothing is settled about processes: see :mod:`chainer._processes`."""

    def __init__(self, n):
        pool.Pool.__init__(self, n, context=_processes.context())


class _Raised:
    """Holds what a dataset raised. A thread pool would lose some of it: it waits forever for a
    thread that ``sys.exit`` ended, and takes ``StopIteration`` for the end of the batch."""

    def __init__(self, error):
        self.error = error


def _read(dataset, index):
    try:
        return dataset[index]
    except BaseException as error:
        error.add_note(f'(in a thread of a MultithreadIterator, at dataset index {index})')
        return _Raised(error)
