"""The models of vision with random weights against the original, and their files."""
import pathlib
import sys

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


@pytest.mark.parametrize(('name', 'layers', 'size'), [
    pytest.param(*model, id=model[0], marks=[pytest.mark.slow] * (model[0] == 'VGG16Layers'))
    for model in vision_cases.MODELS])
def test_models_do_what_the_original_does(golden, name, layers, size):
    results = vision_cases.run(chainer, name, layers, size)
    assert len(results) > len(layers)
    for key, actual in results.items():
        expected = golden[f'{name} {key.replace("/", ".")}']
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype), key
        tolerance = 1e-8 if expected.dtype == np.float64 else 1e-4
        np.testing.assert_allclose(
            actual, expected, tolerance, tolerance * abs(expected).max(), err_msg=key)


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
