"""Serialization in HDF5 format."""
import io
import json
import os
import pathlib
import sys

import numpy as np
import pytest

import chainer
from chainer import serializers

h5py = pytest.importorskip('h5py')

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import serializer_cases as cases  # noqa: E402


def filled_model():
    model = cases.make_model(chainer)
    cases.fill(model)
    return model


def contents(path):
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = item.dtype, item.shape, item.compression, item.compression_opts, \
                None if item.shape is None else item[()].tolist()

    with h5py.File(path, 'r') as f:
        f.visititems(visit)
    return found


class TestFilesOfChainer:

    @pytest.mark.parametrize('name', ['model', 'optimizer'])
    def test_load(self, name):
        with open(GOLDEN / 'serializers.json') as f:
            expected = json.load(f)[name]
        obj = getattr(cases, 'make_' + name)(chainer)
        serializers.load_hdf5(GOLDEN / f'serializers_{name}.h5', obj)
        assert {'model': cases.values, 'optimizer': cases.states}[name](obj) == expected

    def test_our_files_have_the_same_contents(self, tmp_path):
        serializers.save_hdf5(tmp_path / 'x.h5', filled_model())
        assert contents(tmp_path / 'x.h5') == contents(GOLDEN / 'serializers_model.h5')


class TestSerializer:

    def test_values(self, tmp_path):
        values = {
            'i': 1, 'f': 2.5, 's': 'gr\u00fc\u00df', 'n': None, 't': True, 'b': b'by',
            'f32': np.float32(3), 'l': [1, 2], 'a': np.arange(4, dtype=np.float16)}
        with h5py.File(tmp_path / 'x.h5', 'w') as f:
            s = serializers.HDF5Serializer(f)
            for key, value in values.items():
                assert s(key, value) is value
            s['/c/']['d']('x', 7)
        with h5py.File(tmp_path / 'x.h5', 'r') as f:
            d = serializers.HDF5Deserializer(f)
            for key, value in values.items():
                if key == 'a':
                    continue
                example = None if value is None else type(value)()
                loaded = d(key, example)
                assert loaded == value and type(loaded) is type(value)
            array = np.zeros(4)
            assert d('a', array) is array
            np.testing.assert_array_equal(array, [0, 1, 2, 3])
            assert d['c']['d']('x', 0) == 7
            assert d('n', 5) is None
            assert d('s', None) == 'gr\u00fc\u00df'
            np.testing.assert_array_equal(d('a', None), [0, 1, 2, 3])

    def test_objects_are_refused(self, tmp_path):
        with h5py.File(tmp_path / 'x.h5', 'w') as f:
            with pytest.raises(TypeError, match='cannot serialize /a/x: .*dict'):
                serializers.HDF5Serializer(f)['a']('x', {'k': 1})

    @pytest.mark.parametrize('level', [None, 0, 9])
    def test_compression(self, tmp_path, level):
        serializers.save_hdf5(tmp_path / 'x.h5', chainer.Link(W=(2, 3), s=()), compression=level)
        found = contents(tmp_path / 'x.h5')
        assert found['W'][2:4] == ((None, None) if level is None else ('gzip', level))
        assert found['s'][2:4] == (None, None)


class TestDeserializer:

    @pytest.fixture
    def file(self, tmp_path):
        with h5py.File(tmp_path / 'x.h5', 'w') as f:
            f['a'] = np.arange(3, dtype=np.float32)
            f['g/x'] = 3
            yield f

    @pytest.mark.parametrize('key, example, error, message', [
        ('zz', 0, KeyError, r"'/zz' in .*x\.h5"),
        ('a', np.zeros(4), ValueError, r"'/a' in .*x\.h5 has shape \(3,\).*\(4,\)"),
        ('a', np.zeros((2, 3)), ValueError, r'\(2, 3\)'),
        ('a', np.zeros(3, np.int32), TypeError, "'/a' .* dtype float32.*int32"),
        ('g', 0, ValueError, "'/g' .*is a group")])
    def test_errors(self, file, key, example, error, message):
        with pytest.raises(error, match=message):
            serializers.HDF5Deserializer(file)(key, example)

    def test_missing_group(self, file):
        # Files of Chainer have no group where nothing was saved.
        missing = serializers.HDF5Deserializer(file)['zz']['y']
        for kind in KeyError, ValueError:
            with pytest.raises(kind, match=r"^there is no group '/zz'"):
                missing('x', 5)
        with pytest.raises(ValueError, match='group'):
            serializers.HDF5Deserializer(None)

    def test_not_strict(self, file):
        d = serializers.HDF5Deserializer(file, strict=False)
        assert d('zz', 5) == 5
        assert d['zz']['y']('x', 5) == 5
        assert d['g']('x', 0) == 3

    def test_other_files_are_not_read(self, file, tmp_path):
        with h5py.File(tmp_path / 'secret.h5', 'w') as secret:
            secret['a'] = np.ones(3)
        (tmp_path / 'raw').write_bytes(b'x' * 24)
        file['outside'] = h5py.ExternalLink('secret.h5', '/a')
        file.create_dataset('raw', (3,), 'f8', external=[(str(tmp_path / 'raw'), 0, 24)])
        layout = h5py.VirtualLayout((3,), 'f8')
        layout[:] = h5py.VirtualSource('secret.h5', 'a', (3,))
        file.create_virtual_dataset('virtual', layout)
        for key in ('outside', 'raw', 'virtual'):
            with pytest.raises(ValueError, match=f"'/{key}' .*another file|of '/{key}' .*another"):
                serializers.HDF5Deserializer(file)(key, np.zeros(3))


class TestFiles:

    def test_round_trip(self, tmp_path):
        path = tmp_path / 'model'
        for _ in range(2):
            serializers.save_hdf5(str(path), filled_model())
        assert os.listdir(tmp_path) == ['model']
        model = cases.make_model(chainer)
        serializers.load_hdf5(path, model)
        assert cases.values(model) == cases.values(filled_model())

    def test_file_objects(self):
        f = io.BytesIO()
        serializers.save_hdf5(f, filled_model())
        model = cases.make_model(chainer)
        serializers.load_hdf5(f, model)
        assert cases.values(model) == cases.values(filled_model())

    def test_failure_keeps_the_old_file(self, tmp_path):
        class Broken(chainer.Link):
            def serialize(self, serializer):
                super().serialize(serializer)
                raise OSError('no space left')

        path = tmp_path / 'x.h5'
        serializers.save_hdf5(path, chainer.Link(W=2))
        before = path.read_bytes()
        with pytest.raises(OSError, match='no space left'):
            serializers.save_hdf5(path, Broken(W=3))
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ['x.h5']

    def test_nothing_is_half_loaded(self, tmp_path):
        path = tmp_path / 'x.h5'
        model = filled_model()
        for param in model.params(False):
            param.array[...] += 1
        model.count = 43
        serializers.save_hdf5(path, model)
        with h5py.File(path, 'a') as f:
            del f['stack/1/b']
        for model in (filled_model(), cases.make_model(chainer)):
            before = cases.values(model)
            with pytest.raises(KeyError, match=r"'/stack/1/b' in .*x\.h5"):
                serializers.load_hdf5(path, model)
            assert cases.values(model) == before

    def test_damaged_files(self, tmp_path):
        path = tmp_path / 'x.h5'
        serializers.save_hdf5(path, filled_model())
        data = path.read_bytes()
        for content in (data[:len(data) // 2], b'hello', b''):
            path.write_bytes(content)
            model = filled_model()
            with pytest.raises(OSError, match=r'x\.h5 is not an HDF5 file, or it is damaged'):
                serializers.load_hdf5(path, model)
            assert cases.values(model) == cases.values(filled_model())
        with pytest.raises(FileNotFoundError):
            serializers.load_hdf5(tmp_path / 'no.h5', filled_model())


def test_without_h5py(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'h5py', None)
    link = chainer.Link(W=2)
    for use in (lambda: serializers.save_hdf5(tmp_path / 'x.h5', link),
                lambda: serializers.load_hdf5(tmp_path / 'x.h5', link),
                lambda: serializers.HDF5Serializer(None),
                lambda: serializers.HDF5Deserializer(None)):
        with pytest.raises(RuntimeError, match='pip install h5py'):
            use()
