"""What reports advise."""

from chainwright.runtime.ledger import Ledger


def ledger(hits, plainly):
    found = Ledger("M.forward")
    found.with_python = hits
    for reason, calls in plainly.items():
        for _ in range(calls):
            found.went_plainly(reason)
            found.plain_calls += 1
    return found


def test_what_few_calls_have_met_is_no_advice():
    asleep = {"left alone for a while: no program was found for earlier calls": 4}
    assert ledger(96, asleep).report().advice == []
    (advice,) = ledger(60, asleep).report().advice
    assert "pad or bucket" in advice


def test_stops_that_calls_without_python_do_not_have_are_no_advice():
    found = ledger(100, {})
    for _ in range(4):
        found.stopped("an old-style function", "here.py:1")
    assert found.report().advice == []
    found.stopped("an old-style function", "here.py:2")
    (advice,) = found.report().advice
    assert "declares itself" in advice


def test_what_was_compiled_has_paid():
    slow = {"to compile it would take too long": 50}
    found = ledger(50, slow)
    (advice,) = found.report().advice
    assert "static_budget" in advice
    found.add("compile", "a way through the method was seen for the second time")
    assert found.report().advice == []


def test_calls_that_are_to_pass_are_not_there_yet():
    found = Ledger("M.forward")
    found.went_plainly("asleep")
    found.plain_calls += 1
    found.let_pass(5, "asleep")
    assert found.report().eager_calls == 1 and found.report().plainly == {"asleep": 1}
    found.to_pass -= 2
    assert found.report().eager_calls == 3 and found.report().plainly == {"asleep": 3}
    found.let_pass(4, "slow")  # instead of the three that were left
    assert found.report().eager_calls == 3 and found.report().plainly == {"asleep": 3}
    found.to_pass = 0
    assert found.report().eager_calls == 7
    assert found.report().plainly == {"asleep": 3, "slow": 4}
    found.let_pass(0, "slow")
    assert found.report().eager_calls == 7


def test_other_threads_may_add_while_reasons_are_compared():
    """Another thread may, at any line of Python; here, a reason does so itself."""
    found = Ledger("M.forward")

    class Reason(str):
        def __ne__(self, other):
            found._said.add(("slower", f"another {len(found._said)}", ""))
            return str.__ne__(self, other)

        __hash__ = str.__hash__

    found._said |= {("opaque", Reason("one"), ""), ("opaque", Reason("two"), "")}
    found.went_plainly("asleep")
    assert len(found._said) == 4 and found.report().plainly == {"asleep": 1}
