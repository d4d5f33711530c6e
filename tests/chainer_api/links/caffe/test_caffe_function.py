"""CaffeFunction against the original, on small files with all layers (see caffe_cases.py)."""
import copy
import json
import pathlib
import pickle
import sys
import warnings

import numpy as np
import pytest

import chainer
from chainer.links.caffe import CaffeFunction, _model_file

GOLDEN = pathlib.Path(__file__).parents[3] / 'golden'
sys.path.insert(0, str(GOLDEN))

import caffe_cases  # noqa: E402

NAMES = [make.__name__ for make in caffe_cases.NETS]


@pytest.fixture(scope='module')
def golden():
    with np.load(GOLDEN / 'caffe.npz') as file:
        data = dict(file)
    return json.loads(data.pop('texts').tobytes()), data


def load(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        function = CaffeFunction(str(GOLDEN / f'caffe_{name}.caffemodel'))
    return function, [str(w.message) for w in caught]


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('train', [False, True])
def test_blobs_are_those_of_the_original(golden, name, train):
    texts, arrays = golden
    function, messages = load(name)
    assert messages == texts[name]['warnings']
    assert {path: list(p.shape) for path, p in function.namedparams()} == texts[name]['params']
    assert set(function.forwards) >= set(texts[name]['forwards'])
    np.random.seed(0)
    with chainer.using_config('train', train):
        for output in texts[name]['outputs']:
            y, = function(caffe_cases.inputs(), [output])
            expected = arrays[f'{name} {train} {output}']
            assert y.dtype == expected.dtype
            np.testing.assert_allclose(
                chainer.as_array(y), expected, 2e-5, 2e-6, err_msg=output)


def test_what_the_original_exported_computes_the_same(golden):
    function, messages = load('exported')
    assert not messages
    first, last = function.layers[0], function.layers[-1]
    with chainer.using_config('train', False):
        y, = function({first[1][0]: caffe_cases.inputs()['data']}, [last[2][0]])
    np.testing.assert_allclose(y.array, golden[1]['exported'], 2e-5, 2e-6)


@pytest.mark.parametrize('copy', [
    copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f)), lambda f: f.copy('copy')],
    ids=['deepcopy', 'pickle', 'copy'])
def test_copies_have_weights_of_their_own(copy):
    function, _ = load('convolutions')
    expected, = function(caffe_cases.inputs(), ['conv'])
    other = copy(function)
    function.conv.W.array[...] = 0
    actual, = other(caffe_cases.inputs(), ['conv'])
    np.testing.assert_array_equal(actual.array, expected.array)


def test_gradients_flow():
    function, _ = load('dense')
    x = chainer.Variable(caffe_cases.inputs()['data'])
    loss, = function({'data': x, 'label': caffe_cases.inputs()['label']}, ['loss'])
    loss.backward()
    assert abs(x.grad).max() > 0
    assert all(p.grad is not None for p in function.params())


def test_disabled_layers_are_left_out():
    function, _ = load('dense')
    with pytest.raises(KeyError, match='fc2'):
        function(caffe_cases.inputs(), ['fc2'], disable=['fc2'])
    relu, = function(caffe_cases.inputs(), ['relu'], disable=['fc2'])
    assert relu.shape == (2, 5)


def test_missing_blobs_are_explained():
    function, _ = load('combining')
    with pytest.raises(KeyError, match="'concat'.*not computed from the inputs.*data"):
        function({'data': caffe_cases.inputs()['data']}, ['concat'])


def test_zero_in_reshape_stands_for_the_size_of_the_input(tmp_path):
    # layer { name: "r" type: "Reshape" bottom: "x" top: "y" reshape_param { shape { ... } } }
    dims = field(1, b''.join(varint(d) for d in (0, -1)))
    layer = b''.join([
        field(1, b'r'), field(2, b'Reshape'), field(3, b'x'), field(4, b'y'),
        field(133, field(1, dims))])
    path = tmp_path / 'reshape.caffemodel'
    path.write_bytes(field(100, layer))
    y, = CaffeFunction(str(path))({'x': np.zeros((2, 3, 4), np.float32)}, ['y'])
    assert y.shape == (2, 12)


def varint(value):
    value %= 1 << 64
    out = []
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def test_numbers_may_be_in_double_precision(tmp_path):
    blob = field(7, field(1, varint(2))) + field(8, np.array([1.5, 2.5]).tobytes())
    layer = field(1, b's') + field(2, b'Scale') + field(3, b'x') + field(4, b'y') + field(7, blob)
    path = tmp_path / 'scale.caffemodel'
    path.write_bytes(field(100, layer))
    y, = CaffeFunction(str(path))({'x': np.ones((1, 2), np.float32)}, ['y'])
    np.testing.assert_array_equal(y.array, [[1.5, 2.5]])


def test_what_is_no_model_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        CaffeFunction(str(tmp_path / 'missing.caffemodel'))
    path = tmp_path / 'text.caffemodel'
    path.write_text('name: "net"')
    with pytest.raises(ValueError, match='text.caffemodel is no model file of Caffe'):
        CaffeFunction(str(path))


@pytest.mark.parametrize(('kind', 'param', 'settings', 'error'), [
    ('Pooling', 121, bytes([1 << 3, 2]), ValueError),
    ('LRN', 118, bytes([4 << 3, 1]), RuntimeError),
    ('Softmax', 125, bytes([2 << 3, 2]), RuntimeError),
    ('InnerProduct', 117, bytes([5 << 3, 2]), RuntimeError)])
def test_settings_that_are_not_supported(tmp_path, kind, param, settings, error):
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(field(100, field(1, b'the layer') + field(2, kind.encode())
                           + field(param, settings)))
    with pytest.raises(error, match='the layer: .*not supported'):
        CaffeFunction(str(path))


def test_negative_varints():
    assert list(_model_file._varints(varint(-1) + varint(300))) == [-1, 300]
