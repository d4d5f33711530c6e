"""Gated recurrent unit layers."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import linear
from chainer.links.connection import lstm as _lstm


class GRUBase(link.Chain):
    """What the GRU layers share: the connections.

    Args:
        in_size, out_size, init, inner_init, bias_init: See :class:`StatefulGRU`.
    """

    def __init__(self, in_size, out_size, init=None, inner_init=None, bias_init=None):
        super().__init__()

        def upward():
            return linear.Linear(in_size, out_size, initialW=init, initial_bias=bias_init)

        def lateral():
            return linear.Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)

        with self.init_scope():
            self.W_r = upward()
            self.U_r = lateral()
            self.W_z = upward()
            self.U_z = lateral()
            self.W = upward()
            self.U = lateral()

    def _advance(self, h, x):
        r = F.sigmoid(self.W_r(x) + self.U_r(h))
        z = F.sigmoid(self.W_z(x) + self.U_z(h))
        h_bar = F.tanh(self.W(x) + self.U(r * h))
        return F.linear_interpolate(z, h_bar, h)


class StatelessGRU(GRUBase):
    r"""Gated recurrent unit layer whose state is an argument and the result of each call.

    .. math::
        r &= \sigma(W_r x + U_r h), \\
        z &= \sigma(W_z x + U_z h), \\
        \bar{h} &= \tanh(W x + U (r \odot h)), \\
        h' &= (1 - z) \odot h + z \odot \bar{h},

    each product with a bias of its own. See: `Cho et al., On the Properties of Neural Machine
    Translation: Encoder-Decoder Approaches <https://www.aclweb.org/anthology/W14-4012>`_.

    Args:
        in_size, out_size, init, inner_init, bias_init: See :class:`StatefulGRU`.

    Attributes:
        W_r, W_z, W (Linear): Connections from the input.
        U_r, U_z, U (Linear): Connections from the state.

    .. seealso:: :class:`StatefulGRU`, :class:`NStepGRU`

    Example:
        >>> layer = L.StatelessGRU(3, 2)
        >>> h = chainer.Variable(np.zeros((5, 2), np.float32))
        >>> layer(h, np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def forward(self, h, x):
        """Advances by one step.

        Args:
            h (Variable): States of shape (batch, out_size).
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: The new states.
        """
        return self._advance(h, x)


class StatefulGRU(GRUBase):
    """Gated recurrent unit layer that keeps its state from one call to the next.

    See :class:`StatelessGRU` for what it computes; the first state is zero.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of the state.
        init (initializer): Initializes the weights for the input (``W``): an initializer, a scalar
            or an array. The default is :class:`~chainer.initializers.LeCunNormal`.
        inner_init (initializer): Likewise for the state (``U``).
        bias_init (initializer): Initializes the biases. The default is zero.

    Attributes:
        h (Variable): State, or ``None`` before the first call.

    Example:
        >>> layer = L.StatefulGRU(3, 2)
        >>> layer(np.ones((5, 3), np.float32)) is layer.h
        True
        >>> layer.reset_state()
        >>> layer.h is None
        True
    """

    def __init__(self, in_size, out_size, init=None, inner_init=None, bias_init=0):
        super().__init__(in_size, out_size, init, inner_init, bias_init)
        self.state_size = out_size
        self.reset_state()

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        _lstm.visit_states(visitor, self.h)

    def set_state(self, h):
        """Sets the state, on the device of the link.

        Args:
            h (Variable): States of shape (batch, out_size).
        """
        self.h = _lstm.state_on_device(self, h)

    def reset_state(self):
        """Forgets the state: the next call starts new sequences."""
        self.h = None

    def forward(self, x):
        """Advances by one step and keeps the new state.

        Args:
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: The new states, of shape (batch, out_size).
        """
        h = self.h
        self.h = self._start(x) if h is None else self._advance(h, x)
        return self.h

    def _start(self, x):
        # The reset gate and U have nothing to act on yet, and get no gradients.
        z = F.sigmoid(self.W_z(x))
        return z * F.tanh(self.W(x))


class GRU(StatefulGRU):
    """Gated recurrent unit layer, with a state: the same as :class:`StatefulGRU`.

    In Chainer 1 this name was that of what is :class:`StatelessGRU` now.
    """

    def forward(self, *args):
        """Advances by one step and keeps the new state, see :meth:`StatefulGRU.forward`.

        Raises:
            ValueError: There is more than one argument.
        """
        if len(args) != 1:
            raise ValueError(
                f'Invalid argument. The length of GRU.forward must be 1. But {len(args)} is '
                'given. In Chainer v2, chainer.links.GRU is changed from stateless to stateful. '
                'One possibility is you assume GRU to be stateless. Use '
                'chainer.links.StatelessGRU instead.')
        return super().forward(args[0])
