"""Models: chains of links."""
# ruff: noqa: F401, I001, UP004, UP008
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

# Two layers and a function that calls them: nobody knows that they belong together.
l1 = L.Linear(4, 3)
l2 = L.Linear(3, 2)

def my_forward(x):
    h = l1(x)
    return l2(h)


# A class keeps them together.
class MyProc(object):
    def __init__(self):
        self.l1 = L.Linear(4, 3)
        self.l2 = L.Linear(3, 2)

    def forward(self, x):
        h = self.l1(x)
        return self.l2(h)


# A chain also finds, saves, copies and moves their parameters.
class MyChain(Chain):
    def __init__(self):
        super(MyChain, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 3)
            self.l2 = L.Linear(3, 2)

    def forward(self, x):
        h = self.l1(x)
        return self.l2(h)


# A ChainList numbers its links.
class MyChain2(ChainList):
    def __init__(self):
        super(MyChain2, self).__init__(
            L.Linear(4, 3),
            L.Linear(3, 2),
        )

    def forward(self, x):
        h = self[0](x)
        return self[1](h)


x = np.random.uniform(-1, 1, (5, 4)).astype(np.float32)
for call in (my_forward, MyProc().forward, MyChain(), MyChain2()):
    assert call(x).shape == (5, 2)
print([name for name, param in sorted(MyChain().namedparams())])
print([name for name, param in sorted(MyChain2().namedparams())])
assert len(list(MyChain().params())) == len(list(MyChain2().params())) == 4
