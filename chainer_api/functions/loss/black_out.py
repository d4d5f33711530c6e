"""BlackOut loss."""
from chainer import functions as F
from chainer.variable import Variable


def black_out(x, t, W, samples, reduce='mean') -> Variable:
    r"""BlackOut loss, for scores of very many classes.

    .. math:: L = -\log p(t) - \sum_{s \in S} \log(1 - p(s)), \quad
        p(y) = \frac{e^{w_y^\top x}}{\sum_{s \in S \cup \{t\}} e^{w_s^\top x}}

    See: `Ji et al., BlackOut: Speeding up Recurrent Neural Network Language Models With Very
    Large Vocabularies <https://arxiv.org/abs/1511.06909>`_.

    Args:
        x (Variable or array): vectors, floating-point of shape ``(N, D)``.
        t (Variable or array): right classes, ``N`` integers.
        W (Variable or array): one vector for each class, of shape ``(V, D)``.
        samples (Variable or array): other classes, integers of shape ``(N, S)``.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each item.

    Returns:
        Variable: without dimensions, or of length ``N``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``reduce`` is something else.

    .. seealso:: :class:`chainer.links.BlackOut`

    >>> x, W, t = np.zeros((1, 2)), np.zeros((3, 2)), np.array([0])
    >>> F.black_out(x, t, W, np.array([[1]])).array  # p is 1/2 for both
    array(1.38629436)
    """
    if reduce not in ('mean', 'no'):
        raise ValueError(f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
    rows = F.concat((F.expand_dims(t, 1), F.cast(samples, t.dtype)), axis=1)
    score = F.einsum('ij,ikj->ik', F.identity(x), F.embed_id(rows, W))
    p = F.softmax(score, axis=1)
    # 1 - p of large scores: the floor keeps the logarithm finite.
    loss = -F.log_softmax(score, axis=1)[:, 0] - F.sum(F.log(1 - p[:, 1:]), axis=1)
    return F.mean(loss) if reduce == 'mean' else loss
