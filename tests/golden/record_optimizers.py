"""Record what Chainer's optimizers and hooks compute: run it with tests/golden/original."""
import os
import sys

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import optimizer_cases as cases  # noqa: E402


def main():
    recorded = {}
    for case in cases.all_cases():
        recorded[cases.key(*case)] = np.stack(list(cases.run(chainer, *case)))
    np.savez_compressed(os.path.join(HERE, 'optimizers.npz'), **recorded)


main()
