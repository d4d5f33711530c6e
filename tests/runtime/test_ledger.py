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


def test_what_waited_does_not_wait_any_more():
    found, dear = Ledger("M.forward"), "to compile it would take too long"
    found.add("waits", dear)
    assert "  waits " in str(found.report())
    found.add("compile", "a way through the method was seen for the second time")
    assert "  waited " in str(found.report()) and "  waits " not in str(found.report())
    found.add("waits", dear)  # another way
    assert "  waited " in str(found.report()) and "  waits " in str(found.report())


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


def test_a_line_is_for_all_events_of_one_place():
    found = ledger(50, {})
    for k in range(5):
        why = f"a new kind of backward has come: {', '.join(['float32[4,12]'] * 30)} {k}"
        found.add("compile", why, "here.py:1", 0.25)
    found.add("compile", "a new kind of backward has come: float32[4]", "here.py:2", 0.25)
    found.add("slower", "programs were slower than define-by-run: Net.forward", "here.py:2")
    text = str(found.report())
    together, alone, slower = text.splitlines()[4:7]
    assert together.split() == (
        "compile 1250.00 ms 5 x a new kind of backward has come [here.py:1]".split())
    assert alone.endswith("250.00 ms  a new kind of backward has come: float32[4]  [here.py:2]")
    assert slower.endswith("programs were slower than define-by-run: Net.forward  [here.py:2]")
    assert found.report().traces == 6 and len(found.report().events) == 7  # they are all there


def test_long_reasons_end_where_a_line_does(caplog):
    found = ledger(50, {})
    found.add("compile", "the same functions: " + ", ".join(["float32[4,12]"] * 90), "here.py:1")
    found.add("distrusted", "a compiled program gave " + 30 * "another value " + "here", "x.py:1")
    compiled, distrusted = str(found.report()).splitlines()[4:6]
    assert len(compiled) < 250 and compiled.endswith("float32[4,12], ...  [here.py:1]")
    assert distrusted.endswith("another value here  [x.py:1]")


def test_a_part_that_runs_no_programs_is_a_line():
    found = Ledger("M.forward, loop at line 3", is_part=True)
    found.plain_calls = 12
    assert str(found.report()) == f"{found.name}: 0 replayed, 12 define-by-run, a part of calls"
    found.went_plainly("left alone for a while")
    assert str(found.report()).endswith("a part of calls: left alone for a while")
    found.add("compile", "a way through the method was seen for the second time", "", 0.25)
    assert "250.00 ms" in str(found.report())  # though no call has run it
