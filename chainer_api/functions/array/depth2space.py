"""From channels to pixels."""
from chainer import backend, function_node
from chainer.functions.array import space2depth
from chainer.utils import type_check
from chainer.variable import Variable


class Depth2Space(function_node.FunctionNode):
    """From channels to pixels (see :func:`depth2space`)."""

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
        x = xp.transpose(x.reshape(n, r, r, c // r ** 2, h, w), (0, 3, 4, 1, 5, 2))
        return x.reshape(n, c // r ** 2, h * r, w * r),

    def backward(self, indexes, grad_outputs):
        return space2depth.Space2Depth(self.r).apply(grad_outputs)


def depth2space(X, r) -> Variable:
    """Make images ``r`` times as large out of ``r * r`` times as many channels.

    Each pixel's channels fill a square of ``r`` by ``r`` pixels; the first ``C / r²`` channels are
    its upper left corner. See: `Shi et al., Real-Time Single Image and Video Super-Resolution
    Using an Efficient Sub-Pixel Convolutional Neural Network <https://arxiv.org/abs/1609.05158>`_.

    Args:
        X (Variable or array): floating-point array of shape ``(B, C, H, W)``.
        r (int): the factor; its square divides ``C``.

    Returns:
        Variable: of shape ``(B, C / r², H r, W r)``.

    Raises:
        InvalidType: if ``X`` is no floating-point array of four dimensions.
        ValueError: if ``r * r`` does not divide ``C``.

    .. seealso:: :func:`chainer.functions.space2depth`

    >>> X = np.arange(8, dtype=np.float32).reshape(1, 4, 1, 2)
    >>> F.depth2space(X, 2).array
    array([[[[0., 2., 1., 3.],
             [4., 6., 5., 7.]]]], dtype=float32)
    """
    return Depth2Space(r).apply((X,))[0]
