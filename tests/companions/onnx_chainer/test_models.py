"""Whole models in onnxruntime."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L

pytest.importorskip('onnx')
pytest.importorskip('onnxruntime')
from onnx_running import assert_same, kinds  # noqa: E402


@pytest.fixture(autouse=True)
def seed():
    np.random.seed(0)


def _image(n):
    return np.random.uniform(-1, 1, (1, 3, n, n)).astype(np.float32)


def test_a_residual_network_with_its_statistics():
    from chainer.links.model.vision.resnet import BuildingBlock

    model = chainer.Sequential(
        L.Convolution2D(3, 8, 3, pad=1, nobias=True), L.BatchNormalization(8), F.relu,
        BuildingBlock(2, 8, 4, 16, stride=1), BuildingBlock(2, 16, 8, 24, stride=2),
        lambda x: F.average(x, axis=(2, 3)), L.Linear(24, 5), F.softmax)
    with chainer.using_config('train', True):
        model(np.random.randn(4, 3, 12, 12).astype(np.float32))  # statistics that are not 0 and 1
    proto = assert_same(model, _image(12))
    assert kinds(proto).count('BatchNormalization') == kinds(proto).count('Conv')
    assert kinds(proto)[-2:] == ['Gemm', 'Softmax']


def test_googlenet():  # benchmarks/onnx_models.py has the larger ones
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.net = L.GoogLeNet(pretrained_model=None)

        def forward(self, x):
            return self.net(x, layers=['inception_5b'])['inception_5b']

    assert_same(Model(), _image(64), rtol=1e-3)


class Words(chainer.Chain):
    """Three steps of an LSTM."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(7, 4)
            self.lstm = L.LSTM(4, 5)
            self.out = L.Linear(5, 7)

    def forward(self, ids):
        self.lstm.reset_state()
        for k in range(ids.shape[1]):
            h = self.lstm(self.embed(ids[:, k]))
        return self.out(h)


def test_an_lstm():
    assert_same(Words(), np.array([[1, 2, 6], [3, 0, 5]], np.int32))


@pytest.mark.parametrize('link', [
    L.NStepLSTM, L.NStepBiLSTM, L.NStepGRU, L.NStepBiGRU, L.NStepRNNTanh, L.NStepBiRNNReLU])
def test_networks_over_sequences(link):
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.rnn = link(2, 3, 4, 0.)

        def forward(self, *xs):
            *_, ys = self.rnn(*[None] * (self.rnn.n_cells), list(xs))
            return F.concat(ys, axis=0)

    xs = [np.random.randn(n, 3).astype(np.float32) for n in (3, 1, 2)]
    assert_same(Model(), tuple(xs))


def test_a_compiled_method_is_exported_like_any_other():
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(3, 2)

        @chainer.static_graph
        def forward(self, x):
            return F.tanh(self.l(x)) * 2

    model, x = Model(), np.random.randn(4, 3).astype(np.float32)
    with chainer.using_config('train', False):
        for _ in range(4):
            model(x)
    proto = assert_same(model, x)
    assert kinds(proto) == ['Gemm', 'Tanh', 'Constant', 'Mul']
    assert [i.name for i in proto.graph.initializer] == ['param_l_W', 'param_l_b']
