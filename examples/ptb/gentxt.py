"""Let a language model that train_ptb.py has trained write a sentence.

    python gentxt.py --model model.npz --primetext the --test
"""
import argparse
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from net import RNNForLM
from shared import flags, sentences


def write(model, ids, words, length, sample):
    """Return the words that the model gives after some others.

    Args:
        ids (list of int): The words to begin with.
        words (dict): Words by their numbers.
        length (int): The largest number of words; the end of a sentence ends it earlier.
        sample (bool): Whether words are drawn by their probability; otherwise each is the
            likeliest.
    """
    model.reset_state()
    for i in ids:
        y = model(model.xp.array([i], np.int32))
    written = []
    while len(written) < length:
        p = chainer.backends.cuda.to_cpu(F.softmax(y).array[0]).astype(np.float64)
        i = np.random.choice(len(p), p=p / p.sum()) if sample else p.argmax()
        if words[i] == '<eos>':
            break
        written.append(words[i])
        y = model(model.xp.array([i], np.int32))
    return written


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('--model', '-m', default='model.npz', help='file of the model')
    parser.add_argument('--primetext', '-p', default='the', help='words to begin with')
    parser.add_argument('--length', '-l', type=int, default=20, help='words to write, at most')
    parser.add_argument('--sample', type=int, default=1, help='0: always the likeliest word')
    parser.add_argument('--seed', '-s', type=int, default=123, help='of the random numbers')
    parser.add_argument('--unit', '-u', type=int, help='units of a layer (650; with --test 50)')
    flags.add_device(parser)
    parser.add_argument('--test', action='store_true', help='the model is one of the small text')
    args = parser.parse_args(argv)
    flags.use_device(parser, args)
    return args


def main(argv=None):
    args = parse_args(argv)
    np.random.seed(args.seed)

    numbers = sentences.get_words()[-1] if args.test else (
        chainer.datasets.get_ptb_words_vocabulary())
    model = L.Classifier(RNNForLM(len(numbers), args.unit or (50 if args.test else 650)))
    chainer.serializers.load_npz(args.model, model)
    model.to_device(args.device)

    begin = args.primetext.split()
    unknown = [word for word in begin if word not in numbers]
    if unknown:
        raise SystemExit('The model does not know: {}'.format(', '.join(unknown)))
    words = {i: word for word, i in numbers.items()}
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        written = write(
            model.predictor, [numbers[word] for word in begin], words, args.length, args.sample)
    print(' '.join(begin + written))


if __name__ == '__main__':
    main()
