"""LSTM layer with zoneout."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import linear
from chainer.links.connection import lstm as _lstm


class StatefulZoneoutLSTM(link.Chain):
    """LSTM layer that keeps its states between calls, and some of their elements unchanged.

    While ``chainer.config.train`` is true, each element of the new cell states and outputs is
    replaced by the old one with a given probability; otherwise they are averaged accordingly.
    See: `Krueger et al., Zoneout: Regularizing RNNs by Randomly Preserving Hidden Activations
    <https://arxiv.org/abs/1606.01305>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of the states.
        c_ratio (float): Probability to keep an element of the cell states.
        h_ratio (float): Probability to keep an element of the outputs.

    Attributes:
        upward (Linear): Connection from the input to the four gates.
        lateral (Linear): Connection from the previous output, without a bias.
        c (Variable): Cell states, or ``None`` before the first call.
        h (Variable): Outputs of the last call, or ``None`` before the first call.

    .. seealso:: :func:`chainer.functions.zoneout`, :class:`LSTM`

    Example:
        >>> layer = L.StatefulZoneoutLSTM(3, 2)
        >>> layer(np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def __init__(self, in_size, out_size, c_ratio=0.5, h_ratio=0.5):
        super().__init__()
        self.state_size = out_size
        self.c_ratio = c_ratio
        self.h_ratio = h_ratio
        self.reset_state()
        with self.init_scope():
            self.upward = linear.Linear(in_size, 4 * out_size)
            self.lateral = linear.Linear(out_size, 4 * out_size, nobias=True)

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        _lstm.visit_states(visitor, self.c, self.h)

    def set_state(self, c, h):
        """Sets the states, on the device of the link.

        Args:
            c (Variable): Cell states of shape (batch, out_size).
            h (Variable): Outputs of the step before, likewise.
        """
        self.c = _lstm.state_on_device(self, c)
        self.h = _lstm.state_on_device(self, h)

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
        gates = self.upward(x)
        c, h = self.c, self.h
        if h is None:
            h = _lstm.zero_state(self, x, self.state_size)
        else:
            gates = gates + self.lateral(h)
        if c is None:
            c = _lstm.zero_state(self, x, self.state_size)
        a, i, f, o = _lstm.split_gates(gates)
        new_c = F.tanh(a) * F.sigmoid(i) + F.sigmoid(f) * c
        new_h = F.sigmoid(o) * F.tanh(new_c)
        self.c = F.zoneout(c, new_c, self.c_ratio)
        self.h = F.zoneout(h, new_h, self.h_ratio)
        return self.h
