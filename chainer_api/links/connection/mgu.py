"""Minimal gated unit layers."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import linear
from chainer.links.connection import lstm as _lstm


class MGUBase(link.Chain):
    """What the minimal gated unit layers share.

    Args:
        n_inputs (int): Size of an input.
        n_units (int): Size of the state.
    """

    def __init__(self, n_inputs, n_units):
        super().__init__()
        with self.init_scope():
            self.W_f = linear.Linear(n_inputs + n_units, n_units)
            self.W_h = linear.Linear(n_inputs + n_units, n_units)

    def _call_mgu(self, h, x):
        f = F.sigmoid(self.W_f(F.concat([h, x])))
        h_bar = F.tanh(self.W_h(F.concat([f * h, x])))
        return F.linear_interpolate(f, h_bar, h)


class StatelessMGU(MGUBase):
    r"""Minimal gated unit layer whose state is an argument and the result of each call.

    .. math::
        f &= \sigma(W_f [h, x]), \\
        \bar{h} &= \tanh(W_h [f \odot h, x]), \\
        h' &= (1 - f) \odot h + f \odot \bar{h},

    each product with a bias. See: `Zhou et al., Minimal Gated Unit for Recurrent Neural Networks
    <https://arxiv.org/abs/1603.09420>`_.

    Args:
        n_inputs (int): Size of an input.
        n_units (int): Size of the state.

    Attributes:
        W_f, W_h (Linear): Connections.

    Example:
        >>> layer = L.StatelessMGU(3, 2)
        >>> h = chainer.Variable(np.zeros((5, 2), np.float32))
        >>> layer(h, np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def forward(self, h, x):
        """Advances by one step.

        Args:
            h (Variable): States of shape (batch, n_units).
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: The new states.
        """
        return self._call_mgu(h, x)


class StatefulMGU(MGUBase):
    """Minimal gated unit layer that keeps its state from one call to the next.

    See :class:`StatelessMGU` for what it computes; the first state is zero.

    Args:
        in_size (int): Size of an input.
        out_size (int): Size of the state.

    Attributes:
        h (Variable): State, or ``None`` before the first call.

    Example:
        >>> layer = L.StatefulMGU(3, 2)
        >>> layer(np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def __init__(self, in_size, out_size):
        super().__init__(in_size, out_size)
        self._state_size = out_size
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
        if h is None:
            h = _lstm.zero_state(self, x, self._state_size)
        self.h = self._call_mgu(h, x)
        return self.h
