"""The commands that explain a script, and show the cache of compiled code."""
import pathlib
import re
import subprocess
import sys

import pytest

from chainwright import __main__ as command
from chainwright.runtime.native import disk

SCRIPT = '''\
import sys
import numpy as np
import chainer
import chainer.functions as F
import helper_beside_the_script

class Model(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        return F.tanh(x) * 2

def main():
    model = Model()  # gone before the report is written
    for _ in range(5):
        model(np.ones((2, 3), np.float32))

if __name__ == '__main__':
    main()
    print('arguments', sys.argv[1:], helper_beside_the_script.NAME)
    sys.exit(int(sys.argv[1]))
'''


@pytest.fixture
def script(tmp_path):
    (tmp_path / 'helper_beside_the_script.py').write_text("NAME = 'helped'\n")
    path = tmp_path / 'script.py'
    path.write_text(SCRIPT)
    return path


def test_explain(script, tmp_path):
    done = subprocess.run(
        [sys.executable, '-m', 'chainwright', 'explain', '--at-once', '--profile', '--html',
         'page.html', str(script), '3', '--clear'],
        cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "arguments ['3', '--clear'] helped" in done.stdout
    assert 'Model.forward: 3 replayed, 2 define-by-run' in done.stdout
    assert re.search(r'Model.forward: .* ms in \d+ calls', done.stdout)
    assert 'script.py:10 Tanh' in done.stdout
    assert '<title>script.py</title>' in (tmp_path / 'page.html').read_text()


def test_explain_what_raises_or_is_not_there(tmp_path, capsys):
    path = tmp_path / 'script.py'
    path.write_text('raise ValueError("mine")\n')
    before = list(sys.argv)
    assert command.main(['explain', str(path)]) == 1
    out, err = capsys.readouterr()
    assert 'ValueError: mine' in err and 'No method was compiled' in out
    assert sys.argv == before
    assert command.main(['explain', str(tmp_path / 'none.py')]) == 2
    assert 'there is no script' in capsys.readouterr().err


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    folder = tmp_path / 'chainwright'
    folder.mkdir()
    for name in ('a.o', 'b.o', 'c.part'):
        (folder / name).write_bytes(b'x' * 1000)
    (folder / 'mine.txt').write_text('not of the cache')
    return folder


def test_the_cache_is_shown_and_emptied(cache, capsys):
    assert command.main(['cache']) == 0
    out = capsys.readouterr().out
    assert f'{cache}: 3 files, 0.0 MiB of at most {disk.LIMIT >> 20} MiB' in out
    assert len(list(cache.iterdir())) == 4
    assert command.main(['cache', '--clear']) == 0
    assert '3 files removed' in capsys.readouterr().out
    assert [path.name for path in cache.iterdir()] == ['mine.txt']
    assert command.main(['cache']) == 0
    assert '0 files' in capsys.readouterr().out


def test_without_a_home(monkeypatch, capsys):
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)

    def no_home():
        raise RuntimeError('no home')

    monkeypatch.setattr(pathlib.Path, 'home', no_home)
    assert command.main(['cache']) == 0
    assert 'no home folder' in capsys.readouterr().out


def test_doctor_says_what_is_used(capsys):
    command.main(['doctor'])
    out = capsys.readouterr().out
    for words in ('native code:', 'llvmlite', 'BLAS', 'processor', 'onnx (export to ONNX)'):
        assert words in out
