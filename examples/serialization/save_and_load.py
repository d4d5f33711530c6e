"""Save and load: the parameters of a model, the state of an optimizer, in NPZ and HDF5 files.

A model is trained for some epochs, saved, and trained for some more. Then the files are loaded into
new objects, which are trained for as many epochs: they end with exactly the same parameters.

    python save_and_load.py --test
"""
import os
import pathlib
import sys

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import serializers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from shared import compiled, digits, flags


class MLP(chainer.Chain):

    def __init__(self, n_units, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.l2 = L.Linear(None, n_out)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def make(args):
    """Return a new model and its optimizer."""
    model = L.Classifier(MLP(args.unit, 10))
    model.to_device(args.device)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    return model, optimizer


def train(model, optimizer, data, args):
    """Go through the data, in an order that is the same each time."""
    iterator = chainer.iterators.SerialIterator(data, args.batchsize, shuffle=False)
    while iterator.epoch < args.epoch:
        optimizer.update(model, *chainer.dataset.concat_examples(next(iterator), args.device))
    return float(model.loss.array)


def print_contents(path):
    """Print the names in an NPZ file, and the shapes."""
    print(path)
    with np.load(path) as file:
        for name in sorted(file):
            print(f'    {name:28} {file[name].shape}')


FORMATS = {
    'npz': (serializers.save_npz, serializers.load_npz),
    'h5': (serializers.save_hdf5, serializers.load_hdf5),
}


def main(argv=None):
    parser = flags.make_parser(
        __doc__, batchsize=100, epoch=2, unit=100, test={'unit': 20})
    parser.add_argument('--format', choices=FORMATS, default='npz', help='h5 needs h5py')
    args = flags.parse(parser, argv)
    if args.static:
        MLP.forward = chainer.static_graph(MLP.forward)
    data, _ = digits.get_digits() if args.test else chainer.datasets.get_mnist()
    save, load = FORMATS[args.format]

    model, optimizer = make(args)
    if args.resume:
        load(args.resume, model)
    print(f'loss: {train(model, optimizer, data, args):.6f}')

    os.makedirs(args.out, exist_ok=True)
    paths = [os.path.join(args.out, f'{name}.{args.format}')
             for name in ('model', 'optimizer')]
    save(paths[0], model)
    save(paths[1], optimizer)
    if args.format == 'npz':
        print_contents(paths[0])
    print(f'goes on, loss: {train(model, optimizer, data, args):.6f}')

    loaded_model, loaded_optimizer = make(args)
    load(paths[0], loaded_model)
    load(paths[1], loaded_optimizer)
    print(f'loaded,  loss: {train(loaded_model, loaded_optimizer, data, args):.6f}')
    same = all((a.array == b.array).all()
               for a, b in zip(model.params(), loaded_model.params()))
    print('the parameters are {}'.format('the same' if same else 'DIFFERENT'))
    if args.static:
        compiled.print_summary(model)


if __name__ == '__main__':
    main()
