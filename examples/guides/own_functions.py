"""Functions of one's own: with gradients, for CPU and GPU, tested, and wrapped into links.

The GPU parts are defined here, and run where a GPU is.
"""
# ruff: noqa: E402, E731, F401, F811, I001, UP008
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

# New style: forward computes with arrays, backward with Variables.


class MulAdd(FunctionNode):
    def forward_cpu(self, inputs):
        # Unpack input arrays (`numpy.ndarray`).
        x, y, z = inputs

        # Mark inputs (`x` and `y`) as retained so that it can be
        # accessed during the backward process.
        self.retain_inputs((0, 1))

        # Compute results.
        w = x * y + z

        # Return the result as a tuple.
        return w,

    def backward(self, target_input_indexes, grad_outputs):
        # Unpack inputs retained in the forward process (`Variable`).
        x, y = self.get_retained_inputs()

        # Get gradients w.r.t. the output (Variable).
        gw, = grad_outputs

        # Compute gradients w.r.t the inputs.
        gx = y * gw
        gy = x * gw
        gz = gw

        # Return the result as a tuple.
        return gx, gy, gz

    def forward_gpu(self, inputs):
        # Unpack input arrays (`cupy.ndarray`).
        x, y, z = inputs

        # Mark inputs (`x` and `y`) as retained so that it can be
        # accessed during the backward process.
        self.retain_inputs((0, 1))

        # Compute results.
        w = x * y + z

        # Return the result as a tuple.
        return w,


# The two are the same lines, so one method does for both.
class UnifiedMulAdd(FunctionNode):
    def forward(self, inputs):
        # Unpack input arrays (`numpy.ndarray` or `cupy.ndarray`).
        x, y, z = inputs

        # Mark inputs (`x` and `y`) as retained so that it can be
        # accessed during the backward process.
        self.retain_inputs((0, 1))

        # Compute results.
        w = x * y + z

        # Return the result as a tuple.
        return w,

    # The documentation prints the backward of an old-style function here; this one works.
    backward = MulAdd.backward


x = Variable(np.random.uniform(-1, 1, (3, 2)).astype(np.float32))
y = Variable(np.random.uniform(-1, 1, (3, 2)).astype(np.float32))
z = Variable(np.random.uniform(-1, 1, (3, 2)).astype(np.float32))
w, = MulAdd().apply((x, y, z))


# One instance is one node of the graph; a function hides that.
def muladd(x, y, z):
    return MulAdd().apply((x, y, z))


w = muladd(x, y, z)

F.sum(w[0]).backward()
assert np.array_equal(x.grad, y.array)
assert np.array_equal(UnifiedMulAdd().apply((x, y, z))[0].array, w[0].array)


class ExpAdd(FunctionNode):
    def forward_cpu(self, inputs):
        self.retain_inputs((0, 1))
        x, y = inputs
        z = np.exp(x) + np.exp(y)
        return z,

    def forward_gpu(self, inputs):
        self.retain_inputs((0, 1))
        cupy = cuda.cupy
        x, y = inputs
        z = cupy.exp(x) + cupy.exp(y)
        return z,

    def backward(self, target_input_indexes, grad_outputs):
        x, y = self.get_retained_inputs()
        gz, = grad_outputs

        gx = gz * F.exp(x)
        gy = gz * F.exp(y)
        return gx, gy


def expadd(x, y):
    z, = ExpAdd().apply((x, y))
    return z


first = expadd(x, y)


# xp stands for the module of the arrays, NumPy or CuPy.
class ExpAdd(FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0, 1))
        xp = backend.get_array_module(*inputs)
        x, y = inputs
        z = xp.exp(x) + xp.exp(y)
        return z,

    def backward(self, target_input_indexes, grad_outputs):
        x, y = self.get_retained_inputs()
        gz, = grad_outputs

        gx = gz * F.exp(x)
        gy = gz * F.exp(y)
        return gx, gy


def expadd(x, y):
    z, = ExpAdd().apply((x, y))
    return z


assert np.array_equal(expadd(x, y).array, first.array)


# A kernel of one's own for the GPU. Both gradients come out of one.
class MulAdd(FunctionNode):
    def forward_cpu(self, inputs):
        # The documentation retains the first two inputs only, and its backward asks for three.
        self.retain_inputs((0, 1, 2))
        x, y, z = inputs
        w = x * y + z
        return w,

    def forward_gpu(self, inputs):
        self.retain_inputs((0, 1, 2))
        x, y, z = inputs
        w = cuda.elementwise(
            'float32 x, float32 y, float32 z',
            'float32 w',
            'w = x * y + z',
            'muladd_fwd')(x, y, z)
        return w,

    def backward(self, target_input_indexes, grad_outputs):
        x, y, z = self.get_retained_inputs()
        gw, = grad_outputs
        return MulAddGrad().apply((x, y, z, gw))


class MulAddGrad(FunctionNode):
    def forward_cpu(self, inputs):
        x, y, z, gw = inputs
        gx = y * gw
        gy = x * gw
        gz = gw
        return gx, gy, gz

    def forward_gpu(self, inputs):
        x, y, z, gw = inputs
        gx, gy = cuda.elementwise(
            'float32 x, float32 y, float32 gw',
            'float32 gx, float32 gy',
            '''
                gx = y * gw;
                gy = x * gw;
            ''',
            'muladd_bwd')(x, y, gw)

        gz = gw
        return gx, gy, gz

    def backward(self, target_input_indexes, grad_outputs):
        # You can leave this unimplemented unless you need to compute
        # higher-order derivative using this function.
        raise NotImplementedError()


def check_muladd(xp):
    arrays = [xp.asarray(v.array) for v in (x, y, z)]
    gw = xp.ones_like(arrays[0])
    gradient_check.check_backward(
        lambda *xs: MulAdd().apply(xs), tuple(arrays), gw, atol=1e-3, rtol=1e-3)


check_muladd(np)
if cuda.available:
    check_muladd(cuda.cupy)


# Functions that differ between training and testing look at the configuration.
def dropout(x):
    xp = backend.get_array_module(x.array)
    mask = 2 * (xp.random.rand(*x.shape) > 0.5).astype(x.dtype)
    return x * mask


assert set(np.unique(dropout(Variable(np.ones((9, 9), np.float32))).array)) == {0, 2}


def dropout(x):
    if not chainer.config.train:
        return x

    xp = backend.get_array_module(x.array)
    mask = 2 * (xp.random.rand(*x.shape) > 0.5).astype(x.dtype)
    return x * mask


with chainer.using_config('train', False):
    assert dropout(x) is x

# Testing: compare with finite differences.
x = np.random.randn(4, 3).astype(np.float32)
gy = np.ones((4, 3), dtype=np.float32)
f = lambda: (x * x,)
gx = gradient_check.numerical_grad(f, (x,), (gy,))
assert np.allclose(gx[0], 2 * x, atol=1e-2)

import unittest

from chainer import testing


class TestReLU(unittest.TestCase):
    # Two changes to the documentation: backward uses up y.grad unless it is told to retain it,
    # and float32 does not give as many digits as the default tolerances ask for.
    def test_backward_cpu(self):
        x = Variable(np.random.randn(3, 2).astype(np.float32))
        y = F.relu(x)
        y.grad = np.random.randn(3, 2).astype(np.float32)
        y.backward(retain_grad=True)

        def f():
            return F.relu(x).array,

        gx, = gradient_check.numerical_grad(f, (x.array,), (y.grad,))
        testing.assert_allclose(gx, x.grad, atol=1e-2, rtol=1e-2)


class TestReLUWithCheckBackward(unittest.TestCase):
    def test_backward_cpu(self):

        def f(x):
            return F.relu(x)

        x = np.random.randn(3, 2).astype(np.float32)
        y_grad = np.random.randn(3, 2).astype(np.float32)

        gradient_check.check_backward(f, x, y_grad, atol=1e-4, rtol=1e-4)


# Links of one's own hold the parameters of a function.
class EltwiseParamProduct(Link):
    def __init__(self, shape):
        super(EltwiseParamProduct, self).__init__()
        with self.init_scope():
            self.W = chainer.Parameter(initializers.Normal(scale=1.), shape)

    def __call__(self, x):
        return self.W * x


link = EltwiseParamProduct((4, 3))
assert np.array_equal(link(x).array, link.W.array * x)


# The documentation derives this from FunctionNode, and calls it as an old-style function.
class LinearFunction(Function):
    def forward(self, inputs):
        x, W, b = inputs
        return x.dot(W.T) + b,

    def backward(self, inputs, grad_outputs):
        x, W, b = inputs
        gy, = grad_outputs

        gx = gy.dot(W)
        gW = gy.T.dot(x)
        gb = gy.sum(axis=0)
        return gx, gW, gb


def linear(x, W, b):
    return LinearFunction()(x, W, b)


class Linear(Link):
    def __init__(self, in_size, out_size):
        super(Linear, self).__init__()
        with self.init_scope():
            self.W = chainer.Parameter(
                initializers.Normal(1. / math.sqrt(in_size)),
                (out_size, in_size))
            self.b = chainer.Parameter(0, (out_size,))

    def __call__(self, x):
        return linear(x, self.W, self.b)


link = Linear(3, 2)
gradient_check.check_backward(
    link, x, np.ones((4, 2), np.float32), (link.W, link.b), dtype=np.float64)


# From old style to new style: what backward did becomes a function of its own.
class MyOldFunc(chainer.Function):

    def forward(self, inputs):
        x, = inputs
        y = x ** 2  # forward computation code
        return y,

    def backward(self, inputs, grad_outputs):
        x, = inputs
        gy, = grad_outputs
        gx = 2 * x * gy  # backward computation code
        return gx,


class MyFunc(chainer.FunctionNode):

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        y = x ** 2  # forward computation code in MyOldFunc
        return y,

    def backward(self, target_input_indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        gx, = MyFuncGrad().apply((x, gy))
        return gx,


class MyFuncGrad(chainer.FunctionNode):

    def forward(self, inputs):
        x, gy = inputs
        gx = 2 * x * gy  # backward computation code in MyOldFunc
        return gx,

    def backward(self, target_input_indexes, grad_outputs):
        # You can leave this unimplemented unless you need to compute
        # higher-order derivative using this function.
        raise NotImplementedError()


gradients = []
for function in (MyOldFunc(), lambda x: MyFunc().apply((x,))[0]):
    v = Variable(x)
    F.sum(function(v)).backward()
    gradients.append(v.grad)
assert np.array_equal(*gradients)


# Old style: backward computes with arrays, too, and cannot be differentiated again.
class MulAdd(Function):
    def forward_cpu(self, inputs):
        x, y, z = inputs
        w = x * y + z
        return w,

    def backward_cpu(self, inputs, grad_outputs):
        x, y, z = inputs
        gw, = grad_outputs

        gx = y * gw
        gy = x * gw
        gz = gw
        return gx, gy, gz

    def forward_gpu(self, inputs):
        x, y, z = inputs
        w = cuda.elementwise(
            'T x, T y, T z',
            'T w',
            'w = x * y + z',
            'muladd_fwd')(x, y, z)
        return w,

    def backward_gpu(self, inputs, grad_outputs):
        x, y, z = inputs
        gw, = grad_outputs

        gx, gy = cuda.elementwise(
            'T x, T y, T gw',
            'T gx, T gy',
            '''
                gx = y * gw;
                gy = x * gw;
            ''',
            'muladd_bwd')(x, y, gw)

        gz = gw
        return gx, gy, gz


x = Variable(np.random.uniform(-1, 1, (3, 2)).astype(np.float32))
y = Variable(np.random.uniform(-1, 1, (3, 2)).astype(np.float32))
z = Variable(np.random.uniform(-1, 1, (3, 2)).astype(np.float32))
w = MulAdd()(x, y, z)


def muladd(x, y, z):
    return MulAdd()(x, y, z)


w = muladd(x, y, z)
F.sum(w).backward()
assert np.array_equal(x.grad, y.array)


class ExpAdd(Function):
    def forward_cpu(self, inputs):
        x, y = inputs
        z = np.exp(x) + np.exp(y)
        return z,

    def backward_cpu(self, inputs, grad_outputs):
        x, y = inputs
        gz, = grad_outputs

        gx = gz * np.exp(x)
        gy = gz * np.exp(y)
        return gx, gy

    def forward_gpu(self, inputs):
        cupy = cuda.cupy
        x, y = inputs
        z = cupy.exp(x) + cupy.exp(y)
        return z,

    def backward_gpu(self, inputs, grad_outputs):
        cupy = cuda.cupy
        x, y = inputs
        gz, = grad_outputs

        gx = gz * cupy.exp(x)
        gy = gz * cupy.exp(y)
        return gx, gy


def expadd(x, y):
    return ExpAdd()(x, y)


gradient_check.check_backward(
    expadd, (x.array, y.array), np.ones((3, 2), np.float32), dtype=np.float64)


class ExpAdd(Function):
    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        x, y = inputs
        z = xp.exp(x) + xp.exp(y)
        return z,

    def backward(self, inputs, grad_outputs):
        xp = backend.get_array_module(*inputs)
        x, y = inputs
        gz, = grad_outputs

        gx = gz * xp.exp(x)
        gy = gz * xp.exp(y)
        return gx, gy


def expadd(x, y):
    return ExpAdd()(x, y)


gradient_check.check_backward(
    expadd, (x.array, y.array), np.ones((3, 2), np.float32), dtype=np.float64)

if __name__ == '__main__':
    unittest.main(argv=[__file__])
