"""Layer normalization."""
from chainer import function_node
from chainer import functions as F
from chainer.functions.normalization import _moments
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime import kernels


class LayerNormalization(function_node.FunctionNode):
    """Layer normalization (see :func:`layer_normalization`)."""

    _weight = function_node._SEVERAL

    def __init__(self, eps=1e-5):
        self.eps = eps

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, gamma_type, beta_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim == 2,
            gamma_type.ndim == 1,
            beta_type.ndim == 1,
            gamma_type.dtype == x_type.dtype,
            beta_type.dtype == x_type.dtype,
            gamma_type.shape == beta_type.shape,
            gamma_type.shape[0] == x_type.shape[1],
        )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        out_dtype = x.dtype
        dtype = _moments.work_dtype(x)
        mean, inv_std, y = _normalized(x.astype(dtype, copy=False), gamma, beta, eps=self.eps)
        self._moments = mean, inv_std
        return y.astype(out_dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        x, gamma = self.get_retained_inputs()
        size = gamma.shape
        mean, inv_std = self._moments
        gx, ggamma, gbeta = _moments.NormalizationGrad(mean, inv_std, (1,), (0,), self.eps).apply(
            (x, F.reshape(gamma, (1,) + size), grad_outputs[0]))
        return gx, F.reshape(ggamma, size), F.reshape(gbeta, size)


@kernels.array_code
def _normalized(x, gamma, beta, *, eps):
    """The means, ``1 / sqrt(var + eps)`` and the result."""
    mean, _, inv_std, y = _moments.standardize(x, (1,), eps)
    y *= inv_std
    y *= gamma
    y += beta
    return mean, inv_std, y


def layer_normalization(x, gamma, beta, eps=1e-5) -> Variable:
    r"""Layer normalization: make each sample standard, then scale and shift its units.

    .. math:: y_{ij} = \gamma_j \frac{x_{ij} - \mu_i}{\sqrt{\sigma_i^2 + \epsilon}} + \beta_j

    See: `Ba et al., Layer Normalization <https://arxiv.org/abs/1607.06450>`_.

    Args:
        x (Variable or array): Shape (batch size, units), any floating dtype.
        gamma (Variable or array): Scales, of shape (units,) and the dtype of ``x``.
        beta (Variable or array): Shifts, likewise.
        eps (float): Added to the variance.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.LayerNormalization`

    >>> x = np.array([[1, 3], [-2, 2]], np.float32)
    >>> F.layer_normalization(x, np.ones(2, np.float32), np.zeros(2, np.float32), eps=0).array
    array([[-1.,  1.],
           [-1.,  1.]], dtype=float32)
    """
    return LayerNormalization(eps).apply((x, gamma, beta))[0]
