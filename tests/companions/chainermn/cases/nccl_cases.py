"""The communicators over NCCL on simulated GPUs: nothing here says anything of real ones."""
import numpy as np
import pytest
import simulated
from simulated import cupy

import chainer
import chainer.links as L
import chainermn


def grads_of(rank, dtypes):
    """Gradients that any process can make: those of ``rank``."""
    return {
        name: np.asarray(np.random.RandomState(10 * i + rank).uniform(-1, 1, shape), dtypes[i])
        for i, (name, shape) in enumerate((('a', (2, 3)), ('b', (4,)), ('c', ())))}


def model_on_gpu(comm, dtypes):
    link = chainer.Link()
    with link.init_scope():
        for name, grad in grads_of(comm.rank, dtypes).items():
            param = chainer.Parameter(cupy.array(grad + comm.rank))
            param.grad = cupy.array(grad)
            setattr(link, name, param)
    return link


def check_means(comm, link, dtypes, wide=None):
    every = [grads_of(r, dtypes) for r in range(comm.size)]
    for name in 'abc':
        actual = getattr(link, name).grad
        assert isinstance(actual, cupy.ndarray)
        dtype = every[0][name].dtype
        work = np.dtype(wide or dtype)
        total = sum(grads[name].astype(work) for grads in every)
        expected = (total * work.type(1 / comm.size)).astype(dtype)
        assert actual.dtype == dtype
        # The order of the sum is that of MPI, which the simulated NCCL goes over.
        tolerance = {2: 2e-3, 4: 1e-6, 8: 1e-14}[work.itemsize]
        np.testing.assert_allclose(cupy.asnumpy(actual), expected, rtol=0, atol=tolerance)


def case_pure_nccl(comm):
    with simulated.gpus() as calls:
        for name in ('pure_nccl', 'hierarchical'):  # which it stands in for
            for batched in (True, False):
                made = chainermn.create_communicator(name, comm.mpi_comm, batched_copy=batched)
                assert type(made).__name__ == 'PureNcclCommunicator'
                for dtypes in (('f4', 'f4', 'f4'), ('f2', 'f4', 'f2'), ('f8', 'f8', 'f8')):
                    del calls[:]
                    link = model_on_gpu(comm, dtypes)
                    made.multi_node_mean_grad(link)
                    check_means(comm, link, dtypes)
                    counts = {d: sum(n for n, e in zip((6, 4, 1), dtypes, strict=True) if e == d)
                              for d in dtypes}
                    stream = cupy.cuda.get_current_stream().ptr
                    assert calls == [('allReduce', n, d, stream) for d, n in counts.items()]
                made.finalize()
                assert calls[-1] == ('destroy',)


def case_type_of_the_sum(comm):
    with simulated.gpus() as calls:
        made = chainermn.create_communicator(
            'pure_nccl', comm.mpi_comm, allreduce_grad_dtype=np.float16)
        assert made.get_config('allreduce_grad_dtype') == np.float16
        link = model_on_gpu(comm, ('f4', 'f2', 'f4'))
        made.multi_node_mean_grad(link)
        assert [call[1:3] for call in calls] == [(11, 'f2')]
        check_means(comm, link, ('f4', 'f2', 'f4'), 'f2')
        part = made.split(0, comm.rank)
        assert part.get_config() == made.get_config()
        made.set_config('allreduce_grad_dtype', None)
        assert made.get_config('allreduce_grad_dtype') is None
        with pytest.raises(ValueError, match='allreduce_grad_dtype must be numpy.float16'):
            made.set_config('allreduce_grad_dtype', np.int32)


def case_non_cuda_aware(comm):
    with simulated.gpus() as calls:
        made = chainermn.create_communicator('non_cuda_aware', comm.mpi_comm)
        for dtypes in (('f4', 'f4', 'f4'), ('f2', 'f4', 'f2')):
            link = model_on_gpu(comm, dtypes)
            made.multi_node_mean_grad(link)
            check_means(comm, link, dtypes)
        assert [call[0] for call in calls] == ['allReduce', 'bcast'] * 3
        made.finalize()


def case_non_cuda_aware_on_several_machines(comm):
    """Of two processes each: NCCL within them, MPI between the first ones of each."""
    from mpi4py import MPI

    real, MPI.Get_processor_name = MPI.Get_processor_name, lambda: f'machine {comm.rank // 2}'
    try:
        with simulated.gpus():
            made = chainermn.create_communicator('non_cuda_aware', comm.mpi_comm)
            assert made.inter_size == (comm.size + 1) // 2
            for dtypes in (('f4', 'f4', 'f4'), ('f2', 'f4', 'f2')):
                link = model_on_gpu(comm, dtypes)
                made.multi_node_mean_grad(link)
                check_means(comm, link, dtypes)
    finally:
        MPI.Get_processor_name = real


def case_bcast_data(comm):
    with simulated.gpus():
        for name in ('pure_nccl', 'non_cuda_aware', 'naive', 'flat'):
            made = chainermn.create_communicator(name, comm.mpi_comm)
            link = model_on_gpu(comm, ('f4', 'f2', 'f8'))
            arrays = [p.array for p in link.params()]
            made.bcast_data(link)
            for (name, grad), array in zip(
                    grads_of(0, ('f4', 'f2', 'f8')).items(), arrays, strict=True):
                assert getattr(link, name).array is array
                np.testing.assert_array_equal(cupy.asnumpy(array), grad)


def case_arrays_of_gpus_go_by_way_of_the_host(comm):
    with simulated.gpus():
        x = cupy.array(np.full(3, comm.rank, 'f4'))
        for y in (comm.allreduce(x), *comm.allgather(x), comm.bcast(x),
                  *comm.alltoall([x] * comm.size)):
            assert isinstance(y, cupy.ndarray)
        np.testing.assert_array_equal(cupy.asnumpy(comm.allreduce(x)), [sum(range(comm.size))] * 3)
        for name in ('naive', 'flat'):
            link = model_on_gpu(comm, ('f4', 'f2', 'f8'))
            chainermn.create_communicator(name, comm.mpi_comm).multi_node_mean_grad(link)
            for param in link.params():
                assert isinstance(param.grad, cupy.ndarray)


def case_models_on_the_host(comm):
    with simulated.gpus():
        for name in ('pure_nccl', 'non_cuda_aware'):
            made = chainermn.create_communicator(name, comm.mpi_comm)
            link = L.Linear(1, 1)
            link.cleargrads()
            link.W.grad = np.ones((1, 1), 'f4')
            with pytest.raises(ValueError, match="averages gradients on GPUs; .* is on the CPU"):
                made.multi_node_mean_grad(link)


def case_sums_that_are_not_finite(comm):
    with simulated.gpus(), chainer.using_config('debug', True):
        for name in ('pure_nccl', 'non_cuda_aware'):
            made = chainermn.create_communicator(name, comm.mpi_comm)
            link = model_on_gpu(comm, ('f4', 'f4', 'f4'))
            link.a.grad[...] = np.nan
            with pytest.raises(ValueError, match='Parameters diverged after allreduce'):
                made.multi_node_mean_grad(link)


def case_double_buffering(comm):
    """Each update uses the means of the update before; the second, the first that counts, none."""
    steps = 6
    with simulated.gpus() as calls:
        made = chainermn.create_communicator('pure_nccl', comm.mpi_comm)
        link = model_on_gpu(comm, ('f4', 'f4', 'f4'))
        optimizer = chainermn.create_multi_node_optimizer(
            chainer.optimizers.SGD(1.), made, double_buffering=True).setup(link)
        found = []
        for step in range(steps):
            for param in link.params():
                param.grad = cupy.array(
                    np.full(param.shape, 2. ** step * (1 + comm.rank), 'f4'))
            optimizer.update()
            found.append(cupy.asnumpy(link.b.array))
            assert optimizer.t == max(0, step - 1)
        optimizer.wait()
        streams = {call[3] for call in calls if call[0] == 'allReduce'}
        assert cupy.cuda.get_current_stream().ptr not in streams and len(streams) >= 1
    value = grads_of(0, ('f4',) * 3)['b']
    mean = np.float32((comm.size + 1) / 2)
    for step in range(steps):
        if step >= 2:
            value = value - np.float32(2. ** (step - 1)) * mean
        np.testing.assert_allclose(found[step], value, rtol=1e-6)


def case_batch_normalization_over_nccl(comm):
    with simulated.gpus() as calls:
        made = chainermn.create_communicator('pure_nccl', comm.mpi_comm)
        for name in ('auto', 'nccl'):
            del calls[:]
            function = chainermn.functions.batch_normalization.MultiNodeBatchNormalizationFunction(
                made, communication_backend=name)
            every = [np.random.RandomState(r).uniform(-1, 1, (2, 3)) for r in range(comm.size)]
            y, = function.forward((
                cupy.array(every[comm.rank]), cupy.array(np.ones(3)),
                cupy.array(np.zeros(3))))
            whole = np.concatenate(every)
            np.testing.assert_allclose(
                cupy.asnumpy(y), (every[comm.rank] - whole.mean(0)) / np.sqrt(whole.var(0) + 2e-5))
            assert [call[:3] for call in calls] == [('allReduce', 4, 'f8'), ('allReduce', 3, 'f8')]
