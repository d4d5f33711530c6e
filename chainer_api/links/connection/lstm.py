"""Long short-term memory layers."""
import chainer
from chainer import functions as F
from chainer import initializers, link, utils, variable
from chainer.links.connection import linear
from chainer.utils import _errors


class LSTMBase(link.Chain):
    """What the LSTM layers share: the parameters.

    Args:
        in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init: See
            :class:`LSTM`.
    """

    def __init__(self, in_size, out_size=None, lateral_init=None, upward_init=None,
                 bias_init=None, forget_bias_init=None):
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.state_size = out_size
        self.lateral_init = lateral_init
        self.upward_init = upward_init
        self.bias_init = 0 if bias_init is None else bias_init
        self.forget_bias_init = 1 if forget_bias_init is None else forget_bias_init
        with self.init_scope():
            self.upward = linear.Linear(in_size, 4 * out_size, initialW=0)
            self.lateral = linear.Linear(out_size, 4 * out_size, initialW=0, nobias=True)
        if in_size is not None:
            self._initialize_params()

    def _initialize_params(self):
        self._fill_gates(self.upward.W.array)

    def _fill_gates(self, upward_W):
        lateral_init = initializers._get_initializer(self.lateral_init)
        upward_init = initializers._get_initializer(self.upward_init)
        n = self.state_size
        for start in range(0, 4 * n, n):
            lateral_init(self.lateral.W.array[start:start + n])
            upward_init(upward_W[start:start + n])

        bias_init = initializers._get_initializer(self.bias_init)
        forget_bias_init = initializers._get_initializer(self.forget_bias_init)
        gates = self.upward.b.array.reshape(1, n, 4)  # cell input, input, forget, output
        for i, init in enumerate((bias_init, bias_init, forget_bias_init, bias_init)):
            init(gates[:, :, i:i + 1])

    def _initialize_upward(self, x):
        _errors.check_arrays(type(self).__name__, x=x)
        # All parameters are filled in while one is initialized: their draws take turns.
        W = self.upward.W
        initializer, W.initializer = W.initializer, self._fill_gates
        with chainer.using_device(self.device):
            self.upward._initialize_params(utils.size_of_shape(x.shape[1:]))
        W.initializer = initializer


class StatelessLSTM(LSTMBase):
    """LSTM layer whose states are arguments and results of each call.

    Args:
        in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init: See
            :class:`LSTM`.

    Attributes:
        upward (Linear): Connection from the input to the four gates.
        lateral (Linear): Connection from the previous output to the four gates, without a bias.

    .. seealso:: :func:`chainer.functions.lstm`, :class:`LSTM`

    Example:
        >>> layer = L.StatelessLSTM(3, 2)
        >>> c, h = layer(None, None, np.ones((5, 3), np.float32))
        >>> c, h = layer(c, h, np.zeros((5, 3), np.float32))
        >>> h.shape
        (5, 2)
    """

    def forward(self, c, h, x):
        """Advances by one step.

        Args:
            c (Variable or None): Cell states of the previous step; ``None`` stands for zeros.
            h (Variable or None): Outputs of the previous step, likewise.
            x (Variable or array): Batch of inputs.

        Returns:
            tuple of two Variables: The new ``c`` and ``h``, of shape (batch, out_size).
        """
        if self.upward.W._array is None:
            self._initialize_upward(x)
        gates = self.upward(x)
        if h is not None:
            gates = gates + self.lateral(h)
        if c is None:
            c = zero_state(self, x, self.state_size)
        return F.lstm(c, gates)


class LSTM(LSTMBase):
    """LSTM layer that keeps its states from one call to the next.

    A batch may be smaller than that of the call before: then the first samples go on, and the
    states of the others stay as they are. So sequences of several lengths are handed over in
    order of their lengths, the longest first.

    See: `Hochreiter and Schmidhuber, Long Short-Term Memory
    <https://doi.org/10.1162/neco.1997.9.8.1735>`_; `Zaremba et al., Recurrent Neural Network
    Regularization <https://arxiv.org/abs/1409.2329>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None`` or left out
            (``LSTM(out_size)``), the first call decides.
        out_size (int): Size of an output.
        lateral_init (initializer): Initializes the weights of each gate for the previous output:
            an initializer, a scalar or an array of shape (out_size, out_size). The default is
            :class:`~chainer.initializers.LeCunNormal`.
        upward_init (initializer): Likewise for the input, of shape (out_size, in_size).
        bias_init (initializer): Initializes the biases of the cell input and of the input and
            output gates. The default is zero.
        forget_bias_init (initializer): Initializes the biases of the forget gate. The default is
            one.

    Attributes:
        upward (Linear): Connection from the input to the four gates.
        lateral (Linear): Connection from the previous output to the four gates, without a bias.
        c (Variable): Cell states, or ``None`` before the first call.
        h (Variable): Outputs of the last call, or ``None`` before the first call.

    Raises:
        TypeError: When called with a batch larger than the one before.

    .. seealso:: :func:`chainer.functions.lstm`, :class:`StatelessLSTM`, :class:`NStepLSTM`

    Example:
        >>> layer = L.LSTM(3, 2)
        >>> layer(np.ones((5, 3), np.float32)).shape
        (5, 2)
        >>> layer(np.ones((4, 3), np.float32)).shape  # the fifth sequence has ended
        (4, 2)
        >>> layer.reset_state()
        >>> layer.h is None
        True
    """

    def __init__(self, in_size, out_size=None, lateral_init=None, upward_init=None,
                 bias_init=None, forget_bias_init=None):
        super().__init__(
            in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init)
        self.reset_state()

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        visit_states(visitor, self.c, self.h)

    def set_state(self, c, h):
        """Sets the states, on the device of the link.

        Args:
            c (Variable): Cell states of shape (batch, out_size).
            h (Variable): Outputs of the step before, likewise.
        """
        self.c = state_on_device(self, c)
        self.h = state_on_device(self, h)

    def reset_state(self):
        """Forgets the states: the next call starts new sequences."""
        self.c = None
        self.h = None

    def forward(self, x):
        """Advances by one step and keeps the new states.

        Args:
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: Outputs of shape (batch, out_size).
        """
        if self.upward.W._array is None:
            self._initialize_upward(x)
        gates = self.upward(x)
        h = self.h
        ended = None
        if h is not None:
            batch_size = x.shape[0]
            n_states = h.shape[0]
            if n_states < batch_size:
                raise TypeError(
                    'The batch size of x must be equal to or less than the size of the previous '
                    f'state h, but x has {batch_size} samples and h has {n_states}. Call '
                    'reset_state() before new sequences.')
            if n_states > batch_size:
                h, ended = F.split_axis(h, [batch_size], axis=0)
            gates = gates + self.lateral(h)
        c = self.c
        if c is None:
            c = zero_state(self, x, self.state_size)
        self.c, y = F.lstm(c, gates)
        self.h = y if ended is None else F.concat((y, ended), axis=0)
        return y


def zero_state(rnn, x, state_size):
    """States of zeros for a recurrent link and its input."""
    _errors.check_arrays(type(rnn).__name__, x=x)
    with chainer.using_device(rnn.device):
        return variable.Variable(rnn.xp.zeros((x.shape[0], state_size), dtype=x.dtype))


def split_gates(gates):
    """The parts of the four gates, whose elements take turns along the second axis."""
    gates = F.reshape(gates, (gates.shape[0], -1, 4))
    return [gates[:, :, i] for i in range(4)]


def visit_states(visitor, *states):
    """Shows the states of a recurrent link, Variables or ``None``, to a device visitor."""
    for state in states:
        if state is not None:
            visitor.visit_variable(state)


def state_on_device(rnn, state):
    """A state that a user has set, brought to the device of a recurrent link.

    Raises:
        AssertionError: ``state`` is not a Variable.
    """
    # AssertionError is what Chainer raises here.
    if not isinstance(state, variable.Variable):
        raise AssertionError(
            f'a state must be a Variable, but it is of {type(state)}; wrap it in '
            'chainer.Variable')
    state.to_device(rnn.device)
    return state
