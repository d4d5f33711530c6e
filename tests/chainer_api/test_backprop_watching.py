"""Gradients of leaves that are told of while backward is at work."""
import numpy as np

import chainer
import chainer.functions as F
from chainer import _backprop


def watch(loss):
    told = []
    with _backprop.watching(lambda node, grad: told.append((node, grad.array.copy()))):
        loss.backward()
    return told


def test_each_leaf_once_in_the_order_of_backward():
    x, w1, w2 = (chainer.Variable(np.full(2, float(i))) for i in (2, 3, 5))
    told = watch(F.sum((x * w1) * w2))
    assert [node for node, _ in told] == [w2.node, x.node, w1.node]
    for (_, array), leaf in zip(told, (w2, x, w1), strict=True):
        np.testing.assert_array_equal(array, leaf.grad)


def test_leaves_that_are_used_twice():
    x, w, v = (chainer.Variable(np.ones(2)) for _ in range(3))
    told = watch(F.sum(((x * w) * v) * w))
    assert [node for node, _ in told][0] == v.node
    assert {node for node, _ in told} == {v.node, x.node, w.node}
    for node, array in told:
        np.testing.assert_array_equal(array, {v.node: v, x.node: x, w.node: w}[node].grad)
    np.testing.assert_array_equal(w.grad, [2, 2])


def test_leaves_that_have_a_gradient():
    x, w = chainer.Variable(np.ones(2)), chainer.Variable(np.ones(2))
    w.grad = np.ones(2)
    told = dict(watch(F.sum((x * w) + 1)))
    np.testing.assert_array_equal(told[w.node], [2, 2])
    np.testing.assert_array_equal(w.grad, [2, 2])


def test_leaves_whose_gradient_another_use_may_change_come_later():
    """The use that is not reached by backward is not known not to be."""
    x, w = chainer.Variable(np.ones(2)), chainer.Variable(np.ones(2))

    class NoGradient(chainer.Function):
        def forward(self, inputs):
            return inputs[0] * 1,

        def backward(self, inputs, grads):
            return None,

    inner = NoGradient()(w * x)
    told = watch(F.sum(inner + w))
    assert told == []
    np.testing.assert_array_equal(w.grad, [1, 1])


def test_told_before_the_rest_of_backward():
    x, w = chainer.Variable(np.ones(2)), chainer.Variable(np.ones(2))
    seen = []

    class First(chainer.Function):
        def forward(self, inputs):
            return inputs[0] * 1,

        def backward(self, inputs, grads):
            seen.append(list(told))
            return grads

    told = []
    loss = F.sum(First()(x) * w)
    with _backprop.watching(lambda node, grad: told.append(node)):
        loss.backward()
    assert seen == [[w.node]]
    assert told == [w.node, x.node]


def test_only_inside_the_context():
    x = chainer.Variable(np.ones(2))
    told = []
    with _backprop.watching(lambda node, grad: told.append(node)):
        pass
    F.sum(x * 2).backward()
    assert told == []
