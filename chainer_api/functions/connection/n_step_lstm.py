"""Stacked long short-term memory on sequences."""
from chainer.functions.connection import _of_cudnn, _recurrent_layer, n_step_rnn
from chainer.utils import argument

NStepLSTM = _of_cudnn.named('NStepLSTM', 'n_step_lstm', __name__)
NStepBiLSTM = _of_cudnn.named('NStepBiLSTM', 'n_step_bilstm', __name__)


def _lstm(x, h, c, w, b):
    """One step of one layer, for code that is built of it: the new ``h`` and ``c``."""
    _, states = _recurrent_layer.run_layer(
        _recurrent_layer.LSTM, (1,) * x.shape[0], False, x, w, b, [h, c])
    return tuple(states)


def n_step_lstm_base(n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction, **kwargs):
    """:func:`n_step_lstm` and :func:`n_step_bilstm` in one."""
    argument.parse_kwargs(kwargs, **n_step_rnn.REMOVED)
    (hy, cy), ys = n_step_rnn.run_layers(
        _recurrent_layer.LSTM, n_layers, dropout_ratio, [hx, cx], ws, bs, xs, use_bi_direction)
    return hy, cy, ys


def n_step_lstm(n_layers, dropout_ratio, hx, cx, ws, bs, xs, **kwargs):
    r"""Stacked long short-term memory on sequences.

    .. math::
        i_t &= \sigma(W_0 x_t + W_4 h_{t-1} + b_0 + b_4) \\
        f_t &= \sigma(W_1 x_t + W_5 h_{t-1} + b_1 + b_5) \\
        a_t &= \tanh(W_2 x_t + W_6 h_{t-1} + b_2 + b_6) \\
        o_t &= \sigma(W_3 x_t + W_7 h_{t-1} + b_3 + b_7) \\
        c_t &= f_t \cdot c_{t-1} + i_t \cdot a_t \\
        h_t &= o_t \cdot \tanh(c_t)

    The outputs of a layer are, after :func:`dropout`, the inputs of the next.

    Args:
        n_layers (int): Number of layers :math:`S`.
        dropout_ratio (float): Ratio of the dropout between layers.
        hx (Variable or array): Initial outputs of shape :math:`(S, B, N)`, for a batch of
            :math:`B` sequences and :math:`N` units.
        cx (Variable or array): Initial states, likewise.
        ws (list of lists of Variables): For each layer the matrices :math:`W_0, \dots, W_7`; the
            first four have the shape :math:`(N, I)`, where :math:`I` is the number of its inputs,
            the others :math:`(N, N)`.
        bs (list of lists of Variables): For each layer the vectors :math:`b_0, \dots, b_7` of
            shape :math:`(N,)`.
        xs (list of Variables): For each time :math:`t` the inputs of shape :math:`(B_t, I)`.
            Sequences that end early come last, so that :math:`B_t \ge B_{t+1}` (see
            :func:`transpose_sequence`).

    Returns:
        tuple: The final outputs and states, of the shape of ``hx``, and a tuple of the outputs of
        the last layer for each time, of shape :math:`(B_t, N)`.

    Raises:
        ValueError: If the arrays do not fit each other (an ``InvalidType``, too).

    .. seealso:: :func:`lstm`, :class:`~chainer.links.NStepLSTM`

    >>> xs = [np.ones((b, 3), np.float32) for b in [3, 2, 1]]
    >>> hx = np.ones((2, 3, 2), np.float32)
    >>> sizes = [[3] * 4 + [2] * 4, [2] * 8]
    >>> ws = [[np.ones((2, n), np.float32) for n in layer] for layer in sizes]
    >>> bs = [[np.ones(2, np.float32)] * 8] * 2
    >>> hy, cy, ys = F.n_step_lstm(2, 0., hx, hx, ws, bs, xs)
    >>> hy.shape, cy.shape, [y.shape for y in ys]
    ((2, 3, 2), (2, 3, 2), [(3, 2), (2, 2), (1, 2)])
    """
    return n_step_lstm_base(
        n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_bilstm(n_layers, dropout_ratio, hx, cx, ws, bs, xs, **kwargs):
    r"""Stacked long short-term memory that reads sequences in both directions.

    Each layer has two networks as in :func:`n_step_lstm`, one of which starts at the end. Their
    outputs, joined, are the inputs of the next layer.

    Args:
        n_layers (int): Number of layers :math:`S`.
        dropout_ratio (float): Ratio of the dropout between layers.
        hx (Variable or array): Initial outputs of shape :math:`(2 S, B, N)`, the two directions of
            a layer side by side.
        cx (Variable or array): Initial states, likewise.
        ws (list of lists of Variables): Matrices, ``ws[2 * layer + direction]`` as in
            :func:`n_step_lstm`. Layers after the first have :math:`2 N` inputs.
        bs (list of lists of Variables): Vectors, likewise.
        xs (list of Variables): As in :func:`n_step_lstm`.

    Returns:
        tuple: The final outputs and states, of the shape of ``hx``, and a tuple of the outputs of
        the last layer for each time, of shape :math:`(B_t, 2 N)`.

    Raises:
        ValueError: If the arrays do not fit each other (an ``InvalidType``, too).

    .. seealso:: :class:`~chainer.links.NStepBiLSTM`

    >>> xs = [np.ones((b, 3), np.float32) for b in [3, 2, 1]]
    >>> hx = np.ones((2, 3, 2), np.float32)
    >>> ws = [[np.ones((2, n), np.float32) for n in [3] * 4 + [2] * 4]] * 2
    >>> bs = [[np.ones(2, np.float32)] * 8] * 2
    >>> hy, cy, ys = F.n_step_bilstm(1, 0., hx, hx, ws, bs, xs)
    >>> hy.shape, cy.shape, [y.shape for y in ys]
    ((2, 3, 2), (2, 3, 2), [(3, 4), (2, 4), (1, 4)])
    """
    return n_step_lstm_base(
        n_layers, dropout_ratio, hx, cx, ws, bs, xs, use_bi_direction=True, **kwargs)
