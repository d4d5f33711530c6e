"""Train one network twice, define-by-run and compiled, and compare the two.

The data are MNIST, if it lies in the local data set cache, and otherwise the 8 by 8 digits that
come with this example. Both runs start from the same seed, see the same mini-batches in the same
order, and must end with the same accuracy. What the compiler made of the network is written into
``demo-output``: a picture of the graph, the generated program, and a page with all that is known.
"""
import argparse
import os
import pathlib
import statistics
import sys
import time
from typing import NamedTuple

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import iterators, optimizers, training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared.digits import get_digits


class Network(chainer.Chain):
    """A fully connected network with two hidden layers; it gives the loss and the accuracy."""

    def __init__(self, n_units):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.l2 = L.Linear(None, n_units)
            self.l3 = L.Linear(None, 10)

    def forward(self, x, t):
        h = F.relu(self.l1(x))
        h = F.relu(self.l2(h))
        y = self.l3(h)
        return F.softmax_cross_entropy(y, t), F.accuracy(y, t)


class CompiledNetwork(Network):
    """The same network, compiled at its first call."""

    @chainer.static_graph
    def forward(self, x, t):
        return super().forward(x, t)


class Reported(chainer.Chain):
    """A network whose loss and accuracy go to the trainer's log."""

    def __init__(self, network):
        super().__init__()
        with self.init_scope():
            self.network = network

    def forward(self, x, t):
        loss, accuracy = self.network(x, t)
        chainer.report({'loss': loss, 'accuracy': accuracy}, self)
        return loss


class TimedUpdater(training.updaters.StandardUpdater):
    """An updater that notes the seconds of each iteration: of forward and backward, and of all."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seconds = []

    def update_core(self):
        started = time.perf_counter()
        optimizer = self.get_optimizer('main')
        x, t = self.converter(next(self.get_iterator('main')))
        computing = time.perf_counter()
        loss = optimizer.target(x, t)
        optimizer.target.cleargrads()
        loss.backward()
        computed = time.perf_counter()
        optimizer.update()
        self.seconds.append((computed - computing, time.perf_counter() - started))


class Task(NamedTuple):
    """What is trained on what, and for how long."""

    title: str
    train: object
    test: object
    n_units: int
    batchsize: int
    epochs: int


def mnist_is_here():
    """Tell whether MNIST can be had without a network."""
    folder = pathlib.Path(chainer.dataset.get_dataset_directory(
        'pfnet/chainer/mnist', create_directory=False))
    raw = ['train-images-idx3-ubyte.gz', 'train-labels-idx1-ubyte.gz',
           't10k-images-idx3-ubyte.gz', 't10k-labels-idx1-ubyte.gz']
    return any(
        all((folder / name).exists() for name in names)
        for names in (['train.npz', 'test.npz'], raw))


def choose_task():
    if mnist_is_here():
        train, test = chainer.datasets.get_mnist()
        train = train[:20000]  # enough to see it learn, and not more than a minute
        return Task('MNIST, 28 by 28 pixels', train, test, n_units=1000, batchsize=100, epochs=3)
    train, test = get_digits()
    return Task('handwritten digits, 8 by 8 pixels (MNIST is not in the data set cache)',
                train, test, n_units=128, batchsize=32, epochs=60)


def train(network, task, out):
    """Train a network; return the trainer."""
    np.random.seed(0)
    model = Reported(network(task.n_units))
    optimizer = optimizers.Adam().setup(model)
    train_iter = iterators.SerialIterator(task.train, task.batchsize)
    test_iter = iterators.SerialIterator(
        task.test, len(task.test) // 10, repeat=False, shuffle=False)
    updater = TimedUpdater(train_iter, optimizer)
    trainer = training.Trainer(updater, (task.epochs, 'epoch'), out=out)
    trainer.extend(extensions.Evaluator(test_iter, model), trigger=(task.epochs, 'epoch'))
    trainer.extend(extensions.LogReport(trigger=(task.epochs, 'epoch')))
    trainer.extend(extensions.ProgressBar(update_interval=20))
    trainer.run()
    return trainer


def accuracy_of(trainer):
    return trainer.get_extension('LogReport').log[-1]['validation/main/accuracy']


def milliseconds_of(trainer):
    """Return the medians of forward and backward, and of whole iterations."""
    return [1000 * statistics.median(seconds)
            for seconds in zip(*trainer.updater.seconds, strict=True)]


def write_compiled(network, out):
    """Write what the compiler made of a network; return lines that tell the files."""
    # Evaluation has programs of its own, without backward.
    programs = network.schedule_manager.programs
    program = next((program for program in programs if program.backwards), None)
    if program is None:
        return ['Nothing was compiled: training was over before that would have paid.']
    source = out / 'program.py'
    source.write_text(program.source)
    dot = out / 'graph.dot'
    dot.write_text(program.to_dot().source)
    svg = out / 'graph.svg'
    svg.write_text(program.optimized.to_svg())
    lines = [f'generated program     {source}', f'graph, in dot         {dot}',
             f'picture of the graph  {svg}']
    page = out / 'report.html'
    network.schedule_manager.report().save(page, title='The compiled network of the demo')
    lines.append(f'all of it, as a page  {page}')
    return lines


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', default='demo-output', help='folder of the results')
    parser.add_argument('--epoch', type=int, help='how often to go through the data')
    args = parser.parse_args(argv)
    out = pathlib.Path(args.out)
    os.makedirs(out, exist_ok=True)

    task = choose_task()
    if args.epoch is not None:
        task = task._replace(epochs=args.epoch)
    print(f'Data: {task.title}; {len(task.train)} to train, {len(task.test)} to test.\n')
    trainers = {}
    for name, network in (('define-by-run', Network), ('compiled', CompiledNetwork)):
        print(f'Training {name}, {task.epochs} epochs')
        trainers[name] = train(network, task, str(out / name))

    print(f'\n{"":16}{"accuracy":>10}{"ms forward+backward":>22}{"ms an iteration":>18}')
    for name, trainer in trainers.items():
        computing, iteration = milliseconds_of(trainer)
        print(f'{name:16}{accuracy_of(trainer):10.4f}{computing:22.3f}{iteration:18.3f}')
    eager, compiled = trainers.values()
    equal = accuracy_of(eager) == accuracy_of(compiled)
    ratios = [a / b for a, b in zip(
        milliseconds_of(eager), milliseconds_of(compiled), strict=True)]
    print(f'{"ratio":16}{"equal" if equal else "DIFFERENT":>10}'
          f'{ratios[0]:21.2f}x{ratios[1]:17.2f}x\n')
    network = compiled.updater.get_optimizer('main').target.network
    print('\n'.join(write_compiled(network, out)))
    if not equal:
        raise SystemExit('The compiled network did not end with the accuracy of the other one.')


if __name__ == '__main__':
    main()
