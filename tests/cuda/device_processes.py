"""Two processes with a device each: gradients are added up, parameters are the same.

A program of its own: ``device_processes.py fork`` (or ``spawn``).
"""
import multiprocessing
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.backends import cuda
from chainer.dataset import convert


def halves():
    x = np.random.RandomState(0).standard_normal((24, 4)).astype('f')
    data = chainer.datasets.TupleDataset(x, x[:, :3].argmax(1).astype('i'))
    return [chainer.iterators.SerialIterator(half, 4, shuffle=False)
            for half in chainer.datasets.split_dataset_n(data, 2)]


def classifier():
    np.random.seed(0)
    return L.Classifier(chainer.Sequential(L.Linear(4, 8), F.relu, L.Linear(8, 3)))


def on_two_devices():
    model, seen = classifier(), []
    updater = training.updaters.MultiprocessParallelUpdater(
        halves(), chainer.optimizers.MomentumSGD(.1).setup(model),
        devices={'second': 1, 'main': 0})
    trainer = training.Trainer(updater, (5, 'iteration'))
    trainer.extend(lambda t: seen.append(float(t.observation['main/loss'].array)), name='losses',
                   trigger=(1, 'iteration'))
    trainer.run()
    assert updater.epoch == 1 and not updater._workers
    assert all(isinstance(p.array, cuda.ndarray) for p in model.params())
    return seen, [p.array.get() for p in model.params()]


def on_the_host():
    model, losses, parts = classifier(), [], halves()
    optimizer = chainer.optimizers.MomentumSGD(.1).setup(model)
    for _ in range(5):
        model.cleargrads()
        found = [model(*convert.concat_examples(part.next())) for part in parts]
        losses.append(float(found[0].array))
        for loss in found:
            loss.backward()
        optimizer.update()
    return losses, [p.array for p in model.params()]


if __name__ == '__main__':
    multiprocessing.set_start_method(sys.argv[1])
    (seen, there), (losses, host) = on_two_devices(), on_the_host()
    np.testing.assert_allclose(seen, losses, rtol=1e-5)
    for a, b in zip(there, host, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
