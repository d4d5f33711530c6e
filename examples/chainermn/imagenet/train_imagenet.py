"""Train a large convolutional network on a folder of pictures, with several processes.

The flags are those of ../../imagenet/train_imagenet.py. The files must be there for all machines.

    mpiexec -n 8 python train_imagenet.py train val --mean mean.npy --arch resnet50 --gpu
    mpiexec -n 2 python train_imagenet.py --test   # a folder of invented pictures
"""
import multiprocessing
import os
import pathlib
import sys

import chainer
import chainer.links as L
import chainermn
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'imagenet'))
import folders
import nets
from shared import compiled, flags, processes
from train_imagenet import PreprocessedDataset, load_mean, make_iterator, write_pictures


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=32, epoch=10,
        test={'epoch': 2, 'batchsize': 10, 'size': 67, 'width': 0.12, 'loaderjob': 0})
    processes.add_flags(parser)
    add = parser.add_argument
    add('train', nargs='?', help='pictures to train with')
    add('val', nargs='?', help='pictures to validate with')
    add('--root', '-R', default='.', help='folder of the paths of a list')
    add('--arch', '-a', choices=nets.ARCHS, default='nin', help='the network')
    add('--mean', '-m', help='file of the mean that compute_mean.py writes')
    add('--size', type=int, help='pixels of a side, if not those of the network')
    add('--width', type=float, default=1., help='factor of the numbers of channels')
    add('--learnrate', type=float, default=0.01, help='learning rate')
    add('--loaderjob', '-j', type=int, default=2, help='processes that read pictures; 0: this one')
    add('--whole-batch', action='store_true',
        help='batch normalization over the batches of all processes')
    args = flags.parse(parser, argv)
    if not args.test and args.val is None:
        parser.error('give two folders of pictures, or --test')
    return parser, args


def main(argv=None):
    parser, args = parse_args(argv)
    if args.loaderjob:
        # Processes that read are not to be forks of one that has started MPI.
        multiprocessing.set_start_method('forkserver')
    comm = processes.make_communicator(parser, args)
    arch = nets.ARCHS[args.arch]
    if args.static:
        arch.forward = chainer.static_graph(arch.forward)
    if args.test:
        if comm.rank == 0:
            write_pictures(os.path.join(args.out, 'pictures'), 72)
        args.train, args.val = comm.bcast_obj(
            [os.path.join(args.out, 'pictures', part) for part in ('train', 'val')])

    # The lists of files are scattered; each process reads its pictures itself.
    classes = folders.list_classes(args.train) if os.path.isdir(args.train) else None
    train, val = (
        chainermn.scatter_dataset(
            folders.open_pictures(path, args.root, classes) if comm.rank == 0 else None,
            comm, shuffle=True, seed=args.seed)
        for path in (args.train, args.val))
    n_class = 1000 if classes is None else len(classes)
    if comm.rank == 0:
        print(f'{len(train)} pictures to train in each process, {len(val)} to validate; '
              f'{n_class} classes')

    model = L.Classifier(arch(n_class, args.width))
    if args.whole_batch:
        model = chainermn.links.create_mnbn_model(model, comm)
    model.to_device(args.device)
    # The learning rate grows with the batch of all processes.
    optimizer = chainermn.create_multi_node_optimizer(
        chainer.optimizers.MomentumSGD(args.learnrate * comm.size), comm)
    optimizer.setup(model)

    mean, size = load_mean(args.mean), args.size or arch.insize
    train_iter = make_iterator(PreprocessedDataset(train, mean, size, True), args, True)
    val_iter = make_iterator(PreprocessedDataset(val, mean, size, False), args, False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.ExponentialShift(
        'lr', (1 / comm.size) ** (1 / 50), init=args.learnrate * comm.size,
        target=args.learnrate), trigger=(1, 'epoch'))

    val_interval = (1, 'epoch') if args.test else (10000, 'iteration')
    log_interval = (1, 'epoch') if args.test else (100, 'iteration')
    # The running averages of batch normalization are made equal before they are used.
    trainer.extend(chainermn.extensions.AllreducePersistent(model, comm), trigger=val_interval)
    evaluator = extensions.Evaluator(val_iter, model, device=args.device)
    trainer.extend(
        chainermn.create_multi_node_evaluator(evaluator, comm), trigger=val_interval)
    snapshot = extensions.snapshot(n_retains=2, autoload=True)
    trainer.extend(chainermn.extensions.multi_node_snapshot(comm, snapshot, []),
                   trigger=val_interval)
    if comm.rank == 0:
        trainer.extend(extensions.LogReport(trigger=log_interval))
        trainer.extend(extensions.observe_lr(), trigger=log_interval)
        trainer.extend(extensions.PrintReport(
            ['epoch', 'iteration', 'main/loss', 'validation/main/loss',
             'main/accuracy', 'validation/main/accuracy', 'lr']), trigger=log_interval)
    trainer.run()
    if args.static and comm.rank == 0:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
