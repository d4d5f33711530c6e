"""Classify texts, a line each, with the model that train_text_classifier.py has written.

    echo "they never baked some bread" | python run_text_classifier.py --model-setup result
    python run_text_classifier.py --test           # the same text
"""
import argparse
import json
import os
import pathlib
import sys

import chainer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import nets
import texts
from shared import flags


def load(folder):
    """Return the model in a folder, and what its numbers mean."""
    with open(os.path.join(folder, 'args.json'), encoding='utf-8') as file:
        setup = json.load(file)
    encoder = nets.ENCODERS[setup['model']](
        setup['layer'], len(setup['vocabulary']) + 2, setup['unit'], setup['dropout'])
    model = nets.TextClassifier(encoder, len(setup['classes']), setup['unit'])
    chainer.serializers.load_npz(os.path.join(folder, 'best_model.npz'), model)
    return model, setup


def main(argv=None, lines=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--model-setup', default='result', help='folder of the model')
    parser.add_argument('--test', action='store_true', help='classify a text that comes along')
    flags.add_device(parser)
    args = parser.parse_args(argv)
    if args.test and lines is None:
        lines = ['they never baked some bread']
    flags.use_device(parser, args)
    model, setup = load(args.model_setup)
    model.to_device(args.device)

    for line in sys.stdin if lines is None else lines:
        x = args.device.send(texts.to_array(texts.split(line), setup['vocabulary']))
        p = model.predict([x])[0]
        print('{:.4f} {} : {}'.format(
            float(p.max()), setup['classes'][int(p.argmax())], line.strip()))


if __name__ == '__main__':
    main()
