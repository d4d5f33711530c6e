"""One process reads, all get the batches."""
from chainer.dataset import iterator

_POSITION = 'epoch', 'epoch_detail', 'previous_epoch_detail', 'is_new_epoch', 'current_position'


class _Master(iterator.Iterator):

    def __init__(self, actual_iterator, communicator, rank_master):
        self.__dict__['actual_iterator'] = actual_iterator
        self.__dict__['communicator'] = communicator
        self.__dict__['rank_master'] = rank_master

    def __next__(self):
        try:
            batch = next(self.actual_iterator)
        except StopIteration:
            self._tell(None)
            raise
        self._tell((batch, _position(self.actual_iterator)))
        return batch

    next = __next__

    def _tell(self, message):
        self.communicator.bcast_obj(message, root=self.rank_master)

    def __getattr__(self, name):
        if name == 'actual_iterator':  # not there yet, or any more
            raise AttributeError(name)
        return getattr(self.actual_iterator, name)

    def __setattr__(self, name, value):
        setattr(self.actual_iterator, name, value)

    def finalize(self):
        self.actual_iterator.finalize()

    def serialize(self, serializer):
        self.actual_iterator.serialize(serializer)


class _Slave(iterator.Iterator):

    def __init__(self, communicator, rank_master):
        self.communicator = communicator
        self.rank_master = rank_master
        self._start = communicator.bcast_obj(None, root=rank_master)
        self.reset()

    def reset(self):
        """Goes back to the start; the master has to, too."""
        vars(self).update(self._start)

    def __next__(self):
        message = self.communicator.bcast_obj(None, root=self.rank_master)
        if message is None:
            raise StopIteration
        batch, position = message
        vars(self).update(position)
        return batch

    next = __next__

    def serialize(self, serializer):
        """Saves or restores the position that the master told last."""
        for name in _POSITION:
            value = getattr(self, name)
            try:
                value = serializer(name, -1. if value is None else value)
            except KeyError:  # the snapshot of a master; the next batch tells
                continue
            kept = type(getattr(self, name) if getattr(self, name) is not None else 0.)
            setattr(self, name, None if name == 'previous_epoch_detail' and value < 0
                    else kept(value))


def _position(actual):
    return {name: getattr(actual, name, None) for name in (*_POSITION, 'batch_size', 'repeat')}


def create_multi_node_iterator(actual_iterator, communicator, rank_master=0):
    """Make an iterator that gives all processes the batches that one of them reads.

    For models whose parts are on several processes and need the same data. The batches are sent
    whole; for large data see :func:`create_synchronized_iterator`.

    All processes have to make it, and to ask it for batches, at the same time.

    Args:
        actual_iterator (chainer.dataset.Iterator): What is read; ignored in all but the master.
        communicator (CommunicatorBase): Communicator.
        rank_master (int): Rank of the process that reads.

    Returns:
        chainer.dataset.Iterator: The iterator of this process.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> numbers = chainer.iterators.SerialIterator([1, 2, 3], 2, shuffle=False)
    >>> iterator = chainermn.iterators.create_multi_node_iterator(numbers, comm)
    >>> next(iterator), next(iterator), iterator.epoch
    ([1, 2], [3, 1], 1)
    """
    if communicator.rank != rank_master:
        return _Slave(communicator, rank_master)
    made = _Master(actual_iterator, communicator, rank_master)
    made._tell(_position(actual_iterator))
    return made
