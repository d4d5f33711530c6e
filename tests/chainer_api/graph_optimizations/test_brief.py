"""Guards that are left out while nothing has changed: a change is seen at once."""

import gc
import itertools
import linecache
import threading
import types
import weakref

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _proof
from chainwright.runtime.native import looks

pytestmark = pytest.mark.skipif(looks.comparison() is None, reason="another Python")
CALLS = 24  # until the change
_numbers = itertools.count()


def module_of(source):
    module = types.ModuleType("of_the_user")
    module.F = F
    name = f"<of_the_user {next(_numbers)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), module.__dict__)
    return module


SOURCE = """
scale = 2.0
step = 0
def activation(x):
    return F.tanh(x)
class Helper:
    def twice(self, x):
        return x + x
def forward(self, x):
    h = activation(self.inner(x)) * scale * self.factor
    for name in self.names:
        h = self[name](h)
    return self.helper.twice(h) * len(self.options["sizes"])
"""


def made(compiled):
    """A chain with all kinds of things that a method reads, and the module of its method."""
    module = module_of(SOURCE)
    np.random.seed(0)

    class Inner(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.first = L.Linear(4, 4)

        def forward(self, x):
            return F.relu(self.first(x)) + self.offset

        offset = 1.0

    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner, self.a, self.b = Inner(), L.Linear(4, 4), L.Linear(4, 4)
            self.factor, self.names, self.helper = 0.5, ["a", "b"], module.Helper()
            self.options = {"sizes": [1, 2], "other": 1}

        forward = chainer.static_graph(module.forward) if compiled else module.forward

    return Net(), module


def replace_base(model, module):
    kind = type(model.inner)
    model.inner.__class__ = type("Other", (kind,), {"offset": 3.0})


def replace_code(model, module):
    def activation(x):
        return F.sigmoid(x)

    module.activation.__code__ = types.FunctionType(
        activation.__code__, module.__dict__).__code__


def other_strides(model, module):
    model.a.W.array = np.asfortranarray(model.a.W.array)


def other_dictionary(model, module):
    model.__dict__ = {**model.__dict__, "factor": 3.0}


CHANGES = {
    "number": lambda m, u: setattr(m, "factor", 2.0),
    "item of a list": lambda m, u: m.names.__setitem__(0, "b"),
    "length of a list": lambda m, u: m.names.append("a"),
    "list": lambda m, u: setattr(m, "names", ["b"]),
    "dictionary": lambda m, u: m.options.__setitem__("sizes", [1]),
    "list in a dictionary": lambda m, u: m.options["sizes"].append(3),
    "another link": lambda m, u: setattr(m.inner, "first", L.Linear(4, 4, initialW=1)),
    "bound parameter": lambda m, u: setattr(m.a.W, "array", m.a.W.array * 2),
    "values of a parameter": lambda m, u: m.a.W.array.__imul__(2),
    "parameter": lambda m, u: setattr(m.a, "W", chainer.Parameter(np.ones((4, 4), "f"))),
    "strides": other_strides,
    "global": lambda m, u: setattr(u, "scale", 3.0),
    "global function": lambda m, u: setattr(u, "activation", F.sin),
    "code of a function": replace_code,
    "attribute of a class": lambda m, u: setattr(type(m.inner), "offset", -1.0),
    "attribute instead of the class's": lambda m, u: setattr(m.inner, "offset", -1.0),
    "method": lambda m, u: setattr(u.Helper, "twice", lambda self, x: x * 3),
    "method of the object": lambda m, u: setattr(m.helper, "twice", lambda x: x * 3),
    "forward of the object": lambda m, u: setattr(m.inner, "forward", F.relu),
    "class of the object": replace_base,
    "another dictionary": other_dictionary,
    "library": lambda m, u: setattr(u, "F", types.SimpleNamespace(tanh=F.sin)),
    "nothing": lambda m, u: None,
}


def x_of(k):
    return np.random.RandomState(k).randn(3, 4).astype("f")


def stepped(model, k):
    y = model(x_of(k))
    model.cleargrads()
    F.sum(y * y).backward()
    return [y.array.tobytes(), *[None if p.grad is None else p.grad.tobytes()
                                 for p in model.params()]]


def shortcuts(model):
    (site,) = model.schedule_manager._sites.values()
    return [p.shortcut for p in site.proofs.proofs if p.shortcut.found is not None]


def longer_ways(monkeypatch):
    """A list that gets an item for each call which a look at the words is not enough for."""
    found, follow = [], _proof.Proofs._follow

    def counted(self, *arguments):
        found.append(True)
        return follow(self, *arguments)

    monkeypatch.setattr(_proof.Proofs, "_follow", counted)
    return found


@pytest.fixture(autouse=True)
def few_checks(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_check", "first")
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_at_once(change):
    both = [made(compiled) for compiled in (True, False)]
    for k in range(CALLS):
        assert stepped(both[0][0], k) == stepped(both[1][0], k)
    assert shortcuts(both[0][0]), "no guards are left out"
    for model, module in both:
        change(model, module)
    for k in range(CALLS, 2 * CALLS):
        assert stepped(both[0][0], k) == stepped(both[1][0], k)


def counting(model, module, k):
    model.calls = k


def counting_globals(model, module, k):
    module.step += 1


def counting_inside(model, module, k):
    model.inner.calls, model.inner.first.seen = k, object()


@pytest.mark.parametrize("change", [counting, counting_globals, counting_inside])
def test_what_changes_in_each_call_is_looked_at_and_the_rest_is_not(change):
    both = [made(compiled) for compiled in (True, False)]
    for k in range(2 * CALLS):
        for model, module in both:
            change(model, module, k)
        assert stepped(both[0][0], k) == stepped(both[1][0], k)
    assert shortcuts(both[0][0]), "it was given up"
    for model, _ in both:
        model.factor, model.inner = 3.0, model.inner.copy("copy")
    for k in range(CALLS):
        assert stepped(both[0][0], k) == stepped(both[1][0], k)


@pytest.mark.parametrize("new", [False, True])
def test_what_is_in_turn_this_and_that(new):
    """The calls of each have a proof, and all other guards of it are left out."""
    both = [made(compiled) for compiled in (True, False)]
    for k in range(16 * CALLS):
        for model, _ in both:
            model.helper.kind = model.names = (["a", "b"], ["b", "a"])[k % 2]
            if new and k == 8 * CALLS:  # the dictionary is another one inside
                vars(model).update({f"a{n}": n for n in range(99)})
        assert stepped(both[0][0], k) == stepped(both[1][0], k)
    (site,) = both[0][0].schedule_manager._sites.values()
    found = [proof.shortcut for proof in site.proofs.proofs]
    assert len(found) == 2 and all(s._last.saved > 30 for s in found)
    assert new or all(s.found is not None for s in found)


@pytest.mark.parametrize("name", ["train", "enable_backprop", "dtype"])
def test_settings_are_looked_at(name):
    both = [made(compiled)[0] for compiled in (True, False)]
    for k in range(CALLS):
        assert stepped(both[0], k) == stepped(both[1], k)
    value = np.float64 if name == "dtype" else False
    with chainer.using_config(name, value):
        a, b = both[0](x_of(0)), both[1](x_of(0))
    assert a.array.tobytes() == b.array.tobytes() and a.requires_grad is b.requires_grad
    assert (a.creator is None) is (b.creator is None)


def test_arguments_of_another_kind():
    both = [made(compiled)[0] for compiled in (True, False)]
    for k in range(CALLS):
        assert stepped(both[0], k) == stepped(both[1], k)
    for x in (x_of(1)[:2], np.asfortranarray(x_of(1)), chainer.Variable(x_of(1)),
              both[0].a.W, x_of(1).T[:, :3].T[:, [0, 1, 2, 3]]):
        a, b = (m(m.a.W if x is both[0].a.W else x) for m in both)
        assert a.array.tobytes() == b.array.tobytes()
    for model in both:
        with pytest.raises(chainer.utils.type_check.InvalidType):
            model(np.ones((3, 5), "f"))


@pytest.mark.parametrize("turns", [(3, 3, 3, 2), (3, 2), (3, 2, 4), (2, 3, 4, 5)])
def test_arguments_of_several_forms(turns, monkeypatch):
    both = [made(compiled)[0] for compiled in (True, False)]
    for k in range(40 * len(turns)):
        x = x_of(k)[:1].repeat(turns[k % len(turns)], 0)
        assert both[0](x).array.tobytes() == both[1](x).array.tobytes()
    (site,) = both[0].schedule_manager._sites.values()
    assert site.forms.differ and len(shortcuts(both[0])) == len(set(turns))
    longer = longer_ways(monkeypatch)
    before, calls = site.ledger.without_python, 8 * len(turns)
    for k in range(calls):
        x = x_of(k)[:1].repeat(turns[k % len(turns)], 0)
        assert both[0](x).array.tobytes() == both[1](x).array.tobytes()
    assert site.ledger.without_python - before >= calls - 2  # one is checked
    assert (len(longer) <= 3) is (len(set(turns)) < 4)
    form = site.forms.of(((x,), {}))
    assert 1 <= site.forms.every(form) <= 2 * len(turns)  # all of them are counted


def test_a_chain_goes_without_collection():
    model, _ = made(True)
    for k in range(CALLS):
        stepped(model, k)
    assert shortcuts(model)
    gone, was = weakref.ref(model), gc.isenabled()
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        if was:
            gc.enable()


def test_nothing_is_loaded_for_it(monkeypatch):
    monkeypatch.setattr(looks, "are_native", lambda: False)
    monkeypatch.setattr(looks, "comparison", None)
    model, _ = made(True)
    for k in range(CALLS):
        stepped(model, k)
    assert not shortcuts(model) and model.schedule_manager.report()[0].without_python


def test_all_is_equal_where_words_tell_nothing(monkeypatch):
    monkeypatch.setattr(looks, "comparison", lambda: None)
    model, plain = made(True)[0], made(False)[0]
    for k in range(CALLS):
        assert stepped(model, k) == stepped(plain, k)
    assert not shortcuts(model) and model.schedule_manager.report()[0].without_python



def test_threads_that_change_what_others_read():
    model, plain = made(True)[0], made(False)[0]
    for k in range(CALLS):
        stepped(model, k)
    wanted, wrong = {}, []
    for factor in (0.5, 3.0):
        plain.factor = factor
        wanted[factor] = [plain(x_of(k)).array.tobytes() for k in range(4)]

    def call():
        for k in range(50):
            found = model(x_of(k % 4)).array.tobytes()
            if found not in [values[k % 4] for values in wanted.values()]:
                wrong.append(k)
            model.cleargrads()
            model.factor = 0.5 if k % 3 else 3.0

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Running(chainer.Chain):
    """Changes an array of its own in place, which it has read before all else."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(4, 4), L.Linear(4, 4)
        self.running = np.zeros(4, "f")

    def forward(self, x):
        h = F.tanh(self.a(x))
        self.running += h.array[0]
        return self.b(x) * self.running


def test_arrays_that_are_changed_in_place(monkeypatch):
    """Code had the name of a known array for one of its own, which nothing was bound to."""
    compiled = type("Compiled", (Running,), {"forward": chainer.static_graph(Running.forward)})
    both = []
    for cls in (compiled, Running):
        np.random.seed(0)
        both.append(cls())
    for k in range(3 * CALLS):
        assert stepped(both[0], k) == stepped(both[1], k)
        assert both[0].running.tobytes() == both[1].running.tobytes()
    assert shortcuts(both[0]), "no guards are left out"
    longer = longer_ways(monkeypatch)
    for k in range(CALLS):
        assert stepped(both[0], k) == stepped(both[1], k)
        assert both[0].running.tobytes() == both[1].running.tobytes()
    assert len(longer) <= 3  # some are checked
    for model in both:
        model.running = np.ones(4, "f")
    for k in range(CALLS):
        assert stepped(both[0], k) == stepped(both[1], k)
        assert both[0].running.tobytes() == both[1].running.tobytes()


def test_what_the_call_takes_away(caplog):
    """A list that the call has emptied is another one when guards are looked at, after it."""

    class Saved(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = L.Linear(4, 3)
            self.saved, self.options = [], {}

        @chainer.static_graph
        def forward(self):
            loss = F.sum(self.a(self.options["x"]))
            for h in self.saved:
                loss = loss + F.sum(F.square(self.a(h)))
            self.saved, self.options = [], {}
            return loss

    model, x = Saved(), np.ones((2, 4), "f")
    for k in range(CALLS):
        model.saved, model.options = [x * k, x], {"x": x}
        found = model()
    model.saved, model.options = [x * k, x], {"x": x}
    assert found.array == Saved.forward.__wrapped__(model).array
    assert not caplog.records
