"""Connectionist temporal classification: what has no second derivative says so."""
import numpy as np
import pytest

import chainer
import chainer.functions as F


@pytest.mark.parametrize('differentiate', [
    lambda y, x: chainer.grad([y], [x]), lambda y, x: y.backward()], ids=['grad', 'backward'])
@pytest.mark.parametrize('beside', [False, True], ids=['alone', 'beside'])
def test_gradients_are_not_taken_for_constants(differentiate, beside):
    x = chainer.Variable(np.ones(6, np.float32))
    steps = [step[0] for step in F.split_axis(F.reshape(x, (2, 1, 3)), 2, 0)]
    y = F.connectionist_temporal_classification(steps, np.array([[1]], np.int32), 0)
    gx, = chainer.grad([y], [x], enable_double_backprop=True)
    penalty = F.sum(gx * gx)
    with pytest.raises(RuntimeError, match='differentiable only once'):
        differentiate(penalty + F.sum(x * x) if beside else penalty, x)
