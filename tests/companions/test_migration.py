"""What `python -m chainwright migrate` finds, and that it changes nothing."""
import warnings

import numpy as np
import pytest

from chainwright import __main__ as command
from chainwright import migration


def found(source):
    return [(finding.line, finding.what) for finding in migration.findings_of(source)]


@pytest.mark.parametrize(('source', 'expected'), [
    ('import numpy as np\nx = np.int(3)', [(2, 'numpy.int')]),
    ('import numpy\nx = [numpy.float,\n numpy.object]', [(2, 'numpy.float'), (3, 'numpy.object')]),
    ('from numpy import Inf as inf, zeros', [(1, 'numpy.Inf')]),
    ('import numpy as np\nx = np.array(y, copy=False)', [(2, 'numpy.array(copy=False)')]),
    ('import numpy as np\nx = np.array(y, copy=True) + np.int64(2)', []),
    ('np = object()\nx = np.int', []),          # another np
    ('def f(self):\n    return self.np.float', []),
    ('from . import numpy\nx = 3', []),
    ('import chainer.functions as F\ny = F.dropout(x, train=train)', [(2, 'dropout(train=)')]),
    ('import chainer.functions as F\ny = F.dropout(x, ratio=.5)', []),
    ('import chainer\nx = chainer.Variable(a, volatile=True)', [(2, 'Variable(volatile=)')]),
    ('from chainer import Variable as V\nx = V(a, volatile="on")', [(2, 'Variable(volatile=)')]),
    ('import chainer\ny = self.bn(x, test=True)', [(2, 'bn(test=)')]),
    ('import numpy\ny = self.bn(x, test=True)', []),
    ('import chainer\nmodel = chainer.FunctionSet()', [(2, 'chainer.FunctionSet')]),
    ('import chainer\noptimizer.zero_grads()', [(2, '.zero_grads()')]),
    ('import chainer.links as L\nl = L.Linear(2, 3, wscale=.1)', [(2, 'Linear(wscale=)')]),
    ('import chainer.functions as F\ny = F.relu(x, use_cudnn=False)', [(2, 'relu(use_cudnn=)')]),
    ('import chainer\nt.extend(e, invoke_before_training=True)',
     [(2, 'extend(invoke_before_training=)')]),
    ('print "two"', [(1, 'syntax')]),
    ('\0', [(1, 'syntax')]),
])
def test_findings(source, expected):
    assert found(source) == expected


@pytest.mark.parametrize('name', sorted(migration.NUMPY_NAMES))
def test_every_name_of_numpy_is_gone_or_means_something_else(name):
    if name in ('trapz', 'in1d', 'row_stack'):
        return  # deprecated in NumPy 2.0, and gone from later ones
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', FutureWarning)
        assert not hasattr(np, name)


def test_a_folder_is_read_and_left_as_it_is(tmp_path, capsys):
    (tmp_path / 'sub').mkdir()
    (tmp_path / '.venv').mkdir()
    sources = {'a.py': 'import numpy as np\nnp.int', 'sub/b.py': 'import numpy\nnumpy.Inf',
               '.venv/c.py': 'import numpy\nnumpy.Inf', 'notes.txt': 'np.int',
               'sub/latin.py': b'# \xe9\nimport numpy\nnumpy.NaN'}
    for name, source in sources.items():
        (tmp_path / name).write_bytes(source if isinstance(source, bytes) else source.encode())
    before = {path: path.read_bytes() for path in tmp_path.rglob('*') if path.is_file()}
    assert command.main(['migrate', str(tmp_path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f'{tmp_path / "a.py"}:2: numpy.int: gone from NumPy 2; write int')
    assert [line.split(':')[0].removeprefix(str(tmp_path)) for line in out[:-1]] == [
        '/a.py', '/sub/b.py', '/sub/latin.py']
    assert out[-1].startswith('3 places in 3 files want an edit')
    assert before == {path: path.read_bytes() for path in tmp_path.rglob('*') if path.is_file()}


def test_nothing_to_do_and_nothing_there(tmp_path, capsys):
    (tmp_path / 'a.py').write_text('import numpy as np\nx = np.zeros(3)')
    assert command.main(['migrate', str(tmp_path / 'a.py')]) == 0
    assert command.main(['migrate', str(tmp_path / 'b.py')]) == 2
    captured = capsys.readouterr()
    assert captured.out == 'Nothing found that wants an edit.\n'
    assert 'there is no file or folder' in captured.err


def test_our_own_code_wants_no_edit():
    import chainer
    folder = chainer.__path__[0]
    assert [str(finding) for finding in migration.findings(folder)] == []


def test_advice_is_text():
    for table in migration.NUMPY_NAMES, migration.CHAINER_NAMES, migration.ARGUMENTS, (
            migration.METHODS):
        assert all(isinstance(advice, str) and advice for advice in table.values())
