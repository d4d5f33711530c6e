"""Saving and loading: models, optimizers, and whole trainers."""
# ruff: noqa: F401, I001
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

model = L.Classifier(L.Linear(4, 2))
data = datasets.TupleDataset(
    np.random.uniform(-1, 1, (20, 4)).astype(np.float32), np.arange(20, dtype=np.int32) % 2)
optimizer = optimizers.MomentumSGD().setup(model)
updater = training.StandardUpdater(iterators.SerialIterator(data, 4), optimizer)
trainer = training.Trainer(updater, (2, 'epoch'), out='result')
trainer.run()

# Parameters and persistent values of a model.
serializers.save_npz('my.model', model)
trained = model.predictor.W.array.copy()
model.predictor.W.array[...] = 0
serializers.load_npz('my.model', model)
assert np.array_equal(model.predictor.W.array, trained)

# The state of an optimizer, such as its momenta; the parameters are not part of it.
serializers.save_npz('my.state', optimizer)
serializers.load_npz('my.state', optimizer)

# All that a training needs to go on.
serializers.save_npz('my.state', trainer)
serializers.load_npz('my.state', trainer)
assert optimizer.t == 10
print(f'saved and loaded after {trainer.updater.iteration} iterations')
