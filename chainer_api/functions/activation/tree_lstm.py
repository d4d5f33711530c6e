"""Long short-term memory over any number of children."""
from chainer.functions.activation import _lstm_cell
from chainer.utils import type_check


class TreeLSTM(_lstm_cell.Cell):
    """Long short-term memory over children (see :func:`tree_lstm`)."""

    n_inputs = 1

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() >= 2)
        c_types, x_type = in_types[:-1], in_types[-1]
        n_children = len(c_types)
        type_check.expect(
            c_types[0].dtype.kind == 'f',
            x_type.dtype == c_types[0].dtype,
            x_type.ndim == 2,
        )
        for c_type in c_types:
            type_check.expect(
                c_type.dtype == x_type.dtype,
                c_type.ndim == 2,
                x_type.shape[0] == c_type.shape[0],
                x_type.shape[1] == (3 + n_children) * c_type.shape[1],
            )

    @staticmethod
    def split(xs, n_states):
        x, = xs
        n, width = x.shape
        n_gates = 3 + n_states
        gates = x.reshape((n, n_gates, width // n_gates))
        a, i, o, *f = [gates[:, k] for k in range(n_gates)]
        return _lstm_cell.Gates([a], [i], f, o)

    @staticmethod
    def join(stack, gates):
        joined = stack([*gates.a, *gates.i, gates.o, *gates.f], axis=1)
        n, n_gates, units = joined.shape
        return joined.reshape((n, n_gates * units)),


def tree_lstm(*inputs):
    r"""Long short-term memory over any number of children, a node of a tree.

    .. math::
        c &= \tanh(a) \sigma(i) + \sum_k c_k \sigma(f_k), \\
        h &= \tanh(c) \sigma(o)

    See: `Tai et al., Improved Semantic Representations From Tree-Structured Long Short-Term Memory
    Networks <https://arxiv.org/abs/1503.00075>`_.

    Args:
        inputs (Variables or arrays): The states of the N children, each of shape (batch size,
            units), and last the gates of shape (batch size, (3 + N) * units): ``a``, ``i``, ``o``,
            ``f_1``, ..., ``f_N``, one after the other.

    Returns:
        tuple: The new state ``c`` and the output ``h``, Variables of shape (batch size, units).

    Raises:
        InvalidType: If the arrays do not fit each other.

    >>> child = np.ones((2, 3), np.float32)
    >>> c, h = F.tree_lstm(child, child, np.zeros((2, 15), np.float32))
    >>> c.array
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    return TreeLSTM().apply(inputs)
