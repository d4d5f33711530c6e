"""Serialization in NPZ format."""
import io
import json
import os
import pathlib
import pickle
import stat
import sys
import zipfile

import numpy as np
import pytest

import chainer
from chainer import serializers
from chainer.serializers import npz

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import serializer_cases as cases  # noqa: E402


def filled_model():
    model = cases.make_model(chainer)
    cases.fill(model)
    return model


def expected_of_chainer():
    with open(GOLDEN / 'serializers.json') as f:
        return json.load(f)


class TestFilesOfChainer:

    def test_model(self):
        model = cases.make_model(chainer)
        serializers.load_npz(GOLDEN / 'serializers_model.npz', model)
        assert cases.values(model) == expected_of_chainer()['model']

    def test_optimizer(self):
        optimizer = cases.make_optimizer(chainer)
        serializers.load_npz(GOLDEN / 'serializers_optimizer.npz', optimizer)
        assert cases.states(optimizer) == expected_of_chainer()['optimizer']

    @pytest.mark.parametrize('name', ['model', 'optimizer'])
    def test_our_files_have_the_same_contents(self, name):
        obj = filled_model() if name == 'model' else cases.make_optimizer(chainer)
        if name == 'optimizer':
            cases.train(obj, 3)
        ours = io.BytesIO()
        serializers.save_npz(ours, obj)
        ours.seek(0)
        theirs = np.load(GOLDEN / f'serializers_{name}.npz', allow_pickle=True)
        ours = np.load(ours, allow_pickle=True)
        assert sorted(ours.files) == sorted(theirs.files)
        for key in ours.files:
            assert ours[key].dtype == theirs[key].dtype, key
            np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)

    def test_none_is_pickled_under_the_name_that_old_numpy_knows(self):
        f = io.BytesIO()
        serializers.save_npz(f, filled_model())
        with zipfile.ZipFile(f) as archive:
            entry = archive.read('nothing.npy')
        assert b'numpy.core.multiarray' in entry and b'numpy._core' not in entry


class TestDictionarySerializer:

    def test_paths(self):
        s = serializers.DictionarySerializer()
        assert s['a']['b']('c', 1) == 1
        s['/a/']('/d', 2)
        serializers.DictionarySerializer(s.target, 'p')('e', 3)
        assert sorted(s.target) == ['a/b/c', 'a/d', 'pe']

    @pytest.mark.parametrize('value, dtype', [
        (1, 'i8'), (2.5, 'f8'), (True, '?'), ('str', '<U3'), (b'by', 'S2'), (1j, 'c16'),
        (np.float32(3), 'f4'), ([1, 2], 'i8'), (None, 'O'), (np.arange(2, dtype='f2'), 'f2')])
    def test_values(self, value, dtype):
        s = serializers.DictionarySerializer()
        assert s('x', value) is value
        assert s.target['x'].dtype == dtype
        np.testing.assert_array_equal(s.target['x'], np.asarray(value))

    def test_objects_are_refused(self):
        with pytest.raises(TypeError, match='cannot serialize a/x: .*dict'):
            serializers.DictionarySerializer()['a']('x', {'k': 1})


class TestNpzDeserializer:

    npz = {
        'i': np.array(3), 'f': np.array(2.5), 's': np.array('str'), 'n': np.array(None),
        'a': np.arange(3, dtype=np.float32), 'b': np.array(b'xx'), 't': np.array(True),
        'l': np.array([1, 2]), 'one': np.array([1.5]), 'c/x': np.array(7)}

    @pytest.mark.parametrize('key, example, expected', [
        ('i', 0, 3), ('i', 0.0, 3.0), ('i', '', '3'), ('f', 0.0, 2.5), ('s', '', 'str'),
        ('b', b'', b'xx'), ('t', False, True), ('t', 0, 1), ('l', [], [1, 2]), ('l', (), (1, 2)),
        ('one', 0.0, 1.5), ('f', np.float64(0), 2.5), ('/c/x', 0, 7), ('n', 5, None),
        ('n', '', None), ('n', None, None)])
    def test_scalars(self, key, example, expected):
        loaded = serializers.NpzDeserializer(self.npz)(key, example)
        assert loaded == expected
        assert loaded is None or type(loaded) is type(example)

    def test_none_asks_for_the_array(self):
        for key in ('a', 'i', 's'):
            assert serializers.NpzDeserializer(self.npz)(key, None) is self.npz[key]

    def test_array_is_overwritten(self):
        value = np.zeros(3, np.float64)
        assert serializers.NpzDeserializer(self.npz)('a', value) is value
        np.testing.assert_array_equal(value, [0, 1, 2])
        scalar = np.zeros(())
        serializers.NpzDeserializer(self.npz)('one', scalar[None])
        assert scalar == 1.5

    def test_none_leaves_an_array_alone(self):
        value = np.ones(3)
        assert serializers.NpzDeserializer(self.npz)('n', value) is None
        np.testing.assert_array_equal(value, [1, 1, 1])

    @pytest.mark.parametrize('key, example, error, message', [
        ('i', np.int32(0), TypeError, 'safely as int32'), ('i', False, TypeError, 'bool'),
        ('f', 0, TypeError, 'safely as int'), ('s', 0, TypeError, 'safely as int'),
        ('a', 0, ValueError, r"'a' has shape \(3,\)"),
        ('a', np.zeros(4), ValueError, r"'a' has shape \(3,\).*\(4,\)"),
        ('a', np.zeros((2, 3)), ValueError, r'\(2, 3\)'),
        ('a', np.zeros((3, 1)), ValueError, r'\(3, 1\)'),
        ('a', np.zeros(3, np.int32), TypeError, "'a' has dtype float32.*int32"),
        ('zz', 0, KeyError, 'zz'), ('zz', None, KeyError, 'zz')])
    def test_errors(self, key, example, error, message):
        with pytest.raises(error, match=message):
            serializers.NpzDeserializer(self.npz)(key, example)

    def test_children_and_path(self):
        assert serializers.NpzDeserializer(self.npz)['c']('x', 0) == 7
        assert serializers.NpzDeserializer(self.npz, path='c/')('x', 0) == 7

    def test_not_strict(self):
        d = serializers.NpzDeserializer(self.npz, strict=False)
        value = np.ones(2)
        assert d('zz', value) is value
        assert d['q']('zz', 5) == 5
        assert d('i', 0) == 3

    @pytest.mark.parametrize('names', [
        'c/x', ['c/x', 'zz'], lambda name: name == 'c/x', [lambda name: name.startswith('c/')]])
    def test_ignore_names(self, names):
        d = serializers.NpzDeserializer(self.npz, ignore_names=names)
        assert d['c']('x', 99) == 99
        assert d('i', 99) == 3

    def test_bad_ignore_names(self):
        with pytest.raises(ValueError, match='ignore_names'):
            serializers.NpzDeserializer(self.npz, ignore_names=3)

    def test_what_numpy_loaded(self, tmp_path):
        path = tmp_path / 'model.npz'
        serializers.save_npz(path, filled_model())
        model = cases.make_model(chainer)
        with np.load(path) as f:
            serializers.NpzDeserializer(f).load(model)
        assert cases.values(model) == cases.values(filled_model())


class TestSave:

    @pytest.mark.parametrize('compression', [True, False])
    def test_round_trip(self, tmp_path, compression):
        path = tmp_path / 'model'
        serializers.save_npz(path, filled_model(), compression)
        assert os.listdir(tmp_path) == ['model']
        with zipfile.ZipFile(path) as archive:
            kinds = {info.compress_type for info in archive.infolist()}
        assert kinds == {zipfile.ZIP_DEFLATED if compression else zipfile.ZIP_STORED}
        model = cases.make_model(chainer)
        serializers.load_npz(str(path), model)
        assert cases.values(model) == cases.values(filled_model())

    def test_file_objects(self):
        f = io.BytesIO()
        serializers.save_npz(f, filled_model())
        model = cases.make_model(chainer)
        serializers.load_npz(f, model)
        assert cases.values(model) == cases.values(filled_model())

    def test_failure_keeps_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / 'x.npz'
        serializers.save_npz(path, chainer.Link(W=2))
        before = path.read_bytes()

        def broken_disk(file, target, compression):
            file.write(b'half')
            raise OSError('no space left')

        monkeypatch.setattr(npz, '_write', broken_disk)
        with pytest.raises(OSError, match='no space left'):
            serializers.save_npz(path, chainer.Link(W=3))
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ['x.npz']

    def test_new_file_is_whole_on_the_disk_before_it_replaces_the_old(self, tmp_path, monkeypatch):
        events = []
        real_fsync, real_replace = os.fsync, os.replace

        def fsync(descriptor):
            events.append(('fsync', stat.S_ISDIR(os.fstat(descriptor).st_mode)))
            real_fsync(descriptor)

        def replace(source, target):
            folder = os.path.dirname(target)  # one file system, and nothing else is in the way
            assert os.path.dirname(os.path.dirname(source)) == folder
            assert zipfile.ZipFile(source).testzip() is None
            events.append(('replace',))
            real_replace(source, target)

        monkeypatch.setattr(os, 'fsync', fsync)
        monkeypatch.setattr(os, 'replace', replace)
        serializers.save_npz(tmp_path / 'x.npz', chainer.Link(W=2))
        assert events == [('fsync', False), ('replace',), ('fsync', True)]

    def test_mode_of_the_old_file_stays(self, tmp_path):
        path = tmp_path / 'x.npz'
        path.touch()
        path.chmod(0o640)
        serializers.save_npz(path, chainer.Link(W=2))
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_symbolic_link_stays_one(self, tmp_path):
        (tmp_path / 'link.npz').symlink_to('real.npz')
        serializers.save_npz(tmp_path / 'link.npz', chainer.Link(W=2))
        assert (tmp_path / 'link.npz').is_symlink() and (tmp_path / 'real.npz').is_file()

    def test_missing_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match='no such folder'):
            serializers.save_npz(tmp_path / 'no' / 'x.npz', chainer.Link(W=2))

    def test_pipe_is_written_to_and_not_replaced(self, tmp_path):
        path = tmp_path / 'pipe'
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            serializers.save_npz(path, make_link(3))
            data = os.read(reader, 1 << 16)
        finally:
            os.close(reader)
        assert stat.S_ISFIFO(path.stat().st_mode)
        link = make_link(0)
        serializers.load_npz(io.BytesIO(data), link)
        np.testing.assert_array_equal(link.W.array, [3, 3])

    def test_path_and_partial_load(self, tmp_path):
        path = tmp_path / 'x.npz'
        serializers.save_npz(path, chainer.Chain(a=make_link(1), b=make_link(2)))
        link = make_link(0)
        serializers.load_npz(path, link, path='b/')
        np.testing.assert_array_equal(link.W.array, [2, 2])
        chain = chainer.Chain(b=make_link(0), c=make_link(7))
        serializers.load_npz(path, chain, strict=False)
        np.testing.assert_array_equal(chain.b.W.array, [2, 2])
        np.testing.assert_array_equal(chain.c.W.array, [7, 7])
        serializers.load_npz(path, chainer.Chain(a=link), ignore_names='a/W')
        np.testing.assert_array_equal(link.W.array, [2, 2])


def make_link(value, size=2):
    link = chainer.Link(W=size)
    link.W.array[...] = value
    return link


def entry_of(array):
    f = io.BytesIO()
    np.lib.format.write_array(f, np.asarray(array))
    return f.getvalue()


def write_zip(path, entries):
    with zipfile.ZipFile(path, 'w') as archive:
        for name, data in entries.items():
            archive.writestr(name + '.npy', data)


class TestNothingIsHalfLoaded:
    """After an error everything is as it was, and the error names file and key."""

    def check(self, path, model, error, message, **kwargs):
        before = cases.values(model)
        arrays = {name: param.array for name, param in model.namedparams()}
        with pytest.raises(error, match=message) as info:
            serializers.load_npz(path, model, **kwargs)
        assert cases.values(model) == before
        for name, param in model.namedparams():
            assert param.array is arrays[name]
        return info.value

    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / 'model.npz'
        model = filled_model()
        for param in model.params(False):
            param.array[...] += 1
        model.count, model.flag, model.ratio = 43, False, 0.75
        serializers.save_npz(path, model)
        return path

    def edit(self, path, **changes):
        with zipfile.ZipFile(path) as archive:
            entries = {info.filename.removesuffix('.npy'): archive.read(info)
                       for info in archive.infolist()}
        for key, data in changes.items():
            key = key.replace('__', '/')
            if data is None:
                del entries[key]
            else:
                entries[key] = data
        write_zip(path, entries)

    @pytest.mark.parametrize('uninitialized', [False, True])
    @pytest.mark.parametrize('changes, error, message', [
        ({'stack__1__b': None}, KeyError, r"no 'stack/1/b' in .*model\.npz"),
        ({'stack__1__b': entry_of(np.zeros(5))}, ValueError,
         r"'stack/1/b' in .*model\.npz has shape \(5,\).*\(2,\)"),
        ({'stack__1__b': entry_of(np.zeros(2, complex))}, TypeError, "'stack/1/b'.*complex128"),
        ({'stack__1__b': b'junk'}, OSError, "cannot read 'stack/1/b'.*damaged"),
        ({'stack__1__b': entry_of(np.zeros(2))[:-3]}, OSError, "'stack/1/b'.*damaged"),
        ({'stack__1__b': b''}, OSError, "'stack/1/b'.*damaged")])
    def test_bad_entries(self, path, changes, error, message, uninitialized):
        self.edit(path, **changes)
        model = cases.make_model(chainer) if uninitialized else filled_model()
        self.check(path, model, error, message)

    def test_flipped_bit(self, path):
        self.edit(path)  # stored without compression
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo('stack/1/b.npy')
        data = bytearray(path.read_bytes())
        last = data.index(entry_of(filled_model().stack[1].b.array + 1), info.header_offset) \
            + info.file_size - 1
        data[last] ^= 1
        path.write_bytes(data)
        self.check(path, filled_model(), OSError, "'stack/1/b'.*CRC")

    def test_truncated_and_foreign_files(self, path):
        data = path.read_bytes()
        for content in (data[:len(data) // 2], data[:-5], b'hello', b''):
            path.write_bytes(content)
            self.check(path, filled_model(), OSError, r'model\.npz is not an npz file')

    def test_missing_file(self, tmp_path):
        self.check(tmp_path / 'no.npz', filled_model(), FileNotFoundError, 'no.npz')

    def test_huge_shape_is_not_allocated(self, path):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {'descr': '<f4', 'fortran_order': False, 'shape': (1 << 40, 1 << 20)})
        for key in ('stack__1__b', 'lazy__W', 'count'):
            self.edit(path, **{key: header.getvalue()})
            self.check(path, cases.make_model(chainer), (ValueError, OSError),
                       f"'{key.replace('__', '/')}'")

    def test_interrupt(self, path, monkeypatch):
        model = filled_model()
        before = cases.values(model)

        def interrupt(serializer):
            raise KeyboardInterrupt

        monkeypatch.setattr(model.stack, 'serialize', interrupt)
        with pytest.raises(KeyboardInterrupt):
            serializers.load_npz(path, model)
        assert cases.values(model) == before

    def test_optimizer(self, tmp_path):
        path = tmp_path / 'optimizer.npz'
        optimizer = cases.make_optimizer(chainer)
        cases.train(optimizer, 3)
        serializers.save_npz(path, optimizer)
        self.edit(path, b__vhat=None)
        fresh, trained = cases.make_optimizer(chainer), cases.make_optimizer(chainer)
        cases.train(trained, 2)
        before = cases.states(trained)
        for other in (fresh, trained):
            with pytest.raises(KeyError, match="'b/vhat'"):
                serializers.load_npz(path, other)
        assert cases.states(trained) == before
        assert fresh.t == 0 and fresh.epoch == 0
        for param in fresh.target.params():
            assert param.update_rule.t == 0 and param.update_rule.state is None


class Bomb:
    """What a hostile file would hold: unpickling it runs code."""

    exploded = False

    def __reduce__(self):
        return explode, ()


def explode():
    Bomb.exploded = True


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / 'x.npz'
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {'descr': '|O', 'fortran_order': False, 'shape': ()})
    array = np.empty((), object)
    array[()] = Bomb()
    for payload in (array, Bomb(), [None], np.asarray(None), np.array([None, None])):
        write_zip(path, {'W': header.getvalue() + pickle.dumps(payload)})
        link = make_link(5)
        if payload is not None and isinstance(payload, np.ndarray) and payload.shape == () \
                and payload.item() is None:
            serializers.load_npz(path, link)  # a harmless None, which changes nothing
        else:
            with pytest.raises(ValueError, match="'W' in .*pickled.*allow_pickle=True"):
                serializers.load_npz(path, link)
        np.testing.assert_array_equal(link.W.array, [5, 5])
        assert not Bomb.exploded


def test_unpickling_on_demand(tmp_path):
    class Holder:
        value = np.array({'k': 1}, dtype=object)

        def serialize(self, serializer):
            self.value = serializer('value', self.value)

    path = tmp_path / 'x.npz'
    serializers.save_npz(path, Holder())
    holder = Holder()
    holder.value = None
    with pytest.raises(ValueError, match='allow_pickle=True'):
        serializers.load_npz(path, holder)
    assert holder.value is None
    serializers.load_npz(path, holder, allow_pickle=True)
    assert holder.value.item() == {'k': 1}


class Counted:
    """Counts how often it is serialized; ``fail`` makes loading fail at the end."""

    def __init__(self, value, fail=False):
        self.value = value
        self.array = np.full(2, value)
        self.fail = fail
        self.calls = 0

    def serialize(self, serializer):
        self.calls += 1
        self.array = serializer('array', self.array)
        self.value = serializer['child']('value', self.value)
        if self.fail and isinstance(serializer, chainer.Deserializer):
            serializer('missing', 1)


@pytest.mark.parametrize('kind', ['npz', pytest.param('hdf5', marks=pytest.mark.hdf5)])
def test_serialize_is_called_once(tmp_path, kind):
    # As in 5.4 and 7.8.1. After a failure it is called again, to bring back the old values.
    save, load = (getattr(serializers, f'{verb}_{kind}') for verb in ('save', 'load'))
    path = str(tmp_path / 'file')
    saved, loaded, failed = Counted(1), Counted(2), Counted(3, fail=True)
    save(path, saved)
    load(path, loaded)
    assert saved.calls == loaded.calls == 1
    assert loaded.value == 1 and loaded.array.tolist() == [1, 1]
    with pytest.raises(KeyError):
        load(path, failed)
    assert failed.value == 3 and failed.array.tolist() == [3, 3]
