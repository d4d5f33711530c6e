"""Updates that are like the last one: whatever changes between two of them is seen at once."""

import copy
import sys
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import optimizer_hooks, optimizers
from chainwright.runtime.native import looks

pytestmark = pytest.mark.skipif(looks.counting() is None, reason="another Python")
STEPS = 40  # until the change


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(4, 6)
            self.rest = chainer.ChainList(L.Linear(6, 5), L.Linear(5, 3))

    def forward(self, x, t):
        h = F.tanh(self.a(x))
        for link in self.rest:
            h = F.sigmoid(link(h))
        return F.mean_squared_error(h, t)


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


class OtherRule(optimizers.adam.AdamRule):
    def _numbers(self, dtype):
        return super()._numbers(dtype)


def made(kind, make):
    np.random.seed(0)
    model = kind()
    return model, make().setup(model)


def batch(k):
    rng = np.random.RandomState(k)
    return rng.randn(3, 4).astype("f"), rng.randn(3, 3).astype("f")


def state(model, rule):
    found = [rule.t]
    for name, p in sorted(model.namedparams()):
        own = p.update_rule
        states = {} if own is None or own.state is None else own.state
        found += [name, p.array.tobytes(), None if p.grad is None else p.grad.tobytes()]
        found += [own and own.t, {k: v.tobytes() for k, v in states.items()}]
    return found


def stepped(both, k, update=None):
    found = []
    for model, rule in both:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                (update or (lambda m, r, *a: r.update(m, *a)))(model, rule, *batch(k))
                error = None
            except Exception as e:
                error = type(e), str(e)
        found.append((state(model, rule), error, [w.category for w in said]))
    assert found[0] == found[1]


def knows(both):
    return both[0][1]._updates._again is not None


def forget_state(m, r):
    m.a.W.update_rule._state = None


def add_rule_hook(m, r):
    m.a.W.update_rule.add_hook(lambda rule, param: param.grad.__imul__(2), "twice")


def override_update(m, r):
    m.a.W.update = lambda: None


def override_params(m, r):
    m.a.params = lambda include_uninit=True: iter([m.a.W])


def override_clearing(m, r):
    m.cleargrads = lambda: [p.cleargrad() for p in [m.a.W]] and None


def new_link(m, r):
    m.rest.append(L.Linear(3, 3, initialW=1))
    m.rest[-1].W.update_rule = r.create_update_rule()


def another_target(m, r):
    r.setup(m.rest)


def class_of_rule(m, r):
    m.a.b.update_rule.__class__ = OtherRule


def attributes_of_rule(m, r):
    rule = m.a.b.update_rule
    rule.__dict__ = {**rule.__dict__, "enabled": False}


def replace_parameter(m, r):
    own = m.a.b.update_rule
    with m.a.init_scope():
        m.a.b = chainer.Parameter(np.ones(6, "f"))
    m.a.b.update_rule = own


CHANGES = {
    "nothing": lambda m, r: None,
    "learning rate": lambda m, r: setattr(r.hyperparam, "alpha", 0.1),
    "learning rate of a rule": lambda m, r: setattr(m.a.W.update_rule.hyperparam, "alpha", 0.1),
    "disabled": lambda m, r: setattr(m.a.W.update_rule, "enabled", False),
    "count": lambda m, r: setattr(m.a.W.update_rule, "t", 3),
    "no rule": lambda m, r: setattr(m.a.W, "update_rule", None),
    "another rule": lambda m, r: setattr(m.a.W, "update_rule", r.create_update_rule()),
    "class of a rule": class_of_rule,
    "attributes of a rule": attributes_of_rule,
    "no state": forget_state,
    "other state": lambda m, r: m.a.W.update_rule._state.update(m=np.ones((6, 4), "f")),
    "state written": lambda m, r: m.a.W.update_rule._state["m"].fill(1),
    "hook of a rule": add_rule_hook,
    "hook": lambda m, r: r.add_hook(optimizer_hooks.WeightDecay(0.1)),
    "late hook": lambda m, r: r.add_hook(lambda o: None, "none", "post"),
    "array": lambda m, r: setattr(m.a.W, "array", m.a.W.array * 2),
    "strides": lambda m, r: setattr(m.a.W, "array", np.asfortranarray(m.a.W.array)),
    "values": lambda m, r: m.a.W.array.fill(0.5),
    "parameter": replace_parameter,
    "update of a parameter": override_update,
    "parameters of a link": override_params,
    "clearing": override_clearing,
    "link": lambda m, r: setattr(m, "a", copy.deepcopy(m.a)),
    "item": lambda m, r: m.rest.__setitem__(1, L.Linear(5, 3, initialW=1)),
    "new link": new_link,
    "fewer parameters": lambda m, r: m.a._params.discard("b"),
    "scaled loss": lambda m, r: r.loss_scaling(scale=4),
    "zeros instead of clearing": lambda m, r: setattr(r, "_use_cleargrads", False),
    "another target": another_target,
    "number too small": lambda m, r: setattr(r.hyperparam, "eps", 1e-60),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_at_once(change, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    monkeypatch.setitem(vars(chainer.global_config), "static_check", "first")
    both = [made(kind, optimizers.Adam) for kind in (Compiled, Net)]
    for k in range(STEPS):
        stepped(both, k)
    assert knows(both)
    for model, rule in both:
        np.random.seed(1)
        change(model, rule)
    for k in range(STEPS, 2 * STEPS):
        stepped(both, k)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_before_the_first_update_alike(change, monkeypatch):
    """What is watched is looked for between two updates: it may be another state than the last."""
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    monkeypatch.setitem(vars(chainer.global_config), "static_check", "first")
    both = [made(Net, optimizers.Adam) for _ in range(2)]

    def update(m, r, *args):
        with chainer.using_config("static_step", m is both[0][0]):
            r.update(m, *args)

    is_next = False
    for k in range(STEPS):
        updates = both[0][1]._updates
        is_next = updates is not None and updates._alike >= updates._wait
        if is_next:
            break
        stepped(both, k, update)
    assert is_next and not knows(both)
    for model, rule in both:
        np.random.seed(1)
        change(model, rule)
    for k in range(STEPS, 2 * STEPS):
        stepped(both, k, update)


@pytest.mark.parametrize("before", CHANGES.values(), ids=CHANGES)
def test_a_parameter_without_a_rule_is_given_one(before, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    both = [made(Net, optimizers.Adam) for _ in range(2)]

    def update(m, r, *args):
        with chainer.using_config("static_step", m is both[0][0]):
            r.update(m, *args)

    def give(m, r):
        m.rest[0].b.update_rule = r.create_update_rule()

    def take(m, r):
        m.rest[0].b.update_rule = None

    for part, change in enumerate((take, before, give, take, give)):
        for model, rule in both:
            np.random.seed(1)
            change(model, rule)
        for k in range(STEPS // 2):
            stepped(both, part * STEPS + k, update)


@pytest.mark.parametrize("name, value", [
    ("static_step", False), ("static_target", "numpy"), ("static_check", "always"),
    ("debug", True), ("lazy_grad_sum", True),
])
def test_settings_are_seen_at_once(name, value, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    both = [made(kind, optimizers.Adam) for kind in (Compiled, Net)]
    for k in range(STEPS):
        stepped(both, k)
    for k in range(STEPS, 3 * STEPS):
        with chainer.using_config(name, value if k % 7 == 0 or k > 2 * STEPS else
                                  chainer.configuration.peek(name)):
            stepped(both, k)


def alone(m, r, x, t):
    m.cleargrads()
    m(x, t).backward()
    r.update()


def without_gradient(m, r, x, t):
    alone(m, r, x, t) if t[0, 0] > 0 else (m.cleargrads(), r.update())


def several(m, r, x, t):
    m.cleargrads()
    for _ in range(2):
        m(x, t).backward()
    r.update()


def raising(m, r, x, t):
    with np.errstate(over="raise"):
        r.update(m, x * np.float32(1e19 if t[0, 0] > 1 else 1), t)


@pytest.mark.parametrize("update", [alone, without_gradient, several, raising])
@pytest.mark.parametrize("make", [
    optimizers.Adam, optimizers.MomentumSGD, optimizers.SGD, optimizers.RMSprop])
def test_ways_to_update(update, make, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    both = [made(kind, make) for kind in (Compiled, Net)]
    for k in range(2 * STEPS):
        stepped(both, k, update)


def test_two_optimizers_of_one_model_count_together():
    both = [made(kind, optimizers.SGD) for kind in (Compiled, Net)]
    others = [optimizers.SGD(0.5) for _ in both]
    for other, (model, rule) in zip(others, both, strict=True):
        other.target, other._pre_update_hooks, other._post_update_hooks = model, {}, {}
        assert isinstance(rule, optimizers.SGD)
    for k in range(2 * STEPS):
        stepped(both, k)
        if k % 5 == 0:
            stepped([(m, o) for (m, _), o in zip(both, others, strict=True)], k)


def test_copies_start_without():
    model, rule = made(Compiled, optimizers.Adam)
    for k in range(STEPS):
        rule.update(model, *batch(k))
    other = copy.deepcopy(rule)
    assert other._updates is None
    before = state(other.target, other)
    rule.update(model, *batch(0))
    assert state(other.target, other) == before
    other.update(other.target, *batch(0))
    assert state(other.target, other) == state(model, rule)


def clearing_of_a_parameter(m):
    m.a.W.cleargrad = lambda: setattr(m.a.W, "grad", np.ones((6, 4), "f"))


def another_parameter(m):
    m.a.W = chainer.Parameter(np.ones((6, 4), "f"))


CLEARED = {
    "nothing": lambda m: None,
    "array": lambda m: setattr(m.a.W, "array", m.a.W.array * 2),
    "parameter": another_parameter,
    "clearing of a parameter": clearing_of_a_parameter,
    "uninitialized": lambda m: m.rest.append(L.Linear(None, 3, initialW=1)),
    "parameters of a link": lambda m: override_params(m, None),
    "link": lambda m: setattr(m, "a", copy.deepcopy(m.a)),
    "item": lambda m: m.rest.__setitem__(1, L.Linear(5, 3, initialW=1)),
    "new link": lambda m: m.rest.append(L.Linear(3, 3, initialW=1)),
    "fewer parameters": lambda m: m.a._params.discard("b"),
    "counter": lambda m: setattr(m, "calls", 1),
}


def cleared(model, k):
    model(*batch(k)).backward()
    before = [p.grad is None for p in model.params() if p.array is not None]
    model.cleargrads()
    found = {name: None if p._array is None or p.grad is None else p.grad.tobytes()
             for name, p in model.namedparams()}
    return before, found, [p._first_grad is None for p in model.params()]


@pytest.mark.parametrize("change", CLEARED.values(), ids=CLEARED)
def test_all_gradients_are_cleared(change, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    both = [made(kind, optimizers.SGD)[0] for kind in (Compiled, Net)]
    for k in range(STEPS):
        assert cleared(both[0], k) == cleared(both[1], k)
    assert both[0].schedule_manager.gradients.known is not None
    shallow = [copy.copy(model) for model in both]
    for model in both:
        np.random.seed(2)
        change(model)
    for k in range(2 * STEPS):
        assert cleared(both[0], k) == cleared(both[1], k)
        if k % 8 == 0:
            assert cleared(shallow[0], k) == cleared(shallow[1], k)


def test_what_else_a_link_has_does_not_matter(monkeypatch):
    """It may change in each call, and nobody holds it."""
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    model, rule = made(Compiled, optimizers.Adam)
    model.kept, again = [], []
    for k in range(2 * STEPS):
        model.seen, model.a.seen = [k], (k, model.kept)
        model.cleargrads()
        model(*batch(k)).backward()
        rule.update()
        again.append(model.schedule_manager.gradients.known)
    assert again[-1] is not None and again[-1] is again[-STEPS // 2]
    model.a.seen = None
    assert sys.getrefcount(model.kept) == sys.getrefcount([]) + 1
