"""DeCov loss."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class DeCov(function_node.FunctionNode):
    """DeCov loss (see :func:`decov`)."""

    def __init__(self, reduce='half_squared_sum'):
        if reduce not in ('half_squared_sum', 'no'):
            raise ValueError(
                "only 'half_squared_sum' and 'no' are valid for 'reduce', but "
                f"'{reduce}' is given")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('h',))
        h_type, = in_types
        type_check.expect(h_type.dtype.kind == 'f', h_type.ndim == 2)

    def forward(self, inputs):
        h, = inputs
        xp = backend.get_array_module(h)
        self.retain_inputs((0,))
        h = h - h.mean(axis=0, keepdims=True)
        self.off_diagonal = 1 - xp.eye(h.shape[1], dtype=h.dtype)
        covariance = h.T.dot(h) / len(h) * self.off_diagonal
        if self.reduce == 'half_squared_sum':
            return utils.force_array((covariance * covariance).sum() * 0.5, h.dtype),
        return covariance,

    def backward(self, indexes, grad_outputs):
        h, = self.get_retained_inputs()
        g, = grad_outputs
        h = h - F.broadcast_to(F.mean(h, axis=0, keepdims=True), h.shape)
        scale = 1. / len(h)
        if self.reduce == 'half_squared_sum':
            covariance = F.matmul(h, h, transa=True) * scale
            g = covariance * F.broadcast_to(g, covariance.shape)
        g = g * self.off_diagonal * scale
        return F.matmul(h, g + F.transpose(g)),


def decov(h, reduce='half_squared_sum') -> Variable:
    """Half the sum of squares of the covariances between different units.

    See: `Cogswell et al., Reducing Overfitting in Deep Networks by Decorrelating Representations
    <https://arxiv.org/abs/1511.06068>`_.

    Args:
        h (Variable or array): activations, a floating-point array of shape ``(N, K)``.
        reduce (str): ``'half_squared_sum'``, or ``'no'`` for the covariances themselves.

    Returns:
        Variable: without dimensions, or of shape ``(K, K)`` with zeros on the diagonal.

    Raises:
        InvalidType: if ``h`` is no such array.
        ValueError: if ``reduce`` is something else.

    >>> h = np.array([[0., 1.], [2., 3.]])
    >>> F.decov(h, reduce='no').array
    array([[0., 1.],
           [1., 0.]])
    """
    return DeCov(reduce).apply((h,))[0]
