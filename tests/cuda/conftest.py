"""What needs ``cupy`` arrays: run by ``tests/test_cuda.py`` on the simulated device.

Where CuPy and a GPU are, ``pytest tests/cuda`` runs these on it.
"""
import pathlib
import sys

import chainer
from chainer.backends import cuda

chainer.global_config.static_cuda_graphs = True
TESTS = pathlib.Path(__file__).parents[1]
for _folder in ('cuda', 'chainer_api/functions', 'chainer_api/links', 'golden', 'examples'):
    sys.path.insert(0, str(TESTS / _folder))

if not cuda.available:
    collect_ignore_glob = ['test_*.py']
elif 'simulated' in cuda.cupy.__file__:
    from cupy import _cublas

    from chainwright.runtime.cuda import blas

    blas.library = lambda version: _cublas.LIBRARY
