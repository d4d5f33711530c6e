"""Loops over array code: one native call with the bits of calls of the function."""

import numpy as np
import pytest

from chainwright.codegen.native_target import series as tables
from chainwright.runtime import options
from chainwright.runtime.native import native_target
from chainwright.runtime.series import Loop, Turns

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")
GUARD = 1234.5


@pytest.fixture(autouse=True)
def target(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "native")


def step(x, W, state, *, scale):
    """A step of a loop over states: the next one, and something else."""
    hidden = np.tanh(x + state.dot(W)) * scale
    return hidden, hidden * hidden + x


def plainly(turns, loop, arguments, results):
    arrays = [*arguments, *results]
    for turn in range(len(loop.counts)):
        parts = loop.parts(arrays, turn)
        made = turns.function(*parts[: len(arguments)], **turns.settings)
        made = made if type(made) is tuple else (made,)
        for y, part in zip(made, parts[len(arguments) :], strict=True):
            part[...] = y


def arrays(counts, units=8, dtype="f", seed=0):
    """A loop whose states are the results of the turn before; its arguments and results."""
    rng = np.random.default_rng(seed)
    total, batch = sum(counts), counts[0]
    x, W, first = (
        rng.standard_normal(s).astype(dtype) for s in
        ((total, units), (units, units), (batch, units)))
    begins = np.cumsum(counts) - counts
    states = np.full((batch + total + 1, units), GUARD, dtype)
    states[:batch] = first
    others = np.full((total + 1, units), GUARD, dtype)
    after = batch + begins
    before = np.append(0, after[:-1])
    loop = Loop(counts, [begins, None, before, after, begins])
    return loop, [x, W, states], [states, others]


def check(turns, counts, **options):
    """Whether the loop had native code; its results are those of calls in any case."""
    loop, arguments, results = arrays(counts, **options)
    wanted = arrays(counts, **options)
    plainly(turns, *wanted)
    prepared = turns.prepared(loop, arguments, results)
    if prepared is None:
        return False
    assert prepared.run() and same(results, wanted[2])
    if loop.known:  # the table is there now
        _, arguments, results = arrays(counts, **options)
        assert turns.prepared(loop, arguments, results).run() and same(results, wanted[2])
    return True


def same(results, wanted):
    return all([a.tobytes() == b.tobytes() for a, b in zip(results, wanted, strict=True)])


def test_a_table_of_other_native_code_is_made_anew():
    turns = Turns(step, {"scale": 0.5})
    for k in range(4):
        check(turns, [3, 2], seed=k)
    loop, arguments, results = arrays([3, 2])
    assert turns.prepared(loop, arguments, results).run()
    ((key, known),) = loop.known.items()
    loop.known[key] = known._replace(linker=object())
    wanted = arrays([3, 2])
    plainly(turns, *wanted)
    _, arguments, results = arrays([3, 2])
    assert turns.prepared(loop, arguments, results).run() and same(results, wanted[2])
    assert loop.known[key].is_current()


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("counts", [[4, 4, 4], [6, 5, 5, 2, 1, 1], [1], [1, 1], [3, 2]])
def test_bits_of_every_call(counts, dtype):
    turns = Turns(step, {"scale": 0.5})
    found = [check(turns, counts, dtype=dtype, seed=k) for k in range(6)]
    assert found == [False, False, True, True, True, True]


def test_turns_that_have_no_program_yet_are_calls():
    turns = Turns(step, {"scale": 0.5})
    for k in range(3):
        check(turns, [4, 4, 3], seed=k)
    assert check(turns, [5, 4, 4, 2, 1], seed=7) is False  # three of five have none
    assert check(turns, [5, 4, 4, 3, 2], seed=8)


def test_numbers_of_rows_between_others_need_no_compiler():
    turns, counts = Turns(step, {"scale": 0.5}), [*range(20, 1, -1)]
    compiled = []
    for k in range(5):
        found = check(turns, counts, units=16, seed=k)
        for form in turns._forms.values():
            was = form._compiled
            if "_compiled" not in vars(form):
                form._compiled = lambda n, was=was: compiled.append(n) or was(n)
    assert found
    assert len(compiled) == 3 and {2, 20} < set(compiled)


def test_what_does_not_grow_evenly_is_compiled():
    turns, counts = Turns(step, {"scale": 0.5}), [*range(20, 1, -1)]
    for k in range(5):
        found = check(turns, counts, units=3, seed=k)  # memory to work in is aligned
    assert found


def test_other_forms_have_other_programs():
    turns = Turns(step, {"scale": 0.5})
    for k in range(4):
        check(turns, [3, 2], seed=k)
    assert not check(turns, [3, 2], units=6)
    assert not check(turns, [3, 2], dtype="d")
    assert len(turns._forms) == 3


def test_arrays_with_gaps():
    def twice(x, y):
        return x * 2 + y

    turns = Turns(twice, {})
    for k in range(5):
        x = np.random.default_rng(k).standard_normal((7, 12)).astype("f")[:, 3:9]
        y = np.random.default_rng(k).standard_normal((6, 7)).astype("f").T
        first, out = np.array([0, 4]), np.full((8, 6), GUARD, "f")
        prepared = turns.prepared(Loop([4, 3], [first] * 3), [x, y], [out])
        assert (prepared is None) == (k < 2)
        if prepared is not None:
            assert prepared.run()
            assert out[:7].tobytes() == (x * 2 + y).tobytes() and (out[7] == GUARD).all()


def test_errors_are_left_to_whoever_calls():
    turns = Turns(step, {"scale": 3e38})
    for k in range(4):
        check_quietly = np.errstate(all="ignore")
        with check_quietly:
            check(turns, [3, 2], seed=k)
    loop, arguments, results = arrays([3, 2], seed=9)
    arguments[0][:] = 100.0
    assert turns.prepared(loop, arguments, results).run() is False
    with np.errstate(over="ignore", invalid="ignore"):
        assert turns.prepared(loop, arguments, results).run() is True


def test_a_call_that_is_compared_does_not_warn(recwarn):
    turns = Turns(step, {"scale": 3e38})
    for k in range(3):
        loop, arguments, results = arrays([3, 2], seed=k)
        arguments[0][:] = 100.0
        prepared = turns.prepared(loop, arguments, results)
    assert prepared.run() is False
    assert not recwarn.list


def test_native_code_that_is_wrong_is_not_used(monkeypatch, caplog):
    turns = Turns(step, {"scale": 0.5})
    other = Turns(lambda x, W, state, scale: (x * 2, x + state.dot(W)), {"scale": 0.5})
    for _ in range(3):
        other.prepared(*arrays([3, 2]))
    ((_, form),) = other._forms.items()
    for k in range(3):
        if k == 2:
            monkeypatch.setattr(
                type(form), "_compile", lambda self, programs: [
                    setattr(p, "part", form._programs[n].part) for n, p in programs.items()])
        loop, arguments, results = arrays([3, 2], seed=k)
        prepared = turns.prepared(loop, arguments, results)
    assert form._programs[3].part is not None
    wanted = arrays([3, 2], seed=2)
    plainly(turns, *wanted)
    assert prepared.run()
    assert same(results, wanted[2])
    assert "gave other bits" in caplog.text
    assert turns.prepared(loop, arguments, results) is None


def test_nothing_of_it_with_the_target_numpy(monkeypatch):
    monkeypatch.setattr(options.OPTIONS, "target", lambda: "numpy")
    turns = Turns(step, {"scale": 0.5})
    assert not any([check(turns, [2, 2], seed=k) for k in range(6)])
    assert not turns._forms


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr("chainwright.runtime.series._FORMS", 3)
    monkeypatch.setattr("chainwright.runtime.series._ROWS", 4)
    turns = Turns(step, {"scale": 0.5})
    for units in range(2, 9):
        for n in range(1, 9):
            check(turns, [n], units=units)
    assert len(turns._forms) == 3
    assert [len(form._programs) for form in turns._forms.values()] == [4, 4, 4]


def test_a_part_is_one_run_of_native_code():
    def other(x):
        return x

    turns = Turns(other, {})
    x = np.ones((3, 4), "f")
    for _ in range(5):
        loop = Loop([3], [np.array([0])] * 2)
        assert turns.prepared(loop, [x], [np.empty_like(x)]) is None
    assert tables.Part.between([2, 3, 5], [
        tables.Part(np.array([1, k]), [0], 0, 0, False) for k in (2, 4, 5)], 4) is None
