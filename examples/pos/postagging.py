"""Tell the parts of speech of the words in sentences, by a conditional random field.

A network gives scores of the tags of each word. The random field (CRF1d) adds scores of tags that
follow each other, and finds the best sequence for the whole sentence.

    python postagging.py --train train.txt --valid valid.txt
    python postagging.py --test                    # invented sentences with ambiguous words
"""
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tagged
from shared import batches, compiled, flags


class CRF(chainer.Chain):
    """Scores of the words' tags, by their vectors, and of tags that follow each other."""

    def __init__(self, n_vocab, n_units, n_tags):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.score = L.Linear(n_units, n_tags)
            self.crf = L.CRF1d(n_tags)

    def scores(self, xs):
        """Return the scores step by step: those of all first words, of all second words ..."""
        # Sentences must be sorted by length, longest first; those of one length are.
        return [self.score(self.embed(x)) for x in F.transpose_sequence(xs)]

    def loss(self, xs, ys):
        return self.crf(self.scores(xs), F.transpose_sequence(ys))

    def forward(self, xs, ys):
        loss = self.loss(xs, ys)
        correct = sum(int((y == t).sum()) for y, t in zip(self.argmax(xs), ys))
        chainer.report({
            'loss': loss, 'accuracy': correct / sum(len(y) for y in ys)}, self)
        return loss

    def argmax(self, xs):
        """Return the best tags of each sentence."""
        with chainer.no_backprop_mode():
            _, path = self.crf.argmax(self.scores(xs))
            return [y.array for y in F.transpose_sequence(path)]


@chainer.dataset.converter()
def convert(batch, device):
    """Make two lists of arrays of the one mini-batch that the iterator gives."""
    xs, ys = zip(*batch[0])
    return {'xs': [device.send(x) for x in xs], 'ys': [device.send(y) for y in ys]}


def to_arrays(sentences, words, tags):
    """Return pairs of arrays: the numbers of the words (0: unknown) and of the tags."""
    return [(np.array([words.get(word, 0) for word, _ in sentence], np.int32),
             np.array([tags[tag] for _, tag in sentence], np.int32)) for sentence in sentences]


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=30, epoch=20, unit=100, test={'epoch': 6, 'unit': 20, 'batchsize': 10})
    parser.add_argument('--train', help='sentences to train with')
    parser.add_argument('--valid', help='sentences to validate with')
    args = flags.parse(parser, argv)
    if not args.test and not (args.train and args.valid):
        parser.error('give --train and --valid, or --test')
    return args


def show(model, sentences, words, tags):
    """Print sentences with the tags that the model gives them."""
    names = sorted(tags, key=tags.get)
    for sentence in sentences:
        x, _ = to_arrays([sentence], words, tags)[0]
        y, = model.argmax([model.xp.asarray(x)])
        print(' '.join(f'{word}/{names[int(i)]}' for (word, _), i in zip(sentence, y)))


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        CRF.loss = chainer.static_graph(minimize_cache_size=False)(CRF.loss)

    if args.test:
        sentences = tagged.make_sentences(500)
        train, valid = sentences[:400], sentences[400:]
    else:
        train, valid = tagged.read_sentences(args.train), tagged.read_sentences(args.valid)
    words = {word: i + 1 for i, word in enumerate(
        sorted({word for sentence in train for word, _ in sentence}))}
    tags = {tag: i for i, tag in enumerate(
        sorted({tag for sentence in train + valid for _, tag in sentence}))}
    print(f'{len(train)} sentences, {len(words)} words, {len(tags)} tags')

    model = CRF(len(words) + 1, args.unit, len(tags))
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam(0.01)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0001))

    train_iter, valid_iter = (
        chainer.iterators.SerialIterator(
            batches.by_length(to_arrays(part, words, tags), args.batchsize,
                              length=lambda pair: len(pair[0])),
            1, repeat=repeat, shuffle=repeat)
        for part, repeat in ((train, True), (valid, False)))
    updater = training.updaters.StandardUpdater(
        train_iter, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(
        valid_iter, model, converter=convert, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    show(model, valid[:3], words, tags)
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
