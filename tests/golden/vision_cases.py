"""The models of vision with random weights: used by record_vision.py and by the tests."""
import numpy as np

# Class, layers that are recorded, size of the images of the training step, and its last layer.
MODELS = [
    ('ResNet50Layers', ['conv1', 'pool1', 'res2', 'res3', 'res5', 'pool5', 'prob'], 64, 'fc6'),
    ('GoogLeNet', ['pool1', 'conv2', 'inception_3a', 'inception_4d', 'pool5', 'prob', 'loss1_fc2',
                   'loss2_fc2'], 224, 'loss3_fc'),
    ('VGG16Layers', ['conv1_1', 'pool3', 'pool5', 'fc7', 'prob'], 32, 'fc8'),
]
PREPARE = ['vgg', 'resnet', 'googlenet']


def image():
    """A smooth image with some noise, for those without structure give equal activations."""
    rng = np.random.RandomState(0)
    y, x = np.mgrid[:60, :50]
    base = 128 + 100 * np.sin(x / 7.) * np.cos(y / 5.)
    return np.clip(base[:, :, None] + rng.randint(-20, 20, (60, 50, 3)), 0, 255).astype(np.uint8)


def sample(array):
    """About a hundred elements of an array."""
    flat = np.asarray(array).ravel()
    return flat[::max(1, flat.size // 97)]


def dtype(name):
    """What a model is made in: VGG would take a GiB in double precision."""
    return np.dtype(np.float32 if name == 'VGG16Layers' else np.float64)


def run(chainer, name, layers, size, last):
    """Samples of activations, of a prediction, and of the gradients of one training step."""
    with chainer.using_config('dtype', dtype(name)):
        np.random.seed(0)
        model = getattr(chainer.links, name)(pretrained_model=None)
        results = {}
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            for layer, y in model.extract([image()], layers=layers).items():
                results['extract ' + layer] = sample(y.array)
            results['default'] = sample(list(model.extract([image()]).values())[0].array)
        if name != 'VGG16Layers':
            results['predict'] = sample(model.predict([image()], oversample=False).array)
    with chainer.using_config('dtype', np.float64):
        results.update(train(chainer, trainable(chainer, model), size, last))
    return results


def trainable(chainer, model):
    """The model in double precision: single precision decides on the side of a kink here and there.

    VGG, with most of its parameters in one layer, gets a smaller one, for smaller images.
    """
    if hasattr(model, 'fc7'):
        del model.fc6
        with model.init_scope():
            model.fc6 = chainer.links.Linear(512, 4096)
    for param in model.params():
        param.array = param.array.astype(np.float64)
    return model


def train(chainer, model, size, last, call=None):
    """Loss and samples of the gradients of one step; its gradients stay."""
    x = np.random.RandomState(1).randn(2, 3, size, size)
    np.random.seed(2)
    model.cleargrads()
    y = (call or model)(x, layers=[last])[last]
    loss = chainer.functions.softmax_cross_entropy(y, np.array([3, 5], np.int32))
    loss.backward()
    results = {'loss': np.array(loss.array)}
    for path, param in sorted(model.namedparams()):
        if param.grad is not None and path.endswith(('/W', '/gamma')):
            results['gradient ' + path] = sample(param.grad)[:3]
    return results


def prepared(chainer, module):
    import importlib
    prepare = importlib.import_module('chainer.links.model.vision.' + module).prepare
    return {
        'rgb': prepare(image(), size=None)[:, ::9, ::7],
        'resized': prepare(image(), size=(24, 32))[:, ::9, ::7],
        'gray': prepare(image()[:, :, 0], size=None)[:, ::9, ::7],
        'channels first': prepare(image().transpose(2, 0, 1), size=None)[:, ::9, ::7],
        'float': prepare(image().astype(np.float64), size=None)[:, ::9, ::7],
    }
