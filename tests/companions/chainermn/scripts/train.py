"""A training that goes on from its last checkpoint: train.py FOLDER HOW ITERATIONS.

It prints the iteration it starts from, and at the end the parameters. With the environment variable
MN_TEST_PAUSE, the first process stays in that iteration, and the others wait for it in the next.
"""
import os
import sys
import time
import warnings

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainer import training
from chainer.training import extensions

warnings.simplefilter('ignore')
folder, how, iterations = sys.argv[1], sys.argv[2], int(sys.argv[3])
comm = chainermn.create_communicator('naive')
np.random.seed(comm.rank)


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 30)
            self.l2 = L.Linear(30, 1)

    def forward(self, x):
        return F.sum(self.l2(F.tanh(self.l1(x))) ** 2)


model = Model()
optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm).setup(model)
data = np.random.RandomState(1).uniform(-1, 1, (64, 4)).astype('f4')
# Each process has the same data: with one replica set, the position in them is that of all.
iterator = chainer.iterators.SerialIterator(data, 8)
trainer = training.Trainer(
    training.StandardUpdater(iterator, optimizer), (iterations, 'iteration'), out=folder)
if how == 'checkpointer':
    saver = chainermn.create_multi_node_checkpointer('run', comm, path=folder)
    trainer.extend(saver, trigger=(1, 'iteration'))
    saver.maybe_load(trainer, optimizer)
else:
    saver = chainermn.extensions.multi_node_snapshot(
        comm, extensions.snapshot(n_retains=3, autoload=True), [])
    trainer.extend(saver, trigger=(1, 'iteration'))


@training.make_extension(
    trigger=(1, 'iteration'), priority=-1000,
    initializer=lambda trainer: tell('starts at', trainer.updater.iteration))
def slow(trainer):
    pause = os.environ.get('MN_TEST_PAUSE') == str(trainer.updater.iteration)
    time.sleep(600 if pause and comm.rank == 0 else 0.005)


def tell(what, *values):
    """The first process prints for all: lines of several would run into each other."""
    everybody = comm.gather_obj(values)
    for values in everybody or ():
        print(what, *values, flush=True)


trainer.extend(slow)
trainer.run()
total = float(sum(np.abs(p.array.astype('f8')).sum() for p in model.params()))
tell('ends at', trainer.updater.iteration, repr(total))
