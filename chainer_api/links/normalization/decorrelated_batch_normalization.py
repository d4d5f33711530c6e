"""Decorrelated batch normalization layer."""
import warnings

import numpy

from chainer import _tracing, configuration, link, serializer
from chainer import functions as F


class DecorrelatedBatchNormalization(link.Link):
    """Decorrelated batch normalization layer: makes groups of channels uncorrelated and standard.

    While ``chainer.config.train`` is true, the layer normalizes with the moments of the batch, and
    keeps running averages of them; otherwise it normalizes with these averages. See: `Huang et
    al., Decorrelated Batch Normalization <https://arxiv.org/abs/1804.08450>`_.

    Args:
        size (int): Number of channels.
        groups (int): Number of groups of channels.
        decay (float): What is kept of the running averages in one update.
        eps (float): Added to the variances.
        dtype: Type of the running averages.

    Attributes:
        avg_mean (array): Running average of the means, of shape (groups, size / groups).
        avg_projection (array): Running average of the projections, of shape
            (groups, size / groups, size / groups).
        N (int): Number of batches of the fine-tuning.
        decay (float): As given.
        eps (float): As given.

    .. seealso:: :func:`chainer.functions.decorrelated_batch_normalization`,
        :func:`chainer.functions.fixed_decorrelated_batch_normalization`

    Example:
        >>> x = np.random.rand(8, 4).astype(np.float32)
        >>> L.DecorrelatedBatchNormalization(4, groups=2)(x).shape
        (8, 4)
    """

    avg_mean = _tracing.WrittenArray()
    avg_projection = _tracing.WrittenArray()

    def __init__(self, size, groups=16, decay=0.9, eps=2e-5, dtype=numpy.float32):
        super().__init__()
        n_channels = size // groups
        self.avg_mean = numpy.zeros((groups, n_channels), dtype)
        self.avg_projection = numpy.zeros((groups, n_channels, n_channels), dtype)
        self.avg_projection[...] = numpy.eye(n_channels)
        self.N = 0
        for name in ('avg_mean', 'avg_projection', 'N'):
            self.register_persistent(name)
        self.decay = decay
        self.eps = eps
        self.groups = groups

    def serialize(self, serializer_):
        if not isinstance(serializer_, serializer.Deserializer):
            super().serialize(serializer_)
            return
        for name in ('avg_mean', 'avg_projection'):
            array = getattr(self, name)
            loaded = serializer_(name, None)
            if loaded is None:
                continue
            if loaded.ndim == array.ndim - 1:  # Chainer 6 had the same moments for all groups
                warnings.warn(
                    'Found moving statistics of old DecorrelatedBatchNormalization, whose '
                    'algorithm was different from the paper.', stacklevel=2)
            array[...] = self.xp.asarray(loaded)
        self.N = serializer_('N', self.N)

    def forward(self, x, *, finetune=False):
        """Normalizes a batch.

        Args:
            x (Variable or array): Shape (batch, size, ...).
            finetune (bool): While training, whether the running averages become the averages of
                all batches since :meth:`start_finetuning`.

        Returns:
            Variable: Shape and dtype of the input.
        """
        if not configuration.config.train:
            return F.fixed_decorrelated_batch_normalization(
                x, self.avg_mean, self.avg_projection, groups=self.groups)
        if configuration.config.in_recomputing:  # the forward before has updated the averages
            return F.decorrelated_batch_normalization(x, groups=self.groups, eps=self.eps)
        decay = self.decay
        if finetune:
            self.N += 1
            decay = 1. - 1. / self.N
        return F.decorrelated_batch_normalization(
            x, groups=self.groups, eps=self.eps, running_mean=self.avg_mean,
            running_projection=self.avg_projection, decay=decay)

    def start_finetuning(self):
        """Starts to average anew in calls with ``finetune=True``."""
        self.N = 0
