"""Batch normalization."""
import warnings

import numpy

import chainer
from chainer import _tracing, backend, function_node
from chainer import functions as F
from chainer.functions.normalization import _moments
from chainer.utils import _errors, argument, type_check
from chainer.variable import Variable
from chainwright.runtime import kernels


class _BatchNormalization(function_node.FunctionNode):
    """The axes of batch normalization."""

    _weight = function_node._SEVERAL

    def __init__(self, eps=2e-5, axis=None):
        self.eps = eps
        if isinstance(axis, (tuple, list)):
            axis = tuple(map(int, axis))
            if any(a >= b for a, b in zip(axis, axis[1:], strict=False)):
                raise RuntimeError('numbers in axis must be sorted in ascending order')
        elif isinstance(axis, (int, numpy.integer)):
            axis = int(axis),
        elif axis is not None:
            raise TypeError(f'axis must be an int, a tuple of ints or None, not {axis!r}')
        self.axis = axis

    def _check_type_channels(self, x_type, gamma_type):
        ndim = type_check.eval(x_type.ndim)
        self._set_axes(ndim, type_check.eval(gamma_type.ndim))
        type_check.expect(gamma_type.ndim == len(self.key_axis))
        for i, axis in enumerate(self.key_axis):
            type_check.expect(x_type.shape[axis] == gamma_type.shape[i])

    def _set_axes(self, ndim, channel_ndim):
        if self.axis is None:
            self.axis = (0, *range(channel_ndim + 1, ndim))
        self.key_axis = tuple(i for i in range(ndim) if i not in self.axis)

    def _wide_shape(self, x):
        """Shape of the parameters with an axis of length one for each axis reduced over."""
        return tuple(1 if i in self.axis else n for i, n in enumerate(x.shape))


class BatchNormalization(_BatchNormalization):
    """Batch normalization (see :func:`batch_normalization`).

    Attributes:
        mean: after ``forward``, the mean of the batch.
        var: after ``forward``, the variance of the batch.
        inv_std: after ``forward``, ``1 / sqrt(var + eps)``.
        running_mean: the array given, updated in place.
        running_var: the array given, updated in place.
    """

    def __init__(self, eps=2e-5, mean=None, var=None, decay=0.9, axis=None):
        super().__init__(eps, axis)
        if (mean is None) != (var is None):
            raise TypeError(
                'running_mean and running_var must be given both, or neither of them')
        if mean is not None:
            _errors.check_arrays('batch_normalization', running_mean=mean, running_var=var)
        self.running_mean = mean
        self.running_var = var
        self.decay = decay

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, gamma_type, beta_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            gamma_type.dtype.kind == 'f',
            gamma_type.dtype == beta_type.dtype,
            gamma_type.shape == beta_type.shape,
        )
        self._check_type_channels(x_type, gamma_type)

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        self._set_axes(x.ndim, gamma.ndim)
        out_dtype, channels, wide = x.dtype, gamma.shape, self._wide_shape(x)
        dtype = _moments.work_dtype(x, gamma)
        x = x.astype(dtype, copy=False)
        gamma = gamma.astype(dtype, copy=False).reshape(wide)
        beta = beta.astype(dtype, copy=False).reshape(wide)
        mean, var, inv_std, y = _moments.normalize(
            x, gamma, beta, stat_axes=self.axis, eps=self.eps)
        self._wide = mean, inv_std
        self.mean, self.var, self.inv_std = (
            v.reshape(channels) for v in (mean, var, inv_std))
        if self.running_mean is not None:
            _tracing.note_function(self, self.running_mean, self.running_var)
            self._update_running_statistics(x)
        return y.astype(out_dtype, copy=False),

    def _update_running_statistics(self, x):
        xp = backend.get_array_module(x)
        count = _moments.size_over(x.shape, self.axis)
        # The variance of a sample becomes that of the population.
        adjust = count / max(count - 1., 1.)
        running_mean = xp.asarray(self.running_mean)
        running_mean *= self.decay
        running_mean += (1 - self.decay) * self.mean
        running_var = xp.asarray(self.running_var)
        running_var *= self.decay
        running_var += (1 - self.decay) * adjust * self.var

    def backward(self, indexes, grad_outputs):
        x, gamma = self.get_retained_inputs()
        gamma_wide = F.reshape(gamma, self._wide_shape(x))
        mean, inv_std = self._wide
        gx, ggamma, gbeta = _moments.NormalizationGrad(
            mean, inv_std, self.axis, self.axis, self.eps,
        ).apply((x, gamma_wide, grad_outputs[0]))
        return gx, F.reshape(ggamma, gamma.shape), F.reshape(gbeta, gamma.shape)


class FixedBatchNormalization(_BatchNormalization):
    """Batch normalization with given statistics (see :func:`fixed_batch_normalization`).

    Attributes:
        inv_std: after ``forward``, ``1 / sqrt(var + eps)``.
        inv_var: after ``forward``, ``1 / (var + eps)``.
    """

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 5)
        x_type, gamma_type, beta_type, mean_type, var_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            gamma_type.dtype.kind == 'f',
            beta_type.dtype == gamma_type.dtype,
            gamma_type.shape == beta_type.shape,
            mean_type.dtype == gamma_type.dtype,
            mean_type.shape == gamma_type.shape,
            var_type.dtype == gamma_type.dtype,
            var_type.shape == gamma_type.shape,
        )
        self._check_type_channels(x_type, gamma_type)

    def forward(self, inputs):
        self.retain_inputs((0, 1, 3, 4))
        x, gamma, beta, mean, var = inputs
        self._set_axes(x.ndim, gamma.ndim)
        out_dtype, wide = x.dtype, self._wide_shape(x)
        dtype = _moments.work_dtype(x, gamma)
        gamma, beta, mean, var = (
            v.astype(dtype, copy=False) for v in (gamma, beta, mean, var))
        self.inv_var, self.inv_std, y = _normalized(
            x, gamma, beta, mean, var, wide=wide, eps=self.eps)
        self._wide_inv_std = self.inv_std.reshape(wide)
        return y.astype(out_dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        x, gamma, mean, var = self.get_retained_inputs()
        # ``var`` may have been updated since, by a batch in training mode.
        return FixedBatchNormalizationGrad(
            self.eps, self.axis, self.inv_std, self._wide_inv_std, self.inv_var,
        ).apply((x, gamma, mean, var, grad_outputs[0]))


@kernels.array_code
def _normalized(x, gamma, beta, mean, var, *, wide, eps):
    """``1 / (var + eps)``, its square root, and the result."""
    xp = backend.get_array_module(x)
    inv_var = xp.reciprocal(var + eps)
    inv_std = xp.sqrt(inv_var)
    y = x - mean.reshape(wide)
    y *= (gamma * inv_std).reshape(wide)
    y += beta.reshape(wide)
    return inv_var, inv_std, y


class FixedBatchNormalizationGrad(function_node.FunctionNode):
    """Gradients of :func:`fixed_batch_normalization` with respect to its five inputs."""

    def __init__(self, eps, axis, inv_std, wide_inv_std, inv_var):
        self.eps = eps
        self.axis = axis
        self.inv_std = inv_std
        self.wide_inv_std = wide_inv_std  # the same in a shape that goes with x
        self.inv_var = inv_var

    def _wide_shape(self, x):
        return tuple(1 if i in self.axis else n for i, n in enumerate(x.shape))

    def forward(self, inputs):
        self.retain_inputs((0, 1, 2, 3, 4))
        x, gamma, mean, _, gy = inputs
        out_dtype, gamma_dtype, wide = x.dtype, gamma.dtype, self._wide_shape(x)
        dtype = _moments.work_dtype(x, gamma)
        gamma, mean, gy = (v.astype(dtype, copy=False) for v in (gamma, mean, gy))
        inv_std, inv_var = self.inv_std, self.inv_var
        x_hat = x - mean.reshape(wide)
        x_hat *= self.wide_inv_std
        x_hat *= gy
        scale = gamma * inv_std
        gx = scale.reshape(wide) * gy
        gbeta = gy.sum(axis=self.axis)
        ggamma = x_hat.sum(axis=self.axis)
        gmean = -scale * gbeta
        gvar = -0.5 * gamma * inv_var * ggamma
        return (gx.astype(out_dtype, copy=False), *(
            g.astype(gamma_dtype, copy=False) for g in (ggamma, gbeta, gmean, gvar)))

    def backward(self, indexes, grad_outputs):
        inputs = self.get_retained_inputs()
        dtype = _moments.work_dtype(*inputs)
        x, gamma, mean, var, gy = (F.cast(v, dtype) for v in inputs)
        ggx, gggamma, ggbeta, ggmean, ggvar = (
            _zeros(like) if g is None else F.cast(g, dtype)
            for g, like in zip(grad_outputs, (x, gamma, gamma, mean, var), strict=True))
        wide_shape = self._wide_shape(x)

        def wide(v):
            return F.broadcast_to(F.reshape(v, wide_shape), x.shape)

        def total(v):
            return F.sum(v, axis=self.axis)

        inv_var = 1. / (var + self.eps)
        s = F.sqrt(inv_var)
        x_hat = (x - wide(mean)) * wide(s)
        sum_gy, sum_gy_hat, sum_ggx_gy = total(gy), total(gy * x_hat), total(ggx * gy)
        # All five gradients, weighted by what came in, are linear in <gy x_hat> and <gy>:
        by_hat = gggamma - 0.5 * ggvar * inv_var * gamma
        by_sum = ggbeta - ggmean * gamma * s
        g_gy = wide(gamma * s) * ggx + wide(by_hat) * x_hat + wide(by_sum)
        g_x = wide(by_hat * s) * gy
        g_mean = -by_hat * s * sum_gy
        g_gamma = s * sum_ggx_gy - 0.5 * ggvar * inv_var * sum_gy_hat - ggmean * s * sum_gy
        g_s = gamma * (sum_ggx_gy - ggmean * sum_gy) - ggvar * s * gamma * sum_gy_hat
        g_var = -0.5 * inv_var * (g_s * s + by_hat * sum_gy_hat)
        grads = g_x, g_gamma, g_mean, g_var, g_gy
        return tuple(F.cast(grads[i], inputs[i].dtype) for i in indexes)


def _zeros(like):
    return chainer.Variable(like.xp.zeros(like.shape, like.dtype))


def batch_normalization(x, gamma, beta, *, eps=2e-5, running_mean=None, running_var=None,
                        decay=0.9, axis=None, **kwargs) -> Variable:
    r"""Batch normalization: make each channel of the batch standard, then scale and shift it.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    The moments :math:`\mu` and :math:`\sigma^2` are taken over ``axis``, by default over the first
    axis and those after the channels. ``gamma`` and ``beta`` have the shape of the other axes; for
    images (n, c, h, w) and parameters of shape (c,), each channel is normalized over the batch and
    all pixels. See: `Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by
    Reducing Internal Covariate Shift <https://arxiv.org/abs/1502.03167>`_.

    Args:
        x (Variable or array): Any floating dtype.
        gamma (Variable or array): Scales.
        beta (Variable or array): Shifts, of the shape and dtype of ``gamma``.
        eps (float): Added to the variance.
        running_mean (array or None): Running average of the means, updated in place.
        running_var (array or None): Running average of the (unbiased) variances, updated in place.
        decay (float): What is kept of the running averages in one update.
        axis (int, tuple of ints or None): Axes that moments are taken over, in ascending order.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.
        TypeError: If only one of the running averages is given.
        RuntimeError: If ``axis`` is not in ascending order.

    .. seealso:: :class:`~chainer.links.BatchNormalization`

    >>> x = np.array([[1], [3]], np.float32)
    >>> mean, var = np.zeros(1, np.float32), np.ones(1, np.float32)
    >>> y = F.batch_normalization(x, np.ones(1, np.float32), np.zeros(1, np.float32), eps=0,
    ...                           running_mean=mean, running_var=var)
    >>> y.array
    array([[-1.],
           [ 1.]], dtype=float32)
    >>> mean, var
    (array([0.2], dtype=float32), array([1.1], dtype=float32))
    """
    if kwargs:
        argument.check_unexpected_kwargs(
            kwargs, train='train argument is not supported anymore. Use chainer.using_config')
        argument.assert_kwargs_empty(kwargs)
    try:
        of_one = x.size == gamma.size != 0
    except AttributeError:
        _errors.check_arrays('batch_normalization', x=x, gamma=gamma)
        raise
    if of_one:
        warnings.warn(
            'batch_normalization of a batch of one: each value is its own mean, so the results are '
            'beta, whatever the input')
    function = BatchNormalization(eps, running_mean, running_var, decay, axis)
    return function.apply((x, gamma, beta))[0]


def fixed_batch_normalization(x, gamma, beta, mean, var, eps=2e-5, axis=None) -> Variable:
    r"""Batch normalization with given moments, as used after training.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Args:
        x (Variable or array): Any floating dtype.
        gamma (Variable or array): Scales.
        beta (Variable or array): Shifts, of the shape and dtype of ``gamma``.
        mean (Variable or array): Means :math:`\mu`, likewise.
        var (Variable or array): Variances :math:`\sigma^2`, likewise.
        eps (float): Added to the variance.
        axis (int, tuple of ints or None): As in :func:`batch_normalization`.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.
        RuntimeError: If ``axis`` is not in ascending order.

    .. seealso:: :func:`batch_normalization`, :class:`~chainer.links.BatchNormalization`

    >>> one = np.ones(1, np.float32)
    >>> F.fixed_batch_normalization(np.array([[1], [3]], np.float32), one, one, one, 4 * one,
    ...                             eps=0).array
    array([[1.],
           [2.]], dtype=float32)
    """
    return FixedBatchNormalization(eps, axis).apply((x, gamma, beta, mean, var))[0]
