"""``optimizer.update(lossfun, *args)`` of compiled methods gives what define-by-run gives."""

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import optimizer_hooks, optimizers
from chainer.graph_optimizations._account import Account
from chainer.graph_optimizations._node import StaticScheduleFunction

STEPS = 12


class Net(chainer.Chain):
    """Computes a loss from two layers; ``unused`` never gets a gradient."""

    dtype = np.float32

    def __init__(self):
        super().__init__()
        with self.init_scope(), chainer.using_config("dtype", self.dtype):
            self.a, self.b = L.Linear(4, 6), L.Linear(6, 3)
            self.unused = L.Linear(2, 2)

    def forward(self, x, t):
        loss = F.mean_squared_error(self.b(F.tanh(self.a(x))), t)
        chainer.report({"loss": loss}, self)
        return loss


class Twice(Net):
    def forward(self, x, t):
        h = F.tanh(self.a(x))
        return F.mean_squared_error(self.b(h), t) + F.sum(self.b(h * h) ** 2)


class Often(Net):
    """A parameter is used five times: the order in which its gradients are added matters."""

    def forward(self, x, t):
        h = F.tanh(self.a(x))
        for _ in range(4):
            h = F.tanh(F.scale(h, self.a.b, 1) + h)
        return F.mean_squared_error(self.b(h), t)


class Pieces(Net):
    """A kept Variable cuts the method into two pieces."""

    def forward(self, x, t):
        self.h = F.tanh(self.a(x))
        return F.mean_squared_error(self.b(self.h), t)


class Outputs(Net):
    """Two results that have a gradient, of which one is used."""

    def forward(self, x, t):
        y = self.b(F.tanh(self.a(x)))
        self.other = F.sum(y * y)
        return F.mean_squared_error(y, t)


class Half(Net):
    dtype = np.float16


class Clears(Net):
    def cleargrads(self):
        for p in self.a.params():
            p.cleargrad()


class Frozen(Net):
    def __init__(self):
        super().__init__()
        self.a.disable_update()


class Shared(Net):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.again = self.b


def adam():
    return optimizers.Adam(0.1)


def in_float32():
    optimizer = optimizers.Adam(0.1)
    optimizer.use_fp32_update()
    return optimizer


def nothing(k, model, optimizer):
    pass


def scaled(k, model, optimizer):
    if k == 0:
        optimizer.loss_scaling(scale=8.0)


def dynamic(k, model, optimizer):
    if k == 0:
        optimizer.loss_scaling(interval=3)


def zeroed(k, model, optimizer):
    optimizer._use_cleargrads = k % 3 > 0


def hooked(k, model, optimizer):
    if k == 0:
        optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
        optimizer.add_hook(optimizer_hooks.GradientClipping(0.5))
    if k == 6:
        optimizer.add_hook(lambda opt: opt.target.a.W.grad.fill(1), "ones")


def gradients_before(k, model, optimizer):
    for p in model.params():
        p.grad = np.full(p.shape, k, p.dtype)


def rate(k, model, optimizer):
    optimizer.alpha = 0.1 / (k + 1)


def debug(k, model, optimizer):
    chainer.config.debug = k % 5 == 4


def lazily(k, model, optimizer):
    chainer.config.lazy_grad_sum = k % 2 == 1


def without_step(k, model, optimizer):
    chainer.config.static_step = k % 2 == 1


CASES = {
    "plain": (Net, adam, nothing),
    "momentum": (Net, lambda: optimizers.MomentumSGD(0.1), nothing),
    "twice": (Twice, adam, nothing),
    "often": (Often, adam, nothing),
    "pieces": (Pieces, adam, nothing),
    "outputs": (Outputs, adam, nothing),
    "half": (Half, in_float32, nothing),
    "half, scaled": (Half, in_float32, scaled),
    "half, dynamic": (Half, in_float32, dynamic),
    "scaled": (Net, adam, scaled),
    "own cleargrads": (Clears, adam, nothing),
    "frozen": (Frozen, adam, nothing),
    "shared": (Shared, adam, nothing),
    "zeroed": (Net, adam, zeroed),
    "hooks": (Net, adam, hooked),
    "gradients before": (Net, adam, gradients_before),
    "gradients before, own cleargrads": (Clears, adam, gradients_before),
    "rate": (Net, adam, rate),
    "debug": (Net, adam, debug),
    "lazily": (Net, adam, lazily),
    "static_step": (Net, adam, without_step),
}


def batch(k, dtype):
    rng = np.random.RandomState(k)
    n = 3 if k == 7 else 5
    return rng.randn(n, 4).astype(dtype), rng.randn(n, 3).astype(dtype)


def trained(kind, make, change, steps=STEPS):
    """What is seen after each step."""
    np.random.seed(0)
    model = kind()
    optimizer = make().setup(model)
    found = []
    settings = {"debug": False, "lazy_grad_sum": False, "static_step": True}
    with chainer.using_config("debug", False):
        before = dict(vars(chainer.configuration.local_entries))
        try:
            for name, value in settings.items():
                setattr(chainer.config, name, value)
            for k in range(steps):
                change(k, model, optimizer)
                reporter = chainer.Reporter()
                reporter.add_observer("main", model)
                with reporter:
                    optimizer.update(model, *batch(k, model.dtype))
                seen = {key: value.array.tobytes() for key, value in reporter.observation.items()}
                found.append((seen, optimizer.t, optimizer._loss_scale))
                for p in model.params():
                    state = p.update_rule.state or {}
                    arrays = [p.array, p.grad, *state.values()]
                    found.append([p.update_rule.t, *[a if a is None else bytes(a) for a in arrays]])
        finally:
            vars(chainer.configuration.local_entries).clear()
            vars(chainer.configuration.local_entries).update(before)
    return found, model


def compiled(kind):
    return type(kind.__name__, (kind,), {"forward": chainer.static_graph(kind.forward)})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("name", CASES)
def test_same_as_define_by_run(name, target, monkeypatch):
    kind, make, change = CASES[name]
    monkeypatch.setitem(vars(chainer.global_config), "static_target", target)
    plain, _ = trained(kind, make, change)
    found, model = trained(compiled(kind), make, change)
    assert found == plain
    assert model.schedule_manager.report()[0].hits > 0


@pytest.fixture
def directly(monkeypatch):
    """How often backward went directly from one piece to the leaves."""
    counts = []
    give = StaticScheduleFunction._give_gradients

    def counted(self, node, gy):
        done = give(self, node, gy)
        counts.append(done)
        return done

    monkeypatch.setattr(StaticScheduleFunction, "_give_gradients", counted)
    return counts


@pytest.mark.parametrize("kind", [Net, Outputs, Twice, Often, Pieces])
def test_one_piece_is_all_of_backward(kind, directly):
    """Without their Python the two pieces are one."""
    trained(compiled(kind), adam, nothing)
    assert any(directly)


def test_several_pieces_have_a_backward_between_them(monkeypatch, directly):
    monkeypatch.setattr(Account, "wait_for_proof", lambda *_: 1000)
    trained(compiled(Pieces), adam, nothing)
    assert not any(directly)


def test_functions_between_and_after(directly):
    """A loss outside of the method: its functions go backward first."""

    def steps(kind):
        np.random.seed(0)
        model = kind()
        optimizer = adam().setup(model)
        for k in range(STEPS):
            x, t = batch(k, np.float32)
            optimizer.update(lambda x=x, t=t: model(x, t) * 2)
        return [p.array.tobytes() for p in model.params()]

    assert steps(compiled(Net)) == steps(Net)
    assert any(directly)


def test_wrong_programs_are_found(monkeypatch, caplog):
    """A step whose program gives wrong gradients is checked like any other backward."""
    plain, _ = trained(Net, adam, nothing, steps=4)
    run = StaticScheduleFunction._run
    monkeypatch.setattr(
        StaticScheduleFunction, "_run",
        lambda *args: tuple([array * 2 for array in run(*args)]),
    )
    found, model = trained(compiled(Net), adam, nothing, steps=4)
    assert found == plain
    assert model.schedule_manager.report()[0].failed_checks == 1
    assert "another value than define-by-run" in caplog.text


def test_exceptions_of_the_loss():
    model = compiled(Net)()
    optimizer = adam().setup(model)
    for k in range(6):
        optimizer.update(model, *batch(k, np.float32))
    with pytest.raises(chainer.utils.type_check.InvalidType):
        optimizer.update(model, np.zeros((5, 3), "f"), np.zeros((5, 3), "f"))
    assert optimizer.t == 6


def test_updater():
    """``StandardUpdater`` goes the same way."""

    def run(kind):
        np.random.seed(0)
        model = kind()
        data = chainer.datasets.TupleDataset(*batch(0, np.float32))
        iterator = chainer.iterators.SerialIterator(data, 5, shuffle=False)
        updater = chainer.training.StandardUpdater(iterator, adam().setup(model))
        for _ in range(STEPS):
            updater.update()
        return [p.array.tobytes() for p in model.params()], updater.epoch

    assert run(compiled(Net)) == run(Net)
