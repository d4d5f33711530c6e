"""The plain iterator: reads the examples where it stands."""
from chainer.iterators import _epochs


class SerialIterator(_epochs.EpochIterator):
    """Iterator that reads the examples of each batch one after the other, in this process.

    Args:
        dataset: Dataset with ``len`` and integer indexing.
        batch_size (int): Number of examples in a batch. The last batch of an iterator that does not
            repeat may have less; one that repeats goes on into the next epoch.
        repeat (bool): Whether to start again at the end of the dataset.
        shuffle (bool): Whether each epoch has an order of its own. ``None`` means true unless there
            is an ``order_sampler``.
        order_sampler: What gives the order of each epoch, called with the current order and the
            position in it; see :class:`~chainer.iterators.OrderSampler`. Needs ``shuffle=None``.

    Raises:
        ValueError: ``batch_size`` is not positive, or both ``shuffle`` and ``order_sampler`` are
            given.

    >>> from chainer.iterators import SerialIterator
    >>> iterator = SerialIterator('abcde', 2, repeat=False, shuffle=False)
    >>> for batch in iterator:
    ...     batch, iterator.epoch_detail
    (['a', 'b'], 0.4)
    (['c', 'd'], 0.8)
    (['e'], 1.0)
    """

    def __init__(self, dataset, batch_size, repeat=True, shuffle=None, order_sampler=None):
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def __next__(self):
        """The next batch, a list of examples; raises ``StopIteration`` at the end."""
        self._previous_epoch_detail = self.epoch_detail
        indices, self._state = self._advance(self._state, self.order_sampler)
        if indices is None:
            raise StopIteration
        return [self.dataset[index] for index in indices]

    next = __next__

    # Chainer 5's manual training loop starts an iterator again by setting these.

    @_epochs.EpochIterator.epoch.setter
    def epoch(self, value):
        self._state = self._state._replace(epoch=value)

    @_epochs.EpochIterator.current_position.setter
    def current_position(self, value):
        self._state = self._state._replace(position=value)

    @_epochs.EpochIterator.is_new_epoch.setter
    def is_new_epoch(self, value):
        self._state = self._state._replace(is_new_epoch=value)
