"""Record pickles of a model with its optimizer, for both releases.

    tests/golden/original tests/golden/record_pickles.py
    ORIGINAL_VERSION=5.4.0 tests/golden/original tests/golden/record_pickles.py
"""
import os
import pickle

import numpy as np

import chainer

HERE = os.path.dirname(os.path.abspath(__file__))


def leaf(value):
    link = chainer.Link(W=(2, 2))
    link.W.array[...] = value
    return link


def main():
    model = chainer.Chain(
        leaf=leaf(1), stack=chainer.ChainList(leaf(2), leaf(3)),
        layers=chainer.Sequential(leaf(4), chainer.functions.relu))
    model.leaf.add_param('lazy', initializer=chainer.initializers.Orthogonal())
    model.add_persistent('mean', np.arange(3))
    optimizer = chainer.optimizers.Adam(alpha=0.5).setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.125))
    rule = model.leaf.W.update_rule
    rule.add_hook(chainer.optimizer_hooks.Lasso(0.25), timing='post')
    model.leaf.W.grad = np.ones((2, 2), np.float32)
    rule.update(model.leaf.W)
    major = chainer.__version__.split('.')[0]
    with open(os.path.join(HERE, 'chainer' + major + '.pkl'), 'wb') as f:
        pickle.dump((model, optimizer), f, 2)


main()
