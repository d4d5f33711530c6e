"""Decorated methods take little more memory than define-by-run, in each of their calls."""

import gc
import tracemalloc

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _piece
from chainwright.runtime import BLOCKS, arenas
from chainwright.runtime.background import BACKGROUND

MIB = 1 << 20


class Net(chainer.Chain):
    """Large values: some that backward needs, and some that only forward does."""

    def __init__(self, width, layers=6):
        super().__init__()
        self.layers = layers
        with self.init_scope():
            for k in range(layers):
                setattr(self, f"l{k}", L.Linear(width, width))

    def forward(self, x):
        for k in range(self.layers):
            x = F.tanh(self[f"l{k}"](x) + 1.0 - 0.5)
        return F.sum(x)


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


def peaks(kind, calls, rows, width):
    """The most memory in each call of a training loop, in MiB."""
    np.random.seed(0)
    model = kind(width)
    optimizer = chainer.optimizers.SGD(1e-6).setup(model)
    x = np.random.RandomState(0).randn(rows, width).astype("f")
    found = []
    BACKGROUND.wait(60)  # for what other tests have asked for
    gc.collect()
    BLOCKS.trim()
    tracemalloc.start()
    try:
        for _ in range(calls):
            tracemalloc.reset_peak()
            model.cleargrads()
            model(x).backward()
            optimizer.update()
            found.append(tracemalloc.get_traced_memory()[1] / MIB)
            BACKGROUND.wait(60)
    finally:
        tracemalloc.stop()
        BLOCKS.trim()
    return found


@pytest.mark.parametrize("rows, width", [(16384, 64), (64, 1536)], ids=["values", "parameters"])
def test_no_call_takes_much_more_memory(rows, width):
    """While programs are new, checked, compiled again, and when they run."""
    plain = max(peaks(Net, 4, rows, width))
    compiled = peaks(Compiled, 40, rows, width)
    # What is compiled takes some, too. While other threads of the process still compile, the first
    # calls with a program have had its memory beside the graph of their check.
    assert sorted(compiled)[-3] <= 1.15 * plain + 10.0, compiled
    assert max(compiled) <= 2.0 * plain, compiled
    assert max(compiled[-3:]) <= 1.05 * plain + 5.0, compiled


def test_a_check_is_no_backward_of_a_new_kind(monkeypatch):
    """What a check has let go of comes by the graph; the parameters need not be copied for it."""
    monkeypatch.setattr(_piece, "_LARGE", -1)
    copies = []
    monkeypatch.setattr(_piece, "shared_copy", lambda a: copies.append(a) or a.copy())
    monkeypatch.setattr(_piece, "LARGE", 1)
    model = Compiled(64, layers=2)
    x = np.ones((4, 64), "f")
    for _ in range(40):
        model.cleargrads()
        model(x).backward()
    (report,) = model.schedule_manager.report()
    assert report.checks >= 4 and not copies


@pytest.mark.parametrize("state", ["timed", "resting"])
def test_define_by_run_gets_the_memory_of_programs(monkeypatch, state):
    """In calls that are timed without programs, and while programs rest."""
    monkeypatch.setattr(arenas, "LARGE", 1)
    model, idle = Compiled(64, layers=2), []
    x = np.ones((64, 64), "f")
    for _ in range(8):
        model(x).backward()
    (site,) = model.schedule_manager._sites.values()
    BACKGROUND.wait(60)
    model(x).backward()
    assert BLOCKS.idle_bytes
    if state == "timed":
        site._to_time = 1
    else:
        site._asleep, site._rests = 4, True

    def forward(self, x):
        idle.append(BLOCKS.idle_bytes)
        return Net.forward(self, x)

    site.method = forward
    model(x)
    assert idle == [0]
