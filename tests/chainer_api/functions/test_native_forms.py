"""Functions of define-by-run whose array code runs as native programs give NumPy's bits."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
from chainwright.runtime import eager
from chainwright.runtime.native import native_target

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(eager, "_known", type(eager._known)())


#: Function, shapes of its arguments, and the names of what runs natively, forward and backward.
CASES = {
    "batch_normalization": (
        F.batch_normalization, [(4, 6, 5, 3), (6,), (6,)], ["normalize", "_gradients"]),
    "batch_normalization of units": (
        F.batch_normalization, [(40, 6), (6,), (6,)], ["normalize", "_gradients"]),
    "batch_normalization over one axis": (
        lambda *xs: F.batch_normalization(*xs, axis=(0,)), [(8, 3, 5), (3, 5), (3, 5)],
        ["normalize", "_gradients"]),
    "fixed_batch_normalization": (
        lambda x, g, b: F.fixed_batch_normalization(x, g, b, MEAN, MEAN * MEAN),
        [(4, 6, 5, 3), (6,), (6,)], ["_normalized"]),
    "layer_normalization": (
        F.layer_normalization, [(9, 40), (40,), (40,)], ["_normalized", "_gradients"]),
    "group_normalization": (
        lambda x, g, b: F.group_normalization(x, 3, g, b), [(4, 6, 5, 3), (6,), (6,)],
        ["normalize", "_gradients"]),
    "lstm": (F.lstm, [(7, 5), (7, 20)], ["_cell", "_cell_grad"]),
    "lstm, of images": (F.lstm, [(2, 3, 4, 5), (2, 12, 4, 5)], ["_cell", "_cell_grad"]),
    # Zeros that stand for a gradient are joined by NumPy.
    "lstm, only c": (lambda c, x: F.lstm(c, x)[0], [(7, 5), (7, 20)], ["_cell"]),
    "slstm": (F.slstm, [(7, 5)] * 2 + [(7, 20)] * 2, ["_cell", "_cell_grad"]),
    "tree_lstm": (F.tree_lstm, [(7, 5)] * 3 + [(7, 30)], ["_cell", "_cell_grad"]),
    "softmax_cross_entropy": (
        lambda x: F.softmax_cross_entropy(x, LABELS), [(8, 5)], ["_loss", "_gradient"]),
    "softmax_cross_entropy of pixels": (
        lambda x: F.softmax_cross_entropy(x, LABELS.reshape(2, 2, 2), normalize=False),
        [(2, 5, 2, 2)], ["_loss", "_gradient"]),
    "softmax_cross_entropy, one by one": (
        lambda x: F.softmax_cross_entropy(
            x, LABELS, class_weight=abs(MEAN[:5]).astype(x.dtype), reduce="no"),
        [(8, 5)], ["_loss", "_gradient"]),
}  # fmt: skip
LABELS = np.array([0, 4, -1, 2, 2, -1, 1, 3], "i")
MEAN = np.linspace(-1, 1, 6, dtype="f")


def results(function, shapes, target, dtype, special=False):
    """Forward and backward of five calls, each with other numbers."""
    chainer.global_config.static_target = target
    rng, found = np.random.RandomState(0), []
    for _ in range(5):
        xs = [chainer.Variable(rng.randn(*s).astype(dtype)) for s in shapes]
        if special:
            xs[0].array.flat[:4] = np.inf, -np.inf, np.nan, -0.0
        with np.errstate(all="ignore"):
            ys = function(*xs)
            ys = ys if isinstance(ys, tuple) else (ys,)
            for y in ys:
                y.grad = np.asarray(rng.randn(*y.shape), dtype)
            chainer.backward(ys)
        found.append([*[y.array for y in ys], *[x.grad for x in xs]])
    return found


@pytest.fixture
def compared(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "numpy")

    def compare(name, **options):
        function, shapes, _ = CASES[name]
        wanted = results(function, shapes, "numpy", **options)
        assert not eager._known
        for one, other in zip(results(function, shapes, "native", **options), wanted, strict=True):
            for a, b in zip(one, other, strict=True):
                assert a.strides == b.strides
                np.testing.assert_array_equal(a, b)
                finite = ~np.isnan(a)
                assert (np.signbit(a) == np.signbit(b))[finite].all()

    return compare


@pytest.mark.parametrize("name", CASES)
def test_bits(name, compared):
    compared(name, dtype="f")
    ran = [p.title for p in eager._known.values() if p.trusted]
    assert sorted(ran) == sorted(CASES[name][2])


@pytest.mark.parametrize("name", ["batch_normalization", "lstm"])
@pytest.mark.parametrize("dtype", ["d", "e"])
def test_other_dtypes(name, dtype, compared):
    compared(name, dtype=dtype)


@pytest.mark.parametrize(
    "name", ["batch_normalization", "layer_normalization", "lstm", "softmax_cross_entropy"])
def test_special_values(name, compared):
    compared(name, dtype="f", special=True)


def test_labels_are_refused_as_ever(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    x, labels = np.zeros((8, 5), "f"), LABELS.copy()
    for _ in range(6):
        F.softmax_cross_entropy(x, LABELS)
    for wrong in (5, -6):
        labels[3] = wrong
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
            F.softmax_cross_entropy(x, labels)


def test_warnings_come_as_ever(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    x = np.full((4, 3), 1e30, "f")
    x[0] = 0
    one = np.ones(3, "f")
    for _ in range(6):
        with np.errstate(over="warn"), pytest.warns(RuntimeWarning, match="overflow"):
            F.batch_normalization(x, one, one)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        F.batch_normalization(x, one, one)
