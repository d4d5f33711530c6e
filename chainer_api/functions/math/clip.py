"""Clipping to an interval."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class Clip(function_node.FunctionNode):
    """Clips to an interval (see :func:`clip`)."""

    def __init__(self, x_min, x_max):
        if x_min is None and x_max is None:
            raise ValueError('must set either max or min')
        if x_min is not None and x_max is not None and not x_min < x_max:
            raise ValueError('x_min must be less than x_max.')
        self.x_min = x_min
        self.x_max = x_max

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        low, high = _bounds(self.x_min, self.x_max, x.dtype)
        return utils.force_array(backend.get_array_module(x).clip(x, low, high)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return _ClipGrad(x.array, self.x_min, self.x_max).apply(grad_outputs)


class _ClipGrad(function_node.FunctionNode):
    """Passes what stands where ``x`` was not clipped; linear, so it is its own gradient."""

    def __init__(self, x, x_min, x_max):
        self.x = x
        self.x_min = x_min
        self.x_max = x_max

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        x = xp.asarray(self.x)
        low, high = _bounds(self.x_min, self.x_max, x.dtype)
        if low is None:
            inside = x <= high
        elif high is None:
            inside = x >= low
        else:
            inside = (x >= low) & (x <= high)
        return utils.force_array(gy * inside),

    def backward(self, indexes, grad_outputs):
        return _ClipGrad(self.x, self.x_min, self.x_max).apply(grad_outputs)


def _bounds(x_min, x_max, dtype):
    return [None if bound is None else dtype.type(bound) for bound in (x_min, x_max)]


def clip(x, x_min, x_max) -> Variable:
    """Clip elements to an interval.

    Args:
        x (Variable or array): floating-point array of any shape.
        x_min (float or None): smallest value, ``None`` for no bound.
        x_max (float or None): largest value, ``None`` for no bound.

    Returns:
        Variable: of the shape and dtype of ``x``. Elements on a bound keep their gradient.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ValueError: if both bounds are ``None``, or ``x_min`` is not below ``x_max``.

    >>> F.clip(np.array([-2., .5, 2.]), -1., 1.).array
    array([-1. ,  0.5,  1. ])
    """
    return Clip(x_min, x_max).apply((x,))[0]
