"""BlackOut loss layer."""
from chainer import backend, initializers, link, utils, variable
from chainer import functions as F
from chainer.utils import walker_alias


class BlackOut(link.Link):
    """BlackOut loss layer, for scores of very many classes.

    See: `Ji et al., BlackOut: Speeding up Recurrent Neural Network Language Models With Very Large
    Vocabularies <https://arxiv.org/abs/1511.06909>`_.

    Args:
        in_size (int): Size of an input.
        counts (list of ints): How often each class occurs.
        sample_size (int): Number of negative samples.

    Attributes:
        W (Parameter): One vector for each class. It has to be given values: initially it is NaN.
        sample_data (array): Negative samples of shape (batch, sample_size) that all calls use. By
            default it is ``None``, and each call draws its own.

    .. seealso:: :func:`chainer.functions.black_out`

    Example:
        >>> layer = L.BlackOut(3, counts=[5, 2, 1], sample_size=2)
        >>> layer.W.array[...] = 0.1
        >>> layer(np.ones((2, 3), np.float32), np.array([0, 2], np.int32)).shape
        ()
    """

    sample_data = None

    def __init__(self, in_size, counts, sample_size):
        super().__init__()
        self.sampler = utils.WalkerAlias(counts)
        self.sample_size = sample_size
        with self.init_scope():
            self.W = variable.Parameter(initializers.NaN(), (len(counts), in_size))

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x, t):
        """Computes the loss.

        Args:
            x (Variable or array): Batch of inputs.
            t (Variable or array): Right classes.

        Returns:
            Variable: Mean of the losses.
        """
        samples = self.sample_data
        if samples is None:
            samples, = _Draw(self.sampler.sample, self.sample_size).apply((t,))
        return F.black_out(x, t, self.W, samples)


class _Draw(walker_alias.Sampled):
    """Samples for each element of a batch."""

    def __init__(self, sampler, sample_size):
        super().__init__(sampler)
        self.sample_size = sample_size

    def forward(self, inputs):
        t, = inputs
        return self.draw(backend.get_array_module(t), (len(t), self.sample_size)),
