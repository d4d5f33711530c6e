"""Train a language model on the Penn Tree Bank, with truncated backprop through time.

At the end the model is saved, and its perplexity on the test text printed. gentxt.py lets the
model write.

    python train_ptb.py --device @cupy:0
    python train_ptb.py --test                     # a small text of invented sentences
"""
import pathlib
import sys

import numpy as np

import chainer
import chainer.links as L
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from net import RNNForLM
from sequences import ParallelSequentialIterator
from shared import compiled, flags, sentences


class BPTTUpdater(training.updaters.StandardUpdater):
    """Updater that takes several words, one after the other, for each update."""

    def __init__(self, train_iter, optimizer, bprop_len, device):
        super().__init__(train_iter, optimizer, device=device)
        self.bprop_len = bprop_len

    def update_core(self):
        iterator = self.get_iterator('main')
        optimizer = self.get_optimizer('main')

        loss = 0
        for _ in range(self.bprop_len):
            x, t = self.converter(next(iterator), self.device)
            loss += optimizer.target(x, t)

        optimizer.target.cleargrads()
        loss.backward()
        loss.unchain_backward()  # the graph of the words before is not needed any more
        optimizer.update()


def compute_perplexity(result):
    """Add the perplexities to an entry of the log."""
    result['perplexity'] = np.exp(result['main/loss'])
    if 'validation/main/loss' in result:
        result['val_perplexity'] = np.exp(result['validation/main/loss'])


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=20, epoch=39, unit=650, test={'epoch': 10, 'unit': 50, 'bproplen': 20})
    parser.add_argument('--bproplen', '-l', type=int, default=35, help='words of one update')
    parser.add_argument('--gradclip', '-c', type=float, default=5, help='largest gradient norm')
    parser.add_argument('--model', '-m', default='model.npz', help='file of the model')
    return flags.parse(parser, argv)


def get_data(test):
    """Return the texts to train, to validate and to test, and how many words there are."""
    if test:
        *texts, words = sentences.get_words()
        return (*texts, len(words))
    texts = chainer.datasets.get_ptb_words()
    return (*texts, max(texts[0]) + 1)  # the training text has all words


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        RNNForLM.forward = chainer.static_graph(RNNForLM.forward)

    train, val, test, n_vocab = get_data(args.test)
    print(f'words: {n_vocab}')
    train_iter = ParallelSequentialIterator(train, args.batchsize)
    val_iter = ParallelSequentialIterator(val, 1, repeat=False)
    test_iter = ParallelSequentialIterator(test, 1, repeat=False)

    rnn = RNNForLM(n_vocab, args.unit)
    model = L.Classifier(rnn)
    model.compute_accuracy = False  # only the perplexity counts
    model.to_device(args.device)

    optimizer = chainer.optimizers.SGD(lr=1.0)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(args.gradclip))

    updater = BPTTUpdater(train_iter, optimizer, args.bproplen, args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)

    eval_model = model.copy()  # the same parameters, another state
    eval_rnn = eval_model.predictor
    trainer.extend(extensions.Evaluator(
        val_iter, eval_model, device=args.device,
        eval_hook=lambda _: eval_rnn.reset_state()))

    interval = (1, 'epoch') if args.test else (500, 'iteration')
    trainer.extend(extensions.LogReport(postprocess=compute_perplexity, trigger=interval))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'perplexity', 'val_perplexity', 'elapsed_time']), trigger=interval)
    trainer.extend(extensions.snapshot())
    trainer.extend(extensions.snapshot_object(model, 'model_iter_{.updater.iteration}'))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    eval_rnn.reset_state()
    result = extensions.Evaluator(test_iter, eval_model, device=args.device)()
    print('test perplexity: {:.4f}'.format(np.exp(float(result['main/loss']))))
    chainer.serializers.save_npz(args.model, model)
    if args.static:
        compiled.print_summary(rnn)


if __name__ == '__main__':
    main()
