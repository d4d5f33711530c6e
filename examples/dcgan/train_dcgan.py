"""Learn to make pictures: a generator and a discriminator train each other.

Every so often a sheet of generated pictures is written into the folder of the results.

    python train_dcgan.py --device @cupy:0         # pictures like those of CIFAR-10
    python train_dcgan.py --dataset pictures       # like those in a folder, of 32 by 32 pixels
    python train_dcgan.py --test                   # small pictures of five shapes
"""
import os
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from net import Discriminator, Generator
from shared import compiled, flags, pictures, shapes


class DCGANUpdater(training.updaters.StandardUpdater):
    """Updater of two networks with two losses."""

    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        super().__init__(*args, **kwargs)

    def loss_dis(self, dis, y_fake, y_real):
        batchsize = len(y_fake)
        loss = F.sum(F.softplus(-y_real)) / batchsize + F.sum(F.softplus(y_fake)) / batchsize
        chainer.report({'loss': loss}, dis)
        return loss

    def loss_gen(self, gen, y_fake):
        loss = F.sum(F.softplus(-y_fake)) / len(y_fake)
        chainer.report({'loss': loss}, gen)
        return loss

    def update_core(self):
        batch = self.converter(next(self.get_iterator('main')), self.device)
        x_real = chainer.Variable(batch) / 255.
        z = self.device.send(self.gen.make_hidden(len(x_real)))

        y_real = self.dis(x_real)
        x_fake = self.gen(z)
        y_fake = self.dis(x_fake)

        self.get_optimizer('dis').update(self.loss_dis, self.dis, y_fake, y_real)
        self.get_optimizer('gen').update(self.loss_gen, self.gen, y_fake)


def out_generated_image(gen, rows, columns, seed, out):
    """Return an extension that writes generated pictures, of the same random vectors each time."""
    hidden = np.random.RandomState(seed).uniform(-1, 1, (rows * columns, gen.n_hidden, 1, 1))
    hidden = hidden.astype(chainer.get_dtype())

    @training.make_extension()
    def draw(trainer):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            x = chainer.backends.cuda.to_cpu(gen(gen.xp.asarray(hidden)).array)
        name = f'image{trainer.updater.iteration:0>8}.png'
        pictures.save_grid(os.path.join(out, 'preview', name), x, columns)

    return draw


def make_optimizer(model, alpha=0.0002, beta1=0.5):
    optimizer = chainer.optimizers.Adam(alpha=alpha, beta1=beta1)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0001), 'hook_dec')
    return optimizer


def get_data(args):
    """Return pictures with values from 0 to 255."""
    if args.test:
        return shapes.make_shapes(500, 16)[0] * 255
    if args.dataset is None:
        return chainer.datasets.get_cifar10(withlabel=False, scale=255.)[0]
    names = [name for name in sorted(os.listdir(args.dataset))
             if name.endswith(('.png', '.jpg', '.jpeg'))]
    print(f'{len(names)} pictures')
    return chainer.datasets.ImageDataset(paths=names, root=args.dataset)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=50, epoch=1000,
        test={'epoch': 10, 'batchsize': 25, 'ch': 32, 'n_hidden': 20, 'display_interval': 20,
              'snapshot_interval': 100})
    parser.add_argument('--dataset', '-i', help='folder of pictures')
    parser.add_argument('--n-hidden', type=int, default=100, help='size of the random vectors')
    parser.add_argument('--ch', type=int, default=512, help='channels of the widest layer')
    parser.add_argument('--snapshot-interval', type=int, default=1000,
                        help='iterations between two snapshots and pictures')
    parser.add_argument('--display-interval', type=int, default=100,
                        help='iterations between two lines of the log')
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        Generator.forward = chainer.static_graph(Generator.forward)
        Discriminator.forward = chainer.static_graph(Discriminator.forward)

    train = get_data(args)
    bottom_width = train[0].shape[-1] // 8
    gen = Generator(args.n_hidden, bottom_width, args.ch)
    dis = Discriminator(bottom_width, args.ch)
    gen.to_device(args.device)
    dis.to_device(args.device)

    updater = DCGANUpdater(
        models=(gen, dis), device=args.device,
        iterator=chainer.iterators.SerialIterator(train, args.batchsize),
        optimizer={'gen': make_optimizer(gen), 'dis': make_optimizer(dis)})
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    snapshot_interval = args.snapshot_interval, 'iteration'
    display_interval = args.display_interval, 'iteration'
    trainer.extend(
        extensions.snapshot(filename='snapshot_iter_{.updater.iteration}.npz'),
        trigger=snapshot_interval)
    for name, model in (('gen', gen), ('dis', dis)):
        trainer.extend(
            extensions.snapshot_object(model, name + '_iter_{.updater.iteration}.npz'),
            trigger=snapshot_interval)
    trainer.extend(extensions.LogReport(trigger=display_interval))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'gen/loss', 'dis/loss', 'elapsed_time']), trigger=display_interval)
    trainer.extend(
        out_generated_image(gen, 10, 10, args.seed, args.out), trigger=snapshot_interval)
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static:
        compiled.print_summary(gen)
        compiled.print_summary(dis)


if __name__ == '__main__':
    main()
