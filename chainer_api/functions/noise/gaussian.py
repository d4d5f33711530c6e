"""Sampling from Gaussian distributions."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.noise import dropout
from chainer.utils import type_check
from chainer.variable import Variable


class Gaussian(function_node.FunctionNode):
    """Gaussian sampling (see :func:`gaussian`).

    Attributes:
        eps: the standard normal values, drawn in ``forward`` if none were given.
    """

    def __init__(self, eps=None):
        self.eps = eps

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('mean', 'ln_var'))
        m_type, v_type = in_types
        type_check.expect(
            m_type.dtype.kind == 'f',
            m_type.dtype == v_type.dtype,
            m_type.shape == v_type.shape,
        )

    def forward(self, inputs):
        mean, ln_var = inputs
        xp = backend.get_array_module(mean)
        self.retain_inputs((1,))
        if self.eps is None:
            eps = xp.random.standard_normal(ln_var.shape)
            self.eps = utils.force_array(eps, mean.dtype)
        return utils.force_array(xp.exp(ln_var * 0.5) * xp.asarray(self.eps) + mean),

    def backward(self, indexes, grad_outputs):
        ln_var, = self.get_retained_inputs()
        gy, = grad_outputs
        grads = []
        if 0 in indexes:
            grads.append(gy)
        if 1 in indexes:
            noise, = dropout.DropoutGrad(self.eps).apply((F.exp(ln_var * 0.5),))
            grads.append(gy * noise * 0.5)
        return grads


def gaussian(mean, ln_var, *, eps=None, return_eps=False) -> Variable:
    r"""Draw samples from Gaussian distributions, differentiably.

    .. math:: y = \mu + \sigma \epsilon, \quad \epsilon \sim N(0, 1)

    Args:
        mean (Variable or array): Means :math:`\mu`, any floating dtype.
        ln_var (Variable or array): Logarithms of the variances :math:`\log \sigma^2`, of the shape
            and dtype of ``mean``.
        eps (array or None): The values :math:`\epsilon`, of the same shape and dtype, instead of
            drawing them.
        return_eps (bool): Whether to return these values too.

    Returns:
        Variable: Of the shape and dtype of ``mean``; with ``return_eps`` a tuple of it and
        ``eps``.

    Raises:
        InvalidType: If ``mean`` and ``ln_var`` do not fit.

    >>> mean, ln_var = np.zeros(2, np.float32), np.zeros(2, np.float32)
    >>> F.gaussian(mean, ln_var, eps=np.array([-1, 2], np.float32)).array
    array([-1.,  2.], dtype=float32)
    """
    function = Gaussian(eps)
    if return_eps:
        function.opaque = 'its noise is wanted'
    y, = function.apply((mean, ln_var))
    return (y, function.eps) if return_eps else y
