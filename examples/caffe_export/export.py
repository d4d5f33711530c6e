"""Write a network as a Caffe model: ``chainer_model.prototxt`` and ``chainer_model.caffemodel``.

A small convolutional network learns digits first, so that there is something to write. What
``../caffe_import/evaluate_caffe_net.py`` makes of the files is the same network.

    python export.py --test --out exported
    python ../caffe_import/evaluate_caffe_net.py --test --model exported/chainer_model.caffemodel
"""
import os
import pathlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.exporters import caffe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags


class ConvNet(chainer.Chain):
    """Layers that Caffe has, too."""

    def __init__(self, n_out=10):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 16, 3, pad=1)
            self.conv2 = L.Convolution2D(16, 32, 3, pad=1)
            self.fc1 = L.Linear(None, 64)
            self.fc2 = L.Linear(64, n_out)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.conv1(x)), 2, stride=2)
        h = F.max_pooling_2d(F.relu(self.conv2(h)), 2, stride=2)
        h = F.relu(self.fc1(h))
        return self.fc2(h)


class WithSoftmax(chainer.Chain):
    """The network that is written: the trained one, and the probabilities of its scores."""

    def __init__(self, predictor):
        super().__init__()
        with self.init_scope():
            self.predictor = predictor

    def forward(self, x):
        return F.softmax(self.predictor(x))


def train(model, data, batchsize, epoch, device):
    """Train a classifier by a loop as short as can be."""
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    iterator = chainer.iterators.SerialIterator(data, batchsize)
    while iterator.epoch < epoch:
        x, t = chainer.dataset.concat_examples(next(iterator), device)
        optimizer.update(model, x, t)


def parse_args(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=5, out='exported', test={'epoch': 10, 'batchsize': 50})
    return flags.parse(parser, argv)


def main(argv=None):
    args = parse_args(argv)
    if args.static:
        ConvNet.forward = chainer.static_graph(ConvNet.forward)

    get_data = digits.get_digits if args.test else chainer.datasets.get_mnist
    data, test = get_data(ndim=3)
    model = L.Classifier(ConvNet())
    model.to_device(args.device)
    if args.resume:
        chainer.serializers.load_npz(args.resume, model)
    train(model, data, args.batchsize, args.epoch, args.device)

    with chainer.using_config('train', False), chainer.no_backprop_mode():
        model(*chainer.dataset.concat_examples(test, args.device))
    print(f'accuracy: {float(model.accuracy.array):.4f}')

    model.to_cpu()
    os.makedirs(args.out, exist_ok=True)
    chainer.serializers.save_npz(os.path.join(args.out, 'classifier.npz'), model)
    x = chainer.dataset.concat_examples(test[:1])[0]
    with chainer.using_config('train', False):
        caffe.export(
            WithSoftmax(model.predictor), [chainer.Variable(x)], args.out, export_params=True)
    for name in sorted(os.listdir(args.out)):
        print(os.path.join(args.out, name))
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
