"""What distributions do with arrays beyond functions: draws, and the limits of supports."""
import numbers

import numpy

import chainer
from chainer import backend, function_node, utils
from chainer import functions as F


class _ArrayCode(function_node.FunctionNode):

    def __init__(self, code, constants):
        # A function of a module, and plain data: so compiled methods can compare two of them.
        self._code, self._constants = code, constants

    def forward(self, inputs):
        xp = backend.get_array_module(inputs[0])
        return utils.force_array(self._code(xp, *inputs, *self._constants)),


def without_gradient(code, *variables, constants=()):
    """Returns the Variable of ``code(xp, *arrays, *constants)``, constant for all gradients.

    ``code`` is a function of a module, without variables of its own.
    """
    inputs = [chainer.as_variable(x) for x in variables]
    # What has no gradient is an input as it is: in compiled methods it is not computed before.
    inputs = [x.array if x.requires_grad else x for x in inputs]
    return _ArrayCode(code, constants).apply(inputs)[0]


def draw(name, n, like, parameters=()):
    """Draws ``n`` times the shape of ``like``, in its dtype, without gradients.

    Args:
        name (str): The function of ``xp.random``.
        n (int): How many draws.
        like (Variable): What the shape and the dtype are those of.
        parameters (tuple of Variables): Its arguments.

    Returns:
        Variable: Random numbers of shape ``(n,) + like.shape``.
    """
    if parameters:
        return without_gradient(_drawn, like, *parameters, constants=(name, n))
    # In compiled methods nothing has to be computed before.
    return chainer.as_variable(_drawn(backend.get_array_module(like), like, name, n))


def _drawn(xp, like, *arguments):
    *parameters, name, n = arguments
    drawn = getattr(xp.random, name)(*parameters, size=(n,) + like.shape)
    return drawn.astype(like.dtype)


def on_support(log_prob, inside, *variables, constants=()):
    """Returns ``log_prob`` where ``inside(xp, *arrays)`` holds, elsewhere minus infinity."""
    inside = without_gradient(inside, *variables, constants=constants)
    return F.where(inside, log_prob, filled(log_prob, -numpy.inf))


def filled(like, value):
    """Returns an array of the shape and dtype of ``like``, filled with a number."""
    return backend.get_array_module(like).full(like.shape, value, like.dtype)


def is_not_negative(xp, x):
    """Returns where ``x`` is zero or more."""
    return x >= 0


def is_a_part(xp, x):
    """Returns where ``x`` is from zero to one."""
    return (x >= 0) & (x <= 1)


def infinite_unless(divergence, inside, *variables, constants=()):
    """Returns ``divergence`` where ``inside(xp, *arrays)`` holds, elsewhere infinity."""
    return -on_support(-divergence, inside, *variables, constants=constants)


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


def as_point(x, param):
    """Returns points as a Variable: a number becomes an array of the dtype of ``param``."""
    if isinstance(x, (numbers.Real, numpy.generic)):
        x = backend.get_array_module(param).array(x, param.dtype)
    return chainer.as_variable(x)


def as_float(x, param):
    """Returns points as a Variable of floats: integers become what ``param`` is."""
    x = as_point(x, param)
    return x if x.dtype.kind == 'f' else F.cast(x, param.dtype)


def either(message, *groups):
    """Raise unless all of exactly one group of arguments and nothing else is given."""
    given = [all(value is not None for value in group) for group in groups]
    touched = [any(value is not None for value in group) for group in groups]
    if sum(given) != 1 or sum(touched) != 1:
        raise ValueError(f'Either {message} (not both) must have a value.')
