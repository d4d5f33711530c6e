"""examples/cifar: convolutional networks."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L


@pytest.fixture
def nets(example):
    return example('cifar/convnets.py').load()


def trains(model, x, t):
    """One step of training: each parameter has a gradient, and changes."""
    optimizer = chainer.optimizers.SGD(0.1).setup(model)
    loss = model(x, t)
    model.cleargrads()
    loss.backward()
    before = {name: param.array.copy() for name, param in model.namedparams()}
    optimizer.update()
    assert np.isfinite(loss.array)
    return all([not np.array_equal(before[name], param.array)
                for name, param in model.namedparams()])


@pytest.mark.parametrize('name', ['LeNet5', 'LeNet5FromList'])
def test_lenet5(nets, name):
    model = nets[name]()

    # Input data and label
    x = np.random.rand(32, 1, 28, 28).astype(np.float32)
    t = np.random.randint(0, 10, size=(32,)).astype(np.int32)

    # Forward computation
    y = model(x)

    # Loss calculation
    loss = F.softmax_cross_entropy(y, t)
    assert y.shape == (32, 10)
    assert loss.shape == ()

    model = L.Classifier(nets[name]())

    # Forward & Loss calculation
    loss = model(x, t)
    assert loss.shape == ()
    assert len(list(model.params())) == 10
    assert trains(model, x, t)
    with chainer.using_config('train', False):
        np.testing.assert_allclose(model.predictor(x).array.sum(axis=1), 1, rtol=1e-5)


def test_both_lenets_are_the_same_but_for_the_end(nets):
    one, other = nets['LeNet5'](), nets['LeNet5FromList']()
    x = np.random.rand(2, 1, 28, 28).astype(np.float32)
    y = one(x)
    other(x)
    other.copyparams(one)
    np.testing.assert_array_equal(other(x).array, F.sigmoid(y).array)


def test_vgg16(nets, monkeypatch):
    # The three fully connected layers have 120 million parameters: smaller ones do.
    shrink(monkeypatch, {4096: 12})
    model = nets['VGG16']()
    x = np.random.rand(1, 3, 32, 32).astype(np.float32)
    assert model(x).shape == (1, 1000)
    convolutions = [link for link in model.links() if isinstance(link, L.Convolution2D)]
    assert [link.W.shape[0] for link in convolutions] == [
        64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    assert len([link for link in model.links() if isinstance(link, L.Linear)]) == 3
    with chainer.using_config('train', False):
        assert model(x).array.sum() == pytest.approx(1, rel=1e-4)


def shrink(monkeypatch, sizes):
    """Make layers of smaller sizes than they are asked for."""
    original = L.Linear.__init__

    def init(self, in_size, out_size=None, *args, **kwargs):
        original(self, sizes.get(in_size, in_size), sizes.get(out_size, out_size),
                 *args, **kwargs)

    monkeypatch.setattr(L.Linear, '__init__', init)


def test_resnet152(nets):
    model = nets['ResNet152']([1, 2, 1, 1])
    x = np.random.rand(2, 3, 64, 64).astype(np.float32)
    assert model(x).shape == (2, 1000)
    assert [len(block) for block in (model.res2, model.res3, model.res4, model.res5)] == [
        1, 2, 1, 1]
    projections = [hasattr(bottleneck, 'conv1x1r') for bottleneck in model.res3]
    assert projections == [True, False]
    with chainer.using_config('train', False):
        assert model(x).array.sum() == pytest.approx(2, rel=1e-4)


def test_resnet152_as_it_is_called_by_default(nets, monkeypatch):
    lengths = []
    monkeypatch.setitem(
        nets['ResNet152'].__init__.__globals__, 'ResBlock',
        lambda n_layers, *args: lengths.append(n_layers) or chainer.Link())
    nets['ResNet152']()
    assert lengths == [3, 8, 36, 3]


@pytest.mark.parametrize('name', ['vgg', 'resnet'])
def test_train_cifar(example, cifar10, name):
    printed = example('cifar/train_cifar.py').main('--model', name, '-e', '1', '-b', '4')
    header, line = printed.splitlines()
    assert header.split()[-1] == 'elapsed_time'
    assert len(line.split()) == 6


def test_train_lenet5_on_mnist(example, mnist):
    printed = example('cifar/train_cifar.py').main('--model', 'lenet5', '-e', '1', '-b', '100')
    assert len(printed.splitlines()) == 2


@pytest.mark.parametrize('name', ['SmallVGG', 'SmallResNet'])
def test_small_models_train(example, name):
    model = L.Classifier(example('cifar/train_cifar.py').load()[name](10))
    x = np.random.rand(2, 3, 16, 16).astype(np.float32)
    assert model.predictor(x).shape == (2, 10)
    assert trains(model, x, np.array([3, 4], np.int32))
