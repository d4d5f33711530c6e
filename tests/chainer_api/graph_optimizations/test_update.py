"""Updates of all parameters as one native call give what the loop over them gives, bit for bit."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import chainer
from chainer import optimizer_hooks, optimizers
from chainer.graph_optimizations import _update
from chainwright.runtime.background import BACKGROUND
from chainwright.runtime.native import native_target

pytestmark = pytest.mark.skipif(native_target() is None, reason="there is no native code here")

OPTIMIZERS = {
    "SGD": lambda: optimizers.SGD(0.1),
    "MomentumSGD": lambda: optimizers.MomentumSGD(0.1, 0.8),
    "CorrectedMomentumSGD": lambda: optimizers.CorrectedMomentumSGD(0.1, 0.8),
    "NesterovAG": lambda: optimizers.NesterovAG(0.1, 0.8),
    "AdaDelta": optimizers.AdaDelta,
    "AdaGrad": optimizers.AdaGrad,
    "SMORMS3": optimizers.SMORMS3,
    "RMSprop": optimizers.RMSprop,
    "RMSprop inside": lambda: optimizers.RMSprop(eps_inside_sqrt=True),
    "RMSpropGraves": optimizers.RMSpropGraves,
    "MSVAG": optimizers.MSVAG,
    "MSVAG decay": lambda: optimizers.MSVAG(weight_decay_rate=0.1, eta=0.5),
    "Adam": optimizers.Adam,
    "AdamW": lambda: optimizers.AdamW(weight_decay_rate=0.01, eta=0.5),
    "AMSGrad": optimizers.AMSGrad,
    "AdaBound": optimizers.AdaBound,
    "AMSBound": optimizers.AMSBound,
}


def test_all_optimizers_are_here():
    made = {type(make()).__name__ for make in OPTIMIZERS.values()}
    assert made == set(optimizers.__all__)


@pytest.fixture(autouse=True)
def native(monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "native")
    monkeypatch.setitem(vars(chainer.global_config), "static_step", True)


class Model(chainer.Link):
    """Parameters of many sizes; the last two have no sweep."""

    def __init__(self, dtype="f", seed=0):
        super().__init__()
        rng = np.random.RandomState(seed)
        shapes = {"a": (7, 5), "b": (3000,), "c": (2, 3, 4), "e": (1, 1), "d": (), "z": (0, 3)}
        with self.init_scope():
            for name, shape in shapes.items():
                setattr(self, name, chainer.Parameter(np.array(rng.randn(*shape)).astype(dtype)))


def give_gradients(model, rng):
    for p in model.params():
        scale = 10.0 ** rng.randint(-12, 4)
        p.grad = np.array(rng.randn(*p.shape) * scale).astype(p.dtype)


def facts(model, optimizer):
    found = [optimizer.t]
    for p in model.params():
        rule = p.update_rule
        arrays = [p.array, p.grad, *(rule.state or {}).values()]
        found += [rule.t, *(a.tobytes() for a in arrays)]
    return found


def trained(make, step, change=lambda k, model, optimizer: None, dtype="f", steps=8, model=Model):
    """What is seen after each update, the warnings, and the optimizer."""
    chainer.global_config.static_step = step
    rng = np.random.RandomState(1)
    model = model(dtype)
    optimizer = make().setup(model)
    found = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for k in range(steps):
            give_gradients(model, rng)
            change(k, model, optimizer)
            try:
                optimizer.update()
            except Exception as e:
                found.append((type(e), str(e)))
            found.append(facts(model, optimizer))
    return found, [(str(w.message), w.lineno) for w in warned], optimizer


def sweeps(optimizer):
    """How many parameters native code updates."""
    plan = optimizer._updates._plan
    return 0 if plan is None else sum(len(part.entries) for part in plan.parts)


def is_left_to_numpy(make):
    """Whether an update clips, and native code does not as NumPy does: 2.0 turns -0.0 into 0.0."""
    clips = [OPTIMIZERS[name] for name in ("MSVAG", "MSVAG decay", "AdaBound", "AMSBound")]
    return make in clips and not native_target().machine.arithmetic("clip", "f32")


def check(make, change=lambda k, model, optimizer: None, native=4, **settings):
    if is_left_to_numpy(make):
        native = 0
    plain = trained(make, False, change, **settings)
    fast = trained(make, True, change, **settings)
    assert fast[0] == plain[0]
    assert sorted(set(fast[1])) == sorted(set(plain[1]))
    assert sweeps(fast[2]) == native


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_bits(name, dtype):
    check(OPTIMIZERS[name], dtype=dtype)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_numbers_change(name):
    """Learning rates and all other numbers may change; what is 0 or None then, too."""

    def change(k, model, optimizer):
        for key, value in vars(optimizer.hyperparam).items():
            if type(value) is float and k % 3 == 1:
                setattr(optimizer.hyperparam, key, value * 0.9)

    check(OPTIMIZERS[name], change)


def test_the_form_changes_on_the_way():
    def change(k, model, optimizer):
        optimizer.eta = 1 if k % 4 < 2 else 0.5
        optimizer.weight_decay_rate = 0.1 if k > 4 else 0

    check(optimizers.AdamW, change)


@pytest.mark.parametrize("number", [np.float32(0.1), np.float64(0.1), 1, True, 1e39, float("nan")])
def test_numbers_of_other_kinds(number):
    """NumPy's own numbers are no weak ones: they choose the type of the arithmetic."""

    def change(k, model, optimizer):
        optimizer.lr = number if k == 5 else 0.01

    check(OPTIMIZERS["MomentumSGD"], change)


def test_own_hyperparameters():
    def change(k, model, optimizer):
        model.b.update_rule.hyperparam.lr = 0.3
        if k == 5:
            model.a.update_rule.hyperparam.momentum = 0.5

    check(OPTIMIZERS["MomentumSGD"], change)


def test_different_counts():
    """A rule that was disabled has another count, with Adam another learning rate."""

    def change(k, model, optimizer):
        model.a.update_rule.enabled = k > 2

    check(optimizers.Adam, change)


def test_gradients_that_are_not_there():
    """A gradient that was cleared is zeros, a state replaced or loaded is the one that counts."""

    def change(k, model, optimizer):
        if k == 4:
            model.a.cleargrad()
        if k == 5:
            model.b.update_rule.state["m"] = np.ones(3000, "f")
        if k == 6:
            model.c.array = model.c.array * 2

    check(optimizers.Adam, change)


@pytest.mark.parametrize("order", ["C", "F"])
def test_other_layouts(order):
    def change(k, model, optimizer):
        if k > 2:
            model.c.grad = np.asfortranarray(model.c.grad) if k > 4 else model.c.grad[..., ::1]
        if k == 2:
            model.a.array = np.array(model.a.array, order=order)
            model.a.update_rule.state["v"] = np.zeros_like(model.a.array)
        if order == "F":
            model.a.grad = np.asfortranarray(model.a.grad)

    check(OPTIMIZERS["MomentumSGD"], change, native=3)


def test_states_share_memory():
    """Gradients that are parts of the parameter: NumPy reads what was written already."""

    def change(k, model, optimizer):
        if k > 3:
            model.b.grad = model.b.array
        if k > 5:
            model.a.grad = model.b.array[1:36].reshape(7, 5)

    check(OPTIMIZERS["NesterovAG"], change)


def test_one_array_in_two_parameters():
    class Twice(Model):
        def __init__(self, dtype):
            super().__init__(dtype)
            with self.init_scope():
                self.f = chainer.Parameter(self.a.array)

    check(OPTIMIZERS["MomentumSGD"], native=5, model=Twice)


@pytest.mark.parametrize("way", ["disabled for a while", "bound while disabled", "other rules"])
def test_one_array_in_two_parameters_that_are_not_updated_together(way):
    """The order in which they are updated is that of the loop."""

    class Twice(Model):
        def __init__(self, dtype):
            super().__init__(dtype)
            with self.init_scope():
                self.f = chainer.Parameter(
                    self.a.array.copy() if way == "bound while disabled" else self.a.array)

    def change(k, model, optimizer):
        if way == "other rules" and k == 0:
            model.f.update_rule = optimizers.MomentumSGD(0.03).create_update_rule()
        elif way != "other rules":
            model.a.update_rule.enabled = not 3 <= k < 10
        if way == "bound while disabled" and k == 8:
            model.a.array = model.f.array

    native = 3 if way == "other rules" else 5
    check(OPTIMIZERS["SGD"], change, native, model=Twice, steps=18)


def test_arrays_that_cannot_be_written():
    def change(k, model, optimizer):
        model.b.array.setflags(write=k != 5)

    plain, fast = (trained(OPTIMIZERS["SGD"], step, change) for step in (False, True))
    assert plain[0][5] == fast[0][5] and plain[0][5][0] is ValueError


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_what_is_not_updated_is_not_counted(name):
    """Also where an update is like the ones before."""

    def change(k, model, optimizer):
        model.b.array.setflags(write=k != 25)

    plain, fast = (trained(OPTIMIZERS[name], step, change, steps=32) for step in (False, True))
    assert plain[0] == fast[0] and plain[0][25][0] is ValueError


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_overflow_warns_as_ever(name):
    """Where a floating-point error is, NumPy calls take over, from there on."""

    def change(k, model, optimizer):
        if k == 4:
            model.b.grad[2500] = 1e38
        if k == 5:
            model.a.grad[3, 3] = np.inf
        if k == 6:
            model.b.grad[:10] = np.nan

    check(OPTIMIZERS[name], change)


STATES = [
    ({"under": "warn"}, 4),
    ({"all": "ignore"}, 4),
    ({"over": "raise", "invalid": "raise"}, 0),
]


@pytest.mark.parametrize("settings, expected", STATES)
def test_error_states(settings, expected):
    """Underflow is ignored by default; where errors raise, the loop over parameters does it."""

    def change(k, model, optimizer):
        if k == 6:
            model.b.grad[7] = 3e38
        model.a.grad[...] = 1e-30

    with np.errstate(**settings):
        check(optimizers.Adam, change, native=expected)


@pytest.mark.parametrize("hook", [False, True])
def test_error_states_that_change(hook):
    """Also where a hook has seen the change first."""
    found = []
    for step in (False, True):
        chainer.global_config.static_step = step
        model = Model()
        optimizer = optimizers.MomentumSGD(0.1).setup(model)
        if hook:
            optimizer.add_hook(optimizer_hooks.WeightDecay(0.01))
        rng, warned = np.random.RandomState(1), []
        for k in range(9):
            give_gradients(model, rng)
            if k > 2:
                model.b.update_rule.state["v"][:5] = 3e38
                model.b.array[:5] = 3e38
            with np.errstate(over="ignore" if k % 2 else "warn"):
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    optimizer.update()
            warned.append({str(w.message) for w in seen})
        found.append((facts(model, optimizer), warned))
    assert found[0] == found[1]
    assert [bool(w) for w in warned] == [False] * 4 + [True, False, True, False, True]


def test_an_update_that_raises_leaves_those_behind_it():
    """A parameter got another array, which its state does not fit: the loop ends there."""

    def change(k, model, optimizer):
        if k >= 4:
            model.c.array = np.ones((2, 3, 5), "f")
            model.c.grad = np.ones((2, 3, 5), "f")

    plain, fast = (trained(optimizers.Adam, step, change, steps=10) for step in (False, True))
    assert fast[0] == plain[0]
    assert sum(type(found) is tuple for found in plain[0]) == 6


def test_rules_of_the_user():
    class Mine(type(optimizers.SGD().create_update_rule())):
        def update_core_cpu(self, param):
            param.array -= param.grad.sum()

    def change(k, model, optimizer):
        model.c.update_rule.__class__ = Mine

    check(OPTIMIZERS["SGD"], change, native=0)


def test_methods_of_objects_and_hooks_of_rules():
    def change(k, model, optimizer):
        if k == 4:
            rule = model.a.update_rule
            rule.update_core = lambda param, rule=rule: type(rule).update_core(rule, model.a)
        if k == 5:
            model.b.update_rule.add_hook(lambda rule, param: param.grad.fill(1), "ones")
        if k == 6:
            model.c.update = lambda: None

    check(OPTIMIZERS["MomentumSGD"], change, native=1)


HOOKS = {
    "decay": (lambda: optimizer_hooks.WeightDecay(0.01),),
    "lasso": (lambda: optimizer_hooks.Lasso(0.01),),
    "clip": (lambda: optimizer_hooks.GradientHardClipping(-0.5, 0.25),),
    "old name": (lambda: chainer.optimizer.WeightDecay(0.01),),
    "several": (
        lambda: optimizer_hooks.WeightDecay(0.01),
        lambda: optimizer_hooks.GradientClipping(0.1),
        lambda: optimizer_hooks.Lasso(0.01),
        lambda: optimizer_hooks.GradientNoise(0.01),
        lambda: optimizer_hooks.GradientLARS(weight_decay=0.1),
    ),
    "strong number": (lambda: optimizer_hooks.WeightDecay(np.float64(0.01)),),
}


def with_hooks(name):
    def change(k, model, optimizer):
        np.random.seed(k)
        if k == 0:
            for hook in HOOKS[name]:
                optimizer.add_hook(hook())
        if k == 3:
            for hook in optimizer._pre_update_hooks.values():
                if hasattr(hook, "rate"):
                    hook.rate *= 2
        if k == 4:
            model.a.cleargrad()
            model.b.grad = model.b.array
        if k == 5:
            model.b.grad[:3] = np.nan
            model.a.grad[2] = np.inf
        if k == 6:
            model.c.grad = np.asfortranarray(model.c.grad)

    return change


@pytest.mark.parametrize("dtype", ["f", "d", "e"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name, dtype):
    check(OPTIMIZERS["MomentumSGD"], with_hooks(name), dtype=dtype, native=0 if dtype == "e" else 4)


def test_hooks_are_sweeps():
    def change(k, model, optimizer):
        if k == 0:
            for make in (*HOOKS["decay"], *HOOKS["lasso"], *HOOKS["clip"]):
                optimizer.add_hook(make())

    _, _, optimizer = trained(OPTIMIZERS["SGD"], True, change)
    plans = optimizer._updates._hooks.values()
    sweeps = [4, 4] if is_left_to_numpy(optimizers.MSVAG) else [4, 4, 4]
    assert [len(plan.entries) for plan in plans if plan.sweep is not None] == sweeps


def test_hooks_of_the_user():
    class Twice(optimizer_hooks.WeightDecay):
        def __call__(self, rule, param):
            super().__call__(rule, param)
            super().__call__(rule, param)

    def change(k, model, optimizer):
        if k == 0:
            optimizer.add_hook(Twice(0.1))

    check(OPTIMIZERS["SGD"], change)


def test_float16_in_float32():
    def make():
        optimizer = optimizers.Adam()
        optimizer.use_fp32_update()
        return optimizer

    check(make, dtype="e", native=0)


def test_loss_scale():
    def change(k, model, optimizer):
        for p in model.params():
            p._loss_scale = None if k % 2 else 4.0

    check(OPTIMIZERS["SGD"], change, native=4)


def test_copies_and_pickles_start_anew():
    _, _, optimizer = trained(optimizers.Adam, True)
    assert sweeps(optimizer) == 4
    assert copy.deepcopy(optimizer)._updates is None
    again = pickle.loads(pickle.dumps(optimizer))
    assert again._updates is None
    for o in (optimizer, again):
        give_gradients(o.target, np.random.RandomState(5))
        o.update()
    assert facts(optimizer.target, optimizer) == facts(again.target, again)


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_plans_are_made_rarely(monkeypatch, compiled, pickled):
    """Where parameters have no sweep (as two of this model), and while code is being compiled."""
    if not compiled:
        monkeypatch.setattr(_update.SweepCode, "ready", lambda self: False)
    _, _, optimizer = trained(optimizers.Adam, True)
    if pickled:
        optimizer = pickle.loads(pickle.dumps(optimizer))
    plans = []
    for k in range(24):
        give_gradients(optimizer.target, np.random.RandomState(k))
        optimizer.update()
        plans.append(optimizer._updates._plan)
    assert len(set(plans)) < 8
    assert sweeps(optimizer) == (4 if compiled else 0)


@pytest.mark.parametrize("setting", [("static_step", False), ("static_target", "numpy")])
def test_settings(monkeypatch, setting):
    monkeypatch.setitem(vars(chainer.global_config), *setting)
    model = Model()
    optimizer = optimizers.SGD().setup(model)
    for _ in range(4):
        give_gradients(model, np.random.RandomState(0))
        optimizer.update()
    assert optimizer._updates is None


def test_nobody_waits():
    """With 'auto' a thread in the background compiles."""
    _update.code_of.cache_clear()
    chainer.global_config.static_target = "auto"
    plain, fast = (trained(OPTIMIZERS["RMSprop"], step) for step in (False, True))
    assert plain[0] == fast[0]
    BACKGROUND.wait()
    rng = np.random.RandomState(2)
    for _ in range(3):
        give_gradients(fast[2].target, rng)
        fast[2].update()
    assert sweeps(fast[2]) == 4


def test_code_without_a_native_form():
    """What cannot be one loop stays a loop over parameters."""
    rule = type(optimizers.SGD().create_update_rule())

    class Sums(rule):
        @staticmethod
        def _step(xp, array, grad, state, numbers):
            array -= numbers[0] * grad.sum()

    def make():
        optimizer = optimizers.SGD()
        optimizer.create_update_rule = lambda: Sums(optimizer.hyperparam)
        return optimizer

    check(make, native=0)


class Shared(Model):
    """One parameter has two names, and two parameters have one rule."""

    def __init__(self, dtype):
        super().__init__(dtype)
        with self.init_scope():
            self.f = self.a


@pytest.mark.parametrize("hook", [False, True])
@pytest.mark.parametrize("name", ["Adam", "MomentumSGD"])
def test_parameters_that_are_updated_twice(name, hook):
    def change(k, model, optimizer):
        if k == 0 and hook:
            optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
        if k == 0:
            model.b.array, model.b.grad = np.ones((7, 5), "f"), np.ones((7, 5), "f")
        if k == 3:
            model.b.update_rule = model.a.update_rule

    check(OPTIMIZERS[name], change, native=3, model=Shared)


@pytest.fixture
def wrong():
    """An update rule whose recorded form is another one."""
    base = type(optimizers.SGD().create_update_rule())

    class Wrong(base):
        @staticmethod
        def _step(xp, array, grad, state, numbers):
            array -= (2 if xp is np and type(array) is not np.ndarray else 1) * (numbers[0] * grad)

    return Wrong


@pytest.mark.parametrize("how, expected", [("spaced", True), ("first", True), ("never", False)])
def test_wrong_code_is_found(how, expected, wrong, caplog):
    """What sweeps make of copies is compared with what the loop over parameters makes."""

    def make():
        optimizer = optimizers.SGD()
        optimizer.create_update_rule = lambda: wrong(optimizer.hyperparam)
        return optimizer

    with chainer.using_config("static_check", how):
        plain, fast = (trained(make, step) for step in (False, True))
    assert (fast[0] == plain[0]) is expected
    assert ("Please report it" in caplog.text) is expected


@pytest.mark.parametrize("form", [
    np.asfortranarray, lambda g: np.broadcast_to(g[..., :1], g.shape),
    lambda g: np.stack([g, g], -1)[..., 1],
])
@pytest.mark.parametrize("when", [3, 5, 9])  # the checks
def test_checks_of_gradients_of_other_forms(when, form, caplog):
    """A sweep over copies read them as if they lay in one piece, beyond their end."""

    def make():
        chain = chainer.Chain()
        with chain.init_scope():
            chain.p = chainer.Parameter(np.linspace(-1, 1, 15, dtype="f").reshape(3, 5))
        return chain, OPTIMIZERS["MomentumSGD"]().setup(chain)

    found = []
    with chainer.using_config("static_check", "spaced"):
        for chainer.global_config.static_step in (False, True):
            chain, optimizer = make()
            for k in range(1, 10):
                grad = np.random.RandomState(k).randn(3, 5).astype("f")
                chain.p.grad = form(grad) if k == when else grad
                optimizer.update()
            found.append(chain.p.array.tobytes())
    assert found[0] == found[1] and not caplog.records


def test_wrong_hooks_are_found(caplog):
    class Wrong(optimizer_hooks.WeightDecay):
        @staticmethod
        def _changed(xp, array, grad, numbers):
            return grad + (2 if type(array) is not np.ndarray else 1) * array

    def change(k, model, optimizer):
        if k == 0:
            optimizer.add_hook(Wrong(0.1))

    check(OPTIMIZERS["SGD"], change)
    assert "Please report it" in caplog.text


def test_checks_come_to_all_parameters(monkeypatch):
    monkeypatch.setattr(_update, "_CHECKED", 1)  # one parameter a check
    _, _, optimizer = trained(optimizers.Adam, True, steps=9)
    assert optimizer._updates._compared == 4


def test_gradients_of_a_class_of_somebody_are_used():
    """Also where it is looked at which arrays of an update share memory."""

    class Labelled(np.ndarray):
        pass

    found = []
    for kind in (np.ndarray, Labelled):
        link = chainer.links.Linear(3, 2, initialW=1)
        optimizer = chainer.optimizers.Adam().setup(link)
        for k in range(40):
            for p in link.params():
                p.grad = np.full_like(p.array, k).view(kind if k % 3 else np.ndarray)
            optimizer.update()
        found.append([p.array.tobytes() for p in link.params()])
    assert found[0] == found[1]
