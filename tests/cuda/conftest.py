"""What needs ``cupy`` arrays: run by ``tests/test_cuda.py`` on the simulated device.

Where CuPy and a GPU are, ``pytest tests/cuda`` runs these on it.
"""
import pathlib
import sys

import pytest

import chainer
from chainer.backends import cuda
from chainwright.runtime import eager

chainer.global_config.static_cuda_graphs = True
TESTS = pathlib.Path(__file__).parents[1]
for _folder in ('cuda', 'chainer_api/functions', 'chainer_api/links', 'golden', 'examples'):
    sys.path.insert(0, str(TESTS / _folder))


@pytest.fixture(autouse=True)
def calls_of_cupy(request, monkeypatch):
    """Define-by-run is calls of CuPy, whenever kernels of array code would have been compiled.

    Their first run waits for the device, and tests count launches; ``test_eager`` has these.
    """
    if request.path.name != 'test_eager.py':
        monkeypatch.setattr(eager, '_on_device', lambda *args: None)


if not cuda.available:
    collect_ignore_glob = ['test_*.py']
elif 'simulated' in cuda.cupy.__file__:
    from cupy import _cublas

    from chainwright.runtime.cuda import blas

    blas.library = lambda version: _cublas.LIBRARY
