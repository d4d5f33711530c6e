"""Huber loss."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class HuberLoss(function_node.FunctionNode):
    """Huber loss (see :func:`huber_loss`)."""

    def __init__(self, delta, reduce='sum_along_second_axis'):
        self.delta = float(delta)
        if reduce not in ('sum_along_second_axis', 'no'):
            raise ValueError(
                "Only 'sum_along_second_axis' and 'no' are valid for 'reduce', but "
                f"'{reduce}' is given")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.dtype == t_type.dtype,
            x_type.shape == t_type.shape,
        )

    def forward(self, inputs):
        x, t = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0, 1))
        a = abs(x - t)
        # Up to delta half of the square, from there on its tangent.
        inner = xp.minimum(a, self.delta)
        y = inner * (a - 0.5 * inner)
        return utils.force_array(y if self.reduce == 'no' else y.sum(axis=1)),

    def backward(self, indexes, grad_outputs):
        x, t = self.get_retained_inputs()
        gy, = grad_outputs
        if self.reduce != 'no':
            gy = F.broadcast_to(F.expand_dims(gy, 1), x.shape)
        g = gy * F.clip(x - t, -self.delta, self.delta)
        return g if 0 in indexes else None, -g if 1 in indexes else None


def huber_loss(x, t, delta, reduce='sum_along_second_axis') -> Variable:
    r"""Huber loss, which is quadratic near zero and linear beyond.

    .. math::
        L = \frac{1}{2} a^2 \;(|a| \le \delta), \quad
        L = \delta (|a| - \frac{1}{2} \delta) \;(|a| > \delta), \quad a = x - t

    Args:
        x (Variable or array): floating-point array of shape ``(B, K, ...)``.
        t (Variable or array): of the shape and dtype of ``x``.
        delta (float): where the loss becomes linear.
        reduce (str): ``'sum_along_second_axis'``, or ``'no'`` for the loss of each element.

    Returns:
        Variable: of shape ``(B, ...)``, or of that of ``x`` if ``reduce`` is ``'no'``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``reduce`` is something else.

    >>> x = np.array([[-2., 3., .5]])
    >>> F.huber_loss(x, np.zeros((1, 3)), delta=1.).array
    array([4.125])
    """
    return HuberLoss(delta, reduce).apply((x, t))[0]
