"""Write a sentence about each of some pictures, with the model that train.py has written.

    python predict.py --model result result/picture0.png result/picture1.png
"""
import argparse
import glob
import json
import os
import pathlib
import sys

import numpy as np

import chainer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import captions
import net
from shared import flags


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('pictures', nargs='*', help='files of the pictures')
    parser.add_argument('--test', action='store_true', help='the pictures that train.py has drawn')
    parser.add_argument('--model', '-m', default='result', help='folder of the model')
    flags.add_device(parser)
    args = parser.parse_args(argv)
    flags.use_device(parser, args)
    if args.test and not args.pictures:
        args.pictures = sorted(glob.glob(os.path.join(args.model, 'picture*.png')))
    if not args.pictures:
        parser.error('name the files of some pictures')

    with open(os.path.join(args.model, 'model.json'), encoding='utf-8') as file:
        setup = json.load(file)
    vocabulary = setup['vocabulary']
    words = {i: word for word, i in vocabulary.items()}
    images = np.stack([captions.read_image(path, setup['size']) for path in args.pictures])
    model = net.CaptionModel(len(vocabulary), setup['unit'])
    # The sizes of some parameters follow from the first picture.
    model.encoder(images[:1])
    chainer.serializers.load_npz(os.path.join(args.model, 'model.npz'), model)
    model.to_device(args.device)

    sentences = model.describe(
        args.device.send(images), vocabulary[captions.BEGIN], vocabulary[captions.END])
    for path, sentence in zip(args.pictures, sentences):
        print('{}: {}'.format(path, ' '.join(words[i] for i in sentence)))


if __name__ == '__main__':
    main()
