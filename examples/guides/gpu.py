"""One GPU: what runs where a GPU is, and code that does not care.

Without a GPU (or CuPy), only the parts that run anywhere are run.
"""
# ruff: noqa: F401, I001, UP008, UP031
# The imports that all chapters of Chainer's guide share.
import math
import numpy as np
import chainer
from chainer import backend
from chainer import backends
from chainer.backends import cuda
from chainer import Function, FunctionNode, gradient_check, report, training, utils, Variable
from chainer import datasets, initializers, iterators, optimizers, serializers
from chainer import Link, Chain, ChainList
import chainer.functions as F
import chainer.links as L
from chainer.training import extensions


# One code for both: xp is the module that the array belongs to.
def add1(x):
    with cuda.get_device_from_array(x):
        return x + 1


# Stable implementation of log(1 + exp(x))
def softplus(x):
    xp = backend.get_array_module(x)
    return xp.maximum(0, x) + xp.log1p(xp.exp(-abs(x)))


x_cpu = np.ones((5, 4, 3), dtype=np.float32)
assert (add1(x_cpu) == 2).all()
assert np.allclose(softplus(x_cpu), F.softplus(x_cpu).array)


class MLP(Chain):

    def __init__(self, n_units, n_out):
        super(MLP, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.l2 = L.Linear(None, n_units)
            self.l3 = L.Linear(None, n_out)

    def forward(self, x):
        h1 = F.relu(self.l1(x))
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


def arrays_on_a_gpu():
    """Arrays go to the GPU and come back, on a device of choice."""
    cupy = cuda.cupy
    with cupy.cuda.Device(0):
        x_on_gpu0 = cupy.array([1, 2, 3, 4, 5])
    assert x_on_gpu0.sum() == 15

    x_gpu = cuda.to_gpu(x_cpu, device=0)
    assert (cuda.to_cpu(x_gpu) == x_cpu).all()
    with x_gpu.device:
        assert (x_gpu.get() == x_cpu).all()

    cuda.get_device_from_id(0).use()
    with cuda.get_device_from_array(x_gpu):
        y_gpu = x_gpu + 1
    assert (cuda.to_cpu(y_gpu) == add1(x_cpu)).all()


def train_on_a_gpu(x_train, y_train, n_epochs):
    """A training loop by hand: the model is sent once, each mini-batch when it is its turn."""
    model = L.Classifier(MLP(100, 10))
    optimizer = optimizers.SGD()
    optimizer.setup(model)

    model.to_gpu()
    batchsize = 100
    datasize = len(x_train)
    for epoch in range(n_epochs):
        print('epoch %d' % epoch)
        indexes = np.random.permutation(datasize)
        for i in range(0, datasize, batchsize):
            x = Variable(cuda.to_gpu(x_train[indexes[i : i + batchsize]]))
            t = Variable(cuda.to_gpu(y_train[indexes[i : i + batchsize]]))
            optimizer.update(model, x, t)
    return model


def train_on_a_gpu_with_trainer(x_train, y_train, n_epochs):
    """The updater and the evaluator send the mini-batches."""
    model = L.Classifier(MLP(100, 10))
    model.to_gpu(0)
    optimizer = optimizers.SGD()
    optimizer.setup(model)
    data = datasets.TupleDataset(x_train, y_train)
    train_iter = iterators.SerialIterator(data, 100)
    test_iter = iterators.SerialIterator(data, 100, repeat=False, shuffle=False)

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=0)
    trainer = training.Trainer(updater, (n_epochs, 'epoch'), out='result')
    trainer.extend(extensions.Evaluator(test_iter, model, device=0))
    trainer.run()
    return model


if cuda.available:
    arrays_on_a_gpu()
    x_train = np.random.uniform(0, 1, (400, 784)).astype(np.float32)
    y_train = np.random.randint(0, 10, 400).astype(np.int32)
    train_on_a_gpu(x_train, y_train, 2)
    train_on_a_gpu_with_trainer(x_train, y_train, 2)
else:
    print('No GPU here: the parts that need one were left out.')
