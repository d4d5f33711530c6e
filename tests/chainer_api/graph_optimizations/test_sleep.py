"""How long a method is left alone, and that it is looked at again."""

from chainer.graph_optimizations import _sleep


def left_alone(sleep, longest, calls):
    """The numbers of calls in a row for which a method is left alone, if none is ever served."""
    found = []
    for _ in range(calls):
        sleep.was_in_vain()
        sleep.may_begin(longest)
        if sleep.calls:
            found.append(sleep.calls)
            sleep.wakes()
    return found


def test_longer_each_time_but_not_for_good():
    sleep = _sleep.Sleep()
    assert left_alone(sleep, 32, 40) == [4, 8, 16, 32, 32, 32, 32]
    sleep.is_served()
    assert left_alone(sleep, 32, _sleep.PATIENCE) == [4]


def test_what_waits_for_less_wakes_earlier():
    sleep = _sleep.Sleep()
    sleep.begins(50, "dear")
    sleep.begins(80, "dear")
    assert (sleep.calls, sleep.why, sleep.rests) == (50, "dear", False)
    sleep.begins(20, "dear")
    assert sleep.calls == 20


def test_rests():
    sleep, calls = _sleep.Sleep(), []
    for _ in range(9):
        sleep.begins_to_rest()
        calls.append(sleep.calls)
        sleep.rests_longer()
    assert calls[:4] == [16, 64, 256, 1024] and calls[-1] == 16 * _sleep.LONGEST
    assert sleep.rests and not sleep.is_new_to_rest
    sleep.waits_for_native()
    assert sleep.calls == 16
    sleep.waits_for_native()
    assert sleep.calls == 32
