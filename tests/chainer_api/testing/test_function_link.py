"""The test cases of functions and links find what is wrong, and nothing else."""
import unittest

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import initializers, testing
from chainer import links as L


@pytest.fixture(autouse=True)
def seed():
    np.random.seed(0)


def errors(case, name):
    """Run one test of a class; return the exceptions' texts and the reasons of skips."""
    result = unittest.TestResult()
    case(name).run(result)
    return [text for _, text in result.errors + result.failures] + [
        reason for _, reason in result.skipped]


ALL = ('test_forward', 'test_backward', 'test_double_backward')


class Tanh(testing.FunctionTestCase):
    """A function test without faults, to be derived from."""

    __test__ = False
    dtype = np.float32

    def generate_inputs(self):
        return np.random.uniform(-1, 1, (2, 3)).astype(self.dtype),

    def forward(self, inputs, device):
        return F.tanh(inputs[0]),

    def forward_expected(self, inputs):
        return np.tanh(inputs[0]),


@testing.parameterize(*testing.product({'contiguous': [None, 'C'], 'dtype': ['f', 'd']}))
@testing.inject_backend_tests(None, [{}, {'use_cuda': True}])
class TestTanh(Tanh):
    __test__ = True


class TestFunctionTestCase:

    @pytest.mark.parametrize('name', ALL)
    def test_without_backends(self, name):
        assert errors(Tanh, name) == []

    def test_layout(self):
        class Layout(Tanh):
            def forward(self, inputs, device):
                seen.append(inputs[0].array.flags.c_contiguous)
                assert device == chainer.get_device('@numpy')
                return F.tanh(inputs[0]),

        class Contiguous(Layout):
            contiguous = 'C'

        for case, contiguous in ((Layout, False), (Contiguous, True)):
            for name in ALL:
                seen = []
                assert errors(case, name) == []
                assert seen[0] == contiguous

    def test_wrong_values(self):
        class Wrong(Tanh):
            def forward_expected(self, inputs):
                return np.tanh(inputs[0]) + 1,

        text, = errors(Wrong, 'test_forward')
        assert 'FunctionTestError: Outputs do not match the expected values.' in text
        assert 'Error details of output [0]' in text
        assert errors(Wrong, 'test_backward') == []

    def test_wrong_dtype(self):
        class Wrong(Tanh):
            def forward_expected(self, inputs):
                return np.tanh(inputs[0]).astype('d'),

        text, = errors(Wrong, 'test_forward')
        assert 'Expected shapes and dtypes: (2, 3):float64' in text

    def test_wrong_shape(self):
        class Wrong(Tanh):
            def forward_expected(self, inputs):
                return np.tanh(inputs[0])[0],

        assert 'Shapes and/or dtypes do not match' in errors(Wrong, 'test_forward')[0]

    def test_wrong_number(self):
        class Wrong(Tanh):
            def forward_expected(self, inputs):
                return np.tanh(inputs[0]), np.tanh(inputs[0])

        assert 'Number of outputs of forward() (1, 2 expected)' in errors(
            Wrong, 'test_forward')[0]

    @pytest.mark.parametrize('method', ['generate_inputs', 'forward_expected', 'forward'])
    def test_no_tuples(self, method):
        good = getattr(Tanh, method)
        case = type('NoTuple', (Tanh,), {method: lambda self, *args: good(self, *args)[0]})
        for name in ALL:
            assert f'`{method}()` must return a tuple' in errors(case, name)[0]

    def test_wrong_backward(self):
        class Wrong(chainer.FunctionNode):
            def forward(self, inputs):
                return np.tanh(inputs[0]),

            def backward(self, indexes, gys):
                return gys[0] * 2,

        class WrongBackward(Tanh):
            def forward(self, inputs, device):
                return Wrong().apply(inputs)

        assert errors(WrongBackward, 'test_forward') == []
        text, = errors(WrongBackward, 'test_backward')
        assert 'FunctionTestError: backward is not implemented correctly' in text
        assert 'check_backward failed' in text

    def test_wrong_double_backward(self):
        class Wrong(chainer.FunctionNode):
            def forward(self, inputs):
                self.y = np.tanh(inputs[0])
                return self.y,

            def backward(self, indexes, gys):
                return gys[0] * (1 - self.y ** 2),

        class WrongDoubleBackward(Tanh):
            def forward(self, inputs, device):
                return Wrong().apply(inputs)

        assert errors(WrongDoubleBackward, 'test_backward') == []
        assert 'double backward is not implemented correctly' in errors(
            WrongDoubleBackward, 'test_double_backward')[0]

    @pytest.mark.parametrize('where', ['forward', 'forward_expected'])
    def test_changed_inputs(self, where):
        good = getattr(Tanh, where)

        def method(self, inputs, *args):
            outputs = good(self, inputs, *args)
            getattr(inputs[0], 'array', inputs[0])[...] = 2
            return outputs

        case = type('Changes', (Tanh,), {where: method})
        assert f'modified during {where}.' in errors(case, 'test_forward')[0]

    def test_skips(self):
        class Skips(Tanh):
            skip_forward_test = True
            skip_backward_test = True
            skip_double_backward_test = True

        for name in ALL:
            assert errors(Skips, name) == [f'skip_{name[5:]}_test is set']

    def test_options_belong_to_the_test(self):
        class Options(Tanh):
            check_backward_options = {'atol': 1e-3}

            def setUp(self):
                self.check_forward_options.update({'atol': 10})
                self.check_backward_options.update({'rtol': 1e-3})

            def forward_expected(self, inputs):
                return np.tanh(inputs[0]) + 1,

        assert errors(Options, 'test_forward') == []
        assert errors(Options, 'test_backward') == []
        assert Options.check_backward_options == {'atol': 1e-3}
        assert Tanh.check_forward_options is None

    def test_before_test_and_own_gradients(self):
        seen = []

        class Hooks(Tanh):
            def before_test(self, test_name):
                seen.append((test_name, self.backend_config.device.name))

            def generate_grad_outputs(self, outputs_template):
                seen.append([(y.shape, y.dtype) for y in outputs_template])
                return super().generate_grad_outputs(outputs_template)

            def generate_grad_grad_inputs(self, inputs_template):
                seen.append([(x.shape, x.dtype) for x in inputs_template])
                return super().generate_grad_grad_inputs(inputs_template)

        assert errors(Hooks, 'test_double_backward') == []
        like = [((2, 3), np.dtype('f'))]
        assert seen == [('test_double_backward', '@numpy'), like, like]

    def test_integer_inputs(self):
        class Select(Tanh):
            def generate_inputs(self):
                return np.random.randn(2, 3).astype('f'), np.array([0, 2])

            def forward(self, inputs, device):
                return F.select_item(*inputs),

            def forward_expected(self, inputs):
                return inputs[0][[0, 1], inputs[1]],

        for name in ALL:
            assert errors(Select, name) == []

    def test_dodge_nondifferentiable(self):
        class ReLU(Tanh):
            tries = 0

            def generate_inputs(self):
                type(self).tries += 1
                return np.full((2, 3), 0.0 if self.tries < 4 else 1.0, 'f'),

            def forward(self, inputs, device):
                return F.relu(inputs[0]),

            def forward_expected(self, inputs):
                return np.maximum(inputs[0], 0),

        class Dodges(ReLU):
            dodge_nondifferentiable = True

        class NeverSmooth(Dodges):
            def generate_inputs(self):
                type(self).tries += 1
                return np.zeros((2, 3), 'f'),

        assert 'backward is not implemented correctly' in errors(ReLU, 'test_backward')[0]
        assert errors(Dodges, 'test_backward') == []
        assert Dodges.tries == 4
        assert 'NondifferentiableError' in errors(NeverSmooth, 'test_backward')[0]
        assert NeverSmooth.tries - Dodges.tries == 10

    def test_methods_that_must_be_defined(self):
        assert 'must define generate_inputs()' in errors(
            testing.FunctionTestCase, 'test_forward')[0]


class LinearCase(testing.LinkTestCase):
    __test__ = False
    param_names = 'W', 'b'

    def generate_params(self):
        return np.random.randn(2, 3).astype('f'), np.random.randn(2).astype('f')

    def create_link(self, initializers):
        return L.Linear(None, 2, initialW=initializers[0], initial_bias=initializers[1])

    def generate_inputs(self):
        return np.random.randn(4, 3).astype('f'),

    def forward_expected(self, link, inputs):
        return inputs[0] @ link.W.array.T + link.b.array,


@testing.parameterize({'contiguous': None}, {'contiguous': 'C'})
@testing.inject_backend_tests(None, [{}, {'use_cuda': True}])
class TestLinear(LinearCase):
    __test__ = True


class TestLinkTestCase:

    def test_wrong_values(self):
        class Wrong(LinearCase):
            def forward_expected(self, link, inputs):
                return inputs[0] @ link.W.array.T + link.b.array + 1,

        assert 'LinkTestError: Outputs do not match' in errors(Wrong, 'test_forward')[0]
        assert errors(Wrong, 'test_backward') == []

    def test_wrong_backward_of_a_parameter(self):
        class Forgets(L.Linear):
            def forward(self, x):
                return F.linear(x, self.W, self.b.array)

        class Wrong(LinearCase):
            def create_link(self, initializers):
                return Forgets(3, 2, initialW=initializers[0], initial_bias=initializers[1])

        assert errors(Wrong, 'test_forward') == []
        assert 'backward is not implemented correctly' in errors(Wrong, 'test_backward')[0]

    @pytest.mark.parametrize('params', [
        [np.ones((2, 3), 'f'), np.ones(2, 'f')], (np.ones((2, 3), 'f'), np.ones(2, 'f'), 'more')])
    def test_parameters_reach_the_link_as_they_are(self, params):
        seen = []

        class Free(LinearCase):
            def generate_params(self):
                return params

            def create_link(self, initializers):
                seen.append(initializers)
                return super().create_link(initializers)

        assert errors(Free, 'test_forward') == errors(Free, 'test_backward') == []
        assert all([initializers is params for initializers in seen])

    def test_parameters_must_be_a_tuple_or_list(self):
        class Wrong(LinearCase):
            def generate_params(self):
                return np.zeros((2, 3), 'f')

        assert 'must return a tuple or a list' in errors(Wrong, 'test_forward')[0]

    def test_skips(self):
        class Skips(LinearCase):
            skip_forward_test = True
            skip_backward_test = True

        for name in ('test_forward', 'test_backward'):
            assert errors(Skips, name) == [f'skip_{name[5:]}_test is set']


class LinearInitializers(testing.LinkInitializersTestCase):
    __test__ = False
    param_names = 'W', 'b'

    def generate_params(self):
        return initializers.Normal(), np.zeros(2, 'f')

    def create_link(self, initializers):
        return L.Linear(None, 2, initialW=initializers[0], initial_bias=initializers[1])

    def generate_inputs(self):
        return np.random.randn(4, 3).astype('f'),

    def get_initializers(self):
        return [
            initializers.Constant(2), 3, np.ones((2, 3), 'f'), initializers.Normal(0.1),
            testing.InitializerArgument(None, initializers.LeCunNormal()),
        ], [0.5, initializers.One(), testing.InitializerArgument(None, 0)]


@testing.inject_backend_tests(None, [{}, {'use_cuda': True}])
class TestLinearInitializers(LinearInitializers):
    __test__ = True


class TestLinkInitializersTestCase:

    def test_wrong(self):
        class Wrong(LinearInitializers):
            def get_initializers(self):
                return [testing.InitializerArgument(None, initializers.Normal(10))], [0]

        text, = errors(Wrong, 'test_initializers')
        assert 'Outputs do not match' in text
        assert 'Parameter W with the initializer None' in text

    def test_number_of_parameters(self):
        class Wrong(LinearInitializers):
            def get_initializers(self):
                return [[0]]

        assert 'must return 2 lists' in errors(Wrong, 'test_initializers')[0]

    def test_expected_must_be_told(self):
        with pytest.raises(ValueError, match='expected_initializer'):
            testing.InitializerArgument(None, None)


# Elementwise functions

@testing.unary_math_function_unittest(F.sin)
class TestSin(unittest.TestCase):
    pass


def positive(shape, dtype):
    return tuple([np.random.uniform(0.5, 1, shape).astype(dtype) for _ in range(3)])


@testing.unary_math_function_unittest(
    F.rsqrt, func_expected=lambda x, dtype: np.asarray(1 / np.sqrt(x), dtype),
    make_data=positive, is_linear=False)
class TestRsqrt(unittest.TestCase):
    pass


class Square(chainer.Function):
    label = 'square'

    def forward(self, inputs):
        return np.asarray(inputs[0] ** 2),

    def backward(self, inputs, gys):
        return np.asarray(2 * inputs[0] * gys[0]),


@testing.unary_math_function_unittest(Square())
class TestOldStyleSquare(unittest.TestCase):
    pass


class TestUnaryMathFunctionUnittest:

    def run(self, bundle):
        result = unittest.TestResult()
        for case in bundle.cases:
            unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        return result

    def test_tests(self):
        assert len(TestSin.cases) == 6
        names = unittest.defaultTestLoader.getTestCaseNames(TestSin.cases[0])
        assert names == [
            'test_backward_cpu', 'test_backward_gpu', 'test_double_backward_cpu',
            'test_double_backward_gpu', 'test_forward_cpu', 'test_forward_gpu']
        names = unittest.defaultTestLoader.getTestCaseNames(TestOldStyleSquare.cases[0])
        assert names == ['test_backward_cpu', 'test_backward_gpu', 'test_forward_cpu',
                         'test_forward_gpu', 'test_label']

    def test_wrong_values_and_labels(self):
        @testing.unary_math_function_unittest(F.sin, func_expected=np.cos)
        class TestWrong(unittest.TestCase):
            pass

        result = self.run(TestWrong)
        assert {case._testMethodName for case, _ in result.failures} == {'test_forward_cpu'}

        @testing.unary_math_function_unittest(Square(), label_expected='cube')
        class TestLabel(unittest.TestCase):
            pass

        result = self.run(TestLabel)
        assert {case._testMethodName for case, _ in result.failures} == {'test_label'}

    def test_options_update_the_defaults(self):
        @testing.unary_math_function_unittest(
            F.sin, forward_options={'atol': 1}, backward_options={'rtol': 2},
            double_backward_options={'eps': 3})
        class TestOptions(unittest.TestCase):
            def test_options(self):
                half = self.dtype == np.float16
                tolerances = dict.fromkeys(('atol', 'rtol'), 2 ** -10 if half else 1e-4)
                assert self.forward_options == {**tolerances, 'atol': 1}
                tolerances = dict.fromkeys(('atol', 'rtol'), 2 ** -4 if half else 1e-4)
                tolerances['dtype'] = np.float64
                assert self.backward_options == {**tolerances, 'rtol': 2}
                assert self.double_backward_options == {**tolerances, 'eps': 3}

        for case in TestOptions.cases:
            assert errors(case, 'test_options') == []

    @pytest.mark.parametrize('func, options, error, message', [
        (F.crelu, {}, ValueError, "NumPy has no functions corresponding.*'crelu'"),
        (F.sin, {'label_expected': 'sin'}, ValueError, 'only an old-style function'),
        (Square, {}, TypeError, 'func must be a function'),
    ])
    def test_errors(self, func, options, error, message):
        with pytest.raises(error, match=message):
            testing.unary_math_function_unittest(func, **options)


class TestNameOfTheTest:

    @pytest.mark.parametrize('name', ['test_forward', 'test_backward', 'test_double_backward'])
    def test_while_it_runs(self, name):
        seen = set()

        class Case(testing.FunctionTestCase):
            def generate_inputs(self):
                seen.add(self.test_name)
                return np.ones(2, np.float32),

            def forward(self, inputs, device):
                seen.add(self.test_name)
                return inputs[0] * 2,

            def forward_expected(self, inputs):
                return inputs[0] * 2,

        assert errors(Case, name) == []
        assert seen == {name}
