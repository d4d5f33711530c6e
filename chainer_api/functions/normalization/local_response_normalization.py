"""Local response normalization."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.normalization import _moments
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import pooling as kernels


def _window_sum(x, n):
    """Sum over ``n // 2`` neighbouring channels on both sides of each channel."""
    half = n // 2
    rows = x.reshape(x.shape[0], 1, x.shape[1], _moments.size_over(x.shape, range(2, x.ndim)))
    total = kernels.sum_pooling(
        rows, ksize=(2 * half + 1, 1), outsize=rows.shape[2:], stride=(1, 1), pad=(half, 0))
    return total.reshape(x.shape)


class _WindowSum(function_node.FunctionNode):

    def __init__(self, n):
        self.n = n

    def forward(self, inputs):
        return _window_sum(inputs[0], self.n),

    def backward(self, indexes, grad_outputs):
        return _WindowSum(self.n).apply(grad_outputs)


class LocalResponseNormalization(function_node.FunctionNode):
    """Local response normalization (see :func:`local_response_normalization`)."""

    _weight = function_node._SEVERAL

    def __init__(self, n=5, k=2, alpha=1e-4, beta=.75):
        self.n = n
        self.k = k
        self.alpha = alpha
        self.beta = beta

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        type_check.expect(
            in_types[0].dtype.kind == 'f',
            in_types[0].ndim >= 2,
        )

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        out_dtype = x.dtype
        x = x.astype(_moments.work_dtype(x), copy=False)
        self.unit_scale = _window_sum(x * x, self.n)
        self.unit_scale *= self.alpha
        self.unit_scale += self.k
        self.scale = self.unit_scale ** -self.beta
        return (x * self.scale).astype(out_dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return LocalResponseNormalizationGrad(self).apply((x, grad_outputs[0]))


class LocalResponseNormalizationGrad(function_node.FunctionNode):
    """Gradient of local response normalization."""

    def __init__(self, func):
        self.n = func.n
        self.k = func.k
        self.alpha = func.alpha
        self.beta = func.beta
        self.scale = func.scale
        self.unit_scale = func.unit_scale

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        xp = backend.get_array_module(x)
        out_dtype = x.dtype
        scale, unit_scale = xp.asarray(self.scale), xp.asarray(self.unit_scale)
        gx = gy * scale
        shares = x * gx
        shares /= unit_scale
        gx -= 2 * self.alpha * self.beta * x * _window_sum(shares, self.n)
        return gx.astype(out_dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        dtypes = [v.dtype for v in self.get_retained_inputs()]
        dtype = _moments.work_dtype(*self.get_retained_inputs())
        x, gy = (F.cast(v, dtype) for v in self.get_retained_inputs())
        ggx = F.cast(grad_outputs[0], dtype)
        alpha, beta = self.alpha, self.beta

        def total(v):
            return _WindowSum(self.n).apply((v,))[0]

        unit = self.k + alpha * total(x * x)
        scale = unit ** -beta
        slope = scale / unit
        total_ggx = total(ggx * x)
        grads = []
        if 0 in indexes:
            by_unit = (2 * alpha * beta * (beta + 1)) * x * gy * slope / unit * total_ggx
            by_unit -= beta * ggx * gy * slope
            g_x = (2 * alpha) * x * total(by_unit)
            g_x -= (2 * alpha * beta) * (ggx * total(x * gy * slope) + gy * slope * total_ggx)
            grads.append(F.cast(g_x, dtypes[0]))
        if 1 in indexes:
            g_gy = ggx * scale - (2 * alpha * beta) * x * slope * total_ggx
            grads.append(F.cast(g_gy, dtypes[1]))
        return grads


def local_response_normalization(x, n=5, k=2, alpha=1e-4, beta=.75) -> Variable:
    r"""Divide each channel by a power of the squares of its neighbours.

    .. math::
        y_i = \frac{x_i}{\left(k + \alpha
        \sum_{j=\max(1, i - n/2)}^{\min(N, i + n/2)} x_j^2\right)^\beta}

    See section 3.3 of `Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural
    Networks <https://papers.nips.cc/paper/4824-imagenet-classification-with-deep-convolutional-neural-networks>`_.

    Args:
        x (Variable or array): Shape (batch size, channels, ...), any floating dtype.
        n (int): Width of the window of channels.
        k (float): Added to the sum.
        alpha (float): What the sum is multiplied by.
        beta (float): The power.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        InvalidType: If ``x`` is no floating-point array of at least two dimensions.

    >>> x = np.array([[1, 2, 2]], np.float32)
    >>> F.local_response_normalization(x, n=3, k=1, alpha=1, beta=1).array
    array([[0.16666667, 0.2       , 0.22222222]], dtype=float32)
    """
    return LocalResponseNormalization(n, k, alpha, beta).apply((x,))[0]
