"""Loss functions with a compiled method inside are compiled as a whole, and do what they did."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _whole

STEPS = 24


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(5, 8), L.Linear(8, 3)

    def forward(self, x):
        return self.b(F.dropout(F.tanh(self.a(x)), 0.25))


class Compiled(Net):
    forward = chainer.static_graph(Net.forward)


class Calls(chainer.Chain):
    """A loss in a method of the old name, which keeps what it has computed."""

    def __init__(self, net):
        super().__init__()
        self.calls, self.history = 0, []
        with self.init_scope():
            self.net = net

    def __call__(self, x, t):
        self.calls += 1
        self.y = self.net(x)
        loss = F.softmax_cross_entropy(self.y, t) + 0.1 * F.sum(F.square(self.y))
        chainer.report({"loss": loss, "calls": self.calls}, self)
        return loss

    def gives(self, x, t):
        return self(x, t)

    def another(self, x, t, scale=1.0):
        wanted = F.cast(F.expand_dims(t, 1), "f") + x[:, :3]
        return scale * F.mean_squared_error(self.net(x), wanted)


class Forward(Calls):
    """Likewise as a link's ``forward``."""

    __call__ = chainer.Chain.__call__

    def forward(self, x, t):
        return Calls.__call__(self, x, t)


def batches():
    random = np.random.RandomState(3)
    for _ in range(STEPS):
        yield random.randn(6, 5).astype("f"), random.randint(0, 3, 6).astype("i")


def facts(model, loss, observed):
    found = [(path, p.array.tobytes(), None if p.grad is None else p.grad.tobytes())
             for path, p in sorted(model.namedparams())]
    seen = {name: np.asarray(getattr(v, "array", v)).tobytes() for name, v in observed.items()}
    return found, seen, None if loss is None else loss.array.tobytes(), np.random.get_state()[2]


def train(model, update, observe=lambda model: None):
    """What is there after each step."""
    np.random.seed(0)
    for link in [model, *model.links()]:
        for param in link.params(include_uninit=False):
            param.array[...] = np.random.RandomState(param.size).randn(*param.shape)
    optimizer = chainer.optimizers.Adam().setup(model)
    reporter = chainer.Reporter()
    reporter.add_observer("main", model)
    reporter.add_observers("main", model.namedlinks(skipself=True))
    seen = []
    with chainer.using_config("static_budget", None):
        for k, (x, t) in enumerate(batches()):
            with reporter.scope({}):
                loss = update(optimizer, model, x, t, k)
                seen.append((facts(model, loss, reporter.observation), observe(model)))
    return seen


def by_update(optimizer, model, x, t, k):
    optimizer.update(model, x, t)


def by_hand(optimizer, model, x, t, k):
    loss = model(x, t)
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss


def by_method(optimizer, model, x, t, k):
    optimizer.update(model.gives, x, t)


def by_options(optimizer, model, x, t, k):
    optimizer.update(model.another, x, t, scale=0.5)


def by_function():
    """One function for all steps, as there is in a module."""
    models = []

    def lossfun(x, t):
        return F.sum(F.softmax(models[0].net(x)) * 0.5) + models[0](x, t)

    def update(optimizer, model, x, t, k):
        models[:] = [model]
        optimizer.update(lossfun, x, t)

    return update


def by_methods_in_turn(optimizer, model, x, t, k):
    """What is called with the model or without it is one function."""
    if k % 2:
        optimizer.update(type(model).__call__, model, x, t)
    else:
        optimizer.update(model, x, t)


def by_evaluation(optimizer, model, x, t, k):
    optimizer.update(model, x, t)
    if k % 3 == 0:
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return model(x, t)


def classified(model):
    return [model.y.array.tobytes(), model.loss.array.tobytes(), model.accuracy.array.tobytes()]


@pytest.mark.parametrize(
    "make, update, observe",
    [
        (L.Classifier, by_update, classified),
        (L.Classifier, by_hand, classified),
        (L.Classifier, by_evaluation, classified),
        (Calls, by_update, lambda model: (model.calls, model.y.array.tobytes())),
        (Calls, by_method, lambda model: model.calls),
        (Calls, by_methods_in_turn, lambda model: model.calls),
        (Calls, by_options, lambda model: model.calls),
        (Calls, by_function(), lambda model: model.calls),
        (Forward, by_update, lambda model: (model.calls, model.y.array.tobytes())),
        (Forward, by_evaluation, lambda model: model.calls),
    ],
)
def test_numbers_are_the_same(make, update, observe):
    plain = train(make(Net()), update, observe)
    net = Compiled()
    model = make(net)
    assert train(model, update, observe) == plain
    reports = net.schedule_manager.report()
    assert sum([r.hits for r in reports if "Net" not in r.name]) > STEPS // 2, reports
    assert "schedule_manager" not in vars(model)


def test_forward_and_loss_are_one_program():
    net = Compiled()
    train(Calls(net), by_options)
    program, = net.schedule_manager.programs
    functions = {node.origin.function for node in program.optimized.nodes}
    assert {"LinearFunction", "MeanSquaredError"} <= functions


class Unlike(Calls):
    """What makes a loss function none that is compiled."""

    def __init__(self, net, change):
        super().__init__(net)
        change(self)


def _with_a_hook(model):
    model.add_hook(chainer.link_hooks.TimerHook())


def _with_its_own(model):
    model.forward = lambda x, t: F.sum(model.net(x)) * 2.0


@pytest.mark.parametrize("change", [_with_a_hook, _with_its_own])
def test_what_happens_around_a_call_happens(change):
    class Here(Forward):
        def __init__(self, net):
            super().__init__(net)
            change(self)

    net = Compiled()
    assert train(Here(net), by_update) == train(Here(Net()), by_update)
    assert net.schedule_manager.report()[0].name.endswith("Net.forward")


@pytest.mark.parametrize("options", [{"exact": True}, {"force_test_define_by_run": True}])
def test_what_is_asked_of_one_method_is_not_for_others(options):
    class Asked(Net):
        forward = chainer.static_graph(**options)(Net.forward)

    net = Asked()
    train(Calls(net), by_update)
    assert [report.name for report in net.schedule_manager.report()] == ["Net.forward"]


def test_no_whole_steps():
    net = Compiled()
    with chainer.using_config("static_step", False):
        train(L.Classifier(net), by_update)
    assert [report.name for report in net.schedule_manager.report()] == ["Net.forward"]


def test_nothing_is_compiled_without_a_decorator():
    train(L.Classifier(Net()), by_update)
    model = L.Classifier(Net())
    assert _whole.as_whole(model, model) is model


def test_a_decorated_loss_is_its_own():
    class Decorated(Calls):
        __call__ = chainer.static_graph(Calls.__call__)

    model = Decorated(Compiled())
    assert _whole.as_whole(model, model) is model
    train(model, by_update)
    assert model.schedule_manager.report()[0].hits > STEPS // 2


def test_a_function_for_each_step_is_not_compiled():
    def update(optimizer, model, x, t, k):
        optimizer.update(lambda: model(x, t))

    net = Compiled()
    assert train(Calls(net), update) == train(Calls(Net()), update)
    assert net.schedule_manager.report()[0].name == "Net.forward"


def test_it_is_decorated_later():
    class Late(Net):
        forward = Net.forward

    def update(optimizer, model, x, t, k):
        if k == 3:
            Late.forward = chainer.static_graph(Net.forward)
        optimizer.update(model, x, t)

    net = Late()
    plain = train(L.Classifier(Net()), by_update)
    assert train(L.Classifier(net), update) == plain
    assert net.schedule_manager.report()[0].hits > 4


def test_another_link_comes_in_its_place():
    def update(optimizer, model, x, t, k):
        if k == 9:
            other = type(model.net)()
            for (_, new), (_, old) in zip(
                    sorted(other.namedparams()), sorted(model.net.namedparams()), strict=True):
                new.array[...] = 0.5 * old.array
            model.net = other
            optimizer.setup(model)
        optimizer.update(model, x, t)

    assert train(Calls(Compiled()), update) == train(Calls(Net()), update)


def test_inside_of_a_compiled_method_it_is_a_part():
    class Outer(chainer.Chain):
        def __init__(self, net):
            super().__init__()
            with self.init_scope():
                self.net = L.Classifier(net)

        def __call__(self, x, t):
            return 2.0 * self.net(x, t)

    class Decorated(Outer):
        __call__ = chainer.static_graph(Outer.__call__)

    model = Decorated(Compiled())
    assert train(model, by_hand) == train(Outer(Net()), by_hand)
    report, = model.schedule_manager.report()
    assert report.without_python > STEPS // 3, report


def test_errors_are_the_same():
    def update(optimizer, model, x, t, k):
        if k % 5 == 4:
            with pytest.raises(chainer.utils.type_check.InvalidType):
                optimizer.update(model, x, t[:3])
        if k % 5 == 3:
            with pytest.raises(IndexError):
                optimizer.update(model, x, t + 100)
        optimizer.update(model, x, t)

    assert train(Calls(Compiled()), update) == train(Calls(Net()), update)
    with pytest.raises(ValueError, match="out of bounds"):
        L.Classifier(Compiled(), label_key=3)(np.zeros((2, 5), "f"), np.zeros(2, "i"))


def test_copies_and_pickles():
    model = L.Classifier(Compiled())
    train(model, by_update)
    x, t = next(batches())
    others = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()
    with chainer.using_config("train", False):
        wanted = model(x, t).array
        for other in others:
            assert other(x, t).array.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("make", [L.Classifier, Calls])
def test_what_models_have_held_goes_with_them(make):
    """At once: programs and proofs hold no parameters that live longer."""
    models = [make(Compiled()) for _ in range(2)]
    for model in models:
        train(model, by_update)
        train(model, by_hand)
    gc.collect()
    gc.disable()
    try:
        gone = [weakref.ref(p) for model in models for p in model.params()]
        del model, models
        assert gone and not [ref for ref in gone if ref() is not None]
    finally:
        gc.enable()


def test_what_is_gone_is_forgotten():
    net = Compiled()
    with chainer.using_config("static_budget", None):
        for _ in range(3):
            model = L.Classifier(net)
            for x, t in batches():
                model(x, t)
            gone = weakref.ref(model)
            del model
            gc.collect()
            assert gone() is None
    reports = [r for r in net.schedule_manager.report() if r.name == "Classifier.forward"]
    assert len(reports) == 1
    for _ in range(2 * _whole._MANY):
        L.Classifier(net)(x, t)
    assert len(_whole._outers) <= _whole._MANY + 1
