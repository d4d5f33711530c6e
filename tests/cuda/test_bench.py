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


def test_peers(monkeypatch, capsys, tmp_path):
    """A row for each, also of those that are not there."""
    (tmp_path / 'some_steps.py').write_text(
        'steps = lambda workload, mode, way: print if mode == "train" else wait\n'
        'def wait():\n    sum(range(1000))\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    bench = load(monkeypatch)
    monkeypatch.setattr(bench, 'PEERS', {
        'some': ('some_steps', 'eager'), 'none': ('no_such_module', 'eager')})
    bench.peers('small', sys.executable, 1, 2)
    some, none = capsys.readouterr().out.splitlines()
    name, way, train, infer = some.split()
    assert (name, way) == ('small', 'some') and float(train) >= 0 and float(infer) > 0
    assert none.count("No module named 'no_such_module'") == 2


def test_bandwidth(monkeypatch, capsys):
    load(monkeypatch).bandwidth(1, 1 << 10)
    assert capsys.readouterr().out.count('GB/s') == 4


def test_a_check_goes_on_after_a_failure(monkeypatch, tmp_path):
    """Steps that fail, raise or hang stop none of the others, and are told with their reasons."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import check_device

    (tmp_path / 'test_it.py').write_text(
        'import pytest\n'
        '@pytest.mark.parametrize("k", [1, 2])\n'
        'def test_one(k):\n    assert k == 1, "two is wrong"\n'
        'def test_two():\n    pytest.skip("one device")\n')
    tests = [*check_device.tests(), '-c', str(tmp_path / 'none.ini'), str(tmp_path / 'test_it.py')]
    steps = [
        check_device.Step('first', 'tests', tests),
        check_device.Step('raises', 'a script', [sys.executable, '-c', 'raise OSError("gone")']),
        check_device.Step('hangs', 'a script', [
            sys.executable, '-c', 'import time; print("begun", flush=True); time.sleep(99)']),
        check_device.Step('last', 'a script', [sys.executable, '-c', 'print(1)'])]
    (tmp_path / 'none.ini').write_text('[pytest]\n')
    monkeypatch.setattr(check_device, 'LOGS', str(tmp_path / 'logs'))
    lines = []
    with pytest.raises(SystemExit, match='1'):
        check_device.main(['--limit', '8'], steps, lines.append)
    text = '\n'.join(lines)
    assert 'FAILED, 1 failed, 1 passed, 1 skipped' in text
    assert 'test_one[2]: AssertionError: two is wrong' in text and '1 left out: one device' in text
    assert 'OSError: gone' in text and 'out of time' in text and 'begun' in text
    assert '| last | a script | ok, - |' in (tmp_path / 'logs' / 'summary.md').read_text()
    assert check_device.main(['last'], steps, lines.append) is None
    del lines[:]
    with pytest.raises(SystemExit, match='1'):  # side by side, with workers of pytest-xdist
        check_device.main(['first', 'last', '--jobs', '2', '--workers', '2'], steps, lines.append)
    assert 'FAILED, 1 failed, 1 passed, 1 skipped' in lines[-1]
    assert 'test_one[2]: AssertionError: two is wrong' in lines[-1]
    assert lines[-1].index('| first |') < lines[-1].index('| last |')
    with pytest.raises(SystemExit):
        check_device.main(['nothing'], steps, lines.append)


def test_steps_of_the_check_are_there(monkeypatch):
    """All files of tests are in a step, but for those of the simulated device itself."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import check_device

    here = pathlib.Path(__file__).parent
    asked = {pathlib.Path(part).name for step in check_device.STEPS for part in step.command
             if part.startswith('tests/')}
    assert asked >= {path.name for path in here.glob('test_*.py')} - {
        'test_simulated.py', 'test_bench.py'}
