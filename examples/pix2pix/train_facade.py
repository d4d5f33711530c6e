"""Learn to paint houses from maps of their parts, by conditional adversarial networks.

Pictures are written every so often: maps, what is painted, and the houses themselves.

    python train_facade.py --dataset facades/base --device @cupy:0
    python train_facade.py --test                  # small invented houses
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
import facades
from net import Discriminator, Generator
from shared import compiled, flags, pictures


class FacadeUpdater(training.updaters.StandardUpdater):
    """Updater of the generator and the discriminator."""

    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        self.weight = kwargs.pop('weight')
        super().__init__(*args, **kwargs)

    def loss_gen(self, y, truth, judged):
        likeness = F.mean_absolute_error(y, truth)
        adversarial = F.mean(F.softplus(-judged))
        loss = self.weight * likeness + adversarial
        chainer.report({'loss': loss, 'l1': likeness}, self.gen)
        return loss

    def loss_dis(self, judged_real, judged_fake):
        loss = (F.mean(F.softplus(-judged_real)) + F.mean(F.softplus(judged_fake))) / 2
        chainer.report({'loss': loss}, self.dis)
        return loss

    def update_core(self):
        x, truth = self.converter(next(self.get_iterator('main')), self.device)
        y = self.gen(x)
        judged_fake = self.dis(x, y)
        judged_real = self.dis(x, truth)
        self.get_optimizer('gen').update(self.loss_gen, y, truth, judged_fake)
        self.get_optimizer('dis').update(self.loss_dis, judged_real, judged_fake)


def out_image(gen, examples, device, out):
    """Return an extension that writes maps, what is painted, and the houses, side by side."""
    x, truth = chainer.dataset.concat_examples(examples)

    @training.make_extension()
    def draw(trainer):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            y = chainer.backends.cuda.to_cpu(gen(device.send(x)).array)
        grey = x.argmax(axis=1)[:, None].repeat(3, axis=1) / (facades.N_LABELS - 1)
        name = f'image_{trainer.updater.iteration:0>8}.png'
        rows = np.concatenate([grey, (y + 1) / 2, (truth + 1) / 2])
        pictures.save_grid(os.path.join(out, 'preview', name), rows, len(x))

    return draw


def make_optimizer(model, alpha=0.0002, beta1=0.5):
    optimizer = chainer.optimizers.Adam(alpha=alpha, beta1=beta1)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.00001), 'hook_dec')
    return optimizer


def get_data(args):
    """Return pairs to train with and pairs to draw."""
    if args.test:
        maps, images = facades.make_houses(88, args.size)
        pairs = [(facades.one_hot(labels), image) for labels, image in zip(maps, images)]
        return pairs[:80], pairs[80:]
    pairs = facades.Facades(args.dataset, args.size)
    return pairs[:-8], pairs[-8:]


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=1, epoch=200,
        test={'epoch': 6, 'batchsize': 4, 'size': 32, 'ch': 8, 'alpha': 0.002,
              'display_interval': 20, 'snapshot_interval': 60})
    parser.add_argument('--dataset', '-i', help='folder of pictures and maps')
    parser.add_argument('--size', type=int, default=256, help='pixels of a side, a power of 2')
    parser.add_argument('--ch', type=int, default=64, help='channels of the first layers')
    parser.add_argument('--alpha', type=float, default=0.0002, help='step size of Adam')
    parser.add_argument('--weight', type=float, default=100, help='of the likeness in the loss')
    parser.add_argument('--snapshot-interval', type=int, default=1000,
                        help='iterations between two snapshots and pictures')
    parser.add_argument('--display-interval', type=int, default=100,
                        help='iterations between two lines of the log')
    args = flags.parse(parser, argv)
    if not args.test and args.dataset is None:
        parser.error('give --dataset, or --test')
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        Generator.forward = chainer.static_graph(Generator.forward)
        Discriminator.forward = chainer.static_graph(Discriminator.forward)

    train, shown = get_data(args)
    n_down = args.size.bit_length() - 2  # down to 2 by 2 pixels
    gen = Generator(facades.N_LABELS, 3, args.ch, n_down)
    dis = Discriminator(facades.N_LABELS, 3, args.ch)
    gen.to_device(args.device)
    dis.to_device(args.device)

    updater = FacadeUpdater(
        models=(gen, dis), weight=args.weight, device=args.device,
        iterator=chainer.iterators.SerialIterator(train, args.batchsize),
        optimizer={'gen': make_optimizer(gen, args.alpha),
                   'dis': make_optimizer(dis, args.alpha)})
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    snapshot_interval = args.snapshot_interval, 'iteration'
    display_interval = args.display_interval, 'iteration'
    trainer.extend(
        extensions.snapshot(filename='snapshot_iter_{.updater.iteration}.npz'),
        trigger=snapshot_interval)
    trainer.extend(
        extensions.snapshot_object(gen, 'gen_iter_{.updater.iteration}.npz'),
        trigger=snapshot_interval)
    trainer.extend(extensions.LogReport(trigger=display_interval))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'gen/loss', 'gen/l1', 'dis/loss', 'elapsed_time']),
        trigger=display_interval)
    trainer.extend(out_image(gen, shown, args.device, args.out), trigger=snapshot_interval)
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static:
        compiled.print_summary(gen)
        compiled.print_summary(dis)


if __name__ == '__main__':
    main()
