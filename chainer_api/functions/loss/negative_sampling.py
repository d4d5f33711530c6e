"""Negative sampling loss."""
import numpy

from chainer import backend, utils
from chainer import functions as F
from chainer.functions.connection import embed_id
from chainer.utils import argument, type_check, walker_alias
from chainer.variable import Variable


class NegativeSamplingFunction(walker_alias.Sampled):
    """Negative sampling loss (see :func:`negative_sampling`).

    Attributes:
        samples: the samples, the right one first in each row, once the function has been applied.
    """

    def __init__(self, sampler, sample_size, reduce='sum'):
        if reduce not in ('sum', 'no'):
            raise ValueError(
                f"only 'sum' and 'no' are valid for 'reduce', but '{reduce}' is given")
        super().__init__(sampler)
        self.sample_size = sample_size
        self.reduce = reduce
        self.samples = None

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't', 'W'))
        x_type, t_type, w_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim == 2,
            t_type.dtype == numpy.int32,
            t_type.ndim == 1,
            x_type.shape[0] == t_type.shape[0],
            w_type.dtype == x_type.dtype,
            w_type.ndim == 2,
        )

    def forward(self, inputs):
        x, t, W = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0, 2))
        samples = self.draw(xp, (len(t), self.sample_size + 1))
        if not isinstance(samples, xp.ndarray):
            samples = xp.asarray(samples)
        samples[:, 0] = t
        self.samples = samples
        self.kept = (t != -1).astype(x.dtype)
        # One for the samples, minus one for the right ones.
        self.sign = xp.ones(samples.shape[1], x.dtype)
        self.sign[0] = -1
        score = xp.einsum('ij,ikj->ik', x, W[samples]) * self.sign
        loss = (xp.maximum(score, 0) + xp.log1p(xp.exp(-abs(score)))).sum(axis=1) * self.kept
        if self.reduce == 'sum':
            loss = loss.sum()
        return utils.force_array(loss, x.dtype),

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        shape = self.samples.shape
        if self.reduce == 'sum':
            gy = F.broadcast_to(gy, shape[:1])
        w = embed_id.embed_id(self.samples, W)
        score = F.einsum('ij,ikj->ik', x, w) * self.sign
        g = F.broadcast_to(F.expand_dims(gy * self.kept, 1), shape) * F.sigmoid(score) * self.sign
        gx = gW = None
        if 0 in indexes:
            gx = F.einsum('ik,ikj->ij', g, w)
        if 2 in indexes:
            rows = F.einsum('ik,ij->ikj', g, x)
            gW, = embed_id.EmbedIDGrad(W.shape).apply((self.samples, rows))
        return gx, None, gW


def negative_sampling(x, t, W, sampler, sample_size, reduce='sum', **kwargs) -> Variable:
    r"""Negative sampling loss, for scores of very many classes.

    .. math:: L = -\log \sigma(x^\top w_p) - \sum_{n \in N} \log \sigma(-x^\top w_n)

    where :math:`p` is the right class and :math:`N` are some classes drawn by ``sampler``. See:
    `Mikolov et al., Distributed Representations of Words and Phrases and their Compositionality
    <https://arxiv.org/abs/1310.4546>`_.

    Args:
        x (Variable or array): vectors, floating-point of shape ``(N, D)``.
        t (Variable or array): right classes, int32 of length ``N``; -1 for none.
        W (Variable or array): one vector for each class, of shape ``(V, D)``.
        sampler (function): takes a shape and returns an integer array of that shape, drawn from
            the distribution of the classes. See :class:`chainer.utils.WalkerAlias`.
        sample_size (int): number of samples for each item.
        reduce (str): ``'sum'``, or ``'no'`` for the loss of each item.
        return_samples (bool): keyword only; whether to return the samples too.

    Returns:
        Variable: without dimensions, or of length ``N``. With ``return_samples``, a tuple of it
        and the array of samples, whose first column is ``t``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``reduce`` is something else.

    .. seealso:: :class:`chainer.links.NegativeSampling`

    >>> x, W, t = np.zeros((1, 2)), np.zeros((3, 2)), np.array([0], np.int32)
    >>> F.negative_sampling(x, t, W, lambda shape: np.ones(shape, int), 1).array  # log(4)
    array(1.38629436)
    """
    return_samples = False
    if kwargs:
        return_samples, = argument.parse_kwargs(kwargs, ('return_samples', return_samples))
    function = NegativeSamplingFunction(sampler, sample_size, reduce)
    if return_samples:
        function.opaque = 'its samples are wanted'
    y, = function.apply((x, t, W))
    return (y, function.samples) if return_samples else y
