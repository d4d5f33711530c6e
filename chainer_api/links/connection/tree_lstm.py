"""LSTM units on trees."""
import functools
import operator

import chainer
from chainer import functions as F
from chainer import link
from chainer.links.connection import linear
from chainer.utils import _errors


class ChildSumTreeLSTM(link.Chain):
    """Child-sum tree LSTM unit: combines the states of any number of children, in any order.

    The unit keeps no states; they are arguments and results of each call. See: `Tai et al.,
    Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks
    <https://www.aclweb.org/anthology/P15-1150>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of the states.

    Attributes:
        W_x (Linear): Connection from the input to all gates.
        W_h_aio (Linear): Connection from the sum of the children's outputs to the cell input and
            the input and output gates.
        W_h_f (Linear): Connection from a child's output to its forget gate.

    .. seealso:: :func:`chainer.functions.tree_lstm`, :class:`NaryTreeLSTM`

    Example:
        >>> unit = L.ChildSumTreeLSTM(3, 2)
        >>> c1 = c2 = h1 = h2 = chainer.Variable(np.zeros((5, 2), np.float32))
        >>> c, h = unit(c1, c2, h1, h2, np.ones((5, 3), np.float32))
        >>> h.shape
        (5, 2)
    """

    def __init__(self, in_size, out_size):
        super().__init__()
        self.in_size = in_size
        self.state_size = out_size
        with self.init_scope():
            self.W_x = linear.Linear(in_size, 4 * out_size)
            self.W_h_aio = linear.Linear(out_size, 3 * out_size, nobias=True)
            self.W_h_f = linear.Linear(out_size, out_size, nobias=True)

    def forward(self, *cshsx):
        """Computes the states of a parent.

        Args:
            cshsx: Cell states of all children, outputs of all children, and the input:
                ``c1, ..., cn, h1, ..., hn, x``. There may be no child. Any of them, but not
                all, may be ``None``, which stands for zeros.

        Returns:
            tuple of two Variables: Cell states and outputs, of shape (batch, out_size).

        Raises:
            ValueError: The number of arguments is even, or all are ``None``.
        """
        cs, hs, x = _children_and_input(self, cshsx)
        if not hs:
            a, i, o, _ = F.split_axis(self.W_x(x), 4, axis=1)
            c = F.tanh(a) * F.sigmoid(i)
            return c, F.tanh(c) * F.sigmoid(o)
        x_aio, x_f = F.split_axis(self.W_x(x), [3 * self.state_size], axis=1)
        aio = x_aio + self.W_h_aio(functools.reduce(operator.add, hs))
        fs = [x_f + self.W_h_f(h) for h in hs]
        return F.tree_lstm(*cs, F.concat([aio, *fs], axis=1))


class NaryTreeLSTM(link.Chain):
    """Tree LSTM unit for a fixed number of children, with weights for each of them.

    The unit keeps no states; they are arguments and results of each call. See: `Tai et al.,
    Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks
    <https://www.aclweb.org/anthology/P15-1150>`_; in the extended form, where each forget gate has
    its own weights for the input, of `Bowman et al., A Fast Unified Model for Parsing and Sentence
    Understanding <https://arxiv.org/abs/1603.06021>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of the states.
        n_ary (int): Number of children.

    Attributes:
        W_x (Linear): Connection from the input to all gates.
        W_h1, W_h2, ... (Linear): Connections from each child's output to all gates.

    .. seealso:: :func:`chainer.functions.tree_lstm`, :class:`ChildSumTreeLSTM`

    Example:
        >>> unit = L.NaryTreeLSTM(3, 2, n_ary=2)
        >>> c1 = c2 = h1 = h2 = chainer.Variable(np.zeros((5, 2), np.float32))
        >>> c, h = unit(c1, c2, h1, h2, np.ones((5, 3), np.float32))
        >>> h.shape
        (5, 2)
    """

    def __init__(self, in_size, out_size, n_ary=2):
        if n_ary < 1:
            raise _errors.AssertedValueError(f'n_ary must be positive, not {n_ary}')
        super().__init__()
        self.in_size = in_size
        self.state_size = out_size
        self.n_ary = n_ary
        n_gates = 3 + n_ary
        with self.init_scope():
            self.W_x = linear.Linear(in_size, n_gates * out_size)
            for i in range(1, n_ary + 1):
                setattr(
                    self, f'W_h{i}', linear.Linear(out_size, n_gates * out_size, nobias=True))

    def forward(self, *cshsx):
        """Computes the states of a parent.

        Args:
            cshsx: Cell states of all children, outputs of all children, and the input:
                ``c1, ..., cn, h1, ..., hn, x``. Any of them, but not all, may be ``None``, which
                stands for zeros.

        Returns:
            tuple of two Variables: Cell states and outputs, of shape (batch, out_size).

        Raises:
            ValueError: The number of arguments is not ``2 * n_ary + 1``, or all are ``None``.
        """
        if len(cshsx) != 2 * self.n_ary + 1:
            raise _errors.AssertedValueError(
                f'{2 * self.n_ary + 1} arguments are needed for {self.n_ary} children: cell '
                f'states, outputs, and the input; but {len(cshsx)} were given')
        cs, _, x = _children_and_input(self, cshsx)
        gates = self.W_x(x)
        for i, h in enumerate(cshsx[self.n_ary:-1], 1):
            if h is not None:
                gates = gates + self[f'W_h{i}'](h)
        return F.tree_lstm(*cs, gates)


def _children_and_input(unit, cshsx):
    n_children = len(cshsx) // 2
    if len(cshsx) % 2 == 0:
        raise _errors.AssertedValueError(
            'the cell states of all children, as many outputs, and the input are needed; but '
            f'{len(cshsx)} arguments were given')
    given = next((a for a in cshsx if a is not None), None)
    if given is None:
        raise ValueError('All inputs (cs, hs, x) are None.')
    _errors.check_lists(type(unit).__name__, inputs=[x for x in cshsx if x is not None])

    def or_zeros(value, size):
        if value is not None:
            return value
        with chainer.using_device(unit.device):
            return chainer.Variable(unit.xp.zeros((given.shape[0], size), dtype=given.dtype))

    states = [or_zeros(state, unit.state_size) for state in cshsx[:-1]]
    return states[:n_children], states[n_children:], or_zeros(cshsx[-1], unit.in_size)
