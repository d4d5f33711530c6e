"""Schedules for arrays of any sizes: the bits of those that were made for the very sizes."""

import numpy as np
import pytest

from chainwright.codegen.numpy_target.any_size import NotAnySize
from chainwright.ir import Graph, make, placeholder
from chainwright.ir.unify import Unified
from chainwright.runtime import Schedule
from chainwright.runtime.any_size import AnySizeSchedule
from chainwright.runtime.options import OPTIONS
from chainwright.tracer import Recorder

PROBES = [(7, 11), (1, 1), (1, 6), (2, 1), (19, 19), (3, 23), (5, 4)]


def classifier(xp, x, w, t, gy=None):
    """A layer, a softmax over the last axis, labels: what a loss does with shapes."""
    n, m, _ = x.shape
    h = xp.tanh(x.reshape(n * m, -1) @ w)
    z = h - h.max(axis=1, keepdims=True)
    p = xp.exp(z)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    rows = xp.arange(n * m)
    loss = (xp.log(total)[:, 0] - z[rows, t.reshape(-1)]).sum() * (1.0 / (n * m))
    padded = xp.concatenate([x, xp.zeros((n, m + 2, 4), x.dtype)], axis=1)
    return loss, padded[:, 1:, ::2], h, p, rows


def gradient(xp, x, w, t, gy, h, p, rows):
    n, m, _ = x.shape
    g = p * gy
    g[rows, t.reshape(-1)] -= gy
    g = g * (1.0 / (n * m)) * (1 - h * h)
    gx = (g @ w.T).reshape(x.shape)
    return gx, x.reshape(n * m, -1).T @ g, xp.broadcast_to(gy, (n, m)) * 1


def recorded(n, m):
    """The graphs of both for certain sizes."""
    rec = Recorder()
    arrays = inputs_of(n, m)
    inputs = [rec.input(a, f"x{k}", "argument") for k, a in enumerate(arrays)]
    wrapped = [rec.wrap(a) for a in arrays]
    xp = wrapped[0].__chainwright_xp__
    loss, part, h, p, rows = classifier(xp, *wrapped)
    outputs = loss.node(), part.node()
    forward = Graph(tuple(inputs), tuple(rec.nodes), outputs, "f")
    count = len(rec.nodes)
    gy = np.ones((), "f")
    node = rec.input(gy, "gy", "gradient")
    results = gradient(xp, *wrapped, rec.wrap(gy), h, p, rows)
    outputs = tuple([g.node() for g in results])
    return forward, Graph((node,), tuple(rec.nodes[count:]), outputs, "f backward")


def inputs_of(n, m, seed=0):
    rs = np.random.RandomState(seed)
    x, w = rs.randn(n, m, 4).astype("f"), rs.randn(4, 6).astype("f")
    return x, w, rs.randint(0, 6, (n, m))


@pytest.fixture(scope="module")
def any_size():
    pairs = [recorded(*probe) for probe in PROBES]
    graphs = Unified(PROBES)
    forward = graphs.graph([pair[0] for pair in pairs])
    backward = graphs.graph([pair[1] for pair in pairs])
    return AnySizeSchedule(forward, {"all": backward}, 2, "an example")


@pytest.mark.parametrize("sizes", [(7, 11), (1, 1), (1, 2), (4, 1), (2, 17), (12, 12), (18, 22)])
def test_same_bits_as_programs_of_the_very_sizes(any_size, sizes):
    forward, backward = recorded(*sizes)
    exact = Schedule(forward, {"all": backward}, "exact", "numpy")
    arrays = inputs_of(*sizes, seed=3)
    gy = (np.float32(0.7) * np.ones((), "f"),)
    found = []
    for schedule in (any_size, exact):
        results, kept = schedule.forward((*sizes, *arrays) if schedule is any_size else arrays)
        found.append([*results, *schedule.backwards["all"](kept.values, gy)])
    for a, b in zip(*found, strict=True):
        assert (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        assert a.tobytes() == b.tobytes()


def test_calls_in_flight_have_their_own_sizes(any_size):
    runs = [any_size.forward((n, n + 1, *inputs_of(n, n + 1))) for n in (2, 5, 3)]
    shapes = []
    for _, kept in runs:
        shapes.append(any_size.backwards["all"](kept.values, (np.ones((), "f"),))[0].shape)
    assert shapes == [(2, 3, 4), (5, 6, 4), (3, 4, 4)]


def test_backward_in_parts_tells_of_all_at_the_end(any_size):
    _, kept = any_size.forward((3, 2, *inputs_of(3, 2)))
    told = []
    args = kept.values, (np.ones((), "f"),), 1, lambda k, array: told.append((k, array))
    results = any_size.backwards["all"].in_parts(*args)
    assert [k for k, _ in told] == [0, 1, 2]
    assert all(a is b for (_, a), b in zip(told, results, strict=True))


def test_programs_can_be_read_and_timed(any_size, monkeypatch):
    assert "x.reshape((" not in any_size.source and "size0 * size1" in any_size.source
    assert [stage.name for stage in any_size.passes][0] == "recorded"
    monkeypatch.setattr(OPTIONS, "profile", lambda: True)
    any_size.forward((4, 5, *inputs_of(4, 5)))
    assert "forward" in any_size.profiles
    any_size.trim()


def test_new_arrays_with_gaps_are_refused():
    def spaced(n, m):
        x = placeholder("x", (n, m), "f4")
        y = make("zeros", shape=(n, m), dtype="f4", strides=(8 * m, 8))
        return Graph((x,), (y,), (y,), "f")

    graph = Unified(PROBES).graph([spaced(*probe) for probe in PROBES])
    with pytest.raises(NotAnySize, match="gaps"):
        AnySizeSchedule(graph, {}, 2, "spaced")
