"""Record what Chainer's link hooks compute: run it with tests/golden/original."""
import os
import sys

import numpy as np

import chainer
import chainer.link_hooks

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import link_hook_cases as cases  # noqa: E402


def main():
    recorded = {}
    for case in cases.all_cases():
        for name, value in cases.run(chainer, *case).items():
            recorded[cases.key(*case) + ' ' + name] = value
    np.savez_compressed(os.path.join(HERE, 'link_hooks.npz'), **recorded)


main()
