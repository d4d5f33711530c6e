"""Train a large convolutional network on a folder of pictures.

A folder has a folder for each class, with the pictures in it. A text file with lines of a path and
the number of a class does, too.

    python train_imagenet.py train val --mean mean.npy --arch resnet50 --device @cupy:0
    python train_imagenet.py --test                # a folder of invented pictures
"""
import os
import pathlib
import random
import sys

import numpy as np

import chainer
import chainer.links as L
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import folders
import nets
from shared import compiled, flags, pictures, shapes


class PreprocessedDataset(chainer.dataset.DatasetMixin):
    """Squares cut out of pictures, less the mean, with values of about -1 to 1.

    Args:
        pairs: Data set of pictures and labels.
        mean: Mean of all pictures, or of each channel.
        size (int): Pixels of a side.
        augment (bool): Whether the squares are anywhere, and mirrored half of the time; otherwise
            they are in the middle.
    """

    def __init__(self, pairs, mean, size, augment):
        self.pairs = pairs
        self.mean = mean
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.pairs)

    def get_example(self, i):
        image, label = self.pairs[i]
        room = [n - self.size for n in image.shape[1:]]
        if min(room) < 0:
            raise ValueError(f'picture {i} is smaller than {self.size} pixels')
        if self.augment:
            top, left = (random.randint(0, n) for n in room)
        else:
            top, left = (n // 2 for n in room)
        image = (image - self.mean)[:, top:top + self.size, left:left + self.size] / 128
        if self.augment and random.random() < 0.5:
            image = image[:, :, ::-1]
        return image.astype(np.float32), label


def write_pictures(folder, size):
    """Write invented pictures into folders of classes; return the two folders."""
    images, labels = shapes.make_shapes(250, size)
    for i, (image, label) in enumerate(zip(images, labels)):
        part = 'train' if i < 200 else 'val'
        pictures.save(os.path.join(folder, part, shapes.SHAPES[label], f'{i}.png'), image)
    return os.path.join(folder, 'train'), os.path.join(folder, 'val')


def load_mean(path):
    """Return the mean of a file, or the one of each channel of ImageNet."""
    if path is not None:
        return np.load(path)
    return np.array([123.7, 116.8, 103.9], np.float32)[:, None, None]


def make_iterator(data, args, repeat):
    """Return an iterator; other processes read the pictures if there are to be any."""
    if args.loaderjob == 0:
        return chainer.iterators.SerialIterator(
            data, args.batchsize, repeat=repeat, shuffle=repeat)
    return chainer.iterators.MultiprocessIterator(
        data, args.batchsize, repeat=repeat, shuffle=repeat, n_processes=args.loaderjob)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=32, epoch=10,
        test={'epoch': 8, 'batchsize': 20, 'size': 67, 'width': 0.12, 'loaderjob': 0})
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
    add('--initmodel', help='begin with the parameters of this file')
    args = flags.parse(parser, argv)
    if args.test:
        args.train, args.val = write_pictures(os.path.join(args.out, 'pictures'), 72)
    elif args.val is None:
        parser.error('give two folders of pictures, or --test')
    return args


def main(argv=None):
    args = parse_args(argv)
    arch = nets.ARCHS[args.arch]
    if args.static:
        arch.forward = chainer.static_graph(arch.forward)

    classes = folders.list_classes(args.train) if os.path.isdir(args.train) else None
    train, val = (folders.open_pictures(path, args.root, classes)
                  for path in (args.train, args.val))
    n_class = 1000 if classes is None else len(classes)
    print(f'{len(train)} pictures to train, {len(val)} to validate; {n_class} classes')

    model = L.Classifier(arch(n_class, args.width))
    if args.initmodel:
        chainer.serializers.load_npz(args.initmodel, model)
    model.to_device(args.device)
    optimizer = chainer.optimizers.MomentumSGD(args.learnrate)
    optimizer.setup(model)

    mean, size = load_mean(args.mean), args.size or arch.insize
    train_iter = make_iterator(PreprocessedDataset(train, mean, size, True), args, True)
    val_iter = make_iterator(PreprocessedDataset(val, mean, size, False), args, False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)

    val_interval = (1, 'epoch') if args.test else (10000, 'iteration')
    log_interval = (1, 'epoch') if args.test else (100, 'iteration')
    trainer.extend(extensions.Evaluator(val_iter, model, device=args.device), trigger=val_interval)
    trainer.extend(extensions.snapshot(n_retains=2), trigger=val_interval)
    trainer.extend(extensions.snapshot_object(
        model, 'model_iter_{.updater.iteration}'), trigger=(args.epoch, 'epoch'))
    trainer.extend(extensions.LogReport(trigger=log_interval))
    trainer.extend(extensions.observe_lr(), trigger=log_interval)
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'lr']), trigger=log_interval)
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
