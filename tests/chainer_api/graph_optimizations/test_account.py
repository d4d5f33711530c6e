"""What a method may spend, and when: seconds are set here, none is measured."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _account, _comparison, _making, _proof, _rests, _run, _site
from chainer.graph_optimizations._piece import Piece
from chainer.graph_optimizations._run import Run
from chainer.graph_optimizations._settings import settings_now
from chainer.graph_optimizations._sleep import LEFT_ALONE as LEFT
from chainer.graph_optimizations._tree import Application
from chainwright.runtime import Ledger
from chainwright.runtime.eager import News
from chainwright.runtime.rate import Rate

USUAL = {
    "_SOON": 150, "_GAIN": 0.6, "_GAIN_OF_FUNCTION": 9.5e-6, "_PROVED": 0.0, "_BACKWARD": 2.2,
    "_LESS_FOR_RESULT": 0.0, "_RESULT_OF_TURN": 40e-6, "_LONGER_FOR_RESULT": 0.0,
    "_LONGER_FOR_TURNS": 1.0, "_LONGER_TWICE": 1.0, "_LONGER_ANY_SIZE": 1.0,
    "_FIRST_CALLS": 0, "_OF_TURNS": 10, "_OF_PROGRAM": 0.0,
}


class Free(Rate):
    """Of what takes no time; methods of earlier tests still get native code in the background."""

    def __init__(self):
        super().__init__(0.0, 0.0)

    def learn(self, seconds, items):
        pass


@pytest.fixture(autouse=True)
def budget(monkeypatch):
    """A tenth; native code costs nothing, and no functions become native code meanwhile.

    Nor do kinds of backward that come later, and proofs; first calls are as long as others. Chains
    of other tests do not tell how long these live.
    """
    for name, value in USUAL.items():
        monkeypatch.setattr(_account, name, value)
    monkeypatch.setattr(_account.Lives, "to_come", lambda self, calls: None)
    monkeypatch.setattr(_account, "NATIVE", Free())
    monkeypatch.setattr(_account, "NEWS", News())
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "auto")
    with chainer.using_config("static_budget", 0.1):
        yield


@pytest.fixture
def account(monkeypatch):
    """One of a method whose calls take a second; to trace a function takes one, too.

    Programs are expected to save six tenths of a call, a proof one, and checks take no time.
    """
    monkeypatch.setattr(_account, "COMPILING", Rate(1.0, 0.0))
    monkeypatch.setattr(_account, "PROVING", Rate(1.0, 0.0))
    monkeypatch.setattr(_account, "_CHECKING", 0.0)
    monkeypatch.setattr(_account, "_GAIN_OF_TIME", 1.0)
    monkeypatch.setattr(_account, "_GOES_ON", 0.0)
    monkeypatch.setattr(_account, "_UNNOTICED", 0.0)
    monkeypatch.setattr(_account, "_GAIN_OF_PROOF", 0.1)
    monkeypatch.setattr(_account, "_GAIN_OF_PROVED", 0.0)
    monkeypatch.setattr(_account, "_GAIN_OF_SHORTCUT", 0.05)
    monkeypatch.setattr(_account, "pace", lambda: 1.0)
    monkeypatch.setattr(_account._All, "seconds", 0.0)  # no sums are rounded then
    found = _account.Account(Ledger("forward"))
    found.plain = 1.0
    return found


def after(account, calls, spent=0.0, saved=0.0, hits=0):
    account.calls, account.ledger.in_method, account.seen = calls, float(calls), calls - hits
    account.ledger.spent["trace"], account.ledger.saved = spent, saved
    account.ledger.with_python = hits
    return account


def test_what_was_traced_last_tells_first_what_it_saves(account):
    assert after(account, 20).wait_for_trace(10, 10) == 0
    account.spend("trace", _account.clock())
    assert account.wait_for_trace(10, 10) == 8
    assert after(account, 25, hits=5).wait_for_trace(10, 10) == 3
    assert after(account, 28, hits=8, saved=4.0).wait_for_trace(10, 10) == 0
    assert after(account, 49, hits=1).wait_for_trace(10, 10) == 3  # hardly used
    assert after(account, 52, hits=1).wait_for_trace(10, 10) == 0
    account.spend("trace", _account.clock())
    account.spends_freely = True
    assert account.wait_for_trace(10, 10) == 0


def test_at_first_ten_calls_and_what_is_to_come_back(account):
    # Ten calls' time, and six tenths of what is left of the first 150.
    assert after(account, 2).wait_for_trace(98, 2) == 0
    assert after(account, 2).wait_for_trace(99, 2) > 0
    assert after(account, 2).wait_for_trace(60, 1) > 0  # half of the calls go another way


class Told:
    """The loop of a trainer."""

    def __init__(self, left, done=0):
        self.left, self.done = lambda: left, lambda: self.now
        self.now = done


def test_the_loop_of_a_trainer_tells_how_many_calls_are_to_come(account, monkeypatch):
    def most():
        return max(n for n in range(1000) if account.wait_for_trace(n, account.calls) == 0)

    def loop(*args):
        monkeypatch.setattr(_account._tracing.state, "loop", made := Told(*args))
        return made

    after(account, 0)
    assert most() == 100
    thousand = loop(1000)
    assert most() == 310  # ten calls' time, and six tenths of half of those calls
    thousand.now = 9
    assert after(account, 19) and most() == 610  # two calls in each iteration, by now
    twenty = loop(20)
    assert after(account, 0) and most() == 12  # it ends before more would have come back
    del twenty
    again = loop(20)
    assert after(account, 80) and most() > 40  # the last of some loops: more may follow
    del again
    loop(None)
    assert after(account, 0) and most() == 100


def test_turns_of_a_loop_that_come_together_are_one_call(account):
    account.ledger.is_part = True
    assert after(account, 200).wait_for_trace(30, 200) > 0
    account.together = 5.0  # ten times five of them may be owed, and 750 are to come
    assert after(account, 200).wait_for_trace(30, 200) == 0
    assert after(account, 750).wait_for_trace(76, 750) > 0


def test_several_turns_pay_by_the_calls_that_there_would_not_have_been(account, monkeypatch):
    monkeypatch.setattr(_account, "_AROUND_TURNS", 0.5 - 2 * _account.AROUND_NODE)
    assert after(account, 500, spent=10.0, saved=40.0).affords_several(10, 20.0)
    assert not account.affords_several(10, 19.0)
    assert not after(account, 500, spent=10.0, saved=39.0).affords_several(10, 20.0)


def test_turns_that_nobody_knows_are_for_calls_that_take_long(account):
    assert after(account, 20).affords_turns()
    account.plain = 0.1
    assert not after(account, 20).affords_turns()
    account.plain = 10.0
    assert not after(account, 150).affords_turns()


def test_what_other_ways_save_counts(account):
    assert after(account, 20, spent=40.0, hits=0).wait_for_trace(40, 6, share=0.3) > 0
    after(account, 20, spent=40.0, saved=8.0, hits=10)._first_traced_at = 0
    assert account.wait_for_trace(40, 6, share=0.3) == 0


def test_proofs_that_were_counted_before_the_trace_are_tried_at_once(account, monkeypatch):
    monkeypatch.setattr(_account, "_PROVED", 1.0)
    assert after(account, 20, spent=100.0).wait_for_proof(8, 2) > 0
    account.was_traced(10)
    assert account.wait_for_proof(8, 2) == 0
    account.ledger.spent["prove"] = 3.0
    assert account.wait_for_proof(8, 2) > 0


def test_programs_gain_by_functions_more_than_by_time(account, monkeypatch):
    monkeypatch.setattr(_account, "_GAIN_OF_TIME", 0.15)
    account.plain = 1e-3
    many, few = account._expected_gain(100, 1), account._expected_gain(10, 1)
    assert many == pytest.approx(0.6e-3) and few == pytest.approx(0.245e-3)
    assert account._expected_gain(100, 9) == many
    monkeypatch.setattr(_account, "_LESS_FOR_RESULT", 0.1)
    assert account._expected_gain(100, 2) == pytest.approx(many / 1.1)
    # However many there are: most programs of many pieces are one without the method's Python.
    assert account._expected_gain(100, 99) == account._expected_gain(100, 7) == many / 1.6
    monkeypatch.setattr(_account, "pace", lambda: 2.0)
    assert account._expected_gain(10, 1) == pytest.approx(0.34e-3)


def test_programs_of_one_function_do_not_pay(account, monkeypatch):
    monkeypatch.setattr(_account, "_GAIN_OF_TIME", 0.2)
    monkeypatch.setattr(_account, "_OF_PROGRAM", 25e-6)
    monkeypatch.setattr(_account, "COMPILING", Rate(1e-3, 0.0))
    account.plain, account.calls = 0.1e-3, 10**6  # whatever there would be to spend
    account.ledger.in_method = 100.0
    assert account.wait_for_trace(5, 10**6) == 0
    assert account.wait_for_trace(5, 10**6, programs=5) > 0
    assert account.wait_for_trace(1, 10**6, programs=2) > 0
    with chainer.using_config("static_budget", None):
        assert account.wait_for_trace(1, 10**6, programs=2) == 0


class Slow(chainer.Function):
    """Takes a second of a clock that nobody else moves."""

    now = 0.0

    def forward(self, inputs):
        Slow.now += 1.0
        return inputs

    def backward(self, inputs, gradients):
        return gradients


def test_functions_that_are_no_part_of_programs_are_not_expected_to_gain(monkeypatch):
    class Between(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            Slow.now += 0.25  # whatever else the method does
            return F.sum(F.tanh(Slow()(F.exp(x))))

    for module in (_account, _run, _site):
        monkeypatch.setattr(module, "clock", lambda: Slow.now)
    monkeypatch.setattr(_run, "perf_counter", lambda: Slow.now)
    model = Between()
    with chainer.using_config("static_target", "numpy"):  # nothing is made in the background
        for _ in range(2):
            model(np.ones(3, "f"))
    (site,) = model.schedule_manager._sites.values()
    assert site.account._in_programs / site.account.plain == pytest.approx(0.2, abs=0.1)


def test_results_of_turns_take_something(monkeypatch):
    monkeypatch.setattr(_account, "pace", lambda: 1.0)
    of_turns = _account.Account(Ledger("forward, loop at line 1", is_part=True))
    of_turns.plain = 1e-3
    one = of_turns._expected_gain(10, 1)
    assert of_turns._expected_gain(10, 2) == pytest.approx(one - 40e-6)
    assert of_turns._expected_gain(10, 99) == 0.0


def test_checks_after_the_first_take_what_programs_have_saved_or_a_twentieth(account):
    after(account, 100, spent=5.0)
    assert account.affords_check(5.0) and not account.affords_check(5.1)
    account.ledger.spent["check"] = 3.0
    assert account.affords_check(2.0) and not account.affords_check(2.1)
    account.ledger.saved = 20.0
    assert account.affords_check(12.0) and not account.affords_check(12.1)
    for name, value in (("static_check", "always"), ("static_budget", None)):
        with chainer.using_config(name, value):
            assert account.affords_check(100.0)


def test_checks_that_take_too_long_come_later(monkeypatch):
    """Those that are left out come with the next number of uses that is due."""
    asked, checked = [], []

    def affords(self, seconds):
        asked.append(seconds)
        return len(asked) > 2

    def check(self, *args):
        checked.append(self.uses_since_check)
        really_check(self, *args)

    really_check = Piece._check
    monkeypatch.setattr(_account.Account, "affords_check", affords)
    monkeypatch.setattr(Piece, "_check", check)
    model = Differentiated()
    with chainer.using_config("static_budget", None):
        for _ in range(40):
            F.sum(model(np.ones((4, 3), "f"))).backward()
    assert checked == [1, 8, 16, 32]  # and neither 2 nor 4
    assert len(asked) == 5 and min(asked) > 0.0


def test_first_uses_are_checked_which_counts(account, monkeypatch):
    assert after(account, 2).wait_for_trace(98, 2) == 0
    monkeypatch.setattr(_account, "_CHECKING", 0.4)
    assert after(account, 2).wait_for_trace(98, 2) > 0
    assert after(account, 2).wait_for_trace(70, 2) == 0


def test_what_follows_counts(account, monkeypatch):
    """Other kinds of backward, pieces between results, turns of loops, and a proof."""
    of_turns = _account.Account(Ledger("forward, loop at line 1", is_part=True))
    of_turns.plain = 1.0
    monkeypatch.setattr(_account, "ANY_SIZE", _account.COMPILING)
    for name, value, results, one, probes in (
        ("_PROVED", 1.0, 1, account, 0), ("_LONGER_FOR_RESULT", 0.5, 3, account, 0),
        ("_LONGER_FOR_TURNS", 2.0, 1, of_turns, 0), ("_LONGER_ANY_SIZE", 2.0, 1, account, 1),
    ):
        def most(one=one, results=results, probes=probes):
            """Functions that may be traced at once."""
            waits = [after(one, 2).wait_for_trace(n, 2, results, probes=probes)
                     for n in range(150)]
            return waits.index(next(filter(None, waits))) - 1

        before = most()
        with monkeypatch.context() as m:
            m.setattr(_account, name, value)
            assert most() == before // 2 > 20, name


def test_first_calls_are_longer(account, monkeypatch):
    """So what takes as long as many of them waits for others."""
    monkeypatch.setattr(_account, "_FIRST_CALLS", 5)
    assert after(account, 2).wait_for_trace(5, 2) == 0
    assert after(account, 2).wait_for_trace(6, 2) == 3
    assert after(account, 5).wait_for_trace(6, 5) == 0


def test_later_a_tenth_of_the_time(account):
    assert after(account, 200).wait_for_trace(20, 200) == 0
    assert after(account, 200).wait_for_trace(21, 200) == 11
    assert after(account, 200, spent=1.0).wait_for_trace(20, 200) == 11
    assert after(account, 200, spent=1.0, saved=1.0).wait_for_trace(20, 200) == 0


def test_what_has_gone_on_is_expected_to_go_on(account, monkeypatch):
    monkeypatch.setattr(_account, "_GOES_ON", 0.25)
    assert after(account, 199).wait_for_trace(20, 199) > 0
    assert after(account, 200).wait_for_trace(50, 200) == 0  # 20, and 0.6 of 50 calls
    assert after(account, 200).wait_for_trace(51, 200) > 0
    # Where programs have saved nothing, nothing is expected.
    assert after(account, 208, saved=0.0, hits=8).wait_for_trace(21, 200) > 0


def test_what_is_hardly_noticed_is_expected_in_as_many_calls_as_there_were(account, monkeypatch):
    monkeypatch.setattr(_account, "_UNNOTICED", 40.0)
    assert after(account, 199).wait_for_trace(50, 199) > 0
    assert after(account, 200).wait_for_trace(60, 200) == 0  # 20, and 40
    assert after(account, 200).wait_for_trace(61, 200) > 0
    assert after(account, 200).wait_for_trace(60, 60) > 0  # 0.3 of 200 calls save it


def test_what_is_hardly_noticed_is_so_of_all_methods_together(account, monkeypatch):
    monkeypatch.setattr(_account, "_UNNOTICED", 100.0)
    monkeypatch.setattr(_account, "_GOES_ON", 0.0)
    others = [_account.Account(Ledger("forward")) for _ in range(3)]
    after(account, 400)
    alone = account._missing(1000.0, 1.0)
    for other in others:
        other.called_asleep(400.0)
    # Of the hundred seconds it may expect a third: others have taken three times what it has.
    assert account._missing(1000.0, 1.0) - alone == pytest.approx(100.0 * (1 - 400 / 1200))
    part = _account.Account(Ledger("forward, loop at line 1", is_part=True))
    part.called_asleep(1e6)
    assert account._missing(1000.0, 1.0) - alone == pytest.approx(100.0 * (1 - 400 / 1200))


def test_a_proof_gains_by_functions(account, monkeypatch):
    monkeypatch.setattr(_account, "_GAIN_OF_PROVED", 0.5)
    # Of 100 seconds ten calls' are there, and what comes back in 140 by 0.1 and 0.5 a function.
    assert after(account, 10, spent=100.0).wait_for_proof(1, 10) > 0
    assert after(account, 10, spent=100.0).wait_for_proof(2, 10) == 0


def test_a_smaller_and_smaller_part_where_nothing_has_paid(account):
    assert after(account, 20000).wait_for_trace(2000, 20000) == 0
    assert after(account, 20000, spent=1.0).wait_for_trace(199, 20000) == 0
    assert after(account, 20000, spent=1.0).wait_for_trace(200, 20000) > 0


def test_what_programs_have_saved_tells_what_others_will(account):
    assert after(account, 20, saved=-8.0, hits=8).wait_for_trace(3, 10) > 0
    assert after(account, 20, saved=8.0, hits=8).wait_for_trace(100, 20) == 0


def test_backward_counts(account):
    account._usual_weight = 3.0
    assert after(account, 200).wait_for_trace(60, 200) == 0


class Unwilling(chainer.FunctionNode):
    """A function that has its own mind about attributes."""

    def __setattr__(self, name, value):
        assert name != "_static_account"
        super().__setattr__(name, value)

    def forward(self, inputs):
        return (inputs[0] * 2,)

    def backward(self, indexes, grads):
        return (grads[0] * 2,)


class Differentiated(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(3, 2)

    @chainer.static_graph
    def forward(self, x):
        return F.tanh(self.a(Unwilling().apply((x,))[0]))


@pytest.mark.parametrize("how", ["grad", "backward", "twice", "once", "not"])
def test_gradients_that_are_differentiated_count(how):
    net = Differentiated()
    x = chainer.Variable(np.ones((4, 3), "f"))
    with chainer.using_config("static_budget", 1e-9):
        y = F.sum(net(x))
    if how == "backward":
        y.backward(enable_double_backprop=True)
    elif how != "not":
        times = {"grad": 1, "twice": 2, "once": 1}[how]
        for _ in range(times):
            chainer.grad([y], [x], enable_double_backprop=how != "once")
    (site,) = net.schedule_manager._sites.values()
    account = site.account
    assert account._again == {"grad": 1, "backward": 1, "twice": 2, "once": 0, "not": 0}[how]
    usual = account._usual_weight
    assert account._weight == pytest.approx(usual + 4 * account._again)


def test_gradients_that_are_differentiated_in_the_call_are_a_part_of_it():
    class Inside(Differentiated):
        @chainer.static_graph
        def forward(self, x):
            y = super().forward(x)
            (g,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
            return y, F.sum(g * g)

    net = Inside()
    with chainer.using_config("static_budget", 1e-9):
        net(chainer.Variable(np.ones((4, 3), "f")))[1].backward()
    account = net.schedule_manager._sites[Inside.forward.__wrapped__].account
    assert account._again > 0
    assert account._weight == account._usual_weight


def test_gradients_that_are_differentiated_pay_for_more_functions(account):
    account._usual_weight = _account._BACKWARD
    assert after(account, 200).wait_for_trace(60, 200) > 0
    account._followed = account._differentiated = account._differentiated_later = 5
    assert after(account, 200).wait_for_trace(30, 200) == 0  # which are four times as many soon
    assert after(account, 200).wait_for_trace(60, 200) > 0


def test_native_code_is_a_part_of_what_a_trace_costs(account, monkeypatch):
    monkeypatch.setattr(_account, "NATIVE", Rate(1.0, 10.0))
    assert after(account, 200).wait_for_trace(5, 200) == 0
    assert after(account, 200).wait_for_trace(6, 200) == 21
    with chainer.using_config("static_target", "numpy"):
        assert after(account, 200).wait_for_trace(6, 200) == 0


def test_what_is_spent_has_to_come_back_in_as_many_calls_as_there_were(account):
    # One call in a hundred saves its 0.6: 130 come back in 22,000 calls, though there is time.
    assert after(account, 20000).wait_for_trace(130, 200) > 0
    assert after(account, 22000).wait_for_trace(130, 220) == 0
    assert after(account, 20000).wait_for_trace(130, 2000) == 0


def test_what_was_saved_may_be_spent_on_rare_ways(account):
    assert after(account, 20000, spent=100.0, saved=600.0).wait_for_trace(400, 20) == 0
    assert after(account, 20000, spent=300.0, saved=600.0).wait_for_trace(400, 20) > 0


def test_shares_are_seen_anew_when_ways_are_forgotten(account):
    after(account, 1000, hits=900)
    assert account._share(3) < 0.01
    account.forgets()
    account.seen += 3
    assert account._share(3) == 1.0


def test_where_nothing_is_saved_it_is_tried_late(account):
    assert after(account, 999).wait_for_trace(200, 999, 10**6) > 0
    assert after(account, 2000).wait_for_trace(200, 2000, 10**6) == 0


def test_what_few_functions_take_tells_little_of_many():
    few, many = Rate(1.0, 0.0), Rate(1.0, 0.0)
    few.learn(10.0, 1)
    many.learn(160.0, 16)
    assert 1.0 < few.seconds < 1.2 < 3.6 < many.seconds


def test_native_code_is_for_what_takes_a_good_part_of_the_time(account, monkeypatch):
    monkeypatch.setattr(_account, "NATIVE", Rate(1.0, 0.0))
    pays = after(account, 200).native_pays
    assert pays(30, 100.0, 100, 11.0, 100) and not pays(30, 100.0, 100, 9.0, 100)
    assert pays(30, 100.0, 100, 2.6, 25) and not pays(30, 100.0, 100, 2.4, 25)  # of each fourth
    assert pays(3, 100.0, 100, 4.0, 100)  # or has taken longer than to make it
    account.was_traced(300)  # in ten programs
    assert pays(30, 100.0, 100, 1.1, 100) and not pays(30, 100.0, 100, 0.9, 100)


def test_a_way_that_others_come_beside_is_less_likely(account):
    assert after(account, 2).wait_for_trace(90, 2) == 0
    account.ways = 2
    assert after(account, 2).wait_for_trace(90, 2) > 0


def test_a_first_proof_has_a_budget_of_its_own(account):
    assert after(account, 20000, spent=1000.0).wait_for_proof(500, 20000) == 0
    account.ledger.spent["prove"] = 500.0
    assert after(account, 20000, spent=1000.0).wait_for_proof(500, 20000) > 0


def test_what_a_proof_has_taken_tells_what_the_next_one_takes(account, monkeypatch):
    """Functions do not tell how long the code of the user's is."""
    monkeypatch.setattr(_account, "clock", lambda: 0.0)
    after(account, 200).ledger.saved = 100.0
    assert account.wait_for_proof(2, 200) == account.wait_for_shortcut() == 0
    account.proved(2, since=-400.0)
    assert account.ledger.spent["prove"] == 400.0
    assert account.wait_for_proof(2, 200) > 0 and account.wait_for_shortcut() > 0
    account.ledger.saved = 1e5
    assert account.wait_for_shortcut() == 0
    assert account.wait_for_proof(2, 200) > 0  # may be in vain, whatever programs save
    assert after(account, 20000).wait_for_proof(2, 20000) == 0


def test_what_programs_save_pays_for_what_makes_them_faster(account, monkeypatch):
    """Within as many calls as there were: what was spent on them does not stand in its way."""
    monkeypatch.setattr(_account, "_GOES_ON", 1.0)
    after(account, 200, spent=90.0, hits=100).spend("trace", _account.clock())
    account.first_traced_at = 100
    account._longest_proof = 10.0
    assert account.wait_for_shortcut() > 0
    account.ledger.saved = 50.0  # half a second in each of these calls
    assert account.wait_for_shortcut() == account.wait_for_proof(10, 100) == 0
    account.first_traced_at = -5000  # of the calls since then hardly any was served
    assert account.wait_for_shortcut() > 0


def test_what_native_code_has_taken_is_spent(account, monkeypatch):
    monkeypatch.setattr(_account, "NATIVE", rate := Rate(1.0, 0.0))
    after(account, 200).went_native(20, 40.0)
    assert account.ledger.spent["native"] == 40.0 and rate.of(10) == pytest.approx(13.0)
    assert account.wait_for_trace(1, 200) > 0


def test_nothing_is_traced_while_functions_become_native_code(account):
    news = _account.NEWS
    for _ in range(2):  # what has come before says nothing about these functions
        account.called_asleep(1.0)
    assert account.wait_for_trace(1, 2) == 0
    news.has_come()
    account.called_asleep(1.0)
    assert account.wait_for_trace(1, 3) == 2
    jobs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chainwright.runtime.eager.BACKGROUND.do", jobs.append)
        news.compile(lambda: None)
    for _ in range(9):
        account.called_asleep(1.0)
        assert account.wait_for_trace(1, 3) == 2
    jobs[0]()
    for wait in (2, 1, 0):
        account.called_asleep(0.1)
        assert account.wait_for_trace(1, 3) == wait
    assert account.plain == 0.1
    for _ in range(_account._SETTLING):
        account.called_asleep(0.1)
    news.has_come()  # of another method, by now
    account.called_asleep(0.1)
    assert account.wait_for_trace(1, 3) == 0


def test_of_many_ways_none_is_likely_that_has_come_twice(account):
    assert after(account, 2).wait_for_trace(80, 2) == 0
    assert after(account, 5).wait_for_trace(30, 2) == 0
    assert after(account, 5).wait_for_trace(40, 2) > 0


def test_whatever_it_costs(account):
    with chainer.using_config("static_budget", None):
        assert after(account, 1).wait_for_trace(10**6, 1) == 0
        assert account.affords_proof(10**6, 1) and account.allows_noting()
    assert after(account, 1).wait_for_trace(10**6, 1) > 0
    assert not account.affords_proof(10**6, 1)


@pytest.mark.parametrize(("between", "factor"), [(0, 1.0), (1, 0.75)])
def test_what_other_functions_take_is_not_saved_in_backward(account, between, factor, monkeypatch):
    """Of a call of ten seconds, those that the program stands for take at most five."""
    way = Application(None)
    way.plain, way.depth = 10.0, 2 + between
    piece = type("Piece", (), {"apps": [None] * 2, "twice": None, "schedule": 1})()
    piece.forward_meter, piece.backward_meter = _account.Meter(), _account.Meter()
    piece.forward_meter.plain, piece.forward_meter.program = 10.0, 1.0
    run = Counted()
    run.pieces, run.checking, run.realized = [piece], 0.0, between
    account._ended(6.0, _account.Meter(), way, run)
    assert piece.backward_meter.factor == factor


def test_functions_that_were_promised_in_vain_tell_of_no_plain_call(account):
    """What the call takes longer than without the decorator is lost."""
    run = Counted()
    run.settings, run.phrases, run.app = settings_now(), None, Application(None)
    run.programs, run.noted, run.noting, run.realized, run.between = 0, 1, 0.0, 0, 0.0
    for _ in range(4):
        account.called(run, 1.0)
    plain, calls = account.plain, account.calls
    assert run.app.plain == pytest.approx(0.9)
    run.noted, run.realized = 0, 3
    account.called(run, 4.0)
    assert (account.plain, account.calls) == (plain, calls + 1)
    assert account.ledger.saved == pytest.approx(-3.1)
    run.app = Application(None)  # of another way nobody knows what it takes plainly
    account.called(run, 4.0)
    assert account.ledger.saved == pytest.approx(-3.1)


def test_calls_whose_way_nobody_has_noted_have_gone_others(account):
    run = Counted()
    run.settings, run.phrases, run.app = settings_now(), None, Application(None)
    run.programs, run.noted, run.noting, run.realized, run.between = 0, 0, 0.0, 0, 0.0
    account.seen = 30
    account.called(run, 1.0)
    assert account.known_share == 1.0
    run.left = True
    for noted in (0, 1, 0):  # the way of the second one is known
        run.noted = noted
        account.called(run, 1.0)
    assert account.known_share == 30 / 32
    run.left, run.noted, run.phrases = False, 0, Counted()
    run.phrases.root = run.app
    account.called(run, 1.0)
    assert account.known_share == 30 / 33
    account.forgets()
    account.seen += 10
    assert account.known_share == 1.0
    account.called(run, 1.0)
    assert account.known_share == 10 / 11


class Counted:
    """A call of four functions that were counted."""

    missed, left = 4, False


def test_where_calls_go_several_ways_all_of_them_take_as_much_longer_as_functions_do(account):
    way, other = Application(None), Application(None)
    way.plain, other.plain = 4.0, 8.0
    for seconds in (4.0, 8.0, 4.0, 4.0):
        account.called_and_counted(Counted, seconds)
    account.times_by_functions([way, other], [])
    assert (way.plain, other.plain) == (4.0, 8.0)  # there is nothing to be compared with
    for seconds in (6.0, 40.0, 6.0):
        account.called_and_counted(Counted, seconds)
    account.times_by_functions([way, other], [])
    assert (way.plain, other.plain) == pytest.approx((6.0, 12.0), rel=1e-5)
    account.times_by_functions([way, other], [])
    assert (way.plain, other.plain) == pytest.approx((6.0, 12.0), rel=1e-5)
    assert account.of_function < 2.0  # one call was stopped by other work


def test_a_meter():
    meter = _account.Meter()
    assert meter.took(2.0) == 0.0  # there is nothing to compare it with
    meter.took_plainly(3.0)
    assert meter.took(1.0) == 2.0
    assert meter.took(5.0) == pytest.approx(3 - 1.02)  # other work of the machine
    meter.factor = 0.5
    assert meter.gain == pytest.approx(1.5 - 1.02)


class Model(chainer.Chain):
    @chainer.static_graph
    def forward(self, x):
        return F.tanh(x) * 2


def report(calls):
    class New(Model):  # what chains of other tests owe is none of its business
        forward = chainer.static_graph(Model.forward.__wrapped__)

    model = New()
    for _ in range(calls):
        model(np.ones((2, 3), "f"))
    return model.schedule_manager.report()[0]


def test_a_method_that_waits_says_so(monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    found = report(20)
    assert found.hits == 0 and found.spent.keys() == {"noting"}
    assert [event.kind for event in found.events] == ["waits"]
    assert found.events[0].reason.endswith("so far: 2 functions of float32[2,3]")
    assert any("static_budget" in what for what in found.advice)
    assert sum(found.plainly.values()) >= 16


@pytest.mark.parametrize("state", ["waits", "rests"])
def test_calls_that_pass_are_counted_one_by_one(state, monkeypatch):
    """Nobody looks at them: they take as long as without the decorator."""
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    model, x, passed = Model(), np.ones((2, 3), "f"), 0
    wanted = chainer.as_array(model.forward.__wrapped__(model, x))
    for k in range(300):
        (site,) = model.schedule_manager._sites.values() if k else (None,)
        if k == 150 and state == "rests":
            site._waiting = None
            site.rests.rest()
        passes = site is not None and site.ledger.to_pass > 0
        before = site.ledger.to_pass if passes else 0
        np.testing.assert_array_equal(model(x).array, wanted)
        passed += passes
        found = model.schedule_manager.report()[0]
        assert (found.hits, found.eager_calls) == (0, k + 1)
        if passes:
            assert site.ledger.to_pass == before - 1
    assert passed > 100 and sum(found.plainly.values()) <= 300
    assert all(n > 0 for n in found.plainly.values())


def test_calls_that_pass_inside_of_others(monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    inner, x = Model(), np.ones((2, 3), "f")
    for _ in range(100):
        inner(x)
    (site,) = inner.schedule_manager._sites.values()
    site.ledger.let_pass(9, LEFT)

    class Outer(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return inner(x) * 2

    outer = Outer()
    wanted = 2 * chainer.as_array(Model.forward.__wrapped__(inner, x))
    monkeypatch.setattr(_account, "COMPILING", Rate(0.0, 0.0))
    with chainer.using_config("static_budget", None):
        for _ in range(8):
            np.testing.assert_array_equal(outer(x).array, wanted)
    assert outer.schedule_manager.report()[0].hits >= 5


def that_waits(monkeypatch):
    """A model, its input, and its method, which is too dear to be compiled."""
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    model, x = Model(), np.ones((2, 3), "f")
    for _ in range(20):
        model(x)
    (site,) = model.schedule_manager._sites.values()
    site.ledger.to_pass = 0  # nobody looks at these
    return model, x, site


def test_what_waits_is_compiled_without_being_noted_once_more(monkeypatch):
    model, x, site = that_waits(monkeypatch)
    noted, site.sleep.calls = site._noted, 3
    monkeypatch.setattr(site.forms, "wakes", lambda form: False)  # how often it came is by chance
    monkeypatch.setattr(_account, "COMPILING", Rate(0.0, 0.0))
    for _ in range(3 + 4):
        model(x)
    found = model.schedule_manager.report()[0]
    assert site._noted == noted and found.hits == 4
    assert [event.kind for event in found.events][:2] == ["waits", "compile"]


def test_a_method_that_gets_programs_is_awake(monkeypatch):
    model, x, site = that_waits(monkeypatch)
    monkeypatch.setattr(_account, "COMPILING", Rate(0.0, 0.0))
    site.sleep.calls, site.sleep.unseen = 1 << 20, 0  # only the form of its arguments wakes it
    monkeypatch.setattr(site.forms, "wakes", lambda form: True)
    for _ in range(3):
        model(x)
    assert model.schedule_manager.report()[0].hits and not site.sleep.calls


def test_a_way_that_waits_does_not_keep_others_from_their_phrases(monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    monkeypatch.setattr(_account.Account, "allows_noting", lambda self: True)
    model, x = Model(), np.ones((2, 3), "f")
    model(x)
    (site,) = model.schedule_manager._sites.values()
    site.phrases.is_there = True
    for _ in range(4):
        model(x)
    assert site._waiting is not None and not site.sleep.calls
    site.phrases.is_there = False
    model(x)
    assert site.sleep.calls


def test_nobody_listens_for_phrases_where_a_way_waits_that_comes_again(monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    monkeypatch.setattr(_account.Account, "allows_phrases", lambda self: True)
    model, x = Model(), np.ones((2, 3), "f")
    for _ in range(20):
        model(x)
    (site,) = model.schedule_manager._sites.values()
    monkeypatch.setattr(_account.Account, "allows_noting", lambda self: False)
    listened = []
    monkeypatch.setattr(site.phrases, "listen", lambda: listened.append(True))
    for _ in range(400):
        site.sleep.calls = min(site.sleep.calls, 2)
        model(x)
    assert not listened


def test_noting_has_a_budget_of_its_own(account):
    account.ledger.spent["noting"] = 1000.0
    assert after(account, 200).wait_for_trace(20, 200) == 0
    assert not after(account, 200).allows_phrases()


def test_the_budget_does_not_shrink_where_programs_pay(account):
    assert after(account, 20000, spent=1000.0, saved=900.0).wait_for_trace(1000, 20000) == 0
    assert after(account, 20000, spent=1000.0, saved=100.0).wait_for_trace(1000, 20000) > 0


def test_calls_of_which_a_part_has_no_program_do_not_tell_what_others_save(account):
    account._partly, account._saved_partly = 8, -8.0
    assert after(account, 20, saved=-8.0, hits=8).wait_for_trace(20, 20) == 0


def read_twice(self, x):
    y = F.tanh(x)
    total = y.array.sum()
    z = F.exp(y) * total
    return F.sum(z * y.array)  # which is known by now


def test_what_is_computed_already_is_no_sync_point_when_it_is_read_again():
    """Else the end of the way had no program, and none that ever paid."""
    model = type("Twice", (chainer.Chain,), {"forward": chainer.static_graph(read_twice)})()
    with chainer.using_config("static_budget", None):
        for _ in range(3):
            model(np.ones((2, 3), "f"))
    (site,) = model.schedule_manager._sites.values()
    assert [len(plan.apps) for plan in site.plans()] == [1, 4]
    assert site.ledger.hits == 1


class Looks(chainer.FunctionNode):
    """Declares itself, and looks at values: that is found out when it is traced."""

    _supports_static_optimizations = True

    def forward(self, inputs):
        return (inputs[0] * float(inputs[0][0, 0]),)

    def backward(self, indexes, grads):
        return (grads[0],)


class Held(chainer.Chain):
    """What its variables hold when an opaque function runs is not known beforehand."""

    @chainer.static_graph
    def forward(self, x):
        y = F.exp(x)
        z = y * 2
        (looked,) = Looks().apply((z + np.eye(2, dtype="f"),))
        return F.sum(looked * y)


def test_a_program_that_does_not_give_all_that_is_held_is_made_anew_at_once(monkeypatch):
    free = Rate(0.0, 0.0)
    monkeypatch.setattr(_account, "COMPILING", free)
    monkeypatch.setattr("chainer.graph_optimizations._making.COMPILING", free)
    model, x = Held(), np.zeros((2, 2), "f")
    for _ in range(12):
        model(x)
        (site,) = model.schedule_manager._sites.values()
        if "compile" in [e.kind for e in model.schedule_manager.report()[0].events]:
            monkeypatch.setattr(site.account, "wait_for_trace", lambda *a, **k: 1000)
    assert site.ledger.hits >= 6
    stops = [n for (why, _), n in site.ledger._stops.items() if why == "more results"]
    assert 1 <= sum(stops) <= 2


@pytest.fixture
def unproved(monkeypatch):
    """A model with programs, of which no proof is tried by itself, nor native code comes."""
    monkeypatch.setattr("chainer.graph_optimizations._proof._AFTER", 10**6)
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "numpy")
    model = Model()
    with chainer.using_config("static_budget", None):
        for _ in range(8):
            model(np.ones((2, 3), "f"))
    return model


@pytest.mark.parametrize("was_tried", [False, True])
def test_a_proof_is_tried_before_programs_are_left_alone(was_tried, unproved):
    model, x = unproved, np.ones((2, 3), "f")
    (site,) = model.schedule_manager._sites.values()
    with chainer.using_config("static_budget", None):
        site.last.proof_tries = int(was_tried)
        assert not site.proofs.proofs and site.ledger.with_python
        site.rests.rest()
        assert site.sleep.rests and site.sleep.calls == (_rests._FIRST_REST if was_tried else 1)
        for _ in range(site.sleep.calls + 1):
            model(x)
    assert bool(site.proofs.proofs) is not was_tried
    assert bool(site.ledger.without_python) is not was_tried


@pytest.mark.parametrize("by, seconds, coming, calls", [
    (0.05, 1e-3, False, 512), (0.3, 1e-3, False, 2048),  # by far: for longer
    (0.3, 1e-3, True, 512), (0.05, 1e-2, True, 128),  # until native code is there
])  # fmt: skip
def test_programs_rest_by_what_is_known_and_on_its_way(
    by, seconds, coming, calls, unproved, monkeypatch
):
    (site,) = unproved.schedule_manager._sites.values()
    monkeypatch.setattr(_account.Account, "of_steps", seconds * site.account.calls)
    monkeypatch.setattr(_site.Site, "native_is_coming", lambda self: coming)
    monkeypatch.setattr(_proof.Proofs, "are_tried_in", lambda self: 0)
    site.rests.rest(by)
    assert site.sleep.calls == calls
    site.rests.rest(by)
    assert site.sleep.calls >= 2048


@pytest.mark.parametrize("seconds, calls", [(1e-4, 192), (1e-2, 100), (1.0, 48)])
def test_long_steps_are_compared_sooner(seconds, calls, unproved, monkeypatch):
    (site,) = unproved.schedule_manager._sites.values()
    monkeypatch.setattr(_account.Account, "of_steps", seconds * site.account.calls)
    monkeypatch.setattr(site.account, "first_traced_at", site.account.calls)
    with chainer.using_config("static_budget", 0.1):
        site.rests.is_compared(site.account.calls)
    assert site.rests.steps.due == site.account.calls + calls


@pytest.mark.parametrize("seconds, rests", [(1.0, False), (10.0, True)])
def test_what_waits_to_be_compiled_excuses_slower_steps_for_some_seconds(
    seconds, rests, unproved, monkeypatch
):
    (site,) = unproved.schedule_manager._sites.values()
    monkeypatch.setattr(_account.Account, "of_steps", seconds)
    monkeypatch.setattr(_site.Site, "waits", True)
    monkeypatch.setattr(_site.Site, "completes", lambda self: False)
    monkeypatch.setattr(_proof.Proofs, "are_tried_in", lambda self: 0)
    monkeypatch.setattr(_comparison.Comparison, "comes", lambda self, *_: 0)
    site.rests.steps.slower_by = 0.05
    with chainer.using_config("static_budget", 0.1):
        site.rests.is_compared(1000)
    assert site.sleep.rests is rests


def test_what_is_put_off_for_a_proof_that_does_not_come_is_left_alone(unproved, monkeypatch):
    monkeypatch.setattr(_account.Account, "wait_for_proof", lambda *_: 3)
    (site,) = unproved.schedule_manager._sites.values()
    calls = []
    for _ in range(8):
        site.rests.rest()
        calls.append(site.sleep.calls)
    assert calls[:4] == [3, 3, 3, 3] and calls[-1] > 100


def test_native_code_that_takes_long_is_made_of_what_is_slow_if_that_is_affordable(
    account, monkeypatch
):
    """Programs for any sizes are slower than functions that have native code of their own."""
    monkeypatch.setattr(_account, "NATIVE", Rate(1e-3, 0.0))
    seconds = _account.NATIVE.of(100)
    assert not after(account, 0).affords_native(100)
    account.ledger.in_method = 1000 * seconds
    assert account.affords_native(100)
    account.ledger.spent["trace"] = 1e9
    assert not account.affords_native(100)


def compiles_at_once(monkeypatch, proved):
    """Programs are made and stay, whatever they cost; calls go without Python if ``proved``."""
    rate = Rate(0.0, 0.0)
    monkeypatch.setattr(_account, "COMPILING", rate)
    monkeypatch.setattr(_making, "COMPILING", rate)
    for name, value in (("wait_for_trace", 0), ("affords_proof", proved)):
        monkeypatch.setattr(_account.Account, name, lambda *_, given=value, **__: given)


@pytest.mark.parametrize("calls", [20, 200])
def test_programs_that_are_asked_for_are_compiled(calls, monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    model, x = Model(), np.ones((2, 3), "f")
    for _ in range(calls):
        model(x)
    (program,) = model.schedule_manager.programs
    assert "tanh" in program.source
    for _ in range(20):
        model(x)
    assert model.schedule_manager.report()[0].hits >= 4


def test_calls_are_timed_without_programs(monkeypatch):
    rate = Rate(0.0, 0.0)
    monkeypatch.setattr(_account, "COMPILING", rate)
    monkeypatch.setattr("chainer.graph_optimizations._making.COMPILING", rate)
    found = report(30)  # one after 4 hits, and two in a row after 16
    assert found.plainly == {"timed, to know what programs save": 3}
    assert (found.hits, found.eager_calls) == (25, 5)


def test_what_was_timed_does_not_count_when_there_are_other_ways(account):
    app = Application(None)
    app.plain = 2.0
    assert not account.knows_other_ways()
    for seconds in (1.0, 0.5):
        account.called_plainly(seconds, app)
    assert app.plain == 0.5
    assert account.knows_other_ways() and app.plain == 2.0


def test_where_values_decide_functions_are_counted_and_no_call_is_timed(monkeypatch):
    class Decides(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(4, 4)

        @chainer.static_graph
        def forward(self, x):
            for _ in range(int(x.array[0, 0])):
                x = F.tanh(self.l(x))
            return x

    model = Decides()
    with chainer.using_config("static_budget", 1e9):
        for k in range(120):
            x = np.full((2, 4), 2 + 3 * (k % 2), "f")
            F.sum(model(chainer.Variable(x))).backward()
    (site,) = model.schedule_manager._sites.values()
    assert site.account.ways == 2 and site.ledger.hits > 20
    assert site.account.of_function > 0.0
    assert not site.ledger.plainly[_rests.TIMED]


@pytest.mark.parametrize("proved", [True, False])
@pytest.mark.parametrize("slower", [True, False])
def test_steps_with_programs_are_compared_with_others(slower, proved, monkeypatch):
    """Nobody adds up what backward takes around programs, and whatever else follows."""
    monkeypatch.setattr(_comparison, "_FIRST", 60)
    monkeypatch.setattr(_comparison.Comparison, "_made", 0)
    compiles_at_once(monkeypatch, proved)
    now = [0.0]
    monkeypatch.setattr(_account.Account, "gains_little", True)
    monkeypatch.setattr(_proof.Proofs, "are_tried_in", lambda self: 0)
    monkeypatch.setattr(_proof.Proofs, "are_put_off", lambda self: False)
    monkeypatch.setattr(_comparison, "clock", lambda: now[0])
    model, x = Model(), np.ones((2, 3), "f")
    with chainer.using_config("static_target", "numpy"):  # none that is faster will come
        for _ in range(450):
            before = sum([r.hits for r in model.schedule_manager.report()]) if now[0] else 0
            model(x)
            found = model.schedule_manager.report()[0]
            now[0] += 1.2 if (found.hits > before) is slower else 1.0
    (site,) = model.schedule_manager._sites.values()
    assert found.plainly[_rests.TIMED] >= 8
    assert bool(found.without_python) is proved
    assert site.sleep.rests is slower
    if slower:
        assert site.ledger.saved <= 0.0
        assert site.sleep.calls + site.ledger.to_pass > 300
        assert "slower" in [event.kind for event in found.events]


@pytest.mark.parametrize("learns", [100, 200])
def test_steps_are_not_compared_while_programs_are_new(learns, monkeypatch):
    """Native code and proofs are still to come: such steps do not tell what programs save."""
    monkeypatch.setattr(_comparison, "_FIRST", 60)
    monkeypatch.setattr(_rests, "_LEARNS", learns)
    compiles_at_once(monkeypatch, True)
    model, x, first = Model(), np.ones((2, 3), "f"), 0
    for k in range(400):
        model(x)
        (site,) = model.schedule_manager._sites.values()
        if site.rests.steps._window is not None:
            first = first or k
    assert learns <= first - site.account.first_traced_at < learns + 70


@pytest.mark.parametrize("affords", [False, True])
def test_what_waits_is_compiled_where_programs_for_others_slow_the_steps(affords, monkeypatch):
    monkeypatch.setattr(_account, "COMPILING", Rate(1e6, 0.0))
    monkeypatch.setattr(_account.Account, "affords_rest_of_step", lambda *_: affords)
    model, x = Model(), np.ones((2, 3), "f")
    for _ in range(20):
        model(x)
    (site,) = model.schedule_manager._sites.values()
    assert site.waits and not model.schedule_manager.report()[0].hits
    assert site.completes() is affords and site.waits is not affords
    site.sleep.wakes()
    for _ in range(20):
        model(x)
    assert (model.schedule_manager.report()[0].hits > 0) is affords


def test_a_fifth_of_the_time_may_go_into_what_completes_a_step(account):
    assert not after(account, 0).affords_rest_of_step(10, 1, 0.5)
    account.ledger.in_method = 1e4
    assert account.affords_rest_of_step(10, 1, 0.5)
    account.ledger.spent["trace"] = 1e4
    account.ledger.saved = 1e5  # that may come to an end
    assert not account.affords_rest_of_step(10, 1, 0.5)


def test_the_calls_that_programs_serve_tell_what_they_save(account):
    """Those served in part are no others, but where they are most of them."""
    after(account, 1000, saved=1.0, hits=100)
    assert account._saved_each == 0.01
    account._partly, account._saved_partly = 40, 0.1
    assert account._saved_each == pytest.approx(0.9 / 60)
    account._partly, account._saved_partly = 96, -1.0  # 2.0 of four calls?
    assert account._saved_each == 0.01
    account.ledger.saved = 1e6
    assert account._saved_each == account._weight * account.plain  # no call saves more


def test_of_many_ways_none_completes_a_step(account):
    account.ledger.in_method = 1e4
    account.seen, account.ways = 100, 50
    assert not account.affords_rest_of_step(100, 3, 0.1)
    assert account.affords_rest_of_step(100, 3, 0.4) and account.affords_rest_of_step(100, 40, 0.0)


@pytest.mark.parametrize("calls, affords", [(500, False), (3000, True)])
def test_a_way_that_comes_back_by_itself_completes_a_step(account, calls, affords):
    """It takes a hundred seconds, and saves 0.06 a call: as many are to come as there were."""
    account.ledger.in_method, account.calls = 1e4, calls
    account.seen, account.ways = 100, 50
    assert account.affords_rest_of_step(100, 3, 0.1) is affords


def test_what_steps_have_saved_counts_where_less_was_added_up(account):
    """Of the calls since steps were compared before; what was added up there stays."""
    after(account, 100, saved=-5.0, hits=50)
    account.has_saved(0.1)
    assert account.ledger.saved == pytest.approx(5.0)
    account.ledger.saved, account.ledger.with_python = 7.0, 60  # more than 0.1 each: it stands
    account.has_saved(0.1)
    assert account.ledger.saved == 7.0
    account.ledger.saved, account.ledger.with_python = 4.0, 80
    account.has_saved(0.1)
    assert account.ledger.saved == pytest.approx(7.0 + 20 * 0.1)
    account.has_saved_nothing()
    account.ledger.with_python = 90
    account.has_saved(0.1)
    assert account.ledger.saved == pytest.approx(10 * 0.1)


def test_some_more_calls_are_noted_whatever_is_owed(account):
    after(account, 1000, spent=1e6)
    while account.allows_noting():
        pass
    account.grants_notings()
    allowed = [account.allows_noting() for _ in range(20)]
    assert 0 < sum(allowed) < 20 and allowed == sorted(allowed, reverse=True)
    with chainer.using_config("static_budget", None):
        assert account.allows_noting()


def test_where_programs_save_much_when_they_serve_more_ways_are_compiled(account):
    """However many calls there were, and however little all of them have saved so far."""
    after(account, 10**6, spent=1e4, saved=60.0, hits=2000)
    seldom = account._missing(100.0, 0.0)
    account.ledger.with_python = 200
    assert account._missing(100.0, 0.0) < 0.0 < seldom


def test_what_programs_lose_with_the_methods_python_does_not_keep_them_from_a_proof(account):
    after(account, 1000, spent=1000.0, saved=-500.0, hits=500)
    account.ledger.spent["prove"] = 1.0
    assert account.affords_proof(10, 500)
    account.ledger.spent["prove"] = 100.0  # but half of the budget is all that proofs may take
    assert not account.affords_proof(10, 500)


@pytest.mark.parametrize("briefly", [0, 1, 10])
def test_calls_that_went_briefly_count_where_a_proof_is_tried_in_vain(briefly):
    """Each of some other way, between those that it is for, takes three hundredths of one."""
    proof = object.__new__(_proof.Proof)
    proof.app, proof.meter, proof.forms = Application(None), _account.Meter(), {}
    proof.app.meter.program, proof.meter.program = 1e-4, 2e-5
    proof.uses = proof.misses = proof._weighed = 0
    proof.gain = 0.0
    proof.served(2e-5)
    for _ in range(300):
        proof.uses += briefly
        proof.missed(None, 3e-6)
    assert proof.loses() is not bool(briefly)
    assert not briefly or 3e-5 < proof.gain < 8e-5


class Strays(chainer.Chain):
    """Half of its calls go one way, the others one of many."""

    def __init__(self):
        super().__init__()
        self.functions = F.exp, F.tanh, F.sin, F.cos, F.sigmoid
        self.ways = []

    @chainer.static_graph
    def forward(self, x):
        for way in self.ways:
            x = self.functions[way](x)
        return F.sum(x * 2.0)


def test_calls_that_have_left_known_ways_are_noted_anew_before_programs_rest(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_comparison, "clock", lambda: now[0])
    monkeypatch.setattr(_comparison.Comparison, "_made", 0)
    asked, looked = [], _site.Site.looks_again
    monkeypatch.setattr(
        _site.Site, "looks_again", lambda site: asked.append(site.sleep.rests) or looked(site))
    random, model, x = np.random.RandomState(0), Strays(), np.ones((2, 3), "f")
    for call in range(12000):
        before = model.schedule_manager.report()[0].plainly.get(_rests.TIMED) if call else 0
        model.ways = [] if call % 2 else random.randint(0, 5, 6).tolist()
        model(x)
        (found,) = model.schedule_manager.report()
        now[0] += 1e-4 if found.plainly.get(_rests.TIMED) != before else 1.5e-4
        (site,) = model.schedule_manager._sites.values()
        if site.sleep.rests_now:
            break
    assert site.sleep.rests_now and found.hits and asked == [0]


@pytest.mark.parametrize("waits", [False, True])
def test_looking_at_calls_is_compared_too_where_nothing_is_to_be_compiled(waits, monkeypatch):
    now = [0.0]
    for module, name, value in (
            (_comparison, "_FIRST", 60), (_comparison.Comparison, "_made", 0),
            (_rests, "_NOT_SERVED", 80), (_site.Site, "waits", waits),
            (_comparison, "clock", lambda: now[0])):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: 1000)
    monkeypatch.setattr(_account.Account, "affords_rest_of_step", lambda *_: False)
    model, x = Model(), np.ones((2, 3), "f")
    for _ in range(4000 if not waits else 600):
        timed = model.schedule_manager.report()[0].plainly.get(_rests.TIMED) if now[0] else None
        model(x)
        (found,) = model.schedule_manager.report()
        now[0] += 1.0 if found.plainly.get(_rests.TIMED) != timed else 1.2
        (site,) = model.schedule_manager._sites.values()
        if site.sleep.rests:
            break
    assert site.sleep.rests is not waits and found.hits == 0


class Penalty(chainer.Chain):
    """A gradient inside of the method, and one of its result outside."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(np.ones(3, "f"))

    @chainer.static_graph
    def forward(self, x):
        (g,) = chainer.grad([F.sum(F.tanh(F.exp(x) * F.exp(self.w)))], [x])
        return F.sum(F.sin(F.cos(self.w))) + np.float32(g.array.sum())


@pytest.mark.parametrize("proved", [False, True])
def test_what_gradients_inside_of_a_call_save_is_saved_by_the_call(proved, monkeypatch):
    if not proved:
        monkeypatch.setattr(_account.Account, "wait_for_proof", lambda *_: 1000)
    model = Penalty()
    with chainer.using_config("static_budget", None):
        for k in range(6):
            model(chainer.Variable(np.full((2, 3), k, "f"))).backward()
    (site,) = model.schedule_manager._sites.values()
    pieces = [piece for plan in site.plans() for piece in plan.pieces]
    assert len(pieces) == 2 and all([list(piece.backwards) for piece in pieces])
    inside, outside = sorted(pieces, key=lambda piece: piece.apps[0].depth)
    assert (inside.backward_meter.program, outside.backward_meter.program > 0) == (0.0, True)
    assert bool(site.ledger.without_python) == proved


def test_calls_that_wait_beside_programs_of_others_are_left_alone_too(monkeypatch):
    """A way that is too dear for now does not have each of its calls looked at."""
    looked, begun = [], Run.__init__

    def begins(run, *args, **kwargs):
        looked.append(run)
        begun(run, *args, **kwargs)

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(3, 3)

        @chainer.static_graph
        def forward(self, x):
            return F.tanh(self.l(x))

    model = Net()
    with chainer.using_config("static_budget", None):
        for _ in range(4):
            model(np.ones((4, 3), "f"))
    assert model.schedule_manager.report()[0].hits
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **k: 1000)
    monkeypatch.setattr(_account.Account, "allows_noting", lambda _: True)
    for _ in range(100):
        model(np.ones((2, 3), "f"))
    site = next(iter(model.schedule_manager._sites.values()))
    assert site._waiting is not None
    monkeypatch.setattr(_account.Account, "allows_noting", lambda _: False)
    monkeypatch.setattr(Run, "__init__", begins)
    for _ in range(200):
        model(np.ones((2, 3), "f"))
    assert len(looked) < 60


@pytest.mark.parametrize("waited", [False, True])
def test_calls_that_have_programs_are_served_while_others_wait(waited, monkeypatch):
    """Also the first ones, whether these programs had to wait themselves or not."""
    wait = 1000 if waited else 0
    monkeypatch.setattr(_account.Account, "wait_for_trace", lambda *_, **__: wait)
    monkeypatch.setattr(_account.Account, "allows_noting", lambda _: True)
    model = Model()
    for n in (2, 4, 4):
        model(np.ones((n, 3), "f"))
    (site,) = model.schedule_manager._sites.values()
    wait = 0
    site._compile_or_wait()
    assert site.ways.has_programs() and not site.ledger.hits
    site.sleep.begins(1000, LEFT)
    for _ in range(4):
        model(np.ones((4, 3), "f"))
    assert site.ledger.hits == 4


def test_programs_are_timed_seldom_once_many_have_run(monkeypatch):
    monkeypatch.setattr(_account, "clock", lambda: 5.0)
    meter = _account.Meter()
    meter.took_plainly(4.0)
    started = [meter.starts() for _ in range(128)]
    assert all(started[:63])
    assert sum(map(bool, started[63:])) == 9
    assert meter.took_since(4.0) == 3.0
    assert meter.took_since(0.0) == 3.0  # like the others
    assert meter.took_since(3.0, besides=0.5) == pytest.approx(4.0 - 1.02)
