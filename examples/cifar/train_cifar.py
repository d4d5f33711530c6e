"""Train a convolutional network, LeNet5 on MNIST or one in the style of VGG or ResNet on CIFAR.

    python train_cifar.py                          # a small VGG on CIFAR-10
    python train_cifar.py --model resnet --dataset cifar100
    python train_cifar.py --model lenet5           # on MNIST
    python train_cifar.py --test                   # on invented pictures of five shapes
"""
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import iterators, optimizers, training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from convnets import LeNet5, ResBlock, VGGBlock
from shared import compiled, digits, flags, shapes


class SmallVGG(chainer.ChainList):
    """Blocks of VGG16 for images of 32 by 32, with one layer for the classes."""

    def __init__(self, n_out, n_channels=(32, 64, 128)):
        super().__init__(*[VGGBlock(n) for n in n_channels], L.Linear(None, n_out))

    def forward(self, x):
        for f in self.children():
            x = f(x)
        return x


class SmallResNet(chainer.Chain):
    """Blocks of ResNet152 for images of 32 by 32."""

    def __init__(self, n_out, n_blocks=(2, 2, 2), n_mid=16):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(
                None, n_mid, 3, 1, 1, initialW=chainer.initializers.HeNormal(), nobias=True)
            self.bn1 = L.BatchNormalization(n_mid)
            self.res2 = ResBlock(n_blocks[0], n_mid, n_mid, 4 * n_mid, 1)
            self.res3 = ResBlock(n_blocks[1], 4 * n_mid, 2 * n_mid, 8 * n_mid)
            self.res4 = ResBlock(n_blocks[2], 8 * n_mid, 4 * n_mid, 16 * n_mid)
            self.fc5 = L.Linear(16 * n_mid, n_out)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = self.res4(self.res3(self.res2(h)))
        return self.fc5(F.average_pooling_2d(h, h.shape[2:]))


DATASETS = {
    'mnist': (10, lambda: chainer.datasets.get_mnist(ndim=3)),
    'cifar10': (10, chainer.datasets.get_cifar10),
    'cifar100': (100, chainer.datasets.get_cifar100),
}


def get_small(dataset):
    """Return the small data that stand for a data set with ``--test``."""
    if dataset == 'mnist':
        # LeNet5 wants pictures of 28 by 28.
        return [
            [(np.pad(np.kron(x, np.ones((1, 3, 3), 'f')), ((0, 0), (2, 2), (2, 2))), t)
             for x, t in part[:500]] for part in digits.get_digits(ndim=3)]
    pictures = chainer.datasets.TupleDataset(*shapes.make_shapes(600, 16))
    return pictures[:500], pictures[500:]


def make_model(name, n_out):
    if name == 'lenet5':
        return LeNet5()
    return {'vgg': SmallVGG, 'resnet': SmallResNet}[name](n_out)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, epoch=30, test={'epoch': 6, 'batchsize': 20})
    parser.add_argument('--model', choices=['lenet5', 'vgg', 'resnet'], default='vgg')
    parser.add_argument('--dataset', choices=DATASETS,
                        help='mnist for lenet5, cifar10 for the others if not given')
    parser.add_argument('--learnrate', '-l', type=float, default=0.05, help='learning rate')
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    dataset = args.dataset or ('mnist' if args.model == 'lenet5' else 'cifar10')
    n_out, get_dataset = DATASETS[dataset]
    train, test = get_small(dataset) if args.test else get_dataset()
    train_iter = iterators.SerialIterator(train, args.batchsize)
    test_iter = iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)

    model = L.Classifier(make_model(args.model, n_out))
    if args.static:
        network = type(model.predictor)
        network.forward = chainer.static_graph(network.forward)
    model.to_device(args.device)
    optimizer = optimizers.MomentumSGD(args.learnrate).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(25, 'epoch'))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'main/accuracy',
         'validation/main/loss', 'validation/main/accuracy', 'elapsed_time']))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
