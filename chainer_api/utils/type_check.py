"""Checking of the dtypes and shapes that functions get.

``check_type_forward`` of a function receives a tuple of type descriptions and states what it
expects of them::

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 'W'))
        x_type, w_type = in_types
        type_check.expect(x_type.ndim == 2, x_type.shape[1] == w_type.shape[1])

A check runs up to two times. First with the arrays themselves as descriptions, where
``x_type.ndim == 2`` is a plain comparison: nothing is built while all is well. Only if that fails,
it runs again with :class:`Expr` objects, from which the message is written.
"""
import math
import operator
import threading

import numpy

import chainer
from chainwright.runtime import pass_on


class _State(threading.local):
    light = False


_state = _State()


class InvalidType(Exception):
    """Raised when types do not meet what a function expects.

    Args:
        expect (str): What was expected.
        actual (str): What was found.
        msg (str): The whole message; made from the other two by default.
    """

    def __init__(self, expect, actual, msg=None):
        if msg is None:
            msg = f'Expect: {expect}\nActual: {actual}'
        super().__init__(msg)
        self.expect = expect
        self.actual = actual

    def __reduce__(self):
        return type(self), (self.expect, self.actual, str(self))


# Descriptions of types


class TypeInfo:
    """Shape and dtype of an array.

    Args:
        shape (tuple of int): Shape.
        dtype (numpy.dtype): Dtype.
    """

    __slots__ = ('shape', 'dtype', 'ndim')

    def __init__(self, shape, dtype):
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)

    @property
    def size(self):
        """Number of elements."""
        return math.prod(self.shape)


class TypeInfoTuple(tuple):
    """Type descriptions of all inputs of a function, as expressions that can be printed.

    :func:`get_types` makes it.
    """

    name = None  # get_types sets it

    def size(self):
        """Return the number of elements, as an expression.

        .. doctest::

            >>> types = chainer.utils.type_check.get_types((np.zeros(3),), 'in_types', False)
            >>> str(types.size() == 2)
            'in_types.size == 2'
        """
        return Variable(len(self), f'{self.name}.size')


class LightTypeInfoTuple(tuple):
    """The input arrays of a function as their own type descriptions."""

    __slots__ = ()

    def size(self):
        """Return the number of elements."""
        return len(self)


def get_types(data, name, accept_none):
    """Describe arrays as expressions.

    Args:
        data (sequence of arrays): The arrays.
        name (str): How messages call the sequence.
        accept_none (bool): Whether ``data`` may contain ``None``.

    Returns:
        TypeInfoTuple: One :class:`Variable` an array.
    """
    types = TypeInfoTuple([
        _describe(array, f'{name}[{i}]', accept_none) for i, array in enumerate(data)])
    types.name = name
    return types


def get_light_types(data):
    """Describe arrays by themselves (see the text of this module)."""
    return LightTypeInfoTuple(data)


def _describe(array, name, accept_none):
    if array is None:
        if not accept_none:
            raise InvalidType(
                f'{name} is an array', 'None',
                f'{name} is None: a variable without data (an uninitialized Parameter?) was given')
        return Variable(TypeInfo((), None), name)
    return Variable(TypeInfo(array.shape, array.dtype), name)


def argname(in_types, names):
    """Check the number of inputs and name them in messages.

    Args:
        in_types (tuple): What ``check_type_forward`` got.
        names (tuple of str): One name an input.
    """
    if len(in_types) != len(names):
        raise InvalidType(
            f'{len(names)} argument(s) ({", ".join(names)})', f'{len(in_types)} argument(s)',
            f'Invalid number of arguments: {len(names)} expected ({", ".join(names)}), '
            f'{len(in_types)} given')
    if isinstance(in_types, TypeInfoTuple):
        for in_type, name in zip(in_types, names, strict=True):
            in_type.name = name


_argname = argname


# Expressions

# How tightly an expression binds in text, weakest first, as in Python's grammar.
_COMPARISON, _OR, _XOR, _AND, _SHIFT, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(10)


def _value(x):
    return x.eval() if isinstance(x, Expr) else x


def _as_expr(x):
    return x if isinstance(x, Expr) else Constant(x)


def _in_brackets(expr, needed):
    return str(expr) if expr.priority >= needed else f'({expr})'


def _binary(symbol, priority, function, reflected=False):
    if reflected:
        def method(self, y):
            return BinaryOperator(priority, y, self, symbol, function)
    else:
        def method(self, y):
            return BinaryOperator(priority, self, y, symbol, function)
    return method


def _comparison(symbol, opposite, function):
    def method(self, y):
        return BoolBinaryOperator(self, y, symbol, opposite, function)
    return method


def _unary(symbol, function):
    def method(self):
        return UnaryOperator(_UNARY, self, symbol, function)
    return method


class Expr:
    """A formula over type descriptions, which can be printed and evaluated.

    Operators, indexing, calls and attribute access on an ``Expr`` give another ``Expr``.
    ``str(expr)`` is its text, ``expr.eval()`` its value.

    Args:
        priority (int): How tightly the expression binds in its text.

    .. doctest::

        >>> from chainer.utils.type_check import Variable
        >>> n = Variable(3, 'n')
        >>> str(n + 1 == 4), (n + 1 == 4).eval()
        ('n + 1 == 4', True)
    """

    def __init__(self, priority):
        self.priority = priority

    def eval(self):
        """Return the value of the expression."""
        raise NotImplementedError(f'{type(self).__name__} does not say how it is evaluated')

    def __getattr__(self, name):
        if name.startswith('__'):  # copy, pickle and numpy look for protocols
            raise AttributeError(name)
        return GetAttr(self, name)

    def __getitem__(self, key):
        return GetItem(self, key)

    def __call__(self, *args):
        """Return the expression of a call."""
        return Call(self, args)

    def __bool__(self):
        raise RuntimeError(
            f'the expression ({self}) has no truth value: pass it to type_check.expect(), or use '
            'its value, expr.eval(); `and`, `or` and `not` cannot be used')

    __nonzero__ = __bool__
    __hash__ = None

    __eq__ = _comparison('==', '!=', operator.eq)
    __ne__ = _comparison('!=', '==', operator.ne)
    __lt__ = _comparison('<', '>=', operator.lt)
    __le__ = _comparison('<=', '>', operator.le)
    __gt__ = _comparison('>', '<=', operator.gt)
    __ge__ = _comparison('>=', '<', operator.ge)

    def __pow__(self, y):
        return BinaryOperator(_POWER, self, y, '**', operator.pow, right_associative=True)

    def __rpow__(self, y):
        return BinaryOperator(_POWER, y, self, '**', operator.pow, right_associative=True)

    def __add__(self, y):
        return BinaryOperator(_SUM, self, y, '+', operator.add)

    def __radd__(self, y):
        return BinaryOperator(_SUM, y, self, '+', operator.add)

    def __sub__(self, y):
        return BinaryOperator(_SUM, self, y, '-', operator.sub)

    def __rsub__(self, y):
        return BinaryOperator(_SUM, y, self, '-', operator.sub)

    def __mul__(self, y):
        return BinaryOperator(_PRODUCT, self, y, '*', operator.mul)

    def __rmul__(self, y):
        return BinaryOperator(_PRODUCT, y, self, '*', operator.mul)

    def __truediv__(self, y):
        return BinaryOperator(_PRODUCT, self, y, '/', operator.truediv)

    def __rtruediv__(self, y):
        return BinaryOperator(_PRODUCT, y, self, '/', operator.truediv)

    def __floordiv__(self, y):
        return BinaryOperator(_PRODUCT, self, y, '//', operator.floordiv)

    def __rfloordiv__(self, y):
        return BinaryOperator(_PRODUCT, y, self, '//', operator.floordiv)

    __mod__ = _binary('%', _PRODUCT, operator.mod)
    __rmod__ = _binary('%', _PRODUCT, operator.mod, True)
    __lshift__ = _binary('<<', _SHIFT, operator.lshift)
    __rlshift__ = _binary('<<', _SHIFT, operator.lshift, True)
    __rshift__ = _binary('>>', _SHIFT, operator.rshift)
    __rrshift__ = _binary('>>', _SHIFT, operator.rshift, True)
    __and__ = _binary('&', _AND, operator.and_)
    __rand__ = _binary('&', _AND, operator.and_, True)
    __xor__ = _binary('^', _XOR, operator.xor)
    __rxor__ = _binary('^', _XOR, operator.xor, True)
    __or__ = _binary('|', _OR, operator.or_)
    __ror__ = _binary('|', _OR, operator.or_, True)
    __neg__ = _unary('-', operator.neg)
    __pos__ = _unary('+', operator.pos)
    __invert__ = _unary('~', operator.invert)


class Atom(Expr):
    """An expression that never needs brackets."""

    def __init__(self):
        super().__init__(_ATOM)


class Constant(Atom):
    """A value without a name."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def __str__(self):
        return repr(self.value) if isinstance(self.value, str) else str(self.value)

    def eval(self):
        return self.value


class Variable(Atom):
    """A value with a name.

    Args:
        value: The value.
        name (str): How messages call it.

    .. doctest::

        >>> in_size = chainer.utils.type_check.Variable(4, 'in_size')
        >>> str(in_size == 3)
        'in_size == 3'
    """

    def __init__(self, value, name):
        super().__init__()
        self.value = value
        self.name = name

    def __str__(self):
        return self.name

    def eval(self):
        return self.value


class GetAttr(Atom):
    """An attribute of an expression."""

    def __init__(self, obj, name):
        super().__init__()
        self.obj = obj
        self.name = name

    def __str__(self):
        return f'{_in_brackets(self.obj, _ATOM)}.{self.name}'

    def eval(self):
        return getattr(self.obj.eval(), self.name)


def _subscript(key):
    if isinstance(key, slice):
        ends = [':'.join('' if k is None else str(k) for k in (key.start, key.stop))]
        return ':'.join(ends + ([str(key.step)] if key.step is not None else []))
    if isinstance(key, tuple):
        return ', '.join(map(_subscript, key)) + (',' if len(key) == 1 else '')
    return '...' if key is Ellipsis else str(_as_expr(key))


class GetItem(Atom):
    """An element of an expression."""

    def __init__(self, obj, key):
        super().__init__()
        self.obj = obj
        self.key = key

    def __str__(self):
        return f'{_in_brackets(self.obj, _ATOM)}[{_subscript(self.key)}]'

    def eval(self):
        return self.obj.eval()[_value(self.key)]


class Call(Atom):
    """A function call."""

    def __init__(self, obj, args):
        super().__init__()
        self.obj = obj
        self.args = args

    def __str__(self):
        args = ', '.join([str(_as_expr(arg)) for arg in self.args])
        return f'{_in_brackets(self.obj, _ATOM)}({args})'

    def eval(self):
        return self.obj.eval()(*map(_value, self.args))


class UnaryOperator(Expr):
    """An operator on one expression."""

    def __init__(self, priority, term, exp, func):
        super().__init__(priority)
        self.term = term
        self.exp = exp
        self.func = func

    def __str__(self):
        return self.exp + _in_brackets(self.term, self.priority)

    def eval(self):
        return self.func(self.term.eval())


class BinaryOperator(Expr):
    """An operator on two expressions or values."""

    def __init__(self, priority, lhs, rhs, exp, func, right_associative=False):
        super().__init__(priority)
        self.lhs = _as_expr(lhs)
        self.rhs = _as_expr(rhs)
        self.exp = exp
        self.func = func
        self.right_associative = right_associative

    def __str__(self):
        left = _in_brackets(self.lhs, self.priority + self.right_associative)
        right = _in_brackets(self.rhs, self.priority + (not self.right_associative))
        return f'{left} {self.exp} {right}'

    def eval(self):
        return self.func(self.lhs.eval(), self.rhs.eval())


class Testable:
    """What :func:`expect` takes."""

    def expect(self):
        """Raise :class:`InvalidType` unless the condition holds."""
        raise NotImplementedError(f'{type(self).__name__} does not say how it is tested')


class BoolBinaryOperator(BinaryOperator, Testable):
    """A comparison."""

    def __init__(self, lhs, rhs, exp, inv, func):
        super().__init__(_COMPARISON, lhs, rhs, exp, func)
        self.inv = inv

    def expect(self):
        left = self.lhs.eval()
        right = self.rhs.eval()
        if not self.func(left, right):
            raise InvalidType(str(self), f'{left} {self.inv} {right}')


# Stating expectations


def expect(*bool_exprs):
    """Raise :class:`InvalidType` unless all conditions hold; they are tested in order.

    Args:
        bool_exprs: Comparisons of type descriptions.

    .. doctest::

        >>> from chainer.utils import type_check
        >>> types = type_check.get_types((np.zeros((2, 3)),), 'in_types', False)
        >>> type_check.expect(types[0].ndim == 3)
        Traceback (most recent call last):
        ...
        chainer.utils.type_check.InvalidType: Expect: in_types[0].ndim == 3
        Actual: 2 != 3
    """
    for expr in bool_exprs:
        if expr is not True:
            _expect(expr)


def _expect(expr):
    if isinstance(expr, Testable):
        expr.expect()
    elif isinstance(expr, (bool, numpy.bool)):
        if not expr:
            raise InvalidType('a condition on the inputs holds', 'it does not')
    else:
        raise TypeError(
            f'expect() takes comparisons, such as x_type.ndim == 2, and got {type(expr)}')


def eval(exp):
    """Return the value of an expression; other values are returned as they are.

    ``check_type_forward`` should use it instead of ``exp.eval()``, since it works in both runs of
    a check.
    """
    return exp.eval() if isinstance(exp, Expr) else exp


def make_variable(value, name):
    """Return ``value`` with a name for messages.

    .. doctest::

        >>> str(chainer.utils.type_check.make_variable(3, 'n_heads') == 4)
        'n_heads == 4'
    """
    return value if _state.light else Variable(value, name)


def prod(xs):
    """Return the product of the elements of a shape (an expression, or a tuple).

    .. doctest::

        >>> types = chainer.utils.type_check.get_types((np.zeros((2, 3)),), 'in_types', False)
        >>> str(chainer.utils.type_check.prod(types[0].shape) == 7)
        'prod(in_types[0].shape) == 7'
    """
    if _state.light:
        return math.prod(xs)
    return Variable(math.prod, 'prod')(xs)


def expect_broadcast_shapes(*shape_types):
    """Raise :class:`InvalidType` unless the shapes can be broadcast together.

    Args:
        shape_types: Shapes, as tuples or expressions.
    """
    shapes = shape_types if _state.light else tuple([eval(shape) for shape in shape_types])
    if shapes[1:] == shapes[:-1]:
        return
    try:
        numpy.broadcast_shapes(*shapes)
    except ValueError:
        lines = [
            f'{_as_expr(text)} = {shape}'
            for text, shape in zip(shape_types, shapes, strict=True)]
        raise InvalidType(
            'shapes that can be broadcast together', ', '.join(lines),
            'cannot broadcast inputs of the following shapes:\n' + '\n'.join(lines)) from None


def same_types(*arrays):
    """Return whether all are NumPy arrays, or all are CuPy arrays."""
    cuda = chainer.backends.cuda
    return (all(isinstance(x, numpy.ndarray) for x in arrays)
            or all(isinstance(x, cuda.ndarray) for x in arrays))


# Running a check


def in_light_mode():
    """Return whether a check runs for the first time, with arrays as type descriptions."""
    return _state.light


def check_forward(function, in_data):
    """Run ``function.check_type_forward`` for the arrays ``in_data``."""
    _state.light = True
    try:
        function.check_type_forward(LightTypeInfoTuple(in_data))
        return
    except Exception as error:  # said again below, in words
        pass_on(error)
    finally:
        _state.light = False
    try:
        function.check_type_forward(get_types(in_data, 'in_types', True))
    except InvalidType as e:
        raise InvalidType(
            e.expect, e.actual,
            f'\nInvalid operation is performed in: {function.label} (Forward)\n\n{e}') from None
