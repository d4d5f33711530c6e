"""The memory plan."""

import numpy as np
import pytest

from chainwright.codegen.plan.arena import ALIGNMENT, Span, View, place
from chainwright.codegen.program import allocate


def test_buffers_of_different_times_share_memory():
    offsets, size = place({"a": Span(100, 0, 1), "b": Span(100, 2, 3), "c": Span(100, 1, 2)})
    assert offsets == {"a": 0, "c": 128, "b": 0} and size == 256


def test_the_best_fitting_gap_is_taken():
    spans = {
        "large": Span(640, 0, 1),
        "wall": Span(64, 0, 9),
        "small": Span(128, 0, 1),
        "end": Span(64, 0, 9),
        "new": Span(100, 2, 9),
    }
    offsets, _ = place(spans)
    assert offsets["new"] == offsets["small"]


def test_the_last_gap_grows():
    offsets, size = place({"a": Span(64, 0, 9), "b": Span(64, 0, 1), "c": Span(640, 2, 9)})
    assert offsets["c"] == offsets["b"] == 64 and size == 64 + 640


def test_empty_buffers_and_no_buffers():
    assert place({}) == ({}, 0)
    assert place({"a": Span(0, 0, 1), "b": Span(0, 0, 1)})[1] == 2 * ALIGNMENT


@pytest.mark.parametrize("seed", range(20))
def test_nothing_overlaps(seed):
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, 50, 60)
    spans = {
        k: Span(int(rng.integers(0, 1000)), int(start), int(start + rng.integers(0, 10)))
        for k, start in enumerate(starts)
    }
    offsets, size = place(spans)
    for a, one in spans.items():
        assert offsets[a] % ALIGNMENT == 0 and offsets[a] + one.nbytes <= size
        for b, other in spans.items():
            together = one.start <= other.stop and other.start <= one.stop
            ends = offsets[a] + max(one.nbytes, 1), offsets[b] + max(other.nbytes, 1)
            apart = ends[0] <= offsets[b] or ends[1] <= offsets[a]
            assert a == b or not together or apart
    alive = [sum(s.nbytes for s in spans.values() if s.start <= t <= s.stop) for t in range(60)]
    assert max(alive) <= size <= 3 * max(alive) + 60 * ALIGNMENT


def test_allocate():
    f4 = np.dtype("f4")
    whole, flipped = View(64, (3, 4), f4, (16, 4)), View(64 + 32, (3, 4), f4, (-16, 4))
    one, other, again = allocate(192, [whole, flipped, whole])
    assert one is again and one.ctypes.data % ALIGNMENT == 0
    one[...] = np.arange(12).reshape(3, 4)
    assert other.tolist() == one[::-1].tolist()
    assert allocate(0, []) == ()
