"""Every function that can be exported, in onnxruntime against the model."""
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer.functions.connection._sequences import Reordered

pytest.importorskip('onnx')
pytest.importorskip('onnxruntime')
from onnx_running import assert_same  # noqa: E402

from onnx_chainer.functions import CONVERTERS  # noqa: E402

RNG = np.random.RandomState(0)


def _normal(*shape):
    return RNG.randn(*shape).astype(np.float32)


def _positive(*shape):
    return RNG.uniform(.3, 2, shape).astype(np.float32)


def _within(*shape):
    return RNG.uniform(-.9, .9, shape).astype(np.float32)


X = _normal(2, 3, 4)
M = _normal(3, 4)
IMAGE = _normal(2, 4, 6, 6)
W = _normal(6, 4, 3, 3)
GROUPED = _normal(6, 2, 3, 3)
VOLUME = _normal(2, 3, 4, 5, 4)
LABELS = np.array([2, 0], np.int32)
HOLES = np.array([[1, -1, 0], [2, 0, 3]], np.int32)
ROIS = np.array([[0, 0, 0, 3, 3], [1, 1, 2, 5, 5]], np.float32)
ONES, SOME = np.ones(4, np.float32), _positive(4)

# (operators that the versions need at least, function, inputs), by the class of the function.
CASES = {
    # activation
    'ReLU': (7, F.relu, X), 'ClippedReLU': (7, lambda x: F.clipped_relu(x, .5), X),
    'ELU': (7, lambda x: F.elu(x, .7), X), 'HardSigmoid': (7, F.hard_sigmoid, 3 * X),
    'LeakyReLU': (7, lambda x: F.leaky_relu(x, .3), X),
    'Softmax': (7, F.softmax, X), 'LogSoftmax': (7, F.log_softmax, X),
    'PReLUFunction': (7, F.prelu, X, _normal(3)), 'Sigmoid': (7, F.sigmoid, X),
    'Softplus': (7, lambda x: F.softplus(x, 2.), X), 'Tanh': (7, F.tanh, X),
    'Swish': (7, F.swish, X, _normal(3)),
    # array
    'Cast': (7, lambda x: F.cast(x * 3, np.float64), X),
    'Concat': (7, lambda x, y: F.concat([x, y], axis=-1), X, X + 1),
    'Copy': (7, lambda x: F.copy(x, -1) + 0, X), 'Identity': (7, lambda x: F.identity(x), X),
    'Depth2Space': (7, lambda x: F.depth2space(x, 2), IMAGE),
    'Space2Depth': (7, lambda x: F.space2depth(x, 2), IMAGE),
    'BroadcastTo': (7, lambda x: F.broadcast_to(x, (5, 3, 4)), M),
    'Broadcast': (7, lambda x, y: sum(F.broadcast(x, y)), X, M),
    'ExpandDims': (7, lambda x: F.expand_dims(x, -2), X),
    'Squeeze': (7, lambda x: F.squeeze(F.reshape(x, (1, 2, 1, 12)), -2), X),
    'Reshape': (7, lambda x: F.reshape(x, (-1, 6)), X),
    'Transpose': (7, lambda x: F.transpose(x, (2, 0, -2)), X),
    'Moveaxis': (7, lambda x: F.moveaxis(x, (0, 1), (-1, 0)), X),
    'Rollaxis': (7, lambda x: F.rollaxis(x, 2, 1), X),
    'Swapaxes': (7, lambda x: F.swapaxes(x, 0, -1), X),
    'Flip': (7, lambda x: F.flip(x, -1), X), 'FlipUD': (7, F.flipud, X),
    'FlipLR': (7, F.fliplr, X),
    'GetItem': (7, lambda x: x[1:, 0, None, ..., 1:-1], X),
    'Separate': (7, lambda x: F.separate(x, 1)[2], X),
    'SplitAxis': (7, lambda x: F.split_axis(x, [1, 3], -1)[1], X),
    'SelectItem': (11, F.select_item, M[:2], LABELS),
    'Reordered': (7, lambda x: Reordered((1, 2), 'time').apply((x,))[0], M),
    'Permutate': (7, F.permutate, M, np.array([2, 0, 1], np.int32)),
    'Where': (9, lambda x, y: F.where(x.array > 0, x, y), X, X + 1),
    'Stack': (7, lambda x, y: F.stack([x, y], axis=-2), X, X + 1),
    'Hstack': (7, lambda x, y: F.hstack([x, y]), X, X + 1),
    'Vstack': (7, lambda x, y: F.vstack([x, y]), ONES, SOME),
    'Dstack': (7, lambda x, y: F.dstack([x, y]), M, M + 1),
    'TransposeSequence': (7, lambda x, y: F.transpose_sequence([x, y])[0], M, M[:2]),
    'Pad': (7, lambda x: F.pad(x, ((0, 0), (1, 2), (2, 0)), 'constant', constant_values=2.), X),
    'Repeat': (7, lambda x: F.repeat(x, (1, 0, 3), axis=-2), X),
    'Tile': (7, lambda x: F.tile(x, (2, 1, 3, 1)), X),
    'ResizeImages': (11, lambda x: F.resize_images(x, (4, 9)), IMAGE),
    # connection
    'LinearFunction': (7, F.linear, M, _normal(5, 4), _normal(5)),
    'Convolution2DFunction': (
        7, lambda x, w, b: F.convolution_2d(x, w, b, stride=(2, 1), pad=1, dilate=(1, 2)),
        IMAGE, W, _normal(6)),
    'ConvolutionND': (
        7, lambda x, w: F.convolution_nd(x, w, stride=2, pad=1, cover_all=True),
        VOLUME, _normal(4, 3, 2, 3, 2)),
    'Deconvolution2DFunction': (
        7, lambda x, w: F.deconvolution_2d(x, w, stride=2, pad=1, outsize=(12, 11)),
        IMAGE, _normal(4, 5, 3, 3)),
    'DeconvolutionND': (
        7, lambda x, w: F.deconvolution_nd(x, w, stride=2, pad=1), VOLUME, _normal(3, 4, 2, 3, 2)),
    'EmbedIDFunction': (9, lambda w: F.embed_id(HOLES, w, ignore_label=-1), M.T.copy()),
    'BilinearFunction': (12, F.bilinear, M, _normal(3, 2), _normal(4, 2, 5)),
    # loss
    'SoftmaxCrossEntropy': (
        11, lambda x, t: F.softmax_cross_entropy(x, t, class_weight=SOME), _normal(2, 4, 3), HOLES),
    'MeanSquaredError': (7, F.mean_squared_error, X, X + M),
    'MeanAbsoluteError': (7, F.mean_absolute_error, X, X + M),
    # mathematics
    'Absolute': (7, F.absolute, X), 'Add': (7, lambda x, y: x + y, X, M),
    'AddConstant': (7, lambda x: x + 2, X), 'Arccos': (7, F.arccos, _within(3, 4)),
    'Arcsin': (7, F.arcsin, _within(3, 4)), 'Arctan': (7, F.arctan, X),
    'Arctanh': (9, F.arctanh, _within(3, 4)),
    'ArgMax': (7, lambda x: F.argmax(x, -1), X), 'ArgMin': (7, lambda x: F.argmin(x), X),
    '_Ceil': (7, F.ceil, X), 'Clip': (7, lambda x: F.clip(x, -.5, .4), X), 'Cos': (7, F.cos, X),
    'Cosh': (9, F.cosh, X), 'Cumsum': (11, lambda x: F.cumsum(x, -2), X),
    'Div': (7, lambda x, y: x / y, X, _positive(3, 4)), 'DivFromConstant':
    (7, lambda x: 2 / x, _positive(3)), 'Erf': (9, F.erf, X), 'Exp': (7, F.exp, X),
    'Expm1': (7, F.expm1, X), '_Floor': (7, F.floor, X),
    'LinearInterpolate': (7, F.linear_interpolate, _positive(3, 4), M, M + 1),
    'Log': (7, F.log, _positive(3, 4)), 'Log1p': (7, F.log1p, _positive(3, 4)),
    'LogSumExp': (7, lambda x: F.logsumexp(x, axis=(0, -1)), X),
    'MatMul': (7, lambda x, y: F.matmul(x, y, transa=True, transb=True), X, _normal(2, 5, 3)),
    'BatchMatMul': (7, lambda x, y: F.batch_matmul(x, y, transb=True), X, _normal(2, 5, 4)),
    'Max': (7, lambda x: F.max(x, axis=(-1, 0), keepdims=True), X),
    'Maximum': (7, F.maximum, X, X[::-1].copy()), 'Mean': (7, lambda x: F.mean(x, axis=-1), X),
    'Min': (7, lambda x: F.min(x, axis=1), X), 'Minimum': (7, F.minimum, X, X[::-1].copy()),
    'Mul': (7, lambda x, y: x * y, X, M), 'MulConstant': (7, lambda x: -3 * x, X),
    'MultiAdd': (7, lambda x, y: F.add(x, y, x), X, X + 1), 'Neg': (7, lambda x: -x, X),
    'PowConstVar': (7, lambda x: 2.5 ** x, X), 'PowVarConst': (7, lambda x: x ** 2, X),
    'PowVarVar': (7, lambda x, y: x ** y, _positive(3, 4), M),
    'Prod': (7, lambda x: F.prod(x, axis=-1), X), '_Sign': (9, F.sign, X),
    'Sin': (7, F.sin, X), 'Sinh': (9, F.sinh, X), 'Sqrt': (7, F.sqrt, _positive(3)),
    'Square': (7, F.square, X), 'Sub': (7, lambda x, y: x - y, X, M),
    'SubFromConstant': (7, lambda x: 1 - x, X), 'Sum': (7, lambda x: F.sum(x, axis=(0, -1)), X),
    'SumTo': (7, lambda x: F.sum_to(x, (3, 1)), X), 'Tan': (7, F.tan, _within(3, 4)),
    # noise
    'Dropout': (7, lambda x: F.dropout(x, .4), X),
    # normalization
    'BatchNormalization': (7, F.batch_normalization, IMAGE, ONES, SOME),
    'FixedBatchNormalization': (
        7, F.fixed_batch_normalization, IMAGE, SOME, ONES, _normal(4), _positive(4)),
    'GroupNormalization': (7, lambda x: F.group_normalization(x, 2, SOME, ONES), IMAGE),
    'LayerNormalization': (7, F.layer_normalization, M, SOME, ONES),
    'LocalResponseNormalization': (7, lambda x: F.local_response_normalization(x, 4), IMAGE),
    'NormalizeL2': (7, F.normalize, M),
    # pooling
    'AveragePooling2D': (7, lambda x: F.average_pooling_2d(x, 3, 2, 1), IMAGE),
    'AveragePoolingND': (
        7, lambda x: F.average_pooling_nd(x, 2, 1, 1, pad_value=None), VOLUME),
    'MaxPooling2D': (7, lambda x: F.max_pooling_2d(x, 3, 2), IMAGE),
    'MaxPoolingND': (7, lambda x: F.max_pooling_nd(x, 3, 2, 1), VOLUME),
    'ROIPooling2D': (11, lambda x: F.roi_pooling_2d(x, ROIS, 3, 2, .5), IMAGE),
    'Unpooling2D': (7, lambda x: F.unpooling_2d(x, 3, 2, 1, outsize=(11, 11)), IMAGE),
    'UnpoolingND': (7, lambda x: F.unpooling_nd(x, 2, cover_all=False), VOLUME),
    # recurrent
    'LSTM': (7, lambda c, x: F.lstm(c, x), M, _normal(3, 16)),
}
# Other settings of the same functions.
MORE = {
    'AsStrided as a view of all': (7, lambda x: F.as_strided(x, x.shape, (12, 4, 1)), X),
    'get_item steps': (10, lambda x: x[::-1, :, 3:0:-2], X),
    'get_item one list': (7, lambda x: x[:, [2, -1, 0, 0]], X),
    'get_item lists': (7, lambda x: x[[1, 0], :, [3, -2]], X),
    'get_item mask': (7, lambda x: x[np.array([True, False])], X),
    'get_item 0-dim': (7, lambda x: x[0, 1, 2], X),
    'permutate inverse': (
        11, lambda x, i: F.permutate(x, i, inv=True), M, np.array([2, 0, 1], np.int32)),
    'pad reflect': (7, lambda x: F.pad(x, ((0, 0), (1, 1), (2, 1)), 'reflect'), X),
    'pad symmetric': (7, lambda x: F.pad(x, ((0, 0), (1, 1), (2, 1)), 'symmetric'), X),
    'repeat all': (7, lambda x: F.repeat(x, 2), X), 'tile few': (7, lambda x: F.tile(x, 2), X),
    'resize nearest': (11, lambda x: F.resize_images(x, (4, 9), mode='nearest'), IMAGE),
    'resize centers': (11, lambda x: F.resize_images(x, (8, 3), align_corners=False), IMAGE),
    'softmax first axis': (7, lambda x: F.softmax(x, axis=0), X),
    'squeeze all': (7, lambda x: F.squeeze(F.reshape(x, (1, 24, 1))), X),
    'convolution in groups': (
        7, lambda x, w: F.convolution_2d(x, w, groups=2, stride=2, cover_all=True), IMAGE, GROUPED),
    'deconvolution in groups': (
        7, lambda x, w: F.deconvolution_2d(x, w, groups=2, stride=3), IMAGE, _normal(4, 3, 2, 2)),
    'convolution of one axis': (
        7, lambda x, w: F.convolution_1d(x, w, pad=1), X, _normal(2, 3, 3)),
    'embed_id': (7, lambda i, w: F.embed_id(i, w), LABELS, M),
    'cross entropy by size': (
        11, lambda x, t: F.softmax_cross_entropy(x, t, normalize=False), _normal(2, 4, 3), HOLES),
    'cross entropy of each': (
        11, lambda x, t: F.softmax_cross_entropy(x, t, reduce='no'), _normal(2, 4, 3), HOLES),
    'cross entropy, nothing': (
        11, lambda x, t: F.softmax_cross_entropy(x, t), M[:2], np.array([-1, -1], np.int32)),
    'cumsum all': (11, lambda x: F.cumsum(x), X), 'rsqrt': (7, F.rsqrt, _positive(3)),
    'selu': (7, F.selu, X), 'matmul of vectors': (7, F.matmul, ONES, SOME),
    'mean of all': (7, F.mean, X), 'argmax of all': (7, lambda x: F.argmax(x), X),
    'constant of another dtype': (7, lambda x: x * np.float32(3) + True, X),
    'batch normalization, axes': (
        7, lambda x: F.batch_normalization(x, SOME[:3], ONES[:3], axis=(0, 2)), X),
    'fixed normalization, axes': (
        7, lambda x: F.fixed_batch_normalization(x, SOME, ONES, SOME, SOME, axis=(0, 1)), X),
    'fixed normalization, elements': (
        7, lambda x: F.fixed_batch_normalization(x, M, M, M, M * M), X),
    'normalize, axes': (7, lambda x: F.normalize(x, axis=(0, 2)), X),
    'average pooling, wide padding': (7, lambda x: F.average_pooling_2d(x, 2, 3, 3), IMAGE),
    'average pooling, nothing counted': (
        7, lambda x: F.average_pooling_nd(x, 3, 2, 1, pad_value=0), VOLUME),
    'unpooling, whole': (7, lambda x: F.unpooling_2d(x, 2), IMAGE),
    'n_step_gru': (7, lambda x: F.n_step_gru(
        1, 0., np.zeros((1, 3, 2), 'f'), [[M.reshape(2, 6)[:, :4].copy()] * 3
                                          + [M.reshape(6, 2)[:2].copy()] * 3],
        [[SOME[:2].copy()] * 6], [x, x[:2]]), M),
}


def _model(function):
    return chainer.Sequential(function)


@pytest.mark.parametrize('name', [*CASES, *MORE])
def test_onnxruntime_gives_what_the_model_gives(name):
    _, function, *inputs = {**CASES, **MORE}[name]
    assert_same(_model(function), tuple(inputs), rtol=2e-5, atol=2e-6)


# Operators changed in these versions: attributes became inputs, softmax its axes.
@pytest.mark.parametrize('opset', [7, 8, 9, 11, 13, 18])
def test_older_versions_of_the_operators(opset):
    for name, (since, function, *inputs) in {**CASES, **MORE}.items():
        try:
            if opset >= since:
                assert_same(
                    _model(function), tuple(inputs), rtol=2e-5, atol=2e-6, opset_version=opset)
            else:
                with pytest.raises(ValueError, match=f'needs opset_version={since} or newer'):
                    assert_same(_model(function), tuple(inputs), opset_version=opset)
        except Exception as error:
            error.add_note(f'in case {name}')
            raise


def test_the_table_has_a_case_for_each_converter():
    assert set(CONVERTERS) - {'Rsqrt', 'AsStrided'} == set(CASES)


def test_converters_are_those_of_functions_that_exist():
    found = set()
    for module in pkgutil.walk_packages(F.__path__, 'chainer.functions.'):
        found |= {name for name, value in vars(importlib.import_module(module.name)).items()
                  if inspect.isclass(value) and issubclass(value, chainer.FunctionNode)}
    assert set(CONVERTERS) <= found
