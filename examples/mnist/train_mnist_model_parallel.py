"""Train a network that is too large for one device: each of two devices computes half of it.

Two columns of layers run side by side, each on its own device. In the middle and at the end they
exchange what they have computed; F.copy brings it over, and brings the gradient back.

    python train_mnist_model_parallel.py --device @cupy:0 --device1 @cupy:1
    python train_mnist_model_parallel.py --test                   # both halves on the CPU
"""
import pathlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags
from train_mnist import MLP


class ParallelMLP(chainer.Chain):
    """A network of six layers, on two devices."""

    def __init__(self, n_units, n_out, device0, device1):
        super().__init__()
        self.device0, self.device1 = device0, device1
        with self.init_scope():
            self.first0 = MLP(n_units // 2, n_units).to_device(device0)
            self.first1 = MLP(n_units // 2, n_units).to_device(device1)
            self.second0 = MLP(n_units // 2, n_out).to_device(device0)
            self.second1 = MLP(n_units // 2, n_out).to_device(device1)

    def forward(self, x):
        # x is on the first device
        z0 = self.first0(x)
        z1 = self.first1(F.copy(x, self.device1))

        # exchange
        h0 = F.relu(z0 + F.copy(z1, self.device0))
        h1 = F.relu(z1 + F.copy(z0, self.device1))

        y0 = self.second0(h0)
        y1 = self.second1(h1)

        # the result is on the first device
        return y0 + F.copy(y1, self.device0)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=20, unit=1000, test={'epoch': 5, 'unit': 100},
        two_devices=True)
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        ParallelMLP.forward = chainer.static_graph(ParallelMLP.forward)

    model = L.Classifier(ParallelMLP(args.unit, 10, args.device, args.device1))
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train, test = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    # The mini-batches go to the first device; the model stays where its parts are.
    updater = training.updaters.StandardUpdater(
        train_iter, optimizer, input_device=args.device)
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
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
