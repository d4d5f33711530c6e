"""LSTM layer with peephole connections."""
from chainer import functions as F
from chainer import link
from chainer.links.connection import linear
from chainer.links.connection import lstm as _lstm


class StatefulPeepholeLSTM(link.Chain):
    r"""LSTM layer, whose gates see the cells, and which keeps its states between calls.

    .. math::
        a &= \tanh(u_a + l_a), \\
        i &= \sigma(u_i + l_i + P_i c), \\
        f &= \sigma(u_f + l_f + P_f c), \\
        c' &= a \odot i + f \odot c, \\
        o &= \sigma(u_o + l_o + P_o c'), \\
        h' &= o \odot \tanh(c'),

    where :math:`u` are the parts of ``upward(x)`` and :math:`l` those of ``lateral(h)``. See:
    `Gers and Schmidhuber, Recurrent Nets that Time and Count
    <https://doi.org/10.1109/IJCNN.2000.861302>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of the states.

    Attributes:
        upward (Linear): Connection from the input to the four gates.
        lateral (Linear): Connection from the previous output, without a bias.
        peep_i, peep_f, peep_o (Linear): Connections from the cells to a gate, without a bias.
        c (Variable): Cell states, or ``None`` before the first call.
        h (Variable): Outputs of the last call, or ``None`` before the first call.

    Example:
        >>> layer = L.StatefulPeepholeLSTM(3, 2)
        >>> layer(np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def __init__(self, in_size, out_size):
        super().__init__()
        self.state_size = out_size
        self.reset_state()
        with self.init_scope():
            self.upward = linear.Linear(in_size, 4 * out_size)
            self.lateral = linear.Linear(out_size, 4 * out_size, nobias=True)
            self.peep_i = linear.Linear(out_size, out_size, nobias=True)
            self.peep_f = linear.Linear(out_size, out_size, nobias=True)
            self.peep_o = linear.Linear(out_size, out_size, nobias=True)

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        _lstm.visit_states(visitor, self.c, self.h)

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
        if self.h is not None:
            gates = gates + self.lateral(self.h)
        c = self.c
        if c is None:
            c = _lstm.zero_state(self, x, self.state_size)
        a, i, f, o = _lstm.split_gates(gates)
        a = F.tanh(a)
        i = F.sigmoid(i + self.peep_i(c))
        f = F.sigmoid(f + self.peep_f(c))
        c = a * i + f * c
        o = F.sigmoid(o + self.peep_o(c))
        self.c = c
        self.h = o * F.tanh(c)
        return self.h
