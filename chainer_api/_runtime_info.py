"""What is installed and running."""
import platform
import sys

import numpy

import chainer
import chainwright
from chainer.backends import cuda


def _cupy_lines():
    if not cuda.available:
        return ['CuPy: Not Available']
    return ['CuPy:'] + ['  ' + line for line in str(cuda.cupyx.get_runtime_info()).splitlines()]


def runtime_info():
    """Return a text of several lines with the versions of everything that takes part."""
    return '\n'.join([
        f'Platform: {platform.platform()}',
        f'Python: {platform.python_version()}',
        f'Chainer: {chainer.__version__} (Chainwright {chainwright.__version__})',
        'ChainerX: Not Available',
        f'NumPy: {numpy.__version__}',
        *_cupy_lines(),
        'iDeep: Not Available',
    ]) + '\n'


def print_runtime_info(out=None):
    """Write the versions of Chainer, NumPy, CuPy and CUDA.

    Args:
        out: Output file, standard output by default.

    .. doctest::

        >>> chainer.print_runtime_info()  # doctest: +SKIP
        Platform: Linux-6.1-x86_64-with-glibc2.36
        Python: 3.11.7
        Chainer: 7.8.1 (Chainwright 0.1.0)
        ChainerX: Not Available
        NumPy: 2.4.6
        CuPy: Not Available
        iDeep: Not Available
    """
    out = sys.stdout if out is None else out
    out.write(runtime_info())
    out.flush()
