"""Gradients that are differentiated themselves: programs give them what define-by-run gives.

Each way of taking such a gradient (penalties, equations with derivatives, updates that are
differentiated) through methods of all kinds; what somebody does between the gradient and its own
backward; and what no program is made for.
"""

import numpy as np
import pytest
from trust import Base, check, difference, run, total, variable

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations._piece import Piece

CALLS = 16


class Net(Base):
    """Methods of all kinds, to be differentiated twice."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 2, (1, 3), pad=(0, 1))
            self.norm = L.LayerNormalization(4)
            self.embed = L.EmbedID(5, 4)

    def forward(self, x):
        return self.b(self.middle(self.a(x)))


METHODS = {
    "linear": lambda self, h: h * 2.5 + 1,
    "without_weights": lambda self, h: F.sum(h, axis=1, keepdims=True) * np.ones((3, 4), "f"),
    "tanh": lambda self, h: F.tanh(h),
    "sigmoid": lambda self, h: F.sigmoid(h) * h,
    "softplus": lambda self, h: F.softplus(h),
    "leaky_relu": lambda self, h: F.leaky_relu(h),
    "elu": lambda self, h: F.elu(h),
    "power": lambda self, h: (h * h + 1) ** 0.5,
    "softmax": lambda self, h: F.softmax(h) * h,
    "used_three_times": lambda self, h: F.tanh(h) * h + F.exp(h * 0.1) - h**3,
    "layer_normalization": lambda self, h: self.norm(h),
    "statistics": lambda self, h: F.tanh(self.bn(h)),
    "dropout": lambda self, h: F.tanh(F.dropout(h, 0.3)),
    "dropout_twice": lambda self, h: F.dropout(F.tanh(F.dropout(h, 0.3)), 0.4) + F.dropout(h, 0.2),
    "gaussian": lambda self, h: F.gaussian(h, F.tanh(h)),
    "convolution": lambda self, h: F.sum(self.conv(F.tanh(h)[:, None, None]), axis=(1, 2)),
    "weights_used_twice": lambda self, h: self.a(F.tanh(self.a(F.tanh(h)))),
    "reshaped": lambda self, h: F.concat([F.reshape(F.tanh(h), (-1, 4)), h[:, ::2] ** 2], 1)[:, 2:],
    "embedded": lambda self, h: F.tanh(h) * self.embed(np.arange(3) % 2),
}


def _penalty(self, x):
    """On the norm of a gradient, as of a Wasserstein GAN: nothing else of that call counts."""
    (g,) = chainer.grad([self(x)], [x], enable_double_backprop=True)
    return F.mean(F.sqrt(F.batch_l2_norm_squared(g) + 1e-3)) + F.mean(self(variable(77))), g


def _penalty_and_loss(self, x):
    """The result counts, too."""
    y = self(x)
    (g,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
    return F.mean(F.softplus(-y)) + F.sum(g * g), y, g


def _equation(self, x):
    """With second derivatives, of which there is a gradient."""
    u = self(x)
    (first,) = chainer.grad([u], [x], enable_double_backprop=True)
    (second,) = chainer.grad([first], [x], enable_double_backprop=True)
    if second is None:
        return F.sum(first * first) + F.sum(u), u, first
    return F.sum((F.sum(second, axis=1) - F.sum(u * first, axis=1)) ** 2), u, first, second


def _of_parameters(self, x):
    """The gradients of all parameters: they are updated with them, and that is differentiated."""
    y = self(x)
    params = [p for p in self.params() if p.array is not None]
    grads = chainer.grad([F.mean(y)], params, enable_double_backprop=True)
    found = [g for g in grads if g is not None]
    return total(found), y, found


def _backward(self, x):
    """``backward`` leaves gradients that can be differentiated."""
    y = self(x)
    F.sum(y).backward(enable_double_backprop=True)
    grads = [x.grad_var, self.a.W.grad_var]
    x.cleargrad()
    self.cleargrads()
    return total(grads) + F.sum(y), y, grads


def _given(self, x):
    """Gradients of the results are given: with a graph of their own, or arrays."""
    y = self(x)
    w = chainer.Variable(variable(55).array, name="w")
    (g,) = chainer.grad([y], [x], [w * 2], enable_double_backprop=True)
    (other,) = chainer.grad([y], [x], [variable(56).array], enable_double_backprop=True)
    return F.sum(g * g) + F.sum(other * g), y, g, other, w


def _gradient_alone(self, x):
    """It is looked at, and nobody goes on."""
    (g,) = chainer.grad([self(x)], [x], enable_double_backprop=True)
    return F.sum(self(x)), g


def _through_the_result(self, x):
    """The gradient of the result depends on the result: a loss outside of the method."""
    y = self(x)
    (g,) = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
    return F.sum(g * g) + F.sum(y), y, g


def _of_two_calls(self, x):
    y, z = self(x), self(x * 0.5)
    (g,) = chainer.grad([F.sum(y) + F.sum(z)], [x], enable_double_backprop=True)
    return F.sum(g * g), y, z, g


def _beside_the_call(self, x):
    """Another function has the same input."""
    y = self(x)
    (g,) = chainer.grad([F.sum(y) + F.sum(F.exp(x * x))], [x], enable_double_backprop=True)
    return F.sum(g * g) + F.sum(y * x), y, g


WAYS = {
    f.__name__.strip("_"): f for f in (
        _penalty, _penalty_and_loss, _equation, _of_parameters, _backward, _given, _gradient_alone,
        _through_the_result, _of_two_calls, _beside_the_call)
}
#: Of which the functions stay define-by-run.
OTHERS = {"through_the_result", "of_two_calls", "beside_the_call"}


def model_of(method, way, after=None, calls=None):
    """A chain, of which a step takes such a gradient, and its own backward."""

    def make():
        class Model(Net):
            middle = method

            def step(self, k):
                x = variable(k)
                loss, *found = way(self, x)
                if after is not None:
                    after(self, k, x, loss, found)
                loss.backward()
                for p in self.params():
                    if p.grad is not None and p is not self.embed.W:
                        p.array -= np.float32(0.01) * np.sign(p.grad)
                return loss, x, found

        return Model

    return make


def programs_of(make, calls=CALLS):
    """What the report of a decorated one says."""
    reports = []
    run(make, True, calls, after=lambda model: reports.extend(model.schedule_manager.report()))
    return reports[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_like_define_by_run(method, way):
    make = model_of(METHODS[method], WAYS[way])
    check(make, CALLS)
    kinds = {e.kind for e in programs_of(make).events}
    assert "distrusted" not in kinds


@pytest.mark.parametrize("way", [way for way in WAYS if way not in OTHERS])
@pytest.mark.parametrize("method", ["tanh", "sigmoid", "used_three_times", "statistics", "dropout"])
def test_programs_give_them(method, way):
    report = programs_of(model_of(METHODS[method], WAYS[way]))
    assert any(["gradients are differentiated" in e.reason for e in report.events])
    assert report.eager_calls < 8


@pytest.mark.parametrize("way, why", [
    ("through_the_result", "depend on its results"),
    ("of_two_calls", "come from several calls at once")])
def test_the_report_says_why_there_is_no_program(way, why):
    report = programs_of(model_of(METHODS["tanh"], WAYS[way]), 30)
    reasons = [e.reason for e in report.events if e.kind == "define-by-run"]
    assert reasons == [f"gradients that are differentiated {why}"]
    assert any(["decorate the method that computes the whole loss" in a for a in report.advice])


# -- Between the gradient and its backward ---------------------------------------------------------


def _looks_at_the_graph(self, k, x, loss, found):
    if k % 3 == 0:
        self.seen = [v.creator.label for v in found if v is not None and v.creator is not None]


def _updates_in_place(self, k, x, loss, found):
    if k % 3 == 0:
        self.a.W.array *= np.float32(0.5)


def _replaces_parameters(self, k, x, loss, found):
    if k % 3 == 0:
        self.b.W.array = self.b.W.array * np.float32(0.5)


def _writes_the_argument(self, k, x, loss, found):
    if k % 3 == 0:
        x.array[...] = 0.25


def _writes_results(self, k, x, loss, found):
    if k % 3 == 0:
        found[0].array[...] = 0.25
        found[-1].array[...] *= 2


def _unchains_the_gradient(self, k, x, loss, found):
    if k % 3 == 0:
        found[-1].unchain()
    elif k % 3 == 1:
        found[-1].unchain_backward()


def _unchains_the_result(self, k, x, loss, found):
    if k % 3 == 0:
        found[0].unchain()
    elif k % 3 == 1:
        found[0].unchain_backward()


def _takes_another_gradient(self, k, x, loss, found):
    if k % 3 == 0:
        self.other = [g.array for g in chainer.grad([loss], [x, *found]) if g is not None]


def _retains_gradients(self, k, x, loss, found):
    if k % 3 == 0:
        loss.backward(retain_grad=True)
        self.kept = [None if v is None or v.grad is None else v.grad.copy() for v in found]
        loss.unchain_backward()


def _raises(self, k, x, loss, found):
    if k % 3 == 0:
        F.select_item(loss * np.ones((1, 3), "f"), np.array([99]))


def _goes_back_twice(self, k, x, loss, found):
    if k % 3 == 0:
        loss.backward()


def _lets_go_of_results(self, k, x, loss, found):
    found.clear()


def _uses_the_result_more(self, k, x, loss, found):
    if k % 3 == 0:
        F.sum(found[0] ** 2).backward()


BETWEEN = {
    f.__name__.strip("_"): f for f in (
        _looks_at_the_graph, _updates_in_place, _replaces_parameters, _writes_the_argument,
        _writes_results, _unchains_the_gradient, _unchains_the_result, _takes_another_gradient,
        _raises, _retains_gradients, _goes_back_twice, _lets_go_of_results, _uses_the_result_more)
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("way", ["penalty_and_loss", "equation"])
@pytest.mark.parametrize("method", ["tanh", "used_three_times"])
def test_what_somebody_does_between(method, way, between):
    check(model_of(METHODS[method], WAYS[way], BETWEEN[between]), CALLS)


def test_parameters_written_before_the_gradient_is_taken():
    """Its functions find what is there then, and those of the call have found what was there."""

    def way(self, x):
        y = self(x)
        if int(x.name[1:]) % 4 == 3:
            self.b.W.array = self.b.W.array * np.float32(1.5)
        (g,) = chainer.grad([y], [x], enable_double_backprop=True)
        return F.sum(g * g) + F.sum(y), y, g

    check(model_of(METHODS["tanh"], way), CALLS)


def test_some_results_and_some_inputs():
    def way(self, x):
        z = variable(31)
        y, w = self(x, z)
        if int(x.name[1:]) % 2:
            (g,) = chainer.grad([w], [z], enable_double_backprop=True)
            return F.sum(g * g) + F.sum(y), y, w, z, g
        g, h = chainer.grad([y, w], [x, z], enable_double_backprop=True)
        return F.sum(g * g) + F.sum(w * h), y, w, z, g, h

    def make():
        class Model(model_of(METHODS["tanh"], way)()):
            def forward(self, x, z):
                h = F.tanh(self.a(x))
                return self.b(h * z), F.sigmoid(self.a(z) + h)

        return Model

    check(make, CALLS)


@pytest.mark.parametrize("method", ["tanh", "used_three_times", "weights_used_twice"])
def test_inside_of_the_method(method):
    """As part of a loss, of a call of another method, or of an update that is differentiated."""

    def make():
        class Model(Net):
            middle = METHODS[method]
            decorate = ("loss",)

            def loss(self, x):
                y = self(x)
                (g,) = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
                grads = chainer.grad([F.mean(y)], [self.b.W], enable_double_backprop=True)
                other = F.linear(F.tanh(self.a(x)), self.b.W - 0.1 * grads[0])
                return F.sum(g * g) + F.sum(other * y)

            def step(self, k):
                x = variable(k)
                loss = self.loss(x)
                loss.backward()
                return loss, x

        return Model

    check(make, CALLS)


def test_an_error_in_the_gradient_is_told():
    """A root has an infinite slope at zero: with ``numpy.errstate``, define-by-run raises."""

    def way(self, x):
        y = self(x)
        with np.errstate(all="raise" if int(x.name[1:]) % 4 == 3 else "ignore"):
            (g,) = chainer.grad([y], [x], enable_double_backprop=True)
        return F.sum(g), y, g

    check(model_of(lambda self, h: F.sqrt(F.relu(h)), way), CALLS)


def test_a_program_that_is_wrong_is_noticed(monkeypatch, caplog):
    """The first uses are checked; what define-by-run gives is what the caller gets."""
    from chainer.graph_optimizations import _twice

    def wrong(run, *args):
        if len(args) > 1:  # not the program, but what makes its inputs
            return run(*args)
        results, kept = run(*args)
        return tuple([results[0], *[r + 1 for r in results[1:]]]), kept

    monkeypatch.setattr(_twice, "raising", wrong)
    make = model_of(METHODS["tanh"], WAYS["penalty_and_loss"])
    expected = run(make, False, CALLS)
    assert difference(expected, run(make, True, CALLS)) is None
    assert "distrusted" in {e.kind for e in programs_of(make).events}


# -- Statistics that are read, written, and written again ------------------------------------------


class Centred(chainer.FunctionNode):
    """Subtracts a running mean, which its gradient scales with as it is then."""

    def __init__(self, mean):
        self.mean = mean

    def forward(self, inputs):
        (x,) = inputs
        self.retain_inputs((0,))
        y = x - self.mean
        self.mean *= np.float32(0.5)
        self.mean += np.float32(0.5) * x.mean(axis=0)
        return (y,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        (gy,) = grad_outputs
        return (gy * self.mean * x,)


class Fixed(chainer.FunctionNode):
    """The same of a mean that is an input of its own."""

    def forward(self, inputs):
        x, mean = inputs
        self.retain_inputs((0, 1))
        return (x - mean,)

    def backward(self, indexes, grad_outputs):
        x, mean = self.get_retained_inputs()
        (gy,) = grad_outputs
        return gy * mean * x, None


def _in_test_mode(self, x):
    with chainer.using_config("train", False):
        return self.bn(x)


READERS = {
    "batch_normalization": lambda self, x: _in_test_mode(self, x) + F.sin(self.bn(x)),
    "own_attribute": lambda self, x: Centred(self.mean).apply((x,))[0],
    "own_input": lambda self, x: (
        Fixed().apply((x, self.mean))[0] + Centred(self.mean).apply((x,))[0]),
}


def _writes(self, x):
    self.bn(x * 3)
    Centred(self.mean).apply((x * 3,))


@pytest.mark.parametrize("may_wait", [None, True])
@pytest.mark.parametrize("when", ["in_the_method", "after_a_look", "before", "between", "never"])
@pytest.mark.parametrize("reader", READERS)
def test_statistics_written_again(reader, when, may_wait, monkeypatch):
    monkeypatch.setattr(Piece, "may_wait", may_wait)

    def make():
        class Model(Base):
            def __init__(self):
                super().__init__()
                self.mean = np.ones(4, "f")

            def forward(self, x):
                y = F.tanh(READERS[reader](self, self.a(x)))
                if when == "after_a_look":
                    y.array.sum()
                if when in ("after_a_look", "in_the_method"):
                    _writes(self, x)
                return y * 2

            def step(self, k):
                x = variable(k)
                y = self(x)
                if when == "before":
                    _writes(self, x)
                total(y).backward(enable_double_backprop=True)
                g = x.grad_var
                x.cleargrad()
                if when == "between" and k % 3:
                    _writes(self, x)
                F.sum(g * g).backward()
                return y, x, g, self.mean, self.bn.avg_mean

        return Model

    check(make, CALLS)


# -- Parameters of which functions have retained views ---------------------------------------------


class Views(Net):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.p = chainer.Parameter(np.linspace(0.5, 2, 4, dtype="f"))
            self.q = chainer.Parameter(np.linspace(-1, 2, 16, dtype="f").reshape(4, 4))

    def mirrored(self, v, h):
        return (F.sin(v) * v + F.tanh(v * v))[:3] * h + F.cos(v)[1:]


VIEWS = {
    "gamma": lambda self, h: F.tanh(self.bn(h)),
    "gamma_in_test_mode": lambda self, h: F.tanh(_in_test_mode(self, h)),
    "broadcast": lambda self, h: F.tanh(h) * F.broadcast_to(self.p, (3, 4)),
    "reshaped": lambda self, h: F.tanh(h * F.tile(F.reshape(self.p, (1, 4)), (3, 1))),
    "transposed": lambda self, h: F.sin(F.matmul(F.tanh(h), F.transpose(self.q))),
    "part": lambda self, h: F.sin(h) * F.broadcast_to(self.q[1], (3, 4)) ** 2,
    "swapped": lambda self, h: F.tanh(self.mirrored(F.swapaxes(self.q, 0, 1), h)),
    "layer_normalization": lambda self, h: F.exp(0.1 * self.norm(h)),
}


@pytest.mark.parametrize("target", ["native", "numpy"])
@pytest.mark.parametrize("when", ["before", "between"])
@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_leaves_are_written(view, looks, when, target, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", target)

    def make():
        class Model(Views):
            def forward(self, x):
                h = F.tanh(self.a(x))
                if looks:
                    h.array.sum()
                return VIEWS[view](self, h)

            def writes(self, k, at, x):
                if at == when and k % 3 == 0:
                    for param in (self.p, self.q, self.bn.gamma, self.norm.gamma, x):
                        param.array[...] *= np.float32(0.75)

            def step(self, k):
                x = variable(k)
                y = self(x)
                self.writes(k, "before", x)
                (g,) = chainer.grad([y], [x], enable_double_backprop=True)
                self.writes(k, "between", x)
                F.sum(g * g * g).backward()
                return x, g

        return Model

    check(make, 2 * CALLS)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_two_losses_with_an_update_in_between(calls, twice):
    """The graph is wanted in each step, after large arrays have been written: none is lost."""

    def make():
        class Model(Base):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.c, self.d = L.Linear(4, 70), L.Linear(70, 70)
                self.__dict__["optimizer"] = chainer.optimizers.SGD(1e-3).setup(self)

            def forward(self, x):
                return self.d(F.softplus(self.c(x)))

            def step(self, k):
                for i in range(calls):
                    x = variable(10 * k + i)
                    y = self(x)
                F.sum(F.square(y)).backward()
                self.optimizer.update()
                loss = F.sum(F.tanh(y))
                loss.backward(enable_double_backprop=twice)
                self.optimizer.update()
                return loss, x, y

        return Model

    check(make, CALLS)
