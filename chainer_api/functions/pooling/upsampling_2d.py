"""Two-dimensional upsampling by the places of maxima."""
from chainer import backend
from chainer.functions.pooling import _max_pooling, pooling_2d, unpooling_2d
from chainer.utils import _errors, conv_nd, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import pooling as kernels


class Upsampling2D(pooling_2d.Pooling2D):
    """Two-dimensional upsampling (see :func:`upsampling_2d`)."""

    def __init__(self, indexes, ksize, stride=None, pad=0, outsize=None, cover_all=True):
        super().__init__(ksize, stride, pad, cover_all)
        _errors.check_arrays('upsampling_2d', indexes=indexes)
        self.indexes = indexes
        self.outs = None if outsize is None else conv_nd.as_tuple(outsize, 2)
        self.outh, self.outw = self.outs or (None, None)

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        type_check.expect(in_types[0].shape == self.indexes.shape)
        unpooling_2d.check_outsize(self, in_types[0])

    def forward(self, inputs):
        x, = inputs
        outsize = self.outs
        if outsize is None:
            outsize = conv_nd.get_deconv_outsizes(
                x.shape[2:], self.ksize, self.stride, self.pad, self.cover_all)
        self._in_shape = self.outh, self.outw = outsize
        indexes = backend.get_array_module(x).asarray(self.indexes)
        return kernels.max_pooling_scatter(x, indexes, shape=outsize, **self.settings),

    def backward(self, indexes, grad_outputs):
        return _max_pooling.MaxPoolingNDWithIndexes(self).apply(grad_outputs)


def upsampling_2d(x, indexes, ksize, stride=None, pad=0, outsize=None, cover_all=True) -> Variable:
    r"""Put each element of images onto the place in a patch where there was a maximum.

    Undoes :func:`max_pooling_2d`, of which it needs the settings and the indices; what was no
    maximum is zero.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        indexes (array): The second result of :func:`max_pooling_2d` with ``return_indices``, of
            the shape of ``x``.
        ksize (int or pair of ints): Size of a patch.
        stride (int, pair of ints or None): Step from one patch to the next; ``ksize`` by default.
        pad (int or pair of ints): How much is cut off on each side.
        outsize (pair of ints or None): Height and width of the result. By default those of
            :func:`chainer.utils.get_deconv_outsize`, the smallest that pooling maps to the size of
            ``x``.
        cover_all (bool): As it was in pooling.

    Returns:
        Variable: Shape :math:`(n, c, h_O, w_O)`, dtype of ``x``.

    Raises:
        InvalidType: If ``x`` and ``indexes`` do not fit, or pooling does not map ``outsize`` to
            the size of ``x``.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> y, indexes = F.max_pooling_2d(x, 2, return_indices=True)
    >>> F.upsampling_2d(y, indexes, 2, outsize=(4, 4)).array
    array([[[[ 0.,  0.,  0.,  0.],
             [ 0.,  5.,  0.,  7.],
             [ 0.,  0.,  0.,  0.],
             [ 0., 13.,  0., 15.]]]], dtype=float32)
    """
    return Upsampling2D(indexes, ksize, stride, pad, outsize, cover_all).apply((x,))[0]
