"""Rectified linear unit with random slopes."""
import chainer
from chainer import backend, function_node, utils
from chainer.utils import _errors, argument, type_check
from chainer.variable import Variable


class RReLU(function_node.FunctionNode):
    """Randomized leaky rectified linear unit (see :func:`rrelu`).

    Attributes:
        r: the slopes, drawn in ``forward`` if none were given.
    """

    def __init__(self, lower=1. / 8, upper=1. / 3, r=None):
        if not 0.0 <= lower < 1.0:
            raise ValueError('lower must be in the range [0, 1)')
        if not 0.0 <= upper < 1.0:
            raise ValueError('upper must be in the range [0, 1)')
        if not lower < upper:
            raise ValueError('lower must be less than upper')
        if r is not None:
            _errors.check_arrays('rrelu', r=r)
        self.lower = lower
        self.upper = upper
        self.r = r

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        if self.r is not None:
            type_check.expect(x_type.dtype == self.r.dtype, x_type.shape == self.r.shape)

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        if not chainer.config.train:
            self.r = xp.full(x.shape, (self.lower + self.upper) / 2, x.dtype)
        elif self.r is None:
            self.r = xp.random.uniform(self.lower, self.upper, x.shape).astype(x.dtype, copy=False)
        self.retain_inputs((0,))
        return utils.force_array(x * _slopes(x, xp.asarray(self.r))),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return _RReLUGrad(x.array, self.r).apply(grad_outputs)


class _RReLUGrad(function_node.FunctionNode):

    def __init__(self, x, r):
        self.x = x
        self.r = r

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        return utils.force_array(gy * _slopes(xp.asarray(self.x), xp.asarray(self.r))),

    def backward(self, indexes, grad_outputs):
        return _RReLUGrad(self.x, self.r).apply(grad_outputs)


def _slopes(x, r):
    """``r`` where ``x`` is negative, else one: faster than ``where``, which branches."""
    negative = x < 0
    return negative * r + ~negative


def rrelu(x, l=1. / 8, u=1. / 3, *, r=None, return_r=False, **kwargs) -> Variable:
    r"""Rectified linear unit with random slopes for negative values.

    .. math:: y = x \;(x \ge 0), \quad y = r x \;(x < 0)

    While training, each element has its own slope :math:`r \sim U(l, u)`; with
    ``chainer.config.train`` off all have the mean :math:`(l + u) / 2`. See: `Xu et al., Empirical
    Evaluation of Rectified Activations in Convolutional Network
    <https://arxiv.org/abs/1505.00853>`_.

    Args:
        x (Variable or array): floating-point array of any shape.
        l (float): lower bound of the slopes.
        u (float): upper bound of the slopes.
        r (array or None): slopes to use, of the shape and dtype of ``x``, instead of drawing them.
        return_r (bool): whether to return the slopes too.

    Returns:
        Variable: of the shape and dtype of ``x``; with ``return_r``, a tuple of it and the array
        of slopes.

    Raises:
        ValueError: unless ``0 <= l < u < 1``.
        InvalidType: if ``x`` is no floating-point array, or ``r`` does not fit it.

    >>> x = np.array([-1, 0, 2], np.float32)
    >>> F.rrelu(x, r=np.full_like(x, .25)).array
    array([-0.25,  0.  ,  2.  ], dtype=float32)
    """
    if kwargs:
        argument.check_unexpected_kwargs(
            kwargs, train='train argument is not supported anymore. Use chainer.using_config')
        argument.assert_kwargs_empty(kwargs)
    function = RReLU(l, u, r)
    if return_r:
        function.opaque = 'its slopes are wanted'
    y, = function.apply((x,))
    return (y, function.r) if return_r else y
