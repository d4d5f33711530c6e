"""Train a fully connected network on MNIST, with a trainer.

The trainer writes a log, pictures of the loss and the accuracy (with matplotlib), the graph of the
loss in dot, and a snapshot and the model after each epoch, into ``mnist_result``.

    python train_mnist.py --gpu 0
    python train_mnist.py --resume mnist_result/snapshot_epoch-3
"""
# ruff: noqa: I001, UP008, UP032  Most of the code is that of Chainer's tutorial.
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Chain, iterators, optimizers, serializers, training
from chainer.datasets import mnist
from chainer.training import extensions


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--batchsize', '-b', type=int, default=128,
                        help='images in a mini-batch')
    parser.add_argument('--epoch', '-e', type=int, default=10,
                        help='how often to go through the data')
    parser.add_argument('--gpu', '-g', type=int, default=-1, help='number of the GPU, -1: CPU')
    parser.add_argument('--unit', '-u', type=int, default=100, help='units of each hidden layer')
    parser.add_argument('--out', '-o', default='mnist_result', help='folder of the results')
    parser.add_argument('--resume', '-r', help='go on from this snapshot')
    parser.add_argument('--noplot', dest='plot', action='store_false', help='draw no pictures')
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    batchsize = args.batchsize
    max_epoch = args.epoch
    gpu_id = args.gpu

    # The data, and mini-batches of it
    train, test = mnist.get_mnist()

    train_iter = iterators.SerialIterator(train, batchsize)
    test_iter = iterators.SerialIterator(test, batchsize, False, False)

    # The network
    model = MLP(args.unit)
    if gpu_id >= 0:
        model.to_gpu(gpu_id)

    # With a loss around it; softmax_cross_entropy unless another one is given
    model = L.Classifier(model)

    # selection of your optimizing method
    optimizer = optimizers.MomentumSGD()

    # Give the optimizer a reference to the model
    optimizer.setup(model)

    # Get an updater that uses the Iterator and Optimizer
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=gpu_id)

    # Setup a Trainer
    trainer = training.Trainer(updater, (max_epoch, 'epoch'), out=args.out)

    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.snapshot(filename='snapshot_epoch-{.updater.epoch}'))
    trainer.extend(extensions.snapshot_object(
        model.predictor, filename='model_epoch-{.updater.epoch}'))
    trainer.extend(extensions.Evaluator(test_iter, model, device=gpu_id))
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
