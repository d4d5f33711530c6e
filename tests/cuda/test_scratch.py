"""Scratch memory of library functions: whole batches at once on a device, within a limit."""
import numpy as np
import pytest
from device_rows import has_same_bits

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda
from chainwright.runtime import OPTIONS

cupy = cuda.cupy

FUNCTIONS = {
    'convolution': lambda x, W: F.convolution_2d(x, W, pad=1),
    'convolution with strides': lambda x, W: F.convolution_2d(x, W, stride=2, pad=1),
    'convolution with dilation': lambda x, W: F.convolution_2d(x, W, dilate=2),
    'convolution in groups': lambda x, W: F.convolution_2d(x[:, :4], W[:, :2], groups=2),
    'deconvolution': lambda x, W: F.deconvolution_2d(x, W.transpose(1, 0, 2, 3), stride=2),
    'deconvolution to more': lambda x, W: F.deconvolution_2d(x, F.tile(W.transpose(1, 0, 2, 3), (
        1, 3, 1, 1))),
    'max pooling': lambda x, W: F.max_pooling_2d(x, 3, 1, 1),
}


@pytest.fixture
def scratch():
    """Sets the limit, by what users call."""
    workspace, limit = cuda.get_max_workspace_size(), OPTIONS.scratch
    yield cuda.set_max_workspace_size
    cuda.set_max_workspace_size(workspace)
    OPTIONS.scratch = limit


def arrays(xp):
    rng = np.random.RandomState(0)
    return [chainer.Variable(xp.asarray(rng.uniform(-1, 1, shape).astype('f')))
            for shape in ((12, 6, 10, 9), (6, 6, 3, 3))]


def results(xp, function):
    x, W = arrays(xp)
    y = function(x, W)
    F.sum(y * y).backward()
    return [cuda.to_cpu(a) for a in (y.array, x.grad, W.grad) if a is not None]


@pytest.mark.parametrize('limit', [1 << 10, 40_000, 1 << 24])  # rows, images, the whole batch
@pytest.mark.parametrize('name', FUNCTIONS)
def test_values_do_not_depend_on_it(name, limit, scratch):
    expected = results(np, FUNCTIONS[name])
    scratch(limit)
    for a, e in zip(results(cupy, FUNCTIONS[name]), expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-4, atol=1e-4)


def products(function, monkeypatch):
    counts = []
    for name in ('matmul', 'dot'):
        original = getattr(cupy, name)
        monkeypatch.setattr(cupy, name, lambda *args, _original=original, **kwargs: (
            counts.append(1), _original(*args, **kwargs))[1])
    results(cupy, function)
    monkeypatch.undo()
    return len(counts)


@pytest.mark.parametrize('name', [name for name in FUNCTIONS if 'volution' in name])
def test_a_batch_is_one_product(name, monkeypatch, scratch):
    """One forward and one for each gradient; more where there is no memory for that."""
    assert products(FUNCTIONS[name], monkeypatch) == 3
    scratch(20_000)
    assert products(FUNCTIONS[name], monkeypatch) > 6


class Largest(cupy.cuda.MemoryHook):
    """The most bytes that were taken at once."""

    name, size = 'Largest', 0

    def malloc_postprocess(self, **kwargs):
        self.size = max(self.size, kwargs['size'])


@pytest.mark.parametrize('name', FUNCTIONS)
def test_the_limit_is_kept(name, scratch):
    largest = 12 * 6 * 14 * 13 * 4  # of arguments and results, padded
    if name.startswith('deconvolution'):
        largest = max(12 * 6 * 21 * 19 * 4, 12 * 18 * 12 * 11 * 4)
    else:
        with Largest() as hook:
            results(cupy, FUNCTIONS[name])
        assert hook.size > largest
    scratch(20_000)
    with Largest() as hook:
        results(cupy, FUNCTIONS[name])
    assert hook.size <= largest


@pytest.mark.parametrize('limit', [40_000, 1 << 24])
def test_compiled_is_define_by_run(limit, scratch):
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            np.random.seed(0)
            with self.init_scope():
                self.c1, self.c2 = L.Convolution2D(6, 8, 3, pad=1), L.Convolution2D(8, 4, 3, 2)

        def forward(self, x):
            return self.c2(F.max_pooling_2d(F.relu(self.c1(x)), 2, 1))

    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    scratch(limit)
    found = []
    for model in (Net(), Compiled()):
        model.to_device('@cupy:0')
        with chainer.using_config('static_check', 'never'):
            for _ in range(5):
                x = arrays(cupy)[0]
                model.cleargrads()
                y = model(x)
                F.sum(y * y).backward()
        found.append([a.get() for a in (y.array, x.grad, *(p.grad for p in model.params()))])
    assert model.forward.__self__.schedule_manager.programs
    # Windows that overlap: the sums of their gradients have no order on a real device.
    for a, b in zip(*found, strict=True):
        assert has_same_bits(b, a, model)
