"""Extensions of a trainer: functions, decorated functions, and classes with a state."""
# ruff: noqa: F401, F811, I001
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


def make_trainer(stop_trigger):
    """A trainer of a small model on random numbers, 5 iterations an epoch."""
    model = L.Classifier(L.Linear(4, 2))
    data = datasets.TupleDataset(
        np.random.uniform(-1, 1, (20, 4)).astype(np.float32), np.arange(20, dtype=np.int32) % 2)
    optimizer = optimizers.SGD(lr=1.0).setup(model)
    updater = training.StandardUpdater(iterators.SerialIterator(data, 4), optimizer)
    return training.Trainer(updater, stop_trigger, out='result')


# A function of the trainer is an extension; when it runs is told to extend.
def lr_drop(trainer):
    trainer.updater.get_optimizer('main').lr *= 0.1


trainer = make_trainer((25, 'epoch'))
trainer.extend(lr_drop, trigger=(10, 'epoch'))
trainer.run()
assert math.isclose(trainer.updater.get_optimizer('main').lr, 0.01)


# A decorator attaches the trigger, and more, to the function.
@training.make_extension(trigger=(10, 'epoch'))
def lr_drop(trainer):
    trainer.updater.get_optimizer('main').lr *= 0.1


trainer = make_trainer((25, 'epoch'))
trainer.extend(lr_drop)
trainer.run()
assert math.isclose(trainer.updater.get_optimizer('main').lr, 0.01)


# A class can remember things, and save them in snapshots.
class PolynomialShift(training.Extension):

    def __init__(self, attr, power, stop_trigger, batchsize=None,
                 len_dataset=None):
        self._attr = attr
        self._power = power
        self._init = None
        self._t = 0
        self._last_value = 0

        if stop_trigger[1] == 'iteration':
            self._maxiter = stop_trigger[0]
        elif stop_trigger[1] == 'epoch':
            if batchsize is None or len_dataset is None:
                raise ValueError(
                    'When the unit of \'stop_trigger\' is \'epoch\', '
                    '\'batchsize\' and \'len_dataset\' should be '
                    'specified to calculate the maximum iteration.')
            n_iter_per_epoch = len_dataset / float(batchsize)
            self._maxiter = float(stop_trigger[0] * n_iter_per_epoch)

    def initialize(self, trainer):
        optimizer = trainer.updater.get_optimizer('main')
        # ensure that _init is set
        if self._init is None:
            self._init = getattr(optimizer, self._attr)

    def __call__(self, trainer):
        self._t += 1

        optimizer = trainer.updater.get_optimizer('main')
        value = self._init * ((1 - (self._t / self._maxiter)) ** self._power)
        setattr(optimizer, self._attr, value)
        self._last_value = value

    def serialize(self, serializer):
        self._t = serializer('_t', self._t)
        self._last_value = serializer('_last_value', self._last_value)
        if isinstance(self._last_value, np.ndarray):
            self._last_value = self._last_value.item()


stop_trigger = (100, 'iteration')
trainer = make_trainer((75, 'iteration'))
trainer.extend(PolynomialShift('lr', 0.5, stop_trigger))
trainer.run()
print(f'learning rate after three quarters of the way: {trainer.updater.get_optimizer("main").lr}')
assert math.isclose(trainer.updater.get_optimizer('main').lr, 0.5)
