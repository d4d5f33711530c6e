"""Batch normalization of a whole model over all processes."""
import copy

import chainer.links as L
from chainermn.links import batch_normalization


def create_mnbn_model(link, comm, communication_backend='auto'):
    """Copy a model with each :class:`~chainer.links.BatchNormalization` normalizing over processes.

    Args:
        link (chainer.Link): Model; it stays as it is.
        comm (CommunicatorBase): Communicator.
        communication_backend (str): As for :class:`MultiNodeBatchNormalization`.

    Returns:
        chainer.Link: The copy, with the same parameters and running averages.

    Raises:
        ValueError: A batch normalization has an ``axis`` of its own, or no size yet.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> model = chainer.Sequential(L.Linear(2, 3), L.BatchNormalization(3))
    >>> type(chainermn.links.create_mnbn_model(model, comm)[1]).__name__
    'MultiNodeBatchNormalization'
    """
    # deepcopy takes what stands in its memo for the copy of an object, wherever it is met.
    memo = {
        id(each): _multi_node(each, comm, communication_backend)
        for each in link.links() if type(each) is L.BatchNormalization}
    return copy.deepcopy(link, memo)


def _multi_node(link, comm, communication_backend):
    if link.avg_mean is None or link.axis is not None:
        raise ValueError(
            'create_mnbn_model: a BatchNormalization with an axis of its own, or whose size the '
            f'first call decides, cannot normalize over processes: {link}')
    made = batch_normalization.MultiNodeBatchNormalization(
        link.avg_mean.shape, comm, link.decay, link.eps, link.avg_mean.dtype,
        link.gamma is not None, link.beta is not None,
        communication_backend=communication_backend)
    made.to_device(link.device)
    made.copyparams(link)
    made.N = link.N
    made.name = link.name
    return made

