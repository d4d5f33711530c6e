"""Test cases of elementwise functions of one argument."""
import inspect
import unittest

import numpy

from chainer import function, function_node, gradient_check, variable
from chainer.backends import cuda
from chainer.testing import attr
from chainer.testing.array import assert_allclose
from chainer.testing.parameterized import parameterize, product


def _make_data(shape, dtype):
    return tuple([numpy.random.uniform(-1, 1, shape).astype(dtype) for _ in range(3)])


def _expected(func, name):
    if name in vars(numpy) and name not in ('tests', 'lib'):
        return getattr(numpy, name)
    raise ValueError(
        f'NumPy has no functions corresponding to Chainer function {name!r}: give func_expected')


def unary_math_function_unittest(
        func, func_expected=None, label_expected=None, make_data=None, is_linear=None,
        forward_options=None, backward_options=None, double_backward_options=None):
    """Return a decorator that fills a test case with tests of an elementwise function.

    Forward, backward and double backward are tested on the CPU and on a GPU, for float16, float32
    and float64 and for an array with and one without axes.

    Args:
        func (callable): Function of one Variable. An object of an old-style
            :class:`~chainer.Function` may be given, too: its label is tested as well.
        func_expected (callable): Function of an array and a dtype (or of an array only) that
            computes what is expected; by default the function of NumPy of the same name.
        label_expected (str): Expected label of an old-style function, its name by default.
        make_data (callable): ``make_data(shape, dtype)`` returns an input, a gradient and a
            gradient of the gradient; by default uniform random numbers between -1 and 1.
        is_linear: Not needed any more, and ignored.
        forward_options (dict): Arguments of :func:`chainer.testing.assert_allclose`, where they
            are to differ from the default ones: tolerances of 1e-4, and of 2 ** -10 in float16.
        backward_options (dict): Arguments of :func:`chainer.gradient_check.check_backward`
            likewise. The default: dtype float64 and tolerances of 1e-4, and of 1/16 in float16.
        double_backward_options (dict): Arguments of
            :func:`chainer.gradient_check.check_double_backward`, with the same default.

    .. doctest::

        >>> import unittest
        >>> from chainer import testing
        >>> @testing.unary_math_function_unittest(F.sin)
        ... class TestSin(unittest.TestCase):
        ...     pass
        >>> TestSin
        <TestSin: 6 test cases>
    """
    old_style = isinstance(func, function.Function)
    if isinstance(func, function_node.FunctionNode) or (
            inspect.isclass(func)
            and issubclass(func, (function.Function, function_node.FunctionNode))):
        raise TypeError(f'func must be a function, such as F.sin, not {func!r}')
    if label_expected is not None and not old_style:
        raise ValueError('label_expected is given, but only an old-style function has a label')
    name = type(func).__name__.lower() if old_style else func.__name__
    reference = _expected(func, name) if func_expected is None else func_expected
    takes_dtype = func_expected is not None and _takes_dtype(func_expected)
    make = _make_data if make_data is None else make_data

    def expected(x, dtype):
        y = reference(x, dtype) if takes_dtype else reference(x)
        return numpy.asarray(y).astype(dtype, copy=False)

    class Tests:
        def setUp(self):
            super().setUp()
            self.x, self.gy, self.ggx = make(self.shape, self.dtype)
            half = self.dtype == numpy.float16
            loose = {'atol': 2 ** -10, 'rtol': 2 ** -10} if half else {'atol': 1e-4, 'rtol': 1e-4}
            self.forward_options = loose | (forward_options or {})
            loose = {'dtype': numpy.float64, 'atol': 2 ** -4, 'rtol': 2 ** -4} if half else {
                'dtype': numpy.float64, 'atol': 1e-4, 'rtol': 1e-4}
            self.backward_options = loose | (backward_options or {})
            self.double_backward_options = loose | (double_backward_options or {})

        def check_forward(self, x):
            y = func(variable.Variable(x))
            assert y.dtype == x.dtype
            assert_allclose(
                expected(self.x, self.dtype), y.array, **self.forward_options)

        def check_backward(self, x, gy):
            gradient_check.check_backward(func, x, gy, **self.backward_options)

        def check_double_backward(self, x, gy, ggx):
            gradient_check.check_double_backward(
                func, x, gy, ggx, **self.double_backward_options)

        def test_forward_cpu(self):
            self.check_forward(self.x)

        @attr.gpu
        def test_forward_gpu(self):
            self.check_forward(cuda.to_gpu(self.x))

        def test_backward_cpu(self):
            self.check_backward(self.x, self.gy)

        @attr.gpu
        def test_backward_gpu(self):
            self.check_backward(cuda.to_gpu(self.x), cuda.to_gpu(self.gy))

    class DoubleBackward:
        def test_double_backward_cpu(self):
            self.check_double_backward(self.x, self.gy, self.ggx)

        @attr.gpu
        def test_double_backward_gpu(self):
            self.check_double_backward(
                cuda.to_gpu(self.x), cuda.to_gpu(self.gy), cuda.to_gpu(self.ggx))

    class Label:
        def test_label(self):
            assert func.label == (name if label_expected is None else label_expected)

    def decorate(cls):
        if not issubclass(cls, unittest.TestCase):
            raise TypeError(f'{cls.__name__} must be a unittest.TestCase')
        more = Label if old_style else DoubleBackward
        full = type(cls.__name__, (more, Tests, cls), {
            '__module__': cls.__module__, '__doc__': cls.__doc__})
        return parameterize(*product({
            'shape': [(3, 2), ()],
            'dtype': [numpy.float16, numpy.float32, numpy.float64],
        }))(full)
    return decorate


def _takes_dtype(func_expected):
    if isinstance(func_expected, numpy.ufunc):
        return False
    try:
        signature = inspect.signature(func_expected)
    except ValueError:  # builtins without a signature
        return False
    try:
        signature.bind(None, None)
    except TypeError:
        return False
    return len([p for p in signature.parameters.values()
                if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]) == 2
