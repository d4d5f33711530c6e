"""Tell whether sentences are positive or negative, by a network that follows their grammar.

The recursive network makes a vector for each word, and of the vectors of two parts that belong
together the one of both, up to the whole sentence; each vector is classified. See R. Socher et al.,
"Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank" (EMNLP 2013).

    python train_sentiment.py --train trees/train.txt --valid trees/dev.txt
    python train_sentiment.py --test               # invented judgements of films
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
import trees
from shared import compiled, flags


class RecursiveNet(chainer.Chain):

    def __init__(self, n_vocab, n_units, n_labels):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.join = L.Linear(2 * n_units, n_units)
            self.w = L.Linear(n_units, n_labels)

    def leaf(self, word):
        return self.embed(word)

    def node(self, left, right):
        return F.tanh(self.join(F.concat((left, right))))

    def label(self, v):
        return self.w(v)

    def scores(self, tree):
        """Return the vector of a tree, and lists of the scores and the labels of all its parts."""
        if not tree.children:
            v, scores, labels = self.leaf(self.xp.array([tree.word], np.int32)), [], []
        else:
            (left, *of_left), (right, *of_right) = map(self.scores, tree.children)
            v = self.node(left, right)
            scores, labels = (a + b for a, b in zip(of_left, of_right))
        return v, scores + [self.label(v)], labels + [tree.label]

    def forward(self, *batch):
        """Return the loss of all parts of some trees; the root is the last part of its tree."""
        loss, correct_parts, correct_roots = 0, [], []
        for tree in batch:
            _, scores, labels = self.scores(tree)
            scores = F.concat(scores, axis=0)
            labels = self.xp.array(labels, np.int32)
            loss += F.softmax_cross_entropy(scores, labels, normalize=False) * len(labels)
            correct = chainer.backends.cuda.to_cpu(scores.array.argmax(axis=1) == labels)
            correct_parts.extend(correct)
            correct_roots.append(correct[-1])
        loss /= len(batch)
        chainer.report({'loss': loss, 'parts': np.mean(correct_parts),
                        'sentences': np.mean(correct_roots)}, self)
        return loss


def number_words(trees_of_parts):
    """Put numbers in the place of the words; return how many there are, 0 being an unknown one."""
    numbers = {}
    train, *others = trees_of_parts
    for tree in train:
        for leaf in tree.leaves():
            leaf.word = numbers.setdefault(leaf.word, len(numbers) + 1)
    for part in others:
        for tree in part:
            for leaf in tree.leaves():
                leaf.word = numbers.get(leaf.word, 0)
    return len(numbers) + 1


@chainer.dataset.converter()
def convert(batch, device):
    """Trees stay as they are; the network makes arrays of their words."""
    return tuple(batch)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=25, epoch=400, unit=30, test={'epoch': 10, 'batchsize': 10})
    parser.add_argument('--train', help='trees to train with')
    parser.add_argument('--valid', help='trees to validate with')
    args = flags.parse(parser, argv)
    if not args.test and not (args.train and args.valid):
        parser.error('give --train and --valid, or --test')
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        # Each tree is another graph, but all are made of these pieces.
        RecursiveNet.leaf = chainer.static_graph(RecursiveNet.leaf)
        RecursiveNet.node = chainer.static_graph(RecursiveNet.node)
        RecursiveNet.label = chainer.static_graph(RecursiveNet.label)

    if args.test:
        made = trees.make_trees(250)
        train, valid = made[:200], made[200:]
    else:
        train, valid = trees.read_trees(args.train), trees.read_trees(args.valid)
    print(f'for example: {train[0]}')
    n_vocab = number_words((train, valid))

    model = RecursiveNet(n_vocab, args.unit, trees.N_LABELS)
    model.to_device(args.device)
    optimizer = chainer.optimizers.AdaGrad(lr=0.1)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0001))

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    valid_iter = chainer.iterators.SerialIterator(
        valid, args.batchsize, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(
        train_iter, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(
        valid_iter, model, converter=convert, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'main/parts', 'main/sentences',
         'validation/main/parts', 'validation/main/sentences', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
