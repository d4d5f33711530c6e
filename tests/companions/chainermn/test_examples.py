"""The examples under ``examples/chainermn``, on two and on four processes."""
import json
import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[2] / 'examples'


@pytest.mark.slow
@pytest.mark.parametrize('n', [2, 4])
def test_examples(mpiexec, n, tmp_path):
    pytest.importorskip('PIL')
    pytest.importorskip('matplotlib')
    done = mpiexec(n, HERE / 'scripts/examples.py', EXAMPLES, cwd=tmp_path)
    assert done.returncode == 0, done.err[-5000:]
    runs = re.split(r'^== ', done.out, flags=re.MULTILINE)[1:]
    assert len(runs) == 9
    assert all(f'{n} processes on 1 machines, communicator' in run for run in runs)
    logs = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob('*/log')}
    assert sorted(logs) == ['again', 'dcgan', 'imagenet', 'model_parallel', 'one_file', 'result',
                            'seq2seq', 'static']
    for name in ('result', 'static', 'model_parallel', 'seq2seq'):
        losses = [entry['main/loss'] for entry in logs[name]]
        assert losses[-1] < losses[0], (name, losses)
    for name in ('result', 'model_parallel', 'imagenet'):
        assert 0 <= logs[name][-1]['validation/main/accuracy'] <= 1
    # Compiled, and with all gradients in one buffer, the numbers are the same.
    for a, b in zip(logs['result'], logs['static'], strict=True):
        assert a['main/loss'] == b['main/loss']
    assert 'Classifier.forward: ' in runs[1]
    # Stopped in iteration 9, gone on from 8.
    assert 'from iteration 0' in runs[2] and 'stopped' in runs[2]
    assert 'from iteration 8' in runs[3] and 'stopped' not in runs[3]
    assert len(list((tmp_path / 'one_file').glob('snapshot_iter_*.0'))) == 2
    assert (tmp_path / 'dcgan/preview').is_dir()


def test_every_example_is_run():
    scripts = (HERE / 'scripts/examples.py').read_text()
    for path in EXAMPLES.glob('chainermn/*/*.py'):
        assert f"'{path.relative_to(EXAMPLES / 'chainermn')}'" in scripts
