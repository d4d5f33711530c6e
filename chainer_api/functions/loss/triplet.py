"""Triplet loss."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Triplet(function_node.FunctionNode):
    """Triplet loss (see :func:`triplet`)."""

    def __init__(self, margin, reduce='mean'):
        if margin <= 0:
            raise ValueError('margin should be positive value.')
        self.margin = float(margin)
        if reduce not in ('mean', 'no'):
            raise ValueError(
                f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('anchor', 'positive', 'negative'))
        anchor_type, positive_type, negative_type = in_types
        type_check.expect(
            anchor_type.dtype.kind == 'f',
            positive_type.dtype == anchor_type.dtype,
            negative_type.dtype == anchor_type.dtype,
            anchor_type.shape == positive_type.shape,
            anchor_type.shape == negative_type.shape,
        )

    def forward(self, inputs):
        anchor, positive, negative = inputs
        xp = backend.get_array_module(anchor)
        self.retain_inputs((0, 1, 2))
        excess = (xp.square(anchor - positive) - xp.square(anchor - negative)).sum(
            axis=1) + self.margin
        self.active = (excess > 0).astype(anchor.dtype)
        loss = xp.maximum(excess, 0)
        if self.reduce == 'mean':
            loss = loss.sum() / anchor.shape[0]
        return utils.force_array(loss, anchor.dtype),

    def backward(self, indexes, grad_outputs):
        anchor, positive, negative = self.get_retained_inputs()
        gy, = grad_outputs
        if self.reduce == 'mean':
            gy = F.broadcast_to(gy * (1. / max(len(anchor), 1)), self.active.shape)
        g = F.broadcast_to(F.expand_dims(gy * self.active * 2, 1), anchor.shape)
        return (
            g * (negative - positive) if 0 in indexes else None,
            g * (positive - anchor) if 1 in indexes else None,
            g * (anchor - negative) if 2 in indexes else None,
        )


def triplet(anchor, positive, negative, margin=0.2, reduce='mean') -> Variable:
    r"""Triplet loss: an anchor shall be nearer to one sample than to another.

    .. math:: L = \max(\| a - p \|_2^2 - \| a - n \|_2^2 + \mathrm{margin}, 0)

    See: `Schroff, Kalenichenko and Philbin, FaceNet: A Unified Embedding for Face
    Recognition and Clustering <https://arxiv.org/abs/1503.03832>`_.

    Args:
        anchor (Variable or array): floating-point array of shape ``(N, K)``.
        positive (Variable or array): samples like the anchors, in the same shape and dtype.
        negative (Variable or array): other samples, in the same shape and dtype.
        margin (float): by how much nearer they shall be.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each triplet.

    Returns:
        Variable: of the dtype of ``anchor``, without dimensions, or of length ``N``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``margin`` is not positive or ``reduce`` is something else.

    >>> anchor, positive, negative = np.array([[0.]]), np.array([[2.]]), np.array([[1.]])
    >>> F.triplet(anchor, positive, negative).array
    array(3.2)
    """
    return Triplet(margin, reduce).apply((anchor, positive, negative))[0]
