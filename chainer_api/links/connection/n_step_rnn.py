"""Stacked recurrent networks for lists of sequences."""
import numpy

import chainer
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.functions.connection import _sequences
from chainer.utils import _errors, argument


def argsort_list_descent(lst):
    """Positions of the longest sequence, the second longest and so on, as an int32 array.

    Sequences of one length may be exchanged, always in the same way.

    >>> from chainer.links.connection.n_step_rnn import argsort_list_descent
    >>> argsort_list_descent([[1], [1, 2, 3], [1, 2]]).tolist()
    [1, 2, 0]
    """
    return numpy.array(_sequences.longest_first([len(x) for x in lst]), numpy.int32)


def permutate_list(lst, indices, inv):
    """Returns the elements at the given indices, or the list of which these are the elements.

    Args:
        lst (list): A list.
        indices (sequence of ints): A permutation.
        inv (bool): Whether to undo the permutation.
    """
    if not inv:
        return [lst[i] for i in indices]
    ret = [None] * len(lst)
    for i, element in zip(indices, lst, strict=True):
        ret[i] = element
    return ret


class NStepRNNBase(link.ChainList):
    """What the stacked recurrent networks share.

    Each layer, and each direction of it, is a child link with the weights ``w0``, ``w1``, ... and
    the biases ``b0``, ``b1``, ...: the first half of them for the input and the other half for the
    state, each for all gates.

    Args:
        n_layers (int): Number of layers.
        in_size (int): Size of an element of a sequence.
        out_size (int): Size of the states.
        dropout (float): Dropout ratio between the layers.
        initialW (initializer): Initializes the weights: an initializer, a scalar or an array. The
            default is :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the biases. The default is zero.

    Attributes:
        ws (list of lists of Parameters): Weights of each child.
        bs (list of lists of Parameters): Biases of each child.

    Raises:
        TypeError: ``in_size`` is ``None``.
    """

    def __init__(self, n_layers, in_size, out_size, dropout, *, initialW=None, initial_bias=None,
                 **kwargs):
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs,
                use_cudnn='use_cudnn argument is not supported anymore. Use chainer.using_config',
                use_bi_direction='use_bi_direction is not supported anymore',
                activation='activation is not supported anymore')
            argument.assert_kwargs_empty(kwargs)
        if in_size is None:
            raise TypeError(f'{type(self).__name__} needs in_size; it cannot be None')
        super().__init__()
        self.n_layers = n_layers
        self.out_size = out_size
        self.dropout = dropout
        self.direction = 2 if self.use_bi_direction else 1
        initialW = initializers._get_initializer(initialW)
        initial_bias = initializers._get_initializer(0 if initial_bias is None else initial_bias)
        for _ in range(n_layers):
            for _ in range(self.direction):
                self.append(self._make_child(in_size, initialW, initial_bias))
            in_size = self.direction * out_size

    def _make_child(self, in_size, initialW, initial_bias):
        child = link.Link()
        with child.init_scope():
            for i in range(self.n_weights):
                n_in = in_size if i < self.n_weights // 2 else self.out_size
                setattr(child, f'w{i}', variable.Parameter(initialW, (self.out_size, n_in)))
                setattr(child, f'b{i}', variable.Parameter(initial_bias, (self.out_size,)))
        return child

    @property
    def ws(self):
        return [[getattr(child, f'w{i}') for i in range(self.n_weights)] for child in self]

    @property
    def bs(self):
        return [[getattr(child, f'b{i}') for i in range(self.n_weights)] for child in self]

    def init_hx(self, xs):
        """Returns initial states of zeros, for a list of sequences."""
        _errors.check_lists(type(self).__name__, xs=xs[:1])
        shape = (self.n_layers * self.direction, len(xs), self.out_size)
        with chainer.using_device(self.device):
            return variable.Variable(self.xp.zeros(shape, dtype=xs[0].dtype))

    def rnn(self, *args):
        """Calls the function of the network.

        Args:
            args: ``n_layers, dropout_ratio, hx, (cx,) ws, bs, xs``, where ``xs`` is a sequence of
                the inputs of each step.

        Returns:
            tuple: The states, and a sequence of the outputs of each step.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement rnn')

    @property
    def n_cells(self):
        """Number of states: one, or two with the cell states of an LSTM."""
        return 1

    def forward(self, hx, xs, **kwargs):
        """Runs over a list of sequences, in any order of their lengths.

        Args:
            hx (Variable or None): Initial states of shape (S, B, out_size), where B is the number
                of sequences and S that of layers, or twice as many for two directions. ``None``
                stands for zeros.
            xs (list of Variables): Sequences, each of shape (length, in_size).

        Returns:
            tuple: The last states, shaped as ``hx``, and a list of the outputs of the last layer,
            each of shape (length, out_size), or twice as many columns for two directions.
        """
        (hy,), ys = self._call([hx], xs, **kwargs)
        return hy, ys

    def _call(self, states, xs, **kwargs):
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, train='train argument is not supported anymore. Use chainer.using_config')
            argument.assert_kwargs_empty(kwargs)
        if not isinstance(xs, (list, tuple)):
            # AssertionError is what Chainer raises here.
            raise AssertionError(f'xs must be a list of sequences, not {type(xs)}')
        packed = _sequences.Packed.of(xs)
        states = [
            self.init_hx(xs) if state is None else self._sorted_states(state, packed.lengths)
            for state in states]
        *states, ys = self.rnn(self.n_layers, self.dropout, *states, self.ws, self.bs, packed)
        if not isinstance(ys, _sequences.Packed):  # of a method of the user's
            ys = _sequences.Packed(F.concat(ys, axis=0), packed.lengths)
        states = [
            _sequences.Reordered(packed.lengths, 'length', True).apply((state,))[0]
            for state in states]
        return states, list(ys.sequences())

    @staticmethod
    def _sorted_states(state, lengths):
        # States may be those of more sequences: the first are taken.
        _errors.check_arrays('a recurrent link', state=state)
        if state.ndim == 3:
            if state.shape[1] > len(lengths):
                state = F.get_item(state, (slice(None), slice(len(lengths))))
            if state.shape[1] == len(lengths):
                return _sequences.Reordered(lengths, 'length').apply((state,))[0]
        return state  # the network says what is wrong with it


class NStepRNNTanh(NStepRNNBase):
    """Stacked recurrent network with tanh, for lists of sequences of any length.

    Args:
        n_layers (int): Number of layers.
        in_size (int): Size of an element of a sequence.
        out_size (int): Size of the states.
        dropout (float): Dropout ratio between the layers.
        initialW, initial_bias: See :class:`NStepLSTM`.

    .. seealso:: :func:`chainer.functions.n_step_rnn`

    Example:
        >>> layer = L.NStepRNNTanh(2, 3, 4, dropout=0.1)
        >>> hy, ys = layer(None, [np.ones((5, 3), np.float32), np.ones((2, 3), np.float32)])
        >>> hy.shape, [y.shape for y in ys]
        ((2, 2, 4), [(5, 4), (2, 4)])
    """

    n_weights = 2
    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_rnn(*args, activation='tanh')

class NStepRNNReLU(NStepRNNBase):
    """Stacked recurrent network with ReLU, for lists of sequences of any length.

    See :class:`NStepRNNTanh` for the arguments.

    .. seealso:: :func:`chainer.functions.n_step_rnn`

    Example:
        >>> hy, ys = L.NStepRNNReLU(2, 3, 4, dropout=0.1)(None, [np.ones((5, 3), np.float32)])
        >>> hy.shape, ys[0].shape
        ((2, 1, 4), (5, 4))
    """

    n_weights = 2
    use_bi_direction = False

    def rnn(self, *args):
        return F.n_step_rnn(*args, activation='relu')


class NStepBiRNNTanh(NStepRNNBase):
    """Stacked recurrent network with tanh, in both directions of the sequences.

    See :class:`NStepRNNTanh` for the arguments.

    .. seealso:: :func:`chainer.functions.n_step_birnn`

    Example:
        >>> hy, ys = L.NStepBiRNNTanh(2, 3, 4, dropout=0.1)(None, [np.ones((5, 3), np.float32)])
        >>> hy.shape, ys[0].shape
        ((4, 1, 4), (5, 8))
    """

    n_weights = 2
    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_birnn(*args, activation='tanh')


class NStepBiRNNReLU(NStepRNNBase):
    """Stacked recurrent network with ReLU, in both directions of the sequences.

    See :class:`NStepRNNTanh` for the arguments.

    .. seealso:: :func:`chainer.functions.n_step_birnn`

    Example:
        >>> hy, ys = L.NStepBiRNNReLU(2, 3, 4, dropout=0.1)(None, [np.ones((5, 3), np.float32)])
        >>> hy.shape, ys[0].shape
        ((4, 1, 4), (5, 8))
    """

    n_weights = 2
    use_bi_direction = True

    def rnn(self, *args):
        return F.n_step_birnn(*args, activation='relu')
