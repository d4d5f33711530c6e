"""Train a compiled convolutional network on CIFAR.

Blocks of ``../../cifar/convnets.py`` make the network; ``@static_graph`` stands at the method that
calls them, and all that is called there is compiled with it: convolutions, batch normalization with
its running statistics, dropout with new random numbers in each call.

    python train_cifar.py --dataset cifar100
    python train_cifar.py --test                   # invented pictures of five shapes
"""
import pathlib
import sys

import chainer
import chainer.links as L
from chainer import static_graph, training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from cifar.convnets import VGGBlock
from shared import flags, shapes


class VGG(chainer.Chain):
    """Three blocks of VGG16 and a linear layer."""

    def __init__(self, n_out):
        super().__init__()
        with self.init_scope():
            self.block1 = VGGBlock(32)
            self.block2 = VGGBlock(64)
            self.block3 = VGGBlock(128)
            self.fc = L.Linear(None, n_out)

    @static_graph
    def forward(self, x):
        h = self.block1(x)
        h = self.block2(h)
        h = self.block3(h)
        return self.fc(h)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, epoch=30, test={'epoch': 6, 'batchsize': 20}, static=False)
    parser.add_argument('--dataset', choices=['cifar10', 'cifar100'], default='cifar10')
    parser.add_argument('--learnrate', '-l', type=float, default=0.05, help='learning rate')
    return flags.parse(parser, argv)


def get_data(args):
    if args.test:
        pictures = chainer.datasets.TupleDataset(*shapes.make_shapes(600, 16))
        return pictures[:500], pictures[500:]
    return getattr(chainer.datasets, 'get_' + args.dataset)()


def main(argv=None):
    args = parse_args(argv)
    train, test = get_data(args)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    model = L.Classifier(VGG(100 if args.dataset == 'cifar100' else 10))
    model.to_device(args.device)
    optimizer = chainer.optimizers.MomentumSGD(args.learnrate).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(25, 'epoch'))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    print(model.predictor.schedule_manager.report())


if __name__ == '__main__':
    main()
