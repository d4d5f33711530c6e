"""Train a network for handwritten digits on several processes, each with a part of the data.

    mpiexec -n 4 python train_mnist.py
    mpiexec -n 4 python train_mnist.py --gpu       # one GPU for each
    mpiexec -n 2 python train_mnist.py --test      # the digits that come along
"""
import pathlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from shared import compiled, digits, flags, processes


class MLP(chainer.Chain):

    def __init__(self, n_units, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.l2 = L.Linear(None, n_units)
            self.l3 = L.Linear(None, n_out)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=20, unit=1000, test={'epoch': 3, 'unit': 100})
    processes.add_flags(parser)
    return parser, flags.parse(parser, argv)


def main(argv=None):
    parser, args = parse_args(argv)
    comm = processes.make_communicator(parser, args)
    if args.static:
        MLP.forward = chainer.static_graph(MLP.forward)

    model = L.Classifier(MLP(args.unit, 10))
    model.to_device(args.device)
    # What is new: gradients are averaged over the processes before each update.
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm)
    optimizer.setup(model)

    # One process reads the data, and each gets a part.
    train = test = None
    if comm.rank == 0:
        train, test = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    train = chainermn.scatter_dataset(train, comm, shuffle=True, seed=args.seed)
    test = chainermn.scatter_dataset(test, comm)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)

    # Each process tests on its part, and reports the means.
    evaluator = extensions.Evaluator(test_iter, model, device=args.device)
    trainer.extend(chainermn.create_multi_node_evaluator(evaluator, comm))

    # What is written is written by one process only.
    if comm.rank == 0:
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport(
            ['epoch', 'main/loss', 'validation/main/loss',
             'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static and comm.rank == 0:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
