"""Answer questions about stories, by a memory network.

It reads the files of a bAbI task. With --test the stories are invented, of people who walk about.

    python train_memnn.py --train qa1_train.txt --valid qa1_test.txt
    python train_memnn.py --test
"""
import pathlib
import sys

import chainer
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import net
import stories
from shared import compiled, flags


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=100, unit=20,
        test={'epoch': 12, 'batchsize': 20, 'learnrate': 0.01})
    parser.add_argument('--train', help='stories to train with')
    parser.add_argument('--valid', help='stories to validate with')
    parser.add_argument('--hop', type=int, default=3, help='how often a story is read')
    parser.add_argument('--memory', '-m', type=int, default=50, help='sentences it remembers')
    parser.add_argument('--sentence-repr', choices=net.ENCODERS, default='pe',
                        help='position encoding or bag of words')
    parser.add_argument('--learnrate', type=float, default=0.001, help="Adam's alpha")
    args = flags.parse(parser, argv)
    if not args.test and not (args.train and args.valid):
        parser.error('give --train and --valid, or --test')
    return args


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read().splitlines()


def show(model, question, arrays, words):
    """Print a story, a question and what the model answers."""
    names = sorted(words, key=words.get)
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        scores = model.scores(*(model.xp.asarray(array) for array in arrays))
    for sentence in question.story:
        print(' '.join(sentence))
    print('{}? {} (right: {})'.format(
        ' '.join(question.question), names[int(scores.array[0].argmax())], question.answer))


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        net.MemNN.scores = chainer.static_graph(net.MemNN.scores)

    if args.test:
        lines = stories.make_lines(500), stories.make_lines(50, seed=1)
    else:
        lines = read(args.train), read(args.valid)
    train, valid = map(stories.parse, lines)
    words = stories.number_words(train + valid)
    train_data, valid_data = (
        chainer.datasets.TupleDataset(*stories.to_arrays(part, words, args.memory))
        for part in (train, valid))
    print(f'{len(train)} questions, {len(words)} words')

    model = net.MemNN(args.unit, len(words), args.memory, args.hop, args.sentence_repr)
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam(args.learnrate)
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train_data, args.batchsize)
    valid_iter = chainer.iterators.SerialIterator(
        valid_data, args.batchsize, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(valid_iter, model, device=args.device))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    show(model, valid[2], [column[2:3] for column in stories.to_arrays(valid, words)[:2]], words)
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
