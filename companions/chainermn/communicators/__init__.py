"""Communicators, and how one is made."""
from chainermn import _mpi, global_except_hook
from chainermn.communicators.communicator_base import CommunicatorBase

__all__ = ['CommunicatorBase', 'create_communicator']

_RETIRED = 'hierarchical', 'two_dimensional', 'single_node'


def create_communicator(communicator_name='hierarchical', mpi_comm=None, allreduce_grad_dtype=None,
                        **kwargs):
    """Make a communicator, at which all processes of ``mpi_comm`` have to be.

    ============== === === ===== ===============================================================
    name           CPU GPU NCCL  what it does
    ============== === === ===== ===============================================================
    naive          yes yes       MPI, one all-reduce a gradient
    flat           yes yes       MPI, all gradients in one buffer
    non_cuda_aware     yes yes   NCCL on each machine, MPI by way of the host between them
    pure_nccl          yes yes   NCCL everywhere; float16 gradients and double buffering
    dummy          yes yes       no averaging at all, to measure what the rest of training costs
    ============== === === ===== ===============================================================

    ``hierarchical``, ``two_dimensional`` and ``single_node`` were taken out of Chainer 7. Where
    NCCL is available, ``pure_nccl`` stands in for them, which computes the same.

    With more than one process, an uncaught exception in any of them ends all, see
    :func:`chainermn.global_except_hook.add_hook`.

    Args:
        communicator_name (str): One of the names above.
        mpi_comm (mpi4py.MPI.Comm): The processes that take part; all of the job by default.
        allreduce_grad_dtype: Type in which ``pure_nccl`` averages gradients; by default theirs.
        batched_copy (bool): Whether a GPU copies all gradients into the buffer by one kernel.

    Returns:
        CommunicatorBase: The communicator.

    Raises:
        ImportError: mpi4py or an MPI library is missing.
        ValueError: There is no communicator of this name, or ``allreduce_grad_dtype`` is given for
            another one than ``pure_nccl``.
        RuntimeError: What the communicator needs (NCCL) is missing.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> comm.rank, comm.size  # one process; four under `mpiexec -n 4 python script.py`
    (0, 1)
    """
    batched_copy = kwargs.pop('batched_copy', None)
    if kwargs:
        names = ', '.join(map(repr, kwargs))
        raise TypeError(f'create_communicator() got unexpected keyword argument(s) {names}')
    make = _find(communicator_name)
    if mpi_comm is None:
        mpi_comm = _mpi.load().COMM_WORLD
    if allreduce_grad_dtype is not None and make.__name__ != 'PureNcclCommunicator':
        raise ValueError("allreduce_grad_dtype is only available at 'pure_nccl' communicator.")
    comm = make(mpi_comm)
    if allreduce_grad_dtype is not None:
        comm.set_config('allreduce_grad_dtype', allreduce_grad_dtype)
    if batched_copy is not None:
        comm.set_config('batched_copy', batched_copy)
    if mpi_comm.size > 1:
        global_except_hook.add_hook()
    return comm


def _find(name):
    from chainermn import nccl

    if name in _RETIRED:
        if not nccl._available:
            raise ValueError(
                f'Unrecognized communicator: "{name}". It was taken out of Chainer 7; where NCCL '
                "is available 'pure_nccl' stands in for it, but NCCL is not available here. On the "
                "CPU use create_communicator('naive') or ('flat')")
        name = 'pure_nccl'
    if name == 'naive':
        from chainermn.communicators.naive_communicator import NaiveCommunicator as make
    elif name == 'flat':
        from chainermn.communicators.flat_communicator import FlatCommunicator as make
    elif name == 'dummy':
        from chainermn.communicators.dummy_communicator import DummyCommunicator as make
    elif name == 'non_cuda_aware':
        from chainermn.communicators.non_cuda_aware_communicator import (
            NonCudaAwareCommunicator as make,
        )
    elif name == 'pure_nccl':
        from chainermn.communicators.pure_nccl_communicator import PureNcclCommunicator as make
    else:
        raise ValueError(
            f'Unrecognized communicator: "{name}". There are naive, flat, non_cuda_aware, '
            'pure_nccl and dummy')
    return make
