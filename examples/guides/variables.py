"""Variables, derivatives, and derivatives of derivatives."""
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

# A Variable holds an array, and operators compute with Variables.
x_data = np.array([5], dtype=np.float32)
x = Variable(x_data)

y = x**2 - 2 * x + 1

print(y.array)
assert y.array == 16

# y knows how it was computed. The gradient of a single element starts as 1.
y.backward()
print(x.grad)
assert x.grad == 8

# Gradients of what lies between are dropped on the way, unless they are asked for.
z = 2*x
y = x**2 - z + 1
y.backward(retain_grad=True)
print(z.grad)
assert z.grad == -1

# With several elements, backward needs to be told the gradient of y.
x = Variable(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32))
y = x**2 - 2*x + 1
y.grad = np.ones((2, 3), dtype=np.float32)
y.backward()
print(x.grad)
assert x.grad.tolist() == [[0, 2, 4], [6, 8, 10]]

# The gradient itself can be differentiated: it is a Variable with a history of its own.
x = chainer.Variable(np.array([[0, 2, 3], [4, 5, 6]], dtype=np.float32))
y = x ** 3
y.grad = np.ones((2, 3), dtype=np.float32)
y.backward(enable_double_backprop=True)
print(x.grad_var)
assert x.grad_var.array is x.grad
assert (x.grad == (3 * x**2).array).all()

gx = x.grad_var
x.cleargrad()
gx.grad = np.ones((2, 3), dtype=np.float32)
gx.backward()
print(x.grad)
assert (x.grad == (6 * x).array).all()
