"""Trigonometric functions and their inverses."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.math import _unary
from chainer.utils import type_check
from chainer.variable import Variable


class Sin(_unary.UnaryFunction):
    """Sine (see :func:`sin`)."""

    label = 'sin'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).sin(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return F.cos(x) * gy,


def sin(x) -> Variable:
    """Sine of each element.

    Args:
        x (Variable or array): floating-point array of any shape, in radians.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.sin(np.array([0., .5])).array
    array([0.        , 0.47942554])
    """
    return Sin().apply((x,))[0]


class Cos(_unary.UnaryFunction):
    """Cosine (see :func:`cos`)."""

    label = 'cos'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).cos(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return -F.sin(x) * gy,


def cos(x) -> Variable:
    """Cosine of each element.

    Args:
        x (Variable or array): floating-point array of any shape, in radians.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.cos(np.array([0., .5])).array
    array([1.        , 0.87758256])
    """
    return Cos().apply((x,))[0]


class Tan(_unary.UnaryFunction):
    """Tangent (see :func:`tan`)."""

    label = 'tan'

    def forward(self, inputs):
        x, = inputs
        self.retain_outputs((0,))
        return utils.force_array(backend.get_array_module(x).tan(x)),

    def backward(self, indexes, grad_outputs):
        y, = self.get_retained_outputs()
        gy, = grad_outputs
        return gy * (1 + y * y),


def tan(x) -> Variable:
    """Tangent of each element.

    Args:
        x (Variable or array): floating-point array of any shape, in radians.

    Returns:
        Variable: of the shape and dtype of ``x``.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.tan(np.array([0., .5])).array
    array([0.        , 0.54630249])
    """
    return Tan().apply((x,))[0]


class Arcsin(_unary.UnaryFunction):
    """Inverse sine (see :func:`arcsin`)."""

    label = 'arcsin'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).arcsin(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy / F.sqrt(1 - x * x),


def arcsin(x) -> Variable:
    """Inverse sine of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``, in radians.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.arcsin(np.array([0., 1.])).array
    array([0.        , 1.57079633])
    """
    return Arcsin().apply((x,))[0]


class Arccos(_unary.UnaryFunction):
    """Inverse cosine (see :func:`arccos`)."""

    label = 'arccos'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).arccos(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return -gy / F.sqrt(1 - x * x),


def arccos(x) -> Variable:
    """Inverse cosine of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``, in radians.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.arccos(np.array([0., 1.])).array
    array([1.57079633, 0.        ])
    """
    return Arccos().apply((x,))[0]


class Arctan(_unary.UnaryFunction):
    """Inverse tangent (see :func:`arctan`)."""

    label = 'arctan'

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return utils.force_array(backend.get_array_module(x).arctan(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy / (1 + x * x),


def arctan(x) -> Variable:
    """Inverse tangent of each element.

    Args:
        x (Variable or array): floating-point array of any shape.

    Returns:
        Variable: of the shape and dtype of ``x``, in radians.

    Raises:
        InvalidType: if ``x`` is no floating-point array.

    >>> F.arctan(np.array([0., 1.])).array
    array([0.        , 0.78539816])
    """
    return Arctan().apply((x,))[0]


class Arctan2(function_node.FunctionNode):
    """Angle of points (see :func:`arctan2`)."""

    is_elementwise = True
    label = 'arctan2'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x1', 'x2'))
        x1_type, x2_type = in_types
        type_check.expect(x1_type.dtype.kind == 'f', x2_type.dtype.kind == 'f')

    def forward(self, inputs):
        x1, x2 = inputs
        self.retain_inputs((0, 1))
        return utils.force_array(backend.get_array_module(x1).arctan2(x1, x2)),

    def backward(self, indexes, grad_outputs):
        x1, x2 = self.get_retained_inputs()
        g = grad_outputs[0] / (x1 * x1 + x2 * x2)
        g1 = F.sum_to(g * x2, x1.shape) if 0 in indexes else None
        g2 = F.sum_to(-g * x1, x2.shape) if 1 in indexes else None
        return g1, g2


def arctan2(x1, x2) -> Variable:
    """Angle of the points ``(x2, x1)``, from minus pi to pi: the inverse tangent of ``x1 / x2``.

    Args:
        x1 (Variable or array): second coordinates, a floating-point array.
        x2 (Variable or array): first coordinates. The two shapes broadcast together.

    Returns:
        Variable: of the common shape, in radians.

    Raises:
        InvalidType: if an argument is no floating-point array.

    >>> F.arctan2(np.array([0., 1.]), np.array([-1., 0.])).array
    array([3.14159265, 1.57079633])
    """
    return Arctan2().apply((x1, x2))[0]
