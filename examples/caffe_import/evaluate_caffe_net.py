"""Measure how well a Caffe model classifies pictures.

The pictures are given by a file with a path and the number of a class on each line; --test takes
the digits that ``../caffe_export/export.py --test`` has learned.

    python evaluate_caffe_net.py --model bvlc_alexnet.caffemodel --data-name fc8 \\
        --list val.txt --root images --size 227 --mean 103.939,116.779,123.68
    python evaluate_caffe_net.py --test --model exported/chainer_model.caffemodel
"""
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
from chainer.links import caffe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags


class CaffeNet(chainer.Chain):
    """A network of a Caffe model; gives one of its blobs.

    Args:
        func (CaffeFunction): The model.
        data (str): Name of the blob that the pictures are put into.
        output (str): Name of the blob with the scores.
    """

    def __init__(self, func, data, output):
        super().__init__()
        self.data = data
        self.output = output
        with self.init_scope():
            self.func = func

    def forward(self, x):
        y, = self.func(inputs={self.data: x}, outputs=[self.output])
        return y


def read_pictures(args):
    """Return pictures of the file: cut out of the middle, BGR, less the mean of each channel."""
    data = chainer.datasets.LabeledImageDataset(args.list, args.root or '.')
    mean = np.array(args.mean.split(','), np.float32)[:, None, None]

    def prepare(pair):
        image, label = pair
        top, left = ((n - args.size) // 2 for n in image.shape[1:])
        image = image[::-1, top:top + args.size, left:left + args.size]
        return image - mean, label

    return chainer.datasets.TransformDataset(data, prepare)


def parse_args(argv=None):
    # The model of the digits has been written for mini-batches of one picture.
    parser = flags.make_parser(__doc__, batchsize=100, test={'batchsize': 1})
    add = parser.add_argument
    add('--model', '-m', default='exported/chainer_model.caffemodel', help='the Caffe model')
    add('--data-name', default='data', help='blob of the pictures')
    add('--score-name', help='blob of the scores; if not given, the output of the last layer')
    add('--list', help='file with a path and the number of a class on each line')
    add('--root', help='folder of the pictures')
    add('--size', type=int, default=224, help='pixels of a side')
    add('--mean', default='0,0,0', help='values of blue, green and red to subtract')
    args = flags.parse(parser, argv)
    if not args.test and args.list is None:
        parser.error('give --list, or --test')
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        CaffeNet.forward = chainer.static_graph(CaffeNet.forward)

    func = caffe.CaffeFunction(args.model)
    for name, inputs, outputs in func.layers:
        print('{:24} {} -> {}'.format(name, ', '.join(inputs), ', '.join(outputs)))
    model = CaffeNet(func, args.data_name, args.score_name or func.layers[-1][2][0])
    model.to_device(args.device)

    data = digits.get_digits(ndim=3)[1] if args.test else read_pictures(args)
    correct = n_done = 0
    with chainer.using_config('train', False), chainer.no_backprop_mode():
        for batch in chainer.iterators.SerialIterator(
                data, args.batchsize, repeat=False, shuffle=False):
            x, t = chainer.dataset.concat_examples(batch, args.device)
            correct += float(F.accuracy(model(x), t).array) * len(t)
            n_done += len(t)
    print(f'accuracy: {correct / n_done:.4f} of {n_done} pictures')
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
