"""Where an iterator stands in its dataset, and how it moves on."""
import numbers
from typing import NamedTuple

import numpy

from chainer.dataset import iterator
from chainer.iterators import order_samplers
from chainer.serializer import Deserializer


class State(NamedTuple):
    """Position in the current epoch, finished epochs, whether the last batch finished one, and the
    order of the current epoch (``None``: that of the dataset)."""

    position: int
    epoch: int
    is_new_epoch: bool
    order: numpy.ndarray | None


def advance(state, size, batch_size, repeat, sample):
    """The indices of the next batch and the state behind it.

    Args:
        state (State): The state before.
        size (int): Number of examples in an epoch.
        batch_size (int): Number of indices wanted; less come at the end where ``repeat`` is false.
        repeat (bool): Whether epochs follow each other; else only one is given.
        sample: Called with an order and a position, gives the order of the next epoch.

    Returns:
        A list of integers and a :class:`State`; ``None`` and ``state`` at the end.
    """
    position, epoch, _, order = state
    if not repeat and (epoch > 0 or size == 0):
        return None, state
    if size == 0:
        raise ValueError('an iterator that repeats needs a dataset with examples; this is empty')
    indices = []
    is_new_epoch = False
    while True:
        end = min(position + batch_size - len(indices), size)
        part = range(position, end) if order is None else order[position:end].tolist()
        indices.extend(part)
        if end < size:
            return indices, State(end, epoch, is_new_epoch, order)
        epoch += 1
        is_new_epoch = True
        if order is not None:
            order = _checked(sample(order, position), size)
        position = 0
        if not repeat or len(indices) == batch_size:
            return indices, State(0, epoch, True, order)


def _checked(order, size):
    order = numpy.asarray(order)
    if len(order) != size:
        raise ValueError(
            f'the order sampler changed the number of examples in an epoch from {size} to '
            f'{len(order)}; it must stay the same')
    return order


class EpochIterator(iterator.Iterator):
    """What the iterators over a dataset share: arguments, state, and its serialization.

    Subclasses set ``_order_key``, the name of the order in snapshots, and ``_saves_no_order``,
    whether these have it where there is none, as those of Chainer's iterator of that name.
    """

    _order_key = 'order'
    _saves_no_order = False

    def __init__(self, dataset, batch_size, repeat, shuffle, order_sampler):
        if not isinstance(batch_size, numbers.Integral) or batch_size < 1:
            raise ValueError(f'batch_size must be a positive integer, not {batch_size!r}')
        if shuffle is not None and order_sampler is not None:
            raise ValueError(
                '`shuffle` is not `None` and a custom `order_sampler` is set. Please set `shuffle` '
                'to `None` to use the custom order sampler.')
        if order_sampler is None and shuffle is not False:
            order_sampler = order_samplers.ShuffleOrderSampler()
        self.dataset = dataset
        self.batch_size = batch_size
        self.order_sampler = order_sampler
        self._repeat = repeat
        self._shuffle = shuffle
        self._restart()

    def _restart(self):
        order = None
        if self.order_sampler is not None:
            order = numpy.asarray(self.order_sampler(numpy.arange(len(self.dataset)), 0))
        self._state = State(0, 0, False, order)
        self._previous_epoch_detail = None

    def _advance(self, state, sample):
        return advance(state, self._epoch_size(state), self.batch_size, self._repeat, sample)

    def _epoch_size(self, state):
        return len(self.dataset) if state.order is None else len(state.order)

    @property
    def repeat(self):
        """Whether the iterator goes on after the first epoch."""
        return self._repeat

    @property
    def current_position(self):
        """The position of the next example in the current epoch."""
        return self._state.position

    @property
    def epoch(self):
        """The number of finished epochs."""
        return self._state.epoch

    @property
    def is_new_epoch(self):
        """Whether the last batch finished an epoch."""
        return self._state.is_new_epoch

    @property
    def epoch_detail(self):
        """The number of finished epochs, with the fraction of the current one."""
        size = self._epoch_size(self._state)
        return self._state.epoch + (self._state.position / size if size else 0.)

    @property
    def previous_epoch_detail(self):
        """:attr:`epoch_detail` before the last batch; ``None`` before the first one."""
        return self._previous_epoch_detail

    def reset(self):
        """Goes back to the start, with a new order where there is an order sampler."""
        self._restart()

    def serialize(self, serializer):
        """Saves or restores position, epoch and order."""
        position = serializer('current_position', self._state.position)
        epoch = serializer('epoch', self._state.epoch)
        is_new_epoch = serializer('is_new_epoch', self._state.is_new_epoch)
        order = self._state.order
        if order is not None:
            order = self._serialize_order(serializer, order.copy())
        elif self._saves_no_order and not isinstance(serializer, Deserializer):
            serializer(self._order_key, None)
        self._state = State(int(position), int(epoch), bool(is_new_epoch), order)
        self._serialize_previous(serializer)

    def _serialize_order(self, serializer, order):
        other = '_order' if self._order_key == 'order' else 'order'
        try:
            return serializer(self._order_key, order)
        except KeyError:  # snapshots of other iterators and releases
            return serializer(other, order)

    def _serialize_previous(self, serializer):
        # -1 stands for None, which not all serializers can save.
        previous = self._previous_epoch_detail
        try:
            previous = serializer('previous_epoch_detail', -1. if previous is None else previous)
        except KeyError:  # snapshots from before Chainer 2
            previous = max(self.epoch_detail - self.batch_size / self._epoch_size(self._state), -1.)
        self._previous_epoch_detail = None if previous < 0 else float(previous)
