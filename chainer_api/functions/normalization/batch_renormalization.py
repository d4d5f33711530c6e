"""Batch renormalization."""
import warnings

from chainer import _tracing, backend, function_node
from chainer import functions as F
from chainer.functions.normalization import _moments, batch_normalization
from chainer.functions.util import _recompute
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class BatchRenormalizationFunction(function_node.FunctionNode):
    """Batch renormalization (see :func:`batch_renormalization`).

    Attributes:
        running_mean: the running mean, after ``forward`` the updated one.
        running_var: the running variance, after ``forward`` the updated one.
    """

    _weight = function_node._SEVERAL

    def __init__(self, eps=2e-5, mean=None, var=None, decay=0.9, rmax=1, dmax=0,
                 update_statistics=True):
        if mean is not None:
            _errors.check_arrays('batch_renormalization', running_mean=mean, running_var=var)
        self.running_mean = mean
        self.running_var = var
        self.rmax = rmax
        self.dmax = dmax
        self.r = None
        self.update_statistics = update_statistics
        self.eps = eps
        self.decay = decay

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, gamma_type, beta_type = in_types
        ndim = type_check.eval(gamma_type.ndim)
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim >= gamma_type.ndim + 1,
            gamma_type.dtype.kind == 'f',
            beta_type.dtype == gamma_type.dtype,
            gamma_type.shape == beta_type.shape,
            x_type.shape[1:1 + ndim] == gamma_type.shape,
        )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        xp = backend.get_array_module(x)
        out_dtype, channels = x.dtype, gamma.shape
        self.axis, wide = _axes(x, gamma)
        dtype = _moments.work_dtype(x, gamma)
        x = x.astype(dtype, copy=False)
        gamma = gamma.astype(dtype, copy=False).reshape(wide)
        beta = beta.astype(dtype, copy=False).reshape(wide)
        mean, var, inv_std, y = _moments.standardize(x, self.axis, self.eps)

        _tracing.note_function(self, self.running_mean, self.running_var)
        running_mean = xp.asarray(self.running_mean)
        running_var = xp.asarray(self.running_var)

        def corrections():
            running_std = xp.sqrt(running_var.reshape(wide) + self.eps)
            r = xp.clip(1 / (inv_std * running_std), 1. / self.rmax, self.rmax)
            d = xp.clip((mean - running_mean.reshape(wide)) / running_std, -self.dmax, self.dmax)
            return r.astype(dtype, copy=False), d.astype(dtype, copy=False)

        # They are constant for gradients, and in F.forget made from the averages as they were.
        self.r, self.d = _recompute.remembered(corrections)
        self._wide = mean, inv_std
        self._update(running_mean, running_var, mean.reshape(channels), var.reshape(channels), x)
        y *= inv_std
        y *= self.r
        y += self.d
        y *= gamma
        y += beta
        return y.astype(out_dtype, copy=False),

    def _update(self, running_mean, running_var, mean, var, x):
        count = _moments.size_over(x.shape, self.axis)
        adjust = count / max(count - 1., 1.)
        if not self.update_statistics:
            running_mean, running_var = running_mean.copy(), running_var.copy()
            self.running_mean, self.running_var = running_mean, running_var
        running_mean *= self.decay
        running_mean += (1 - self.decay) * mean
        running_var *= self.decay
        running_var += (1 - self.decay) * adjust * var

    def backward(self, indexes, grad_outputs):
        x, gamma = self.get_retained_inputs()
        mean, inv_std = self._wide
        wide = mean.shape
        gx, ggamma, gbeta = _BatchRenormalizationGrad(
            mean, inv_std, self.r, self.d, self.axis,
        ).apply((x, F.reshape(gamma, wide), grad_outputs[0]))
        return gx, F.reshape(ggamma, gamma.shape), F.reshape(gbeta, gamma.shape)


def _axes(x, gamma):
    """Axes that moments are taken over, and the shape of ``gamma`` with ones in their place."""
    axis = (0, *range(gamma.ndim + 1, x.ndim))
    return axis, (1, *gamma.shape) + (1,) * (x.ndim - gamma.ndim - 1)


class _BatchRenormalizationGrad(function_node.FunctionNode):

    def __init__(self, mean, inv_std, r, d, axis):
        self.mean = mean
        self.inv_std = inv_std
        self.r = r
        self.d = d
        self.axis = axis

    def forward(self, inputs):
        x, gamma, gy = inputs
        xp = backend.get_array_module(x)
        out_dtype, gamma_dtype = x.dtype, gamma.dtype
        mean, inv_std, r, d = map(xp.asarray, (self.mean, self.inv_std, self.r, self.d))
        gy = gy.astype(inv_std.dtype, copy=False)
        x_hat = (x - mean) * inv_std
        count = _moments.size_over(x.shape, self.axis)
        gbeta = gy.sum(axis=self.axis, keepdims=True)
        by_hat = (gy * x_hat).sum(axis=self.axis, keepdims=True)
        ggamma = r * by_hat + d * gbeta
        gx = gy - gbeta / count
        x_hat *= by_hat / count
        gx -= x_hat
        gx *= gamma * r * inv_std
        return (gx.astype(out_dtype, copy=False), ggamma.astype(gamma_dtype, copy=False),
                gbeta.astype(gamma_dtype, copy=False))

    def backward(self, indexes, grad_outputs):
        raise RuntimeError(
            'batch_renormalization cannot be differentiated twice')


def batch_renormalization(x, gamma, beta, rmax, dmax, eps=2e-5, running_mean=None,
                          running_var=None, decay=0.9, update_statistics=False) -> Variable:
    r"""Batch renormalization: batch normalization that agrees with what is used after training.

    .. math::
        y &= \gamma \left(\frac{x - \mu}{\sigma} r + d\right) + \beta, \\
        r &= \mathrm{clip}(\sigma / \sigma_\mathrm{run}, 1 / r_\mathrm{max}, r_\mathrm{max}), \\
        d &= \mathrm{clip}((\mu - \mu_\mathrm{run}) / \sigma_\mathrm{run},
             -d_\mathrm{max}, d_\mathrm{max})

    The corrections :math:`r` and :math:`d` count as constants in gradients. See: `Ioffe, Batch
    Renormalization: Towards Reducing Minibatch Dependence in Batch-Normalized Models
    <https://arxiv.org/abs/1702.03275>`_.

    Args:
        x (Variable or array): Shape (batch size, channels, ...), any floating dtype.
        gamma (Variable or array): Scales, of the shape of the channels.
        beta (Variable or array): Shifts, of the shape and dtype of ``gamma``.
        rmax (float): Largest correction of the scale.
        dmax (float): Largest correction of the mean.
        eps (float): Added to the variances.
        running_mean (array): Running average of the means.
        running_var (array): Running average of the variances.
        decay (float): What is kept of the running averages in one update.
        update_statistics (bool): Whether the running averages are updated in place.

    Returns:
        Variable: Of the shape and dtype of ``x``. It is not differentiable twice.

    Raises:
        TypeError: If a running average is missing.
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.BatchRenormalization`

    >>> x = np.array([[1], [3]], np.float32)
    >>> zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    >>> F.batch_renormalization(x, one, zero, rmax=1, dmax=.5, eps=0, running_mean=zero,
    ...                         running_var=one).array
    array([[-0.5],
           [ 1.5]], dtype=float32)
    """
    if running_mean is None:
        raise TypeError('running_mean is required')
    if running_var is None:
        raise TypeError('running_var is required')
    return BatchRenormalizationFunction(
        eps, running_mean, running_var, decay, rmax, dmax, update_statistics,
    ).apply((x, gamma, beta))[0]


def fixed_batch_renormalization(x, gamma, beta, mean, var, eps=2e-5):
    """:func:`fixed_batch_normalization`: with given moments there is nothing to correct.

    .. deprecated:: v6
        Use :func:`fixed_batch_normalization`.

    >>> one = np.ones(1, np.float32)
    >>> F.fixed_batch_renormalization(np.array([[3]], np.float32), one, one, one, 4 * one,
    ...                               eps=0).array
    array([[2.]], dtype=float32)
    """
    warnings.warn(
        'fixed_batch_renormalization is deprecated. Use fixed_batch_normalization instead.',
        DeprecationWarning, stacklevel=2)
    return batch_normalization.fixed_batch_normalization(x, gamma, beta, mean, var, eps)
