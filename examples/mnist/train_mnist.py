"""Train a fully connected network on MNIST, with a trainer.

The trainer writes a log, pictures of the loss and the accuracy (with matplotlib), the graph of the
loss in dot, and a snapshot and the model after each epoch, into ``mnist_result``.

    python train_mnist.py --device @cupy:0
    python train_mnist.py --resume mnist_result/snapshot_epoch-3
    python train_mnist.py --test                   # small digits that come along
"""
# ruff: noqa: I001, UP008, UP032  Most of the code is that of Chainer's tutorial.
import pathlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Chain, iterators, optimizers, serializers, training
from chainer.datasets import mnist
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags


class MLP(Chain):

    def __init__(self, n_mid_units=100, n_out=10):
        super(MLP, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_mid_units)
            self.l2 = L.Linear(None, n_mid_units)
            self.l3 = L.Linear(None, n_out)

    def forward(self, x):
        h1 = F.relu(self.l1(x))
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=128, epoch=10, unit=100, out='mnist_result', test={'epoch': 5})
    parser.add_argument('--noplot', dest='plot', action='store_false', help='draw no pictures')
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    batchsize = args.batchsize
    max_epoch = args.epoch
    if args.static:
        MLP.forward = chainer.static_graph(MLP.forward)

    # The data, and mini-batches of it
    train, test = digits.get_digits() if args.test else mnist.get_mnist()

    train_iter = iterators.SerialIterator(train, batchsize)
    test_iter = iterators.SerialIterator(test, batchsize, False, False)

    # The network
    model = MLP(args.unit)

    # With a loss around it; softmax_cross_entropy unless another one is given
    model = L.Classifier(model)
    model.to_device(args.device)

    # selection of your optimizing method
    optimizer = optimizers.MomentumSGD()

    # Give the optimizer a reference to the model
    optimizer.setup(model)

    # Get an updater that uses the Iterator and Optimizer
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)

    # Setup a Trainer
    trainer = training.Trainer(updater, (max_epoch, 'epoch'), out=args.out)

    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.snapshot(filename='snapshot_epoch-{.updater.epoch}'))
    trainer.extend(extensions.snapshot_object(
        model.predictor, filename='model_epoch-{.updater.epoch}'))
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'main/accuracy',
         'validation/main/loss', 'validation/main/accuracy', 'elapsed_time']))
    if args.plot and extensions.PlotReport.available():
        trainer.extend(extensions.PlotReport(
            ['main/loss', 'validation/main/loss'], x_key='epoch', file_name='loss.png'))
        trainer.extend(extensions.PlotReport(
            ['main/accuracy', 'validation/main/accuracy'], x_key='epoch',
            file_name='accuracy.png'))
    trainer.extend(extensions.dump_graph('main/loss'))

    if args.resume:
        serializers.load_npz(args.resume, trainer)

    trainer.run()
    if args.static:
        compiled.print_summary(model)

    # Load the model of the last epoch, and read one digit with it
    model = MLP(args.unit)
    serializers.load_npz('{}/model_epoch-{}'.format(args.out, max_epoch), model)

    x, t = test[0]
    print('label:', t)

    with chainer.using_config('train', False), chainer.no_backprop_mode():
        y = model(x[None, ...])

    print('predicted_label:', y.array.argmax(axis=1)[0])


if __name__ == '__main__':
    main()
