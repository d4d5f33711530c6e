"""What distributions do with arrays beyond functions: draws, and the limits of supports."""
import numpy

import chainer
from chainer import backend, function_node, utils
from chainer import functions as F


class _ArrayCode(function_node.FunctionNode):

    def __init__(self, code):
        self._code = code

    def forward(self, inputs):
        return utils.force_array(self._code(backend.get_array_module(inputs[0]), *inputs)),


def without_gradient(code, *variables):
    """Returns the Variable of ``code(xp, *arrays)``, constant for all gradients."""
    return _ArrayCode(code).apply([chainer.as_array(x) for x in variables])[0]


def draw(sampler, n, *parameters):
    """Draws ``n`` times the shape of the first parameter, in its dtype, without gradients.

    Args:
        sampler (callable): ``sampler(xp.random, size, *arrays)`` returns random numbers.
        n (int): How many draws.
        parameters (Variables): What the arrays are taken from.

    Returns:
        Variable: Random numbers of shape ``(n,) + parameters[0].shape``.
    """
    def code(xp, *arrays):
        size = (n,) + arrays[0].shape
        return sampler(xp.random, size, *arrays).astype(arrays[0].dtype)
    return without_gradient(code, *parameters)


def on_support(log_prob, inside, *variables):
    """Returns ``log_prob`` where ``inside(xp, *arrays)`` holds, elsewhere minus infinity."""
    outside = without_gradient(lambda xp, y: xp.full_like(y, -numpy.inf), log_prob)
    return F.where(without_gradient(inside, *variables), log_prob, outside)


def infinite_unless(divergence, inside, *variables):
    """Returns ``divergence`` where ``inside(xp, *arrays)`` holds, elsewhere infinity."""
    return -on_support(-divergence, inside, *variables)


class _XLogX(function_node.FunctionNode):

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        return utils.force_array(x * xp.log(xp.where(x == 0, x.dtype.type(1), x))),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return grad_outputs[0] * (F.log(x) + 1),


def xlogx(x):
    """Returns ``x log(x)``, which is zero at zero."""
    return _XLogX().apply((x,))[0]


def as_float(x, param):
    """Returns points as a Variable of floats: integers become what ``param`` is."""
    x = chainer.as_variable(x)
    return x if x.dtype.kind == 'f' else F.cast(x, param.dtype)


def either(message, *groups):
    """Raise unless all of exactly one group of arguments and nothing else is given."""
    given = [all(value is not None for value in group) for group in groups]
    touched = [any(value is not None for value in group) for group in groups]
    if sum(given) != 1 or sum(touched) != 1:
        raise ValueError(f'Either {message} (not both) must have a value.')
