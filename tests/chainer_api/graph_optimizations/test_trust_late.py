"""Arrays of the user's that are written between a call and its backward.

Define-by-run's backward finds in them what has been written, and so does a program's: labels,
indexes, masks, weights and statistics, as arguments and as attributes, small and large programs.
"""

import contextlib
import threading

import numpy as np
import pytest
from trust import Base, check, difference, run, total, variable, variables_in
from written_arrays import USES, make_chain
from written_views import VIEWS, WRITTEN, gradients, pair

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _piece


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", USES)
def test_arrays_written_before_backward(name, large, monkeypatch):
    monkeypatch.setattr(_piece, "_LARGE", -1 if large else 1 << 40)
    seen = []
    make = make_chain(USES[name])
    expected = run(make, False)
    actual = run(make, True, after=lambda model: seen.extend(model.schedule_manager.report()))
    assert difference(expected, actual) is None
    (report,) = seen
    assert report.without_python + report.with_python > 4
    assert "distrusted" not in {e.kind for e in report.events}


def statistics_that_are_read_and_then_written():
    """The first function's backward finds what the second one, and the next call, have written."""

    class Model(Base):
        def forward(self, x):
            with chainer.using_config("train", False):
                before = self.bn(x)
            return before * 2 + self.bn(self.a(x))

        def step(self, k):
            x = variable(k)
            y = self(x)
            z = self(variable(k + 1))
            total([y, z]).backward()
            return y, z, x

    return Model


def functions_applied_by_another_thread():
    """Functions that are computed late stand in the graph where they were applied."""

    class Model(Base):
        def forward(self, x):
            h = x * 2
            side = []
            thread = threading.Thread(target=lambda: side.append(F.tanh(x) + h))
            thread.start()
            thread.join()
            return side[0], F.sigmoid(x) + h, x * h

    return Model


def tuples_of_calls_and_of_the_text():
    """Tuples that a call makes are its own; those of the text are one object in all calls."""

    class Model(Base):
        def forward(self, x):
            return self.a(x), x.array.shape, (1, (2, 3)), (x.array.shape, x.array.ndim)

        def step(self, k):
            calls = [self(variable(k)) for _ in range(3)]
            total([c[0] for c in calls]).backward()
            return calls

    return Model


def functions_that_raise_within_try():
    """What such a function was the first to use is new to those that come after it."""

    class Model(Base):
        def forward(self, x, z, index):
            try:
                h = x + z[:, index]
            except IndexError:
                h = x * 3
            return self.a(h) * z

        def step(self, k):
            x, z = variable(k), variable(k + 50)
            y = self(x, z, np.array([0, 1, 2, 7 if k % 3 < 2 else 3]))
            total(y).backward()
            return y, x, z

    return Model


def results_of_low_rank_in_chained_calls():
    """A piece waits for all that uses its results, also for what waits itself by then."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.count, self.state = 0, None

        def forward(self, x, z):
            self.count += 1
            u = 1.5 - z * 0.4
            h = F.sigmoid(x) if self.count % 3 == 1 else F.tanh(x)
            v = (h.array > 0).astype("f") * u
            if self.state is not None:
                v = v + F.broadcast_to(F.mean(self.state, axis=0), v.shape)
            self.state = F.tanh(v)
            y = self.a(h)
            w = v * float(v.array[0, 3])
            return self.bn(y) + self.bn(y), v, x, w.array

        def step(self, k):
            x, z = variable(k), variable(k + 500)
            y = self(x, z)
            w = self(y[0], z)
            total(w).backward()
            return y, w, x, z

    return Model


def hooks_around_a_late_backward():
    """Hooks do not see functions that are applied again."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.state = None

        def forward(self, x):
            h = x if self.state is None else x + F.broadcast_to(F.mean(self.state, 0), x.shape)
            self.state = F.tanh(h)
            return h

        def step(self, k):
            x, seen = variable(k), []

            class Hook(chainer.FunctionHook):
                def forward_preprocess(self, function, in_data):
                    seen.append(function.label)

                def backward_preprocess(self, function, in_data, out_grad):
                    seen.append((function.label, len(in_data)))

            if k % 5 < 4:
                y = self(x)
                total(y).backward()
            else:
                with Hook():
                    y = self(x)
                    total(y).backward()
            return y, x, seen

    return Model


def statistics_in_a_second_derivative():
    """A check writes statistics, too; the graph that is built later begins with those before."""

    class Model(Base):
        def forward(self, x, z):
            with chainer.using_config("train", not chainer.config.train):
                h = self.bn(z) + z
            return self.bn(h) + self.bn(z) * x

        def step(self, k):
            x, z = variable(k), variable(k + 500)
            y = total(self(x, z))
            grads = chainer.grad([y], [x, z], enable_double_backprop=True)
            sum((F.sum(g * g) for g in grads), y).backward()
            return grads, x, z

    return Model


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        results_of_low_rank_in_chained_calls,
        hooks_around_a_late_backward,
        functions_that_raise_within_try,
        statistics_that_are_read_and_then_written,
        statistics_in_a_second_derivative,
        functions_applied_by_another_thread,
        tuples_of_calls_and_of_the_text,
    ],
)
def test_found_by_random_programs(make, large, monkeypatch):
    monkeypatch.setattr(_piece, "_LARGE", -1 if large else 1 << 40)
    check(make, 18)  # with several calls that are checked


# -- Views of what is written ------

@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("view", VIEWS)
def test_functions_that_retain_views_of_what_is_written(view, written, large, monkeypatch):
    """Graphs that were built again from copies had views of the copies."""
    if large:
        monkeypatch.setattr(_piece, "_LARGE", -1)

    for seed in (None, 1, 5):
        compiled, plain = pair(view, written)
        assert gradients(compiled, seed=seed) == gradients(plain, seed=seed), seed


# -- Results that are views of what functions have retained ------

PARTS = {
    "whole": lambda h: F.reshape(h, (-1,)), "turned": F.transpose, "rows": lambda h: h[1:],
    "columns": lambda h: F.split_axis(h, 2, 1), "one row": lambda h: F.separate(h)[1],
    "squeezed": lambda h: F.squeeze(h[:1]), "part of a part": lambda h: F.transpose(h[:, 1:])[::2],
}
RETAINED = {
    "an output": lambda m, x, part: part(F.tanh(x)),
    "an input": lambda m, x, part: (part(h := m.a(x)), F.sum(h * h)),
    "an output of two": lambda m, x, part: (part(h := F.exp(m.a(x))), part(F.sigmoid(h))),
    "a part of a result": lambda m, x, part: (h := m.a(x), [F.exp(v) for v in _listed(part(h))]),
}


def _listed(value):
    return [value] if isinstance(value, chainer.Variable) else value


def _written_and_dropped(y):
    """The loss, when a result was written that nobody has any more."""
    first = variables_in(y)[0]
    first.array[...] = 2
    return total(y)


def _written_between_backwards(y, x):
    first = variables_in(y)[0]
    first.array[...] = 2
    (g,) = chainer.grad([total(y)], [x], enable_double_backprop=True)
    first.array[...] = 3
    F.sum(g * g).backward()
    return g


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("retained", RETAINED)
@pytest.mark.parametrize("part", PARTS)
def test_results_that_are_parts_of_what_functions_retain(part, retained, large, monkeypatch):
    """Who writes to one writes to what backward reads; graphs were built again without that."""
    monkeypatch.setattr(_piece, "_LARGE", -1 if large else 1 << 40)

    def make():
        class Model(Base):
            def forward(self, x):
                return RETAINED[retained](self, x, PARTS[part])

            def step(self, k):
                x = variable(k)
                if k % 8 == 5:
                    y = self(x)
                    return _written_between_backwards(y, x), y, x
                if k % 2:
                    _written_and_dropped(self(x)).backward()
                    return x
                y = self(x)
                found = variables_in(y)
                found[k // 2 % len(found)].array[...] = k
                total(y).backward()
                return y, x

        return Model

    check(make, 18)


# -- Values that are used on both sides of one that is kept ------

INSIDE = {
    "product": lambda v: F.tanh(v) * v, "three": lambda v: F.exp(v) * v + v,
    "one": F.tanh, "higher": lambda v: F.tanh(F.exp(v * 0.1) * v),
}
BEHIND = {
    "one": lambda h, v: (F.sin(h) * v,), "sum and scaled": lambda h, v: (h + v, v * 3),
    "three": lambda h, v: (h * v + F.sigmoid(v) * v,),
    "results that are used": lambda h, v: ((a := h + v) * 0.5 + F.sigmoid(v * 3) + a, v * 3),
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("inside", INSIDE)
def test_gradients_are_added_in_the_order_of_define_by_run(inside, behind, large, monkeypatch):
    """Programs before and behind a kept value both add to the gradient of one that both use."""
    if large:
        monkeypatch.setattr(_piece, "_LARGE", -1)

    class Model(chainer.Chain):
        def forward(self, x):
            v = x * 1.1
            self.h = INSIDE[inside](v)
            return BEHIND[behind](self.h, v)

    class Compiled(Model):
        forward = chainer.static_graph(Model.forward)

    def calls(model):
        found = []
        for k in range(6):
            x = chainer.Variable(np.random.RandomState(k).randn(30, 4).astype("f"))
            sum([F.sum(y * y) for y in model(x)]).backward()
            found.append(x.grad.tobytes())
        return found

    compiled = Compiled()
    assert calls(compiled) == calls(Model())
    report = compiled.schedule_manager.report()[0]
    assert report.hits == 4 and not report.failed_checks


USED = {
    "scaled": lambda v, scaled: (scaled(v) * v, v * 2),
    "last": lambda v, scaled: (v * 2, v * 3, scaled(v)),
    "first": lambda v, scaled: (scaled(v) * 3, F.tanh(v), v * 2 + 1),
    "twice": lambda v, scaled: (scaled(v) + scaled(v * 2), v * 3, F.sin(v)),
}
SCALED = {  # by how many functions the array goes through before it meets the value
    0: lambda v, table: v * np.full(v.shape, 3, "f"),
    1: lambda v, table: v * F.broadcast_to(table, v.shape),
    2: lambda v, table: F.scale(v, table, 1),
    4: lambda v, table: F.scale(v, F.exp(F.tanh(table)), 1),
}


@pytest.mark.parametrize("height", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("through", SCALED)
@pytest.mark.parametrize("uses", USED)
def test_arrays_among_the_inputs_of_a_part(uses, through, height):
    """An array has the rank 0, however high the value stands that a part begins with."""

    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            self.table = np.linspace(0.3, 2, 4, dtype="f")

        def forward(self, x):
            v = x
            for _ in range(height):
                v = v * 1.1
            self.kept = v
            self.read = v.array.sum()  # a part ends here
            return USED[uses](v, lambda u: SCALED[through](u, self.table))

    class Compiled(Model):
        forward = chainer.static_graph(Model.forward)

    def calls(model):
        found = []
        for k in range(6):
            x = chainer.Variable(np.random.RandomState(k).randn(30, 4).astype("f"))
            results = model(x)
            results = results if k % 2 else results[:-1]
            sum([F.sum(y * y) for y in results]).backward()
            found.append(x.grad.tobytes())
        return found

    compiled = Compiled()
    assert calls(compiled) == calls(Model())
    report = compiled.schedule_manager.report()[0]
    assert report.hits == 4 and not report.failed_checks


def test_grad_runs_nothing_for_inputs_that_a_result_does_not_depend_on():
    """One node stands for functions of which some lead to the input, and others to the result."""

    class Model(chainer.Chain):
        def forward(self, x, z):
            kept = F.sin(x)
            h = F.forget(lambda u: F.dropout(F.tanh(u), 0.4), z[:, ::-1])  # draws in backward, too
            return h, kept

    class Compiled(Model):
        forward = chainer.static_graph(Model.forward)

    def calls(model):
        np.random.seed(0)
        found = []
        for k in range(8):
            arrays = np.random.RandomState(k).randn(2, 3, 4).astype("f")
            x, z = map(chainer.Variable, arrays)
            h, _ = model(x, z)
            (g,) = chainer.grad([h], [x if k % 4 < 3 else z], [chainer.Variable(h.array)])
            grad = None if g is None else g.array.tobytes()
            found.append((grad, h.array.tobytes(), np.random.get_state()[2]))
        return found

    assert calls(Compiled()) == calls(Model())


# -- Leaves inside of a method, of which nobody holds the Variable ------

def _without_backprop(h):
    with chainer.no_backprop_mode():
        return F.sigmoid(h)


def _unchained(h):
    v = F.sigmoid(h)
    v.unchain()
    return v


INNER = {
    "without backprop": _without_backprop, "unchained": _unchained,
    "of an array": lambda h: chainer.Variable(h.array * 2),
    "used twice": lambda h: (v := _without_backprop(h)) * v,
}


def carrying_leaves(inner, how):
    """A fault: state that is carried over calls, with leaves of all of them, and a look."""

    class Hook(chainer.FunctionHook):
        def __init__(self, seen):
            self.seen = seen

        def forward_postprocess(self, function, in_data):
            self.seen.append(function.label)

        def backward_postprocess(self, function, in_data, out_grad):
            self.seen.append((function.label, len(in_data)))

    def make():
        class Model(Base):
            state = None

            def forward(self, x, z):
                h = INNER[inner](z) + z
                if self.state is not None:
                    h = h + F.broadcast_to(F.mean(self.state, 0), h.shape)
                self.state = F.tanh(h)
                return h * x

            def step(self, k):
                x, z, seen, looks = variable(k), variable(k + 500), [], k % 5 == 4
                with Hook(seen) if looks and how == "hook" else contextlib.nullcontext():
                    y = self(x, z)
                    total(y).backward()
                if looks and how == "walk":
                    seen += _leaves_before(y)
                return y, x, z, seen

        return Model

    return make


def _leaves_before(y):
    """What can be read of the nodes before a Variable that no function has made."""
    found, seen, stack = [], set(), [y.creator_node]
    while stack:
        func = stack.pop(0)
        if func in seen:
            continue
        seen.add(func)
        for x in func.inputs:
            if x.creator_node is not None:
                stack.append(x.creator_node)
            else:
                grad = None if x.grad is None else x.grad.tobytes()
                found.append((func.label, x.get_variable_or_none() is None, grad))
    return found


@pytest.mark.parametrize("how", ["hook", "walk"])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("inner", INNER)
def test_gradients_of_leaves_that_nobody_holds(inner, large, how, monkeypatch):
    """They go with their Variables: a later backward through the same graph starts anew."""
    if large:
        monkeypatch.setattr(_piece, "_LARGE", -1)
    with chainer.using_config("static_budget", None):
        check(carrying_leaves(inner, how), 12)
