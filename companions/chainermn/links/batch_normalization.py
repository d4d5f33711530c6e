"""Batch normalization over the batches of all processes."""
import numpy

import chainer
from chainer import configuration, utils
from chainer import functions as F
from chainer.links.normalization.batch_normalization import scale_parameter
from chainermn.functions import batch_normalization


class MultiNodeBatchNormalization(chainer.Link):
    """Batch normalization with the moments of the batches of all processes taken together.

    Where the batch of a process is small, its own moments are too uncertain. With this link n
    processes compute what one does with all their batches and
    :class:`~chainer.links.BatchNormalization`: running averages included.

    All processes have to call it at the same time, forward and backward.

    Args:
        size (int or tuple of ints): Shape of the channels.
        comm (CommunicatorBase): Communicator.
        decay (float): What is kept of the running averages in one update.
        eps (float): Added to the variance.
        dtype: Type of the parameters and running averages; ``chainer.config.dtype`` by default,
            float32 if that is :data:`chainer.mixed16`.
        use_gamma (bool): Whether there is a scale. Otherwise it is one.
        use_beta (bool): Whether there is a shift. Otherwise it is zero.
        initial_gamma: Initializer of the scale; ones by default.
        initial_beta: Initializer of the shift; zeros by default.
        communication_backend (str): ``'mpi'``, ``'nccl'`` (with the communicator ``pure_nccl``
            only) or ``'auto'``, the best that the communicator has.

    Attributes:
        gamma (chainer.Parameter): Scale, or ``None``.
        beta (chainer.Parameter): Shift, or ``None``.
        avg_mean: Running average of the means.
        avg_var: Running average of the (unbiased) variances.
        N (int): Number of calls with ``finetune=True``.

    Raises:
        ValueError: The communicator does not have that backend.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> bn = chainermn.links.MultiNodeBatchNormalization(1, comm, eps=0)
    >>> bn(np.array([[1], [3]], np.float32)).array.ravel()
    array([-1.,  1.], dtype=float32)
    """

    gamma = None
    beta = None

    def __init__(self, size, comm, decay=0.9, eps=2e-5, dtype=None, use_gamma=True, use_beta=True,
                 initial_gamma=None, initial_beta=None, communication_backend='auto'):
        utils.experimental('chainermn.links.MultiNodeBatchNormalization')
        super().__init__()
        batch_normalization.get_communication_backend(comm, communication_backend)
        self.comm = comm
        self.decay = decay
        self.eps = eps
        self._communication_backend = communication_backend
        self._highprec_dtype = chainer.get_dtype(dtype, map_mixed16=numpy.float32)
        self.avg_mean = numpy.zeros(size, self._highprec_dtype)
        self.avg_var = numpy.ones(size, self._highprec_dtype)
        self.N = 0
        for name in ('avg_mean', 'avg_var', 'N'):
            self.register_persistent(name)
        with self.init_scope():
            if use_gamma:
                self.gamma = scale_parameter(initial_gamma, 1, self._highprec_dtype)
                self.gamma.initialize(size)
            if use_beta:
                self.beta = scale_parameter(initial_beta, 0, self._highprec_dtype)
                self.beta.initialize(size)

    def forward(self, x, finetune=False):
        """Normalizes a batch.

        Args:
            x (Variable or array): Input.
            finetune (bool): While training, whether the running averages become the averages of
                all batches since :meth:`start_finetuning`.

        Returns:
            Variable: Shape and dtype of the input.
        """
        gamma = self._constant(1) if self.gamma is None else self.gamma
        beta = self._constant(0) if self.beta is None else self.beta
        if not configuration.config.train:
            return F.fixed_batch_normalization(
                x, gamma, beta, self.avg_mean, self.avg_var, self.eps)
        decay, mean, var = self.decay, self.avg_mean, self.avg_var
        if configuration.config.in_recomputing:  # the forward before has updated the averages
            mean = var = None
        elif finetune:
            self.N += 1
            decay = 1. - 1. / self.N
        return batch_normalization.MultiNodeBatchNormalizationFunction(
            self.comm, self.eps, mean, var, decay, self._communication_backend)(x, gamma, beta)

    def _constant(self, value):
        with chainer.using_device(self.device):
            return self.xp.full(self.avg_mean.shape, value, self._highprec_dtype)

    def start_finetuning(self):
        """Starts to average anew in calls with ``finetune=True``."""
        self.N = 0
