"""Stacked LSTMs for lists of sequences."""
from chainer import functions as F
from chainer.links.connection import n_step_rnn


class NStepLSTMBase(n_step_rnn.NStepRNNBase):
    """What the stacked LSTMs share."""

    n_weights = 8

    @property
    def n_cells(self):
        return 2

    def forward(self, hx, cx, xs, **kwargs):
        """Runs over a list of sequences, in any order of their lengths.

        Args:
            hx (Variable or None): Initial states of shape (S, B, out_size), where B is the number
                of sequences and S that of layers, or twice as many for two directions. ``None``
                stands for zeros.
            cx (Variable or None): Initial cell states, likewise.
            xs (list of Variables): Sequences, each of shape (length, in_size).

        Returns:
            tuple: The last states and cell states, shaped as ``hx``, and a list of the outputs of
            the last layer, each of shape (length, out_size), or twice as many columns for two
            directions.
        """
        (hy, cy), ys = self._call([hx, cx], xs, **kwargs)
        return hy, cy, ys


class NStepLSTM(NStepLSTMBase):
    """Stacked LSTM for lists of sequences of any length.

    Args:
        n_layers (int): Number of layers.
        in_size (int): Size of an element of a sequence.
        out_size (int): Size of the states.
        dropout (float): Dropout ratio between the layers.
        initialW (initializer): Initializes the weights: an initializer, a scalar or an array. The
            default is :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the biases. The default is zero.

    .. seealso:: :func:`chainer.functions.n_step_lstm`

    Example:
        >>> layer = L.NStepLSTM(2, 3, 4, dropout=0.1)
        >>> xs = [np.ones((2, 3), np.float32), np.ones((5, 3), np.float32)]
        >>> hy, cy, ys = layer(None, None, xs)
        >>> hy.shape, cy.shape, [y.shape for y in ys]
        ((2, 2, 4), (2, 2, 4), [(2, 4), (5, 4)])
    """

    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_lstm(*args)

class NStepBiLSTM(NStepLSTMBase):
    """Stacked LSTM, in both directions of the sequences.

    See :class:`NStepLSTM` for the arguments.

    .. seealso:: :func:`chainer.functions.n_step_bilstm`

    Example:
        >>> layer = L.NStepBiLSTM(2, 3, 4, dropout=0.1)
        >>> hy, cy, ys = layer(None, None, [np.ones((5, 3), np.float32)])
        >>> hy.shape, ys[0].shape
        ((4, 1, 4), (5, 8))
    """

    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_bilstm(*args)
