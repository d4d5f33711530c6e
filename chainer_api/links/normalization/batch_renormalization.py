"""Batch renormalization layer."""
from chainer import configuration
from chainer import functions as F
from chainer.links.normalization import batch_normalization


class BatchRenormalization(batch_normalization.BatchNormalization):
    """Batch renormalization layer.

    Like :class:`BatchNormalization`, but the moments of the batch are corrected towards the running
    averages, so that the training does as the layer does after the training. See: `Ioffe, Batch
    Renormalization: Towards Reducing Minibatch Dependence in Batch-Normalized Models
    <https://arxiv.org/abs/1702.03275>`_.

    Args:
        size (int or tuple of ints): Shape of the axes that are not normalized over.
        rmax (float): Largest correction of the scale.
        dmax (float): Largest correction of the shift.

    The other arguments are those of :class:`BatchNormalization`.

    .. seealso:: :func:`chainer.functions.batch_renormalization`,
        :func:`chainer.functions.fixed_batch_renormalization`

    Example:
        >>> L.BatchRenormalization(3)(np.ones((5, 3), np.float32)).shape
        (5, 3)
    """

    def __init__(self, size, rmax=1, dmax=0, decay=0.9, eps=2e-5, dtype=None, use_gamma=True,
                 use_beta=True, initial_gamma=None, initial_beta=None, initial_avg_mean=None,
                 initial_avg_var=None):
        super().__init__(
            size, decay, eps, dtype, use_gamma, use_beta, initial_gamma, initial_beta,
            initial_avg_mean=initial_avg_mean, initial_avg_var=initial_avg_var)
        self.rmax = rmax
        self.dmax = dmax

    def forward(self, x, finetune=False):
        """Normalizes a batch.

        Args:
            x (Variable or array): Input.
            finetune (bool): While training, whether the running averages become the averages of
                all batches since :meth:`start_finetuning`.

        Returns:
            Variable: Shape and dtype of the input.
        """
        gamma = self.gamma
        if gamma is None:
            gamma = self._constant(1)
        beta = self.beta
        if beta is None:
            beta = self._constant(0)

        if not configuration.config.train:
            return F.fixed_batch_normalization(
                x, gamma, beta, self.avg_mean, self.avg_var, self.eps)
        decay = self.decay
        if finetune and not configuration.config.in_recomputing:
            self.N += 1
            decay = 1. - 1. / self.N
        return F.batch_renormalization(
            x, gamma, beta, self.rmax, self.dmax, eps=self.eps, running_mean=self.avg_mean,
            running_var=self.avg_var, decay=decay,
            update_statistics=not configuration.config.in_recomputing)
