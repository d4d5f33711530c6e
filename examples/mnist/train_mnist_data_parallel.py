"""Train one network on two devices at once: each gets half of every mini-batch.

ParallelUpdater copies the model to the second device, adds up the gradients of both, and copies
the updated parameters back.

    python train_mnist_data_parallel.py --device @cupy:0 --device1 @cupy:1
    python train_mnist_data_parallel.py --test                   # both halves on the CPU
"""
import pathlib
import sys

import chainer
import chainer.links as L
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags
from train_mnist import MLP


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=400, epoch=20, unit=1000, two_devices=True,
        test={'epoch': 5, 'unit': 100, 'batchsize': 100})
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        MLP.forward = chainer.static_graph(MLP.forward)

    model = L.Classifier(MLP(args.unit))
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train, test = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    # Parameters whose shapes are known at the first batch only cannot be copied before it.
    model.predictor(model.xp.zeros((1, train[0][0].size), 'f'))

    updater = training.updaters.ParallelUpdater(
        train_iter, optimizer, devices={'main': args.device, 'second': args.device1})
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'second/loss', 'validation/main/loss',
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
