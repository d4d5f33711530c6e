"""Stacked recurrent networks on sequences."""
import itertools

from chainer import functions as F
from chainer.functions.connection import _of_cudnn, _recurrent_layer, _sequences
from chainer.functions.connection._of_cudnn import BaseNStepRNN  # noqa: F401
from chainer.utils import _errors, argument

NStepRNNTanh = _of_cudnn.named('NStepRNNTanh', 'n_step_rnn', __name__)
NStepRNNReLU = _of_cudnn.named('NStepRNNReLU', 'n_step_rnn', __name__)
NStepBiRNNTanh = _of_cudnn.named('NStepBiRNNTanh', 'n_step_birnn', __name__)
NStepBiRNNReLU = _of_cudnn.named('NStepBiRNNReLU', 'n_step_birnn', __name__)

REMOVED = {
    'train': 'train argument is not supported anymore. Use chainer.using_config',
    'use_cudnn': 'use_cudnn argument is not supported anymore. Use chainer.using_config',
}


def run_layers(cell, n_layers, dropout_ratio, states, ws, bs, xs, use_bi_direction):
    """Run stacked layers over sequences.

    Args:
        cell: What happens at one time, see :mod:`~chainer.functions.connection._recurrent_layer`.
            A layer and direction has twice as many weights, and biases, as the cell has gates:
            for the inputs, and for the output before.
        n_layers (int): Number of layers.
        dropout_ratio (float): Of the inputs of all layers but the first.
        states (list of Variables): Initial states, each (layers and directions, batch, units).
        ws, bs (list of lists of Variables): Parameters of each layer and direction.
        xs (list of Variables, or Packed): Inputs of each time, batches in descending order.
        use_bi_direction (bool): Whether a second network reads the sequences from the end.

    Returns:
        tuple: The list of final states, and the tuple of outputs of each time; packed, if the
        inputs are.
    """
    directions = 2 if use_bi_direction else 1
    is_packed = isinstance(xs, _sequences.Packed)  # to look at its items would take it apart
    _errors.check_lists('a recurrent network', xs=() if is_packed else xs, states=states)
    if is_packed:
        _check_states(states, directions * n_layers, len(xs.lengths))
    else:
        sizes = [x.shape[0] if x.ndim else 0 for x in xs]
        _check_states(states, directions * n_layers, sizes[0] if sizes else 0)
        _check_order(sizes)
    if n_layers:
        _check_widths([xs.rows] if is_packed else xs, ws[0][0])
    packed = xs if is_packed else _sequences.Packed.of_times(xs)
    finals = []
    x = packed.rows
    for layer in range(n_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            inputs = F.dropout(x, dropout_ratio) if layer > 0 else x
            hs, final = _recurrent_layer.run_layer(
                cell, packed.lengths, direction == 1, inputs, ws[index], bs[index],
                [state[index] for state in states])
            outputs.append(hs)
            finals.append(final)
        x = F.concat(outputs, axis=1) if use_bi_direction else outputs[0]
    final_states = [F.stack(state) for state in zip(*finals, strict=True)]
    made = _sequences.Packed(x, packed.lengths)
    return final_states, made if is_packed else tuple(made)


def _check_states(states, n, batch):
    if not batch:
        raise _errors.SequencesError(
            'at least one time', 'none', 'xs is empty: give the inputs of at least one time')
    for state in states:
        if state.ndim != 3 or state.shape[0] != n or state.shape[1] < batch:
            raise _errors.SequencesError(
                f'({n}, {batch}, units)', f'{state.shape}',
                f'initial states must have the shape ({n}, {batch}, units), for each layer '
                f'and direction, and each sequence; got {state.shape}')


def _check_order(sizes):
    if any(a < b for a, b in itertools.pairwise(sizes)):
        raise _errors.SequencesError(
            'sizes that do not grow', f'{sizes}',
            f'the batches of xs must not grow with time, but have the sizes {sizes}: sort the '
            'sequences by length, longest first, before transposing them')


def _check_widths(xs, W):
    _errors.check_arrays('a recurrent network', W=W)
    for x in xs:
        if x.ndim != 2 or W.ndim != 2 or x.shape[1] != W.shape[1]:
            raise _errors.SequencesError(
                f'(batch, {W.shape[-1]})', f'{x.shape}',
                'Inconsistent input size in input values and weight parameters: '
                f'inputs of shape {x.shape}, weights of shape {W.shape}')


def n_step_rnn_base(n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction,
                    **kwargs):
    """:func:`n_step_rnn` and :func:`n_step_birnn` in one."""
    argument.parse_kwargs(kwargs, **REMOVED)
    activations = {'tanh': _recurrent_layer.Tanh, 'relu': _recurrent_layer.ReLU}
    if activation not in activations:
        raise ValueError(
            f'Invalid activation: "{activation}". Please select from [{",".join(activations)}]')
    (hy,), ys = run_layers(
        activations[activation], n_layers, dropout_ratio, [hx], ws, bs, xs,
        use_bi_direction)
    return hy, ys


def n_step_rnn(n_layers, dropout_ratio, hx, ws, bs, xs, activation='tanh', **kwargs):
    r"""Stacked recurrent network on sequences.

    .. math:: h_t = f(W_0 x_t + W_1 h_{t-1} + b_0 + b_1)

    The outputs of a layer are, after :func:`dropout`, the inputs of the next.

    Args:
        n_layers (int): Number of layers :math:`S`.
        dropout_ratio (float): Ratio of the dropout between layers.
        hx (Variable or array): Initial states of shape :math:`(S, B, N)`, for a batch of :math:`B`
            sequences and :math:`N` units.
        ws (list of lists of Variables): For each layer the matrices :math:`W_0` of shape
            :math:`(N, I)`, where :math:`I` is the number of its inputs, and :math:`W_1` of shape
            :math:`(N, N)`.
        bs (list of lists of Variables): For each layer the vectors :math:`b_0` and :math:`b_1` of
            shape :math:`(N,)`.
        xs (list of Variables): For each time :math:`t` the inputs of shape :math:`(B_t, I)`.
            Sequences that end early come last, so that :math:`B_t \ge B_{t+1}` (see
            :func:`transpose_sequence`).
        activation (str): ``'tanh'`` or ``'relu'``.

    Returns:
        tuple: The final states, of the shape of ``hx``, and a tuple of the outputs of the last
        layer for each time, of shape :math:`(B_t, N)`.

    Raises:
        ValueError: If the arrays do not fit each other (an ``InvalidType``, too), or there is no
            such activation.

    .. seealso:: :class:`~chainer.links.NStepRNNTanh`, :class:`~chainer.links.NStepRNNReLU`

    >>> xs = [np.ones((b, 3), np.float32) for b in [3, 2, 1]]
    >>> ws = [[np.ones((2, n), np.float32) for n in (3, 2)]]
    >>> bs = [[np.ones(2, np.float32)] * 2]
    >>> hy, ys = F.n_step_rnn(1, 0., np.ones((1, 3, 2), np.float32), ws, bs, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((1, 3, 2), [(3, 2), (2, 2), (1, 2)])
    """
    return n_step_rnn_base(
        n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=False, **kwargs)


def n_step_birnn(n_layers, dropout_ratio, hx, ws, bs, xs, activation='tanh', **kwargs):
    r"""Stacked recurrent network that reads sequences in both directions.

    Each layer has two networks as in :func:`n_step_rnn`, one of which starts at the end. Their
    outputs, joined, are the inputs of the next layer.

    Args:
        n_layers (int): Number of layers :math:`S`.
        dropout_ratio (float): Ratio of the dropout between layers.
        hx (Variable or array): Initial states of shape :math:`(2 S, B, N)`, the two directions of
            a layer side by side.
        ws (list of lists of Variables): Matrices, ``ws[2 * layer + direction]`` as in
            :func:`n_step_rnn`. Layers after the first have :math:`2 N` inputs.
        bs (list of lists of Variables): Vectors, likewise.
        xs (list of Variables): As in :func:`n_step_rnn`.
        activation (str): ``'tanh'`` or ``'relu'``.

    Returns:
        tuple: The final states, of the shape of ``hx``, and a tuple of the outputs of the last
        layer for each time, of shape :math:`(B_t, 2 N)`.

    Raises:
        ValueError: If the arrays do not fit each other (an ``InvalidType``, too), or there is no
            such activation.

    .. seealso:: :class:`~chainer.links.NStepBiRNNTanh`, :class:`~chainer.links.NStepBiRNNReLU`

    >>> xs = [np.ones((b, 3), np.float32) for b in [3, 2, 1]]
    >>> ws = [[np.ones((2, n), np.float32) for n in (3, 2)]] * 2
    >>> bs = [[np.ones(2, np.float32)] * 2] * 2
    >>> hy, ys = F.n_step_birnn(1, 0., np.ones((2, 3, 2), np.float32), ws, bs, xs)
    >>> hy.shape, [y.shape for y in ys]
    ((2, 3, 2), [(3, 4), (2, 4), (1, 4)])
    """
    return n_step_rnn_base(
        n_layers, dropout_ratio, hx, ws, bs, xs, activation, use_bi_direction=True, **kwargs)
