"""Gradients of leaves that are told of while backward is at work."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import _backprop
from chainwright.runtime import schedule


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


class Stack(chainer.Chain):
    """Layers, all in one compiled method; the first is used twice."""

    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(0)
        with self.init_scope():
            self.layers = chainer.ChainList(*[
                L.Linear(8, 8, initialW=rng.uniform(-1, 1, (8, 8))) for _ in range(5)])

    @chainer.static_graph
    def forward(self, x):
        for layer in (self.layers[0], *self.layers):
            x = F.tanh(layer(x))
        return F.sum(x * x)


@pytest.mark.parametrize('target', ['numpy', 'native'])
def test_parts_of_one_compiled_method(monkeypatch, target):
    """Gradients are told of while the backward of the method is at work on others."""
    events = []

    class Runner(schedule.Runner):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            function = self.function
            self.function = lambda *arrays: (events.append('runs'), function(*arrays))[1]

    monkeypatch.setattr(schedule, 'Runner', Runner)
    x = np.random.RandomState(1).uniform(-1, 1, (4, 8)).astype('f')
    plain = Stack()
    plain.cleargrads()
    with chainer.using_config('use_static_graph', False):
        (plain(x) * 2).backward()
    expected = {name: param.grad for name, param in plain.namedparams()}
    model = Stack()
    names = {param.node: name for name, param in model.namedparams()}

    def tell(node, grad):
        events.append(names[node])
        np.testing.assert_array_equal(grad.array, expected[names[node]])

    with chainer.using_config('static_target', target):
        for _ in range(7):
            events.clear()
            model.cleargrads()
            with _backprop.watching(tell, 500):
                (model(x) * 2).backward()
            assert sorted(set(events) - {'runs'}) == sorted(expected)  # each once:
            assert len(events) - events.count('runs') == len(expected)
            for name, param in model.namedparams():
                np.testing.assert_array_equal(param.grad, expected[name])
    # The last call is not one of those that are compared with define-by-run.
    assert 'runs' in events[events.index('/layers/4/W'):]
    assert 'runs' in events[events.index('/layers/2/W'):]
