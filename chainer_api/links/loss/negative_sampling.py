"""Negative sampling loss layer."""
import numpy

from chainer import functions as F
from chainer import initializers, link, utils, variable


class NegativeSampling(link.Link):
    """Negative sampling loss layer, for scores of very many classes.

    See: `Mikolov et al., Distributed Representations of Words and Phrases and their
    Compositionality <https://arxiv.org/abs/1310.4546>`_.

    Args:
        in_size (int): Size of an input.
        counts (list of ints): How often each class occurs.
        sample_size (int): Number of negative samples.
        power (float): The samples are drawn in proportion to the counts raised to this power.
        dtype: Type of the parameter; ``chainer.config.dtype`` by default.

    Attributes:
        W (Parameter): One vector for each class; initially zero.

    .. seealso:: :func:`chainer.functions.negative_sampling`

    Example:
        >>> layer = L.NegativeSampling(3, counts=[5, 2, 1], sample_size=2)
        >>> layer(np.ones((2, 3), np.float32), np.array([0, 2], np.int32)).array  # 6 log(2)
        array(4.158883, dtype=float32)
    """

    def __init__(self, in_size, counts, sample_size, power=0.75, dtype=None):
        super().__init__()
        self.sample_size = sample_size
        weights = numpy.asarray(counts, numpy.float32)
        self.sampler = utils.WalkerAlias(weights ** weights.dtype.type(power))
        with self.init_scope():
            self.W = variable.Parameter(
                initializers.Constant(0, dtype), (len(counts), in_size))

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x, t, reduce='sum', *, return_samples=False):
        """Computes the loss.

        Args:
            x (Variable or array): Batch of inputs.
            t (Variable or array): Right classes; -1 for none.
            reduce (str): ``'sum'``, or ``'no'`` for the loss of each input.
            return_samples (bool): Whether to return the samples, too.

        Returns:
            Variable: The loss. With ``return_samples``, a tuple of it and of the array of the
            samples, whose first column is ``t``.
        """
        return F.negative_sampling(
            x, t, self.W, self.sampler.sample, self.sample_size, reduce=reduce,
            return_samples=return_samples)
