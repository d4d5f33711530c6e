"""ChainerMN over NCCL on one GPU: a program of one process, or of several by ``mpiexec``."""
import functools

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainer.backends import cuda


def trained(make_optimizer, device, first=0):
    np.random.seed(0)
    model = L.Classifier(chainer.Sequential(L.Linear(4, 8), F.relu, L.Linear(8, 3)))
    model.to_device(device)
    optimizer = make_optimizer(chainer.optimizers.MomentumSGD(.1)).setup(model)
    rng = np.random.RandomState(1)
    for step in range(5):
        x = rng.standard_normal((6, 4)).astype('f')
        batch = x, x[:, :3].argmax(1).astype('i')
        if step >= first:
            optimizer.update(model, *map(device.send, batch))
    return [cuda.to_cpu(p.array) for p in model.params()]


if __name__ == '__main__':
    for name in ('pure_nccl', 'non_cuda_aware', 'flat'):
        comm = chainermn.create_communicator(name)
        n = cuda.cupy.cuda.runtime.getDeviceCount()
        device = chainer.get_device(f'@cupy:{comm.intra_rank % n}')
        device.use()
        found = trained(functools.partial(
            chainermn.create_multi_node_optimizer, communicator=comm), device)
        # Its first update only sends the parameters to all.
        expected = trained(lambda optimizer: optimizer, chainer.get_device('@numpy'), first=1)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        x = cuda.cupy.full(3, comm.rank + 1, 'f')
        assert comm.allreduce(x).get().tolist() == [comm.size * (comm.size + 1) / 2] * 3
        if name == 'pure_nccl':
            link = chainermn.links.MultiNodeBatchNormalization(4, comm).to_device(device)
            link.cleargrads()
            y = link(cuda.cupy.arange(12, dtype='f').reshape(3, 4) * (comm.rank + 1))
            F.sum(y * y).backward()
            assert cuda.cupy.isfinite(link.gamma.grad).all()
        comm.finalize()
