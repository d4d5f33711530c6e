"""Fixed random numbers in tests."""
import functools
import os
import random

import numpy

from chainer.backends import cuda
from chainer.testing import _bundle

_SEED = 100
_saved = []  # states of the generators, the innermost fix_random last


def do_setup(deterministic=True):
    """Seed the generators of Python, NumPy and CuPy, and remember their states.

    Args:
        deterministic (bool): If ``False``, the seeds are random ones.
    """
    _saved.append((random.getstate(), numpy.random.get_state()))
    seed = _SEED if deterministic else None
    random.seed(seed)
    numpy.random.seed(seed)
    if cuda.available:
        cuda.cupy.random.seed(seed)


def do_teardown():
    """Give the generators back the states that they had before :func:`do_setup`.

    CuPy cannot tell its state; its generator stays.
    """
    python_state, numpy_state = _saved.pop()
    random.setstate(python_state)
    numpy.random.set_state(numpy_state)


def _setup():
    do_setup(os.environ.get('CHAINER_TEST_RANDOM_NONDETERMINISTIC', '0') != '1')


def generate_seed():
    """Return a random number that may be used as a seed; in tests with :func:`fix_random` only."""
    if not _saved:
        raise RuntimeError(
            'generate_seed is for tests with fixed random numbers: decorate the test, or its '
            'class, with @chainer.testing.fix_random()')
    return int(numpy.random.randint(0xffffffff, dtype=numpy.int64))


def fix_random(*, setup_method='setUp', teardown_method='tearDown'):
    """Return a decorator that fixes the random numbers in a test.

    Python's, NumPy's and CuPy's generators are seeded before the test, those of Python and NumPy
    get their states back afterwards. With the environment variable
    ``CHAINER_TEST_RANDOM_NONDETERMINISTIC=1`` the seeds are random ones.

    On a class it acts around each of its tests, from before ``setUp`` to after ``tearDown``. It is
    not to be used under :mod:`chainer.testing.condition`: all trials would be the same.

    Args:
        setup_method (str): Name of the method of the class that comes before each test.
        teardown_method (str): Name of the one that comes after.

    .. doctest::

        >>> from chainer import testing
        >>> @testing.fix_random()
        ... def draw():
        ...     return np.random.randint(1000)
        >>> draw() == draw()
        True
    """
    def decorate(target):
        if not isinstance(target, (type, _bundle.TestCaseBundle)):
            return _fix_function(target)
        fixed = []
        for case in _bundle.cases_of(target):
            if not issubclass(case, tuple(fixed)):
                _fix_class(case, setup_method, teardown_method)
                fixed.append(case)
        return target
    return decorate


def _fix_function(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        _setup()
        try:
            return f(*args, **kwargs)
        finally:
            do_teardown()
    return wrapper


def _nothing(self):
    pass


def _fix_class(cls, setup_method, teardown_method):
    set_up = getattr(cls, setup_method, _nothing)
    tear_down = getattr(cls, teardown_method, _nothing)

    @functools.wraps(set_up)
    def fixed_set_up(self, *args, **kwargs):
        _setup()
        try:
            return set_up(self, *args, **kwargs)
        except BaseException:
            do_teardown()
            raise

    @functools.wraps(tear_down)
    def fixed_tear_down(self, *args, **kwargs):
        try:
            return tear_down(self, *args, **kwargs)
        finally:
            do_teardown()

    setattr(cls, setup_method, fixed_set_up)
    setattr(cls, teardown_method, fixed_tear_down)
