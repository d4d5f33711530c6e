"""Data sets split among processes."""
import math
import warnings

import numpy

import chainer.datasets
from chainermn.communicators import mpi_communicator_base


class DataSizeError(RuntimeError):
    """A data set is too large to be sent; nothing raises it here, as messages come in pieces."""


def scatter_dataset(dataset, comm, root=0, shuffle=False, seed=None, max_buf_len=256 * 1024 * 1024,
                    *, force_equal_length=True):
    """Split the data set of one process among all.

    The data set is sent whole to each process, which takes a part of it that no copy is made of.
    For large data, scatter a data set of file names, or :func:`scatter_index` instead.

    Args:
        dataset: Data set with ``len`` and indexing; ignored in all but the root process.
        comm: Communicator, of ChainerMN or of mpi4py.
        root (int): Rank of the process whose data set it is.
        shuffle (bool): Whether to shuffle the examples first.
        seed (int): Seed of the shuffling: the same seed makes the same parts.
        max_buf_len (int): Bytes sent in one go, at most 2147483647.
        force_equal_length (bool): Whether all parts get the same length, so that epochs are equally
            long everywhere; then some examples may be in two parts.

    Returns:
        chainer.datasets.SubDataset: The part of this process.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> list(chainermn.scatter_dataset([1, 2, 3], comm))  # one process gets all
    [1, 2, 3]
    """
    mpi_comm = getattr(comm, 'mpi_comm', comm)
    order = None
    if mpi_comm.rank == root and shuffle:
        order = numpy.random.RandomState(seed).permutation(len(dataset))
    if hasattr(comm, 'bcast_obj'):
        whole, order = comm.bcast_obj((dataset, order), max_buf_len=max_buf_len, root=root)
    else:
        whole, order = mpi_communicator_base._bcast_obj(
            comm, (dataset, order), max_buf_len, root)
    begin, end = _part(len(whole), mpi_comm.size, mpi_comm.rank, force_equal_length)
    return chainer.datasets.SubDataset(whole, begin, end, order)


def scatter_index(n_total_samples, comm, root=0, *, force_equal_length=True):
    """Split a range of indices among all processes, as :func:`scatter_dataset` splits examples.

    Args:
        n_total_samples (int): Number of indices; that of the root process counts.
        comm (CommunicatorBase): Communicator.
        root (int): Rank of the root process.
        force_equal_length (bool): Whether all parts get the same length.

    Returns:
        tuple of int: The first index of this process, and the one after its last.
    """
    total = comm.bcast_obj(n_total_samples, root=root)
    return _part(total, comm.size, comm.rank, force_equal_length)


def _part(total, size, rank, force_equal_length):
    if force_equal_length:
        begin = total * rank // size
        return begin, begin + math.ceil(total / size)
    length, more = divmod(total, size)
    begin = length * rank + min(rank, more)
    return begin, begin + length + (rank < more)


def get_n_iterations_for_one_epoch(dataset, local_batch_size, comm):
    """Number of iterations in which the longest part of a scattered data set is seen once.

    .. deprecated:: v6.0.0
        Triggers in epochs do.
    """
    warnings.warn(
        'get_n_iterations_for_one_epoch is deprecated. Please use standard epoch triggers.',
        DeprecationWarning, stacklevel=2)
    return comm.bcast_obj(math.ceil(len(dataset) / local_batch_size))


def get_epoch_trigger(n_epochs, dataset, local_batch_size, comm):
    """The trigger of a number of epochs of a scattered data set, in iterations.

    .. deprecated:: v6.0.0
        Triggers in epochs do.
    """
    warnings.warn(
        'get_epoch_trigger is deprecated. Please use standard epoch triggers.',
        DeprecationWarning, stacklevel=2)
    length = comm.bcast_obj(math.ceil(len(dataset) / local_batch_size))
    return n_epochs * length, 'iteration'
