"""The tests of ``tests/cuda`` on the simulated device, which ``import cupy`` finds there.

Chainer asks for CuPy when it is imported, so these run in a process of their own: the first rows of
the tables; ``make test-cuda`` runs all of them.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
SIMULATED = HERE / 'simulated'


def compiler():
    """What the simulated device would compile kernels with."""
    spec = importlib.util.spec_from_file_location(
        'simulated_compile', SIMULATED / 'cupy' / '_compile.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.compiler()



@pytest.mark.slow
@pytest.mark.skipif(
    compiler() is None,
    reason='kernels run on the CPU through a C++ compiler for x86-64, and there is none')
def test_on_the_simulated_device():
    path = os.pathsep.join(filter(None, [str(SIMULATED), os.environ.get('PYTHONPATH')]))
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--tb=short',
         '-m', 'not slow', 'tests/cuda', 'tests/chainer_api/backends/test_cuda.py'],
        cwd=HERE.parent, env=dict(os.environ, PYTHONPATH=path), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
