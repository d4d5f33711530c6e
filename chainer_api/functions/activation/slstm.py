"""S-LSTM."""
from chainer.functions.activation import _lstm_cell
from chainer.functions.activation.lstm import _extract_gates, _join_gates
from chainer.utils import type_check


class SLSTM(_lstm_cell.Cell):
    """S-LSTM (see :func:`slstm`)."""

    n_inputs = 2

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('c_prev1', 'c_prev2', 'x1', 'x2'))
        c1_type, c2_type, x1_type, x2_type = in_types
        type_check.expect(
            c1_type.dtype.kind == 'f',
            c2_type.dtype == c1_type.dtype,
            x1_type.dtype == c1_type.dtype,
            x2_type.dtype == c1_type.dtype,
            c1_type.ndim >= 2,
            c2_type.ndim >= 2,
            x1_type.ndim >= 2,
            x2_type.ndim >= 2,
            c1_type.ndim == x1_type.ndim,
            c1_type.ndim == c2_type.ndim,
            c1_type.ndim == x2_type.ndim,
            c1_type.shape[0] == x1_type.shape[0],
            c1_type.shape[0] == c2_type.shape[0],
            c1_type.shape[0] == x2_type.shape[0],
            x1_type.shape[1] == 4 * c1_type.shape[1],
            x2_type.shape[1] == 4 * c2_type.shape[1],
            c1_type.shape[1] == c2_type.shape[1],
        )
        for i in range(2, type_check.eval(c1_type.ndim)):
            type_check.expect(
                x1_type.shape[i] == c1_type.shape[i],
                x2_type.shape[i] == c1_type.shape[i],
                c2_type.shape[i] == c1_type.shape[i],
            )

    @staticmethod
    def split(xs, n_states):
        a1, i1, f1, o1 = _extract_gates(xs[0])
        a2, i2, f2, o2 = _extract_gates(xs[1])
        return _lstm_cell.Gates([a1, a2], [i1, i2], [f1, f2], o1 + o2)

    @staticmethod
    def join(stack, gates):
        return tuple([
            _join_gates(stack, [a, i, f, gates.o])
            for a, i, f in zip(gates.a, gates.i, gates.f, strict=True)])


def slstm(c_prev1, c_prev2, x1, x2):
    r"""Long short-term memory over two children, a node of a binary tree.

    .. math::
        c &= \tanh(a_1) \sigma(i_1) + \tanh(a_2) \sigma(i_2)
             + c_{\mathrm{prev}1} \sigma(f_1) + c_{\mathrm{prev}2} \sigma(f_2), \\
        h &= \tanh(c) \sigma(o_1 + o_2)

    See: `Zhu et al., Long Short-Term Memory Over Recursive Structures
    <https://proceedings.mlr.press/v37/zhub15.html>`_.

    Args:
        c_prev1 (Variable or array): State of the first child, of shape (batch size, units, ...).
        c_prev2 (Variable or array): State of the second child, likewise.
        x1 (Variable or array): Gates of the first child, of shape (batch size, 4 * units, ...): of
            each unit the values ``a``, ``i``, ``f`` and ``o``.
        x2 (Variable or array): Gates of the second child, likewise.

    Returns:
        tuple: The new state ``c`` and the output ``h``, Variables of the shape of ``c_prev1``.

    Raises:
        InvalidType: If the arrays do not fit each other.

    >>> c, gates = np.ones((1, 2), np.float32), np.zeros((1, 8), np.float32)
    >>> c, h = F.slstm(c, c, gates, gates)
    >>> c.array
    array([[1., 1.]], dtype=float32)
    """
    return SLSTM().apply((c_prev1, c_prev2, x1, x2))
