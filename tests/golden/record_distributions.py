"""Record what the distributions of the original give.

    tests/golden/original tests/golden/record_distributions.py

Writes tests/golden/distributions.npz; what is no array (shapes, names of exceptions) stands as
JSON in its entry ``texts``.
"""
import json
import os
import sys

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, 'chainer_api', 'distributions'))

import distribution_cases  # noqa: E402

texts, parts, index, offset = {}, [], {}, 0
for case in distribution_cases.CASES:
    # The original takes no double precision where it inverts matrices.
    for char in 'f' if 'multivariate' in case.name else 'fd':
        for name, value in sorted(distribution_cases.run(chainer, case, char).items()):
            key = '/'.join((case.name, char, name))
            if isinstance(value, np.ndarray):
                index[key] = [value.dtype.char, list(value.shape), offset]
                parts.append(value.ravel().astype(np.float64))
                offset += value.size
            else:
                texts[key] = value
text = json.dumps({'texts': texts, 'index': index}, sort_keys=True, separators=(',', ':'))
np.savez_compressed(
    os.path.join(HERE, 'distributions.npz'), data=np.concatenate(parts),
    index=np.frombuffer(text.encode(), np.uint8))
