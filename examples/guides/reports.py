"""Reports: values that links tell to whoever collects them, and what they are called there."""
# ruff: noqa: B007, E402, F401, F811, I001, UP008
# The imports that all chapters of Chainer's guide share.
import math
import pathlib
import sys
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

from chainer import Reporter, report, report_scope

# A reporter knows the names of objects; a scope says where their values go.
reporter = Reporter()
observer = object()  # it can be an arbitrary (reference) object
reporter.add_observer('my_observer:', observer)
observation = {}
with reporter.scope(observation):
    reporter.report({'x': 1}, observer)

print(observation)
assert observation == {'my_observer:/x': 1}

# chainer.report goes to the reporter of the innermost scope.
observation = {}
with reporter.scope(observation):
    report({'x': 1}, observer)

assert observation == {'my_observer:/x': 1}


# Links report themselves as observers. A trainer has given them their names.
class Classifier(Chain):
    def __init__(self, predictor):
        super(Classifier, self).__init__()
        with self.init_scope():
            self.predictor = predictor

    def forward(self, x, t):
        y = self.predictor(x)
        loss = F.softmax_cross_entropy(y, t)
        accuracy = F.accuracy(y, t)
        report({'loss': loss, 'accuracy': accuracy}, self)
        return loss


class MLP(Chain):
    def __init__(self, n_units, n_out):
        super(MLP, self).__init__()
        with self.init_scope():
            # the size of the inputs to each layer will be inferred
            self.l1 = L.Linear(None, n_units)  # n_in -> n_units
            self.l2 = L.Linear(None, n_units)  # n_units -> n_units
            self.l3 = L.Linear(None, n_out)  # n_units -> n_out

    def forward(self, x):
        h1 = F.relu(self.l1(x))
        h2 = F.relu(self.l2(h1))
        y = self.l3(h2)
        report({'sum_y': F.sum(y)}, self)
        return y


model = Classifier(MLP(100, 10))
for name, observer in model.namedlinks(skipself=True):
    print(name)
assert [name for name, link in model.namedlinks(skipself=True)] == [
    '/predictor', '/predictor/l1', '/predictor/l2', '/predictor/l3']

if '--test' in sys.argv:  # small digits that come along
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from shared.digits import get_digits
    train, test = get_digits()
else:
    train, test = datasets.get_mnist()
train_iter = iterators.SerialIterator(train, batch_size=100, shuffle=True)
test_iter = iterators.SerialIterator(test, batch_size=100, repeat=False, shuffle=False)
optimizer = optimizers.SGD()
optimizer.setup(model)
updater = training.StandardUpdater(train_iter, optimizer)
trainer = training.Trainer(updater, (1, 'epoch'), out='result')
trainer.extend(extensions.Evaluator(test_iter, model))
trainer.extend(extensions.LogReport())
trainer.extend(extensions.PrintReport(
    ['epoch', 'main/accuracy', 'main/loss', 'main/predictor/sum_y', 'validation/main/accuracy']))
trainer.run()
