"""The benchmark of GPUs runs from end to end, so that it is ready for a real one."""
import pathlib
import sys

import pytest

BENCHMARKS = str(pathlib.Path(__file__).parents[2] / 'benchmarks')


def load(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delitem(sys.modules, 'bench_cuda', raising=False)
    import bench_cuda

    return bench_cuda


@pytest.mark.parametrize('name', ['small', 'step', *(
    pytest.param(name, marks=pytest.mark.slow) for name in ('mlp', 'conv', 'lstm', 'tr', 'ew'))])
def test_workloads_run_and_are_equal(name, monkeypatch, capsys):
    bench = load(monkeypatch)
    assert bench.compare(name, ('eager', 'graphs'), 1, 1)
    row = capsys.readouterr().out.splitlines()[0]
    assert row.startswith(name) and 'equal' in row
    if name in ('small', 'step'):
        assert not row.endswith(' 0 of 3')


def test_bandwidth(monkeypatch, capsys):
    load(monkeypatch).bandwidth(1, 1 << 10)
    assert capsys.readouterr().out.count('GB/s') == 4
