"""Decorators that tell what a test needs.

Each marks a test (or a class of tests) for ``pytest -m``, if pytest is installed, and skips it
where what it needs is missing. ``CHAINER_TEST_GPU_LIMIT=0`` skips all tests that need a GPU,
a larger number those that need more GPUs than that.
"""
import os
import unittest

from chainer.backends import cuda
from chainer.testing import _bundle


def _mark(name, target):
    try:
        import pytest
    except ImportError:
        return target
    return getattr(pytest.mark, name)(target)


def _annotate(target, name, needed=True, reason=''):
    if not isinstance(target, (type, _bundle.TestCaseBundle)):
        return _mark(name, target if needed else unittest.skip(reason)(target))
    for case in _bundle.cases_of(target):
        _mark(name, case if needed else unittest.skip(reason)(case))
    return target


def _gpu_count():
    limit = int(os.environ.get('CHAINER_TEST_GPU_LIMIT', '-1'))
    found = cuda.cupy.cuda.runtime.getDeviceCount() if cuda.available else 0
    return found if limit < 0 else min(found, limit)


def multi_gpu(gpu_num):
    """Return a decorator of tests that need several GPUs.

    Args:
        gpu_num (int): How many.
    """
    def decorate(f):
        return _annotate(f, 'gpu', _gpu_count() >= gpu_num, f'{gpu_num} GPUs required')
    return decorate


def gpu(f):
    """Mark a test that needs a GPU.

    .. doctest::

        >>> import unittest
        >>> from chainer.testing import attr
        >>> class TestOnGpu(unittest.TestCase):
        ...     @attr.gpu
        ...     def test_to_gpu(self):
        ...         chainer.Variable(np.zeros(3)).to_gpu()
    """
    return multi_gpu(1)(f)


def cudnn(f):
    """Mark a test that needs cuDNN, and so a GPU."""
    return _annotate(gpu(f), 'cudnn')


def slow(f):
    """Mark a test that takes long; ``pytest -m "not slow"`` leaves it out."""
    return _annotate(f, 'slow')


def ideep(f):
    """Mark a test of iDeep, which does not exist for today's Python any more: it is skipped."""
    return _annotate(f, 'ideep', False, 'iDeep is not available any more')


def chainerx(f):
    """Mark a test of ChainerX, which is no part of this package: it is skipped."""
    return _annotate(f, 'chainerx', False, 'ChainerX is not available')


def is_available():
    """Tell whether tests can be marked, that is, whether pytest is installed."""
    return get_error() is None


def get_error():
    """Return why tests cannot be marked: the exception of importing pytest, or ``None``."""
    try:
        import pytest  # noqa: F401
    except ImportError as e:
        return e
    return None


def check_available():
    """Raise ``RuntimeError`` if tests cannot be marked."""
    error = get_error()
    if error is not None:
        raise RuntimeError(
            f'tests can be marked only where pytest is installed (pip install pytest): {error}')
