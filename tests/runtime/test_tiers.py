"""Programs of NumPy calls first, native code when it is ready."""

import logging
import sys
import threading

import numpy as np
import pytest
from schedules import schedule_of_tanh

from chainwright.runtime import native, options
from chainwright.runtime.background import BACKGROUND, Background
from chainwright.runtime.native import available, native_target

needs_native = pytest.mark.skipif(native_target() is None, reason="there is no native code here")


def outcome(schedule, seed=0):
    x = np.random.default_rng(seed).standard_normal((2, 3))
    (y,), kept = schedule.forward((x,))
    (gx,) = schedule.backwards["all"](kept.values, (np.full((2, 3), 2.0),))
    return y.tobytes(), gx.tobytes()


@needs_native
def test_native_code_takes_over_between_two_calls():
    plain, schedule = schedule_of_tanh("numpy"), schedule_of_tanh("auto")
    for seed in range(3):
        assert schedule.native_programs is None
        assert outcome(schedule, seed) == outcome(plain, seed)
    outcome(schedule)  # the fourth call asks for it
    assert BACKGROUND.wait(60)
    assert schedule.native_programs is not None and plain.native_programs is None
    assert outcome(schedule, 9) == outcome(plain, 9)
    assert "tanh" in schedule.listing and plain.listing == ""


@needs_native
@pytest.mark.parametrize("pays", [True, False])
def test_who_knows_what_native_code_gains_decides_however_brief_the_program_is(pays, monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "budget", lambda: 0.1)
    schedule, alone, asked = schedule_of_tanh("auto"), schedule_of_tanh("auto"), []

    def native_pays(ran, runs):
        asked.append(runs)
        return pays

    schedule.native_pays = native_pays
    for seed in range(6):
        outcome(schedule, seed)
        outcome(alone, seed)
    assert BACKGROUND.wait(60)
    assert asked == ([4] if pays else [4, 5, 6])
    assert (schedule.native_programs is not None) is pays and alone.native_programs is None


@needs_native
def test_a_forward_run_of_numpy_and_its_backward_in_native_code():
    schedule, plain = schedule_of_tanh("numpy"), schedule_of_tanh("numpy")
    x, g = np.random.default_rng(1).standard_normal((2, 2, 3))
    (_,), kept = schedule.forward((x,))
    schedule.go_native()
    (got,) = schedule.backwards["all"](kept.values, (g,))
    (_,), other = plain.forward((x,))
    (wanted,) = plain.backwards["all"](other.values, (g,))
    assert got.tobytes() == wanted.tobytes()


@needs_native
def test_native_at_once():
    schedule = schedule_of_tanh("native")
    assert schedule.native_programs is not None
    assert outcome(schedule) == outcome(schedule_of_tanh("numpy"))


def test_numpy_programs_are_written_without_jinja(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    schedule = schedule_of_tanh("numpy")
    outcome(schedule)
    compile(schedule.source, "programs", "exec")


def forgets_targets():
    for cached in (available.native_target, available.fast_target):
        cached.cache_clear()


def test_without_llvmlite_numpy_programs_run(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    forgets_targets()
    try:
        with caplog.at_level(logging.INFO, "chainwright"):
            schedules = [schedule_of_tanh("native") for _ in range(2)]
            assert outcome(schedules[0]) == outcome(schedule_of_tanh("numpy"))
        assert all(schedule.native_programs is None for schedule in schedules)
        assert [r.message for r in caplog.records if "NumPy calls" in r.message] != []
        assert len(caplog.records) == 1
    finally:
        forgets_targets()


@needs_native
def test_a_process_has_one_engine():
    """Two would load, and keep, all that native code shares twice."""
    schedule = schedule_of_tanh("native")
    outcome(schedule)
    linker = available.native_target().linker
    assert schedule.native_programs[0].linker is available.fast_target().linker is linker


@needs_native
def test_a_failure_leaves_the_programs_of_numpy(monkeypatch, caplog):
    def broken(*args, **kwargs):
        raise RuntimeError("no code today")

    monkeypatch.setattr(type(native.native_target()), "program", broken)
    schedule = schedule_of_tanh("native")
    assert schedule.native_programs is None and "no code today" in caplog.text
    assert outcome(schedule) == outcome(schedule_of_tanh("numpy"))


def test_the_option_decides_where_no_target_is_named(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "auto")
    assert schedule_of_tanh().target == "auto"
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "coda")
    with pytest.raises(ValueError, match="no target 'coda' here: numpy, native, auto"):
        schedule_of_tanh()


def test_the_background_goes_on_after_a_failure(caplog):
    background, done = Background(), []
    background.do(lambda: 1 / 0)
    background.do(lambda: done.append(1))
    assert background.wait(60) and done == [1]
    assert "ZeroDivisionError" in caplog.text
    background.do(lambda: done.append(2))  # a new thread: the first has ended
    assert background.wait(60) and done == [1, 2]


def test_what_has_not_begun_is_dropped_at_exit():
    background, done, begun, go_on = Background(), [], threading.Event(), threading.Event()
    background.do(lambda: (begun.set(), go_on.wait(60), done.append(1)))
    background.do(lambda: done.append(2))
    assert begun.wait(60)
    with background._lock:
        background._jobs.clear()
    go_on.set()
    background.stop()
    assert done == [1] and background.wait(60)
