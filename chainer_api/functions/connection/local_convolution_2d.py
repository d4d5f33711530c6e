"""Two-dimensional convolution with filters of each place its own."""
from chainer import function_node
from chainer import functions as F
from chainer.utils import conv_nd, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import convolution as kernels


class LocalConvolution2DFunction(function_node.FunctionNode):
    """Convolution with unshared filters (see :func:`local_convolution_2d`)."""

    def __init__(self, stride=1):
        self.stride = self.sy, self.sx = conv_nd.as_tuple(stride, 2)

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x_type, w_type = in_types[:2]
        type_check.expect(
            x_type.dtype.kind == 'f',
            w_type.dtype.kind == 'f',
            x_type.ndim == 4,
            w_type.ndim == 6,
            x_type.shape[1] == w_type.shape[3],
        )
        if type_check.eval(n_in) == 3:
            b_type = in_types[2]
            type_check.expect(
                b_type.dtype == x_type.dtype,
                b_type.ndim == 3,
                b_type.shape == w_type.shape[:3],
            )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, W = inputs[:2]
        places = conv_nd.get_conv_outsizes(x.shape[2:], W.shape[4:], self.stride, (0, 0))
        if W.shape[1] > places[0] or W.shape[2] > places[1]:
            raise ValueError(
                f'local_convolution_2d: W holds filters for {W.shape[1:3]} places, but filters of '
                f'size {W.shape[4:]} with stride {self.stride} have only {places} places in an '
                f'input of size {x.shape[2:]}')
        y = kernels.local_convolution(x, W, stride=self.stride)
        if len(inputs) == 3:
            y += inputs[2]
        return y,

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        grads = []
        if 0 in indexes:
            grads += _GradX(self.stride, x.shape[2:]).apply((gy, W))
        if 1 in indexes:
            grads += _GradW(self.stride, W.shape[4:], W.dtype).apply((x, gy))
        if 2 in indexes:
            grads.append(F.sum(gy, axis=0))
        return grads


class _GradX(function_node.FunctionNode):

    def __init__(self, stride, outsize):
        self.stride = stride
        self.outsize = outsize

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        gy, W = inputs
        return kernels.local_convolution_transpose(
            gy, W, outsize=self.outsize, stride=self.stride),

    def backward(self, indexes, grad_outputs):
        gy, W = self.get_retained_inputs()
        ggx, = grad_outputs
        grads = []
        if 0 in indexes:
            grads += LocalConvolution2DFunction(self.stride).apply((ggx, W))
        if 1 in indexes:
            grads += _GradW(self.stride, W.shape[4:], W.dtype).apply((ggx, gy))
        return grads


class _GradW(function_node.FunctionNode):

    def __init__(self, stride, ksize, dtype):
        self.stride = stride
        self.ksize = ksize
        self.dtype = dtype

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        return kernels.local_convolution_weight(
            x, gy, ksize=self.ksize, stride=self.stride, dtype=self.dtype),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        ggW, = grad_outputs
        grads = []
        if 0 in indexes:
            grads += _GradX(self.stride, x.shape[2:]).apply((gy, ggW))
        if 1 in indexes:
            grads += LocalConvolution2DFunction(self.stride).apply((x, ggW))
        return grads


def local_convolution_2d(x, W, b=None, stride=1) -> Variable:
    r"""Correlate the patches of images with filters that each place has for itself.

    Like :func:`convolution_2d`, but the filters are not shared between places, and there is no
    padding.

    Args:
        x (Variable or array): Images of shape :math:`(n, c_I, h, w)`, any floating dtype.
        W (Variable or array): Filters of shape :math:`(c_O, h_O, w_O, c_I, k_H, k_W)`.
        b (Variable, array or None): Bias of shape :math:`(c_O, h_O, w_O)` and the dtype of ``x``.
        stride (int or pair of ints): Step from one patch to the next.

    Returns:
        Variable: Shape :math:`(n, c_O, h_O, w_O)`, dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.
        ValueError: If ``W`` holds filters for more places than there are.

    .. seealso:: :class:`~chainer.links.LocalConvolution2D`

    >>> x = np.ones((2, 3, 7, 7), np.float32)
    >>> W = np.ones((2, 5, 5, 3, 3, 3), np.float32)
    >>> F.local_convolution_2d(x, W).shape
    (2, 2, 5, 5)
    """
    function = LocalConvolution2DFunction(stride)
    return function.apply((x, W) if b is None else (x, W, b))[0]
