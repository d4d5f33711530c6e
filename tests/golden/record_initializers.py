"""Record what Chainer's initializers make: run it with tests/golden/original."""
import os
import sys

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import initializer_cases as cases  # noqa: E402


def main():
    recorded = {}
    for case in cases.all_cases():
        array, following = cases.run(chainer, *case)
        # float64 holds the smaller types exactly.
        recorded[cases.key(*case)] = np.append(array.ravel().astype(np.float64), following)
    np.savez_compressed(os.path.join(HERE, 'initializers.npz'), **recorded)


main()
