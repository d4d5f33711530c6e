"""Small helpers for tests."""
import contextlib
import importlib
import importlib.metadata
import unittest
import unittest.mock
import warnings


@contextlib.contextmanager
def assert_warns(expected):
    """Return a context manager that fails unless its block gives a warning.

    All warnings of the block are swallowed.

    Args:
        expected (class or tuple of classes): Category of the warning, or a base of it.

    .. doctest::

        >>> import warnings
        >>> from chainer import testing
        >>> with testing.assert_warns(DeprecationWarning):
        ...     warnings.warn('old', DeprecationWarning)
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    if not any([issubclass(w.category, expected) for w in caught]):
        names = [c.__name__ for c in (expected if isinstance(expected, tuple) else (expected,))]
        raise AssertionError(f'{" or ".join(names)} not triggered')


def _version(name):
    """Return the version of an installed package, by the name of the distribution or module."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
    try:
        return getattr(importlib.import_module(name), '__version__', None)
    except ImportError:
        return None


def _satisfied(requirement):
    try:
        from packaging.requirements import Requirement
    except ImportError as e:
        raise ImportError(
            'with_requires reads requirements with the package "packaging", which comes with '
            'pytest: pip install packaging') from e
    requirement = Requirement(requirement)
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    version = _version(requirement.name)
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def with_requires(*requirements):
    """Return a decorator: the test is skipped unless all requirements are fulfilled.

    Args:
        requirements (str): Requirements as pip understands them, of distributions
            (``'scipy>=1.0'``) or modules with a ``__version__`` (``'chainer>=5'``, ``'cupy'``).

    .. doctest::

        >>> import unittest
        >>> from chainer import testing
        >>> class Test(unittest.TestCase):
        ...     @testing.with_requires('numpy>=2.0')
        ...     def test_for_numpy_2(self):
        ...         pass
    """
    return unittest.skipUnless(
        all([_satisfied(r) for r in requirements]), f'requires: {",".join(requirements)}')


def without_requires(*requirements):
    """Return a decorator: the test is skipped if all requirements are fulfilled.

    Args:
        requirements (str): See :func:`with_requires`.
    """
    return unittest.skipIf(
        all([_satisfied(r) for r in requirements]), f'requires: {",".join(requirements)}')


def patch(target, *args, **kwargs):
    """Return a patch (see :func:`unittest.mock.patch`) that calls what it replaces.

    Args:
        target (str): Full name of what is replaced by a mock.
        args: Arguments of :func:`unittest.mock.patch`: a first one replaces the mock.
        kwargs: Keyword arguments of it. ``wraps`` is, by default, the object itself: calls are
            counted and handed on.

    .. doctest::

        >>> from chainer import testing
        >>> with testing.patch('numpy.zeros') as zeros:
        ...     np.zeros(2)
        array([0., 0.])
        >>> zeros.call_count
        1
    """
    if not args and not {'new', 'new_callable', 'wraps'} & set(kwargs):
        kwargs['wraps'] = _attribute(target)
    return unittest.mock.patch(target, *args, **kwargs)


def _attribute(target):
    """Return the object of a full name, which may be an attribute of a class."""
    parts = target.split('.')
    for n in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module('.'.join(parts[:n]))
        except ImportError:
            continue
        for name in parts[n:]:
            found = getattr(found, name)
        return found
    raise ImportError(f'{target!r} names nothing that can be imported')


def run_module(name, file):
    """Run the tests of a file with pytest, if the file is run as a script.

    It is written at the end of test files, ``testing.run_module(__name__, __file__)``.

    Args:
        name (str): Name of the module; nothing happens unless it is ``'__main__'``.
        file (str): Path of the file.
    """
    if name == '__main__':
        import pytest

        raise SystemExit(pytest.main([file, '-v']))
