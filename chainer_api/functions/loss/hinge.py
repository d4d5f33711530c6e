"""Hinge loss."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Hinge(function_node.FunctionNode):
    """Hinge loss (see :func:`hinge`)."""

    def __init__(self, norm='L1', reduce='mean'):
        if norm not in ('L1', 'L2'):
            raise NotImplementedError("norm should be either 'L1' or 'L2'")
        if reduce not in ('mean', 'no'):
            raise ValueError(
                f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
        self.norm = norm
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            t_type.dtype.kind == 'i',
            x_type.ndim == 2,
            t_type.ndim == 1,
            x_type.shape[0] == t_type.shape[0],
        )

    def forward(self, inputs):
        x, t = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        self.sign = xp.ones_like(x)
        self.sign[xp.arange(len(t)), t] = -1
        loss = xp.maximum(1 + self.sign * x, 0)
        if self.norm == 'L1':
            self.slope = (loss > 0) * self.sign
        else:
            loss = loss * loss
        if self.reduce == 'mean':
            loss = loss.sum() / len(x)
        return utils.force_array(loss, x.dtype),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        if self.reduce == 'mean':
            gy = F.broadcast_to(gy * (1. / max(len(self.sign), 1)), self.sign.shape)
        if self.norm == 'L1':
            return gy * self.slope, None
        x, = self.get_retained_inputs()
        return gy * self.sign * 2 * F.relu(x * self.sign + 1), None


def hinge(x, t, norm='L1', reduce='mean') -> Variable:
    r"""Hinge loss, one against all.

    .. math:: L_{nk} = \max(1 - s_{nk} x_{nk}, 0)^p, \quad s_{nk} = 1 \;(t_n = k)
        \;\mathrm{or}\; -1 \;(t_n \ne k)

    where :math:`p` is 1 or 2, as ``norm`` says.

    Args:
        x (Variable or array): scores, a floating-point array of shape ``(N, K)``.
        t (Variable or array): ``N`` integers: the right classes.
        norm (str): ``'L1'`` or ``'L2'``.
        reduce (str): ``'mean'`` for the sum divided by ``N``, or ``'no'`` for the loss of each
            score.

    Returns:
        Variable: of the dtype of ``x``, without dimensions, or in the shape of ``x``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        NotImplementedError: if ``norm`` is something else.
        ValueError: if ``reduce`` is something else.

    >>> x = np.array([[-2., 3., .5], [5., 2., -.5]])
    >>> F.hinge(x, np.array([1, 0]), reduce='no').array
    array([[0. , 0. , 1.5],
           [0. , 3. , 0.5]])
    """
    return Hinge(norm, reduce).apply((x, t))[0]
