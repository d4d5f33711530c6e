"""Linear-chain conditional random fields."""
import chainer
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class _TransitionCosts(function_node.FunctionNode):
    """``(cost, y0, y1) -> cost[y0, y1]``."""

    def forward(self, inputs):
        cost, y0, y1 = inputs
        self.retain_inputs((1, 2))
        self._shape = cost.shape
        return cost[y0, y1],

    def backward(self, indexes, grad_outputs):
        y0, y1 = self.get_retained_inputs()
        return _SumTransitions(self._shape).apply((grad_outputs[0], y0, y1))[0], None, None


class _SumTransitions(function_node.FunctionNode):
    """The transposed map: adds values up at the transitions."""

    def __init__(self, shape):
        self.shape = shape

    def forward(self, inputs):
        g, y0, y1 = inputs
        self.retain_inputs((1, 2))
        xp = backend.get_array_module(g)
        cost = xp.zeros(self.shape, g.dtype)
        xp.add.at(cost, (y0, y1), g)
        return cost,

    def backward(self, indexes, grad_outputs):
        y0, y1 = self.get_retained_inputs()
        return _TransitionCosts().apply((grad_outputs[0], y0, y1))[0], None, None


def _check(cost, xs):
    """Expect a square ``cost``, and steps of as many labels that never grow in number."""
    if not xs:
        raise ValueError('xs is empty: at least one position is needed')
    _errors.check_arrays('crf1d', cost=cost)
    _errors.check_lists('crf1d', xs=xs)
    labels = xs[0].shape[1]
    if cost.shape != (labels, labels):
        raise type_check.InvalidType(
            f'cost.shape == {(labels, labels)}', f'{cost.shape} != {(labels, labels)}')
    for i, (former, latter) in enumerate(zip(xs[:-1], xs[1:], strict=True)):
        if len(former) < len(latter):
            raise type_check.InvalidType(
                f'len(xs[{i}]) >= len(xs[{i + 1}])', f'{len(former)} < {len(latter)}')


def crf1d(cost, xs, ys, reduce='mean') -> Variable:
    r"""Negative log-likelihood of a linear-chain conditional random field.

    .. math:: L = \log Z - \sum_{i=1}^l x_{i y_i} - \sum_{i=1}^{l-1} c_{y_i y_{i+1}}

    with the partition function :math:`Z`, the sum over all label sequences. See: `Lafferty,
    McCallum and Pereira, Conditional Random Fields
    <https://repository.upenn.edu/cis_papers/159/>`_.

    Sequences of different lengths are sorted from the longest to the shortest and transposed (see
    :func:`~chainer.functions.transpose_sequence`): the later items are shorter.

    Args:
        cost (Variable or array): scores ``cost[s, t]`` of a step from label ``s`` to ``t``,
            floating-point, of shape ``(K, K)``.
        xs (list of Variables or arrays): scores of the labels at each position, each of shape
            ``(B, K)``.
        ys (list of Variables or arrays): labels at each position, integers of length ``B``.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each sequence.

    Returns:
        Variable: without dimensions, or of the length of the first ``B``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``reduce`` is something else.

    >>> xs = [np.zeros((1, 2)), np.zeros((1, 2))]
    >>> ys = [np.array([0]), np.array([1])]
    >>> F.crf1d(np.zeros((2, 2)), xs, ys).array  # log(4)
    array(1.38629436)
    """
    if reduce not in ('mean', 'no'):
        raise ValueError(f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
    _check(cost, xs)
    alpha = chainer.as_variable(xs[0])
    score = F.select_item(xs[0], ys[0])
    ended = []
    for x, y0, y in zip(xs[1:], ys[:-1], ys[1:], strict=True):
        n = len(x)
        if n < len(alpha):
            ended.append(F.logsumexp(alpha[n:], axis=1) - score[n:])
            alpha, score, y0 = alpha[:n], score[:n], F.get_item(y0, slice(n))
        alpha = F.logsumexp(F.expand_dims(alpha, 2) + cost, axis=1) + x
        score = score + F.select_item(x, y) + _TransitionCosts().apply((cost, y0, y))[0]
    ended.append(F.logsumexp(alpha, axis=1) - score)
    loss = F.concat(ended[::-1], axis=0)
    return F.mean(loss) if reduce == 'mean' else loss


def argmax_crf1d(cost, xs):
    """Most probable labels of a linear-chain conditional random field.

    Args:
        cost (Variable or array): scores of steps between labels (see :func:`crf1d`).
        xs (list of Variables or arrays): scores of the labels at each position.

    Returns:
        tuple: the score of each sequence, a Variable; and for each position the int32 array of the
        best labels.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> xs = [np.array([[0., 1.]]), np.array([[3., 0.]])]
    >>> score, labels = F.argmax_crf1d(np.zeros((2, 2)), xs)
    >>> score.array, labels
    (array([4.]), [array([1], dtype=int32), array([0], dtype=int32)])
    """
    _check(cost, xs)
    alpha = chainer.as_variable(xs[0])
    ended = []
    ends = []
    predecessors = []
    for x in xs[1:]:
        n = len(x)
        end = None
        if n < len(alpha):
            end = alpha[n:]
            ended.append(F.max(end, axis=1))
            alpha = alpha[:n]
        ends.append(end)
        steps = F.expand_dims(alpha, 2) + cost
        predecessors.append(F.argmax(steps, axis=1))
        alpha = F.max(steps, axis=1) + x
    ended.append(F.max(alpha, axis=1))

    labels = F.argmax(alpha, axis=1)
    path = [labels]
    for predecessor, end in zip(predecessors[::-1], ends[::-1], strict=True):
        labels = F.select_item(predecessor, labels)
        if end is not None:
            labels = F.concat((labels, F.argmax(end, axis=1)), axis=0)
        path.append(labels)
    return F.concat(ended[::-1], axis=0), [labels.array for labels in path[::-1]]
