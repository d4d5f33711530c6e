"""Conditional random fields: the sum over all ways, and functions that are differentiated twice."""
import itertools

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainer.functions import _small

LENGTHS = [(3, 2, 2), (2, 2), (3, 3, 1, 1), (2, 1, 0), (4,)]


def arrays(lengths, labels=3):
    rng = np.random.RandomState(len(lengths))
    xs = [rng.standard_normal((n, labels)) for n in lengths]
    return rng.standard_normal((labels, labels)), xs, [rng.randint(0, labels, n) for n in lengths]


def loss_of_all_ways(cost, xs, ys):
    def score(way):
        steps = [cost[s, t] for s, t in itertools.pairwise(way)]
        return sum([x[label] for x, label in zip(xs, way, strict=True)]) + sum(steps)

    ways = itertools.product(range(len(cost)), repeat=len(xs))
    return np.log(sum([np.exp(score(way)) for way in ways])) - score(ys)


@pytest.mark.parametrize('lengths', LENGTHS)
def test_loss_is_that_of_all_ways(lengths):
    cost, xs, ys = arrays(lengths)
    expected = [
        loss_of_all_ways(cost, [x[b] for x in xs if b < len(x)], [y[b] for y in ys if b < len(y)])
        for b in range(lengths[0])]
    np.testing.assert_allclose(F.crf1d(cost, xs, ys, reduce='no').array, expected)


@pytest.mark.parametrize('lengths', LENGTHS)
def test_second_derivatives_are_those_of_small_functions(lengths):
    def gradients():
        cost, xs, ys = arrays(lengths)
        inputs = [chainer.Variable(v) for v in (cost, *xs)]
        loss = F.sum(F.crf1d(inputs[0], inputs[1:], ys, reduce='no') ** 2)
        first = chainer.grad([loss], inputs, enable_double_backprop=True)
        sum([F.sum(g * g) for g in first if g is not None], loss).backward()
        return [loss, *first, *[v.grad_var for v in inputs]]

    one = gradients()
    with _small.made_of_small_functions():
        several = gradients()
    for a, b in zip(one, several, strict=True):
        assert (a is None) is (b is None)
        if a is not None:
            np.testing.assert_allclose(a.array, b.array, rtol=1e-9, atol=1e-9)


def test_a_label_that_cannot_be():
    """A score of minus infinity; gradients are numbers."""
    cost, xs, ys = arrays((2, 2, 2))
    xs[1][0, 1] = -np.inf
    ys[1][0] = 0
    xs = [chainer.Variable(x) for x in xs]
    loss = F.crf1d(cost, xs, ys)
    loss.backward()
    assert np.isfinite(loss.array)
    assert all([np.isfinite(x.grad).all() for x in xs])
    assert xs[1].grad[0, 1] == 0


def test_no_gradient_of_steps_where_there_are_none():
    cost, xs, ys = arrays((3,))
    cost = chainer.Variable(cost)
    xs = [chainer.Variable(x) for x in xs]
    F.crf1d(cost, xs, ys).backward()
    assert cost.grad is None
