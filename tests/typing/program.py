"""A program as users write them, for pyright (.ci/lint): the hundred most used names of Chainer.

``assert_type`` says what an editor is to know.
"""
import argparse
from typing import Any, assert_type

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
import chainermn
from chainer import (
    Chain,
    ChainList,
    Link,
    Parameter,
    Variable,
    cuda,
    initializers,
    optimizers,
    report,
    reporter,
    serializers,
    training,
)
from chainer.backends.cuda import get_array_module
from chainer.dataset import DatasetMixin, concat_examples
from chainer.datasets import TransformDataset, TupleDataset
from chainer.training import extensions
from chainer.utils import type_check

assert_type(chainer.__version__, str)


class Scale(chainer.FunctionNode):
    """A function of the user's own."""

    def __init__(self, factor):
        self.factor = factor

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        return x * self.factor,

    def backward(self, target_input_indexes, grad_outputs):
        gy, = grad_outputs
        return gy * self.factor,


class Clip(chainer.function.Function):
    """One of the old style."""

    def forward(self, inputs):
        x, = inputs
        return get_array_module(x).clip(x, 0, 1),

    def backward(self, inputs, grad_outputs):
        x, = inputs
        gy, = grad_outputs
        return gy * (x > 0) * (x < 1),


class Attention(Link):
    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.W = Parameter(initializers.Normal(0.1), (size, size))
            self.b = chainer.Parameter(initializers.Zero(), size)
        self.add_persistent('count', 0)

    def forward(self, x):
        h = F.matmul(x, self.W) + F.broadcast_to(self.b, x.shape)
        assert_type(h, Variable)
        return F.softmax(h, axis=1) * x


class Blocks(ChainList):
    def __init__(self, channels):
        super().__init__(
            L.Convolution2D(3, channels, 3, pad=1, initialW=initializers.HeNormal()),
            L.Convolution2D(None, channels, ksize=3, pad=1, nobias=True))
        self.add_link(L.BatchNormalization(channels))

    def forward(self, x):
        for link in self.children():
            x = F.relu(link(x))
        return x


class Net(Chain):
    def __init__(self, n_words=100, n_out=10):
        super(Net, self).__init__()
        with self.init_scope():
            self.blocks = Blocks(8)
            self.up = L.Deconvolution2D(8, 3, 4, stride=2, pad=1)
            self.embed = L.EmbedID(n_words, 16, ignore_label=-1)
            self.lstm = L.NStepLSTM(1, 16, 16, 0.1)
            self.attention = Attention(16)
            self.head = chainer.Sequential(L.Linear(None, 32), F.relu, L.Linear(32, n_out))

    @chainer.static_graph
    def forward(self, x, words):
        h = F.max_pooling_2d(F.leaky_relu(self.blocks(x), slope=0.1), 2)
        h = F.average_pooling_2d(h, 2, stride=2)
        h = F.resize_images(h, (8, 8))
        h = F.dropout(F.reshape(h, (len(h), -1)), ratio=0.2)
        assert_type(h, Variable)
        e = F.transpose(self.embed(words), (1, 0, 2))
        e = F.squeeze(F.expand_dims(F.mean(e, axis=0), 1), axis=1)
        e = self.attention(F.sigmoid(e) * F.tanh(e))
        return self.head(F.concat((h, e), axis=1))

    def encode(self, sentences):
        xs = [self.embed(self.xp.asarray(s)) for s in sentences]
        hy, cy, ys = self.lstm(None, None, xs)
        padded = F.pad_sequence(ys)
        assert_type(padded, Variable)
        return hy, cy, F.stack(ys), padded


class Words(DatasetMixin):
    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def get_example(self, i):
        return self.pairs[i]


def losses(x: Variable, t):
    y = Scale(2.0).apply((x,))[0]
    y = Clip()(y)
    assert_type(F.accuracy(x, t), Variable)
    values = [
        F.softmax_cross_entropy(x, t), F.mean_squared_error(x, y), F.sum(F.absolute(x)),
        F.sigmoid_cross_entropy(x, t), F.sum(F.exp(x)), F.sum(F.log(F.softplus(x))),
        F.sum(F.sqrt(F.square(x))), F.sum(F.log_softmax(x)), F.mean(F.flatten(x))]
    chosen = F.where(x.array > 0, x, -x)
    left, right = F.split_axis(chosen, 2, axis=1)
    best = F.argmax(left + right, axis=1)
    assert_type(best, Variable)
    loss = sum(values[1:], values[0]) / 2 ** 1
    assert_type(F.sum(x) * 2 + 1, Variable)
    assert_type(-x[0] @ F.sum(x), Variable)
    loss.backward()
    x.cleargrad()
    return loss, x.grad, x.array.shape, x.dtype, x.xp


class Updater(training.updaters.StandardUpdater):
    def update_core(self):
        batch = self.get_iterator('main').next()
        x, t = self.converter(batch, self.device)
        optimizer = self.get_optimizer('main')
        model: Any = optimizer.target
        loss = model(x, t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        with reporter.report_scope({'main/extra': 1.0}):
            chainer.report({'loss': loss}, model)
        report({'loss': loss}, model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--device', '-d', default='@numpy')
    parser.add_argument('--gpu', type=int, default=-1)
    parser.add_argument('--resume', default='')
    args = parser.parse_args()

    device = chainer.get_device(args.device)
    device.use()
    model = L.Classifier(Net())
    model.to_device(device)
    if args.gpu >= 0:
        cuda.get_device_from_id(args.gpu).use()
        model.to_gpu()
    optimizer = optimizers.Adam(alpha=1e-3)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.WeightDecay(1e-4))
    chainer.optimizers.SGD(lr=0.1).setup(model)
    chainer.optimizers.MomentumSGD(lr=0.1, momentum=0.9).setup(model).lr *= 0.1

    x = np.zeros((8, 3, 32, 32), dtype=np.float32)
    words = np.zeros((8, 5), dtype=np.int32)
    t = np.zeros(8, dtype=np.int32)
    data = TransformDataset(TupleDataset(x, words, t), lambda example: example)
    train_iter = chainer.iterators.SerialIterator(data, 4)
    test_iter = chainer.iterators.SerialIterator(Words([1, 2]), 4, repeat=False, shuffle=False)
    many = chainer.iterators.MultiprocessIterator(data, 4, n_processes=2)
    concat_examples(train_iter.next(), device=-1)

    updater = training.StandardUpdater(train_iter, optimizer, device=device)
    own = Updater(many, optimizer)
    trainer = training.Trainer(updater, (2, 'epoch'), out='result')
    trainer.extend(extensions.Evaluator(test_iter, model, device=device), name='val')
    trainer.extend(extensions.dump_graph('main/loss'))
    trainer.extend(extensions.snapshot(), trigger=(1, 'epoch'))
    trainer.extend(extensions.snapshot_object(model, 'model_{.updater.epoch}'))
    trainer.extend(extensions.LogReport(trigger=(10, 'iteration')))
    trainer.extend(extensions.observe_lr())
    if extensions.PlotReport.available():
        trainer.extend(extensions.PlotReport(['main/loss'], 'epoch', file_name='loss.png'))
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'elapsed_time']))
    trainer.extend(extensions.ProgressBar(update_interval=10))
    if args.resume:
        serializers.load_npz(args.resume, trainer)
    trainer.run()
    assert own.epoch >= 0

    with chainer.using_config('train', False), chainer.no_backprop_mode():
        y = model.predictor(x, words)
        print(cuda.to_cpu(y.array).argmax(axis=1), chainer.config.train)
    serializers.save_npz('model.npz', model)
    for param in model.params():
        assert_type(param, Parameter)
        print(param.name, param.array is None)
    for name, link in model.namedlinks():
        assert_type(name, str)
        print(link.name)
    print(cuda.to_gpu(x) if cuda.available else cuda.get_device(x), cuda.get_array_module(x))
    print(model.predictor.schedule_manager.report(), Variable(x).data)


def several_processes():
    comm = chainermn.create_communicator('naive')
    optimizer = chainermn.create_multi_node_optimizer(optimizers.Adam(), comm)
    data = chainermn.scatter_dataset(np.arange(10) if comm.rank == 0 else None, comm, shuffle=True)
    return optimizer, data, cuda.cupy


if __name__ == '__main__':
    main()
