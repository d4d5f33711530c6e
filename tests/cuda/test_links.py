"""The table of all links with CuPy arrays: outputs, gradients and predictions are NumPy's."""
import copy

import link_case
import link_cases
import numpy as np
import pytest
from device_rows import assert_close, draws, has_same_bits, marked

import chainer
import chainer.links as L
from chainer.backends import cuda

cupy = cuda.cupy
ROWS = [row for rows in link_cases.FAMILIES.values() for row in rows]


def on(device, row, link, char):
    """One training step and a prediction, on the host."""
    link.to_device(device)
    arrays = [device.send(a) for a in row.arrays(char)]
    cupy.random.seed(1)
    outputs, gradients, input_gradients = train(row, link, arrays, device)
    with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
        xs = [device.send(a) for a in row.arrays(char, 1)]
        cupy.random.seed(1)
        predictions = link_case.call(chainer, row, link, xs)
    found = [*outputs, *gradients, *input_gradients, *predictions]
    found = [x.array if isinstance(x, chainer.Variable) else x for x in found]
    for x in found:
        assert x is None or isinstance(x, device.xp.ndarray), f'a result is {type(x)}'
    return [None if x is None else cuda.to_cpu(x) for x in found]


def train(row, link, arrays, device):
    link.cleargrads()
    xs = [chainer.Variable(a) if a.dtype.kind == 'f' else a for a in arrays]
    ys = link_case.call(chainer, row, link, xs)
    variables = [y for y in ys if isinstance(y, chainer.Variable) and y.dtype.kind == 'f']
    rng = np.random.RandomState(1000)
    gys = [device.send(np.asarray(rng.uniform(-1, 1, y.shape)).astype(y.dtype)) for y in variables]
    sum(chainer.functions.sum(y * gy) for y, gy in zip(variables, gys, strict=True)).backward()
    return (ys, [param.grad for _, param in sorted(link.namedparams())],
            [x.grad for x in xs if isinstance(x, chainer.Variable)])


@pytest.mark.parametrize('row', marked(ROWS))
def test_as_numpy(row):
    char = 'f' if 'f' in row.dtypes else row.dtypes[0]
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        np.random.seed(0)
        link = row.make(chainer.links)
        link_case.call(chainer, row, link, row.arrays(char))
        link_case.disturb(link)
        with draws() as drawn:
            expected = on(chainer.get_device('@numpy'), row, copy.deepcopy(link), char)
        found = on(chainer.get_device('@cupy:0'), row, link, char)
    assert_close(found, expected, *row.tolerances(char), drawn)


class Net(chainer.Chain):
    """A link in a chain, whose method calls it as the row does."""

    def __init__(self, row, link):
        super().__init__()
        self._row = row
        with self.init_scope():
            self.link = link
        if hasattr(link, 'reset_state'):
            link.reset_state()  # what it holds is on the host
            self.reset_state = link.reset_state

    def forward(self, *xs):
        return self._row.call(self.link, *xs)


class StaticNet(Net):
    forward = chainer.static_graph(Net.forward)


def training_steps(net, row, char, device):
    """Results, gradients, parameters and persistent values of five steps, on the host."""
    net.to_device(device)
    optimizer = chainer.optimizers.SGD(.1).setup(net)
    found = []
    called = link_case.case(row.name, row.make, row.inputs)
    for step in range(5):
        cupy.random.seed(step)
        arrays = [device.send(a) for a in row.arrays(char, step)]
        outputs, gradients, input_gradients = train(called, net, arrays, device)
        found += [*outputs, *gradients, *input_gradients]
        optimizer.update()
        found += [p.array for _, p in sorted(net.namedparams())]
        found += [value for link in net.links() for _, value in sorted(link.__dict__.items())
                  if isinstance(value, cupy.ndarray)]
    return [None if x is None else cuda.to_cpu(chainer.as_array(x)) for x in found]


#: Some for each commit.
QUICK = {'linear', 'convolution_2d', 'batch_normalization', 'lstm', 'layer_normalization',
         'embed_id', 'gru', 'maxout'}


@pytest.mark.parametrize('row', [
    pytest.param(row, id=row.name, marks=[pytest.mark.slow] * (row.name not in QUICK))
    for row in ROWS if row.static])
def test_compiled_is_define_by_run(row):
    char, device = 'f' if 'f' in row.dtypes else row.dtypes[0], chainer.get_device('@cupy:0')
    with link_case.using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        np.random.seed(0)
        link = row.make(chainer.links)
        link_case.call(chainer, row, link, row.arrays(char))
        link_case.disturb(link)
        plain, static = Net(row, copy.deepcopy(link)), StaticNet(row, link)
        with chainer.using_config('static_check', 'never'):
            expected = training_steps(plain, row, char, device)
            found = training_steps(static, row, char, device)
    assert len(found) == len(expected)
    for a, e in zip(found, expected, strict=True):
        if a is None or e is None:
            assert a is e
            continue
        assert has_same_bits(a, e, static)
    if row.name in QUICK:
        assert static.schedule_manager.report()[0].hits


@pytest.mark.parametrize('make', [
    lambda: L.BatchNormalization(axis=0), lambda: L.BatchNormalization(3)])
def test_persistent_values_load_onto_the_device(make, tmp_path):
    """Also those that a link does not have yet."""
    saved = make()
    x = np.random.RandomState(0).standard_normal((5, 3)).astype('f')
    saved(x)
    chainer.serializers.save_npz(tmp_path / 'link.npz', saved)
    link = make().to_device('@cupy:0')
    chainer.serializers.load_npz(tmp_path / 'link.npz', link)
    with chainer.using_config('train', False):
        expected, found = saved(x).array, link(cupy.asarray(x)).array
    np.testing.assert_allclose(found.get(), expected, rtol=1e-5)


def test_initial_values_on_a_device():
    """A link is made on the CPU, whatever its initial values are."""
    W = np.arange(6, dtype='f').reshape(2, 3)
    link = L.Linear(3, 2, initialW=cupy.asarray(W), initial_bias=cupy.ones(2, 'f'))
    assert type(link.W.array) is np.ndarray and link.b.array.tolist() == [1, 1]
    np.testing.assert_array_equal(link.W.array, W)
    lazy = L.Linear(None, 2, initialW=W).to_device('@cupy:0')
    lazy(cupy.ones((1, 3), 'f'))
    np.testing.assert_array_equal(lazy.W.array.get(), W)
