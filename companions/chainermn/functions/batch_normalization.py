"""Batch normalization over the batches of all processes."""
import numpy

import chainer
from chainer import backend
from chainer.utils import type_check


def get_communication_backend(comm, communication_backend='auto'):
    """Return how statistics are exchanged: ``'mpi'`` or ``'nccl'``.

    Raises:
        ValueError: There is no such way, or the communicator does not have it.
    """
    from chainermn.communicators.pure_nccl_communicator import PureNcclCommunicator

    if communication_backend not in ('mpi', 'nccl', 'auto'):
        raise ValueError(
            f'MultiNodeBatchNormalization does not support {communication_backend}. '
            "There are 'mpi', 'nccl' and 'auto'")
    has_nccl = isinstance(comm, PureNcclCommunicator)
    if communication_backend == 'nccl' and not has_nccl:
        raise ValueError(
            'nccl is not supported in MultiNodeBatchNormalization when using '
            f'{type(comm)}.')
    if communication_backend == 'auto':
        return 'nccl' if has_nccl else 'mpi'
    return communication_backend


class MultiNodeBatchNormalizationFunction(chainer.Function):
    """Batch normalization with the moments of the batches of all processes taken together.

    Backward gives the gradient of the sum of all processes' losses with respect to the input, and
    its mean over the processes with respect to ``gamma`` and ``beta``, as a multi node optimizer
    makes it of the other parameters.

    Args:
        comm (CommunicatorBase): Communicator.
        eps (float): Added to the variance.
        mean (array): Running average of the means, updated in place.
        var (array): Running average of the variances, updated in place.
        decay (float): What is kept of the running averages.
        communication_backend (str): ``'mpi'``, ``'nccl'`` or ``'auto'``.
    """

    def __init__(self, comm, eps=2e-5, mean=None, var=None, decay=0.9,
                 communication_backend='auto'):
        self.comm = comm
        self.eps = eps
        self.running_mean = mean
        self.running_var = var
        self.decay = decay
        self._backend = get_communication_backend(comm, communication_backend)

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, gamma_type, beta_type = in_types
        n = type_check.eval(gamma_type.ndim)
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim >= gamma_type.ndim + 1,
            x_type.shape[1:1 + n] == gamma_type.shape,
            gamma_type.dtype.kind == 'f',
            gamma_type.dtype == beta_type.dtype,
            gamma_type.shape == beta_type.shape,
        )

    def _sum(self, array):
        if self._backend == 'nccl':
            return self.comm._allreduce_nccl(array)
        return self.comm.allreduce(array)

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        xp = backend.get_array_module(x)
        axis = (0, *range(gamma.ndim + 1, x.ndim))
        dtype = numpy.result_type(x.dtype, gamma.dtype, numpy.float32)
        x_wide, wide = x.astype(dtype, copy=False), _wide(gamma, x)
        # Sums of squares only when the mean is known: no digits are lost in differences. The
        # number of values goes along with the first sums, as processes may have different ones.
        own = x.size // gamma.size if gamma.size else 0
        sums = xp.empty(gamma.size + 1, dtype)
        sums[:-1] = x_wide.sum(axis=axis).reshape(-1)
        sums[-1] = own
        sums = self._sum(sums)
        self.count = float(sums[-1])
        mean = (sums[:-1] / sums[-1]).reshape(gamma.shape)
        centered = x_wide - mean.reshape(wide)
        var = self._sum((centered * centered).sum(axis=axis)) / dtype.type(self.count)
        self.inv_std = 1 / xp.sqrt(var + dtype.type(self.eps))
        self.x_hat = centered
        self.x_hat *= self.inv_std.reshape(wide)
        if self.running_mean is not None:
            adjust = self.count / max(self.count - 1., 1.)
            _keep(self.running_mean, self.decay, mean)
            _keep(self.running_var, self.decay, adjust * var)
        y = gamma.reshape(wide) * self.x_hat
        y += beta.reshape(wide)
        return y.astype(x.dtype, copy=False),

    def backward(self, inputs, grad_outputs):
        x, gamma, _ = inputs
        gy, = grad_outputs
        xp = backend.get_array_module(x)
        axis = (0, *range(gamma.ndim + 1, x.ndim))
        wide = _wide(gamma, x)
        gy = gy.astype(self.x_hat.dtype, copy=False)
        sums = self._sum(xp.stack([(gy * self.x_hat).sum(axis=axis), gy.sum(axis=axis)]))
        ggamma, gbeta = sums
        scale = gamma * self.inv_std
        gx = scale.reshape(wide) * (
            gy - (gbeta.reshape(wide) + self.x_hat * ggamma.reshape(wide)) / self.count)
        size = self.comm.size
        return (gx.astype(x.dtype, copy=False), (ggamma / size).astype(gamma.dtype, copy=False),
                (gbeta / size).astype(gamma.dtype, copy=False))


def _wide(gamma, x):
    return (1, *gamma.shape, *(1,) * (x.ndim - gamma.ndim - 1))


def _keep(running, decay, value):
    running *= decay
    running += (1 - decay) * value
