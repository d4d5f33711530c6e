"""Loss layer of linear-chain conditional random fields."""
from chainer import functions as F
from chainer import initializers, link, variable
from chainer.links.connection import n_step_rnn


class CRF1d(link.Link):
    """Loss layer of a linear-chain conditional random field, with learned transition costs.

    Args:
        n_label (int): Number of labels.
        initial_cost (initializer): Initializes the costs: an initializer, a scalar or an array.
            The default is zero.

    Attributes:
        cost (Parameter): Transition costs of shape (n_label, n_label).

    .. seealso:: :func:`chainer.functions.crf1d`, :func:`chainer.functions.argmax_crf1d`

    Example:
        >>> crf = L.CRF1d(2)
        >>> xs = [np.array([[1, 3]], np.float32), np.array([[2, 0]], np.float32)]  # two steps
        >>> float(crf(xs, [np.array([1]), np.array([0])]).array) > 0
        True
        >>> score, path = crf.argmax(xs)
        >>> path
        [array([1], dtype=int32), array([0], dtype=int32)]
    """

    def __init__(self, n_label, initial_cost=None):
        super().__init__()
        with self.init_scope():
            self.cost = variable.Parameter(
                initializers._get_initializer(0 if initial_cost is None else initial_cost),
                (n_label, n_label))

    def forward(self, xs, ys, reduce='mean', transpose=False):
        """Computes the negative log-likelihood.

        Args:
            xs (list of Variables): Scores of each step, of shape (batch, n_label); the batch may
                shrink from step to step. With ``transpose``, scores of each sequence, of shape
                (length, n_label), in any order.
            ys (list of Variables): Labels of each step, or of each sequence, likewise.
            reduce (str): ``'mean'``, or ``'no'`` for the loss of each sequence; with ``transpose``
                those of the longest sequences come first, whatever their order in ``xs``.
            transpose (bool): Whether ``xs`` and ``ys`` are lists of sequences.

        Returns:
            Variable: The loss.
        """
        if not transpose:
            return F.crf1d(self.cost, xs, ys, reduce=reduce)
        order = n_step_rnn.argsort_list_descent(xs)
        return F.crf1d(self.cost, _by_steps(xs, order), _by_steps(ys, order), reduce=reduce)

    def argmax(self, xs, transpose=False):
        """Finds the most probable labels.

        Args:
            xs (list of Variables): See :meth:`forward`.
            transpose (bool): See :meth:`forward`.

        Returns:
            tuple: Scores of the sequences, and a list of arrays of labels, ordered like ``xs``.
            With ``transpose``, the scores of the longest sequences come first in any case.
        """
        if not transpose:
            return F.argmax_crf1d(self.cost, xs)
        order = n_step_rnn.argsort_list_descent(xs)
        score, path = F.argmax_crf1d(self.cost, _by_steps(xs, order))
        path = [labels.array for labels in F.transpose_sequence(path)]
        return score, n_step_rnn.permutate_list(path, order, inv=True)


def _by_steps(sequences, order):
    return F.transpose_sequence(n_step_rnn.permutate_list(sequences, order, inv=False))
