"""Iterators that begin to load batches before they are asked for."""
import collections
import functools
from typing import Any, NamedTuple

import numpy

from chainer import serializer as serializer_module
from chainer.iterators import _epochs


class Ahead(NamedTuple):
    """A batch that was begun: its indices, the state behind it, the orders that were sampled on the
    way there, and what the loader gave for it."""

    indices: list | None
    state: _epochs.State
    orders: list
    loading: Any


class PrefetchIterator(_epochs.EpochIterator):
    """What the parallel iterators share.

    Orders are sampled here, in the thread of the caller, when a batch is begun: a random generator
    gives the same numbers in each run. Orders of batches that were begun and not yet handed out go
    into snapshots, so that a resumed run gets the very batches of one that went on.

    Subclasses define ``_load(indices, state)``, which begins to load and returns a handle, and
    ``_collect(loading)``, which waits for the examples. ``_own`` names the attributes that hold
    their threads or processes.
    """

    _own = ()

    def __init__(self, dataset, batch_size, repeat, shuffle, order_sampler, n_prefetch):
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self.n_prefetch = n_prefetch

    def _restart(self):
        super()._restart()
        self._ahead = collections.deque()
        self._known_orders = collections.deque()

    def __next__(self):
        """The next batch, a list of examples; raises ``StopIteration`` at the end."""
        self._begin_batches()
        self._previous_epoch_detail = self.epoch_detail
        batch = self._ahead.popleft()
        self._state = batch.state
        if batch.indices is None:
            raise StopIteration
        return self._collect(batch.loading)

    next = __next__

    def _begin_batches(self):
        state = self._ahead[-1].state if self._ahead else self._state
        while len(self._ahead) <= self.n_prefetch:
            if self._ahead and self._ahead[-1].indices is None:
                return
            orders = []
            indices, following = self._advance(state, functools.partial(self._sample, orders))
            loading = None if indices is None else self._load(indices, state)
            self._ahead.append(Ahead(indices, following, orders, loading))
            state = following

    def _sample(self, orders, order, position):
        """The next order; one from a snapshot where there are some left."""
        if self._known_orders:
            sampled = self._known_orders.popleft()
        else:
            sampled = self.order_sampler(order, position)
        orders.append(sampled)
        return sampled

    def _forget_batches(self):
        """Gives up the batches begun; they will be begun again in the same order."""
        self._known_orders = self._orders_ahead()
        self._ahead.clear()

    def _orders_ahead(self):
        orders = collections.deque(order for batch in self._ahead for order in batch.orders)
        orders.extend(self._known_orders)
        return orders

    def __getstate__(self):
        """What copies and pickles get: the same place, but no threads, processes and batches."""
        state = dict(vars(self), _ahead=collections.deque(), _known_orders=self._orders_ahead())
        return {key: value for key, value in state.items() if key not in self._own}

    def __copy__(self):
        """An iterator at the same place, with threads or processes of its own."""
        other = object.__new__(type(self))
        vars(other).update(self.__getstate__())
        return other

    def serialize(self, serializer):
        """Saves or restores position, epoch and orders."""
        super().serialize(serializer)
        if isinstance(serializer, serializer_module.Deserializer):
            try:
                orders = serializer('next_orders', None)
            except KeyError:  # no order was sampled ahead, or the snapshot is one of Chainer's
                orders = None
            self._ahead.clear()
            self._known_orders = collections.deque(() if orders is None else orders)
            return
        orders = self._orders_ahead()
        if orders:
            serializer('next_orders', numpy.array(orders))
