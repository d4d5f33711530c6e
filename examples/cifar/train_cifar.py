"""Train a convolutional network, LeNet5 on MNIST or one in the style of VGG or ResNet on CIFAR.

    python train_cifar.py                          # a small VGG on CIFAR-10
    python train_cifar.py --model resnet --dataset cifar100
    python train_cifar.py --model lenet5           # on MNIST
"""
import argparse

from convnets import LeNet5, ResBlock, VGGBlock

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import iterators, optimizers, training
from chainer.training import extensions


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
MODELS = {
    'lenet5': lambda n_out: LeNet5(),
    'vgg': SmallVGG,
    'resnet': SmallResNet,
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--model', choices=MODELS, default='vgg')
    parser.add_argument('--dataset', choices=DATASETS,
                        help='default: mnist for lenet5, cifar10 for the others')
    parser.add_argument('--batchsize', '-b', type=int, default=64,
                        help='images in a mini-batch')
    parser.add_argument('--learnrate', '-l', type=float, default=0.05, help='learning rate')
    parser.add_argument('--epoch', '-e', type=int, default=30,
                        help='how often to go through the data')
    parser.add_argument('--gpu', '-g', type=int, default=-1, help='number of the GPU, -1: CPU')
    parser.add_argument('--out', '-o', default='result', help='folder of the results')
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    n_out, get_dataset = DATASETS[
        args.dataset or ('mnist' if args.model == 'lenet5' else 'cifar10')]
    train, test = get_dataset()
    train_iter = iterators.SerialIterator(train, args.batchsize)
    test_iter = iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)

    model = L.Classifier(MODELS[args.model](n_out))
    if args.gpu >= 0:
        model.to_gpu(args.gpu)
    optimizer = optimizers.MomentumSGD(args.learnrate).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu))
    trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(25, 'epoch'))
    trainer.extend(extensions.snapshot(filename='snapshot_epoch-{.updater.epoch}'),
                   trigger=(args.epoch, 'epoch'))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'main/accuracy',
         'validation/main/loss', 'validation/main/accuracy', 'elapsed_time']))
    trainer.run()


if __name__ == '__main__':
    main()
