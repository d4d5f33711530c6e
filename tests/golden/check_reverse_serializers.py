"""Check that Chainer loads the files that we save. To be run by hand, in two steps:

    .venv/bin/python tests/golden/check_reverse_serializers.py write FOLDER
    tests/golden/original tests/golden/check_reverse_serializers.py load FOLDER
"""
import os
import sys

import chainer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import serializer_cases as cases  # noqa: E402

FORMATS = [('.npz', chainer.serializers.save_npz, chainer.serializers.load_npz),
           ('.h5', chainer.serializers.save_hdf5, chainer.serializers.load_hdf5)]


def write(folder):
    os.makedirs(folder, exist_ok=True)
    model = cases.make_model(chainer)
    cases.fill(model)
    optimizer = cases.make_optimizer(chainer)
    cases.train(optimizer, 3)
    for extension, save, _ in FORMATS:
        save(os.path.join(folder, 'model' + extension), model)
        save(os.path.join(folder, 'optimizer' + extension), optimizer)


def load(folder):
    expected = cases.make_model(chainer)
    cases.fill(expected)
    trained = cases.make_optimizer(chainer)
    cases.train(trained, 3)
    for extension, _, load_file in FORMATS:
        model = cases.make_model(chainer)
        load_file(os.path.join(folder, 'model' + extension), model)
        assert cases.values(model) == cases.values(expected), extension
        optimizer = cases.make_optimizer(chainer)
        load_file(os.path.join(folder, 'optimizer' + extension), optimizer)
        assert cases.states(optimizer) == cases.states(trained), extension
        print('Chainer', chainer.__version__, 'loads our', extension, 'files')


{'write': write, 'load': load}[sys.argv[1]](sys.argv[2])
