"""Cases of the optimizer tests, used by record_optimizers.py (Chainer) and by the tests (ours)."""
import json

import numpy as np

OPTIMIZERS = [
    ('AdaDelta', {}), ('AdaDelta', {'rho': 0.8, 'eps': 1e-4}),
    ('AdaGrad', {}), ('AdaGrad', {'lr': 0.1, 'eps': 1e-3}),
    ('Adam', {}), ('Adam', {'alpha': 0.05, 'beta1': 0.8, 'beta2': 0.99, 'eps': 1e-4, 'eta': 0.5}),
    ('Adam', {'amsgrad': True}), ('Adam', {'weight_decay_rate': 0.1}),
    ('Adam', {'adabound': True, 'final_lr': 0.01, 'gamma': 0.1}),
    ('AdamW', {'weight_decay_rate': 0.05}), ('AMSGrad', {'alpha': 0.02}),
    ('AdaBound', {}), ('AdaBound', {'alpha': 0.05, 'final_lr': 0.001, 'gamma': 0.5}),
    ('AMSBound', {'final_lr': 0.01, 'gamma': 0.3}),
    ('CorrectedMomentumSGD', {}), ('CorrectedMomentumSGD', {'lr': 0.1, 'momentum': 0.5}),
    ('MomentumSGD', {}), ('MomentumSGD', {'lr': 0.1, 'momentum': 0.5}),
    ('MSVAG', {}), ('MSVAG', {'lr': 0.02, 'beta': 0.7, 'eta': 0.5, 'weight_decay_rate': 0.01}),
    ('NesterovAG', {}), ('NesterovAG', {'lr': 0.1, 'momentum': 0.5}),
    ('RMSprop', {'eps': 1e-4}), ('RMSprop', {'lr': 0.1, 'alpha': 0.8, 'eps': 1e-3}),
    ('RMSprop', {'eps': 1e-3, 'eps_inside_sqrt': True}),
    ('RMSpropGraves', {}), ('RMSpropGraves', {'lr': 0.01, 'alpha': 0.7, 'momentum': 0.5,
                                              'eps': 1e-3}),
    ('SGD', {}), ('SGD', {'lr': 0.3}),
    ('SMORMS3', {}), ('SMORMS3', {'lr': 0.1, 'eps': 1e-5}),
]

HOOKS = [
    ('WeightDecay', [0.1]), ('Lasso', [0.01]), ('GradientClipping', [0.5]),
    ('GradientClipping', [50.0]), ('GradientHardClipping', [-0.3, 0.4]),
    ('GradientNoise', [0.3]), ('GradientLARS', []), ('GradientLARS', [0.1, 0.05, 1e-4]),
]

DTYPES = 'efd'
N_STEPS = 20
# The state after the first step shows the formula, that after the last one its drift.
RECORDED_STEPS = (1, 20)
SHAPES = {'W': (3, 4), 'b': (5,), 's': (1,)}


def key(kind, name, args, dtype):
    return f'{kind} {name}{json.dumps(args, sort_keys=True)} {dtype}'


def make_link(chainer, dtype):
    rng = np.random.RandomState(7)
    link = chainer.Link()
    for name in sorted(SHAPES):
        link.add_param(name, initializer=rng.normal(size=SHAPES[name]).astype(dtype))
    return link


def set_grads(link, rng):
    for name in sorted(SHAPES):
        param = getattr(link, name)
        # Their scales differ (by powers of two, exact everywhere); one in four is zero.
        grad = rng.normal(size=param.shape) * 2.0 ** rng.randint(-3, 4, size=param.shape)
        param.grad = (grad * (rng.uniform(size=param.shape) > 0.25)).astype(param.dtype)


def snapshot(link):
    """All parameters and states in one vector; float64 holds the smaller types exactly."""
    parts = []
    for name in sorted(SHAPES):
        param = getattr(link, name)
        parts.append(param.array.ravel())
        state = param.update_rule.state or {}
        parts.extend(np.ravel(state[key]) for key in sorted(state))
    return np.concatenate([np.asarray(part, np.float64) for part in parts])


def run(chainer, kind, name, args, dtype):
    """Yields the snapshots after the recorded steps."""
    link = make_link(chainer, dtype)
    if kind == 'optimizer':
        optimizer = getattr(chainer.optimizers, name)(**args).setup(link)
    else:
        optimizer = chainer.optimizers.SGD(lr=0.1).setup(link)
        optimizer.add_hook(getattr(chainer.optimizer_hooks, name)(*args))
    rng = np.random.RandomState(11)
    np.random.seed(13)
    for step in range(1, N_STEPS + 1):
        set_grads(link, rng)
        optimizer.update()
        if step in RECORDED_STEPS:
            yield snapshot(link)


def all_cases():
    for dtype in DTYPES:
        for name, args in OPTIMIZERS:
            yield 'optimizer', name, args, dtype
        for name, args in HOOKS:
            yield 'hook', name, args, dtype
