"""Contrastive loss."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Contrastive(function_node.FunctionNode):
    """Contrastive loss (see :func:`contrastive`)."""

    def __init__(self, margin, reduce='mean'):
        if margin <= 0:
            raise ValueError('margin should be positive value.')
        self.margin = float(margin)
        if reduce not in ('mean', 'no'):
            raise ValueError(
                f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x0', 'x1', 'y'))
        x0_type, x1_type, y_type = in_types
        type_check.expect(
            x0_type.dtype.kind == 'f',
            x0_type.dtype == x1_type.dtype,
            y_type.dtype.kind == 'i',
            x0_type.shape == x1_type.shape,
            x1_type.shape[0] == y_type.shape[0],
            x0_type.ndim == 2,
            x1_type.ndim == 2,
            y_type.ndim == 1,
        )

    def forward(self, inputs):
        x0, x1, y = inputs
        xp = backend.get_array_module(x0)
        self.retain_inputs((0, 1))
        diff = x0 - x1
        square = (diff * diff).sum(axis=1)
        missing = xp.maximum(self.margin - xp.sqrt(square), 0)
        self.similar = y.astype(x0.dtype)
        self.different = 1 - self.similar
        loss = 0.5 * (self.similar * square + self.different * missing * missing)
        if self.reduce == 'mean':
            loss = loss.sum() / len(loss)
        return utils.force_array(loss, x0.dtype),

    def backward(self, indexes, grad_outputs):
        x0, x1 = self.get_retained_inputs()
        gy, = grad_outputs
        if self.reduce == 'mean':
            gy = F.broadcast_to(gy * (1. / max(len(x0), 1)), (len(x0),))
        diff = x0 - x1
        distance = F.sqrt(F.batch_l2_norm_squared(diff))
        # Equal samples have no direction to be pushed apart. 1e-7 is no zero in half precision.
        direction = diff / _wide(F.clip(distance, 1e-7, None), diff)
        apart = self.different * F.relu(self.margin - distance)
        g = _wide(gy * self.similar, diff) * diff - _wide(gy * apart, diff) * direction
        return g if 0 in indexes else None, -g if 1 in indexes else None, None


def _wide(rows, x):
    return F.broadcast_to(F.expand_dims(rows, 1), x.shape)


def contrastive(x0, x1, y, margin=1, reduce='mean') -> Variable:
    r"""Contrastive loss: similar samples are pulled together, others pushed apart.

    .. math:: L = \frac{1}{2} (y d^2 + (1 - y) \max(\mathrm{margin} - d, 0)^2),
        \quad d = \| x_0 - x_1 \|_2

    See: `Chopra, Hadsell and LeCun, Learning a Similarity Metric Discriminatively, with
    Application to Face Verification <http://yann.lecun.com/exdb/publis/pdf/chopra-05.pdf>`_.

    Args:
        x0 (Variable or array): floating-point array of shape ``(N, K)``.
        x1 (Variable or array): of the shape and dtype of ``x0``.
        y (Variable or array): ``N`` integers: 1 for similar samples, 0 for others.
        margin (float): distance up to which samples that are not similar are pushed.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each pair.

    Returns:
        Variable: of the dtype of ``x0``, without dimensions, or of length ``N``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``margin`` is not positive or ``reduce`` is something else.

    >>> x0 = np.array([[1., 2.], [1., 2.]])
    >>> x1 = np.array([[1., 5.], [1., 2.5]])
    >>> F.contrastive(x0, x1, np.array([1, 0]), reduce='no').array
    array([4.5  , 0.125])
    """
    return Contrastive(margin, reduce).apply((x0, x1, y))[0]
