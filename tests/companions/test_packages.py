"""Models of packages that require Chainer, plain and compiled, where the packages are installed.

``benchmarks/try_packages.py`` makes an environment that has them, and runs this file there.
"""
import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = {
    'chainercv': 'chainercv', 'chainerrl': 'chainerrl', 'chemistry': 'chainer_chemistry',
    'einops': 'einops', 'cost': 'chainer_computational_cost'}


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'benchmarks')
    monkeypatch.syspath_prepend(ROOT / 'tests/chainer_api/graph_optimizations')
    import bench_models
    yield bench_models
    for name in [n for n in sys.modules if n.partition('.')[0] in ('models', 'bench_models')]:
        del sys.modules[name]


@pytest.mark.filterwarnings('ignore')  # what the packages themselves do
@pytest.mark.parametrize('package', PACKAGES)
def test_models_forward_and_backward(bench, package):
    """Results, gradients, parameters, statistics and random numbers are equal, bit for bit."""
    if not importlib.util.find_spec(PACKAGES[package]):
        pytest.skip(f'{package} is not installed')
    import models
    names = [name for name in models.CASES if name.removeprefix('large_').startswith(package)]
    assert names
    calls = {name: 2 if name.startswith('large') else 5 for name in names}
    differing = {name: bench.compare(name, n) for name, n in calls.items()}
    assert differing == dict.fromkeys(names)
