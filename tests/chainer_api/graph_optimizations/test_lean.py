"""Methods whose values are read within: without their Python they need fewer programs.

What local variables hold, and arrays that only go to the next function, do not cut programs then.
Whatever a caller can reach is as it was, and what the method computes from a value is computed.
"""

import numpy as np
import pytest
from trust import Base, Box, decorated_class, difference, run, simple, total, variable, variables_in

import chainer
import chainer.functions as F
from chainer.graph_optimizations import _proof
from chainer.graph_optimizations._piece import Piece


def policy(self, x):
    h = F.tanh(self.a(x))
    mean, value = self.b(h), F.sum(h, axis=1, keepdims=True)
    advantage = x - value
    likelihood = -F.sum((x - mean) ** 2, axis=1, keepdims=True) / 2
    return F.mean(advantage**2) - F.mean(likelihood * advantage.array)


def array_and_variable_of_one_value(self, x):
    h = self.a(x)
    y = h * h.array + F.exp(h)
    return F.sum(y * y.array + h)


def three_in_turn(self, x):
    h = F.tanh(self.a(x))
    h = h * self.b(h).array
    h = F.relu(h) + h.array
    return F.sum(h * h.array)


def arrays_handed_on_before_values_and_behind_them(self, x):
    """Two programs, each in the place of two."""
    h = self.a(x)
    h = F.exp(-h * h) * h.array + x.array
    h = h * np.eye(4, dtype="f")[np.argmax(h.array, axis=1)]
    return h * h.array


def a_target_without_graph(self, x):
    with chainer.no_backprop_mode():
        target = F.max(self.b(x), axis=1, keepdims=True)
    y = self.a(x)
    return F.mean_squared_error(F.broadcast_to(target.array, y.shape), y)


def what_may_raise_is_handed_on(self, x):
    """Nobody needs the part that is taken but as that array."""
    h = self.a(x)
    target = F.get_item(h, np.array([0, 2, 1]))
    return F.mean_squared_error(F.tanh(h), chainer.Variable(target.array))


def draws_on_both_sides(self, x):
    h = F.dropout(self.a(x), 0.3)
    keep = F.dropout(h, 0.5)
    return F.sum(F.dropout(h * keep.array, 0.2))


def numbers_that_change(self, x):
    self.factor = getattr(self, "factor", 1.0) * 0.9
    h = self.a(x) * self.factor
    return F.sum(h * h.array * (self.factor + 1))


def statistics_before(self, x):
    h = self.bn(self.a(x))
    return F.sum(h * F.tanh(h).array)


def statistics_behind(self, x):
    h = self.a(x)
    return F.sum(self.bn(h * F.tanh(h).array) * x)


def values_that_are_used_thrice(self, x):
    h = self.a(x)
    y = F.exp(h) + F.sin(h)
    return F.sum(y * h.array + F.cos(h) * y + y.array * h)


def variables_of_arrays(self, x):
    h = F.exp(self.a(x))
    k = chainer.Variable(h.array)
    return F.sum(self.b(h) * k + F.tanh(k) + chainer.Variable(F.sin(h).array, requires_grad=False))


def one_variable_of_an_array_used_thrice(self, x):
    k = chainer.Variable(F.exp(self.a(x)).array)
    return F.sum(self.b(k) * k + F.tanh(k))


def noise_between(self, x):
    h = self.a(x)
    k = F.tanh(h)
    noise = np.random.randn(3, 4).astype("f")
    return F.sum(h * k.array * noise + np.ones((3, 4), "f"))


def an_array_that_nobody_uses(self, x):
    h = F.tanh(self.a(x))
    loss = F.sum(h * h)
    chainer.report({"loss": loss.array, "largest": F.max(h).array}, self)
    return loss


def an_array_that_is_returned_alone(self, x):
    h = F.tanh(self.a(x))
    kept = F.exp(h).array
    largest = F.max(h)
    return F.sum(h) + largest, kept, largest.array


def an_array_that_is_kept_alone(self, x):
    h = F.tanh(self.a(x))
    self.last = F.exp(h).array
    return F.sum(h) * F.max(h).array.dtype.type(2)


def a_variable_of_an_array_that_is_returned(self, x):
    h = F.tanh(self.a(x))
    kept = chainer.Variable(F.exp(h).array)
    return F.sum(h) * F.max(h).array, kept


#: And how many pieces of programs are left.
JOINED = {
    policy: 1, array_and_variable_of_one_value: 1, three_in_turn: 1, a_target_without_graph: 1,
    arrays_handed_on_before_values_and_behind_them: 3,
    draws_on_both_sides: 1, numbers_that_change: 1, statistics_before: 2, statistics_behind: 1,
    values_that_are_used_thrice: 1, variables_of_arrays: 1,
    one_variable_of_an_array_used_thrice: 1, noise_between: 1, an_array_that_nobody_uses: 1,
    an_array_that_is_returned_alone: 1, what_may_raise_is_handed_on: 1,
    a_variable_of_an_array_that_is_returned: 2,
}  # fmt: skip


def the_array_is_returned(self, x):
    h = self.a(x)
    y = F.exp(h)
    return F.sum(y * y.array + h), y.array


def the_array_is_kept(self, x):
    h = self.a(x)
    self.last = F.tanh(h).array
    return F.sum(h * self.last)


def the_value_is_returned(self, x):
    h = self.a(x)
    y = F.exp(h)
    return F.sum(y * y.array + h), y


def the_value_is_kept(self, x):
    h = F.tanh(self.a(x))
    self.h = h
    k = F.exp(h) * h.array
    return F.sum(k * k.array)


def a_list_of_all(self, x):
    hs = [self.a(x)]
    for _ in range(3):
        hs.append(F.tanh(self.b(hs[-1])) + hs[-1].array)
    return hs


def a_value_decides(self, x):
    h = self.a(x)
    k = F.tanh(h)
    if float(k.array.max()) > 0.9:
        k = k * 2
    return F.sum(k * h.array)


def numpy_between(self, x):
    h = F.softmax(self.a(x))
    best = h.array.argmax(axis=1).astype("i")
    weights = np.where(h.array > 0.3, h.array, np.float32(0))
    return F.sum(F.select_item(h, best)) + F.sum(self.b(h) * weights)


def a_part_of_the_array(self, x):
    h = self.a(x)
    return F.sum(self.b(h)[:2] * h.array[1:])


def printed_shapes(self, x):
    h = F.exp(self.a(x))
    self.shape, self.kind = h.array.shape, h.array.dtype.char
    return F.sum(self.b(h) * h.array) / h.array.size


def labels_from_values(self, x):
    h = self.a(x)
    t = F.argmax(self.b(h), axis=1)
    return F.softmax_cross_entropy(h, t.array)


def cut_by_what_is_kept(self, x):
    h = self.a(x)
    self.middle = F.tanh(h)
    k = self.middle * h.array + self.b(self.middle)
    return F.sum(k * self.middle.array) + F.sum(k.array)


def an_array_that_changes_between(self, x):
    h = self.a(x)
    weights = np.ones((3, 4), "f")
    k = h * weights
    other = k.array
    weights += 1
    return F.sum(F.tanh(k) * weights * other)


def an_array_of_the_chain_changes_between(self, x):
    k = self.a(x) * self.weights
    other = k.array
    self.weights *= 0.9
    return F.sum(F.tanh(k) * self.weights * other)


def looked_at_and_used_by_what_is_for_nothing(self, x):
    first = x * (x.array > 0) + np.ones((3, 4), "f")
    h = x - F.broadcast_to(F.mean(x, axis=0, keepdims=True), (3, 4))
    second = h + self.b(x)
    third = 2 - first / 3
    self.positive = (h.array > 0).sum()
    y = F.relu(h)
    del second, third
    return y


def used_on_both_sides_of_a_result(self, x):
    first = self.a(x)
    h = F.tanh(first)
    second = F.exp(h)
    y = self.b(second * h)
    third = y * h
    return y, F.sum(third)


OTHERS = [
    looked_at_and_used_by_what_is_for_nothing, used_on_both_sides_of_a_result,
    an_array_that_changes_between, an_array_of_the_chain_changes_between,
    the_array_is_returned, the_array_is_kept, the_value_is_returned, the_value_is_kept,
    an_array_that_is_kept_alone, a_list_of_all, a_value_decides, numpy_between, a_part_of_the_array,
    printed_shapes, labels_from_values, cut_by_what_is_kept,
]  # fmt: skip


def backward(self, k):
    x = variable(k)
    y = self(x)
    total(y).backward()
    return y, x


def backward_of_all_that_is_retained(self, k):
    x = variable(k)
    y = self(x)
    total(y).backward(retain_grad=True)
    loss = variables_in(y)[0]
    below = [node.get_variable_or_none() for node in loss.creator.inputs]
    return y, x, below, loss.creator.label, loss.creator.rank


def written_before_backward(self, k):
    """All arrays that a caller can reach are written into."""
    x = variable(k)
    y = self(x)
    loss = total(y)
    arrays = [v.array for v in variables_in(y)]
    arrays += [a for a in vars(self).values() if isinstance(a, np.ndarray)]
    arrays += [a for a in (y if isinstance(y, tuple) else ()) if isinstance(a, np.ndarray)]
    for array in arrays:
        array *= 1.5
    loss.backward()
    return y, x


def second_derivatives(self, k):
    x = variable(k)
    y = self(x)
    (g,) = chainer.grad([total(y)], [x], enable_double_backprop=True)
    F.sum(g * g).backward()
    return y, x, g


def an_update_between(self, k):
    x = variable(k)
    y, z = self(x), self(variable(k + 1))
    self.a.W.array[...] += 0.01
    total([y, z]).backward()
    return y, z, x


def in_evaluation(self, k):
    x = variable(k)
    with chainer.using_config("train", k % 2 == 0), chainer.using_config("enable_backprop", k > 8):
        return self(x), x


STEPS = [
    backward, backward_of_all_that_is_retained, written_before_backward, second_derivatives,
    an_update_between, in_evaluation,
]  # fmt: skip


def model_of(method, step):
    def make():
        cls = simple(method, weights=lambda: np.ones((3, 4), "f"))
        cls.step = step
        return cls

    make.__name__ = f"{method.__name__}, {step.__name__}"
    return make


def name_of(function):
    return function.__name__


@pytest.mark.parametrize("target", ["numpy", "native"])
@pytest.mark.parametrize("step", STEPS, ids=name_of)
@pytest.mark.parametrize("method", [*JOINED, *OTHERS], ids=name_of)
def test_same_as_define_by_run(method, step, target):
    make = model_of(method, step)
    with chainer.using_config("static_target", target):
        expected, actual = run(make, False, 20), run(make, True, 20)
    assert difference(expected, actual) is None


@pytest.mark.parametrize("method", JOINED, ids=name_of)
def test_one_program(method):
    """As many pieces as are needed, and one where nothing but arrays is handed on."""
    model = decorated_class(model_of(method, backward))()
    for k in range(16):
        model.cleargrads()
        model.step(k)
    (site,) = model.schedule_manager._sites.values()
    pieces = [sum(len(plan.pieces) for _, _, plan in proof.plans) for proof in site.proofs.proofs]
    assert JOINED[method] in pieces
    (report,) = model.schedule_manager.report()
    assert report.without_python > 6
    assert any("needs fewer programs" in e.reason for e in report.events)
    assert "distrusted" not in {e.kind for e in report.events}


@pytest.mark.parametrize(("function", "raises"), [
    (lambda h, k: F.convolution_2d(h, np.ones((2, 1, 2, 2), "f")), False),
    (lambda h, k: F.deconvolution_2d(h, np.ones((1, 2, 2, 2), "f")), False),
    (lambda h, k: F.average_pooling_2d(h, 2), False), (lambda h, k: F.max_pooling_2d(h, 2), False),
    (lambda h, k: F.im2col(h, 2), False), (lambda h, k: h[k], True),
    (lambda h, k: F.tanh(F.get_item(h[0], k)), True), (lambda h, k: h[0][k][k], True),
    (lambda h, k: F.embed_id(k, h[0, 0]) * 2, True)],
    ids=["convolution", "deconvolution", "average", "maximum", "im2col", "indices", "goes on",
         "twice", "embedding"])
def test_what_nobody_needs_is_part_of_the_program(function, raises):
    """The last turn of a decoder gives the next input; what it raises is raised all the same."""
    def method(self, x):
        h = F.tanh(self.a(x))
        function(F.reshape(h, (1, 1, 3, 4)), self.chosen.values[0])
        return F.sum(self.b(h))

    def choose(self, k):
        self.chosen = Box(np.array([7 if k == 14 else 0]))

    def is_whole(model):
        (report,) = model.schedule_manager.report()
        assert [stop.reason for stop in report.stops] == ["a program failed"] * raises

    def fault():
        return simple(method, choose)

    expected, actual = run(fault, False, 16), run(fault, True, 16, is_whole)
    assert difference(expected, actual) is None
    assert any(fact[:2] == ("exception", "IndexError") for fact in expected[14]) is raises


def test_programs_are_renewed_with_what_other_proofs_need():
    """Of one way: a method that hands out another value than before, as an attribute says."""

    class Model(Base):
        kept = None

        def forward(self, x):
            h = F.tanh(self.a(x))
            k = self.b(h)
            loss = F.sum(k * h.array)
            values = {"h": h, "k": k, None: None}
            return loss, values[self.kept]

        def step(self, k):
            self.kept = (None, "h", "k")[k // 8 % 3]
            return super().step(k)

    expected, actual = run(lambda: Model, False, 60), run(lambda: _copy(Model), True, 60)
    assert difference(expected, actual) is None


def _copy(cls):
    return type(cls.__name__, (cls,), {"forward": cls.forward})


def test_fewer_programs_come_before_the_method_is_left_alone(monkeypatch):
    """Where calls without Python seem slow, and fewer programs have not been thought of yet."""
    monkeypatch.setattr(_proof, "_LEAN_AT_ONCE", 1000)
    # Native code on its way would be waited for.
    monkeypatch.setitem(vars(chainer.global_config), "static_target", "numpy")
    method, pieces = next(iter(JOINED.items()))
    model = decorated_class(model_of(method, backward))()
    found = []
    for k in range(24):
        model.cleargrads()
        model.step(k)
        if k == 16:
            (site,) = model.schedule_manager._sites.values()
            (proof,) = site.proofs.proofs
            found.append(sum(len(plan.pieces) for _, _, plan in proof.plans))
            site.rests.rest()
            assert site.sleep.calls == 0
            found.append(sum(len(plan.pieces) for _, _, plan in proof.plans))
            site.rests.rest()
            assert site.sleep.calls == 0  # it is seen what comes after calls
            site.rests.rest()
            assert site.sleep.calls > 0
            site.sleep.calls = 0
    assert found[1] == pieces < found[0]
    expected = run(model_of(method, backward), False, 20)
    assert difference(expected, run(model_of(method, backward), True, 20)) is None


def test_backwards_of_joined_programs_are_compiled_at_once(monkeypatch):
    """They are new, and the next call with Python may be a thousand calls away."""

    def method(self, x):
        h = F.tanh(self.a(x))
        y = self.b(h)
        self.last = {"h": h, "y": y, "loss": F.sum(y * y)}
        return self.last["loss"]

    rebuilt = []
    rebuild = Piece.rebuild

    def counted(*args, **kwargs):
        rebuilt.append(1)
        return rebuild(*args, **kwargs)

    monkeypatch.setattr(Piece, "rebuild", counted)
    monkeypatch.setattr(_proof, "_LEAN_AT_ONCE", 40)  # calls 32 and 64 are checks
    model = decorated_class(lambda: simple(method))()
    for k in range(62):
        if k == 46:
            assert any([
                "fewer programs" in event.reason
                for event in model.schedule_manager.report()[0].events])
            rebuilt.clear()
        model(variable(k)).backward()
    assert len(rebuilt) < 6  # for the first checks of the new program


def test_arrays_of_results_that_functions_by_themselves_take(caplog):
    class Model(Base):
        def forward(self, x, y):
            h = y / -1.25
            if float(F.sum(x).array) > 0:
                F.sigmoid(x)
            square = F.square(h)
            g = F.prelu(h, np.full((2, 3), 0.25, "f"))
            again = chainer.Variable(square.array, requires_grad=False)
            high = F.exp(g * 3.0)
            return F.sum(again * again) + F.sum(g * 0.5) + F.sum(high), again.array

        def step(self, k):
            x, y = np.random.RandomState(k).randn(2, 4, 2, 3).astype("f")
            loss, again = self(x, chainer.Variable(y))
            assert loss.creator is not None
            return loss, again

    assert difference(run(lambda: Model, False, 200), run(lambda: Model, True, 200)) is None
    assert "not joined" not in caplog.text
