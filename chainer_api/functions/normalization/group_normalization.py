"""Group normalization."""
from chainer import function_node
from chainer import functions as F
from chainer.functions.normalization import _moments
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class GroupNormalization(function_node.FunctionNode):
    """Group normalization (see :func:`group_normalization`).

    Attributes:
        mean: after ``forward``, the mean of each group of each sample.
        inv_std: after ``forward``, ``1 / sqrt(var + eps)`` likewise.
    """

    _weight = function_node._SEVERAL

    def __init__(self, groups, eps=1e-5):
        if not isinstance(groups, int):
            raise TypeError(f'Argument: \'groups\' type must be ({int.__name__}).')
        self.groups = groups
        self.eps = eps

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, gamma_type, beta_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim >= 2,
            gamma_type.ndim == 1,
            beta_type.ndim == 1,
            gamma_type.dtype.kind == 'f',
            gamma_type.dtype == beta_type.dtype,
            x_type.shape[1] == gamma_type.shape[0],
            gamma_type.shape == beta_type.shape,
        )

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        out_dtype, shape, grouped = x.dtype, x.shape, self._grouped(x.shape)
        dtype = _moments.work_dtype(x, gamma)
        x = x.astype(dtype, copy=False).reshape(grouped)
        gamma, beta = (
            v.astype(dtype, copy=False).reshape((1, *grouped[1:3], 1)) for v in (gamma, beta))
        mean, _, inv_std, y = _moments.normalize(x, gamma, beta, stat_axes=(2, 3), eps=self.eps)
        self._wide = mean, inv_std
        self.mean, self.inv_std = mean.reshape(-1), inv_std.reshape(-1)
        return y.reshape(shape).astype(out_dtype, copy=False),

    def _grouped(self, shape):
        size = _moments.size_over(shape, range(2, len(shape)))
        return shape[0], self.groups, shape[1] // self.groups, size

    def backward(self, indexes, grad_outputs):
        x, gamma = self.get_retained_inputs()
        grouped = self._grouped(x.shape)
        mean, inv_std = self._wide
        gx, ggamma, gbeta = _moments.NormalizationGrad(
            mean, inv_std, (2, 3), (0, 3), self.eps,
        ).apply((F.reshape(x, grouped), F.reshape(gamma, (1, *grouped[1:3], 1)),
                 F.reshape(grad_outputs[0], grouped)))
        return (F.reshape(gx, x.shape), F.reshape(ggamma, gamma.shape),
                F.reshape(gbeta, gamma.shape))


def group_normalization(x, groups, gamma, beta, eps=1e-5) -> Variable:
    r"""Group normalization: make groups of channels of each sample standard.

    The channels are then scaled and shifted one by one. See: `Wu and He, Group Normalization
    <https://arxiv.org/abs/1803.08494>`_.

    Args:
        x (Variable or array): Shape (batch size, channels, ...), any floating dtype.
        groups (int): Number of groups, a divisor of the number of channels.
        gamma (Variable or array): Scales of shape (channels,).
        beta (Variable or array): Shifts, of the shape and dtype of ``gamma``.
        eps (float): Added to the variance.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        TypeError: If ``groups`` is no int.
        ValueError: If ``groups`` does not divide the number of channels.
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.GroupNormalization`

    >>> x = np.array([[[1, 3], [5, 7]]], np.float32)
    >>> one, zero = np.ones(2, np.float32), np.zeros(2, np.float32)
    >>> F.group_normalization(x, 2, one, zero, eps=0).array
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """
    function = GroupNormalization(groups, eps)
    _errors.check_arrays('group_normalization', x=x)
    if x.ndim >= 2 and (groups <= 0 or x.shape[1] % groups != 0):
        raise ValueError(
            f'The number of channels {x.shape[1]} is not divisible by \'groups\' argument '
            f'{groups}.')
    return function.apply((x, gamma, beta))[0]
