"""Train a compiled language model, unrolled over the words of an update.

``../../ptb/train_ptb.py --static`` compiles one step, and replays it for each word. Here the loop
over the words is inside of the compiled method, so that the program is the whole unrolled network.
The state of the LSTM links goes from one update to the next, as it does define-by-run.

    python train_ptb.py --bproplen 20
    python train_ptb.py --test                     # a small text of invented sentences
"""
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import static_graph, training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from ptb.sequences import ParallelSequentialIterator
from shared import flags, sentences


class RNNForLMUnrolled(chainer.Chain):
    """Two layers of LSTM that read several words in a call."""

    def __init__(self, n_vocab, n_units):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.l1 = L.LSTM(n_units, n_units)
            self.l2 = L.LSTM(n_units, n_units)
            self.l3 = L.Linear(n_units, n_vocab)

        for param in self.params():
            param.array[...] = np.random.uniform(-0.1, 0.1, param.shape)

    def reset_state(self):
        self.l1.reset_state()
        self.l2.reset_state()

    @static_graph
    def forward(self, words):
        """Return the scores of the next words, for each of a list of arrays of words."""
        outputs = []
        for x in words:
            h0 = self.embed(x)
            h1 = self.l1(F.dropout(h0))
            h2 = self.l2(F.dropout(h1))
            outputs.append(self.l3(F.dropout(h2)))
        return outputs


class LossOfSequence(chainer.Chain):
    """The mean loss over the words of a sequence."""

    def __init__(self, rnn):
        super().__init__()
        with self.init_scope():
            self.rnn = rnn

    def forward(self, words, next_words):
        outputs = self.rnn(words)
        loss = sum(F.softmax_cross_entropy(y, t) for y, t in zip(outputs, next_words))
        chainer.report({'loss': loss / len(words)}, self)
        return loss


@chainer.dataset.converter()
def convert(batches, device):
    """Make two lists of arrays, one array for each step, of lists of pairs of words."""
    pairs = [chainer.dataset.concat_examples(batch, device) for batch in batches]
    return tuple(map(list, zip(*pairs)))


class SequenceIterator(ParallelSequentialIterator):
    """Iterator that reads several words at each place for a mini-batch."""

    def __init__(self, dataset, batch_size, length, repeat=True):
        super().__init__(dataset, batch_size, repeat)
        self.length = length

    def __next__(self):
        batches, new_epoch = [], False
        for _ in range(self.length):
            batches.append(super().__next__())
            new_epoch = new_epoch or self.is_new_epoch
        self.is_new_epoch = new_epoch
        return batches


class SequenceUpdater(training.updaters.StandardUpdater):
    """Updater that cuts the graph after each update."""

    def update_core(self):
        optimizer = self.get_optimizer('main')
        words, next_words = self.converter(next(self.get_iterator('main')), self.device)
        loss = optimizer.target(words, next_words)
        optimizer.target.cleargrads()
        loss.backward()
        loss.unchain_backward()
        optimizer.update()


def perplexity(result):
    """Add the perplexities to an entry of the log."""
    result['perplexity'] = np.exp(result['main/loss'])
    if 'validation/main/loss' in result:
        result['val_perplexity'] = np.exp(result['validation/main/loss'])


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=20, epoch=39, unit=650, test={'epoch': 10, 'unit': 50}, static=False)
    parser.add_argument('--bproplen', '-l', type=int, default=25, help='words of one update')
    parser.add_argument('--gradclip', '-c', type=float, default=5, help='largest gradient norm')
    return flags.parse(parser, argv)


def get_data(test):
    """Return the texts to train and to validate, and how many words there are."""
    if test:
        train, val, _, words = sentences.get_words()
        return train, val, len(words)
    train, val, _ = chainer.datasets.get_ptb_words()
    return train, val, max(train) + 1


def main(argv=None):
    args = parse_args(argv)
    train, val, n_vocab = get_data(args.test)
    train_iter = SequenceIterator(train, args.batchsize, args.bproplen)
    # Whole sequences only: what is left at the end of the text is not long enough.
    val_iter = SequenceIterator(val[:len(val) // args.bproplen * args.bproplen], 1,
                                args.bproplen, repeat=False)

    model = LossOfSequence(RNNForLMUnrolled(n_vocab, args.unit))
    model.to_device(args.device)
    optimizer = chainer.optimizers.SGD(lr=1.0)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(args.gradclip))

    updater = SequenceUpdater(train_iter, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    eval_model = model.copy()  # the same parameters, another state
    trainer.extend(extensions.Evaluator(
        val_iter, eval_model, converter=convert, device=args.device,
        eval_hook=lambda _: eval_model.rnn.reset_state()))
    interval = (1, 'epoch') if args.test else (500, 'iteration')
    trainer.extend(extensions.LogReport(postprocess=perplexity, trigger=interval))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'perplexity', 'val_perplexity', 'elapsed_time']), trigger=interval)
    trainer.extend(extensions.snapshot())
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    print(model.rnn.schedule_manager.report())


if __name__ == '__main__':
    main()
