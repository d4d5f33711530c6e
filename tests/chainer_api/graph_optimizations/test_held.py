"""Arrays that compiled calls and updates hold are not copied; those that others hold are."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _held, _run


class Model(chainer.Chain):
    """Large parameters, in a method that goes with its Python."""

    raw = None

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(100, 80), L.Linear(80, 100)
        self.said = []

    def forward(self, x):
        h = self.a(x)
        self.said.append(id(h))  # nobody can prove what this is for
        if self.raw is not None:
            self.raw *= 0.9
        return F.sum(self.b(F.tanh(h)) * self.b(F.tanh(self.a(x))))


def _trained(model, optimizer, steps, changes=()):
    losses = []
    optimizer.setup(model)
    x = np.random.RandomState(0).rand(3, 100).astype("f")
    for k in range(steps):
        if k in changes:
            changes[k](model)
        loss = model(x)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(loss.array.tobytes())
    return losses, [p.array.tobytes() for p in model.params()]


def _models():
    np.random.seed(0)
    plain = Model()
    np.random.seed(0)
    return plain, type("Static", (Model,), {"forward": chainer.static_graph(Model.forward)})()


@pytest.mark.parametrize("make", [chainer.optimizers.SGD, chainer.optimizers.Adam])
def test_large_parameters_are_not_copied_in_each_call(make, monkeypatch):
    plain, static = _models()
    assert all(p.array.nbytes >= _held.LARGE for p in (static.a.W, static.b.W))
    copies = []
    copied = _run.copied
    monkeypatch.setattr(_run, "copied", lambda a: copies.append(a.nbytes) or copied(a))
    expected = _trained(plain, make(), 30)
    # The graph that the 16th use was compared with holds them, too, for one call.
    actual = _trained(static, make(), 30, {20: lambda model: copies.clear()})
    assert actual == expected
    assert static.schedule_manager.report()[0].with_python >= 27
    assert not [n for n in copies if n >= _held.LARGE]


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("view", [False, True])
def test_one_more_reference_counts(name, view):
    def change(model):
        array = model[name].W.array
        model.raw = array[:5] if view else array

    plain, static = _models()
    expected = _trained(plain, chainer.optimizers.SGD(), 12, {6: change})
    assert _trained(static, chainer.optimizers.SGD(), 12, {6: change}) == expected


def test_references_are_counted_while_they_last():
    array = np.zeros(5000, "f")
    first, second = _held.hold(array), _held.hold(array)
    assert first is second and _held.references(array) == 1
    assert _held.references(np.zeros(5000, "f")) == 0

    class Other:
        references_to_each = 3

    other = Other()
    first.others.add(other)
    assert _held.references(array) == 4
    del other
    assert _held.references(array) == 1
    del first, second
    assert _held.references(array) == 0


def test_others_may_come_while_references_are_counted():
    """Another thread may bring some, at any line of Python; here, what is asked does so itself."""
    array, kept = np.zeros(5000), []

    class Other:
        @property
        def references_to_each(self):
            kept.append(Other())
            held.others.add(kept[-1])
            return 2

    held = _held.hold(array)
    kept += [Other(), Other()]
    for other in list(kept):
        held.others.add(other)
    assert _held.references(array) == 1 + 2 * 2 and len(held.others) == 4
