"""Two-dimensional unpooling."""
from chainer.functions.pooling import pooling_2d, unpooling_nd
from chainer.utils import conv, conv_nd, type_check
from chainer.variable import Variable


class Unpooling2D(unpooling_nd._Unpooling, pooling_2d.Pooling2D):
    """Two-dimensional unpooling (see :func:`unpooling_2d`)."""

    def __init__(self, ksize, stride=None, pad=0, outsize=None, cover_all=True):
        super().__init__(ksize, stride, pad, cover_all)
        self.outs = None if outsize is None else conv_nd.as_tuple(outsize, 2)
        self.outh, self.outw = self.outs or (None, None)

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        check_outsize(self, in_types[0])

    def forward(self, inputs):
        outputs = super().forward(inputs)
        self.outh, self.outw = self.outs
        return outputs


def check_outsize(node, x_type):
    """Expect that pooling maps the size ``outs`` of ``node`` to that of the input."""
    if node.outs is None:
        return
    for axis in range(2):
        expected = conv.get_conv_outsize(
            node.outs[axis], node.ksize[axis], node.stride[axis], node.pad[axis], node.cover_all)
        type_check.expect(x_type.shape[2 + axis] == expected)


def unpooling_2d(x, ksize, stride=None, pad=0, outsize=None, cover_all=True) -> Variable:
    r"""Spread each element of images over a patch.

    The inverse of pooling; where patches overlap, the values are summed up.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        ksize (int or pair of ints): Size of a patch.
        stride (int, pair of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or pair of ints): How much is cut off on each side.
        outsize (pair of ints or None): Height and width of the result. By default those of
            :func:`chainer.utils.get_deconv_outsize`, the smallest that pooling maps to the size of
            ``x``.
        cover_all (bool): As it was (or will be) in pooling; if true, the result is smaller.

    Returns:
        Variable: Shape :math:`(n, c, h_O, w_O)`, dtype of ``x``.

    Raises:
        InvalidType: If ``x`` has another dtype or other dimensions, or pooling does not map
            ``outsize`` to the size of ``x``.
        ValueError: If less than nothing is left of the result.

    >>> x = np.array([[[[1, 2], [3, 4]]]], np.float32)
    >>> F.unpooling_2d(x, 2, cover_all=False).array
    array([[[[1., 1., 2., 2.],
             [1., 1., 2., 2.],
             [3., 3., 4., 4.],
             [3., 3., 4., 4.]]]], dtype=float32)
    """
    return Unpooling2D(ksize, stride, pad, outsize, cover_all).apply((x,))[0]
