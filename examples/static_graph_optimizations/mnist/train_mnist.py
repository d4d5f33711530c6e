"""Train a compiled network on MNIST.

The only difference to the network of ``../../mnist/train_mnist.py`` is the decorator
``@static_graph``: its first call is recorded, the others run the program made of the recording.
At the end the log of the compiler is shown.

    python train_mnist.py --model MLPSideEffect
"""
# ruff: noqa: UP008  Most of the code is that of Chainer's documentation.
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import static_code, static_graph, training
from chainer.training import extensions


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--batchsize', '-b', type=int, default=100,
                        help='images in a mini-batch')
    parser.add_argument('--epoch', '-e', type=int, default=20,
                        help='how often to go through the data')
    parser.add_argument('--gpu', '-g', type=int, default=-1, help='number of the GPU, -1: CPU')
    parser.add_argument('--unit', '-u', type=int, default=1000, help='units of each hidden layer')
    parser.add_argument('--model', choices=MODELS, default='MLP')
    parser.add_argument('--out', '-o', default='result', help='folder of the results')
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    model = L.Classifier(MODELS[args.model](args.unit, 10))
    if args.gpu >= 0:
        model.to_gpu(args.gpu)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train, test = chainer.datasets.get_mnist()
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.run()

    predictor = model.predictor
    if args.model == 'MLPSideEffect':
        print(f'calls of the network: {predictor.side_effect_counter}')
    print(predictor.schedule_manager.report())
    return model


if __name__ == '__main__':
    main()
