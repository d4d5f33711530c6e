"""Stacked gated recurrent units for lists of sequences."""
from chainer import functions as F
from chainer.links.connection import n_step_rnn


class NStepGRUBase(n_step_rnn.NStepRNNBase):
    """What the stacked GRUs share."""

    n_weights = 6


class NStepGRU(NStepGRUBase):
    """Stacked gated recurrent units for lists of sequences of any length.

    Args:
        n_layers (int): Number of layers.
        in_size (int): Size of an element of a sequence.
        out_size (int): Size of the states.
        dropout (float): Dropout ratio between the layers.
        initialW, initial_bias: See :class:`NStepLSTM`.

    .. seealso:: :func:`chainer.functions.n_step_gru`

    Example:
        >>> layer = L.NStepGRU(2, 3, 4, dropout=0.1)
        >>> hy, ys = layer(None, [np.ones((5, 3), np.float32), np.ones((2, 3), np.float32)])
        >>> hy.shape, [y.shape for y in ys]
        ((2, 2, 4), [(5, 4), (2, 4)])
    """

    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_gru(*args)

class NStepBiGRU(NStepGRUBase):
    """Stacked gated recurrent units, in both directions of the sequences.

    See :class:`NStepGRU` for the arguments.

    .. seealso:: :func:`chainer.functions.n_step_bigru`

    Example:
        >>> hy, ys = L.NStepBiGRU(2, 3, 4, dropout=0.1)(None, [np.ones((5, 3), np.float32)])
        >>> hy.shape, ys[0].shape
        ((4, 1, 4), (5, 8))
    """

    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_bigru(*args)
