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


# Damaged or hostile files: layers as text, with the fields of the settings of a convolution.

def net_of(kind, number, settings, shapes, data_sizes=None, bottoms=1):
    blobs = b''
    for i, shape in enumerate(shapes):
        size = int(np.prod(shape)) if data_sizes is None else data_sizes[i]
        dims = field(1, b''.join(varint(d) for d in shape))
        blobs += field(7, field(7, dims) + field(5, np.ones(size, '<f4').tobytes()))
    param = b''.join(varint(key << 3) + varint(value) for key, value in settings)
    inputs = b''.join(field(3, f'x{i}'.encode()) for i in range(bottoms))
    return field(100, field(1, b'the layer') + field(2, kind.encode()) + inputs
                 + field(4, b'y') + blobs + field(number, param))


FIELDS = {'n_out': 1, 'pad': 3, 'kernel': 4, 'group': 5, 'stride': 6, 'dilation': 18}
W, B = (4, 2, 3, 3), (4,)


def convolution(shapes=(W, B), data_sizes=None, kind='Convolution', **settings):
    settings = {'n_out': 4, 'kernel': 3, **settings}
    given = [(FIELDS[name], value) for name, value in settings.items() if value is not None]
    return net_of(kind, 106, given, shapes, data_sizes)


def dense(n_out, shapes):
    return net_of('InnerProduct', 117, [(1, n_out)], shapes)


HUGE = 1 << 40


@pytest.mark.parametrize(('net', 'message'), [
    (convolution(group=0), '4 channels cannot be divided into group = 0 groups'),
    (convolution(group=-1), 'group = -1'),
    (convolution(group=3), '4 channels cannot be divided into group = 3'),
    (convolution(group=HUGE), f'group = {HUGE}'),
    (convolution(n_out=0), 'num_output is 0, but its bias has 4 numbers'),
    (convolution(n_out=HUGE), f'num_output is {HUGE}'),
    (convolution(n_out=-4), 'num_output is -4'),
    (convolution(n_out=None), 'num_output is 0'),
    (convolution(kernel=None), 'does not say its kernel_size'),
    (convolution(kernel=5), r'weights have shape \(4, 2, 3, 3\), but kernel_size is \(5, 5\)'),
    (convolution(kernel=0), 'must be positive'),
    (convolution(stride=0), 'must be positive'),
    (convolution(pad=-1), 'pad .* not negative'),
    (convolution(dilation=0), 'must be positive'),
    (convolution(shapes=()), 'needs 2 blobs of weights and has 0'),
    (convolution(shapes=(W,)), 'needs 2 blobs of weights and has 1'),
    (convolution(shapes=(W, (3,))), 'num_output is 4, but its bias has 3 numbers'),
    (convolution(shapes=((4, 2, 9), B)), r'weights have shape \(4, 2, 9\)'),
    (convolution(shapes=((4, 0, 3, 3), B)), 'weights are empty'),
    (convolution(shapes=((-4, -2, 3, 3), B), data_sizes=(72, 4)), '72 numbers cannot have'),
    (convolution(shapes=((HUGE, 2, 3, 3), B), data_sizes=(72, 4)), '72 numbers cannot have'),
    (convolution(shapes=(W, B), data_sizes=(71, 4)), '71 numbers cannot have the shape'),
    (convolution(kind='Deconvolution', group=0, shapes=(W, B)), 'group = 0'),
    (convolution(kind='Deconvolution', group=3, n_out=6, shapes=(W, (6,))), 'group = 3'),
    (convolution(kind='Deconvolution', n_out=HUGE), f'num_output is {HUGE}'),
    (convolution(kind='Deconvolution', n_out=4), 'but num_output is 4 in 1 groups'),
    (dense(5, ((4, 3), (5,))), r'num_output is 5, but its weights have shape \(4, 3\)'),
    (dense(4, ((4, 3), (5,))), 'num_output is 4, but its bias has 5'),
    (dense(0, ((4, 3), (4,))), 'num_output is 0'),
    (dense(4, ((2, 4, 3), (4,))), 'weights have shape'),
    (dense(4, ()), 'needs 2 blobs'),
    (net_of('BatchNorm', 139, [], ((3,), (4,), (1,))), '3, 4 and 1 numbers'),
    (net_of('BatchNorm', 139, [], ((3,), (3,))), 'needs 3 blobs'),
    (net_of('Scale', 142, [(4, 1)], ((3,), (4,))), 'its bias has'),
    (net_of('Pooling', 121, [], ()), 'does not say its kernel_size'),
    (net_of('Pooling', 121, [(2, 0)], ()), 'must be positive'),
    (net_of('Pooling', 121, [(2, 2), (3, 0)], ()), 'must be positive'),
    (net_of('LRN', 118, [(1, 0)], ()), 'local_size must be positive'),
    (net_of('Slice', 126, [(2, 1), (2, 2)], ()), 'other pieces than its 1 outputs'),
])
def test_layers_that_do_not_fit_their_weights_are_named(tmp_path, net, message):
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(net)
    with pytest.raises(ValueError, match=f'^layer the layer: .*{message}'):
        CaffeFunction(str(path))


@pytest.mark.parametrize('net', [
    convolution(), convolution(group=2), convolution(kind='Deconvolution', n_out=2,
                                                     shapes=(W, (2,))),
    dense(4, ((4, 3), (4,))), dense(4, ((1, 1, 4, 3), (1, 1, 1, 4)))])
def test_layers_that_fit_their_weights_load(tmp_path, net):
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(net)
    assert list(CaffeFunction(str(path)).forwards) == ['the layer']


@pytest.mark.parametrize('content', [
    varint(100 << 3) + varint(5),                                  # a layer that is a number
    field(100, field(2, b'Pooling') + field(121, varint(1 << 3) + varint(7))),   # no such method
    field(2, varint(5 << 3) + varint(99)),                         # no such type
    field(100, field(7, varint(5 << 3) + varint(1)))])             # numbers of another kind
def test_fields_of_another_kind(tmp_path, content):
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(content)
    with pytest.raises(ValueError, match='net.caffemodel is no model file of Caffe.*: the field'):
        CaffeFunction(str(path))


def test_errors_in_computing_name_the_layer(tmp_path):
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(convolution())
    function = CaffeFunction(str(path))
    with pytest.raises(chainer.utils.type_check.InvalidType) as caught:
        function({'x0': np.zeros((1, 5, 8, 8), np.float32)}, ['y'])
    assert caught.value.__notes__ == [
        'This happened in the layer the layer of a Caffe model, whose inputs x0 have the shapes '
        '(1, 5, 8, 8)']


def test_negative_varints():
    assert list(_model_file._varints(varint(-1) + varint(300))) == [-1, 300]
