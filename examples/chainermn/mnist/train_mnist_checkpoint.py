"""Train on several processes, and go on where the training was interrupted.

Kill it, or one of its processes, and start it again: it goes on from the last checkpoint that all
processes have.

    mpiexec -n 4 python train_mnist_checkpoint.py --run-id a
    mpiexec -n 2 python train_mnist_checkpoint.py --test --stop-at 20
    mpiexec -n 2 python train_mnist_checkpoint.py --test

With --one-file, one file is enough for all processes, and their number may be another one.
"""
import pathlib
import sys

import chainer
import chainer.links as L
import chainermn
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from shared import digits, flags, processes
from train_mnist import MLP


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=20, unit=1000, test={'epoch': 3, 'unit': 100, 'interval': 5},
        static=False)
    processes.add_flags(parser)
    parser.add_argument('--run-id', default='mnist', help='name of the checkpoints')
    parser.add_argument('--interval', type=int, default=100, help='iterations between checkpoints')
    parser.add_argument('--one-file', action='store_true', help='one file for all processes')
    parser.add_argument('--stop-at', type=int, help='fail in this iteration')
    return parser, flags.parse(parser, argv)


def main(argv=None):
    parser, args = parse_args(argv)
    comm = processes.make_communicator(parser, args)
    model = L.Classifier(MLP(args.unit, 10))
    model.to_device(args.device)
    optimizer = chainermn.create_multi_node_optimizer(chainer.optimizers.Adam(), comm)
    optimizer.setup(model)

    train = None
    if comm.rank == 0:
        train, _ = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    train = chainermn.scatter_dataset(train, comm, shuffle=True, seed=args.seed)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    if comm.rank == 0:
        trainer.extend(extensions.LogReport())
        trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'main/accuracy']))

    interval = args.interval, 'iteration'
    if args.one_file:
        snapshot = extensions.snapshot(n_retains=2, autoload=True)
        trainer.extend(
            chainermn.extensions.multi_node_snapshot(comm, snapshot, []), trigger=interval)
    else:
        checkpointer = chainermn.create_multi_node_checkpointer(args.run_id, comm, path=args.out)
        trainer.extend(checkpointer, trigger=interval)
        # After all extensions with a state are there, and before the training starts:
        checkpointer.maybe_load(trainer, optimizer)

    @training.make_extension(
        trigger=(1, 'iteration'), priority=-1000,
        initializer=lambda trainer: comm.rank or print(f'from iteration {updater.iteration}'))
    def fail(trainer):
        if updater.iteration == args.stop_at:
            raise RuntimeError(f'iteration {args.stop_at}: start again to go on')

    trainer.extend(fail)
    trainer.run(show_loop_exception_msg=False)


if __name__ == '__main__':
    main()
