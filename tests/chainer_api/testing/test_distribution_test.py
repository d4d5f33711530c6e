"""testing.distribution_unittest, on distributions of ours and on ones that are wrong.

What it asks of SciPy, its tolerances and its messages are those of 7.8.1.
"""
import unittest

import numpy as np
import pytest
from scipy import stats

import chainer
from chainer import distributions, testing

TARGETS = {
    'batch_shape', 'cdf', 'entropy', 'event_shape', 'icdf', 'log_cdf', 'log_prob', 'log_survival',
    'mean', 'prob', 'sample', 'stddev', 'support', 'survival', 'variance'}


@testing.parameterize(*testing.product({
    'shape': [(2, 3), ()], 'is_variable': [True, False], 'sample_shape': [(3,), ()]}))
@testing.fix_random()
class TestNormal(testing.distribution_unittest):

    def setUp_configure(self):
        self.dist = distributions.Normal
        self.scipy_dist = stats.norm
        self.test_targets = TARGETS
        loc = np.random.uniform(-1, 1, self.shape).astype(np.float32)
        scale = np.asarray(np.exp(np.random.uniform(-1, 1, self.shape)), np.float32)
        self.params = {'loc': loc, 'scale': scale}
        self.scipy_params = {'loc': loc, 'scale': scale}

    def sample_for_test(self):
        return np.random.normal(size=self.sample_shape + self.shape).astype(np.float32)


@testing.parameterize(*testing.product({'shape': [(2,), ()], 'is_variable': [True, False]}))
@testing.fix_random()
class TestPoisson(testing.distribution_unittest):
    """A discrete distribution, each of the batch by itself."""

    sample_shape = (3,)
    scipy_onebyone = True

    def setUp_configure(self):
        self.dist = distributions.Poisson
        self.scipy_dist = stats.poisson
        self.test_targets = {'log_prob', 'mean', 'sample', 'support', 'variance'}
        lam = np.random.uniform(0.1, 5, self.shape).astype(np.float32)
        self.params = {'lam': lam}
        self.scipy_params = {'mu': lam}
        self.support = 'non negative integer'
        self.continuous = False

    def sample_for_test(self):
        return np.random.randint(0, 9, self.sample_shape + self.shape).astype(np.float32)


@testing.parameterize(*testing.product({'shape': [(3, 2), ()]}))
@testing.fix_random()
class TestDirichlet(testing.distribution_unittest):
    """A distribution of vectors."""

    sample_shape = (4,)
    is_variable = False
    scipy_onebyone = True

    def setUp_configure(self):
        self.dist = distributions.Dirichlet
        self.scipy_dist = stats.dirichlet
        self.test_targets = {
            'batch_shape', 'entropy', 'event_shape', 'log_prob', 'mean', 'sample', 'support',
            'variance'}
        alpha = np.random.uniform(0.5, 3, (*self.shape, 3)).astype(np.float32)
        self.params = {'alpha': alpha}
        self.scipy_params = {'alpha': alpha}
        self.support = '[0, 1]'
        self.event_shape = (3,)

    def sample_for_test(self):
        # scipy.stats.dirichlet takes one point at a time, and points that add up to 1 exactly.
        return np.broadcast_to(
            np.array([0.25, 0.25, 0.5], np.float32), (*self.sample_shape, *self.shape, 3))


class OnePointAtATime:
    """scipy.stats.dirichlet, for several points."""

    def __getattr__(self, name):
        return getattr(stats.dirichlet, name)

    def logpdf(self, x, alpha):
        return np.apply_along_axis(stats.dirichlet.logpdf, -1, x, alpha)


for _case in TestDirichlet.cases:
    _configure = _case.setUp_configure

    def _configured(self, _configure=_configure):
        _configure(self)
        self.scipy_dist = OnePointAtATime()

    _case.setUp_configure = _configured


class Shifted(distributions.Normal):
    """A normal distribution that says what is not true."""

    by = 0

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        if name in ('mean', 'variance', 'stddev', 'entropy'):
            return value + self.by
        if name in ('cdf', 'icdf', 'log_cdf', 'log_prob', 'prob', 'survival_function',
                    'log_survival_function', 'sample_n'):
            return lambda *args: value(*args) + self.by
        return value


def run(by, target, **attributes):
    class Case(testing.distribution_unittest):
        shape = (2,)
        sample_shape = ()
        is_variable = False

        def setUp_configure(self):
            np.random.seed(0)
            self.dist = type('Dist', (Shifted,), {'by': by})
            self.scipy_dist = stats.norm
            self.test_targets = TARGETS
            self.params = {'loc': np.zeros(2, 'f'), 'scale': np.ones(2, 'f')}
            self.scipy_params = {'loc': np.zeros(2)}
            vars(self).update(attributes)

        def sample_for_test(self):
            return np.array([-0.5, 0.5], 'f')

    result = unittest.TestResult()
    Case(f'test_{target}_cpu').run(result)
    return result


@pytest.mark.parametrize('target', sorted(
    TARGETS - {'batch_shape', 'event_shape', 'support', 'sample'}))
def test_wrong_values_are_found(target):
    assert run(0, target).wasSuccessful()
    assert run(5e-6, target).wasSuccessful()
    assert len(run(5e-3, target).failures) == 1


def test_wrong_samples_are_found():
    assert run(0.01, 'sample').wasSuccessful()
    assert len(run(0.05, 'sample').failures) == 1


@pytest.mark.parametrize('target, attributes', [
    ('batch_shape', {'shape': (3,)}), ('event_shape', {'event_shape': (2,)}),
    ('support', {'support': 'positive'})])
def test_wrong_shapes_and_supports_are_found(target, attributes):
    assert run(0, target).wasSuccessful()
    assert len(run(0, target, **attributes).failures) == 1


def test_what_is_no_target_is_skipped():
    result = run(1, 'mean', test_targets={'cdf'})
    assert result.skipped[0][1] == "'mean' does not exist in test_targets."


def test_unknown_targets():
    result = run(0, 'mean', test_targets={'mean', 'meen'})
    assert "invalid target(s): {'meen'}" in result.errors[0][1]


def test_other_arguments():
    zeros = np.zeros(2, 'f')
    result = run(0, 'mean', params={'loc': zeros}, options={'log_scale': zeros})
    assert result.wasSuccessful()


def test_variables_are_made_of_the_parameters():
    seen = {}

    class Dist:
        batch_shape = ()

        def __init__(self, **kwargs):
            seen.update(kwargs)

    run(0, 'batch_shape', dist=Dist, params={'a': np.ones(2)}, options={'b': 3}, is_variable=True)
    assert isinstance(seen['a'], chainer.Variable)
    assert seen['b'] == 3


def test_gpu_tests_are_marked():
    test = testing.distribution_unittest.test_cdf_gpu
    assert [mark.name for mark in test.pytestmark] == ['gpu']
