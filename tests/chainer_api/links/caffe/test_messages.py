"""Classes of Caffe's messages, and what others import from caffe_function to read more layers.

Names, numbers and results of the helpers are those of 7.8.1.
"""
import numpy as np
import pytest

import chainer
from chainer import links as L
from chainer.links.caffe import _messages, _model_file, caffe_function

pytest.importorskip('google.protobuf')


def layer_of(net, name, kind, bottom, **fields):
    layer = net.layer.add(name=name, type=kind, bottom=[bottom], top=[name], **fields)
    return layer


def write(net, tmp_path):
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(net.SerializeToString())
    return str(path)


def test_networks_written_with_the_classes(tmp_path):
    pb = caffe_function.caffe_pb
    net = pb.NetParameter(name='net')
    layer = layer_of(net, 'conv', 'Convolution', 'x')
    layer.convolution_param.num_output = 2
    layer.convolution_param.kernel_size.append(2)
    layer.convolution_param.bias_term = True
    weights = np.arange(8, dtype=np.float32)
    layer.blobs.add(num=2, channels=1, height=2, width=2, data=weights)
    layer.blobs.add(data=[1, -1], shape=pb.BlobShape(dim=[2]))
    layer = layer_of(net, 'pool', 'Pooling', 'conv')
    layer.pooling_param.pool = pb.PoolingParameter.AVE
    layer.pooling_param.kernel_size = 2
    layer = layer_of(net, 'relu', 'ReLU', 'pool')
    layer.relu_param.negative_slope = 0.5
    layer = layer_of(net, 'softmax', 'Softmax', 'relu')
    layer.softmax_param.engine = 2
    func = caffe_function.CaffeFunction(write(net, tmp_path))
    assert isinstance(func.conv, L.Convolution2D)
    np.testing.assert_array_equal(func.conv.W.array.ravel(), weights)
    x = np.random.RandomState(0).randn(1, 1, 3, 3).astype(np.float32)
    y, = func(inputs={'x': x}, outputs=['softmax'])
    h = chainer.functions.average_pooling_2d(func.conv(x), 2)
    expected = chainer.functions.softmax(chainer.functions.leaky_relu(h, 0.5))
    np.testing.assert_allclose(y.array, expected.array)


def test_old_files(tmp_path):
    pb = caffe_function.caffe_pb
    assert pb.V1LayerParameter.INNER_PRODUCT == 14
    net = pb.NetParameter()
    layer = net.layers.add(
        name='l', type=pb.V1LayerParameter.INNER_PRODUCT, bottom=['x'], top=['y'])
    layer.inner_product_param.num_output = 2
    layer.inner_product_param.bias_term = False
    layer.blobs.add(num=1, channels=1, height=2, width=3, data=range(6))
    func = caffe_function.CaffeFunction(write(net, tmp_path))
    y, = func(inputs={'x': np.ones((1, 3), np.float32)}, outputs=['y'])
    assert y.array.tolist() == [[3, 12]]


@pytest.mark.parametrize('number, name', [
    (0, 'NONE'), (2, 'BNLL'), (7, 'EUCLIDEAN_LOSS'), (9, 'HDF5_DATA'), (11, 'IM2COL'), (18, 'RELU'),
    (21, 'SOFTMAX_LOSS'), (23, 'TANH'), (27, 'SIGMOID_CROSS_ENTROPY_LOSS'), (30, 'ARGMAX'),
    (35, 'ABSVAL'), (39, 'DECONVOLUTION')])
def test_names_of_old_types(number, name):
    assert _messages.v1_name(_model_file._V1_TYPES[number]) == name
    assert getattr(_messages.classes().V1LayerParameter, name) == number


def test_defaults_are_those_of_the_reader():
    pb = _messages.classes()
    for kind, fields in _model_file._MESSAGES.items():
        message = getattr(pb, _messages._full_name(kind))()
        read = _model_file._parse(b'', kind)
        for name, field_kind, _ in fields.values():
            if field_kind in ('int', 'bool', 'float', 'string'):
                assert getattr(message, name) == pytest.approx(getattr(read, name) or 0) or (
                    getattr(message, name) == getattr(read, name))


@pytest.mark.parametrize('dims, expected', [
    ([2, 3, 4, 5], [2, 3, 4, 5]), ([2, 3], [2, 3, 2, 3]), ([2, 3, 4], [2, 3, None, None])])
def test_sizes_of_blobs(dims, expected):
    pb = _messages.classes()
    helpers = [getattr(caffe_function, f'_get_{name}')
               for name in ('num', 'channels', 'height', 'width')]
    blob = pb.BlobProto(shape=pb.BlobShape(dim=dims))
    read = _model_file._parse(memoryview(blob.SerializeToString()), 'Blob')
    for helper, size in zip(helpers, expected, strict=True):
        for one in (blob, read):
            if size is None:
                with pytest.raises(RuntimeError, match='3-dimensional array is not supported'):
                    helper(one)
            else:
                assert helper(one) == size
    blob = pb.BlobProto(num=9, channels=8, height=7, width=6)
    assert [helper(blob) for helper in helpers] == [9, 8, 7, 6]


@pytest.mark.parametrize('settings, expected', [
    ({'kernel_size': [2]}, (2, 1, 0)), ({'kernel_size': [2, 3]}, ([2, 3], 1, 0)),
    ({'kernel_h': 2, 'kernel_w': 3}, ((2, 3), 1, 0)), ({}, ([], 1, 0)),
    ({'stride': [2], 'pad': [1]}, ([], 2, 1)),
    ({'stride_h': 2, 'stride_w': 3, 'pad_h': 1}, ([], (2, 3), (1, 0)))])
def test_sizes_of_windows(settings, expected):
    message = _messages.classes().ConvolutionParameter(**settings)
    read = _model_file._parse(memoryview(message.SerializeToString()), 'Convolution')
    for param in (message, read):
        assert caffe_function._get_ksize(param) == expected[0]
        assert caffe_function._get_stride(param) == expected[1]
        assert caffe_function._get_pad(param) == expected[2]


def test_sizes_of_pooling_windows():
    param = _messages.classes().PoolingParameter
    assert caffe_function._get_ksize(param()) == 0
    assert caffe_function._get_ksize(param(kernel_size=3)) == 3


def test_own_layers(tmp_path, monkeypatch):
    monkeypatch.setattr(caffe_function, '_type_to_method', dict(caffe_function._type_to_method))
    monkeypatch.setattr(
        caffe_function, '_oldname_to_method', dict(caffe_function._oldname_to_method))

    class Mine(caffe_function.CaffeFunction):

        @caffe_function._layer('Twice', None)
        def _setup_twice(self, layer):
            self.forwards[layer.name] = lambda x: 2 * x
            self._add_layer(layer)

        @caffe_function._layer('ReLU', 'RELU')
        def _setup_relu(self, layer):
            super()._setup_relu(layer)
            self.n_relu = getattr(self, 'n_relu', 0) + 1

    net = caffe_function.caffe_pb.NetParameter()
    layer_of(net, 'a', 'Twice', 'x')
    layer_of(net, 'b', 'ReLU', 'a')
    func = Mine(write(net, tmp_path))
    y, = func(inputs={'x': np.array([-1, 2], np.float32)}, outputs=['b'])
    assert y.array.tolist() == [0, 4]
    assert func.n_relu == 1
    assert caffe_function._oldname_to_method[18] is Mine._setup_relu
    with pytest.raises(AttributeError, match="no type 'TWICE'"):
        caffe_function._layer('Twice', 'TWICE')(None)


def test_the_module_where_chainer_has_the_messages():
    from chainer.links.caffe.protobuf3 import caffe_pb2
    for name in ('NetParameter', 'LayerParameter', 'BlobProto'):
        assert getattr(caffe_pb2, name) is getattr(caffe_function.caffe_pb, name)
    assert caffe_pb2.NetParameter(name='net').name == 'net'
