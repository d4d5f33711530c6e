"""Long short-term memory."""
from chainer import functions as F
from chainer.functions.activation import _lstm_cell
from chainer.utils import _errors, type_check


def _extract_gates(x):
    """The four gates in ``x`` (batch size, 4 * units, ...), which stand side by side."""
    n, width, *rest = x.shape
    gates = x.reshape((n, width // 4, 4, *rest))
    return [gates[:, :, i] for i in range(4)]


def _join_gates(stack, gates):
    joined = stack(gates, axis=2)
    n, units, _, *rest = joined.shape
    return joined.reshape((n, 4 * units, *rest))


class LSTM(_lstm_cell.Cell):
    """Long short-term memory (see :func:`lstm`)."""

    n_inputs = 1

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('c', 'x'))
        c_type, x_type = in_types
        type_check.expect(
            c_type.dtype.kind == 'f',
            x_type.dtype == c_type.dtype,
            c_type.ndim >= 2,
            x_type.ndim >= 2,
            c_type.ndim == x_type.ndim,
            x_type.shape[0] <= c_type.shape[0],
            x_type.shape[1] == 4 * c_type.shape[1],
        )
        for i in range(2, type_check.eval(c_type.ndim)):
            type_check.expect(x_type.shape[i] == c_type.shape[i])

    @staticmethod
    def split(xs, n_states):
        a, i, f, o = _extract_gates(xs[0])
        return _lstm_cell.Gates([a], [i], [f], o)

    @staticmethod
    def join(stack, gates):
        return _join_gates(stack, [*gates.a, *gates.i, *gates.f, gates.o]),


def lstm(c_prev, x):
    r"""Long short-term memory, one step of it.

    .. math::
        c &= \tanh(a) \sigma(i) + c_\mathrm{prev} \sigma(f), \\
        h &= \tanh(c) \sigma(o)

    Args:
        c_prev (Variable or array): Previous state of the cell, of shape (batch size, units, ...).
        x (Variable or array): Gates of shape (batch size, 4 * units, ...) and the dtype of
            ``c_prev``: of each unit the values ``a``, ``i``, ``f`` and ``o``. Its batch may be
            shorter; the rest of ``c_prev`` then stays as it is.

    Returns:
        tuple: The new state ``c`` and the output ``h``, Variables. ``c`` has the shape of
        ``c_prev``, ``h`` the batch size of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.

    See: `Hochreiter and Schmidhuber, Long Short-Term Memory
    <https://www.bioinf.jku.at/publications/older/2604.pdf>`_.

    .. seealso:: :class:`~chainer.links.LSTM`

    >>> c, h = F.lstm(np.ones((2, 3), np.float32), np.zeros((2, 12), np.float32))
    >>> c.array
    array([[0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]], dtype=float32)
    """
    try:
        batch_size, states = x.shape[0], c_prev.shape[0]
    except AttributeError:
        _errors.check_arrays('lstm', c_prev=c_prev, x=x)
        raise
    if batch_size >= states:
        return LSTM().apply((c_prev, x))
    c_prev, rest = F.split_axis(c_prev, [batch_size], axis=0)
    c, h = LSTM().apply((c_prev, x))
    return F.concat([c, rest], axis=0), h
