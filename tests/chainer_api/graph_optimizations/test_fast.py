"""Compiled methods whose last bits may be others: close to define-by-run, checked, on request."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _values
from chainwright.codegen.native_target.llvm import FLAGS
from chainwright.runtime.native import native_target

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    for name, value in (("static_target", "native"), ("static_exact", True)):
        monkeypatch.setitem(vars(chainer.global_config), name, value)


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.l2 = L.Linear(7, 11), L.Linear(11, 3)

    def forward(self, x):
        h = F.elu(self.l1(x))
        return F.tanh(self.l2(F.tanh(h) * F.sigmoid(h)))


def trained(exact=None, decorated=True, steps=9):
    """The results, the parameters at the end, and the model."""
    if decorated:
        decorate = chainer.static_graph if exact is None else chainer.static_graph(exact=exact)
        net = type("Net", (Net,), {"forward": decorate(Net.forward)})
    else:
        net = Net
    np.random.seed(0)
    model = net()
    optimizer = chainer.optimizers.MomentumSGD(0.05).setup(model)
    rng, results = np.random.RandomState(1), []
    for _ in range(steps):
        y = model(rng.randn(16, 7).astype("f"))
        model.cleargrads()
        F.sum(y * y).backward()
        optimizer.update()
        results.append(y.array)
    return results, [p.array for p in model.params()], model


def is_fast(model):
    return FLAGS in model.schedule_manager.programs[0].llvm


def same(found, wanted):
    return [a.tobytes() for part in found[:2] for a in part] == [
        a.tobytes() for part in wanted[:2] for a in part
    ]


@pytest.mark.parametrize("setting, option, fast", [
    (True, None, False), (False, None, True), (False, True, False), (True, False, True),
])  # fmt: skip
def test_who_decides(setting, option, fast):
    chainer.global_config.static_exact = setting
    found, wanted = trained(option), trained(decorated=False)
    report = found[2].schedule_manager.report()[0]
    assert report.hits >= 6 and "distrusted" not in str(report)
    assert is_fast(found[2]) is fast
    assert same(found, wanted) is not fast
    for part, other in zip(found[:2], wanted[:2], strict=True):
        for a, b in zip(part, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_program_that_is_too_far_off_is_dropped(monkeypatch, caplog):
    monkeypatch.setitem(_values.TOLERANCES, "f", 0.0)
    found = trained(False)
    assert "distrusted" in caplog.text
    assert same(found, trained(decorated=False))


@pytest.mark.parametrize("value", [0, "no"])
def test_the_option_is_checked(value):
    with pytest.raises(TypeError, match="exact must be True or False"):
        chainer.static_graph(exact=value)


def test_numpy_programs_are_exact():
    chainer.global_config.static_target = "numpy"
    assert same(trained(False), trained(decorated=False))


@pytest.mark.parametrize("a, b, expected", [
    ([1.0, 2.0], [1.0, 2.00001], True),
    ([1.0, 2.0], [1.0, 2.001], False),
    ([1.0, np.nan], [1.0, np.nan], True),
    ([1.0, np.nan], [1.0, 2.0], False),
    ([np.inf, 1.0], [-np.inf, 1.0], False),
    ([1e-9], [3e-9], True),
    ([[1.0]], [1.0], False),
])  # fmt: skip
def test_close(a, b, expected):
    assert _values.close(np.array(a, "f"), np.array(b, "f")) is expected


def test_gradients_that_are_zero_but_for_rounding():
    """That of a bias before a normalization: not its digits count, but those of its terms."""

    class Normalized(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l, self.bn = L.Linear(7, 11), L.BatchNormalization(11)

        @chainer.static_graph(exact=False)
        def forward(self, x):
            return F.tanh(self.bn(self.l(x)))

    np.random.seed(0)
    model = Normalized()
    for k in range(9):
        y = model(np.random.RandomState(k).randn(64, 7).astype("f"))
        y.grad = np.random.RandomState(k).randn(*y.shape).astype("f") * 1e4
        model.cleargrads()
        y.backward()
    report = model.schedule_manager.report()[0]
    assert report.checks and report.hits >= 6 and "distrusted" not in str(report)


def test_integers_have_to_be_equal():
    assert not _values.close(np.array([1000000]), np.array([1000001]))
