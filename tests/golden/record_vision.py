"""Record what the models of vision of the original give.

    tests/golden/original tests/golden/record_vision.py
"""
import os
import sys

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import vision_cases  # noqa: E402

results = {}
for name, layers, size, last in vision_cases.MODELS:
    for key, array in vision_cases.run(chainer, name, layers, size, last).items():
        results[name + ' ' + key.replace('/', '.')] = array
for module in vision_cases.PREPARE:
    for key, array in vision_cases.prepared(chainer, module).items():
        results['prepare ' + module + ' ' + key] = array
np.savez_compressed(os.path.join(HERE, 'vision.npz'), **results)
