"""Saving where the disk is full, and where the process dies: nothing is lost, nothing stays."""
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import chainer
import chainer.links as L
from chainer import serializers, training
from chainer.serializers import _saving

posix = pytest.mark.skipif(os.name != 'posix', reason='needs limits and locks of POSIX')
SAVERS = {'npz': serializers.save_npz, 'hdf5': serializers.save_hdf5}


def run(code, *args):
    done = subprocess.run([sys.executable, '-c', code, *map(str, args)],
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


# A limit on the size of files fails as a full disk does: in the middle of a write.
LIMITED = '''
import resource, sys
import chainer, chainer.links as L
from chainer import serializers
kind, path, limit = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
model = chainer.Chain(a=L.Linear(60, 60), b=L.Linear(300, 300), c=L.Linear(100, 100))
try:
    getattr(serializers, 'save_' + kind)(path, model)
except OSError as error:
    print(error.errno, error.filename)
    print(error)
'''


@posix
@pytest.mark.parametrize('limit', [0, 100, 5_000, 100_000])
@pytest.mark.parametrize('kind', SAVERS)
def test_full_disk(tmp_path, kind, limit):
    if kind == 'hdf5':
        pytest.importorskip('h5py')
    path = tmp_path / 'model'
    SAVERS[kind](path, L.Linear(2, 2))
    before = path.read_bytes()
    status, out, err = run(LIMITED, kind, path, limit)
    assert (status, err) == (0, '')
    first, message = out.splitlines()
    assert first.endswith(f' {path}')
    assert 'the file could not be saved' in message and str(path) in message
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ['model']


def test_other_errors_pass_unchanged(tmp_path):
    with pytest.raises(FileNotFoundError, match='elsewhere') as caught:
        with _saving.replacing(tmp_path / 'x'):
            open(tmp_path / 'elsewhere')
    assert caught.value.filename == str(tmp_path / 'elsewhere')
    assert os.listdir(tmp_path) == []


def test_error_of_an_inner_saver_names_the_outer_file(tmp_path):
    with pytest.raises(OSError, match='could not be saved .No space left') as caught:
        with _saving.replacing(tmp_path / 'x') as path, _saving.replacing(path):
            raise OSError(28, 'No space left on device')
    assert caught.value.filename == str(tmp_path / 'x')


DYING = '''
import os, signal, sys
from chainer.serializers import _saving
with _saving.replacing(sys.argv[1]) as path:
    open(path, 'w').write('half')
    os.kill(os.getpid(), signal.SIGKILL)
'''


def leave_unfinished(path):
    status, _, _ = run(DYING, path)
    assert status == -signal.SIGKILL


@posix
class TestUnfinished:

    def test_the_next_save_removes_what_a_dead_process_left(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_saving, '_cleaned', set())
        leave_unfinished(tmp_path / 'x')
        left, = os.listdir(tmp_path)
        assert left.startswith('tmpx.')
        serializers.save_npz(tmp_path / 'y', chainer.Link(W=2))
        assert os.listdir(tmp_path) == ['y']

    def test_a_training_removes_what_a_dead_one_left(self, tmp_path):
        serializers.save_npz(tmp_path / 'y', chainer.Link(W=2))
        leave_unfinished(tmp_path / 'snapshot_iter_1')
        for name in 'tmpsnapshot_iter_2.abcdefgh.part', 'tmplog.1234567_.part':
            (tmp_path / name).mkdir()
            (tmp_path / name / 'half').touch()
        assert len(os.listdir(tmp_path)) == 4
        optimizer = chainer.optimizers.SGD().setup(chainer.Link())
        iterator = chainer.iterators.SerialIterator([1], 1)
        training.Trainer(training.StandardUpdater(iterator, optimizer), lambda trainer: True,
                         out=str(tmp_path)).run()
        assert os.listdir(tmp_path) == ['y']

    def test_what_a_living_process_writes_stays(self, tmp_path):
        with _saving.replacing(tmp_path / 'x') as path:
            status, _, err = run(
                'import sys; from chainer.serializers import _saving\n'
                '_saving.remove_unfinished(sys.argv[1])', tmp_path)
            assert (status, err) == (0, '')
            assert os.path.isdir(os.path.dirname(path))
            with open(path, 'w') as file:
                file.write('whole')
        assert (tmp_path / 'x').read_text() == 'whole'

    @pytest.mark.parametrize('name', ['tmp', 'tmpsnapshot', 'tmpx.part', 'x.abcdefgh.part',
                                      'tmpx.abc.part', 'tmpx.abcdefgh.partial'])
    def test_other_folders_stay(self, tmp_path, name):
        (tmp_path / name).mkdir()
        _saving.remove_unfinished(tmp_path)
        assert os.listdir(tmp_path) == [name]

    def test_a_folder_removed_before_it_was_locked_is_made_anew(self, tmp_path, monkeypatch):
        lock = _saving._lock
        calls = []

        def late(folder, wait):
            calls.append(folder)
            descriptor = lock(folder, wait)
            if len(calls) == 1:  # another process was faster
                os.rmdir(folder)
            return descriptor

        monkeypatch.setattr(_saving, '_lock', late)
        serializers.save_npz(tmp_path / 'x', chainer.Link(W=2))
        assert len(calls) == 2 and os.listdir(tmp_path) == ['x']

    def test_no_descriptor_stays_open(self, tmp_path):
        if not os.path.isdir('/proc/self/fd'):
            pytest.skip('looks into /proc')
        serializers.save_npz(tmp_path / 'x', chainer.Link(W=2))
        before = len(os.listdir('/proc/self/fd'))
        for _ in range(5):
            serializers.save_npz(tmp_path / 'x', chainer.Link(W=2))
        assert len(os.listdir('/proc/self/fd')) == before

    def test_without_locks_nothing_is_removed(self, tmp_path, monkeypatch):
        leave_unfinished(tmp_path / 'x')
        monkeypatch.setattr(_saving, 'fcntl', None)
        serializers.save_npz(tmp_path / 'y', chainer.Link(W=2))
        assert len(os.listdir(tmp_path)) == 2


def test_long_names(tmp_path):
    name = 'x' * 255
    serializers.save_npz(tmp_path / name, chainer.Link(W=2))
    assert os.listdir(tmp_path) == [name]


# Values that do not fit are named, by their keys in the file.

class Numbered(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.n = 3
        self.register_persistent('n')


def lazy():
    return chainer.Chain(l=L.Linear(None, 2))


def given():
    return chainer.Chain(l=L.Linear(2, 2))


@pytest.mark.parametrize(('make', 'key', 'value', 'error'), [
    (given, 'l/W', np.zeros((2, 2), np.complex64), TypeError),
    (lazy, 'l/W', np.zeros((2, 2), np.complex64), TypeError),
    (lazy, 'l/W', np.zeros((2, 2), [('a', 'f4')]), TypeError),
    (lazy, 'l/W', np.zeros(3, np.float32), ValueError),
    (lazy, 'l/W', np.array(1, np.float32), ValueError),
    (Numbered, 'n', np.arange(3), ValueError),
    (Numbered, 'n', np.zeros(0), ValueError),
])
@pytest.mark.parametrize('kind', SAVERS)
def test_values_that_do_not_fit_are_named(tmp_path, kind, make, key, value, error):
    path = str(tmp_path / 'file')
    source = given()
    source.add_link('m', Numbered())
    target = chainer.Chain(m=make()) if make is Numbered else make()
    key = f'm/{key}' if make is Numbered else key
    if kind == 'npz':
        arrays = serializers.npz.serialize(source)
        arrays[key] = value
        with open(path, 'wb') as file:
            np.savez(file, **arrays)
    else:
        h5py = pytest.importorskip('h5py')
        serializers.save_hdf5(path, source)
        with h5py.File(path, 'r+') as file:
            del file[key]
            file[key] = value
    with pytest.raises(error, match=f'{key}. in {path}'):
        getattr(serializers, f'load_{kind}')(path, target)
    if make is lazy:
        assert target.l.W.array is None


class TestLinksInHdf5:

    def load(self, tmp_path, name, link):
        h5py = pytest.importorskip('h5py')
        path = tmp_path / 'file'
        serializers.save_hdf5(path, given())
        with h5py.File(path, 'r+') as file:
            del file[name]
            file[name] = getattr(h5py, link[0])(*link[1:])
        serializers.load_hdf5(path, given())

    @pytest.mark.parametrize('name', ['l/W', 'l'])
    @pytest.mark.parametrize('link', ['dangling', 'looping'])
    def test_leading_nowhere(self, tmp_path, name, link):
        target = '/nowhere' if link == 'dangling' else f'/{name}'
        with pytest.raises(OSError, match=f"'/{name}' in .*a link that leads nowhere"):
            self.load(tmp_path, name, ('SoftLink', target))

    @pytest.mark.parametrize('name', ['l/W', 'l'])
    def test_leading_to_another_file(self, tmp_path, name):
        pytest.importorskip('h5py')
        serializers.save_hdf5(tmp_path / 'other', given())
        with pytest.raises(ValueError, match=f"'/{name}' in .* another file, which is not foll"):
            self.load(tmp_path, name, ('ExternalLink', str(tmp_path / 'other'), f'/{name}'))

    def test_value_for_a_group(self, tmp_path):
        h5py = pytest.importorskip('h5py')
        path = tmp_path / 'file'
        with h5py.File(path, 'w') as file:
            file['l'] = np.zeros(3)
        with pytest.raises(ValueError, match="'/l' in .* is a value, but a group is expected"):
            serializers.load_hdf5(path, given())


@pytest.mark.parametrize(('offset', 'new'), [
    (8, b'\0\x08'),  # the name is UTF-8, which it is not
    (6, b'\xff\xff'),    # made by a version of the far future
    (30, b'\x40\0'),     # more extra fields than there are
])
def test_damaged_names_in_npz(tmp_path, offset, new):
    path = tmp_path / 'file.npz'
    serializers.save_npz(path, given())
    content = bytearray(path.read_bytes().replace(b'l/W', b'l/\xff'))
    start = 0
    while (start := content.find(b'PK\x01\x02', start)) >= 0:
        content[start + offset:start + offset + 2] = new
        start += 4
    path.write_bytes(content)
    with pytest.raises(OSError, match=f'{path} is not an npz file, or it is truncated or damaged'):
        serializers.load_npz(path, given())
    assert not serializers.npz.is_whole(path)


def test_a_folder_that_another_process_removes_at_once(tmp_path, monkeypatch):
    """Several processes that share a folder clean up there when they start."""
    made = []
    mkdtemp = tempfile.mkdtemp

    def removed_once(*args, **kwargs):
        made.append(mkdtemp(*args, **kwargs))
        if len(made) < 3:
            os.rmdir(made[-1])
        return made[-1]

    monkeypatch.setattr(tempfile, 'mkdtemp', removed_once)
    with _saving.replacing(tmp_path / 'x') as path, open(path, 'w') as file:
        file.write('whole')
    assert len(made) == 3
    assert (tmp_path / 'x').read_text() == 'whole'
    assert os.listdir(tmp_path) == ['x']
