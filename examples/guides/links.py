"""Links: functions with parameters."""
# ruff: noqa: F401, I001
# The imports that all chapters of Chainer's guide share.
import math
import numpy as np
import chainer
from chainer import backend
from chainer import backends
from chainer.backends import cuda
from chainer import Function, FunctionNode, gradient_check, report, training, utils, Variable
from chainer import datasets, initializers, iterators, optimizers, serializers
from chainer import Link, Chain, ChainList
import chainer.functions as F
import chainer.links as L
from chainer.training import extensions

# A fully connected layer from three numbers to two, with a matrix W and a vector b.
f = L.Linear(3, 2)

print(f.W.array)
print(f.b.array)
assert f.W.shape == (2, 3)
assert (f.b.array == 0).all()

# It is called with a mini-batch: the first axis counts the examples.
x = Variable(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
y = f(x)
print(y.array)

# Gradients add up in the parameters, so they are cleared first.
f.cleargrads()

y.grad = np.ones((2, 2), dtype=np.float32)
y.backward()
print(f.W.grad)
print(f.b.grad)
assert f.W.grad.tolist() == [[5, 7, 9], [5, 7, 9]]
assert f.b.grad.tolist() == [2, 2]

# Without the size of its input, the layer takes it from the first mini-batch.
f = L.Linear(2)
assert f.W.array is None
f(x)
assert f.W.shape == (2, 3)
