"""Linear-chain conditional random fields."""
import chainer
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions import _whole
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


class _LogPartition(_whole.Whole):
    """Logarithm of the partition function of each sequence; inputs are ``cost`` and ``xs``.

    Its gradient is that of the forward algorithm: the probabilities of labels and steps.
    """

    def __init__(self, lengths):
        self.lengths = lengths

    def compute(self, ops, inputs):
        cost, x, *xs = inputs
        alphas, sums = [x], []
        for x in xs:
            sums.append(ops.logsumexp(alphas[-1][:x.shape[0], :, None] + cost, 1))
            alphas.append(sums[-1] + x)
        followers = zip(alphas, (*self.lengths[1:], 0), strict=True)
        ended = [ops.logsumexp(alpha[n:], 1) for alpha, n in followers if n < alpha.shape[0]]
        log_z = ops.concat(ended[::-1], 0)
        return (log_z,), [alphas[1:], sums, log_z]

    def differentiate(self, ops, inputs, saved, grads):
        (cost, x, *_), (g,), (alphas, sums, log_z) = inputs, grads, saved
        alphas = [x, *alphas]
        g_cost, g_xs, from_next, n = None, [], [], 0
        for k in reversed(range(len(alphas))):
            alpha, m = alphas[k], self.lengths[k]
            if n < m or not from_next:  # these sequences end here
                from_next.append(ops.exp(alpha[n:] - log_z[n:m, None]) * g[n:m, None])
            g_x = ops.concat(from_next, 0)
            g_xs.append(g_x)
            if k:
                steps = ops.exp(alphas[k - 1][:m, :, None] + cost - sums[k - 1][:, None])
                steps = steps * g_x[:, None]
                g_step = ops.sum(steps, 0)
                g_cost = g_step if g_cost is None else g_cost + g_step
                from_next, n = [ops.sum(steps, 2)], m
        return g_cost, *g_xs[::-1]


class _Score(_whole.Whole):
    """Score of each sequence; inputs are the scores of its labels, and of the steps between them.

    Both hold what belongs to the first time (or step), to the second, and so on.
    """

    def __init__(self, lengths):
        self.lengths = lengths

    def compute(self, ops, inputs):
        labels, steps = inputs
        n = first = self.lengths[0]
        score, ended = labels[:n], []
        for m in self.lengths[1:]:
            if m < n:
                ended.append(score[m:])
            score = score[:m] + labels[first:first + m]
            score = score + steps[first - self.lengths[0]:first - self.lengths[0] + m]
            n, first = m, first + m
        return (ops.concat([score, *ended[::-1]], 0),), []

    def differentiate(self, ops, inputs, saved, grads):
        g, = grads
        times = [g[:n] for n in self.lengths]
        return ops.concat(times, 0), ops.concat(times[1:], 0)


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
    if len(xs) == 1:
        loss = F.logsumexp(xs[0], axis=1) - F.select_item(xs[0], ys[0])
    else:
        loss = _loss(cost, xs, ys)
    return F.mean(loss) if reduce == 'mean' else loss


def _loss(cost, xs, ys):
    """The loss of each sequence, where there are several positions."""
    lengths = tuple([len(x) for x in xs])
    labels = F.concat(ys, axis=0)
    former = [y if len(y) == n else F.get_item(y, slice(n))
              for y, n in zip(ys, lengths[1:], strict=False)]
    steps, = _TransitionCosts().apply(
        (cost, F.concat(former, axis=0), F.get_item(labels, slice(lengths[0], None))))
    score, = _Score(lengths)(F.select_item(F.concat(xs, axis=0), labels), steps)
    log_z, = _LogPartition(lengths)(cost, *xs)
    return log_z - score


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
