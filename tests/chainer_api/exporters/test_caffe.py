"""Files of Caffe that models are written to."""
import importlib.util
import pathlib

import numpy as np
import pytest

import chainer
from chainer import functions as F
from chainer import links as L
from chainer.exporters import caffe
from chainer.links.caffe import CaffeFunction

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
spec = importlib.util.spec_from_file_location('exporter_cases', GOLDEN / 'exporter_cases.py')
exporter_cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(exporter_cases)
recorded = dict(np.load(GOLDEN / 'exporters.npz'))

pytestmark = pytest.mark.filterwarnings('ignore:chainer.exporters.caffe.export is experimental')


def variable(*shape):
    return chainer.Variable(np.zeros(shape, np.float32))


def exported(folder, model, x, **settings):
    caffe.export(model, [chainer.Variable(x)], str(folder), **settings)
    return (folder / 'chainer_model.prototxt').read_text()


def computed(path, x, text):
    """What CaffeFunction gives for the last layer of a network."""
    last = text.rsplit('top: "', 1)[1].split('"')[0]
    with chainer.using_config('train', False):
        return CaffeFunction(str(path))(inputs={'data': chainer.Variable(x)}, outputs=[last])[0]


@pytest.mark.parametrize('name', exporter_cases.CASES)
def test_text_is_that_of_the_original(name, tmp_path):
    model, x = exporter_cases.build(chainer, name)
    expected = recorded[name + ' prototxt'].tobytes().decode()
    # Release 7 names max pooling by its function for any number of dimensions.
    expected = expected.replace('MaxPoolingND', 'MaxPooling2D')
    assert exported(tmp_path, model, x, graph_name=name) == expected


@pytest.mark.parametrize('name', exporter_cases.CASES)
@pytest.mark.parametrize('writer', ['ours', 'original'])
def test_exported_models_compute_the_same(name, writer, tmp_path):
    model, x = exporter_cases.build(chainer, name)
    text = exported(tmp_path, model, x)
    path = tmp_path / 'chainer_model.caffemodel'
    if writer == 'original':
        path.write_bytes(recorded[name + ' caffemodel'].tobytes())
        text = recorded[name + ' prototxt'].tobytes().decode()
    np.testing.assert_allclose(
        computed(path, x, text).array, recorded[name + ' y'], rtol=1e-5, atol=1e-6)


# The original takes height for width here, and leaves the dilation out.
def test_rectangular_kernels_and_dilation_are_written(tmp_path):
    model = L.Convolution2D(2, 3, (3, 1), pad=(1, 0), dilate=(2, 1))
    x = np.random.RandomState(0).uniform(-1, 1, (1, 2, 6, 5)).astype('f')
    text = exported(tmp_path, model, x)
    assert 'kernel_w: 1\n    kernel_h: 3\n    group: 1\n    dilation: 2\n    dilation: 1' in text


def test_linear_after_a_picture_leaves_the_length_open(tmp_path):
    """Both originals write the shape that F.linear asks for (run under 5.4.0 and 7.8.1)."""
    model = chainer.Sequential(L.Convolution2D(1, 4, 3), L.Linear(5))
    text = exported(tmp_path, model, np.zeros((1, 1, 6, 6), np.float32))
    assert 'dim: 1\n      dim: -1\n' in text


def test_softmax_along_another_axis(tmp_path):
    text = exported(tmp_path, lambda x: F.softmax(x, axis=2), np.zeros((1, 2, 3), 'f'))
    assert 'softmax_param {\n    axis: 2\n  }' in text


def test_several_results(tmp_path):
    text = exported(tmp_path, lambda x: (F.relu(F.relu(x)), F.sigmoid(x)), np.zeros((1, 2), 'f'))
    names = [line.split('"')[1] for line in text.splitlines() if line.startswith('  name')]
    assert names == ['data', 'Sigmoid-0-1', 'ReLU-0-1', 'ReLU-1-1']


def test_shared_parts_come_first():
    calls = []

    def model(x):
        a = F.relu(x)
        b = F.sigmoid(F.sigmoid(a))
        calls.append(b)
        return b + F.softmax(a)

    layers = caffe._layers(*_run(model, np.zeros((1, 2), 'f')))
    seen = {'data'}
    for layer in layers:
        assert seen.issuperset(layer.bottoms)
        seen.add(layer.name)
    assert len(layers) == 5


def _run(model, array):
    x = chainer.Variable(array)
    with caffe._Calls() as calls:
        outputs = [model(x)]
    return x, outputs, calls.inputs


def test_parameters_can_be_left_out(tmp_path):
    exported(tmp_path, L.Linear(3, 2), np.zeros((1, 3), 'f'), export_params=False)
    assert [p.name for p in tmp_path.iterdir()] == ['chainer_model.prototxt']


def test_no_directory_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert caffe.export(L.Linear(3, 2), [variable(1, 3)]) is None
    assert list(tmp_path.iterdir()) == []


def test_graph_and_modes_are_left_as_they_are(tmp_path):
    x = variable(1, 3)
    modes = []

    def model(x):
        modes.append((chainer.config.train, chainer.config.enable_backprop))
        return F.relu(x)

    with chainer.no_backprop_mode():
        caffe.export(model, [x])
    assert modes == [(False, True)]
    assert chainer.config.train and x.grad is None


def test_deep_models():
    def model(x):
        for _ in range(1500):  # deeper than Python's stack
            x = F.relu(x)
        return x
    caffe.export(model, [variable(1, 1)])


@pytest.mark.parametrize('text', ['plain', 'a "b" \\ c'])
def test_names_are_quoted(text, tmp_path):
    lines = exported(tmp_path, F.relu, np.zeros((1, 2), 'f'), graph_name=text).splitlines()
    quoted = lines[0].removeprefix('name: ')
    assert quoted[0] == quoted[-1] == '"'
    assert quoted[1:-1].replace('\\"', '"').replace('\\\\', '\\') == text


@pytest.mark.parametrize(('model', 'function'), [
    (lambda x: x * x, 'Mul'), (lambda x: x + 1, 'AddConstant'), (F.clipped_relu, 'ClippedReLU')])
def test_functions_that_cannot_be_written(model, function):
    with pytest.raises(ValueError, match=rf'a function {function}, cannot be written for Caffe'):
        caffe.export(model, [variable(1, 2)])


def test_addition_of_a_parameter_cannot_be_written():
    bias = chainer.Parameter(0.0, (1, 2))
    with pytest.raises(ValueError, match='do not depend on the argument'):
        caffe.export(lambda x: F.relu(x) + bias, [variable(1, 2)])


def test_normalization_over_other_axes_cannot_be_written():
    with pytest.raises(ValueError, match='Caffe over all but the second'):
        caffe.export(L.BatchNormalization((3, 2), axis=0), [variable(2, 3, 2)])


@pytest.mark.parametrize('args', [variable(1, 2), [np.zeros((1, 2), 'f')], {'x': variable(1, 2)}])
def test_arguments_must_be_variables(args):
    with pytest.raises(TypeError, match='list or tuple of Variables'):
        caffe.export(F.relu, args)


def test_several_arguments():
    with pytest.raises(NotImplementedError, match='one argument'):
        caffe.export(lambda x, y: x + y, [variable(1, 2), variable(1, 2)])


def test_results_must_be_variables():
    with pytest.raises(TypeError, match='must return a Variable'):
        caffe.export(lambda x: {'y': F.relu(x)}, [variable(1, 2)])


@pytest.mark.filterwarnings('default')
def test_it_is_experimental():
    with pytest.warns(FutureWarning, match='experimental'):
        caffe.export(F.relu, [variable(1, 2)])
