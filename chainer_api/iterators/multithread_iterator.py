"""An iterator that loads with threads."""
from concurrent import futures

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
            self._threads = futures.ThreadPoolExecutor(self.n_threads)
        return [self._threads.submit(_read, self.dataset, index) for index in indices]

    def _collect(self, loading):
        futures.wait(loading)
        return [example.result() for example in loading]

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
            threads.shutdown(wait=False, cancel_futures=True)


def _read(dataset, index):
    try:
        return dataset[index]
    except BaseException as error:
        error.add_note(f'(in a thread of a MultithreadIterator, at dataset index {index})')
        raise
