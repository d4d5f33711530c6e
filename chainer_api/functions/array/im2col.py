"""Windows of images as columns."""
from chainer import function_node
from chainer.utils import conv, type_check
from chainer.variable import Variable


class Im2Col(function_node.FunctionNode):
    """Windows of images as columns (see :func:`im2col`)."""

    def __init__(self, ksize, stride, pad, cover_all, dilate):
        self.kh, self.kw = _pair(ksize)
        self.sy, self.sx = _pair(stride)
        self.ph, self.pw = _pair(pad)
        self.dy, self.dx = _pair(dilate)
        self.cover_all = cover_all

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim == 4)

    def forward(self, inputs):
        x, = inputs
        self._shape = x.shape
        y = conv.im2col(x, self.kh, self.kw, self.sy, self.sx, self.ph, self.pw,
                        cover_all=self.cover_all, dy=self.dy, dx=self.dx)
        n, c, kh, kw, out_h, out_w = y.shape
        return y.reshape(n, c * kh * kw, out_h, out_w),

    def backward(self, indexes, grad_outputs):
        return _Im2ColGrad(self, self._shape).apply(grad_outputs)


class _Im2ColGrad(function_node.FunctionNode):
    """Adds windows up into images."""

    def __init__(self, im2col, shape):
        self.im2col = im2col
        self.shape = shape

    def forward(self, inputs):
        gy, = inputs
        f = self.im2col
        n, c, h, w = self.shape
        gy = gy.reshape(n, c, f.kh, f.kw, *gy.shape[2:])
        return conv.col2im(gy, f.sy, f.sx, f.ph, f.pw, h, w, f.dy, f.dx),

    def backward(self, indexes, grad_outputs):
        f = self.im2col
        return Im2Col((f.kh, f.kw), (f.sy, f.sx), (f.ph, f.pw), f.cover_all, (f.dy, f.dx)).apply(
            grad_outputs)


def _pair(x):
    return tuple(x) if hasattr(x, '__getitem__') else (x, x)


def im2col(x, ksize, stride=1, pad=0, cover_all=False, dilate=1) -> Variable:
    """Gather the windows that a convolution sees, each as a column.

    Args:
        x (Variable or array): floating-point images of shape ``(B, C, H, W)``.
        ksize (int or pair of ints): size of the window.
        stride (int or pair of ints): distance of the windows.
        pad (int or pair of ints): width of the zeros around the images.
        cover_all (bool): whether the last window may reach over the edge, so that every pixel is
            in some window.
        dilate (int or pair of ints): distance of the pixels of a window.

    Returns:
        Variable: of shape ``(B, C * kh * kw, out_h, out_w)``.

    Raises:
        InvalidType: if ``x`` is no floating-point array of four dimensions.

    >>> x = np.arange(6.).reshape(1, 1, 2, 3)
    >>> F.im2col(x, (2, 2)).array[0, :, 0].T
    array([[0., 1., 3., 4.],
           [1., 2., 4., 5.]])
    """
    return Im2Col(ksize, stride, pad, cover_all, dilate).apply((x,))[0]
