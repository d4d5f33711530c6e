"""What the normalizations share: standard scores, their gradient and its gradient.

``x`` is standardized over ``stat_axes``, multiplied by ``gamma`` and shifted by ``beta``, which
vary along all axes but ``param_axes``. Whatever is reduced here keeps its axes.
"""
import math

import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainwright.runtime import kernels


def work_dtype(*arrays):
    """Dtype for moments: half precision is computed in single precision."""
    dtype = numpy.result_type(*[array.dtype for array in arrays])
    return numpy.dtype(numpy.float32) if dtype == numpy.float16 else dtype


def size_over(shape, axes):
    """Number of elements that a reduction over ``axes`` takes together."""
    return math.prod([shape[axis] for axis in axes])


def standardize(x, stat_axes, eps):
    """Return the mean, the variance, ``1 / sqrt(var + eps)`` and ``x`` less its mean."""
    xp = backend.get_array_module(x)
    mean = x.mean(axis=stat_axes, keepdims=True)
    centered = x - mean
    var = xp.square(centered).mean(axis=stat_axes, keepdims=True)
    inv_std = xp.sqrt(var + eps)
    inv_std = xp.reciprocal(inv_std)
    return mean, var, inv_std, centered


@kernels.array_code
def normalize(x, gamma, beta, *, stat_axes, eps):
    """Return the mean, the variance, ``1 / sqrt(var + eps)``, and what normalization gives."""
    mean, var, inv_std, y = standardize(x, stat_axes, eps)
    y *= gamma * inv_std
    y += beta
    return mean, var, inv_std, y


@kernels.array_code
def _gradients(x, gamma, gy, mean, inv_std, *, stat_axes, param_axes):
    """Gradients with respect to ``x``, ``gamma`` and ``beta``."""
    x_hat = (x - mean) * inv_std
    products = gy * x_hat
    gbeta = gy.sum(axis=param_axes, keepdims=True)
    ggamma = products.sum(axis=param_axes, keepdims=True)
    count = size_over(x.shape, stat_axes)
    if stat_axes == param_axes:
        gx = gy - gbeta / count
        x_hat *= ggamma / count
        gx -= x_hat
        gx *= gamma * inv_std
    else:
        gx = gy * gamma
        products *= gamma
        x_hat *= products.mean(axis=stat_axes, keepdims=True)
        gx -= gx.mean(axis=stat_axes, keepdims=True)
        gx -= x_hat
        gx *= inv_std
    return gx, ggamma, gbeta


class NormalizationGrad(function_node.FunctionNode):
    """Gradients of a normalization with respect to ``x``, ``gamma`` and ``beta``.

    Inputs are ``x``, ``gamma`` (broadcastable to ``x``) and the gradient of the result.
    """

    def __init__(self, mean, inv_std, stat_axes, param_axes, eps):
        self.mean = mean
        self.inv_std = inv_std
        self.stat_axes = stat_axes
        self.param_axes = param_axes
        self.eps = eps

    def forward(self, inputs):
        self.retain_inputs((0, 1, 2))
        x, gamma, gy = inputs
        xp = backend.get_array_module(x)
        out_dtype, gamma_dtype = x.dtype, gamma.dtype
        dtype = work_dtype(x, gamma)
        gamma = gamma.astype(dtype, copy=False)
        gy = gy.astype(dtype, copy=False)
        mean, inv_std = xp.asarray(self.mean), xp.asarray(self.inv_std)
        gx, ggamma, gbeta = _gradients(
            x, gamma, gy, mean, inv_std, stat_axes=self.stat_axes, param_axes=self.param_axes)
        return (gx.astype(out_dtype, copy=False), ggamma.astype(gamma_dtype, copy=False),
                gbeta.astype(gamma_dtype, copy=False))

    def backward(self, indexes, grad_outputs):
        out_types = [v.dtype for v in self.get_retained_inputs()]
        dtype = work_dtype(*self.get_retained_inputs())
        x, gamma, gy = (F.cast(v, dtype) for v in self.get_retained_inputs())
        ggx, gggamma, ggbeta = (
            None if v is None else F.cast(v, dtype) for v in grad_outputs)
        shape = x.shape
        stat_axes, param_axes = self.stat_axes, self.param_axes
        count = size_over(shape, stat_axes)

        def wide(v):
            return F.broadcast_to(v, shape)

        def total(v):
            return F.sum(v, axis=stat_axes, keepdims=True)

        centered = x - wide(total(x) * (1. / count))
        inv_std = (total(centered * centered) * (1. / count) + self.eps) ** -0.5
        s = wide(inv_std)
        x_hat = centered * s
        gamma = wide(gamma)

        g_gy = g_xhat = g_gamma = g_s = None
        if ggx is not None:
            w = gamma * gy
            uh, wh = total(ggx * x_hat), total(w * x_hat)
            t = s * (ggx - wide(total(ggx) * (1. / count)) - x_hat * wide(uh * (1. / count)))
            g_gy = gamma * t
            g_gamma = F.sum(gy * t, axis=param_axes, keepdims=True)
            g_xhat = -s * (ggx * wide(wh) + w * wide(uh)) * (1. / count)
            g_s = total(ggx * w) - (total(ggx) * total(w) + uh * wh) * (1. / count)
        if gggamma is not None:
            gggamma = wide(gggamma)
            g_gy = _add(g_gy, gggamma * x_hat)
            g_xhat = _add(g_xhat, gggamma * gy)
        if ggbeta is not None:
            g_gy = _add(g_gy, wide(ggbeta))
        g_x = None
        if g_xhat is not None:
            g_x = s * (g_xhat - wide(total(g_xhat) * (1. / count))
                       - x_hat * wide(total(g_xhat * x_hat) * (1. / count)))
        if g_s is not None:
            g_x -= x_hat * s * wide(g_s * inv_std * (1. / count))
        grads = g_x, g_gamma, g_gy
        return tuple(
            None if grads[i] is None else F.cast(grads[i], out_types[i]) for i in indexes)


def _add(a, b):
    return b if a is None else a + b
