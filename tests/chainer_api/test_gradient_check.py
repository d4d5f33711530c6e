"""chainer.gradient_check; expected values are mathematics."""
import warnings

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import gradient_check
from chainer import links as L


@pytest.fixture(autouse=True)
def seed():
    np.random.seed(0)


def randn(*shape, dtype=np.float32):
    return np.random.randn(*shape).astype(dtype)


class WrongSquare(chainer.FunctionNode):
    """A square whose gradient is half as large again as it should be."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return inputs[0] ** 2,

    def backward(self, indexes, gys):
        return 3 * self.get_retained_inputs()[0] * gys[0],


class OnceCube(chainer.FunctionNode):
    """A cube whose gradient is right, and forgets that it depends on x."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return inputs[0] ** 3,

    def backward(self, indexes, gys):
        return 3 * chainer.Variable(self.get_retained_inputs()[0].array ** 2) * gys[0],


class OldCube(chainer.Function):

    def forward(self, inputs):
        return inputs[0] ** 3,

    def backward(self, inputs, gys):
        return 3 * inputs[0] ** 2 * gys[0],


def wrong_square(x):
    return WrongSquare().apply((x,))[0]


class TestNumericalGrad:

    @pytest.mark.parametrize('gy', [1, np.array(1.)])
    def test_functions_of_numbers(self, gy):
        x = np.array(2.)
        assert gradient_check.numerical_grad(lambda: (1,), (x,), (gy,))[0] == 0
        gx, = gradient_check.numerical_grad(lambda: (float(x) ** 2,), (x,), (gy,))
        assert gx.shape == ()
        np.testing.assert_allclose(gx, 4)

    def test_type_checks_are_off(self):
        x = np.array([1.])
        seen = []

        def f():
            seen.append(chainer.config.type_check)
            return x,

        gradient_check.numerical_grad(f, (x,), (x,))
        assert not any(seen)
        assert chainer.config.type_check


    @pytest.mark.parametrize('dtype, eps, tolerance', [
        ('d', 1e-3, 1e-9), ('f', 1e-2, 1e-4), ('e', 0.125, 1e-2)])
    @pytest.mark.parametrize('detect', [False, True])
    def test_values(self, dtype, eps, tolerance, detect):
        x = np.array([1, 2, 3], dtype)
        w = np.array([1, -2, 0.5], dtype)
        gx, = gradient_check.numerical_grad(
            lambda: (x * x,), (x,), (w,), eps=eps, detect_nondifferentiable=detect)
        assert gx.dtype == x.dtype
        np.testing.assert_allclose(gx, 2 * w * [1, 2, 3], rtol=tolerance)

    def test_points(self):
        x = np.array([1.0, 2.0])
        seen = []

        def f():
            seen.append(x - [1, 2])
            return x,

        gradient_check.numerical_grad(f, (x,), (1.0,), eps=0.5)
        assert np.array(seen).tolist() == [[-0.5, 0], [0.5, 0], [0, -0.5], [0, 0.5]]
        assert x.tolist() == [1, 2]

    def test_five_points_are_exact_to_the_fourth_degree(self):
        x = np.array([2.0])
        gx, = gradient_check.numerical_grad(
            lambda: (x ** 4,), (x,), (1.0,), eps=0.25, detect_nondifferentiable=True,
            diff_rtol=0.1)
        assert gx == pytest.approx(32, rel=1e-12)

    def test_center_outputs_save_a_call(self):
        x = np.array([2.0])
        calls = []

        def f():
            calls.append(1)
            return x ** 2,

        gradient_check.numerical_grad(f, (x,), (1.0,), detect_nondifferentiable=True)
        gradient_check.numerical_grad(
            f, (x,), (1.0,), detect_nondifferentiable=True, center_outputs=(x ** 2,))
        assert len(calls) == 5 + 4

    def test_several_inputs_and_outputs(self):
        x, y = np.array([1.0, 2.0]), np.array(3.0)
        gx, gy = gradient_check.numerical_grad(
            lambda: (x * y, None, x.sum(), y ** 2), [x, y],
            [np.array([1.0, 10.0]), None, 100.0, None])
        np.testing.assert_allclose(gx, [103, 130])
        assert gy == pytest.approx(21)
        assert gy.shape == ()

    def test_array_that_is_not_contiguous(self):
        base = np.array([1.0, 5.0, 2.0, 5.0])
        x = base[::2]
        gx, = gradient_check.numerical_grad(lambda: (x ** 2,), (x,), (1.0,))
        np.testing.assert_allclose(gx, [2, 4])
        assert base.tolist() == [1, 5, 2, 5]

    def test_inputs_are_restored_after_an_error(self):
        x = np.array([1.0])

        def f():
            raise KeyError

        with pytest.raises(KeyError):
            gradient_check.numerical_grad(f, (x,), (1.0,))
        assert x == 1

    @pytest.mark.parametrize('f', [
        lambda x: abs(x), np.floor, np.sqrt, np.log, lambda x: np.maximum(x, 0),
        lambda x: abs(x - 5e-4)])
    def test_nondifferentiable(self, f):
        x = np.array([1.5, 0.0])
        with np.errstate(all='ignore'), pytest.raises(
                gradient_check.NondifferentiableError, match=r'index on x: \(1,\)'):
            gradient_check.numerical_grad(
                lambda: (f(x),), (x,), (np.ones(2),), detect_nondifferentiable=True)

    @pytest.mark.parametrize('dtype', 'fd')
    def test_smooth_functions_pass(self, dtype):
        x = np.array([1.0, 0.3], dtype)
        for f in (np.exp, np.sin, np.sqrt, lambda x: x * 0 + 1e6, lambda x: x + np.nan):
            gradient_check.numerical_grad(
                lambda f=f: (f(x),), (x,), (np.ones(2),), detect_nondifferentiable=True)

    @pytest.mark.parametrize('f, inputs, gys, error, message', [
        (lambda: (1,), (np.arange(3),), (1.0,), RuntimeError, 'kind of float, not int64'),
        (lambda: (np.ones(3),), (np.ones(3),), (1.0, 1.0), ValueError, '1 outputs.* 2 gradients'),
        (lambda: (np.ones(3),), (np.ones(3),), (np.ones(2),), ValueError, r'shape \(3,\)'),
        (lambda: np.ones(3), (np.ones(3),), (1.0,), TypeError, 'must return a tuple'),
        (lambda: (None,), (np.ones(3),), (1.0,), ValueError, 'output 0 is None'),
        (lambda: (chainer.Variable(np.ones(3)),), (np.ones(3),), (1.0,), TypeError, 'y.array'),
        (lambda: (np.ones(3),), np.ones(3), (1.0,), TypeError, 'inputs must be a tuple'),
    ])
    def test_errors(self, f, inputs, gys, error, message):
        with pytest.raises(error, match=message):
            gradient_check.numerical_grad(f, inputs, gys)

    def test_eps(self):
        with pytest.raises(ValueError, match='eps must be positive'):
            gradient_check.numerical_grad(lambda: (), (), (), eps=0)


class TestCheckBackward:

    @pytest.mark.parametrize('dtype', [None, 'd'])
    def test_right(self, dtype):
        gradient_check.check_backward(F.tanh, randn(3, 2), randn(3, 2), dtype=dtype, rtol=1e-3)

    def test_right_in_float32_with_default_tolerances_almost_always(self):
        # The differences are taken along the way that the rounded inputs go.
        for _ in range(20):
            gradient_check.check_backward(lambda x: x * 2, randn(3, 2), randn(3, 2), atol=1e-4)

    def test_float16(self):
        gradient_check.check_backward(
            F.tanh, randn(3, 2, dtype='e'), randn(3, 2, dtype='e'), dtype='d',
            atol=1e-2, rtol=1e-2)

    def test_wrong(self):
        x, gy = randn(2, 3), randn(2, 3)
        with pytest.raises(AssertionError, match='check_backward failed') as e:
            gradient_check.check_backward(wrong_square, x, gy)
        for text in ('inputs[0]:', 'grad_outputs[0]:', 'directions[0]:', 'gradients (numeric)'):
            assert text in str(e.value)

    def test_one_wrong_element_is_found(self):
        class Wrong(chainer.FunctionNode):
            def forward(self, inputs):
                return inputs[0] * 2,

            def backward(self, indexes, gys):
                factor = np.full((10, 10), 2, np.float32)
                factor[3, 4] = 2.5
                return gys[0] * factor,

        with pytest.raises(AssertionError):
            gradient_check.check_backward(
                lambda x: Wrong().apply((x,))[0], randn(10, 10), np.ones((10, 10), 'f'), dtype='d')

    def test_two_outputs_of_which_one_is_wrong(self):
        x, gy = randn(2, 3), randn(2, 3)
        with pytest.raises(AssertionError):
            gradient_check.check_backward(
                lambda a, b: (a * b, wrong_square(a)), (x, x), (gy, gy), dtype='d')
        gradient_check.check_backward(
            lambda a, b: (a * b, wrong_square(a)), (x, x), (gy, None), dtype='d')

    def test_outputs_that_are_inputs(self):
        x, gy = randn(2, 3), randn(2, 3)
        gradient_check.check_backward(lambda a: (a, a, a * 2), x, (gy, gy, gy), dtype='d')

    def test_loss(self):
        gradient_check.check_backward(lambda x: F.sum(x * x), randn(3), None, dtype='d')

    def test_link_keeps_its_parameters(self):
        link = L.Linear(3, 2)
        w = link.W.array
        gradient_check.check_backward(
            link, randn(4, 3), randn(4, 2), (link.W, link.b), dtype='d')
        assert link.W.array is w
        assert link.W.dtype == 'f'
        assert link.W.grad is None

    def test_wrong_gradient_of_a_parameter(self):
        p = chainer.Parameter(randn(3))
        with pytest.raises(AssertionError):
            gradient_check.check_backward(
                lambda x: x * wrong_square(p), randn(3), randn(3), p, dtype='d')

    def test_integer_inputs_have_no_gradient(self):
        gradient_check.check_backward(
            F.select_item, (randn(2, 3), np.array([0, 1])), randn(2), dtype='d')

    def test_no_grads(self):
        x, gy = randn(3), randn(3)
        gradient_check.check_backward(
            lambda a, b: a * 1, (x, x), gy, no_grads=[False, True], dtype='d')
        with pytest.raises(RuntimeError, match='input 1 has one'):
            gradient_check.check_backward(lambda a, b: a * b, (x, x), gy, no_grads=[False, True])

    def test_missing_gradient_counts_as_zeros(self):
        x, gy = randn(3), randn(3)
        gradient_check.check_backward(lambda a, b: a * 1, (x, x), gy, dtype='d')
        with pytest.raises(AssertionError):
            gradient_check.check_backward(
                lambda a, b: a * b.array, (x, x), gy, dtype='d')

    def test_old_style_function(self):
        gradient_check.check_backward(lambda x: OldCube()(x), randn(3), randn(3), dtype='d')

    @pytest.mark.parametrize('shape', [(), (0,), (0, 3), (1,)])
    def test_shapes(self, shape):
        x = np.ones(shape, np.float32)
        gradient_check.check_backward(F.tanh, x, x.copy(), dtype='d')

    def test_links_in_another_dtype(self):
        # Type checks would find that W is float32, and x float64.
        link = L.Linear(6, 3)
        x = np.random.randn(2, 6).astype(np.float32)
        gy = np.random.randn(2, 3).astype(np.float32)
        gradient_check.check_backward(link, (x,), (gy,), dtype='d')
        assert link.W.dtype == np.float32

    def test_type_checks_of_the_call_itself_are_on(self):
        with pytest.raises(chainer.utils.type_check.InvalidType):
            gradient_check.check_backward(
                lambda x: x * chainer.Variable(np.ones(3)), np.ones(3, 'f'), np.ones(3, 'f'))

    def test_outputs_that_do_not_count(self):
        x = np.array([1., 2.])
        gradient_check.check_backward(lambda x: (x ** 2, F.exp(x)), x, (None, x))
        gradient_check.check_backward(lambda x: (x ** 2, F.exp(x)), x, (None, None))
        gradient_check.check_backward(lambda x: x ** 2, x, (None,))

    @pytest.mark.parametrize('ignored', [np.nan, np.inf])
    def test_what_is_ignored_need_not_be_finite(self, ignored):
        x = np.array([1., ignored, 2.])
        keep = np.array([True, False, True])
        gradient_check.check_backward(lambda x: F.sum(F.where(keep, x, np.zeros(3))), x, None)
        with pytest.raises(AssertionError):
            gradient_check.check_backward(lambda x: F.where(~keep, x, np.zeros(3)), x, np.ones(3))

    def test_layout_of_the_inputs_reaches_the_function(self):
        strides = []

        def f(x):
            strides.append(x.array.strides)
            return x * 2

        x = randn(3, 4).T
        gradient_check.check_backward(f, x, randn(4, 3), dtype='d')
        assert strides[0] == x.strides

    def test_nondifferentiable(self):
        x, gy = np.zeros(3, 'f'), randn(3)
        gradient_check.check_backward(F.relu, x + 1, gy, detect_nondifferentiable=True, dtype='d')
        with pytest.raises(gradient_check.NondifferentiableError):
            gradient_check.check_backward(F.relu, x, gy, detect_nondifferentiable=True)

    @pytest.mark.parametrize('x, gy, options, error, message', [
        (randn(3), None, {}, ValueError, 'cannot be omitted.*\n.*\\(3,\\)'),
        (randn(3), (randn(3), randn(3)), {}, ValueError, 'equally as many'),
        (randn(3), randn(2), {}, ValueError, 'do not match'),
        (randn(3), randn(3, dtype='d'), {}, ValueError, 'do not match'),
        (randn(3), randn(3), {'dtype': 'i'}, ValueError, 'only float type'),
        (randn(3), randn(3), {'no_grads': [True, False]}, ValueError, '2 != 1'),
        (randn(3), randn(3), {'params': (randn(3),)}, TypeError, r'params\[0\]'),
        (1.0, randn(3), {}, TypeError, r'x_data\[0\] must be an array'),
        (chainer.Variable(randn(3)), randn(3), {}, TypeError, r'x_data\[0\] must be an array'),
        (randn(3), 1.0, {}, TypeError, r'y_grad\[0\] must be an array'),
    ])
    def test_errors(self, x, gy, options, error, message):
        with pytest.raises(error, match=message):
            gradient_check.check_backward(F.tanh, x, gy, **options)

    def test_function_must_return_variables(self):
        with pytest.raises(TypeError, match='func must return a Variable'):
            gradient_check.check_backward(lambda x: x.array, randn(3), randn(3))


class TestCheckDoubleBackward:

    @pytest.mark.parametrize('f', [F.tanh, lambda x: x * 2, lambda x: x ** 3, lambda x: x])
    def test_right(self, f):
        gradient_check.check_double_backward(f, randn(3), randn(3), randn(3), dtype='d')

    def test_two_inputs_and_outputs(self):
        x = randn(3), randn(3)
        gradient_check.check_double_backward(
            lambda a, b: (a * b * b, a + b), x, (randn(3), randn(3)), (randn(3), randn(3)),
            dtype='d')

    def test_outputs_that_do_not_count(self):
        x, gy, ggx = np.random.randn(3, 4)

        def f(x):
            return OnceCube().apply((x,))[0], F.tanh(x), x ** 3

        gradient_check.check_double_backward(f, x, (None, gy, None), ggx)
        with pytest.raises(AssertionError):
            gradient_check.check_double_backward(f, x, (gy, gy, None), ggx)
        with pytest.raises(ValueError, match='no gradient of any output'):
            gradient_check.check_double_backward(f, x, (None, None, None), ggx)

    @pytest.mark.parametrize('ggxs', [(1, None), (None, 1), (None, None)])
    def test_gradients_that_do_not_count(self, ggxs):
        x0, x1, gy = np.random.randn(3, 4)
        gradient_check.check_double_backward(
            lambda x0, x1: x0 * x1 ** 2, (x0, x1), gy,
            tuple([None if ggx is None else gy for ggx in ggxs]))

    def test_link(self):
        link = L.Linear(3, 2)
        gradient_check.check_double_backward(
            lambda x: link(x) ** 2, randn(4, 3), randn(4, 2), randn(4, 3), (link.W, link.b),
            (randn(2, 3), randn(2)), dtype='d')
        assert link.W.dtype == 'f'

    def test_no_grads(self):
        gradient_check.check_double_backward(
            lambda a, i: F.select_item(a * a, i), (randn(2, 3), np.array([0, 1])), randn(2),
            randn(2, 3), dtype='d')

    def test_wrong(self):
        with pytest.raises(AssertionError, match='check_double_backward failed') as e:
            gradient_check.check_double_backward(
                lambda x: OnceCube().apply((x,))[0], randn(3), randn(3), randn(3))
        assert 'grad_grad_input[0]:' in str(e.value)

    def test_the_first_gradient_is_taken_as_it_is(self):
        gradient_check.check_double_backward(
            wrong_square, randn(3), randn(3), randn(3), dtype='d')

    def test_old_style_functions_have_no_second_gradient(self):
        with pytest.raises(RuntimeError, match='differentiate'):
            gradient_check.check_double_backward(
                lambda x: OldCube()(x), randn(3), randn(3), randn(3))

    @pytest.mark.parametrize(('f', 'names'), [
        (lambda a, b: a * a, 'again: input 1, parameter 0. Leave'),
        (lambda a, b: F.floor(a), 'again: input 0, input 1, parameter 0. Leave'),
        (lambda a, b: chainer.Variable(a.array), 'again: input 0, input 1, parameter 0. Leave')])
    def test_arguments_without_gradients(self, f, names):
        with pytest.raises(RuntimeError, match=names):
            gradient_check.check_double_backward(
                f, (randn(3), randn(3)), randn(3), (randn(3), None), chainer.Parameter(randn(3)),
                randn(3))

    def test_number_of_gradients(self):
        with pytest.raises(ValueError, match='equally as many'):
            gradient_check.check_double_backward(
                lambda a, b: a * b, (randn(3), randn(3)), randn(3), (randn(3),))


def test_assert_allclose_is_here_too():
    from chainer import testing

    assert gradient_check.assert_allclose is testing.assert_allclose


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        gradient_check.check_backward(F.tanh, randn(3), randn(3), dtype='d')


def test_elements_that_are_ignored_may_be_nan():
    x = np.array([1., np.nan, 3.])
    ignored = np.isnan(x)

    def f(x):
        return F.sum(F.where(ignored, np.zeros(3, x.dtype), x))

    gradient_check.check_backward(f, x, None)
    gradient_check.check_backward(f, x.astype('f'), None, dtype='d')
    with pytest.raises(AssertionError):
        gradient_check.check_backward(lambda x: Wrong().apply((f(x),))[0], x, None)


class Wrong(chainer.FunctionNode):
    def forward(self, inputs):
        return inputs

    def backward(self, indexes, grad_outputs):
        return 2 * grad_outputs[0],
