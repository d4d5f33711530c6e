"""Learn vectors of words, by the skip-gram model or by continuous bags of words.

Words that stand among the same words get similar vectors. Both models are those of T. Mikolov et
al., "Efficient Estimation of Word Representations in Vector Space" (arXiv:1301.3781). The vectors
are written into ``word2vec.model``; search.py finds similar words.

    python train_word2vec.py --model cbow --out-type ns
    python train_word2vec.py --test && python search.py --words dog bread
"""
import collections
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.initializers as I
import chainer.links as L
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, flags, sentences


class ContinuousBoW(chainer.Chain):
    """Tells a word by the mean of the vectors of the words around it."""

    def __init__(self, n_vocab, n_units, loss_func):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, initialW=I.Uniform(1. / n_units))
            self.loss_func = loss_func

    def forward(self, x, contexts):
        e = self.embed(contexts)
        h = F.sum(e, axis=1) * (1. / contexts.shape[1])
        return self.loss_func(h, x)


class SkipGram(chainer.Chain):
    """Tells a word by the vector of each single word around it."""

    def __init__(self, n_vocab, n_units, loss_func):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, initialW=I.Uniform(1. / n_units))
            self.loss_func = loss_func

    def forward(self, x, contexts):
        e = self.embed(contexts)
        batch_size, n_context, n_units = e.shape
        x = F.broadcast_to(x[:, None], (batch_size, n_context))
        e = F.reshape(e, (batch_size * n_context, n_units))
        x = F.reshape(x, (batch_size * n_context,))
        return self.loss_func(e, x)


class SoftmaxCrossEntropyLoss(chainer.Chain):
    """The loss over all words, after a linear layer."""

    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.out = L.Linear(n_in, n_out, initialW=0)

    def forward(self, x, t):
        return F.softmax_cross_entropy(self.out(x), t)


class Reported(chainer.Chain):
    """A model whose loss goes into the log."""

    def __init__(self, model):
        super().__init__()
        with self.init_scope():
            self.model = model

    def forward(self, x, contexts):
        loss = self.model(x, contexts)
        chainer.report({'loss': loss}, self)
        return loss


class WindowIterator(chainer.dataset.Iterator):
    """Iterator over the words of a text in random order, each with the words around it.

    Each mini-batch is a pair of arrays: the words, of the shape (batch_size,), and the words around
    them, of the shape (batch_size, 2 w), w being drawn for each mini-batch.

    Args:
        dataset: Array of the words' numbers.
        window (int): w is smaller than this.
        batch_size (int): Words in a mini-batch.
        repeat (bool): Whether it goes on after one epoch.
    """

    def __init__(self, dataset, window, batch_size, repeat=True):
        self.dataset = np.array(dataset, np.int32)
        self.window = window
        self.batch_size = batch_size
        self.repeat = repeat
        self.order = np.random.permutation(len(dataset) - window * 2).astype(np.int32) + window
        self.current_position = 0
        self.epoch = 0
        self.is_new_epoch = False

    def __next__(self):
        if not self.repeat and self.epoch > 0:
            raise StopIteration
        end = self.current_position + self.batch_size
        position = self.order[self.current_position:end]
        w = np.random.randint(self.window - 1) + 1
        offset = np.concatenate([np.arange(-w, 0), np.arange(1, w + 1)])
        contexts = self.dataset.take(position[:, None] + offset[None, :])
        center = self.dataset.take(position)

        self.is_new_epoch = end >= len(self.order)
        self.current_position = 0 if self.is_new_epoch else end
        if self.is_new_epoch:
            np.random.shuffle(self.order)
            self.epoch += 1
        return center, contexts

    @property
    def epoch_detail(self):
        return self.epoch + self.current_position / len(self.order)

    def serialize(self, serializer):
        self.current_position = serializer('current_position', self.current_position)
        self.epoch = serializer('epoch', self.epoch)
        self.is_new_epoch = serializer('is_new_epoch', self.is_new_epoch)
        serializer('order', self.order)


@chainer.dataset.converter()
def convert(batch, device):
    center, contexts = batch
    return device.send(center), device.send(contexts)


def make_loss(name, n_units, counts):
    """Return the link that computes the loss."""
    if name == 'hsm':
        tree = L.BinaryHierarchicalSoftmax.create_huffman_tree(counts)
        loss_func = L.BinaryHierarchicalSoftmax(n_units, tree)
        loss_func.W.array[...] = 0
        return loss_func
    if name == 'ns':
        loss_func = L.NegativeSampling(n_units, [counts[w] for w in range(len(counts))], 5)
        loss_func.W.array[...] = 0
        return loss_func
    return SoftmaxCrossEntropyLoss(n_units, len(counts))


def save_vectors(path, words, vectors):
    """Write the vectors as word2vec does: the sizes, then a line for each word."""
    with open(path, 'w', encoding='utf-8') as file:
        file.write('{} {}\n'.format(*vectors.shape))
        for word, vector in zip(words, vectors):
            file.write('{} {}\n'.format(word, ' '.join(map(str, vector))))


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=1000, epoch=20, unit=100,
        test={'epoch': 60, 'batchsize': 500, 'unit': 20})
    parser.add_argument('--window', '-w', type=int, default=5, help='size of the window')
    parser.add_argument('--model', '-m', choices=['skipgram', 'cbow'], default='skipgram')
    parser.add_argument('--out-type', '-t', choices=['hsm', 'ns', 'original'], default='hsm',
                        help='hierarchical softmax, negative sampling, or all words')
    return flags.parse(parser, argv)


def get_data(test):
    """Return the texts to train and to validate, and the numbers of the words."""
    if test:
        train, val, _, numbers = sentences.get_words()
        return train, val, numbers
    train, val, _ = chainer.datasets.get_ptb_words()
    return train, val, chainer.datasets.get_ptb_words_vocabulary()


def main(argv=None):
    args = parse_args(argv)
    network = {'skipgram': SkipGram, 'cbow': ContinuousBoW}[args.model]
    if args.static:
        network.forward = chainer.static_graph(network.forward)

    train, val, numbers = get_data(args.test)
    counts = collections.Counter(np.concatenate([train, val]).tolist())
    print(f'words: {len(numbers)}, length of the text: {len(train)}')

    loss_func = make_loss(args.out_type, args.unit, counts)
    model = Reported(network(len(numbers), args.unit, loss_func))
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)

    train_iter = WindowIterator(train, args.window, args.batchsize)
    val_iter = WindowIterator(val, args.window, args.batchsize, repeat=False)
    updater = training.updaters.StandardUpdater(
        train_iter, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(val_iter, model, converter=convert, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    words = sorted(numbers, key=numbers.get)
    vectors = chainer.backends.cuda.to_cpu(model.model.embed.W.array)
    save_vectors('word2vec.model', words, vectors)
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
