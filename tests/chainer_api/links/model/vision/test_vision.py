"""The models of vision with random weights against the original, and their files."""
import pathlib
import sys
import zlib

import compare
import numpy as np
import pytest

import chainer
from chainer import links as L
from chainer.links.model.vision import googlenet, resnet, vgg

GOLDEN = pathlib.Path(__file__).parents[4] / 'golden'
sys.path.insert(0, str(GOLDEN))

import vision_cases  # noqa: E402

pytest.importorskip('PIL')


@pytest.fixture(scope='module')
def golden():
    with np.load(GOLDEN / 'vision.npz') as file:
        return dict(file)


each_model = pytest.mark.parametrize(('name', 'layers', 'size', 'last'), [
    pytest.param(*model, id=model[0], marks=[pytest.mark.slow] * (model[0] == 'VGG16Layers'))
    for model in vision_cases.MODELS])


@each_model
def test_models_do_what_the_original_does(golden, name, layers, size, last):
    results = vision_cases.run(chainer, name, layers, size, last)
    assert len(results) > len(layers)
    for key, actual in results.items():
        expected = golden[f'{name} {key.replace("/", ".")}']
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype), key
        tolerance = 1e-8 if expected.dtype == np.float64 else 1e-4
        np.testing.assert_allclose(
            actual, expected, tolerance, tolerance * abs(expected).max(), err_msg=key)


@each_model
def test_compiled_models_are_define_by_run(name, layers, size, last):
    cls = compare.decorated(getattr(L, name))
    with chainer.using_config('dtype', vision_cases.dtype(name)):
        model = cls(pretrained_model=None)
    with chainer.using_config('dtype', np.float64):
        vision_cases.trainable(chainer, model)
        expected = step(model, cls.__bases__[0].forward, size, last)
        for _ in range(3):
            assert step(model, cls.forward, size, last) == expected
    assert compare.hits(model) == 1, compare.reasons(model)


def step(model, forward, size, last):
    """Checksums of all that one training step gives and changes, from the same statistics."""
    before = {path: (link.N, link.avg_mean.copy(), link.avg_var.copy())
              for path, link in model.namedlinks() if isinstance(link, L.BatchNormalization)}
    call = lambda *args, **kwargs: forward(model, *args, **kwargs)
    vision_cases.train(chainer, model, size, last, call)
    found = {path: zlib.crc32(param.grad) for path, param in model.namedparams()
             if param.grad is not None}
    for path, link in model.namedlinks():
        if path in before:
            found[path] = link.N, zlib.crc32(link.avg_mean), zlib.crc32(link.avg_var)
            link.N, link.avg_mean[...], link.avg_var[...] = before[path]
    return found


@pytest.mark.parametrize('module', vision_cases.PREPARE)
def test_prepare(golden, module):
    for key, actual in vision_cases.prepared(chainer, module).items():
        np.testing.assert_allclose(
            actual, golden[f'prepare {module} {key}'], atol=1 if key == 'resized' else 0,
            err_msg='Pillow may round in another way when it resizes')


def test_prepare_takes_images_of_pillow():
    from PIL import Image
    array = vision_cases.image()
    np.testing.assert_array_equal(
        vgg.prepare(Image.fromarray(array)), vgg.prepare(array))


@pytest.mark.parametrize('prepare', [vgg.prepare, resnet.prepare, googlenet.prepare])
def test_prepare_follows_the_configured_dtype(prepare):
    with chainer.using_config('dtype', np.float16):
        assert prepare(vision_cases.image()).dtype == np.float16


class Settings(chainer.LinkHook):
    """Takes down the configuration of each call."""

    name = 'Settings'

    def __init__(self, settings):
        self.settings = settings

    def forward_preprocess(self, args):
        self.settings.append((chainer.config.train, chainer.config.enable_backprop))


@pytest.fixture(scope='module')
def model():
    return L.ResNet50Layers(pretrained_model=None)


class TestResNet:
    def test_names_of_layers(self, model):
        assert model.available_layers == [
            'conv1', 'pool1', 'res2', 'res3', 'res4', 'res5', 'pool5', 'fc6', 'prob']

    def test_unknown_names_are_ignored(self, model):
        assert list(model.extract([vision_cases.image()], ['conv1', 'no such'], (32, 32))) == [
            'conv1']

    def test_extract_needs_images(self, model):
        with pytest.raises(ValueError, match='batch is empty'):
            model.extract([])

    def test_old_arguments_are_explained(self, model):
        for method in (model.extract, model.forward):
            with pytest.raises(ValueError, match='Use chainer.using_config'):
                method([vision_cases.image()], test=True)
            with pytest.raises(TypeError, match='unexpected'):
                method([vision_cases.image()], foo=True)

    def test_extract_leaves_the_configuration(self, model):
        settings = []
        model.bn1.add_hook(Settings(settings))
        model.extract([vision_cases.image()], ['conv1'], (32, 32))
        model.predict([vision_cases.image()], oversample=False)
        model.bn1.delete_hook('Settings')
        assert settings == [(True, True), (False, False)]

    def test_predict_averages_ten_crops(self, model):
        image = np.full((40, 40, 3), 90, np.uint8)  # all crops are the same
        y = model.predict([image])
        assert y.shape == (1, 1000)
        np.testing.assert_allclose(
            y.array, model.predict([image], oversample=False).array, rtol=1e-3, atol=1e-6)

    def test_saved_weights_load(self, model, tmp_path):
        path = str(tmp_path / 'weights.npz')
        chainer.serializers.save_npz(path, model, compression=False)
        other = L.ResNet50Layers(path)
        for (name, a), (_, b) in zip(model.namedparams(), other.namedparams(), strict=True):
            np.testing.assert_array_equal(a.array, b.array, err_msg=name)


@pytest.mark.parametrize(('make', 'name'), [
    (L.VGG16Layers, 'VGG_ILSVRC_16_layers'), (L.VGG19Layers, 'VGG_ILSVRC_19_layers'),
    (L.GoogLeNet, 'bvlc_googlenet'), (L.ResNet50Layers, 'ResNet-50-model'),
    (L.ResNet101Layers, 'ResNet-101-model'), (L.ResNet152Layers, 'ResNet-152-model')])
def test_missing_weights_are_explained(make, name, tmp_path, monkeypatch):
    # Weights of zeros take time and memory that this test does not need.
    monkeypatch.setattr(chainer.Parameter, 'initialize', lambda self, shape: None)
    monkeypatch.setattr(chainer.dataset.download, 'get_dataset_directory',
                        lambda *args, **kwargs: str(tmp_path))
    with pytest.raises(OSError, match=f'Download {name}.caffemodel from http.* place it at'):
        make()
    with pytest.raises(FileNotFoundError, match='no_such_file'):
        make('no_such_file.npz')


@pytest.mark.parametrize('make', [
    lambda: vgg.VGGLayers(None, 11), lambda: resnet.ResNetLayers(None, 20)])
def test_number_of_layers_is_checked(make):
    with pytest.raises(ValueError, match='n_layers argument should be either'):
        make()


def test_downsampling_as_facebook_does():
    block = resnet.BuildingBlock(2, 4, 2, 8, 2, downsample_fb=True)
    assert (block.a.conv1.stride, block.a.conv2.stride, block.a.conv4.stride) == (
        (1, 1), (2, 2), (2, 2))
    assert block(np.zeros((1, 4, 6, 6), np.float32)).shape == (1, 8, 3, 3)


def test_depths():
    assert resnet._BLOCKS == {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class Caffe(chainer.Chain):
    """Stands for a file of Caffe: layers by their names, whose weights are all different."""

    def __init__(self, layers):
        super().__init__()
        for i, (name, layer) in enumerate(layers):
            for param in layer.params():
                param.array[...] = i
            if isinstance(layer, L.BatchNormalization):
                layer.avg_mean[...] = i
                layer.avg_var[...] = i + .5
            self.add_link(name, layer)


def caffe_resnet(sizes, numbered, bias):
    yield 'conv1', L.Convolution2D(3, 64, 7, nobias=not bias, initialW=0)
    yield 'bn_conv1', L.BatchNormalization(64, use_gamma=False, use_beta=False)
    yield 'scale_conv1', L.Scale(1, (64,), bias_term=True)
    n_in = 64
    for stage, (size, mid) in enumerate(zip(sizes, (64, 128, 256, 512), strict=True), 2):
        for i in range(size):
            block = f'{stage}{f"b{i}" if numbered and i and stage in (3, 4) else "abcdef"[i]}'
            branches = [('2a', n_in, mid, 1), ('2b', mid, mid, 3), ('2c', mid, 4 * mid, 1)]
            if i == 0:
                branches.append(('1', n_in, 4 * mid, 1))
            for branch, m, n, k in branches:
                yield f'res{block}_branch{branch}', L.Convolution2D(
                    m, n, k, nobias=True, initialW=0)
                yield f'bn{block}_branch{branch}', L.BatchNormalization(
                    n, use_gamma=False, use_beta=False)
                yield f'scale{block}_branch{branch}', L.Scale(1, (n,), bias_term=True)
            n_in = 4 * mid
    yield 'fc1000', L.Linear(2048, 1000, initialW=0)


@pytest.mark.parametrize(('make', 'sizes', 'numbered', 'bias'), [
    (L.ResNet50Layers, (3, 4, 6, 3), False, True),
    pytest.param(L.ResNet101Layers, (3, 4, 23, 3), True, False, marks=pytest.mark.slow)])
def test_resnet_takes_weights_of_caffe(make, sizes, numbered, bias, monkeypatch):
    caffe = Caffe(caffe_resnet(sizes, numbered, bias))
    monkeypatch.setattr(chainer.links.caffe, 'CaffeFunction', lambda path: caffe)
    model = make('resnet.caffemodel')
    last = 'b22' if numbered else 'f'
    assert model.conv1.W.array.max() == caffe['conv1'].W.array.max()
    block = model.res4[f'b{sizes[2] - 1}']
    assert (block.conv2.W.array == caffe[f'res4{last}_branch2b'].W.array).all()
    assert (block.bn2.avg_mean == caffe[f'bn4{last}_branch2b'].avg_mean).all()
    assert (block.bn2.avg_var == caffe[f'bn4{last}_branch2b'].avg_var).all()
    assert (block.bn2.gamma.array == caffe[f'scale4{last}_branch2b'].W.array).all()
    assert (block.bn2.beta.array == caffe[f'scale4{last}_branch2b'].bias.b.array).all()
    assert (model.res3.a.conv4.W.array == caffe['res3a_branch1'].W.array).all()
    assert (model.res3.a.bn4.avg_mean == caffe['bn3a_branch1'].avg_mean).all()
    assert (model.fc6.b.array == caffe['fc1000'].b.array).all()
    # Each weight came from a layer of its own.
    values = [link.W.array.flat[0] for link in model.links() if hasattr(link, 'W')]
    assert len(set(values)) == len(values)


def test_googlenet_takes_weights_of_caffe(monkeypatch, tmp_path):
    source = L.GoogLeNet(pretrained_model=None)
    layers = []
    for child in source.children():
        if isinstance(child, L.Inception):
            layers += [(f'inception_{child.name[3:]}/{caffe_name}', child[name])
                       for name, caffe_name in googlenet._INCEPTION.items()]
        else:
            layers.append((googlenet._CONVOLUTIONS[child.name], child))
    caffe = Caffe([(name, layer.copy()) for name, layer in layers])
    monkeypatch.setattr(chainer.links.caffe, 'CaffeFunction', lambda path: caffe)
    path = str(tmp_path / 'googlenet.npz')
    L.GoogLeNet.convert_caffemodel_to_npz('googlenet.caffemodel', path)
    model = L.GoogLeNet(path)
    assert (model.inc4b.proj3.W.array == caffe['inception_4b/3x3_reduce'].W.array).all()
    assert (model.loss2_fc1.b.array == caffe['loss2/fc'].b.array).all()
    assert (model.conv2_reduce.W.array == caffe['conv2/3x3_reduce'].W.array).all()
    values = [link.W.array.flat[0] for link in model.links() if hasattr(link, 'W')]
    assert len(set(values)) == len(values) == len(layers)
