"""The cases in ``cases/``, each run by 1, 2, 3 and 4 processes at the same time."""
import json
import pathlib

import pytest

CASES = pathlib.Path(__file__).parent / 'cases'
MODULES = sorted(path.stem for path in CASES.glob('*_cases.py'))


@pytest.mark.parametrize('n', [1, 2, 3, 4])
def test_cases(mpiexec, n, tmp_path):
    done = mpiexec(n, CASES / '__main__.py', *MODULES, cwd=tmp_path)
    assert done.returncode == 0, done.err[-5000:]
    report = json.loads(done.out.splitlines()[-1])
    for rank, failed in enumerate(report['failed']):
        for name, text in failed.items():
            print(f'{name}, rank {rank}:\n{text}')
    assert [sorted(failed) for failed in report['failed']] == [[]] * n
    assert report['cases'] > 60
