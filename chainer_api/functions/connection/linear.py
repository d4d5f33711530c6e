"""Linear (affine) transformation."""
import math

import numpy

from chainer import function_node
from chainer import functions as F
from chainer.functions import _small
from chainer.utils import _errors, _plain, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import products


def _dot(a, b, dtype):
    """Matrix product as ``dtype``; half precision is summed in single precision."""
    if a.dtype == numpy.float16 and b.dtype == numpy.float16:
        a = a.astype(numpy.float32)
        b = b.astype(numpy.float32)
    return _plain.plain_array(products.dot(a, b).astype(dtype, copy=False))


def of_arrays(x, W, b=None):
    """The linear transformation of a matrix."""
    y = _dot(x, W.T, x.dtype)
    if b is not None:
        y += b
    return y


def _rows(x):
    """A matrix with the rows of an array."""
    return x if x.ndim == 2 else x.reshape((-1, x.shape[-1]))


class LinearFunction(function_node.FunctionNode):
    """Linear transformation (see :func:`linear`), of inputs with one axis besides the batch."""

    n_batch_axes = 1

    def check_type_forward(self, in_types):
        names = ('x', 'W') if len(in_types) < 3 else ('x', 'W', 'b')
        type_check.argname(in_types, names)
        x_type, w_type = in_types[:2]
        type_check.expect(
            x_type.dtype.kind == 'f',
            w_type.dtype.kind == 'f',
            x_type.ndim == self.n_batch_axes + 1,
            w_type.ndim == 2,
            x_type.shape[self.n_batch_axes] == w_type.shape[1],
        )
        if len(in_types) == 3:
            b_type = in_types[2]
            type_check.expect(
                b_type.dtype == x_type.dtype,
                b_type.ndim == 1,
                b_type.shape[0] == w_type.shape[0],
            )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, W = inputs[:2]
        y = of_arrays(_rows(x), W, *inputs[2:])
        return (y if x.ndim == 2 else y.reshape((*x.shape[:-1], len(W)))),

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        grads = []
        if 0 in indexes:
            grads += LinearGradData(x.dtype).apply((W, gy))
        if 1 in indexes:
            grads += LinearGradWeight(W.dtype).apply((x, gy))
        if 2 in indexes:
            grads.append(F.sum(gy, axis=tuple(range(gy.ndim - 1))))
        return grads


class LinearGradData(function_node.FunctionNode):
    """Gradient of :func:`linear` with respect to its input."""

    def __init__(self, x_dtype):
        self.x_dtype = x_dtype

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        W, gy = inputs
        gx = _dot(_rows(gy), W, self.x_dtype)
        return (gx if gy.ndim == 2 else gx.reshape((*gy.shape[:-1], W.shape[1]))),

    def backward(self, indexes, grad_outputs):
        W, gy = self.get_retained_inputs()
        ggx, = grad_outputs
        grads = []
        if 0 in indexes:
            grads += LinearGradWeight(W.dtype).apply((ggx, gy))
        if 1 in indexes:
            grads.append(_applied(gy.ndim - 1, (ggx, W)))
        return grads


class LinearGradWeight(function_node.FunctionNode):
    """Gradient of :func:`linear` with respect to its weight."""

    def __init__(self, w_dtype):
        self.w_dtype = w_dtype

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        return _dot(_rows(gy).T, _rows(x), self.w_dtype),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        ggW, = grad_outputs
        grads = []
        if 0 in indexes:
            grads += LinearGradData(x.dtype).apply((ggW, gy))
        if 1 in indexes:
            grads.append(_applied(gy.ndim - 1, (x, ggW)))
        return grads


def linear(x, W, b=None, n_batch_axes=1) -> Variable:
    r"""Linear (affine) transformation :math:`Y = x W^\top + b`.

    Args:
        x (Variable or array): Shape :math:`(s_1, \dots, s_n)`, any floating dtype. The first
            ``n_batch_axes`` axes are the batch, the others are taken as one axis of size
            :math:`N`.
        W (Variable or array): Weight of shape :math:`(M, N)`.
        b (Variable, array or None): Bias of shape :math:`(M,)` and the dtype of ``x``.
        n_batch_axes (int): Number of the batch axes.

    Returns:
        Variable: Shape :math:`(s_1, \dots, s_{n\_batch\_axes}, M)`, dtype of ``x``.

    Raises:
        ValueError: If ``n_batch_axes`` is not positive.
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.Linear`

    >>> x = np.array([[1, 2], [3, 4]], np.float32)
    >>> F.linear(x, np.array([[1, 1]], np.float32), np.array([10], np.float32)).array
    array([[13.],
           [17.]], dtype=float32)
    >>> F.linear(np.ones((2, 3, 4), np.float32), np.ones((5, 4), np.float32), n_batch_axes=2).shape
    (2, 3, 5)
    """
    if n_batch_axes <= 0:
        raise ValueError('n_batch_axes should be greater than 0.')
    try:
        shape = x.shape
    except AttributeError:
        _errors.check_arrays('linear', x=x)
        raise
    if n_batch_axes > 1 and (len(shape) == n_batch_axes or _small.wanted()):
        batch, rest = shape[:n_batch_axes], shape[n_batch_axes:]
        y = linear(F.reshape(x, (math.prod(batch), math.prod(rest))), W, b)
        return F.reshape(y, batch + y.shape[1:])
    if len(shape) > n_batch_axes + 1:
        # The open length is part of exported Caffe models; it does not exist without elements.
        length = math.prod(shape[n_batch_axes:]) if 0 in shape else -1
        x = F.reshape(x, (*shape[:n_batch_axes], length))
    return _applied(n_batch_axes, (x, W) if b is None else (x, W, b))


def _applied(n_batch_axes, inputs):
    function = LinearFunction()
    if n_batch_axes > 1:
        function.n_batch_axes = n_batch_axes
    return function.apply(inputs)[0]
