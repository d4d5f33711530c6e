"""Exponential function and logarithms."""
import math

from chainer import backend, utils
from chainer.functions.math import _unary
from chainer.variable import Variable


class Exp(_unary.UnaryFunction):
    """Exponential function (see :func:`exp`)."""

    label = 'exp'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(backend.get_array_module(x).exp(x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return y * gy,


def exp(x) -> Variable:
    """Exponential function of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.exp(np.array([0., 1.])).array
    array([1.        , 2.71828183])
    """
    return Exp().apply((x,))[0]


class Log(_unary.UnaryFunction):
    """Natural logarithm (see :func:`log`)."""

    label = 'log'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).log(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy / x,


def log(x) -> Variable:
    """Natural logarithm of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.log(np.array([1., 2., 10.])).array.round(4)
    array([0.    , 0.6931, 2.3026])
    """
    return Log().apply((x,))[0]


class Log2(_unary.UnaryFunction):
    """Logarithm to the base 2 (see :func:`log2`)."""

    label = 'log2'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).log2(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy * (1 / math.log(2)) / x,


def log2(x) -> Variable:
    """Logarithm to the base 2 of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.log2(np.array([1., 2., 10.])).array.round(4)
    array([0.    , 1.    , 3.3219])
    """
    return Log2().apply((x,))[0]


class Log10(_unary.UnaryFunction):
    """Logarithm to the base 10 (see :func:`log10`)."""

    label = 'log10'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).log10(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy * (1 / math.log(10)) / x,


def log10(x) -> Variable:
    """Logarithm to the base 10 of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.log10(np.array([1., 2., 10.])).array.round(4)
    array([0.   , 0.301, 1.   ])
    """
    return Log10().apply((x,))[0]
