"""Test cases of probability distributions."""
import unittest

import numpy

from chainer import variable
from chainer.backends import _cpu, cuda
from chainer.testing import attr
from chainer.testing.array import assert_allclose

_N_SAMPLES = 100000


class distribution_unittest(unittest.TestCase):
    """Test case of a distribution: what it computes is compared with a distribution of SciPy.

    A subclass defines :meth:`setUp_configure`, which sets attributes, and :meth:`sample_for_test`.
    A test is skipped unless ``test_targets`` has its name.

    Attributes:
        dist (class): The distribution.
        scipy_dist: That of SciPy.
        test_targets (set of str): Which of ``batch_shape``, ``cdf``, ``entropy``, ``event_shape``,
            ``icdf``, ``log_cdf``, ``log_prob``, ``log_survival``, ``mean``, ``prob``, ``sample``,
            ``stddev``, ``support``, ``survival`` and ``variance`` are tested.
        params (dict): Arguments of the distribution that are arrays.
        options (dict): Its other arguments.
        scipy_params (dict): Keyword arguments of the methods of ``scipy_dist``.
        shape (tuple of int): Shape of the batch.
        event_shape (tuple of int): Shape of an event, ``()`` if it is not set.
        sample_shape (tuple of int): Shape of what is drawn of each distribution of the batch.
        is_variable (bool): Whether the distribution gets Variables instead of arrays.
        continuous (bool): Whether it has a density, ``True`` if it is not set.
        support (str): What ``support`` should be, ``'real'`` if it is not set.
        scipy_onebyone (bool): Whether ``scipy_dist`` takes the parameters of one distribution only.

    .. doctest::

        >>> from chainer import testing
        >>> class TestNormal(testing.distribution_unittest):
        ...     def setUp_configure(self):
        ...         from scipy import stats
        ...         self.dist, self.scipy_dist = chainer.distributions.Normal, stats.norm
        ...         self.test_targets = {'cdf', 'log_prob', 'mean', 'sample'}
        ...         self.shape, self.sample_shape, self.is_variable = (3,), (2,), False
        ...         loc = np.array([-1, 0, 1], np.float32)
        ...         self.params = {'loc': loc, 'scale': np.ones_like(loc)}
        ...         self.scipy_params = {'loc': loc}
        ...     def sample_for_test(self):
        ...         return np.random.normal(size=(2, 3)).astype(np.float32)
    """

    scipy_onebyone = False

    def setUp(self):
        super().setUp()
        self.support = 'real'
        self.event_shape = ()
        self.continuous = True
        self.test_targets = set()
        self.options = {}
        self.setUp_configure()
        unknown = set(self.test_targets) - set(_TARGETS)
        if unknown:
            raise ValueError(
                f'invalid target(s): {unknown}; there are {", ".join(sorted(_TARGETS))}')
        if self.is_variable:
            self.params = {name: variable.Variable(x) for name, x in self.params.items()}

    def setUp_configure(self):
        """Sets the attributes; called before each test."""
        raise NotImplementedError(f'{type(self).__name__} must define setUp_configure()')

    def sample_for_test(self):
        """Returns points at which functions are compared, a NumPy array of the shape
        ``sample_shape + shape + event_shape``."""
        raise NotImplementedError(f'{type(self).__name__} must define sample_for_test()')

    @property
    def cpu_dist(self):
        """The distribution, on the CPU."""
        return self.dist(**self.params, **self.options)

    @property
    def gpu_dist(self):
        """The distribution, on a GPU."""
        params = {name: cuda.to_gpu(x) if isinstance(x, numpy.ndarray)
                  else variable.Variable(cuda.to_gpu(x.array)) for name, x in self.params.items()}
        return self.dist(**params, **self.options)

    def _distribution(self, is_gpu):
        return self.gpu_dist if is_gpu else self.cpu_dist

    def scipy_onebyone_params_iter(self):
        """Yields the parameters for SciPy of each distribution of the batch."""
        for index in numpy.ndindex(*self.shape):
            yield {name: x[index] for name, x in self.scipy_params.items()}

    def _compare_property(self, name, scipy_name, event_shape, is_gpu):
        actual = getattr(self._distribution(is_gpu), name)
        method = getattr(self.scipy_dist, scipy_name)
        if self.scipy_onebyone:
            expected = numpy.reshape(
                [method(**params) for params in self.scipy_onebyone_params_iter()],
                self.shape + event_shape)
        else:
            expected = method(**self.scipy_params)
        assert_allclose(actual.array, expected)

    def _compare_function(self, name, scipy_name, points, is_gpu):
        function = getattr(self._distribution(is_gpu), name)
        actual = function(cuda.to_gpu(points) if is_gpu else points)
        method = getattr(self.scipy_dist, scipy_name)
        if self.scipy_onebyone:
            n = points.ndim - len(self.shape) - len(self.event_shape)
            values = [
                method(points[(slice(None),) * n + index], **params)
                for index, params in zip(
                    numpy.ndindex(*self.shape), self.scipy_onebyone_params_iter(), strict=True)]
            expected = numpy.stack(values, axis=-1).reshape(points.shape[:n] + self.shape)
        else:
            expected = method(points, **self.scipy_params)
        assert_allclose(actual.array, expected)

    def check_batch_shape(self, is_gpu):
        self.assertEqual(self._distribution(is_gpu).batch_shape, self.shape)

    def check_event_shape(self, is_gpu):
        self.assertEqual(self._distribution(is_gpu).event_shape, self.event_shape)

    def check_support(self, is_gpu):
        self.assertEqual(self._distribution(is_gpu).support, self.support)

    def check_entropy(self, is_gpu):
        self._compare_property('entropy', 'entropy', (), is_gpu)

    def check_mean(self, is_gpu):
        self._compare_property('mean', 'mean', self.event_shape, is_gpu)

    def check_stddev(self, is_gpu):
        self._compare_property('stddev', 'std', self.event_shape, is_gpu)

    def check_variance(self, is_gpu):
        self._compare_property('variance', 'var', self.event_shape, is_gpu)

    def check_cdf(self, is_gpu):
        self._compare_function('cdf', 'cdf', self.sample_for_test(), is_gpu)

    def check_log_cdf(self, is_gpu):
        self._compare_function('log_cdf', 'logcdf', self.sample_for_test(), is_gpu)

    def check_survival(self, is_gpu):
        self._compare_function('survival_function', 'sf', self.sample_for_test(), is_gpu)

    def check_log_survival(self, is_gpu):
        self._compare_function('log_survival_function', 'logsf', self.sample_for_test(), is_gpu)

    def check_prob(self, is_gpu):
        self._compare_function(
            'prob', 'pdf' if self.continuous else 'pmf', self.sample_for_test(), is_gpu)

    def check_log_prob(self, is_gpu):
        self._compare_function(
            'log_prob', 'logpdf' if self.continuous else 'logpmf', self.sample_for_test(), is_gpu)

    def check_icdf(self, is_gpu):
        points = numpy.random.uniform(1e-5, 1 - 1e-5, self.sample_shape + self.shape)
        self._compare_function('icdf', 'ppf', points.astype(numpy.float32), is_gpu)

    def check_sample(self, is_gpu):
        """Compares means and standard deviations of many points."""
        shape = (_N_SAMPLES, *self.sample_shape)
        actual = _cpu.array_to_cpu(self._distribution(is_gpu).sample(sample_shape=shape).array)
        expected = self._scipy_sample(shape)
        self.assertEqual(actual.shape, shape + self.shape + self.event_shape)
        for statistic in (numpy.mean, numpy.std):
            assert_allclose(
                statistic(actual, axis=0), statistic(expected, axis=0), atol=3e-2, rtol=3e-2)

    def _scipy_sample(self, shape):
        if not self.scipy_onebyone:
            return self.scipy_dist.rvs(
                size=shape + self.shape + self.event_shape, **self.scipy_params)
        points = numpy.stack(
            [self.scipy_dist.rvs(size=shape, **params)
             for params in self.scipy_onebyone_params_iter()], axis=len(shape))
        return points.reshape(shape + self.shape + self.event_shape)


_TARGETS = (
    'batch_shape', 'cdf', 'entropy', 'event_shape', 'icdf', 'log_cdf', 'log_prob', 'log_survival',
    'mean', 'prob', 'sample', 'stddev', 'support', 'survival', 'variance')


def _make_test(target, is_gpu):
    def test(self):
        if target not in self.test_targets:
            self.skipTest(f'{target!r} does not exist in test_targets.')
        getattr(self, f'check_{target}')(is_gpu)

    test.__name__ = f'test_{target}_{"gpu" if is_gpu else "cpu"}'
    test.__qualname__ = f'distribution_unittest.{test.__name__}'
    return attr.gpu(test) if is_gpu else test


for _target in _TARGETS:
    for _is_gpu in (False, True):
        _test = _make_test(_target, _is_gpu)
        setattr(distribution_unittest, _test.__name__, _test)
