"""From pixels to channels."""
from chainer import backend, function_node
from chainer.functions.array import depth2space
from chainer.utils import type_check
from chainer.variable import Variable


class Space2Depth(function_node.FunctionNode):
    """From pixels to channels (see :func:`space2depth`)."""

    def __init__(self, r):
        self.r = r

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim == 4)

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        n, c, h, w = x.shape
        r = self.r
        x = xp.transpose(x.reshape(n, c, h // r, r, w // r, r), (0, 3, 5, 1, 2, 4))
        return x.reshape(n, r * r * c, h // r, w // r),

    def backward(self, indexes, grad_outputs):
        return depth2space.Depth2Space(self.r).apply(grad_outputs)


def space2depth(X, r) -> Variable:
    """Make ``r * r`` times as many channels out of squares of ``r`` by ``r`` pixels.

    It undoes :func:`~chainer.functions.depth2space`.

    Args:
        X (Variable or array): floating-point array of shape ``(B, C, H, W)``.
        r (int): the factor; it divides ``H`` and ``W``.

    Returns:
        Variable: of shape ``(B, r² C, H / r, W / r)``.

    Raises:
        InvalidType: if ``X`` is no floating-point array of four dimensions.
        ValueError: if ``r`` does not divide ``H`` and ``W``.

    >>> X = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    >>> F.space2depth(X, 2).array[0, :, 0]
    array([[0., 2.],
           [1., 3.],
           [4., 6.],
           [5., 7.]], dtype=float32)
    """
    return Space2Depth(r).apply((X,))[0]
