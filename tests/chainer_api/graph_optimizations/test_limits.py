"""Limits of indexes: a function that is within them raises nothing."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations._limits import are_within


class Base(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(3, 4)
            self.words = L.EmbedID(5, 3)
            self.some = L.EmbedID(5, 3, ignore_label=7)


METHODS = {
    "select_item": lambda m, x, t: F.select_item(m.a(x), t),
    "cross_entropy": lambda m, x, t: F.softmax_cross_entropy(m.a(x), t),
    "ignored": lambda m, x, t: F.softmax_cross_entropy(m.a(x), t, ignore_label=6),
    "weighted": lambda m, x, t: F.softmax_cross_entropy(
        m.a(x), t, class_weight=np.ones(4, "f"), reduce="no"),
    "words": lambda m, x, t: m.a(m.words(t)),
    "some_words": lambda m, x, t: m.a(m.some(t)),
    "items": lambda m, x, t: m.a(x)[:, t],
    "rows": lambda m, x, t: m.a(x)[t],
    "permutate": lambda m, x, t: F.permutate(m.a(x), t % 3),
    "computed": lambda m, x, t: F.select_item(m.a(x), t + 1),
}
UNKNOWN = {"permutate"}  # it may raise for something else, as far as anybody can tell


@pytest.mark.parametrize("name", METHODS)
def test_nothing_raises_within_limits(name):
    method = METHODS[name]

    class Model(Base):
        @chainer.static_graph
        def forward(self, x, t):
            return method(self, x, t)

    model, plain = Model(), Base()
    x = np.random.RandomState(0).randn(3, 3).astype("f")
    with chainer.using_config("static_budget", None):
        for _ in range(3):
            model(x, np.array([0, 1, 2], "i"))
    (site,) = model.schedule_manager._sites.values()
    path = site.last.path(1)
    failing = [app for app in path if app.fails]
    assert failing
    assert any([app.may_raise for app in failing]) is (name in UNKNOWN)
    if name in UNKNOWN:
        return
    specs = {slot: spec for app in path for slot, spec in app.leaves.items()}
    limits = [limit for app in failing for limit in app.limits]
    for numbers in np.random.RandomState(1).randint(-8, 9, (400, 3)).astype("i"):
        t = numbers + 1 if name == "computed" else numbers
        within = are_within(dict.fromkeys(specs, t), limits)
        try:
            method(plain, x, numbers)
        except (IndexError, ValueError):
            assert not within, numbers
        else:  # nor is anything out of them that would do
            assert within, numbers
