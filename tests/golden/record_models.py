"""Record three training steps of the models in tests/chainer_api/links/model_cases.py.

tests/golden/original tests/golden/record_models.py
"""
import os
import sys

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, 'chainer_api', 'links'))

import model_cases  # noqa: E402

results = {}
for name, cls in model_cases.classes(chainer).items():
    for key, array in model_cases.train(chainer, name, cls).items():
        results[name + ' ' + key.replace('/', '.')] = array
np.savez_compressed(os.path.join(HERE, 'models.npz'), **results)
