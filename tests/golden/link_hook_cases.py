"""Cases of the link hook tests, used by record_link_hooks.py (Chainer) and by the tests (ours)."""
import json

import numpy as np

# Link class, its arguments, shape of the input
LINKS = [
    ('Linear', (3, 4), (2, 3)), ('Convolution2D', (3, 4, 2), (2, 3, 4, 4)),
    ('Deconvolution2D', (3, 4, 2), (2, 3, 4, 4)), ('EmbedID', (5, 3), None),
]
HOOKS = [
    ('SpectralNormalization', {}), ('SpectralNormalization', {'n_power_iteration': 3}),
    ('SpectralNormalization', {'factor': 2.0, 'eps': 1e-3}),
    ('SpectralNormalization', {'use_gamma': True}),
    ('SpectralNormalization', {'use_gamma': True, 'factor': 0.5}),
    ('WeightStandardization', {}), ('WeightStandardization', {'eps': 0.01}),
]


def all_cases():
    for link, link_args, shape in LINKS:
        for hook, hook_args in HOOKS:
            yield link, link_args, shape, hook, hook_args


def key(link, link_args, shape, hook, hook_args):
    return f'{link} {hook}{json.dumps(hook_args, sort_keys=True)}'


def run(chainer, link, link_args, shape, hook, hook_args):
    """Returns named results of two calls in training and one in testing."""
    rng = np.random.RandomState(3)
    np.random.seed(5)
    # The weights come through initializers, the same everywhere.
    link = getattr(chainer.links, link)(*link_args)
    link.add_hook(getattr(chainer.link_hooks, hook)(**hook_args))
    if shape is None:
        x = np.array([0, 3, 4], np.int32)
    else:
        x = rng.uniform(-1, 1, shape).astype(np.float32)
    found = {}
    for step in (0, 1):
        y = link(x)
        found[f'y{step}'] = y.array
        if hasattr(link, 'W_u'):
            found[f'u{step}'] = link.W_u.copy()
    # Chainer's own backward of a deconvolution fails under the NumPy of the oracle.
    if link.__class__.__name__ != 'Deconvolution2D':
        link.cleargrads()
        chainer.functions.sum(y * y).backward()
        for name, param in link.namedparams():
            found['grad' + name] = param.grad
    with chainer.using_config('train', False):
        found['test'] = link(x).array
        if hasattr(link, 'W_u'):
            found['u test'] = link.W_u.copy()
    return found
