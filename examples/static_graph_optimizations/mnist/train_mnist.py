"""Train a compiled network on MNIST.

The only difference to the network of ``../../mnist/train_mnist.py`` is the decorator
``@static_graph``: its first call is recorded, the others run the program made of the recording.
At the end the log of the compiler is shown.

    python train_mnist.py --model MLPSideEffect
    python train_mnist.py --test                   # small digits that come along
"""
# ruff: noqa: UP008  Most of the code is that of Chainer's documentation.
import pathlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import static_code, static_graph, training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from shared import digits, flags


# Network definition
class MLP(chainer.Chain):

    """A fully-connected neural network for digit classification.

    """

    def __init__(self, n_units, n_out):
        super(MLP, self).__init__()
        with self.init_scope():
            # the size of the inputs to each layer will be inferred
            self.l1 = L.Linear(None, n_units)  # n_in -> n_units
            self.l2 = L.Linear(None, n_units)  # n_units -> n_units
            self.l3 = L.Linear(None, n_out)  # n_units -> n_out

    @static_graph
    def __call__(self, x):
        h1 = F.relu(self.l1(x))
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


class MLPSideEffect(chainer.Chain):

    """The same network with code that is to run in each call, between the layers.

    Only functions of Chainer are part of the recording, and what is decorated with
    ``@static_code``; a plain ``print`` in ``__call__`` would print once.
    """

    def __init__(self, n_units, n_out):
        super(MLPSideEffect, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.l2 = L.Linear(None, n_units)
            self.l3 = L.Linear(None, n_out)
        self.side_effect_counter = 0

    @static_code
    def count_calls(self):
        self.side_effect_counter += 1

    @static_graph
    def __call__(self, x):
        h1 = F.relu(self.l1(x))
        self.count_calls()
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


MODELS = {'MLP': MLP, 'MLPSideEffect': MLPSideEffect}


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=20, unit=1000, test={'epoch': 5, 'unit': 100}, static=False)
    parser.add_argument('--model', choices=MODELS, default='MLP')
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    model = L.Classifier(MODELS[args.model](args.unit, 10))
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train, test = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    predictor = model.predictor
    if args.model == 'MLPSideEffect':
        print(f'calls of the network: {predictor.side_effect_counter}')
    print(predictor.schedule_manager.report())
    return model


if __name__ == '__main__':
    main()
