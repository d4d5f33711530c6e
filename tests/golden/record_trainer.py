"""Records a snapshot of a whole trainer with many extensions, and how the training goes on.

    MPLBACKEND=Agg tests/golden/original tests/golden/record_trainer.py
"""
import io
import os
import shutil
import sys
import tempfile

import numpy as np

import chainer
import chainer.links as L
from chainer import iterators, optimizers, training
from chainer.training import extensions, triggers

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS = 2, 3


def make_trainer(out, epochs):
    """A trainer with all extensions that have a state, and snapshots under their default names."""
    rng = np.random.RandomState(0)
    data = chainer.datasets.TupleDataset(
        rng.randn(20, 4).astype(np.float32), rng.randint(0, 3, 20).astype(np.int32))
    model = L.Classifier(L.Linear(4, 3, initialW=rng.randn(3, 4).astype(np.float32)))
    optimizer = optimizers.Adam().setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-4))
    updater = training.StandardUpdater(iterators.SerialIterator(data, 5, shuffle=False), optimizer)
    trainer = training.Trainer(updater, (epochs, 'epoch'), out=out)
    trainer.extend(extensions.Evaluator(
        iterators.SerialIterator(data, 5, repeat=False, shuffle=False), model))
    trainer.extend(extensions.dump_graph('main/loss'))
    trainer.extend(extensions.snapshot())
    trainer.extend(extensions.snapshot_object(model, 'model_{.updater.iteration}'))
    trainer.extend(extensions.snapshot(filename='best'), name='best',
                   trigger=triggers.MinValueTrigger('main/loss'))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss'], out=io.StringIO()))
    trainer.extend(extensions.observe_lr())
    trainer.extend(extensions.ExponentialShift('alpha', .9))
    trainer.extend(extensions.LinearShift('beta1', (.9, .8), (0, 20)))
    # By one: a resumed 7.8.1 begins anew with this extension.
    trainer.extend(extensions.MultistepShift('beta2', 1., [3, 6], .99))
    trainer.extend(extensions.PolynomialShift('eps', 1, 30))
    trainer.extend(extensions.StepShift('weight_decay_rate', .5, 2, init=1e-3))
    trainer.extend(lambda trainer: None, name='manual', trigger=triggers.ManualScheduleTrigger(
        [1, 2], 'epoch'))
    trainer.extend(lambda trainer: None, name='once', trigger=triggers.OnceTrigger())
    trainer.extend(lambda trainer: None, name='time', trigger=triggers.TimeTrigger(1000))
    trainer.extend(lambda trainer: None, name='stop', trigger=triggers.EarlyStoppingTrigger(
        monitor='main/loss'))
    return trainer


def weights(trainer):
    return trainer.updater.get_optimizer('main').target.predictor.W.array


if __name__ == '__main__':
    assert sys.version_info < (3, 9), 'to be run with the original'
    out = tempfile.mkdtemp()
    try:
        make_trainer(out, EPOCHS[0]).run()
        shutil.copy(out + '/snapshot_iter_8', HERE + '/trainer_7.npz')
        resumed = make_trainer(out, EPOCHS[1])
        chainer.serializers.load_npz(HERE + '/trainer_7.npz', resumed)
        resumed.run()
        np.savez(HERE + '/trainer_7_resumed.npz', W=weights(resumed))
    finally:
        shutil.rmtree(out)
