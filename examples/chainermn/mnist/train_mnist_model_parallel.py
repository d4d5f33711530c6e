"""Train a network whose two halves are in two processes.

The first process has the data, and the first and the last layer; the second one has what is
between. More processes are several pairs, each with a part of the data.

    mpiexec -n 2 python train_mnist_model_parallel.py
    mpiexec -n 4 python train_mnist_model_parallel.py --test
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
from shared import digits, flags, processes


class First(chainer.Chain):

    def __init__(self, n_units):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)

    def forward(self, x):
        return F.relu(self.l1(x))


class Middle(chainer.Chain):

    def __init__(self, n_units):
        super().__init__()
        with self.init_scope():
            self.l2 = L.Linear(None, n_units)

    def forward(self, h):
        return F.relu(self.l2(h))


class Last(chainer.Chain):

    def __init__(self, n_out):
        super().__init__()
        with self.init_scope():
            self.l3 = L.Linear(None, n_out)

    def forward(self, h):
        return self.l3(h)


class MLP0(chainermn.MultiNodeChainList):
    """The part of the first process."""

    def __init__(self, pair, n_units, n_out):
        super().__init__(pair)
        self.add_link(First(n_units), rank_in=None, rank_out=1)
        self.add_link(Last(n_out), rank_in=1, rank_out=None)


class MLP1(chainermn.MultiNodeChainList):
    """The part of the second one."""

    def __init__(self, pair, n_units):
        super().__init__(pair)
        self.add_link(Middle(n_units), rank_in=0, rank_out=0)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=20, unit=1000, test={'epoch': 3, 'unit': 100}, static=False)
    processes.add_flags(parser)
    return parser, flags.parse(parser, argv)


def main(argv=None):
    parser, args = parse_args(argv)
    comm = processes.make_communicator(parser, args)
    pair, peers = processes.split_in_pairs(comm)

    if pair.rank == 0:
        model = L.Classifier(MLP0(pair, args.unit, 10))
    else:
        model = MLP1(pair, args.unit)
    model.to_device(args.device)
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), peers)
    optimizer.setup(model)

    # Each pair has a part of the data, of which its second process needs the length only.
    train, test = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    train = chainermn.scatter_dataset(train, peers, shuffle=True, seed=args.seed)
    test = chainermn.scatter_dataset(test, peers)
    if pair.rank == 1:
        train = chainermn.datasets.create_empty_dataset(train)
        test = chainermn.datasets.create_empty_dataset(test)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize, shuffle=False)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)

    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    evaluator = extensions.Evaluator(test_iter, model, device=args.device)
    trainer.extend(chainermn.create_multi_node_evaluator(evaluator, peers))
    if comm.rank == 0:
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport(
            ['epoch', 'main/loss', 'validation/main/loss',
             'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.run()


if __name__ == '__main__':
    main()
