"""Learn sounds, sample by sample, by WaveNet. generate.py makes sounds of the model.

    python train.py --dataset folder_of_wav_files
    python train.py --test                         # tones
"""
import json
import os
import pathlib
import sys

import numpy as np

import chainer
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import net
import sounds
from shared import compiled, flags


class Pieces(chainer.dataset.DatasetMixin):
    """Random pieces of sounds, as levels."""

    def __init__(self, samples, length, n_levels):
        self.levels = [sounds.mu_law(x, n_levels) for x in samples if len(x) >= length]
        self.length = length

    def __len__(self):
        return len(self.levels)

    def get_example(self, i):
        start = np.random.randint(len(self.levels[i]) - self.length + 1)
        return self.levels[i][start:start + self.length]


def read_folder(folder):
    paths = sorted(pathlib.Path(folder).rglob('*.wav'))
    if not paths:
        raise SystemExit(f'There are no .wav files in {folder}')
    return [sounds.read_wav(path) for path in paths]


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=4, epoch=100,
        test={'epoch': 20, 'batchsize': 10, 'length': 200, 'n_loop': 1, 'n_layer': 5,
              'residual_channels': 16, 'skip_channels': 32, 'quantize': 64})
    parser.add_argument('--dataset', '-i', help='folder of WAV files')
    add_model_flags(parser)
    parser.add_argument('--length', type=int, default=7680, help='samples of a piece')
    args = flags.parse(parser, argv)
    if not args.test and args.dataset is None:
        parser.error('give --dataset, or --test')
    return args


def add_model_flags(parser):
    parser.add_argument('--n-loop', type=int, default=4, help='rounds of dilations')
    parser.add_argument('--n-layer', type=int, default=10, help='dilations in a round')
    parser.add_argument('--residual-channels', type=int, default=64, help='in the blocks')
    parser.add_argument('--skip-channels', type=int, default=256, help='to the output')
    parser.add_argument('--quantize', type=int, default=256, help='levels of a sample')


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        net.WaveNet.scores = chainer.static_graph(net.WaveNet.scores)

    samples = sounds.make_tones(120, 1000, 4000) if args.test else read_folder(args.dataset)
    pieces = Pieces(samples, args.length, args.quantize)
    n_valid = max(1, len(pieces) // 10)
    train, valid = chainer.datasets.split_dataset_random(pieces, len(pieces) - n_valid, seed=0)

    size = (args.n_loop, args.n_layer, args.residual_channels, args.skip_channels, args.quantize)
    model = net.WaveNet(*size)
    print(f'a sample is told by the {model.n_past + 1} before it')
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam(1e-2 if args.test else 1e-4)
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    valid_iter = chainer.iterators.SerialIterator(
        valid, args.batchsize, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(valid_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    with open(os.path.join(args.out, 'model.json'), 'w') as file:
        json.dump(size, file)
    chainer.serializers.save_npz(os.path.join(args.out, 'model.npz'), model)
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
