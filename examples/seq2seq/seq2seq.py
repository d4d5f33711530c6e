"""Translate sentences: one LSTM network reads a sentence, another one writes it.

The model is that of I. Sutskever, O. Vinyals and Q. V. Le, "Sequence to Sequence Learning with
Neural Networks" (arXiv:1409.3215). It reads files with a sentence on each line, and vocabularies
with a word on each line.

    python seq2seq.py train.en train.fr vocab.en vocab.fr \\
        --validation-source valid.en --validation-target valid.fr
    python seq2seq.py --test                       # numbers in English and in French words
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
from bleu import corpus_bleu
from make_corpus import make_corpus
from shared import compiled, flags

UNK = 0
EOS = 1


def sequence_embed(embed, xs):
    """Embed a list of sequences by one call."""
    sections = np.cumsum([len(x) for x in xs[:-1]])
    return F.split_axis(embed(F.concat(xs, axis=0)), sections, 0)


class Seq2seq(chainer.Chain):

    def __init__(self, n_layers, n_source_vocab, n_target_vocab, n_units):
        super().__init__()
        with self.init_scope():
            self.embed_x = L.EmbedID(n_source_vocab, n_units)
            self.embed_y = L.EmbedID(n_target_vocab, n_units)
            self.encoder = L.NStepLSTM(n_layers, n_units, n_units, 0.1)
            self.decoder = L.NStepLSTM(n_layers, n_units, n_units, 0.1)
            self.W = L.Linear(n_units, n_target_vocab)

    def encode(self, xs):
        """Read sentences, backwards; return the state of the network."""
        h, c, _ = self.encoder(None, None, sequence_embed(self.embed_x, [x[::-1] for x in xs]))
        return h, c

    def forward(self, xs, ys):
        eos = self.xp.array([EOS], np.int32)
        ys_in = [F.concat([eos, y], axis=0) for y in ys]
        ys_out = [F.concat([y, eos], axis=0) for y in ys]

        h, c = self.encode(xs)
        _, _, os = self.decoder(h, c, sequence_embed(self.embed_y, ys_in))

        # One product of matrices for all sentences is faster than one for each.
        concat_os = F.concat(os, axis=0)
        concat_ys_out = F.concat(ys_out, axis=0)
        loss = F.sum(F.softmax_cross_entropy(
            self.W(concat_os), concat_ys_out, reduce='no')) / len(xs)

        n_words = len(concat_ys_out)
        perplexity = self.xp.exp(loss.array * len(xs) / n_words)
        chainer.report({'loss': loss, 'perp': perplexity}, self)
        return loss

    def step(self, h, c, words):
        """Write one word of each sentence; return the state and the scores of the next words."""
        inputs = F.split_axis(self.embed_y(words), len(words), 0)
        h, c, os = self.decoder(h, c, inputs)
        return h, c, self.W(F.concat(os, axis=0))

    def translate(self, xs, max_length=100):
        """Return the translations, a list of arrays; each word is the one with the best score."""
        with chainer.no_backprop_mode(), chainer.using_config('train', False):
            h, c = self.encode(xs)
            words = self.xp.full(len(xs), EOS, np.int32)
            written = []
            ended = self.xp.zeros(len(xs), bool)
            while len(written) < max_length and not ended.all():
                h, c, scores = self.step(h, c, words)
                words = scores.array.argmax(axis=1).astype(np.int32)
                written.append(words)
                ended |= words == EOS
        sentences = chainer.backends.cuda.to_cpu(self.xp.stack(written)).T
        return [words[:np.append(words, EOS).tolist().index(EOS)] for words in sentences]


@chainer.dataset.converter()
def convert(batch, device):
    """Make two lists of arrays on the device of a list of pairs."""
    xs, ys = zip(*batch)
    return {'xs': [device.send(x) for x in xs], 'ys': [device.send(y) for y in ys]}


class CalculateBleu(training.Extension):
    """Extension that reports how good the translations of other sentences are."""

    trigger = 1, 'epoch'
    priority = training.PRIORITY_WRITER

    def __init__(self, model, test_data, key, device, batch=100, max_length=100):
        self.model = model
        self.test_data = test_data
        self.key = key
        self.device = device
        self.batch = batch
        self.max_length = max_length

    def __call__(self, trainer):
        references, hypotheses = [], []
        for i in range(0, len(self.test_data), self.batch):
            sources, targets = zip(*self.test_data[i:i + self.batch])
            references.extend(y.tolist() for y in targets)
            sources = [self.device.send(x) for x in sources]
            hypotheses.extend(
                y.tolist() for y in self.model.translate(sources, self.max_length))
        chainer.report({self.key: corpus_bleu(references, hypotheses)})


def load_vocabulary(path):
    with open(path, encoding='utf-8') as file:
        ids = {line.strip(): i + 2 for i, line in enumerate(file)}
    ids.update({'<UNK>': UNK, '<EOS>': EOS})
    return ids


def to_ids(vocabulary, line):
    return np.array([vocabulary.get(word, UNK) for word in line.split()], np.int32)


def load_pairs(source, target, source_ids, target_ids, source_lengths, target_lengths):
    """Return the pairs of sentences (arrays) whose lengths are in given ranges."""
    with open(source, encoding='utf-8') as xs, open(target, encoding='utf-8') as ys:
        pairs = [(to_ids(source_ids, x), to_ids(target_ids, y)) for x, y in zip(xs, ys)]
    return [(x, y) for x, y in pairs
            if len(x) in source_lengths and len(y) in target_lengths]


def unknown_ratio(sentences):
    return sum((s == UNK).sum() for s in sentences) / sum(s.size for s in sentences)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, epoch=20, unit=1024,
        test={'unit': 64, 'layer': 1, 'log_interval': 15, 'validation_interval': 60,
              'learnrate': 0.01})
    add = parser.add_argument
    add('SOURCE', nargs='?', help='source sentence list')
    add('TARGET', nargs='?', help='target sentence list')
    add('SOURCE_VOCAB', nargs='?', help='source vocabulary')
    add('TARGET_VOCAB', nargs='?', help='target vocabulary')
    add('--validation-source', help='source sentence list for validation')
    add('--validation-target', help='target sentence list for validation')
    add('--save', '-s', help='file of the snapshot at the end')
    add('--layer', '-l', type=int, default=3, help='layers of each network')
    add('--learnrate', type=float, default=0.001, help="Adam's alpha")
    for side in ('source', 'target'):
        add(f'--min-{side}-sentence', type=int, default=1, help='words at least')
        add(f'--max-{side}-sentence', type=int, default=50, help='words at most')
    add('--log-interval', type=int, default=200, help='iterations between two lines of the log')
    add('--validation-interval', type=int, default=4000, help='iterations between two tests')
    args = flags.parse(parser, argv)
    if args.test:
        folder = make_corpus(pathlib.Path(args.out) / 'corpus')
        args.SOURCE, args.TARGET = folder / 'train.en', folder / 'train.fr'
        args.SOURCE_VOCAB, args.TARGET_VOCAB = folder / 'vocab.en', folder / 'vocab.fr'
        args.validation_source, args.validation_target = folder / 'valid.en', folder / 'valid.fr'
    elif args.TARGET_VOCAB is None:
        parser.error('give SOURCE TARGET SOURCE_VOCAB TARGET_VOCAB, or --test')
    return args


def extend_by_translations(trainer, model, test_data, source_ids, target_ids, args):
    """Let the trainer compute BLEU, and show one translation each time."""
    source_words = {i: word for word, i in source_ids.items()}
    target_words = {i: word for word, i in target_ids.items()}

    @training.make_extension()
    def translate(trainer):
        source, target = test_data[np.random.choice(len(test_data))]
        result, = model.translate([args.device.send(source)])
        print('# source : ' + ' '.join(source_words[i] for i in source))
        print('# result : ' + ' '.join(target_words[i] for i in result))
        print('# expect : ' + ' '.join(target_words[i] for i in target))

    interval = args.validation_interval, 'iteration'
    trainer.extend(translate, trigger=interval)
    trainer.extend(
        CalculateBleu(model, test_data, 'validation/main/bleu', args.device), trigger=interval)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        # The sentences of each mini-batch have other lengths; a step of writing is always the same.
        Seq2seq.step = chainer.static_graph(Seq2seq.step)

    source_ids = load_vocabulary(args.SOURCE_VOCAB)
    target_ids = load_vocabulary(args.TARGET_VOCAB)
    source_lengths = range(args.min_source_sentence, args.max_source_sentence + 1)
    target_lengths = range(args.min_target_sentence, args.max_target_sentence + 1)
    train_data = load_pairs(args.SOURCE, args.TARGET, source_ids, target_ids,
                            source_lengths, target_lengths)
    xs, ys = zip(*train_data)
    print(f'Source vocabulary size: {len(source_ids)}')
    print(f'Target vocabulary size: {len(target_ids)}')
    print(f'Train data size: {len(train_data)}')
    print(f'Train source unknown ratio: {unknown_ratio(xs) * 100:.2f}%')
    print(f'Train target unknown ratio: {unknown_ratio(ys) * 100:.2f}%')

    model = Seq2seq(args.layer, len(source_ids), len(target_ids), args.unit)
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam(args.learnrate)
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train_data, args.batchsize)
    updater = training.updaters.StandardUpdater(
        train_iter, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    if args.validation_source and args.validation_target:
        test_data = load_pairs(args.validation_source, args.validation_target, source_ids,
                               target_ids, source_lengths, target_lengths)
        extend_by_translations(trainer, model, test_data, source_ids, target_ids, args)
    log_interval = args.log_interval, 'iteration'
    trainer.extend(extensions.LogReport(trigger=log_interval))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'main/loss', 'main/perp', 'validation/main/bleu', 'elapsed_time']),
        trigger=log_interval)
    trainer.extend(extensions.snapshot(filename='snapshot_iter_{.updater.iteration}'),
                   trigger=(args.validation_interval, 'iteration'))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    if args.save:
        chainer.serializers.save_npz(args.save, trainer)
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
