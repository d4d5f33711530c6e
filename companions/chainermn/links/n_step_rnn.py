"""Recurrent networks that hand their state from process to process."""
import chainer
from chainer import utils
from chainer.links.rnn import n_step_rnn
from chainermn import functions


class _MultiNodeNStepRNN(chainer.Chain):

    def __init__(self, link, communicator, rank_in, rank_out):
        super().__init__()
        self.communicator = communicator
        self.rank_in = rank_in
        self.rank_out = rank_out
        with self.init_scope():
            self.actual_rnn = link

    def forward(self, *inputs):
        n_states = self.actual_rnn.n_cells
        if self.rank_in is None:
            states = [None] * n_states
        else:
            states = functions.recv(self.communicator, self.rank_in, force_tuple=True)
        *states, ys = self.actual_rnn(*states, *inputs)
        delegate = None
        if self.rank_out is not None:
            delegate = functions.send(states, self.communicator, self.rank_out)
        return *states, ys, delegate


def create_multi_node_n_step_rnn(actual_link, communicator, rank_in=None, rank_out=None):
    """Make a recurrent network begin with the state of another process, or hand its state on.

    The new link is called as the given one, but without states: these are received, or are zero.
    It returns one value more, from which backward waits for the gradients of what was sent
    (``None`` if nothing was).

    Args:
        actual_link (chainer.Link): :class:`~chainer.links.NStepLSTM`,
            :class:`~chainer.links.NStepGRU` or the like.
        communicator (CommunicatorBase): Communicator.
        rank_in (int or None): Process whose state comes first.
        rank_out (int or None): Process that goes on from the last state.

    Returns:
        chainer.Chain: The new link.

    Raises:
        ValueError: The link is no such network.

    >>> import chainermn
    >>> comm = chainermn.create_communicator('naive')
    >>> rnn = chainermn.links.create_multi_node_n_step_rnn(L.NStepGRU(1, 2, 3, 0.), comm)
    >>> h, ys, delegate = rnn([np.ones((4, 2), np.float32)])
    >>> h.shape, ys[0].shape, delegate
    ((1, 1, 3), (4, 3), None)
    """
    utils.experimental('chainermn.links.create_multi_node_n_step_rnn')
    if not isinstance(actual_link, n_step_rnn.NStepRNNBase):
        raise ValueError('link must be NStepRNN and its inherited link')
    return _MultiNodeNStepRNN(actual_link, communicator, rank_in, rank_out)
