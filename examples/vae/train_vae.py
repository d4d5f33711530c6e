"""Learn to make handwritten digits, by a variational autoencoder.

Pictures are written into the folder of the results: digits of the training and of the test set
beside what the network makes of them, and digits that it has invented.

    python train_vae.py --device @cupy:0
    python train_vae.py --test                     # small digits that come along
"""
import math
import os
import pathlib
import sys

import chainer
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import net
from shared import compiled, digits, flags, pictures


def draw(model, train, test, out):
    """Write the pictures."""
    side = math.isqrt(len(train[0]))

    def save(name, x, columns):
        x = chainer.backends.cuda.to_cpu(x)
        pictures.save_grid(os.path.join(out, name), x.reshape(-1, 1, side, side), columns)

    with chainer.using_config('train', False), chainer.no_backprop_mode():
        for name, part in (('train', train), ('test', test)):
            x = model.xp.asarray(part[:10])
            again = model.decoder(model.encoder(x).mean).mean.array
            save(name + '.png', model.xp.concatenate([x, again]), 10)
        z = model.prior().sample(20)
        save('sampled.png', model.decoder(z).mean.array, 10)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=100, unit=500, test={'epoch': 30, 'unit': 64})
    parser.add_argument('--dim-z', '-z', type=int, default=20, help='size of the latent vectors')
    parser.add_argument('--beta', type=float, default=1.0, help='weight of the KL divergence')
    parser.add_argument('-k', type=int, default=1, help='latent vectors drawn for each picture')
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        net.VAE.bound = chainer.static_graph(net.VAE.bound)

    get_data = digits.get_digits if args.test else chainer.datasets.get_mnist
    train, test = get_data(withlabel=False)

    model = net.VAE(train.shape[1], args.dim_z, args.unit, args.beta, args.k)
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(
        test, args.batchsize, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/reconstr', 'main/kl_penalty', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    draw(model, train, test, args.out)
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
