"""Programs with nothing around them: whoever looks at the graph finds define-by-run's."""

import contextlib
import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _direct
from chainer.graph_optimizations._node import StaticScheduleFunction
from chainwright.runtime.native import looks

pytestmark = pytest.mark.skipif(looks.comparison() is None, reason="another Python")
# Whether NumPy tells of an overflow in a product of vectors.
HEARS_BLAS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
WARM, CALLS = 24, 12


class Net(chainer.Chain):
    def __init__(self, width=40):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(5, width), L.Linear(width, 3)

    def forward(self, x, t):
        return F.mean_squared_error(self.b(F.tanh(self.a(x))), t)


class Vector(Net):
    def forward(self, x, t):
        return self.b(F.tanh(self.a(x))) - t


class Two(Net):
    """A loss, and a value that no gradient reaches."""

    def forward(self, x, t):
        y = self.b(F.tanh(self.a(x)))
        return F.mean_squared_error(y, t), F.sum(y).array


class Shifted(Net):
    """The gradient of a parameter is a view of the loss's own."""

    def __init__(self, width):
        super().__init__(width)
        with self.init_scope():
            self.shift = chainer.Parameter(np.zeros(1, "f"))

    def forward(self, x, t):
        return super().forward(x, t) + F.reshape(self.shift, ())


class Drawn(Net):
    """Random numbers of several kinds."""

    def forward(self, x, t):
        h = F.dropout(F.tanh(self.a(x)), 0.25)
        y = F.dropout(self.b(h), 0.5)
        return F.mean_squared_error(F.gaussian(y, F.tanh(y)), t)


class Normal(Net):
    """Writes statistics."""

    def __init__(self, width):
        super().__init__(width)
        with self.init_scope():
            self.n, self.m = L.BatchNormalization(width), L.BatchNormalization(3)

    def forward(self, x, t):
        return F.mean_squared_error(self.m(self.b(F.tanh(self.n(self.a(x))))), t)


class NormalAndDrawn(Normal):
    """Also twice, and some that are only read."""

    def forward(self, x, t):
        h = F.dropout(self.n(self.a(x)), 0.25)
        with chainer.using_config("train", False):
            y = self.m(self.b(h))
        return F.mean_squared_error(self.m(y) + y, t)


class Heads(Net):
    """Two results of one hidden layer."""

    def __init__(self, width):
        super().__init__(width)
        with self.init_scope():
            self.c = L.Linear(width, 2)

    def forward(self, x, t):
        h = F.tanh(self.a(x))
        return self.b(h) - t, self.c(h)


class WithHidden(Net):
    """A result that the other is computed from."""

    def forward(self, x, t):
        h = F.tanh(self.a(x))
        return h, self.b(h) - t


class Cell(Net):
    """Called several times before backward, each time with results of the call before."""

    def forward(self, x, t, c=None, h=None):
        if c is None:
            c, h = np.zeros_like(t), np.zeros_like(t)
        c = c * 0.5 + F.tanh(self.b(F.sin(self.a(x)))) * h
        return c, F.tanh(c) - t


def batch(k):
    random = np.random.RandomState(k)
    x = chainer.Variable(random.standard_normal((4, 5)).astype("f"))
    return x, random.standard_normal((4, 3)).astype("f")


def numbers(model):
    grads = [None if p.grad is None else p.grad.tobytes() for p in model.params()]
    others = [
        np.asarray(vars(link)[name]).tobytes() for link in model.links()
        for name in sorted(link._persistent)]
    _, key, position, *held = np.random.get_state()
    return [p.array.tobytes() for p in model.params()], grads, others, key.tobytes(), position, held


def usual(model, x, t):
    loss = model(x, t)
    loss = loss[0] if type(loss) is tuple else loss
    model.cleargrads()
    if loss.ndim:
        loss.grad = np.ones_like(loss.array)
    loss.backward()
    return loss.array.tobytes(), None if x.grad is None else x.grad.tobytes()


def kept(model, x, t):
    loss = model(x, t)
    loss.backward()
    node = loss.creator_node
    return (
        loss.name, node.label, node.rank, loss.rank, [n.shape for n in node.inputs],
        loss.node.label, loss.node.get_variable() is loss, loss.requires_grad, loss.grad is None,
    )


def twice(model, x, t):
    loss = model(x, t)
    loss.backward()
    loss.backward()
    return numbers(model)


def twice_with_a_look(model, x, t):
    loss = model(x, t)
    loss.backward()
    assert loss.creator is not None
    model.cleargrads()
    loss.backward()
    return numbers(model)


def with_set_gradient(model, x, t):
    loss = model(x, t)
    loss.grad = np.full((), 3, "f")
    model.cleargrads()
    loss.backward()
    return numbers(model)


def functions_after(model, x, t):
    loss = model(x, t)
    model.cleargrads()
    (loss * 2 + loss**2).backward()
    return numbers(model)


def two_calls(model, x, t):
    one, other = model(x, t), model(x, 2 * t)
    model.cleargrads()
    (one - other).backward()
    return numbers(model), one.creator_node.rank


def of_grad(model, x, t):
    loss = model(x, t)
    return [g.array.tobytes() for g in chainer.grad([loss], [model.a.W, model.b.b, x])]


def double_backprop(model, x, t):
    loss = model(x, t)
    (g,) = chainer.grad([loss], [model.a.W], enable_double_backprop=True)
    model.cleargrads()
    F.sum(g * g).backward()
    return numbers(model)


def copies(model, x, t):
    loss = model(x, t)
    found = [copy.copy(loss), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))]
    model.cleargrads()
    loss.backward()
    return [(y.array.tobytes(), y.creator is None, y.rank) for y in found], numbers(model)


def unchained(model, x, t):
    loss = model(x, t)
    loss.unchain()
    model.cleargrads()
    loss.backward()
    return numbers(model), loss.creator is None


def unchained_behind(model, x, t):
    loss = model(x, t)
    loss.unchain_backward()
    return loss.creator is None


def another_array(model, x, t):
    loss = model(x, t)
    loss.array = np.full((), 5, "f")
    model.cleargrads()
    loss.backward()
    return numbers(model), loss.array.tobytes()


def written_before_backward(model, x, t):
    loss = model(x, t)
    model.b.W.array += 1
    model.cleargrads()
    loss.backward()
    model.b.W.array -= 1
    return numbers(model)


def bound_before_backward(model, x, t):
    loss = model(x, t)
    before = model.b.W.array
    model.b.W.array = np.asfortranarray(2 * before)
    model.cleargrads()
    loss.backward()
    found = numbers(model)
    model.b.W.array = before
    return found


def added_to_gradients(model, x, t):
    usual(model, x, t)
    model(x, 2 * t).backward()
    return numbers(model)


def without_a_gradient(model, x, t):
    loss = model(x, t)
    model.a.W.node._requires_grad = False
    model.cleargrads()
    loss.backward()
    model.a.W.node._requires_grad = True
    return numbers(model)


def behind_functions(model, x, t):
    loss = model(F.sin(x), t)
    model.cleargrads()
    loss.backward()
    return numbers(model), loss.rank > 0


def of_a_thread(model, x, t):
    loss = model(x, t)
    model.cleargrads()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()
    return numbers(model)


def retained(model, x, t):
    loss = model(x, t)
    model.cleargrads()
    loss.backward(retain_grad=True)
    return numbers(model), loss.grad.tobytes()


def scaled(model, x, t):
    loss = model(x, t)
    model.cleargrads()
    loss.backward(loss_scale=4.0)
    return numbers(model)


def hooked(model, x, t):
    loss = model(x, t)
    model.cleargrads()
    hook = chainer.function_hooks.TimerHook()
    with hook:
        loss.backward()
    return numbers(model), [name for name, _ in hook.call_history]


def with_settings(**entries):
    def scenario(model, x, t):
        with contextlib.ExitStack() as stack:
            for name, value in entries.items():
                stack.enter_context(chainer.using_config(name, value))
            return usual(model, x, t), numbers(model)

    return scenario


def backward_with_settings(**entries):
    def scenario(model, x, t):
        loss = model(x, t)
        model.cleargrads()
        with contextlib.ExitStack() as stack:
            for name, value in entries.items():
                stack.enter_context(chainer.using_config(name, value))
            loss.backward()
        return numbers(model)

    return scenario


def refused(model, x, t):
    with pytest.raises(chainer.utils.type_check.InvalidType) as info:
        model(x, t[:2])
    return str(info.value), usual(model, x, t)


def raised(model, x, t):
    said = None
    with np.errstate(over="raise", invalid="raise"):
        try:
            model(x, t * np.float32(1e30))
        except FloatingPointError as error:
            said = str(error)
    assert said or not HEARS_BLAS
    return said, usual(model, x, t)


def warned(model, x, t):
    model.cleargrads()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model(x, t * np.float32(1e30)).backward()
    assert found or not HEARS_BLAS
    return [str(w.message) for w in found], numbers(model)


SCENARIOS = {
    f.__name__: f
    for f in (
        usual, kept, twice, twice_with_a_look, with_set_gradient, functions_after, two_calls,
        of_grad, double_backprop, copies, unchained, unchained_behind, another_array,
        written_before_backward, bound_before_backward, added_to_gradients, without_a_gradient,
        behind_functions, of_a_thread, retained, scaled, hooked, refused,
        raised, warned,
    )
}
SCENARIOS |= {
    "debug": with_settings(debug=True),
    "checked": with_settings(static_check="always"),
    "profiled": with_settings(static_profile=True),
    "evaluated": with_settings(train=False),
    "debug in backward": backward_with_settings(debug=True),
    "profiled in backward": backward_with_settings(static_profile=True),
    "sums in the end": backward_with_settings(lazy_grad_sum=True),
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    entries = {"static_target": "native", "static_budget": None}
    for name, value in entries.items():
        monkeypatch.setitem(vars(chainer.global_config), name, value)


def made_of(kind, compiled, width=40):
    np.random.seed(0)
    if compiled:
        kind = type(kind.__name__, (kind,), {"forward": chainer.static_graph(kind.forward)})
    return kind(width)


def run(kind, scenario, compiled, width=40):
    model = made_of(kind, compiled, width)
    found = [usual(model, *batch(k)) for k in range(WARM)]
    for k in range(WARM, WARM + CALLS):
        found.append(scenario(model, *batch(k)))
        found.append(usual(model, *batch(k)))
        found.append(numbers(model))
    return found, model


@pytest.mark.parametrize("width", [40, 2000])
@pytest.mark.parametrize("name", SCENARIOS)
def test_same_as_define_by_run(name, width):
    plain, _ = run(Net, SCENARIOS[name], False, width)
    found, model = run(Net, SCENARIOS[name], True, width)
    assert found == plain
    assert model.schedule_manager.report()[0].without_python > 0


@pytest.mark.parametrize("kind", [Drawn, Normal, NormalAndDrawn])
@pytest.mark.parametrize("name", SCENARIOS)
def test_draws_and_statistics(name, kind):
    plain, _ = run(kind, SCENARIOS[name], False)
    found, model = run(kind, SCENARIOS[name], True)
    assert found == plain
    assert model.schedule_manager.report()[0].without_python > 0
    if name == "usual":
        assert "_made_by" in vars(model(*batch(0)))


def statistics_are_read(model, x, t):
    seen = model.n.avg_mean.tobytes()
    loss = model(x, t)
    again = model.n.avg_mean
    model.cleargrads()
    loss.backward()
    return seen, again.tobytes(), numbers(model)


def statistics_are_written(model, x, t):
    loss = model(x, t)
    model.n.avg_var[...] *= 2
    model.m.avg_mean[...] += 1
    model.cleargrads()
    loss.backward()
    return numbers(model), usual(model, x, t)


def statistics_are_kept(model, x, t):
    model.__dict__.setdefault("seen", []).append(model.m.avg_mean)
    found = [usual(model, x, t), model.seen[-1].tobytes(), usual(model, x, t)]
    if len(model.seen) > 3:
        model.seen.clear()
    return found


def written_and_gone_back_late(model, x, t):
    one, other = model(x, t), model(x + 1, t)
    model.cleargrads()
    with chainer.using_config("train", False):
        between = model(x * 2, t)
    (one * other + between).backward()
    one.backward()
    return numbers(model)


@pytest.mark.parametrize("kind", [Normal, NormalAndDrawn])
@pytest.mark.parametrize("scenario", [
    statistics_are_read, statistics_are_written, statistics_are_kept, written_and_gone_back_late])
def test_statistics(kind, scenario):
    plain, _ = run(kind, scenario, False)
    found, _ = run(kind, scenario, True)
    assert found == plain


def with_written_gradients(model, x, t):
    found = usual(model, x, t)
    for param in model.params():
        param.grad[...] *= 5
    return found, numbers(model)


def with_a_loss(model, x, t):
    loss = F.mean_squared_error(model(x, t), t)
    model.cleargrads()
    loss.backward()
    return numbers(model)


def with_two_losses(model, x, t):
    y = model(x, t)
    model.cleargrads()
    (F.mean_squared_error(y, t) + F.sum(F.relu(y))).backward()
    return numbers(model)


@pytest.mark.parametrize("kind, scenario", [
    (Vector, usual), (Vector, with_a_loss), (Vector, with_two_losses), (Two, usual),
    (Shifted, usual), (Shifted, with_written_gradients),
])
def test_other_results(kind, scenario):
    plain, _ = run(kind, scenario, False)
    found, _ = run(kind, scenario, True)
    assert found == plain


def of_both(model, x, t):
    y, z = model(x, t)
    model.cleargrads()
    (F.sum(y * y) + F.sum(F.exp(z))).backward()
    return y.array.tobytes(), z.array.tobytes(), x.grad.tobytes(), numbers(model)


def of_the_first(model, x, t):
    y = model(x, t)[0]
    model.cleargrads()
    F.sum(y * y).backward()
    return numbers(model), y.grad is None, y.creator.label


def of_the_second(model, x, t):
    found = model(x, t)
    z = found[1]
    del found
    model.cleargrads()
    z.grad = np.full_like(z.array, 0.5)
    z.backward()
    return numbers(model), z.grad is None, z.rank


def one_after_the_other(model, x, t):
    y, z = model(x, t)
    model.cleargrads()
    y.grad, z.grad = np.ones_like(y.array), np.full_like(z.array, 2)
    y.backward()
    found = numbers(model)
    z.backward(retain_grad=True)
    return found, numbers(model)


def with_respect_to_the_first(model, x, t):
    y, z = model(x, t)
    found = chainer.grad([F.sum(y * y) + F.sum(z)], [y, x], enable_double_backprop=True)
    model.cleargrads()
    F.sum(found[1] * found[1]).backward()
    return [g.array.tobytes() for g in found], numbers(model)


def cut_at_the_first(model, x, t):
    y, z = model(x, t)
    loss = F.sum(y * 3) + F.sum(z)
    y.unchain_backward()
    model.cleargrads()
    loss.backward()
    return y.creator is None, z.creator is None, numbers(model)


def three_steps(model, x, t):
    state = model(x, t)
    for _ in range(2):
        state = model(x, t, *state) if type(model).__name__ == "Cell" else model(x, t)
    model.cleargrads()
    sum([F.sum(y) for y in state]).backward()
    return numbers(model), [y.rank for y in state], [y.creator.rank for y in state]


def written_results(model, x, t):
    y, z = model(x, t)
    loss = F.sum(y) + F.sum(z)
    y.array[...] = 7
    model.cleargrads()
    loss.backward()
    return numbers(model)


OF_SEVERAL = (
    of_both, of_the_first, of_the_second, one_after_the_other, with_respect_to_the_first,
    cut_at_the_first, three_steps, written_results,
)


@pytest.mark.parametrize("kind", [Heads, WithHidden, Cell])
@pytest.mark.parametrize("scenario", OF_SEVERAL)
def test_several_results(kind, scenario):
    found = []
    for compiled in (False, True):
        model = made_of(kind, compiled)
        found.append([
            (of_both(model, *batch(k)), scenario(model, *batch(100 + k))) for k in range(WARM)])
    assert found[1] == found[0]
    assert model.schedule_manager.report()[0].without_python > 0
    assert type(model(*batch(0))[0].creator_node) is not StaticScheduleFunction


def told(model, x, t, scale):
    """What is said of floating-point errors, and where."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loss = model(x, t)
        model.cleargrads()
        loss.grad = np.full_like(loss.array, scale)
        loss.backward()
    return [(str(w.message), w.filename, w.lineno) for w in said], numbers(model)


@pytest.mark.parametrize("scenario", [
    lambda model, x, t: told(model, x, t * np.float32(1e25), 1),
    lambda model, x, t: told(model, x, t * np.float32(1e18), 3e38),
])
def test_errors_are_told_as_define_by_run_tells_them(scenario):
    plain, _ = run(Vector, scenario, False)
    found, _ = run(Vector, scenario, True)
    assert found == plain
    plain, _ = run(Net, scenario, False)
    found, _ = run(Net, scenario, True)
    assert found == plain
    assert not HEARS_BLAS or all(said for said, _ in found[WARM::3])


def test_gradients_go_directly(monkeypatch):
    """Also where other functions come after the method."""
    given = []

    def runs(*args):
        given.append(args)
        return False

    _, model = run(Vector, with_a_loss, True)
    monkeypatch.setattr(StaticScheduleFunction, "_give_gradients", runs)
    with_a_loss(model, *batch(99))
    assert not given


@pytest.fixture
def made(monkeypatch):
    """The nodes of results that somebody has asked for."""
    hang, found = _direct.DirectFunction._hang, []

    def counted(self, below):
        found.append(self)
        hang(self, below)

    monkeypatch.setattr(_direct.DirectFunction, "_hang", counted)
    return found


def test_nobody_needs_nodes(made):
    _, model = run(Net, usual, True)
    loss = model(*batch(99))
    function = loss.__dict__["_made_by"]
    model.cleargrads()
    loss.backward()
    assert not made
    assert loss.node.creator_node is not None
    assert made == [function]
    assert "_made_by" not in loss.__dict__


def test_reports():
    class Reporting(Net):
        def forward(self, x, t):
            loss = super().forward(x, t)
            chainer.report({"loss": loss, "twice": loss * 2}, self)
            return loss

    def reported(model, x, t):
        reporter, found = chainer.Reporter(), {}
        reporter.add_observer("main", model)
        with reporter.scope(found):
            loss = usual(model, x, t)
        return loss, [(k, v.array.tobytes(), v.creator is None, v.name) for k, v in found.items()]

    plain, _ = run(Reporting, reported, False)
    found, _ = run(Reporting, reported, True)
    assert found == plain


def test_calls_are_counted():
    """The report knows of each call, though the account looks at few of them."""
    _, model = run(Net, usual, True)
    before = model.schedule_manager.report()[0]
    for k in range(20):
        usual(model, *batch(k))
    after = model.schedule_manager.report()[0]
    calls = [r.without_python + r.with_python + r.eager_calls for r in (before, after)]
    assert calls[1] - calls[0] == 20
    assert after.without_python - before.without_python >= 18


def test_memory_goes_with_the_loss():
    """What forward has kept for backward comes back as soon as nobody can ask for it."""
    _, model = run(Net, usual, True)
    losses = [model(*batch(k)) for k in range(6)]
    schedule = losses[-1].__dict__["_made_by"]._piece.schedule
    idle = schedule._runner.kept.idle
    idle.clear()
    del losses
    schedule._runner.kept.put_away()
    assert len(idle) > 0


def test_threads():
    _, model = run(Net, usual, True)
    plain, _ = run(Net, usual, False)
    found = {}

    def work(number):
        found[number] = [model(*batch(k)).array.tobytes() for k in range(40)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(f) for f in found.values()}) == 1
    assert [loss for loss, _ in plain[:WARM]] == found[0][:WARM]
