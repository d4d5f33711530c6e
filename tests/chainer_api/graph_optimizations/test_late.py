"""Calls that are computed with what comes after them: all numbers are define-by-run's."""

import copy
import gc
import linecache
import pickle
import random
import threading
import warnings

import numpy as np
import pytest
from trust import bits

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import _tracing
from chainer.functions.activation.tanh import Tanh
from chainer.graph_optimizations import _joined, _late, _proof
from chainwright.runtime.native import looks

pytestmark = pytest.mark.skipif(looks.comparison() is None, reason="another Python")
STEPS = 40


class Net(chainer.Chain):
    """One small layer, and one whose weights are large arrays."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(5, 70), L.Linear(70, 70)
            self.c = L.Linear(70, 3)

    def forward(self, x):
        return self.c(F.tanh(self.b(F.tanh(self.a(x)))))


class Dropped(Net):
    def forward(self, x):
        return self.c(F.dropout(F.tanh(self.b(F.tanh(self.a(x)))), 0.25))


class Heads(Net):
    """Two results, of which one is computed from the other, and which are kept."""

    def forward(self, x):
        h = F.tanh(self.b(F.tanh(self.a(x))))
        self.h = h
        return h, self.c(h)


class Named(Net):
    """Looks words up, which may be missing."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.e = L.EmbedID(9, 5)

    def forward(self, x):
        return super().forward(F.sum(self.e(x), axis=1))


def loss_of(y, t):
    return F.sum(F.square(F.tanh(y) - t)) / 7 + F.sum(F.square(y)) * 0.01


def step(model, optimizer, x, t, k, loss=None):
    """What is usual."""
    loss = loss_of(model(x), t) if loss is None else loss
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return loss.array.tobytes()


# -- What comes between a call and its backward ------


def usual(model, optimizer, x, t, k):
    return step(model, optimizer, x, t, k)


def input_is_written(model, optimizer, x, t, k):
    y = model(x)
    if k % 3 == 0:
        x[...] = k
    loss = loss_of(y, t + x[:, :3])
    if k % 3 == 1:
        x[1:2] *= 2
    return step(model, optimizer, x, t, k, loss)


def input_is_used_again(model, optimizer, x, t, k):
    y = model(x)
    if k % 3 == 0:
        x -= 1
    loss = loss_of(y, x[:, :3] * 1) + F.sum(F.square(F.sin(x)))
    return step(model, optimizer, x, t, k, loss)


def target_is_written(model, optimizer, x, t, k):
    loss = loss_of(model(x), t)
    if k % 3 == 0:
        t[...] = k
    return step(model, optimizer, x, t, k, loss)


def parameters_are_written(*path):
    def between(model, optimizer, x, t, k):
        held = model
        for name in path:
            held = getattr(held, name)
        if k == 0:
            model.__dict__["held"] = held.array  # whoever has it can write to it at any time
        y = model(x)
        if k % 4 == 0:
            model.__dict__["held"][...] *= 1.5
        loss = loss_of(y, t)
        if k % 4 == 1:
            model.__dict__["held"][...] -= 0.25
        return step(model, optimizer, x, t, k, loss)

    return between


def parameters_are_read_and_written(model, optimizer, x, t, k):
    y = model(x)
    if k % 3 == 0:
        model.b.W.array[...] *= 0.5
    if k % 3 == 1:
        model.a.b.data = model.a.b.data + 1
    return step(model, optimizer, x, t, k, loss_of(y, t))


def parameters_are_part_of_the_loss(model, optimizer, x, t, k):
    y = model(x)
    if k % 5 == 0:
        model.c.b.array[...] += 1
    return step(model, optimizer, x, t, k, loss_of(y, t) + F.sum(F.square(model.c.b)))


def update_in_between(model, optimizer, x, t, k):
    y = model(x)
    if k % 3 == 1:
        optimizer.update()  # once more, by the gradients of before
    loss = loss_of(y, t)
    if k % 3 == 2:
        optimizer.update()
    return step(model, optimizer, x, t, k, loss)


def values_are_read(model, optimizer, x, t, k):
    y = model(x)
    seen = [y.shape, y.dtype, len(y), y.array.sum() if k % 3 == 0 else 0, y.ndim, y.size]
    loss = loss_of(y, t)
    if k % 3 == 1:
        seen += [float(loss.array), repr(y), str(loss)]
    return seen, step(model, optimizer, x, t, k, loss)


def result_is_written(model, optimizer, x, t, k):
    y = model(x)
    z = F.tanh(y)
    if k % 3 == 0:
        y.array[...] = 1
    return step(model, optimizer, x, t, k, loss_of(y + z, t))


def graph_is_looked_at(model, optimizer, x, t, k):
    y = model(x)
    loss = loss_of(y, t)
    seen = [y.rank, loss.rank, y.creator.label if k % 2 else "", loss.creator is None]
    if k % 5 == 4:
        y.unchain_backward()
    return seen, step(model, optimizer, x, t, k, loss), y.grad is None


def inner_gradients(model, optimizer, x, t, k):
    y = model(x)
    loss = loss_of(y, t)
    g, = chainer.grad([loss], [y])
    model.cleargrads()
    loss.backward(retain_grad=k % 2 == 0)
    found = None if y.grad is None else y.grad.tobytes()
    optimizer.update()
    return g.array.tobytes(), found


def double_backprop(model, optimizer, x, t, k):
    x = chainer.Variable(x)
    loss = loss_of(model(x), t)
    g, = chainer.grad([loss], [x], enable_double_backprop=True)
    return step(model, optimizer, x, t, k, loss + F.sum(F.square(g)))


def two_calls(model, optimizer, x, t, k):
    y, z = model(x), model(x + 1)
    return step(model, optimizer, x, t, k, loss_of(y * z, t))


def of_three(y, p, n):
    d = F.sum(F.square(y - p), axis=1) - F.sum(F.square(y - n), axis=1)
    return F.mean(F.relu(d + 0.2))


def three_calls(model, optimizer, x, t, k):
    return step(model, optimizer, x, t, k, of_three(model(x), model(x + 1), model(x * 2)))


def more_or_fewer_calls(model, optimizer, x, t, k):
    if k % 9 == 4:
        return step(model, optimizer, x, t, k)
    if k % 9 == 7:
        model(x)
    return three_calls(model, optimizer, x, t, k)


def results_of_some_are_held(model, optimizer, x, t, k):
    y = model(x)
    p = model(x + 1)
    n = model(x * 2)
    loss = of_three(y, p, n)
    if k % 3:
        del y, n
    seen = step(model, optimizer, x, t, k, loss)
    return seen, p.array.tobytes()


def written_between_calls(model, optimizer, x, t, k):
    y = model(x)
    if k % 4 == 0:
        y.array[0] = 1.0
    p = model(x + 1)
    if k % 4 == 1:
        model.c.b.array += 0.25
        model.a.W.array *= 0.75
    n = model(x * 2)
    if k % 4 == 2:
        p.array[...] = 2.0
    loss = of_three(y, p, n)
    if k % 8 == 3:
        x[...] = 1.0
        n.array[1] = 0.0
    return step(model, optimizer, x, t, k, loss)


def one_after_the_other(model, optimizer, x, t, k):
    """What comes in depends on the result of the call before."""
    y = model(x)
    z = model(F.concat([y, x[:, :2]]))
    return step(model, optimizer, x, t, k, of_three(y, z, model(F.tanh(F.tile(z, (1, 2))[:, 1:]))))


def two_losses(model, optimizer, x, t, k):
    y = model(x)
    model.cleargrads()
    loss_of(y, t).backward()
    loss_of(y, t + 1).backward()
    optimizer.update()


def results_are_not_used(model, optimizer, x, t, k):
    model(x)
    z = model(x)
    if k % 2:
        del z
    return step(model, optimizer, x, t, k)


def ways_take_turns(model, optimizer, x, t, k):
    y = model(x)
    loss = loss_of(y, t) if k % 7 else F.mean_squared_error(F.exp(y), t) + F.sum(y)
    return step(model, optimizer, x, t, k, loss)


def other_functions(model, optimizer, x, t, k):
    y = model(x)
    z = F.sum(F.exp(F.sin(t)))  # of nothing that the call gives
    return step(model, optimizer, x, t, k, loss_of(y, t) + z)


def configurations(model, optimizer, x, t, k):
    y = model(x)
    with chainer.using_config("train", k % 4 != 0):
        z = F.dropout(y, 0.5)
    with chainer.no_backprop_mode():
        w = F.sum(F.square(y))
    return step(model, optimizer, x, t, k, loss_of(z, t) * w.array), w.requires_grad


def evaluation(model, optimizer, x, t, k):
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        y = F.softmax(F.square(model(x)) + 1)
        seen = y.array.tobytes(), y.creator is None
    return seen, step(model, optimizer, x, t, k)


def random_numbers(model, optimizer, x, t, k):
    y = model(x)
    drawn = np.random.rand(3), random.random()
    loss = loss_of(F.dropout(y, 0.3), t)
    return drawn, np.random.rand(), step(model, optimizer, x, t, k, loss), np.random.rand()


class Watcher(chainer.FunctionHook):
    name = "Watcher"

    def __init__(self):
        self.seen = []

    def forward_postprocess(self, function, in_data):
        self.seen.append((function.label, [x.tobytes() for x in in_data]))


def hooks(model, optimizer, x, t, k):
    y = model(x)
    with Watcher() as hook:
        loss = loss_of(y, t) if k % 3 == 0 else F.sum(y)
    return hook.seen, step(model, optimizer, x, t, k, loss)


def hooks_elsewhere(model, optimizer, x, t, k):
    y = model(x)
    loss = loss_of(y, t)
    if k % 5 == 2:
        with chainer.function_hooks.TimerHook():
            F.sum(x)
    return step(model, optimizer, x, t, k, loss)


def copies(model, optimizer, x, t, k):
    y = model(x)
    loss = loss_of(y, t)
    found = []
    if k % 3 == 0:
        found = [copy.copy(loss), copy.deepcopy(y), pickle.loads(pickle.dumps(loss))]
    return [v.array.tobytes() for v in found], step(model, optimizer, x, t, k, loss)


def models_are_copied(model, optimizer, x, t, k):
    y = model(x)
    other = copy.deepcopy(model)
    other.c.b.array[...] = 2
    return step(model, optimizer, x, t, k, loss_of(y, t)), other(x).array.tobytes()


def threads(model, optimizer, x, t, k):
    loss = loss_of(model(x), t)
    found = []
    thread = threading.Thread(target=lambda: found.append(float(loss.array)))
    thread.start()
    thread.join()
    return found, step(model, optimizer, x, t, k, loss)


def another_thread_calls(model, optimizer, x, t, k):
    found = []
    thread = threading.Thread(target=lambda: found.append(step(model, optimizer, x, t, k)))
    thread.start()
    thread.join()
    return found


def another_thread_writes(model, optimizer, x, t, k):
    y = model(x)

    def write():
        model.b.W.array[...] *= 0.5
        model.a.b.array = model.a.b.array + 1

    if k % 3 == 0:
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    return step(model, optimizer, x, t, k, loss_of(y, t))


def another_thread_updates(model, optimizer, x, t, k):
    loss = loss_of(model(x), t)
    if k % 3 == 2:
        thread = threading.Thread(target=optimizer.update)
        thread.start()
        thread.join()
    return step(model, optimizer, x, t, k, loss)


def functions_are_looked_at(model, optimizer, x, t, k):
    """They are applied by whoever looks, in some calls."""
    function, y = Tanh(), model(x)
    z = function.apply((y,))[0] if k % 3 == 0 else F.tanh(y)
    loss = F.sum(F.square(z - t)) / 7
    seen = function.rank, function.inputs is None, function.outputs is None
    return seen, step(model, optimizer, x, t, k, loss)


def views_are_written(model, optimizer, x, t, k):
    """What shows the memory of an array shows what is written there later."""
    if k == 0:
        model.__dict__["held"] = model.c.b.array
    y = model(x)
    v = F.broadcast_to(F.reshape(chainer.Variable(t[0]), (1, 3)), y.shape)
    w = F.broadcast_to(model.c.b, y.shape)
    if k % 3 == 0:
        t[...] = k
    if k % 3 == 1:
        model.__dict__["held"][...] = 0.1 * k
    return step(model, optimizer, x, t, k, loss_of(y * v + w, t))


def nodes_are_looked_at(model, optimizer, x, t, k):
    v = chainer.Variable(x)
    y = model(v)
    seen = v.node.data is x if k % 3 == 0 else None
    loss = loss_of(y, t)
    if k % 3 == 1:
        seen = v.node.data is x, model.c.W.node.data is None
    return seen, step(model, optimizer, x, t, k, loss)


class Own(chainer.FunctionNode):
    """A user's function."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return inputs[0] * 3,

    def backward(self, indexes, gys):
        return gys[0] * 3,


def functions_of_the_users(model, optimizer, x, t, k):
    y, = Own().apply((model(x),))
    return step(model, optimizer, x, t, k, loss_of(y, t))


def reported(model, optimizer, x, t, k):
    reporter, seen = chainer.Reporter(), {}
    reporter.add_observer("main", model)
    with reporter.scope(seen):
        y = model(x)
        loss = loss_of(y, t)
        chainer.report({"loss": loss, "y": y}, model)
    found = step(model, optimizer, x, t, k, loss)
    return found, {name: v.array.tobytes() for name, v in seen.items()}


def kept_for_later(model, optimizer, x, t, k):
    before = model.__dict__.get("before")
    y = model(x)
    model.__dict__["before"] = F.square(F.tanh(y)) * 2
    found = None if before is None else before.array.tobytes()
    return found, step(model, optimizer, x, t, k, loss_of(y, t))


def floating_point(model, optimizer, x, t, k):
    y = model(x)
    loss = loss_of(F.exp(y * (1e3 if k % 4 == 0 else 1)), t)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = step(model, optimizer, x, t, k, F.sum(F.minimum(loss, loss * 0 + 1)))
    return found, len(caught) > 0


def errors_are_raised(model, optimizer, x, t, k):
    with np.errstate(all="raise" if k % 2 else "ignore"):
        y = model(x)
        try:
            z = F.exp(y * (1e4 if k % 4 == 1 else 1))
        except FloatingPointError:
            return "raised"
        return step(model, optimizer, x, t, k, F.sum(F.minimum(loss_of(z, t), z[0, 0] * 0)))


def labels(model, optimizer, x, t, k):
    """Some are wrong, and the program stops."""
    wrong = np.full(4, 7 if k % 5 == 4 else 1, "i")
    y = model(x)
    loss = F.softmax_cross_entropy(y, wrong) + loss_of(y, t)
    return step(model, optimizer, x, t, k, loss)


def labels_are_caught(model, optimizer, x, t, k):
    """Some are wrong, and left out where they are found."""
    wrong = np.full(4, 7 if k % 5 == 4 else 1, "i")
    y = model(x)
    try:
        loss = F.softmax_cross_entropy(y, wrong) + loss_of(y, t)
    except IndexError:
        return "left out"
    return step(model, optimizer, x, t, k, loss)


def calls_are_caught(model, optimizer, x, t, k):
    """Words are wrong, and left out where they are looked up."""
    words = np.full((4, 2), 11 if k % 5 == 4 else 1, "i")
    try:
        y = model(words)
    except IndexError:
        return "left out"
    return step(model, optimizer, x, t, k, loss_of(y, t))


def backward_is_caught(model, optimizer, x, t, k):
    words = np.full((4, 2), 11 if k % 5 == 4 else 1, "i")
    loss = loss_of(model(words), t)
    try:
        loss.array.sum()
    except IndexError:
        return "too late"
    return step(model, optimizer, x, t, k, loss)


def links_change(model, optimizer, x, t, k):
    y = model(x)
    if k % 6 == 5:
        other = L.Linear(70, 3, initialW=0.25)
        model.c = other
        optimizer.setup(model)
    return step(model, optimizer, x, t, k, loss_of(y, t))


def two_results(model, optimizer, x, t, k):
    h, y = model(x)
    loss = loss_of(y, t) + F.sum(F.square(h))
    found = model.h is h, model.h.shape
    return found, step(model, optimizer, x, t, k, loss)


def one_of_two_is_looked_at(model, optimizer, x, t, k):
    h, y = model(x)
    loss = loss_of(y, t) + F.sum(F.square(h))
    if k % 3 == 0:
        seen = model.h.array.tobytes()
    elif k % 3 == 1:
        h.unchain_backward()
        seen = None
    else:
        seen = chainer.grad([loss], [h])[0].array.tobytes()
    return seen, step(model, optimizer, x, t, k, loss)


_OF_NET = (
    usual, input_is_written, input_is_used_again, target_is_written,
    parameters_are_written("a", "W"), parameters_are_written("b", "W"),
    parameters_are_written("c", "b"), parameters_are_read_and_written,
    parameters_are_part_of_the_loss, update_in_between, values_are_read, result_is_written,
    graph_is_looked_at, inner_gradients, double_backprop, two_calls, two_losses,
    results_are_not_used, ways_take_turns, other_functions, configurations, evaluation,
    views_are_written, another_thread_writes, another_thread_updates, functions_are_looked_at,
    nodes_are_looked_at, random_numbers, hooks, hooks_elsewhere, copies, models_are_copied, threads,
    another_thread_calls, functions_of_the_users, reported, kept_for_later, floating_point,
    errors_are_raised, labels, labels_are_caught, links_change, three_calls,
    more_or_fewer_calls, results_of_some_are_held, written_between_calls, one_after_the_other,
)
CASES = [
    *[(Net, between) for between in _OF_NET],
    *[(Dropped, f) for f in (
        usual, random_numbers, input_is_written, update_in_between, labels, three_calls,
        written_between_calls)],
    *[(Heads, f) for f in (two_results, one_of_two_is_looked_at)],
    *[(Named, f) for f in (usual, labels, calls_are_caught, backward_is_caught)],
]
#: Where a good part of the calls is to be computed late: the others stop doing so.
_LATE = {
    usual, target_is_written, two_results, other_functions, random_numbers, reported, evaluation,
    copies, kept_for_later, two_calls, three_calls, labels, labels_are_caught, calls_are_caught,
}


@pytest.fixture
def soon(monkeypatch):
    """Everything is tried in the first calls; gives how many have been computed late."""
    monkeypatch.setattr(_late, "_FIRST_AT_ONCE", 1)
    monkeypatch.setattr(_late, "_FIRST", 1)
    monkeypatch.setattr(_proof, "_SHORT_AT_ONCE", 2)
    monkeypatch.setattr(_proof, "_LEAN_AT_ONCE", 1)
    served, serves = [], _late.Late.has_served
    monkeypatch.setattr(
        _late.Late, "has_served", lambda self: (serves(self), served.append(self))[0])
    return served


def run(cls, between):
    """What each step has given, with all that it has changed."""
    np.random.seed(0)
    random.seed(0)
    model = cls()
    for p in model.params():
        p.array[...] = 0.2 * np.random.RandomState(p.size).randn(*p.shape)
    optimizer = chainer.optimizers.MomentumSGD(lr=1e-3).setup(model)
    found = []
    with chainer.using_config("static_budget", None):
        for k in range(STEPS):
            draw = np.random.RandomState(100 + k)
            x, t = draw.randn(4, 5).astype("f"), draw.randn(4, 3).astype("f")
            words = draw.randint(0, 9, (4, 2)) if issubclass(cls, Named) else x
            raised = None
            try:
                result = between(model, optimizer, words, t, k)
            except Exception as e:
                result, raised = None, (type(e), str(e))
            found.append((
                result, raised, x.tobytes(), t.tobytes(), np.random.get_state()[2],
                [(bits(p.grad), bits(p.array)) for _, p in sorted(model.namedparams())]))
    return found


@pytest.mark.parametrize("cls, between", CASES)
def test_numbers_are_the_same(cls, between, soon):
    compiled = type(cls.__name__, (cls,), {"forward": chainer.static_graph(cls.forward)})
    plain, found = run(cls, between), run(compiled, between)
    for k, (one, other) in enumerate(zip(plain, found, strict=True)):
        assert repr(one) == repr(other), k
    if between in _LATE:
        assert len(soon) >= STEPS // 4
    assert _tracing.state.run is None or _tracing.state.run.is_late


def test_views_are_written_in_the_method():
    class Views(Net):
        def forward(self, x):
            v = F.broadcast_to(self.c.b, (4, 3))
            y = super().forward(x) + v
            self.written[...] += 0.5
            return y * v

        def __init__(self):
            super().__init__()
            self.written = self.c.b.array

    class Compiled(Views):
        forward = chainer.static_graph(Views.forward)

    assert run(Compiled, usual) == run(Views, usual)


def test_nothing_stays(soon):
    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    run(Compiled, kept_for_later)
    assert soon
    chainer.Variable(np.zeros(1, "f")).backward()  # ends what is still open
    gc.collect()
    assert not [r for r in _tracing._active.values() if r.is_late]
    assert not [o for o in gc.get_objects() if isinstance(o, Compiled)]


def test_what_nobody_looks_at_is_computed_with_the_next_call(soon):
    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    model, x, t = Compiled(), np.ones((4, 5), "f"), np.zeros((4, 3), "f")
    with chainer.using_config("static_budget", None):
        for _ in range(STEPS):
            loss_of(model(x), t).backward()
        served = len(soon)
        kept = [loss_of(model(x), t) for _ in range(4)]
        assert len(soon) >= served + 2
        assert len({loss.array.tobytes() for loss in kept}) == 1


def test_brief_tails_are_not_put_off(soon):
    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    model, x = Compiled(), np.ones((4, 5), "f")
    with chainer.using_config("static_budget", None):
        for _ in range(STEPS):
            F.sum(model(x)).backward()
            model(x).array.sum()
    assert not soon
    (report,) = model.schedule_manager.report()
    (where,) = [e.where for e in report.events if "applied one by one" in e.reason]
    file, _, line = where.rpartition(":")
    assert "F.sum(model(x))" in linecache.getline(file, int(line))
    assert any("optimizer.update(lossfun, ...)" in what for what in report.advice)


def test_several_calls_before_one_backward_are_one_program(soon, monkeypatch):
    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    joined, takes = [], _joined.Joint.take
    monkeypatch.setattr(
        _joined.Joint, "take", lambda self, *args: (takes(self, *args), joined.append(self))[0])
    run(Compiled, three_calls)
    # Some are checked, and those that come after them go by themselves.
    assert len(soon) > STEPS // 4 and len(joined) > STEPS // 2


def test_no_whole_steps(soon):
    class Compiled(Net):
        forward = chainer.static_graph(Net.forward)

    with chainer.using_config("static_step", False):
        run(Compiled, usual)
    assert not soon
