"""Learn to make pictures on several processes: both networks are trained with all data.

The flags are those of ../../dcgan/train_dcgan.py.

    mpiexec -n 4 python train_dcgan.py --gpu
    mpiexec -n 2 python train_dcgan.py --test      # small pictures of five shapes
"""
import pathlib
import sys

import numpy as np

import chainer
import chainermn
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'dcgan'))
from net import Discriminator, Generator
from shared import compiled, flags, processes
from train_dcgan import DCGANUpdater, get_data, out_generated_image


def make_optimizer(model, comm, alpha=0.0002, beta1=0.5):
    optimizer = chainermn.create_multi_node_optimizer(
        chainer.optimizers.Adam(alpha=alpha, beta1=beta1), comm)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0001), 'hook_dec')
    return optimizer


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=50, epoch=1000,
        test={'epoch': 2, 'batchsize': 25, 'ch': 16, 'n_hidden': 20, 'display_interval': 5,
              'snapshot_interval': 10})
    processes.add_flags(parser)
    parser.add_argument('--dataset', '-i', help='folder of pictures')
    parser.add_argument('--n-hidden', type=int, default=100, help='size of the random vectors')
    parser.add_argument('--ch', type=int, default=512, help='channels of the widest layer')
    parser.add_argument('--snapshot-interval', type=int, default=1000,
                        help='iterations between two snapshots and pictures')
    parser.add_argument('--display-interval', type=int, default=100,
                        help='iterations between two lines of the log')
    return parser, flags.parse(parser, argv)


def main(argv=None):
    parser, args = parse_args(argv)
    comm = processes.make_communicator(parser, args)
    if args.static:
        Generator.forward = chainer.static_graph(Generator.forward)
        Discriminator.forward = chainer.static_graph(Discriminator.forward)
    np.random.seed(args.seed + comm.rank)  # each process imagines something else

    train = chainermn.scatter_dataset(get_data(args) if comm.rank == 0 else None, comm)
    bottom_width = train[0].shape[-1] // 8
    gen = Generator(args.n_hidden, bottom_width, args.ch)
    dis = Discriminator(bottom_width, args.ch)
    gen.to_device(args.device)
    dis.to_device(args.device)

    updater = DCGANUpdater(
        models=(gen, dis), device=args.device,
        iterator=chainer.iterators.SerialIterator(train, args.batchsize),
        optimizer={'gen': make_optimizer(gen, comm), 'dis': make_optimizer(dis, comm)})
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    display_interval = args.display_interval, 'iteration'
    snapshot_interval = args.snapshot_interval, 'iteration'
    if comm.rank == 0:
        trainer.extend(
            extensions.snapshot_object(gen, 'gen_iter_{.updater.iteration}.npz'),
            trigger=snapshot_interval)
        trainer.extend(extensions.LogReport(trigger=display_interval))
        trainer.extend(extensions.PrintReport(
            ['epoch', 'iteration', 'gen/loss', 'dis/loss', 'elapsed_time']),
            trigger=display_interval)
        trainer.extend(
            out_generated_image(gen, 10, 10, args.seed, args.out), trigger=snapshot_interval)
    trainer.run()
    if args.static and comm.rank == 0:
        compiled.print_summary(gen)
        compiled.print_summary(dis)


if __name__ == '__main__':
    main()
