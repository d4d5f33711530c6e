"""The memory that programs run in: what is large is shared, and no more held than was used."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest
from schedules import schedule_of_tanh

from chainwright.codegen.plan.arena import View
from chainwright.runtime import BLOCKS, arenas
from chainwright.runtime.arenas import Block, Blocks, SharedPool

MIB = 1 << 20


@pytest.fixture
def blocks(monkeypatch):
    made = Blocks()
    monkeypatch.setattr(arenas, "BLOCKS", made)
    return made


@pytest.fixture
def given_back(monkeypatch):
    """How often the C library was asked to give back what is free."""
    times = []
    monkeypatch.setattr(arenas, "give_back_what_is_free", lambda: times.append(None))
    return times


def pool(mib, lasts=False):
    whole = View(0, (mib * MIB,), np.dtype(np.uint8), (1,))
    return SharedPool([whole, View(64, (3,), np.dtype("f4"), (4,))], mib * MIB, lasts)


def test_programs_share_memory(blocks):
    one, other = pool(3), pool(2)
    first = one.take()
    one.give(first)
    second = other.take()
    assert np.shares_memory(first[0], second[0]) and second[0].nbytes == 2 * MIB
    other.give(second)
    assert one.take() is first  # its arrays are made once


def test_two_at_a_time_have_memory_of_their_own(blocks):
    one, other = pool(3), pool(3)
    taken = one.take(), other.take(), one.take()
    for k, (whole, _) in enumerate(taken):
        whole[...] = k
    assert [{*whole[:: MIB // 2].tolist()} for whole, _ in taken] == [{0}, {1}, {2}]


def test_what_lasts_has_the_smallest_that_fits(blocks):
    pools = [pool(mib, lasts=True) for mib in (5, 10, 60)]
    taken = [p.take() for p in pools]
    for p, buffers in zip(pools, taken, strict=True):
        p.give(buffers)
    (one, *_), (other, *_) = pool(4, lasts=True).take(), pool(6, lasts=True).take()
    assert np.shares_memory(one, taken[0][0])
    # In what is much too large, little would stand in the way of much.
    assert not any(np.shares_memory(other, whole) for whole, _ in taken)


def test_what_is_soon_back_has_the_largest_that_nobody_keeps(blocks):
    lasting, large = pool(30, lasts=True), pool(20)
    kept, whole = lasting.take(), large.take()
    lasting.give(kept)
    large.give(whole)
    one, other = pool(2), pool(2)
    first, second = one.take(), other.take()
    assert np.shares_memory(first[0], whole[0]) and np.shares_memory(second[0], kept[0])
    assert lasting.take() is not kept


def test_little_more_is_held_than_was_used_at_a_time(blocks):
    for mib in (1, 5, 30, 2, 60):
        p = pool(mib)
        p.give(p.take())
    assert blocks.idle_bytes == 60 * MIB
    other = pool(20, lasts=True)  # for which what is idle has to make room
    kept = other.take()
    assert blocks.idle_bytes == 0
    other.give(kept)
    three = [p.take() for p in (p, p, p)]
    for buffers in three:
        p.give(buffers)
    assert 180 * MIB <= blocks.idle_bytes <= 1.3 * 180 * MIB


def test_the_same_steps_take_the_same_memory(blocks, monkeypatch):
    """It is fetched once: which of it is whose does not change from step to step."""
    new = []
    memory_of = arenas.memory_of
    monkeypatch.setattr(arenas, "memory_of", lambda size: new.append(size) or memory_of(size))
    sizes = (6, 2), (12, 4), (22, 10)
    pools = [(pool(kept, lasts=True), pool(scratch)) for kept, scratch in sizes]
    last, counts = pool(46), []
    for _ in range(5):
        lent = []
        for kept, scratch in pools:
            lent.append((kept, kept.take()))
            scratch.give(scratch.take())
            if len(lent) == 2:
                first, buffers = lent.pop(0)
                first.give(buffers)
        last.give(last.take())
        for kept, buffers in lent:
            kept.give(buffers)
        counts.append(len(new))
    assert counts[2:] == counts[2:3] * 3


def test_trimmed_memory_is_gone(blocks):
    p = pool(2)
    buffers = p.take()
    p.give(buffers)
    gone = weakref.ref(buffers[0])
    del buffers
    blocks.trim()
    assert gone() is None and blocks.idle_bytes == 0


def test_a_program_that_is_gone_leaves_no_arrays_behind(blocks):
    p = pool(2)
    buffers = p.take()
    p.give(buffers)
    gone = weakref.ref(buffers[0])
    del buffers, p
    gc.collect()
    assert gone() is None and blocks.idle_bytes == 2 * MIB


def test_memory_comes_back_while_somebody_takes_some(blocks):
    """Garbage collection brings it at any moment, to the thread that holds the lock, too."""
    p = pool(2)
    buffers = p.take()
    with blocks._lock:
        p.give(buffers)
    assert p.take() is buffers


def test_a_finalizer_may_run_programs_while_somebody_takes_memory(blocks):
    p, other, taken = pool(2), pool(2), []

    class Finalizing(Block):
        @property
        def size(self):
            if not taken:
                taken.append(None)
                taken[0] = other.take()
            return 2 * MIB

    blocks._idle.append(Finalizing(2 * MIB))
    blocks._most = 2 * MIB
    mine = p.take()
    assert not np.shares_memory(mine[0], taken[0][0]) and blocks._lent == 4 * MIB


def test_memory_that_is_not_there(blocks, monkeypatch):
    def none(size):
        raise MemoryError

    p = pool(2)
    with monkeypatch.context() as patch:
        patch.setattr(arenas, "memory_of", none)
        with pytest.raises(MemoryError):
            p.take()
    assert blocks._lent == 0
    p.give(p.take())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_another_thread_takes_memory():
    holds, ends = threading.Event(), threading.Event()

    def hold():
        with BLOCKS._lock:
            holds.set()
            ends.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait(60)
    child = os.fork()
    if not child:
        os._exit(0 if BLOCKS._lock.acquire(blocking=False) else 1)
    ends.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_what_define_by_run_has_left_is_given_back(blocks, given_back):
    p = pool(2)
    for _ in range(70):
        p.give(p.take())
    assert len(given_back) == 4  # at 1, 4, 16 and 64
    blocks.trim()
    p.give(p.take())
    assert len(given_back) == 5


def test_what_a_check_has_left_is_given_back(blocks, given_back):
    """Before define-by-run has its turn: it would take its memory from elsewhere, too."""
    def check():
        blocks.trim()
        blocks.is_to_check()
        blocks.has_checked()
        blocks.trim()
        blocks.trim()

    p = pool(2)
    p.give(p.take())
    check()  # of a small program
    assert len(given_back) == 1  # when some was taken
    p = pool(20)
    p.give(p.take())
    check()
    assert len(given_back) == 4  # when some was taken, before the check, and after it


def test_threads(blocks):
    p, wrong = pool(1), []

    def work(k):
        for n in range(200):
            buffers = p.take()
            buffers[0][:100] = mark = (k * 31 + n) % 256
            if {*buffers[0][:100].tolist()} != {mark}:
                wrong.append((k, n))
            p.give(buffers)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and blocks.idle_bytes <= 4 * MIB


@pytest.mark.parametrize("target", ["numpy", "native"])
def test_schedules_in_shared_memory(blocks, monkeypatch, target):
    monkeypatch.setattr(arenas, "LARGE", 1)
    schedules = [schedule_of_tanh(target) for _ in range(2)]
    xs = [np.random.RandomState(k).randn(2, 3) for k in range(6)]
    runs = [schedules[k % 2].forward((x,)) for k, x in enumerate(xs)]
    for k, (x, (_, kept)) in enumerate(zip(xs, runs, strict=True)):
        (gx,) = schedules[k % 2].backwards["all"](kept.values, (np.ones((2, 3)),))
        y = np.tanh(x * 3)
        assert (gx == (1 - y * y) * 3).all()
    lent = blocks._lent
    del runs, kept
    gc.collect()
    assert blocks.idle_bytes == lent
    assert lent or schedules[0].native_programs is None  # the NumPy program needs none


def test_a_program_that_raises_gives_its_memory_back(blocks, monkeypatch):
    monkeypatch.setattr(arenas, "LARGE", 1)
    schedule = schedule_of_tanh("native")
    if schedule.native_programs is None:
        pytest.skip("there is no native code here")
    for _ in range(3):
        with pytest.raises(TypeError):
            schedule.forward((None,))
    lent = blocks.idle_bytes
    assert lent and blocks._lent == 0
    _, kept = schedule.forward((np.ones((2, 3)),))
    with pytest.raises(TypeError):
        schedule.backwards["all"](kept.values, (None,))
    del kept
    assert blocks.idle_bytes == lent and blocks._lent == 0
