"""Learn to write sentences about pictures. predict.py writes one about another picture.

    python train.py --annotations captions_train2014.json --images train2014
    python train.py --test                         # two coloured shapes, and where they are
"""
import json
import os
import pathlib
import sys

import chainer
from chainer import training
from chainer.training import extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import captions
import net
from shared import compiled, flags, pictures, shapes


def get_data(args):
    """Return pictures and captions."""
    if args.test:
        return shapes.make_scenes(900, args.size)
    return captions.read_coco(args.annotations, args.images, args.size)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=64, epoch=30, unit=512,
        test={'epoch': 12, 'batchsize': 30, 'unit': 64, 'size': 24, 'learnrate': 0.005})
    parser.add_argument('--annotations', help='file of the captions')
    parser.add_argument('--images', help='folder of the pictures')
    parser.add_argument('--size', type=int, default=96, help='pixels of a side')
    parser.add_argument('--max-words', type=int, default=20, help='words of a sentence')
    parser.add_argument('--learnrate', type=float, default=0.001, help="Adam's alpha")
    args = flags.parse(parser, argv)
    if not args.test and not (args.annotations and args.images):
        parser.error('give --annotations and --images, or --test')
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        net.CaptionModel.scores = chainer.static_graph(net.CaptionModel.scores)

    images, sentences = get_data(args)
    vocabulary = captions.make_vocabulary(sentences)
    length = min(args.max_words, max(len(sentence.split()) for sentence in sentences))
    data = chainer.datasets.TupleDataset(
        images, *captions.to_arrays(sentences, vocabulary, length))
    n_valid = max(1, len(data) // 10)
    train, valid = data[:-n_valid], data[-n_valid:]
    print(f'{len(images)} pictures, {len(vocabulary)} words; for example: {sentences[0]}')

    model = net.CaptionModel(len(vocabulary), args.unit)
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam(args.learnrate)
    optimizer.setup(model)

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    valid_iter = chainer.iterators.SerialIterator(
        valid, args.batchsize, repeat=False, shuffle=False)
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

    # What predict.py needs, and some pictures to try.
    with open(os.path.join(args.out, 'model.json'), 'w', encoding='utf-8') as file:
        json.dump({'unit': args.unit, 'size': args.size, 'vocabulary': vocabulary}, file)
    chainer.serializers.save_npz(os.path.join(args.out, 'model.npz'), model)
    for i in range(3):
        path = os.path.join(args.out, f'picture{i}.png')
        pictures.save(path, images[i - n_valid])
        print(f'{path}: {sentences[i - n_valid]}')
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
