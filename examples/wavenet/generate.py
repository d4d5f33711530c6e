"""Make a sound with the model that train.py has written.

The sound goes on where a WAV file, or a tone, ends.

    python generate.py --model result --input begin.wav --output sound.wav --length 16000
"""
import argparse
import json
import os
import pathlib
import sys

import numpy as np

import chainer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import net
import sounds
from shared import flags


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('--model', '-m', default='result', help='folder of the model')
    parser.add_argument('--input', '-i', help='WAV file to go on from; a tone if not given')
    parser.add_argument('--output', '-o', default='generated.wav', help='WAV file to write')
    parser.add_argument('--length', '-l', type=int, default=1000, help='samples to make')
    parser.add_argument('--rate', type=int, default=4000, help='samples a second')
    parser.add_argument('--seed', type=int, default=0, help='of the random numbers')
    parser.add_argument('--test', action='store_true', help='changes nothing: as short as can be')
    parser.add_argument('--static', action='store_true', help='compile the network')
    flags.add_device(parser)
    args = parser.parse_args(argv)
    flags.use_device(parser, args)
    return args


def main(argv=None):
    args = parse_args(argv)
    np.random.seed(args.seed)
    if args.static:
        net.WaveNet.scores = chainer.static_graph(net.WaveNet.scores)

    with open(os.path.join(args.model, 'model.json')) as file:
        model = net.WaveNet(*json.load(file))
    chainer.serializers.load_npz(os.path.join(args.model, 'model.npz'), model)
    model.to_device(args.device)

    n_begin = model.n_past + 1
    begin = sounds.read_wav(args.input) if args.input else (
        sounds.make_tones(1, n_begin, args.rate)[0])
    if len(begin) < n_begin:
        raise SystemExit(f'{args.input} is shorter than {n_begin} samples')
    levels = model.generate(sounds.mu_law(begin, model.n_levels)[None], args.length)
    sounds.write_wav(args.output, sounds.inverse_mu_law(levels[0], model.n_levels), args.rate)
    print(f'{levels.shape[1]} samples written to {args.output}')


if __name__ == '__main__':
    main()
