"""Cross-covariance penalty."""
from chainer import function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class CrossCovariance(function_node.FunctionNode):
    """Cross-covariance penalty (see :func:`cross_covariance`)."""

    def __init__(self, reduce='half_squared_sum'):
        if reduce not in ('half_squared_sum', 'no'):
            raise ValueError(
                "Only 'half_squared_sum' and 'no' are valid for 'reduce', but "
                f"'{reduce}' is given")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('y', 'z'))
        y_type, z_type = in_types
        type_check.expect(
            y_type.dtype.kind == 'f',
            y_type.dtype == z_type.dtype,
            y_type.ndim == 2,
            z_type.ndim == 2,
            y_type.shape[0] == z_type.shape[0],
        )

    def forward(self, inputs):
        y, z = inputs
        self.retain_inputs((0, 1))
        y = y - y.mean(axis=0, keepdims=True)
        z = z - z.mean(axis=0, keepdims=True)
        covariance = y.T.dot(z) / len(y)
        if self.reduce == 'half_squared_sum':
            return utils.force_array((covariance * covariance).sum() * 0.5, y.dtype),
        return covariance,

    def backward(self, indexes, grad_outputs):
        y, z = self.get_retained_inputs()
        g, = grad_outputs
        y, z = (x - F.broadcast_to(F.mean(x, axis=0, keepdims=True), x.shape) for x in (y, z))
        scale = 1. / len(y)
        if self.reduce == 'half_squared_sum':
            covariance = F.matmul(y, z, transa=True) * scale
            g = covariance * F.broadcast_to(g, covariance.shape)
        g = g * scale
        return (
            F.matmul(z, g, transb=True) if 0 in indexes else None,
            F.matmul(y, g) if 1 in indexes else None,
        )


def cross_covariance(y, z, reduce='half_squared_sum') -> Variable:
    """Half the sum of squares of the covariances between two groups of units.

    See: `Cheung et al., Discovering Hidden Factors of Variation in Deep Networks
    <https://arxiv.org/abs/1412.6583>`_.

    Args:
        y (Variable or array): floating-point array of shape ``(N, K)``.
        z (Variable or array): of shape ``(N, L)`` and the same dtype.
        reduce (str): ``'half_squared_sum'``, or ``'no'`` for the covariances themselves.

    Returns:
        Variable: without dimensions, or of shape ``(K, L)``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``reduce`` is something else.

    >>> y, z = np.array([[1.], [3.]]), np.array([[0., 1.], [2., 1.]])
    >>> F.cross_covariance(y, z, reduce='no').array
    array([[1., 0.]])
    """
    return CrossCovariance(reduce).apply((y, z))[0]
