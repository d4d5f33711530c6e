"""Special functions of SciPy, found when they are needed."""
import importlib

from chainer.backends import cuda


def special(x, name):
    """The ufunc ``name`` of SciPy (or of CuPy, for its arrays).

    Raises:
        ImportError: if SciPy is not installed.
    """
    module = 'cupyx.scipy.special' if isinstance(x, cuda.ndarray) else 'scipy.special'
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as e:
        raise ImportError(
            f'this function needs {module}.{name}, and SciPy could not be imported: '
            'install it with `pip install scipy`') from e
