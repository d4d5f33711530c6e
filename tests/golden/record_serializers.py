"""Record files that Chainer saves: run it with tests/golden/original."""
import json
import os
import sys

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import serializer_cases as cases  # noqa: E402


def main():
    model = cases.make_model(chainer)
    cases.fill(model)
    optimizer = cases.make_optimizer(chainer)
    cases.train(optimizer, 3)
    for name, obj in [('model', model), ('optimizer', optimizer)]:
        path = os.path.join(HERE, 'serializers_' + name)
        chainer.serializers.save_npz(path + '.npz', obj)
        chainer.serializers.save_hdf5(path + '.h5', obj)
    with open(os.path.join(HERE, 'serializers.json'), 'w') as f:
        json.dump({'model': cases.values(model), 'optimizer': cases.states(optimizer)}, f,
                  indent=1, sort_keys=True)


main()
