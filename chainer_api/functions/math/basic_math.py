"""Arithmetic, and the operators of Variable."""
import numpy

import chainer
from chainer import backend, function_node, utils, variable
from chainer.backends import cuda
from chainer.utils import type_check
from chainer.variable import Variable

_force_array = utils.force_array
_Variable = variable.Variable
_ndarray = numpy.ndarray


def _text(value):
    """Return a constant as it stands in labels."""
    if isinstance(value, (_ndarray, cuda.ndarray, _Variable)):
        return 'constant array'
    return f'({value})' if value < 0 else str(value)


def _is_scalar(value):
    kind = type(value)
    return kind is float or kind is int or numpy.isscalar(value)


def _constant(x, value):
    """Return the scalar ``value`` in the dtype of the array ``x``."""
    # A number that a compiler knows nothing about, for instance, has to convert itself.
    astype = getattr(value, 'astype', None)
    return x.dtype.type(value) if astype is None else astype(x.dtype)


def _number(value):
    """Return a scalar as a Python number: NumPy's would compute in their own precision."""
    if isinstance(value, numpy.generic):
        value = value.item()
    if not isinstance(value, (int, float)):
        _refuse(value)
    return value


def _refuse(value):
    raise TypeError(
        'an operand of a Variable must be a real scalar, a NumPy or CuPy array, or a Variable, '
        f'not {type(value)}')


def _operand(x, value):
    """Return an array as an operand in the dtype of ``x``; a Variable as it is."""
    if isinstance(value, _Variable):
        return value
    if not isinstance(value, (_ndarray, cuda.ndarray)):
        _refuse(value)
    # Converted by a function, so that a compiler sees it.
    return value if value.dtype == x.dtype else chainer.functions.cast(value, x.dtype)


def _check_binary(in_types, floating):
    if type(in_types) is type_check.LightTypeInfoTuple and len(in_types) == 2:
        lhs, rhs = in_types
        dtype = lhs.dtype
        if dtype == rhs.dtype and lhs.shape == rhs.shape and (not floating or dtype.kind == 'f'):
            return  # what nearly all calls are
    type_check.argname(in_types, ('lhs', 'rhs'))
    lhs, rhs = in_types
    if floating:
        type_check.expect(
            lhs.dtype.kind == 'f',
            rhs.dtype.kind == 'f',
            lhs.dtype == rhs.dtype)
    else:
        type_check.expect(lhs.dtype == rhs.dtype)
    type_check.expect_broadcast_shapes(lhs.shape, rhs.shape)


def _check_float(in_types):
    type_check.argname(in_types, ('x',))
    type_check.expect(in_types[0].dtype.kind == 'f')


def _sum_to(x, shape):
    return x if x._array.shape == shape else chainer.functions.sum_to(x, shape)


class Neg(function_node.FunctionNode):
    """Negation (see :func:`neg`)."""

    is_elementwise = True

    @property
    def label(self):
        return '__neg__'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    def forward(self, x):
        return _force_array(-x[0]),

    def backward(self, indexes, gy):
        return -gy[0],


def neg(self) -> Variable:
    """Element-wise negation ``-x``.

    Args:
        self (Variable): Any shape and dtype.

    Returns:
        Variable: Of the shape and dtype of the input.

    .. doctest::

        >>> -chainer.Variable(np.array([1., -2.]))
        variable([-1.,  2.])
    """
    return Neg().apply((self,))[0]


class Absolute(function_node.FunctionNode):
    """Absolute value (see :func:`absolute`)."""

    is_elementwise = True

    @property
    def label(self):
        return '|_|'

    def check_type_forward(self, in_types):
        _check_float(in_types)

    def forward(self, x):
        self.retain_inputs((0,))
        return _force_array(abs(x[0])),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return AbsoluteGrad(x._array).apply(grad_outputs)


class AbsoluteGrad(function_node.FunctionNode):
    """Gradient of the absolute value: ``sign(x) * gy``."""

    is_elementwise = True

    def __init__(self, x):
        self.x = x

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('gy',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        return _force_array(xp.sign(xp.asarray(self.x)) * gy),

    def backward(self, indexes, grad_outputs):
        return AbsoluteGrad(self.x).apply(grad_outputs)


def absolute(self) -> Variable:
    """Element-wise absolute value.

    Args:
        self (Variable): Any shape, floating dtype.

    Returns:
        Variable: Of the shape and dtype of the input.

    .. doctest::

        >>> abs(chainer.Variable(np.array([1., -2.])))
        variable([1., 2.])
    """
    return Absolute().apply((self,))[0]


class Add(function_node.FunctionNode):
    """Sum of two arrays (see :func:`add`)."""

    is_elementwise = True

    @property
    def label(self):
        return '_ + _'

    def check_type_forward(self, in_types):
        _check_binary(in_types, False)

    def forward(self, x):
        return _force_array(x[0] + x[1]),

    def backward(self, indexes, gy):
        inputs = self.inputs
        return tuple([_sum_to(gy[0], inputs[i].shape) for i in indexes])


class AddConstant(function_node.FunctionNode):
    """Sum of an array and a scalar (see :func:`add`)."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    @property
    def label(self):
        return f'_ + {_text(self.value)}'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    def forward(self, x):
        return _force_array(x[0] + _constant(x[0], self.value)),

    def backward(self, indexes, gy):
        return gy[0],


class MultiAdd(function_node.FunctionNode):
    """Sum of any number of arrays, from left to right (see :func:`add`)."""

    is_elementwise = True

    def check_type_forward(self, in_types):
        names = tuple([f'x{i}' for i in range(len(in_types))])
        type_check.argname(in_types, names)
        for other in in_types[1:]:
            type_check.expect(in_types[0].dtype == other.dtype)
        type_check.expect_broadcast_shapes(*[x.shape for x in in_types])

    def forward(self, xs):
        y = xs[0]
        for x in xs[1:]:
            y = y + x
        return _force_array(y),

    def backward(self, indexes, gy):
        inputs = self.inputs
        return tuple([_sum_to(gy[0], inputs[i].shape) for i in indexes])


def add(*xs) -> Variable:
    """Element-wise sum.

    Args:
        xs (Variable, array or scalar): Two or more summands of shapes that broadcast together;
            variables must have the same dtype, and what is no variable takes that of the first.
            With more than two, all must be variables or arrays.

    Returns:
        Variable: Of the broadcast shape.

    .. doctest::

        >>> x = chainer.Variable(np.array([1., 2.]))
        >>> F.add(x, x, x)
        variable([3., 6.])
        >>> x + 1
        variable([2., 3.])
    """
    if len(xs) != 2:
        if not xs:
            raise TypeError('add() needs at least one argument')
        return MultiAdd().apply(xs)[0]
    lhs, rhs = xs
    if isinstance(rhs, _Variable):
        return Add().apply(xs)[0]
    if _is_scalar(rhs):
        return AddConstant(_number(rhs)).apply((lhs,))[0]
    return Add().apply((lhs, _operand(lhs, rhs)))[0]


class Sub(function_node.FunctionNode):
    """Difference of two arrays (see :func:`sub`)."""

    is_elementwise = True

    @property
    def label(self):
        return '_ - _'

    def check_type_forward(self, in_types):
        _check_binary(in_types, False)

    def forward(self, x):
        return _force_array(x[0] - x[1]),

    def backward(self, indexes, gy):
        inputs = self.inputs
        gy, = gy
        return tuple([_sum_to(-gy if i else gy, inputs[i].shape) for i in indexes])


def sub(self, rhs) -> Variable:
    """Element-wise difference ``x - y``.

    Args:
        self (Variable): Any shape and dtype.
        rhs (Variable, array or scalar): Of a shape that broadcasts with that of ``self``.

    Returns:
        Variable: Of the broadcast shape.

    .. doctest::

        >>> chainer.Variable(np.array([1., 2.])) - 1
        variable([0., 1.])
    """
    if _is_scalar(rhs):
        return AddConstant(-_number(rhs)).apply((self,))[0]
    return Sub().apply((self, _operand(self, rhs)))[0]


class SubFromConstant(function_node.FunctionNode):
    """Difference of a scalar and an array (see :func:`rsub`)."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    @property
    def label(self):
        return f'{_text(self.value)} - _'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    def forward(self, x):
        return _force_array(_constant(x[0], self.value) - x[0]),

    def backward(self, indexes, gy):
        return -gy[0],


def rsub(self, rhs):
    """Element-wise difference ``y - x``, with the operands of :func:`sub` exchanged.

    .. doctest::

        >>> 1 - chainer.Variable(np.array([1., 2.]))
        variable([ 0., -1.])
    """
    if _is_scalar(rhs):
        return SubFromConstant(_number(rhs)).apply((self,))[0]
    return Sub().apply((_operand(self, rhs), self))[0]


class Mul(function_node.FunctionNode):
    """Product of two arrays (see :func:`mul`)."""

    is_elementwise = True

    @property
    def label(self):
        return '_ * _'

    def check_type_forward(self, in_types):
        _check_binary(in_types, True)

    def forward(self, x):
        self.retain_inputs((0, 1))
        return _force_array(x[0] * x[1]),

    def backward(self, indexes, gy):
        xs = self.get_retained_inputs()
        gy, = gy
        return tuple([_sum_to(gy * xs[1 - i], xs[i]._array.shape) for i in indexes])


class MulConstant(function_node.FunctionNode):
    """Product of an array and a scalar (see :func:`mul`)."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    @property
    def label(self):
        return f'_ * {_text(self.value)}'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))

    def forward(self, x):
        return _force_array(_constant(x[0], self.value) * x[0]),

    def backward(self, indexes, gy):
        return MulConstant(self.value).apply(gy)


def mul(self, rhs) -> Variable:
    """Element-wise product.

    Args:
        self (Variable): Any shape; floating dtype unless ``rhs`` is a scalar.
        rhs (Variable, array or scalar): Of a shape that broadcasts with that of ``self``.

    Returns:
        Variable: Of the broadcast shape.

    .. doctest::

        >>> chainer.Variable(np.array([1., 2.])) * 3
        variable([3., 6.])
    """
    if isinstance(rhs, _Variable):
        return Mul().apply((self, rhs))[0]
    if _is_scalar(rhs):
        return MulConstant(_number(rhs)).apply((self,))[0]
    return Mul().apply((self, _operand(self, rhs)))[0]


class Div(function_node.FunctionNode):
    """Quotient of two arrays (see :func:`div`)."""

    is_elementwise = True

    @property
    def label(self):
        return '_ / _'

    def check_type_forward(self, in_types):
        _check_binary(in_types, True)

    def forward(self, x):
        self.retain_inputs((0, 1))
        return _force_array(x[0] / x[1]),

    def backward(self, indexes, grad_outputs):
        x0, x1 = self.get_retained_inputs()
        is_elementwise = x0._array.shape == x1._array.shape
        return DivGrad(is_elementwise).apply((x0, x1, grad_outputs[0]))


class DivGrad(function_node.FunctionNode):
    """Gradients of a quotient with respect to both operands."""

    def __init__(self, is_elementwise):
        self.is_elementwise = is_elementwise

    def forward(self, inputs):
        self.retain_inputs((0, 1, 2))
        x0, x1, gy = inputs
        gx0 = gy / x1
        gx1 = -gx0 * x0 / x1
        return (
            _force_array(utils.sum_to(_force_array(gx0), x0.shape)),
            _force_array(utils.sum_to(_force_array(gx1), x1.shape)))

    def backward(self, indexes, grad_outputs):
        x0, x1, gy = self.get_retained_inputs()
        ggx0, ggx1 = grad_outputs
        gx0 = gx1 = ggy = None
        if ggx0 is not None:
            ratio = ggx0 / x1
            ggy = ratio
            gx1 = -ratio * gy / x1
        if ggx1 is not None:
            ratio = ggx1 / x1
            part = ratio * gy / x1
            gx0 = -part
            gx1_part = 2 * part * x0 / x1
            gx1 = gx1_part if gx1 is None else gx1 + gx1_part
            ggy_part = -ratio * x0 / x1
            ggy = ggy_part if ggy is None else ggy + ggy_part
        return tuple([
            None if g is None else _sum_to(g, x._array.shape)
            for g, x in ((gx0, x0), (gx1, x1), (ggy, gy))])


def div(self, rhs) -> Variable:
    """Element-wise quotient ``x / y``.

    Args:
        self (Variable): Any shape, floating dtype.
        rhs (Variable, array or scalar): Of a shape that broadcasts with that of ``self``.

    Returns:
        Variable: Of the broadcast shape.

    .. doctest::

        >>> chainer.Variable(np.array([1., 2.])) / 2
        variable([0.5, 1. ])
    """
    if _is_scalar(rhs):
        return MulConstant(1.0 / _number(rhs)).apply((self,))[0]
    return Div().apply((self, _operand(self, rhs)))[0]


class DivFromConstant(function_node.FunctionNode):
    """Quotient of a scalar and an array (see :func:`rdiv`)."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    @property
    def label(self):
        return f'{_text(self.value)} / _'

    def check_type_forward(self, in_types):
        _check_float(in_types)

    def forward(self, x):
        self.retain_inputs((0,))
        return _force_array(_constant(x[0], self.value) / x[0]),

    def backward(self, indexes, grad_outputs):
        x = self.get_retained_inputs()
        return DivFromConstantGrad(self.value).apply(x + grad_outputs)


class DivFromConstantGrad(function_node.FunctionNode):
    """Gradient of the quotient of a scalar and an array: ``-value * gy / x ** 2``."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        return _force_array(-_constant(x, self.value) * gy / (x ** 2)),

    def backward(self, indexes, grad_outputs):
        x, gy = self.get_retained_inputs()
        ggx, = grad_outputs
        ret = []
        if 0 in indexes:
            ret.append(2 * self.value * ggx * gy / (x ** 3))
        if 1 in indexes:
            ret.append(-self.value * ggx / (x ** 2))
        return tuple(ret)


def rdiv(self, rhs):
    """Element-wise quotient ``y / x``, with the operands of :func:`div` exchanged.

    .. doctest::

        >>> 1 / chainer.Variable(np.array([1., 2.]))
        variable([1. , 0.5])
    """
    if _is_scalar(rhs):
        return DivFromConstant(_number(rhs)).apply((self,))[0]
    return Div().apply((_operand(self, rhs), self))[0]


def floordiv(self, rhs) -> Variable:
    """Element-wise floor of the quotient, ``x // y``; its gradient is not defined.

    Args:
        self (Variable): Any shape, floating dtype.
        rhs (Variable, array or scalar): Of a shape that broadcasts with that of ``self``.

    Returns:
        Variable: Of the broadcast shape.

    .. doctest::

        >>> chainer.Variable(np.array([3., 4.])) // 2
        variable([1., 2.])
    """
    return chainer.functions.floor(div(self, rhs))


def rfloordiv(self, rhs):
    """Element-wise floor of the quotient ``y // x``, with the operands exchanged.

    .. doctest::

        >>> 5 // chainer.Variable(np.array([2., 5.]))
        variable([2., 1.])
    """
    return chainer.functions.floor(rdiv(self, rhs))


class PowVarVar(function_node.FunctionNode):
    """Power of two arrays (see :func:`pow`)."""

    is_elementwise = True

    @property
    def label(self):
        return '_ ** _'

    def check_type_forward(self, in_types):
        _check_binary(in_types, True)

    def forward(self, x):
        self.retain_inputs((0, 1))
        self.retain_outputs((0,))
        return _force_array(x[0] ** x[1]),

    def backward(self, indexes, gy):
        x0, x1 = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        is_elementwise = x0._array.shape == x1._array.shape
        return PowVarVarGrad(is_elementwise, y._array).apply((x0, x1, gy[0]))


class PowVarVarGrad(function_node.FunctionNode):
    """Gradients of a power with respect to base and exponent."""

    def __init__(self, is_elementwise, y):
        self.is_elementwise = is_elementwise
        self.y = y

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('lhs', 'rhs', 'gy'))

    def forward(self, inputs):
        self.retain_inputs((0, 1, 2))
        x0, x1, gy = inputs
        xp = backend.get_array_module(x0)
        y = xp.asarray(self.y)
        gx0 = x1 * (x0 ** (x1 - _constant(x1, 1))) * gy
        gx1 = xp.log(x0) * y * gy
        return (
            _force_array(utils.sum_to(_force_array(gx0), x0.shape)),
            _force_array(utils.sum_to(_force_array(gx1), x1.shape)))

    def backward(self, indexes, ggx):
        x0, x1, gy = self.get_retained_inputs()
        ggx0, ggx1 = ggx
        log = chainer.functions.log
        gx0 = gx1 = ggy = None
        power = x0 ** (x1 - 1)
        if ggx0 is not None:
            gx0 = ggx0 * gy * x1 * (x1 - 1) * x0 ** (x1 - 2)
            gx1 = ggx0 * gy * power * (1 + x1 * log(x0))
            ggy = ggx0 * x1 * power
        if ggx1 is not None:
            log_x0 = log(x0)
            y = x0 ** x1
            gx0_part = ggx1 * gy * power * (1 + x1 * log_x0)
            gx1_part = ggx1 * gy * log_x0 * log_x0 * y
            ggy_part = ggx1 * log_x0 * y
            gx0 = gx0_part if gx0 is None else gx0 + gx0_part
            gx1 = gx1_part if gx1 is None else gx1 + gx1_part
            ggy = ggy_part if ggy is None else ggy + ggy_part
        return tuple([
            None if g is None else _sum_to(g, x._array.shape)
            for g, x in ((gx0, x0), (gx1, x1), (ggy, gy))])


class PowVarConst(function_node.FunctionNode):
    """Power of an array and a scalar (see :func:`pow`)."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    @property
    def label(self):
        return f'_ ** {_text(self.value)}'

    def check_type_forward(self, in_types):
        _check_float(in_types)

    def forward(self, x):
        self.retain_inputs((0,))
        return _force_array(x[0] ** _constant(x[0], self.value)),

    def backward(self, indexes, gy):
        inputs = self.get_retained_inputs()
        return PowVarConstGrad(self.value).apply((inputs[0], gy[0]))


class PowVarConstGrad(function_node.FunctionNode):
    """Gradient of a power with respect to its base."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 'gy'))
        x, gy = in_types
        type_check.expect(x.dtype == gy.dtype, x.shape == gy.shape)

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gy = inputs
        return _force_array(
            _constant(x, self.value) * (x ** _constant(x, self.value - 1)) * gy),

    def backward(self, indexes, ggx):
        x, gy = self.get_retained_inputs()
        ggx, = ggx
        ret = []
        if 0 in indexes:
            ret.append(self.value * (self.value - 1) * ggx * gy * x ** (self.value - 2))
        if 1 in indexes:
            ret.append(self.value * ggx * x ** (self.value - 1))
        return tuple(ret)


def pow(self, rhs) -> Variable:
    """Element-wise power ``x ** y``.

    Args:
        self (Variable): Any shape, floating dtype.
        rhs (Variable, array or scalar): Of a shape that broadcasts with that of ``self``.

    Returns:
        Variable: Of the broadcast shape.

    .. doctest::

        >>> chainer.Variable(np.array([1., 2.])) ** 2
        variable([1., 4.])
    """
    if _is_scalar(rhs):
        return PowVarConst(_number(rhs)).apply((self,))[0]
    return PowVarVar().apply((self, _operand(self, rhs)))[0]


class PowConstVar(function_node.FunctionNode):
    """Power of a scalar and an array (see :func:`rpow`)."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value

    @property
    def label(self):
        return f'{_text(self.value)} ** _'

    def check_type_forward(self, in_types):
        _check_float(in_types)

    def forward(self, x):
        self.retain_outputs((0,))
        return _force_array(_constant(x[0], self.value) ** x[0]),

    def backward(self, indexes, gy):
        outputs = self.get_retained_outputs()
        return PowConstVarGrad(self.value).apply(outputs + (gy[0],))


class PowConstVarGrad(function_node.FunctionNode):
    """Gradient of a power with respect to its exponent: ``log(value) * y * gy``."""

    is_elementwise = True

    def __init__(self, value):
        self.value = value
        self.log_value = numpy.log(value)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('y', 'gy'))
        y, gy = in_types
        type_check.expect(y.dtype == gy.dtype, y.shape == gy.shape)

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        y, gy = inputs
        return _force_array(_constant(y, self.log_value) * y * gy),

    def backward(self, indexes, ggx):
        y, gy = self.get_retained_inputs()
        ggx, = ggx
        gygy = ggx * self.log_value
        ret = []
        if 0 in indexes:
            ret.append(gygy * gy)
        if 1 in indexes:
            ret.append(gygy * y)
        return tuple(ret)


def rpow(self, rhs):
    """Element-wise power ``y ** x``, with the operands of :func:`pow` exchanged.

    .. doctest::

        >>> 2 ** chainer.Variable(np.array([1., 3.]))
        variable([2., 8.])
    """
    if _is_scalar(rhs):
        return PowConstVar(_number(rhs)).apply((self,))[0]
    return PowVarVar().apply((_operand(self, rhs), self))[0]


def matmul(self, rhs):
    """Matrix product ``x @ y`` (see :func:`chainer.functions.matmul`).

    .. doctest::

        >>> x = chainer.Variable(np.array([[1., 2.]]))
        >>> x @ x.T
        variable([[5.]])
    """
    return chainer.functions.matmul(self, _operand(self, rhs))


def rmatmul(self, rhs):
    """Matrix product ``y @ x``, with the operands of :func:`matmul` exchanged."""
    return chainer.functions.matmul(_operand(self, rhs), self)


def _pos(self):
    return self


def install_variable_arithmetics():
    """Make these functions the operators of :class:`~chainer.Variable`."""
    Variable = _Variable
    Variable.__neg__ = neg
    Variable.__pos__ = _pos
    Variable.__abs__ = absolute
    Variable.__add__ = add
    Variable.__radd__ = add
    Variable.__sub__ = sub
    Variable.__rsub__ = rsub
    Variable.__mul__ = mul
    Variable.__rmul__ = mul
    Variable.__div__ = div
    Variable.__truediv__ = div
    Variable.__rdiv__ = rdiv
    Variable.__rtruediv__ = rdiv
    Variable.__floordiv__ = floordiv
    Variable.__rfloordiv__ = rfloordiv
    Variable.__pow__ = pow
    Variable.__rpow__ = rpow
    Variable.__matmul__ = matmul
    Variable.__rmatmul__ = rmatmul
