"""Translate sentences: the network that reads is in one process, the one that writes in another.

The state of the first one is sent to the second one, and its gradient back. More processes are
several pairs, each with a part of the data. Data and flags are those of ../../seq2seq/seq2seq.py.

    mpiexec -n 2 python seq2seq_mp1.py train.en train.fr vocab.en vocab.fr
    mpiexec -n 4 python seq2seq_mp1.py --test      # numbers in English and in French words
"""
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'seq2seq'))
from make_corpus import make_corpus
from seq2seq import EOS, convert, load_pairs, load_vocabulary, sequence_embed
from shared import flags, processes


class Encoder(chainer.Chain):
    """Reads sentences, backwards; what comes out stands for what was sent."""

    def __init__(self, pair, n_layers, n_vocab, n_units):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.rnn = chainermn.links.create_multi_node_n_step_rnn(
                L.NStepLSTM(n_layers, n_units, n_units, 0.1), pair, rank_out=1)

    def forward(self, xs, ys):
        _, _, _, delegate = self.rnn(sequence_embed(self.embed, [x[::-1] for x in xs]))
        return delegate


class Decoder(chainer.Chain):
    """Goes on from the state of the other network, and writes."""

    def __init__(self, pair, n_layers, n_vocab, n_units):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.rnn = chainermn.links.create_multi_node_n_step_rnn(
                L.NStepLSTM(n_layers, n_units, n_units, 0.1), pair, rank_in=0)
            self.W = L.Linear(n_units, n_vocab)

    def forward(self, xs, ys):
        eos = self.xp.array([EOS], np.int32)
        ys_in = [F.concat([eos, y], axis=0) for y in ys]
        ys_out = F.concat([F.concat([y, eos], axis=0) for y in ys], axis=0)
        _, _, os, _ = self.rnn(sequence_embed(self.embed, ys_in))
        loss = F.sum(F.softmax_cross_entropy(
            self.W(F.concat(os, axis=0)), ys_out, reduce='no')) / len(ys)
        chainer.report(
            {'loss': loss, 'perp': self.xp.exp(loss.array * len(ys) / len(ys_out))}, self)
        return loss


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, epoch=20, unit=1024, static=False,
        test={'epoch': 2, 'unit': 32, 'layer': 1, 'log_interval': 5, 'learnrate': 0.01})
    processes.add_flags(parser)
    add = parser.add_argument
    add('SOURCE', nargs='?', help='source sentence list')
    add('TARGET', nargs='?', help='target sentence list')
    add('SOURCE_VOCAB', nargs='?', help='source vocabulary')
    add('TARGET_VOCAB', nargs='?', help='target vocabulary')
    add('--layer', '-l', type=int, default=3, help='layers of each network')
    add('--learnrate', type=float, default=0.001, help="Adam's alpha")
    add('--log-interval', type=int, default=200, help='iterations between two lines of the log')
    args = flags.parse(parser, argv)
    if not args.test and args.TARGET_VOCAB is None:
        parser.error('give SOURCE TARGET SOURCE_VOCAB TARGET_VOCAB, or --test')
    return parser, args


def load_data(args):
    if args.test:
        folder = make_corpus(pathlib.Path(args.out) / 'corpus')
        args.SOURCE, args.TARGET = folder / 'train.en', folder / 'train.fr'
        args.SOURCE_VOCAB, args.TARGET_VOCAB = folder / 'vocab.en', folder / 'vocab.fr'
    ids = [load_vocabulary(path) for path in (args.SOURCE_VOCAB, args.TARGET_VOCAB)]
    pairs = load_pairs(args.SOURCE, args.TARGET, *ids, range(1, 51), range(1, 51))
    return pairs, [len(each) for each in ids]


def main(argv=None):
    parser, args = parse_args(argv)
    comm = processes.make_communicator(parser, args)
    pair, peers = processes.split_in_pairs(comm)

    # One process reads; the first one of each pair gets a part, and shares it with the second one.
    data, vocabularies = comm.bcast_obj(load_data(args) if comm.rank == 0 else None)
    part = chainermn.scatter_dataset(data, peers, shuffle=True, seed=args.seed)
    iterator = chainermn.iterators.create_multi_node_iterator(
        chainer.iterators.SerialIterator(part, args.batchsize), pair)

    if pair.rank == 0:
        model = Encoder(pair, args.layer, vocabularies[0], args.unit)
    else:
        model = Decoder(pair, args.layer, vocabularies[1], args.unit)
    model.to_device(args.device)
    optimizer = chainermn.create_multi_node_optimizer(
        chainer.optimizers.Adam(args.learnrate), peers)
    optimizer.setup(model)

    updater = training.updaters.StandardUpdater(
        iterator, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    if comm.rank == 1:  # a process that has a loss
        interval = args.log_interval, 'iteration'
        trainer.extend(extensions.LogReport(trigger=interval))
        trainer.extend(extensions.PrintReport(
            ['epoch', 'iteration', 'main/loss', 'main/perp', 'elapsed_time']), trigger=interval)
    trainer.run()


if __name__ == '__main__':
    main()
