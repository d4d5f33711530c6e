"""Sizes and data of the workloads of bench_native.py, for those who do not have Chainer."""
import numpy as np

SMALL, MLP = (32, 64, 64, 1), (784, 1000, 1000, 10)
CHANNELS = (3, 64), (64, 64), (64, 128), (128, 128)


def normal(*shape):
    return np.random.RandomState(0).standard_normal(shape).astype('f')


def labels(n, *shape):
    return np.random.RandomState(1).randint(n, size=shape).astype('i')


def data(workload):
    """Input, target, loss ('squares', 'classes' or None), optimizer."""
    return {
        'small': lambda: (normal(32, 32), normal(32, 1), 'squares', 'adam'),
        'mlp': lambda: (normal(100, 784), labels(10, 100), 'classes', 'adam'),
        'conv': lambda: (normal(32, 3, 32, 32), labels(10, 32), 'classes', 'momentum'),
        'lstm': lambda: (labels(2000, 20, 35), labels(2000, 700), 'classes', 'sgd'),
        'tr': lambda: (normal(1024, 256), normal(1024, 256), 'squares', 'adam'),
        'ew': lambda: (normal(4096, 1024), normal(4096, 1024), None, None),
    }[workload]()
