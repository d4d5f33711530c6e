"""Optimizers: three ways to use them."""
# ruff: noqa: F401, I001, UP008
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


class MyChain(Chain):
    def __init__(self):
        super(MyChain, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 3)
            self.l2 = L.Linear(3, 2)

    def forward(self, x):
        h = self.l1(x)
        return self.l2(h)


model = MyChain()
optimizer = optimizers.SGD().setup(model)

# Hooks change gradients or parameters just before each update.
optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0005))

# With gradients computed by hand ...
x = np.random.uniform(-1, 1, (2, 4)).astype(np.float32)
model.cleargrads()
# compute gradient here...
loss = F.sum(model(chainer.Variable(x)))
loss.backward()
optimizer.update()
after_first = model.l2.b.array.copy()
assert (after_first < 0).all()


# ... or with a function that computes the loss, from which update does the rest.
def lossfun(arg1, arg2):
    # calculate loss
    loss = F.sum(model(arg1 - arg2))
    return loss


arg1 = np.random.uniform(-1, 1, (2, 4)).astype(np.float32)
arg2 = np.random.uniform(-1, 1, (2, 4)).astype(np.float32)
optimizer.update(lossfun, chainer.Variable(arg1), chainer.Variable(arg2))
assert (model.l2.b.array < after_first).all()
print(f'{optimizer.t} updates, bias {model.l2.b.array}')

# The third way is a Trainer: see trainer_extensions.py and ../mnist/train_mnist.py.
