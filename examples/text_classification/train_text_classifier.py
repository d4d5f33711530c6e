"""Classify texts by a recurrent network, by convolutions, or by their words alone.

run_text_classifier.py classifies other texts with the model that is written.

    python train_text_classifier.py --train train.tsv --valid valid.tsv --model cnn
    python train_text_classifier.py --test         # invented texts on four topics
"""
import json
import os
import pathlib
import sys

import numpy as np

import chainer
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import nets
import texts
from shared import batches, compiled, flags


@chainer.dataset.converter()
def convert(batch, device):
    """Make a list of texts and an array of labels of the one mini-batch the iterator gives."""
    xs, ys = zip(*batch[0])
    return {'xs': [device.send(x) for x in xs], 'ys': device.send(np.array(ys, np.int32))}


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, epoch=30, unit=300,
        test={'epoch': 8, 'unit': 20, 'batchsize': 16, 'learnrate': 0.005})
    parser.add_argument('--train', help='texts to train with')
    parser.add_argument('--valid', help='texts to validate with')
    parser.add_argument('--model', choices=nets.ENCODERS, default='cnn', help='kind of network')
    parser.add_argument('--layer', '-l', type=int, default=1, help='layers of the network')
    parser.add_argument('--learnrate', type=float, default=0.001, help="Adam's alpha")
    parser.add_argument('--dropout', type=float, default=0.4, help='dropout ratio')
    args = flags.parse(parser, argv)
    if not args.test and not (args.train and args.valid):
        parser.error('give --train and --valid, or --test')
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        compile_method = chainer.static_graph(minimize_cache_size=False)  # texts of many lengths
        nets.TextClassifier.scores = compile_method(nets.TextClassifier.scores)

    if args.test:
        data = texts.make_texts(1200)
        train, valid = data[:1000], data[1000:]
    else:
        train, valid = texts.read_texts(args.train), texts.read_texts(args.valid)
    vocabulary = texts.make_vocabulary([words for words, _ in train])
    classes = sorted({label for _, label in train})
    print('{} texts, {} words, classes: {}'.format(
        len(train), len(vocabulary), ', '.join(classes)))

    encoder = nets.ENCODERS[args.model](
        args.layer, len(vocabulary) + 2, args.unit, args.dropout)
    model = nets.TextClassifier(encoder, len(classes), args.unit)
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam(args.learnrate)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0001))

    train_iter, valid_iter = (
        chainer.iterators.SerialIterator(
            batches.by_length(
                [(texts.to_array(words, vocabulary), classes.index(label))
                 for words, label in part],
                args.batchsize, length=lambda pair: len(pair[0])),
            1, repeat=repeat, shuffle=repeat)
        for part, repeat in ((train, True), (valid, False)))
    updater = training.updaters.StandardUpdater(
        train_iter, optimizer, converter=convert, device=args.device)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.Evaluator(
        valid_iter, model, converter=convert, device=args.device))
    # The best of all models is the one to keep.
    trainer.extend(
        extensions.snapshot_object(model, 'best_model.npz'),
        trigger=training.triggers.MaxValueTrigger('validation/main/accuracy', (1, 'epoch')))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'elapsed_time']))
    trainer.extend(extensions.snapshot(
        filename='snapshot_epoch-{.updater.epoch}', n_retains=2))

    # What run_text_classifier.py needs to know.
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, 'args.json'), 'w', encoding='utf-8') as file:
        json.dump({
            'model': args.model, 'layer': args.layer, 'unit': args.unit, 'dropout': args.dropout,
            'classes': classes, 'vocabulary': vocabulary}, file)

    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
