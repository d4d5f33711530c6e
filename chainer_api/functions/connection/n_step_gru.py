"""Stacked gated recurrent units on sequences."""
from chainer.functions.connection import _of_cudnn, _recurrent_layer, n_step_rnn
from chainer.utils import argument

NStepGRU = _of_cudnn.named('NStepGRU', 'n_step_gru', __name__)
NStepBiGRU = _of_cudnn.named('NStepBiGRU', 'n_step_bigru', __name__)


def n_step_gru_base(n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction, **kwargs):
    """:func:`n_step_gru` and :func:`n_step_bigru` in one."""
    argument.parse_kwargs(kwargs, **n_step_rnn.REMOVED)
    (hy,), ys = n_step_rnn.run_layers(
        _recurrent_layer.GRU, n_layers, dropout_ratio, [hx], ws, bs, xs, use_bi_direction)
    return hy, ys


def n_step_gru(n_layers, dropout_ratio, hx, ws, bs, xs, **kwargs):
    r"""Stacked gated recurrent units on sequences.

    .. math::
        r_t &= \sigma(W_0 x_t + W_3 h_{t-1} + b_0 + b_3) \\
        z_t &= \sigma(W_1 x_t + W_4 h_{t-1} + b_1 + b_4) \\
        h'_t &= \tanh(W_2 x_t + b_2 + r_t \cdot (W_5 h_{t-1} + b_5)) \\
        h_t &= (1 - z_t) \cdot h'_t + z_t \cdot h_{t-1}

    The outputs of a layer are, after :func:`dropout`, the inputs of the next.

    Args:
        n_layers (int): Number of layers :math:`S`.
        dropout_ratio (float): Ratio of the dropout between layers.
        hx (Variable or array): Initial states of shape :math:`(S, B, N)`, for a batch of :math:`B`
            sequences and :math:`N` units.
        ws (list of lists of Variables): For each layer the matrices :math:`W_0, \dots, W_5`; the
            first three have the shape :math:`(N, I)`, where :math:`I` is the number of its inputs,
            the others :math:`(N, N)`.
        bs (list of lists of Variables): For each layer the vectors :math:`b_0, \dots, b_5` of
            shape :math:`(N,)`.
        xs (list of Variables): For each time :math:`t` the inputs of shape :math:`(B_t, I)`.
            Sequences that end early come last, so that :math:`B_t \ge B_{t+1}` (see
            :func:`transpose_sequence`).

    Returns:
        tuple: The final states, of the shape of ``hx``, and a tuple of the outputs of the last
        layer for each time, of shape :math:`(B_t, N)`.

    Raises:
        ValueError: If the arrays do not fit each other (an ``InvalidType``, too).

    .. seealso:: :class:`~chainer.links.NStepGRU`

    >>> xs = [np.ones((b, 3), np.float32) for b in [3, 2, 1]]
    >>> ws = [[np.ones((2, n), np.float32) for n in [3] * 3 + [2] * 3]]
    >>> bs = [[np.ones(2, np.float32)] * 6]
    >>> hy, ys = F.n_step_gru(1, 0., np.ones((1, 3, 2), np.float32), ws, bs, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((1, 3, 2), [(3, 2), (2, 2), (1, 2)])
    """
    return n_step_gru_base(
        n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=False, **kwargs)


def n_step_bigru(n_layers, dropout_ratio, hx, ws, bs, xs, **kwargs):
    r"""Stacked gated recurrent units that read sequences in both directions.

    Each layer has two networks as in :func:`n_step_gru`, one of which starts at the end. Their
    outputs, joined, are the inputs of the next layer.

    Args:
        n_layers (int): Number of layers :math:`S`.
        dropout_ratio (float): Ratio of the dropout between layers.
        hx (Variable or array): Initial states of shape :math:`(2 S, B, N)`, the two directions of
            a layer side by side.
        ws (list of lists of Variables): Matrices, ``ws[2 * layer + direction]`` as in
            :func:`n_step_gru`. Layers after the first have :math:`2 N` inputs.
        bs (list of lists of Variables): Vectors, likewise.
        xs (list of Variables): As in :func:`n_step_gru`.

    Returns:
        tuple: The final states, of the shape of ``hx``, and a tuple of the outputs of the last
        layer for each time, of shape :math:`(B_t, 2 N)`.

    Raises:
        ValueError: If the arrays do not fit each other (an ``InvalidType``, too).

    .. seealso:: :class:`~chainer.links.NStepBiGRU`

    >>> xs = [np.ones((b, 3), np.float32) for b in [3, 2, 1]]
    >>> ws = [[np.ones((2, n), np.float32) for n in [3] * 3 + [2] * 3]] * 2
    >>> bs = [[np.ones(2, np.float32)] * 6] * 2
    >>> hy, ys = F.n_step_bigru(1, 0., np.ones((2, 3, 2), np.float32), ws, bs, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((2, 3, 2), [(3, 4), (2, 4), (1, 4)])
    """
    return n_step_gru_base(
        n_layers, dropout_ratio, hx, ws, bs, xs, use_bi_direction=True, **kwargs)
