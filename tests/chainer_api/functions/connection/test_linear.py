"""Linear transformations with few rows: products of our own, in define-by-run and in programs."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import gradient_check
from chainwright.runtime.kernels import products

BATCH, SIZE, OUT = 24, 300, 400


@pytest.fixture
def native(monkeypatch):
    """Counts the products that are of our own."""
    calls = []
    plain = products.native

    def counted(*arguments):
        found = plain(*arguments)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(products, 'native', counted)
    return calls


def arrays(dtype, seed=0):
    rng = np.random.RandomState(seed)
    shapes = (BATCH, SIZE), (OUT, SIZE), (OUT,), (BATCH, OUT)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def gradients(x, W, b, gy, twice=False):
    x, W, b = map(chainer.Variable, (x, W, b))
    y = F.linear(x, W, b)
    y.grad = gy
    y.backward(enable_double_backprop=twice)
    if twice:
        loss = F.sum(x.grad_var ** 2) + F.sum(W.grad_var ** 2)
        for v in (x, W, b):
            v.cleargrad()
        loss.backward()
    return [v.array if v is y else v.grad for v in (y, x, W)]


def expected(x, W, b, gy):
    x, W, b, gy = (a.astype('d') for a in (x, W, b, gy))
    return [x @ W.T + b, gy @ W, gy.T @ x]


@pytest.mark.parametrize('dtype', 'efd')
def test_values(dtype, native):
    given = arrays(dtype)
    tolerance = {'e': 1e-2, 'f': 1e-4, 'd': 1e-11}[dtype]
    with chainer.using_config('static_target', 'auto'):
        results = gradients(*given)
    for found, wanted in zip(results, expected(*given), strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=30 * tolerance)
    assert len(native) == 3


def test_double_backward():
    x, W, b, gy = arrays('d')
    gradient_check.check_double_backward(
        F.linear, (x, W, b), gy, tuple(a / 10 for a in (x, W, b)), atol=1e-4, rtol=1e-4)


def test_the_target_numpy_multiplies_with_numpy(native):
    x, W, b, gy = arrays('f')
    with chainer.using_config('static_target', 'numpy'):
        y, gx, gW = gradients(x, W, b, gy)
    assert not native
    assert y.tobytes() == (x.dot(W.T) + b).tobytes()
    assert gx.tobytes() == gy.dot(W).tobytes() and gW.tobytes() == gy.T.dot(x).tobytes()


def test_unfit_shapes_without_type_checks():
    with chainer.using_config('type_check', False), pytest.raises(ValueError, match='aligned'):
        F.linear(np.ones((BATCH, SIZE), 'f'), np.ones((OUT, SIZE + 1), 'f'))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        rng = np.random.RandomState(0)
        with self.init_scope():
            self.a = L.Linear(SIZE, OUT, initialW=rng.standard_normal((OUT, SIZE)) / 20)
            self.b = L.Linear(OUT, OUT, initialW=rng.standard_normal((OUT, OUT)) / 20)

    def forward(self, x):
        return F.sum(self.b(F.tanh(self.b(F.tanh(self.a(x))))) ** 2)


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


def trained(kind, targets):
    np.random.seed(0)
    model, found = kind(), []
    optimizer = chainer.optimizers.MomentumSGD(1e-4).setup(model)
    for k, target in enumerate(targets):
        x = arrays('f', k)[0]
        with chainer.using_config('static_target', target):
            optimizer.update(model, x)
        found.append([p.array.tobytes() + p.grad.tobytes() for p in model.params()])
    return found, model


@pytest.mark.parametrize('targets', [
    ['native'] * 5, ['numpy'] * 5, ['auto'] * 5,
    # A program that was made for one target goes on under another.
    ['numpy'] * 3 + ['native'] * 4 + ['numpy'] * 3 + ['auto'] * 3,
    ['native'] * 4 + ['numpy'] * 4 + ['native'] * 4,
], ids=['native', 'numpy', 'auto', 'changing', 'back'])
def test_programs_are_define_by_run(targets, caplog):
    plain, _ = trained(Net, targets)
    found, model = trained(Compiled, targets)
    assert found == plain
    assert model.schedule_manager.report()[0].hits > 0
    assert 'another value' not in caplog.text


def test_forward_and_backward_under_different_targets():
    found = []
    for kind in (Net, Compiled):
        model = kind()
        for targets in [('native', 'native')] * 3 + [('numpy', 'native'), ('native', 'numpy')]:
            model.cleargrads()
            with chainer.using_config('static_target', targets[0]):
                loss = model(arrays('f')[0])
            with chainer.using_config('static_target', targets[1]):
                loss.backward()
            found.append([loss.array.tobytes(), *[p.grad.tobytes() for p in model.params()]])
    assert found[:5] == found[5:]


def test_a_matrix_of_numpy_is_an_array_afterwards():
    """What ``todense()`` of a sparse matrix gives; gradients are of NumPy's own class, too."""
    x = np.asmatrix(np.arange(6, dtype='f').reshape(2, 3))
    model = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2))
    y = model(x)
    F.softmax_cross_entropy(y, np.zeros(2, 'i')).backward()
    assert type(y.array) is np.ndarray and np.array_equal(y.array, model(np.asarray(x)).array)
    assert {type(p.grad) for p in model.params()} == {np.ndarray}


class Labelled(np.ndarray):
    """A class of somebody's."""


@pytest.mark.parametrize('function', [F.sum, F.max, F.min, F.prod, F.logsumexp])
def test_what_gathers_items_gives_no_subclass(function):
    x = np.arange(6, dtype='f').reshape(2, 3).view(Labelled)
    assert type(function(x).array) is np.ndarray
    assert type(function(x, axis=1).array) is np.ndarray
    assert type(F.relu(x).array) is Labelled
