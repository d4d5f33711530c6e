"""Pickles that Chainer 5 and Chainer 7 wrote."""
import pathlib
import pickle

import numpy as np
import pytest

import chainer

GOLDEN = pathlib.Path(__file__).parents[1] / 'golden'


@pytest.fixture(params=['chainer5.pkl', 'chainer7.pkl'])
def unpickled(request):
    return pickle.loads((GOLDEN / request.param).read_bytes())


def test_model(unpickled):
    model, _ = unpickled
    assert type(model) is chainer.Chain and model.xp is np
    assert [path for path, _ in model.namedparams()] == [
        '/layers/0/W', '/leaf/W', '/leaf/lazy', '/stack/0/W', '/stack/1/W']
    np.testing.assert_array_equal(model.stack[1].W.array, np.full((2, 2), 3))
    np.testing.assert_array_equal(model.mean, [0, 1, 2])
    assert model.leaf.name == 'leaf'
    assert len(model.layers) == 2 and model.layers[1] is chainer.functions.relu
    model.leaf.forward = np.negative
    assert model.leaf(3) == -3
    with model.init_scope():
        model.new = chainer.Link(W=2)
    model.leaf.lazy.initialize((2, 3))
    copy = model.copy('copy')
    np.testing.assert_array_equal(copy.leaf.W.array, model.leaf.W.array)


def test_training_goes_on(unpickled):
    model, optimizer = unpickled
    rule = model.leaf.W.update_rule
    assert optimizer.target is model and rule.t == 1 and sorted(rule.state) == ['m', 'v']
    assert rule.hyperparam.alpha == 0.5 and rule.hyperparam.amsgrad is False
    with pytest.raises(KeyError, match='already exists'):
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1))
    with pytest.raises(KeyError, match='already exists'):
        rule.add_hook(chainer.optimizer_hooks.Lasso(1))
    for param in model.params(False):
        param.grad = np.ones_like(param.array)
    before = model.stack[0].W.array.copy()
    optimizer.update()
    # The first step of Adam is alpha times the sign of the gradient.
    np.testing.assert_allclose(model.stack[0].W.array, before - 0.5, rtol=1e-6)
    assert rule.t == 2 and optimizer.t == 1
