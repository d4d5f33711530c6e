"""chainer.testing: assertions, decorators and small helpers."""
import random
import subprocess
import sys
import unittest
import warnings

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import links as L
from chainer import testing
from chainer.testing import _bundle, attr, condition


def run(target):
    """Run the tests of a class or of what a decorator made of it."""
    result = unittest.TestResult()
    for case in _bundle.cases_of(target):
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


class TestAssertAllclose:

    @pytest.mark.parametrize('x, y', [
        (np.ones(3), np.ones(3)), (1, 1.0), ([1, 2], [1, 2]), (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
        (np.float32(1), np.array(1, 'd')), (1 + 1e-6, 1.0)])
    def test_equal(self, x, y):
        testing.assert_allclose(x, y)

    @pytest.mark.parametrize('x, y', [
        (np.ones(3), np.ones((3, 3))), (1, 1.1), ([1, 2], [1, 3]),
        (np.array([np.nan]), np.array([1.0])), (np.array([np.inf]), np.array([-np.inf])),
        (np.ones(3, bool), np.zeros(3, bool))])
    def test_different(self, x, y):
        with pytest.raises(AssertionError, match='assert_allclose failed'):
            testing.assert_allclose(x, y)

    def test_message_shows_the_worst_element(self):
        x = np.ones((2, 3))
        y = np.ones((2, 3))
        y[0, 1] = 1.5
        y[1, 2] = np.nan
        x[1, 2] = np.nan
        x[1, 0] = 3
        with pytest.raises(AssertionError, match=r'i: \(1, 0\)\n  x\[i\]: 3.0\n  y\[i\]: 1.0'):
            testing.assert_allclose(x, y)

    def test_default_tolerances(self):
        testing.assert_allclose(np.array([100.0, 0]), np.array([100.0099, 0.9e-5]))
        with pytest.raises(AssertionError):
            testing.assert_allclose(np.array([100.0]), np.array([100.0102]))
        with pytest.raises(AssertionError):
            testing.assert_allclose(np.array([0]), np.array([1.1e-5]))

    def test_variables_and_none_are_refused(self):
        with pytest.raises(TypeError, match='x.array'):
            testing.assert_allclose(chainer.Variable(np.ones(3)), np.ones(3))
        with pytest.raises(TypeError, match='y is None'):
            testing.assert_allclose(np.ones(3), None)


class TestAssertWarns:

    @pytest.mark.parametrize('expected', [FutureWarning, Warning, (UserWarning, FutureWarning)])
    def test_warning(self, expected):
        with testing.assert_warns(expected):
            warnings.warn('x', FutureWarning)

    def test_other_or_no_warning(self):
        with pytest.raises(AssertionError, match='UserWarning not triggered'):
            with testing.assert_warns(UserWarning):
                warnings.warn('x', FutureWarning)
        with pytest.raises(AssertionError, match='UserWarning or KeyError not triggered'):
            with testing.assert_warns((UserWarning, KeyError)):
                pass

    def test_errors_come_through(self):
        with pytest.raises(KeyError):
            with testing.assert_warns(UserWarning):
                raise KeyError


# What a module with parameterized tests sees; pytest collects the cases, too.

@testing.parameterize({'a': 1, 'b': [1, 2]}, {'a': 2, 'b': None})
class TestParameters(unittest.TestCase):

    def test_parameters(self):
        assert (self.a, self.b) in [(1, [1, 2]), (2, None)]


@testing.parameterize(*testing.product({'a': [1, 2]}))
@testing.parameterize_pytest('b,c', [('x', (1, 2)), ('y', 3)])
class TestStacked(unittest.TestCase):

    def test_parameters(self):
        assert (self.b, self.c) in [('x', (1, 2)), ('y', 3)]
        assert self.a in (1, 2)


@testing.parameterize({'a': 1})
class TestPlainClass:

    def test_parameters(self):
        assert self.a == 1


class TestParameterize:

    def test_names(self):
        assert [name for name in globals() if name.startswith('TestParameters')] == [
            'TestParameters_param_0_{a=1, b=[1, 2]}', 'TestParameters_param_1_{a=2, b=None}',
            'TestParameters']
        assert [name for name in globals() if name.startswith('TestStacked_')] == [
            "TestStacked_param_0_{b='x', c=(1, 2)}_param_0_{a=1}",
            "TestStacked_param_0_{b='x', c=(1, 2)}_param_1_{a=2}",
            "TestStacked_param_1_{b='y', c=3}_param_0_{a=1}",
            "TestStacked_param_1_{b='y', c=3}_param_1_{a=2}"]
        assert TestParameters.cases[0].__module__ == __name__
        assert len(TestPlainClass.cases) == 1

    def test_names_of_values(self):
        @testing.parameterize({
            'dtype': np.float32, 'f': F.relu, 'array': np.zeros(3), 'text': 'a' * 200})
        class TestNames(unittest.TestCase):
            pass

        assert TestNames.cases[0].__name__ == (
            'TestNames_param_0_{array=array([0., 0., 0.]), dtype=float32, f=relu, '
            f"text='{'a' * 49}...{'a' * 49}'}}")

    def test_failure_tells_the_parameters(self):
        @testing.parameterize({'n': 3}, {'n': 4})
        class TestFailure(unittest.TestCase):
            def test_even(self):
                assert self.n % 2 == 0, 'odd'

        result = run(TestFailure)
        assert result.testsRun == 2
        (case, text), = result.failures
        assert 'odd\n' in text
        assert 'Test parameters:\n  n: 3' in text
        assert str(case).endswith("parameter: {'n': 3}")

    def test_names_that_coincide(self):
        @testing.parameterize({'x': 1})
        @testing.parameterize({'y': 1}, {'y': 1})
        class TestSame(unittest.TestCase):
            def test(self):
                pass

        assert run(TestSame).testsRun == 2

    def test_inherited_tests(self):
        class Base:
            def test(self):
                assert self.n == 1

        @testing.parameterize({'n': 1}, {'n': 2})
        class TestDerived(Base, unittest.TestCase):
            pass

        assert len(run(TestDerived).failures) == 1

    def test_a_class_derived_from_a_bundle_has_the_tests_without_parameters(self):
        class TestMore(TestParameters):
            pass

        assert TestMore.__mro__[1].__name__ == 'TestParameters'
        assert not hasattr(TestMore, 'a')

        @testing.parameterize({'n': 1}, {'n': 2})
        class TestFirst(unittest.TestCase):
            def test(self):
                assert self.n < 3

        @testing.parameterize({'n': 3})
        class TestSecond(TestFirst):
            pass

        assert len(run(TestSecond).failures) == 1

    def test_functions_stay_functions(self):
        class Descriptor:
            def __get__(self, instance, owner):
                raise AssertionError

        descriptor = Descriptor()

        @testing.parameterize(
            {'f': lambda x: x + 1, 'g': len, 'h': F.relu, 'd': descriptor, 'k': float})
        class TestFunctions(unittest.TestCase):
            def test(self):
                assert self.f(1) == 2
                assert self.g([1]) == 1
                assert self.h is F.relu
                assert self.d is descriptor
                assert self.k is float

        assert run(TestFunctions).wasSuccessful()
        assert TestFunctions.cases[0].f(1) == 2

    # What 7.8.1 returns for each.
    @pytest.mark.parametrize('parameter, expected', [
        ({'a,b': [(1, 2), (3, 4)]}, [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}]),
        ({'c': [0], 'a,b': [[1, 2]]}, [{'a': 1, 'b': 2, 'c': 0}]),
        ({'a,b,c': [(1, 2, 3)], 'd,e': ((4, 5), (6, 7))},
         [{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5}, {'a': 1, 'b': 2, 'c': 3, 'd': 6, 'e': 7}]),
        ({'b': [7], 'a,b': [(1, 2)]}, [{'a': 1, 'b': 7}]),
        ({'a,b': []}, []),
        ([[{'a,b': (1, 2)}]], [{'a,b': (1, 2)}])])
    def test_pairwise_product(self, parameter, expected):
        assert testing.product(parameter) == expected

    @pytest.mark.parametrize('parameter', [
        {'a,b': [(1, 2, 3)]}, {'a,b': [1]}, {'a,b': ['xy']}, {'a,b': [{'a': 1, 'b': 2}]},
        {('a', 'b'): [(1, 2)]}])
    @pytest.mark.parametrize('error', [AssertionError, ValueError])
    def test_wrong_pairs(self, parameter, error):
        with pytest.raises(error, match='must be'):
            testing.product(parameter)

    def test_product(self):
        assert testing.product({'b': [1, 2], 'a': [3, 4]}) == [
            {'a': 3, 'b': 1}, {'a': 3, 'b': 2}, {'a': 4, 'b': 1}, {'a': 4, 'b': 2}]
        assert testing.product({}) == [{}]
        assert testing.product([[{'a': 1}, {'a': 2}], [{'b': 3}]]) == [
            {'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
        with pytest.raises(TypeError, match="either dict or list. Actual: <class 'int'>"):
            testing.product(3)
        with pytest.raises(TypeError, match='list of lists'):
            testing.product([{'a': 1}])

    def test_product_dict(self):
        assert testing.product_dict([{'a': 1}, {'a': 2}], [{'b': 2}, {}], [{'a': 3}]) == [
            {'a': 3, 'b': 2}, {'a': 3}, {'a': 3, 'b': 2}, {'a': 3}]

    def test_from_pytest_parameterize(self):
        assert testing.from_pytest_parameterize('a, b', [(1, 2), (3, 4)]) == [
            {'a': 1, 'b': 2}, {'a': 3, 'b': 4}]
        assert testing.from_pytest_parameterize('a', [(1, 2), 3]) == [{'a': (1, 2)}, {'a': 3}]
        with pytest.raises(ValueError, match='must be a tuple of 2 values, for a, b'):
            testing.from_pytest_parameterize('a,b', [(1, 2, 3)])


class TestBackends:

    def test_all_methods(self):
        seen = []

        @testing.inject_backend_tests(None, [{}, {'autotune': True}, {'use_cuda': True},
                                             {'use_ideep': 'always'}, {'use_chainerx': True}])
        class TestOnBackends(unittest.TestCase):
            def test_a(self, backend_config):
                seen.append(('a', backend_config.autotune, backend_config.use_cuda))

            def test_b(self, backend_config):
                with backend_config:
                    seen.append(('b', chainer.config.autotune, chainer.config.use_cudnn))

        result = run(TestOnBackends)
        assert result.wasSuccessful()
        assert [e for e in seen if not e[0] == 'a' or not e[2]] == [
            ('a', False, False), ('b', False, 'never'), ('a', True, False), ('b', True, 'never')]
        reasons = {reason for _, reason in result.skipped}
        assert {'iDeep is not available any more', 'ChainerX is not available'} <= reasons

    def test_some_methods_and_stacks(self):
        seen = []

        @testing.parameterize({'n': 1}, {'n': 2})
        @testing.inject_backend_tests(['test_a'], [{}, {'autotune': True}])
        @testing.inject_backend_tests(['test_b'], [{}])
        class TestSome(unittest.TestCase):
            def test_a(self, backend_config):
                seen.append(f'a{self.n}{backend_config.autotune}')

            def test_b(self, backend_config):
                seen.append(f'b{self.n}{backend_config.autotune}')

            def test_c(self):
                seen.append(f'c{self.n}')

        assert run(TestSome).wasSuccessful()
        assert sorted(seen) == ['a1False', 'a1True', 'a2False', 'a2True', 'b1False', 'b2False',
                                'c1', 'c2']

    def test_the_class_stays_with_the_other_tests(self):
        seen = []

        @testing.inject_backend_tests(['test_a'], [{}, {'autotune': True}])
        class TestRest(unittest.TestCase):
            def setUp(self):
                super(TestRest, self).setUp()  # noqa: UP008

            def test_a(self, backend_config):
                seen.append(f'a{backend_config.autotune}')

            def test_b(self):
                seen.append('b')

        assert TestRest.__name__ == 'TestRest'
        assert globals()['TestRest'] is TestRest
        assert unittest.defaultTestLoader.getTestCaseNames(TestRest) == ['test_b']
        assert run(TestRest).wasSuccessful()
        assert sorted(seen) == ['aFalse', 'aTrue', 'b']

    def test_names_under_parameters(self):
        @testing.parameterize({'n': 1})
        @testing.inject_backend_tests(['test_a'], [{}])
        class TestNamed(unittest.TestCase):
            def test_a(self, backend_config):
                pass

            def test_b(self):
                pass

        settings = testing.BackendConfig({}).get_func_str()
        # Those of 7.8.1.
        assert [case.__name__ for case in TestNamed.cases] == [
            'TestNamed_param_0_{n=1}', f'TestNamed_{settings}_param_0_{{n=1}}']

    def test_derived_classes_have_the_tests_of_all_backends(self):
        seen = []
        made = []

        @testing.inject_backend_tests(['test_a', 'test_b'], [{}, {'autotune': True}])
        class TestBase(unittest.TestCase):
            def __init_subclass__(cls, mark=None, **kwargs):
                super().__init_subclass__(**kwargs)
                made.append((cls.__name__, mark))

            def test_a(self, backend_config):
                seen.append(f'a{self.n}{backend_config.autotune}')

            def test_b(self, backend_config):
                raise AssertionError

            def test_c(self):
                seen.append(f'c{self.n}')

        class TestDerived(TestBase, mark=3):
            n = 3

            def test_b(self):
                seen.append('b')

        assert run(TestDerived).wasSuccessful()
        assert sorted(seen) == ['a3False', 'a3True', 'b', 'c3']
        assert made[-1] == ('TestDerived', 3)
        # As 5.4 calls it, with the settings of 7.
        assert f'test_a__{testing.BackendConfig({}).get_func_str()}' in vars(TestDerived)

        seen.clear()

        @testing.parameterize({'n': 1}, {'n': 2})
        class TestParameterized(TestDerived):
            pass

        assert run(TestParameterized).wasSuccessful()
        assert sorted(seen) == ['a1False', 'a1True', 'a2False', 'a2True', 'b', 'b', 'c1', 'c2']

    def test_other_decorators_take_the_class(self, monkeypatch):
        monkeypatch.setenv('CHAINER_TEST_GPU_LIMIT', '0')
        draws = []

        @testing.fix_random()
        @testing.inject_backend_tests(['test_a'], [{}])
        class TestDraws(unittest.TestCase):
            def test_a(self, backend_config):
                draws.append(np.random.rand())

            def test_b(self):
                draws.append(np.random.rand())

        assert run(TestDraws).wasSuccessful()
        assert draws == [0.5434049417909654] * 2

        @attr.gpu
        @testing.inject_backend_tests(['test_a'], [{}])
        class TestOnGpu(unittest.TestCase):
            def test_a(self, backend_config):
                pass

            def test_b(self):
                pass

        assert len(run(TestOnGpu).skipped) == 2

    def test_configurations(self):
        config = testing.BackendConfig({})
        assert config.device == chainer.get_device('@numpy')
        assert config.xp is np
        x = np.ones(3)
        assert config.get_array(x) is x
        assert config.get_array(None) is None
        assert config.get_array([x])[0] is x
        assert config.get_func_str().startswith(
            'use_chainerx_false__chainerx_device_None__use_cuda_false__cuda_device_None')
        assert "use_cudnn='never'" in repr(config)
        assert testing.BackendConfig({'use_cuda': True}).cuda_device == 0

    def test_settings_hold_in_the_block_only(self):
        before = chainer.config.use_cudnn, chainer.config.autotune
        with testing.BackendConfig({'use_cudnn': 'always', 'autotune': True}):
            assert (chainer.config.use_cudnn, chainer.config.autotune) == ('always', True)
        assert (chainer.config.use_cudnn, chainer.config.autotune) == before

    def test_errors(self):
        with pytest.raises(ValueError, match='foo is not defined'):
            testing.BackendConfig({'foo': 1})
        with pytest.raises(TypeError, match='must be a dictionary'):
            testing.BackendConfig([])
        with pytest.raises(TypeError, match='must be either None or a list'):
            testing.inject_backend_tests('test_a', [{}])
        with pytest.raises(ValueError, match='has no test test_z'):
            @testing.inject_backend_tests(['test_z'], [{}])
            class TestNone(unittest.TestCase):
                pass


class TestConditions:

    def counting(self, decorator, outcomes):
        """A test whose n-th trial ends as outcomes tell; it logs what is called."""
        log = []
        outcomes = iter(outcomes)

        class TestTrials(unittest.TestCase):
            def setUp(self):
                log.append('setUp')

            def tearDown(self):
                log.append('tearDown')

            @decorator
            def test(self):
                log.append('test')
                outcome = next(outcomes)
                if outcome is not None:
                    raise outcome

        return run(TestTrials), log

    @pytest.mark.parametrize('decorator, outcomes, trials, passes', [
        (condition.retry(3), 'xx.', 3, True),
        (condition.retry(3), '.', 1, True),
        (condition.retry(3), 'xxx.', 3, False),
        (condition.repeat(3), '...', 3, True),
        (condition.repeat(3), '.x.', 2, False),
        (condition.repeat_with_success_at_least(5, 2), 'x..', 3, True),
        (condition.repeat_with_success_at_least(5, 2), '.xxxx', 5, False),
        (condition.repeat_with_success_at_least(5, 2), 'xxxx', 4, False),
    ])
    def test_trials(self, decorator, outcomes, trials, passes):
        result, log = self.counting(
            decorator, [AssertionError('boo') if o == 'x' else None for o in outcomes])
        assert log.count('test') == trials
        assert log.count('setUp') == log.count('tearDown') == trials + 1
        assert result.wasSuccessful() == passes
        if not passes:
            assert 'AssertionError: boo' in result.failures[0][1]

    def test_errors_and_skips(self):
        result, log = self.counting(condition.retry(2), [ZeroDivisionError('z')] * 2)
        assert not result.errors
        assert 'ZeroDivisionError: z' in result.failures[0][1]
        result, log = self.counting(condition.retry(2), [unittest.SkipTest('no')])
        assert result.skipped[0][1] == 'no'
        assert log.count('test') == 1

    def test_failures_of_subtests(self):
        class TestSub(unittest.TestCase):
            @condition.retry(2)
            def test(self):
                with self.subTest():
                    raise AssertionError('in subtest')

        assert 'in subtest' in run(TestSub).failures[0][1]

    def test_arguments(self):
        @testing.inject_backend_tests(None, [{}])
        class TestArguments(unittest.TestCase):
            trials = 0

            @condition.retry(3)
            def test(self, backend_config):
                type(self).trials += 1
                assert isinstance(backend_config, testing.BackendConfig)
                assert self.trials == 3

        assert run(TestArguments).wasSuccessful()

    def test_only_for_test_cases(self):
        with pytest.raises(TypeError, match='method of a unittest.TestCase'):
            condition.retry(2)(lambda self: None)(object())
        with pytest.raises(AssertionError, match='must not be more than times'):
            condition.repeat_with_success_at_least(2, 3)

    def test_message_tells_the_first_failure(self):
        result, _ = self.counting(condition.repeat_with_success_at_least(5, 4), [
            None, AssertionError('first'), None, KeyError('second')])
        assert 'Fail: 2, Success: 2\n\nThe first error message:\nTraceback' in (
            result.failures[0][1])
        assert 'AssertionError: first' in result.failures[0][1]
        assert 'second' not in result.failures[0][1]

    @pytest.mark.parametrize('min_success', [0, -1])
    def test_one_trial_that_may_fail(self, min_success):
        result, log = self.counting(
            condition.repeat_with_success_at_least(10, min_success), [AssertionError()] * 10)
        assert result.wasSuccessful()
        assert log.count('test') == 1


class TestAttributes:

    def annotated(self):
        class TestNeeds(unittest.TestCase):
            @attr.gpu
            def test_gpu(self):
                pass

            @attr.multi_gpu(2)
            def test_multi(self):
                pass

            @attr.cudnn
            def test_cudnn(self):
                pass

            @attr.slow
            def test_slow(self):
                pass

            @attr.ideep
            def test_ideep(self):
                pass

        return TestNeeds

    def test_marks(self):
        case = self.annotated()
        names = {name: [m.name for m in getattr(case, name).pytestmark]
                 for name in dir(case) if name.startswith('test')}
        assert names == {
            'test_gpu': ['gpu'], 'test_multi': ['gpu'], 'test_slow': ['slow'],
            'test_cudnn': ['gpu', 'cudnn'], 'test_ideep': ['ideep']}

    def test_limit(self, monkeypatch):
        monkeypatch.setenv('CHAINER_TEST_GPU_LIMIT', '0')
        skipped = {case._testMethodName: reason for case, reason in run(self.annotated()).skipped}
        assert skipped == {
            'test_gpu': '1 GPUs required', 'test_multi': '2 GPUs required',
            'test_cudnn': '1 GPUs required', 'test_ideep': 'iDeep is not available any more'}

    def test_on_bundles(self, monkeypatch):
        monkeypatch.setenv('CHAINER_TEST_GPU_LIMIT', '0')

        @attr.gpu
        @testing.parameterize({'n': 1}, {'n': 2})
        class TestBundle(unittest.TestCase):
            def test(self):
                pass

        assert len(run(TestBundle).skipped) == 2

    def test_availability(self):
        assert attr.is_available()
        attr.check_available()

    def test_requirements(self):
        class TestRequires(unittest.TestCase):
            @testing.with_requires('numpy>=1.10', 'chainer>=5')
            def test_runs(self):
                pass

            @testing.with_requires('numpy>=99')
            def test_newer(self):
                raise AssertionError

            @testing.with_requires('numpy>=1.10', 'no-such-package')
            def test_missing(self):
                raise AssertionError

            @testing.without_requires('numpy>=1.10')
            def test_without(self):
                raise AssertionError

            @testing.without_requires('numpy>=1.10', 'no-such-package')
            def test_without_missing(self):
                pass

        result = run(TestRequires)
        assert result.wasSuccessful()
        assert {case._testMethodName: reason for case, reason in result.skipped} == {
            'test_newer': 'requires: numpy>=99', 'test_without': 'requires: numpy>=1.10',
            'test_missing': 'requires: numpy>=1.10,no-such-package'}


class TestRandom:

    def test_function(self):
        @testing.fix_random()
        def draw():
            return np.random.rand(), random.random()

        state = np.random.get_state()
        python_state = random.getstate()
        assert draw() == draw()
        # numpy.random.seed(100), as ever.
        assert draw()[0] == 0.5434049417909654
        assert (np.random.get_state()[1] == state[1]).all()
        assert random.getstate() == python_state

    def test_class(self):
        seen = []

        @testing.fix_random()
        class TestDraws(unittest.TestCase):
            def setUp(self):
                self.x = np.random.rand()

            def test_a(self):
                seen.append((self.x, np.random.rand()))

            test_b = test_a

        np.random.seed(1)
        expected = np.random.rand()
        np.random.seed(1)
        assert run(TestDraws).testsRun == 2
        assert seen[0] == seen[1]
        assert np.random.rand() == expected

    def test_bundle_and_plain_class(self):
        seen = []

        @testing.fix_random()
        @testing.parameterize({'n': 1}, {'n': 2})
        class TestDraws(unittest.TestCase):
            def test(self):
                seen.append(np.random.rand())

        assert run(TestDraws).wasSuccessful()
        assert seen == [0.5434049417909654] * 2

        @testing.fix_random(setup_method='setup_method', teardown_method='teardown_method')
        class Plain:
            pass

        plain = Plain()
        state = np.random.get_state()
        plain.setup_method()
        assert np.random.rand() == 0.5434049417909654
        plain.teardown_method()
        assert (np.random.get_state()[1] == state[1]).all()

    def test_state_comes_back_if_set_up_fails(self):
        @testing.fix_random()
        class TestBroken(unittest.TestCase):
            def setUp(self):
                raise KeyError

            def test(self):
                pass

        state = np.random.get_state()
        assert len(run(TestBroken).errors) == 1
        assert (np.random.get_state()[1] == state[1]).all()

    def test_seeds(self, monkeypatch):
        draw = testing.fix_random()(lambda: [testing.generate_seed() for _ in range(2)])
        assert draw() == draw()
        assert len(set(draw())) == 2
        assert all(0 <= seed < 0xffffffff for seed in draw())
        monkeypatch.setenv('CHAINER_TEST_RANDOM_NONDETERMINISTIC', '1')
        assert draw() != draw()
        with pytest.raises(RuntimeError, match='fix_random'):
            testing.generate_seed()


class TestPatch:

    def test_calls_go_through(self):
        with testing.patch('chainer.functions.relu') as relu:
            assert F.relu(np.array([-1.0, 1.0])).array.tolist() == [0, 1]
        assert relu.call_count == 1
        assert F.relu is not relu

    @pytest.mark.parametrize('kwargs', [
        {'return_value': 3}, {'side_effect': lambda x: 3}, {'autospec': True, 'return_value': 3}])
    def test_options(self, kwargs):
        with testing.patch('chainer.functions.relu', **kwargs) as relu:
            assert F.relu(0) == 3
        relu.assert_called_once_with(0)

    def test_replacement(self):
        with testing.patch('chainer.functions.relu', lambda x: 7):
            assert F.relu(0) == 7

    def test_methods(self):
        with testing.patch('chainer.Variable.cleargrad', autospec=True) as cleargrad:
            chainer.Variable(np.ones(2)).cleargrad()
        assert cleargrad.call_count == 1

    def test_unknown(self):
        with pytest.raises(ImportError, match='no_such_module'):
            testing.patch('no_such_module.name')


class TestMatrix:

    @pytest.mark.parametrize('dtype', 'efdFD')
    @pytest.mark.parametrize('shape', [(3, 3), (2, 3, 4), (4, 2)])
    def test_singular_values(self, dtype, shape):
        values = np.array([3.0, 2.0, 0.5])[:min(shape[-2:])]
        a = testing.generate_matrix(shape, dtype, singular_values=values)
        assert a.shape == shape
        assert a.dtype == dtype
        found = np.linalg.svd(a.astype('D'), compute_uv=False)
        np.testing.assert_allclose(
            found, np.broadcast_to(values, found.shape), rtol=1e-2 if dtype == 'e' else 1e-5)

    @pytest.mark.parametrize('shape, dtype, values, error, message', [
        ((3,), 'd', 1, ValueError, 'too few axes'),
        ((3, 3), 'i', 1, TypeError, 'int32 is not supported'),
        ((3, 3), 'd', -1, ValueError, 'negative singular value'),
        ((3, 4), 'd', [1, 2, 3, 4], ValueError, 'broadcast'),
    ])
    def test_errors(self, shape, dtype, values, error, message):
        with pytest.raises(error, match=message):
            testing.generate_matrix(shape, dtype, singular_values=values)


class TestSerialization:

    def test_npz(self):
        src, dst = L.Linear(3, 2), L.Linear(3, 2)
        testing.save_and_load_npz(src, dst)
        np.testing.assert_array_equal(src.W.array, dst.W.array)

    def test_hdf5(self):
        pytest.importorskip('h5py')
        src, dst = L.Linear(3, 2), L.Linear(3, 2)
        testing.save_and_load_hdf5(src, dst)
        np.testing.assert_array_equal(src.W.array, dst.W.array)

    def test_own_functions(self, tmp_path):
        paths = []
        testing.save_and_load(
            1, 2, 'name', lambda path, obj: paths.append((path, obj)),
            lambda path, obj: paths.append((path, obj)))
        assert paths[0][0] == paths[1][0]
        assert paths[0][0].endswith('name')
        assert [obj for _, obj in paths] == [1, 2]


class TestMockUpdater:

    def test_counters(self):
        trainer = testing.get_trainer_with_mock_updater((5, 'iteration'), iter_per_epoch=2)
        updater = trainer.updater
        assert (updater.iteration, updater.epoch, updater.epoch_detail) == (0, 0, 0)
        seen = []
        trainer.extend(
            lambda t: seen.append((t.updater.iteration, t.updater.epoch, t.updater.epoch_detail,
                                   t.updater.previous_epoch_detail, t.updater.is_new_epoch)),
            name='log', trigger=(1, 'iteration'))
        trainer.run()
        assert seen == [
            (1, 0, 0.5, 0, False), (2, 1, 1.0, 0.5, True), (3, 1, 1.5, 1.0, False),
            (4, 2, 2.0, 1.5, True), (5, 2, 2.5, 2.0, False)]

    # The epochs at which each iteration begins and ends are not whole; as 7.8.1 counts.
    @pytest.mark.parametrize('length, new', [
        (1.5, [False, True, True, False, True, True]),
        (2.5, [False, False, True, False, True, False]), (0.5, [True] * 6)])
    def test_epochs_of_fractions(self, length, new):
        updater = testing.get_trainer_with_mock_updater(iter_per_epoch=length).updater
        seen = []
        for iteration in range(1, 7):
            updater.update()
            assert updater.epoch_detail == iteration / length
            seen.append(updater.is_new_epoch)
        assert seen == new

    def test_extensions(self):
        calls = []
        testing.get_trainer_with_mock_updater(
            extensions=[lambda trainer: calls.append(trainer)]).run()
        assert len(calls) == 10


SAMPLE = '''
import unittest
from chainer import testing
from chainer.testing import _bundle, attr, condition


@testing.parameterize(*testing.product({'n': [1, 2]}))
@testing.inject_backend_tests(['test_backend'], [{}])
@testing.fix_random()
class TestSample(unittest.TestCase):
    def test_backend(self, backend_config):
        assert self.n

    @condition.retry(2)
    def test_plain(self):
        assert self.n == 1

    @attr.slow
    def test_slow(self):
        pass


testing.run_module(__name__, __file__)
'''


def test_under_pytest_as_a_script(tmp_path):
    path = tmp_path / 'test_sample.py'
    path.write_text(SAMPLE)
    result = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1
    assert '1 failed, 5 passed' in result.stdout
    assert '  n: 2' in result.stdout


def test_run_module_does_nothing_on_import():
    testing.run_module('test_sample', 'no such file')
