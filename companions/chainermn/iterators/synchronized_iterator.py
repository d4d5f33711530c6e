"""All processes read, in the same order."""
import numpy

from chainer.iterators import order_samplers


def create_synchronized_iterator(actual_iterator, communicator):
    """Have the iterators of all processes give the same examples, each reading them itself.

    Each process needs the same data set. Iterators that do not shuffle are in step anyhow; those
    that do get an order sampler with a seed that all share, and start anew.

    Args:
        actual_iterator (chainer.dataset.Iterator): One with an attribute ``order_sampler``; it is
            changed.
        communicator (CommunicatorBase): Communicator.

    Returns:
        chainer.dataset.Iterator: The same iterator.

    Raises:
        ValueError: The order sampler of the iterator is one of the user's.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> numbers = chainer.iterators.SerialIterator([1, 2, 3], 3)
    >>> iterator = chainermn.iterators.create_synchronized_iterator(numbers, comm)
    >>> sorted(next(iterator))
    [1, 2, 3]
    """
    seed = communicator.bcast_obj(numpy.random.randint(2 ** 31 - 1))
    sampler = getattr(actual_iterator, 'order_sampler', None)
    if sampler is None:
        return actual_iterator
    if type(sampler) is not order_samplers.ShuffleOrderSampler:
        raise ValueError(
            f'create_synchronized_iterator cannot seed the order sampler {type(sampler).__name__}; '
            'give it the same seed in all processes, and use the iterator as it is')
    actual_iterator.order_sampler = order_samplers.ShuffleOrderSampler(
        numpy.random.RandomState(seed))
    actual_iterator.reset()
    return actual_iterator
