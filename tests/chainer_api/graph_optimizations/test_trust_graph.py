"""Among the Variables that a caller can reach, the graph is the one of define-by-run.

Gradients with respect to Variables that the method keeps, unchaining at any moment, parameters
that are updated between forward and backward, double backprop through several calls, and the order
in which gradients are added.
"""

import gc
import weakref

import numpy as np
import pytest
from trust import Base, check, table, total, variable

import chainer
import chainer.computational_graph
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _piece

FAULTS, fault = table()


class Kept(Base):
    """Keeps two intermediate Variables, of which one is computed from the other."""

    def forward(self, x):
        self.h = F.tanh(self.bn(self.a(x)))
        self.g = F.sigmoid(self.h)
        return self.b(F.dropout(self.g) + self.h)


def stepping(base, step):
    """A chain like ``base`` with another step."""
    return lambda: type("Model", (base,), {"step": step, "forward": base.forward})


def kept(step):
    """Put a step of :class:`Kept` into the table."""
    make = stepping(Kept, step)
    make.__name__, make.__doc__ = step.__name__, step.__doc__
    return fault(make)


# -- Kept Variables --------------------------------------------------------------------------------


@kept
def gradients_of_kept_variables(self, k):
    """``chainer.grad`` with respect to an intermediate Variable (it was None)."""
    x = variable(k)
    y = self(x)
    grads = chainer.grad([F.sum(y * y)], [self.h, self.g, x, self.a.W])
    return y, grads, x


@kept
def gradients_between_kept_variables(self, k):
    x = variable(k)
    y = self(x)
    (gh,) = chainer.grad([F.sum(self.g)], [self.h])
    (gx,) = chainer.grad([F.sum(self.h)], [x])
    total(y).backward()
    return y, gh, gx, x


@kept
def retained_gradients(self, k):
    """``.grad`` of what is kept, and of an output that is also used inside."""
    x = variable(k)
    y = self(x)
    loss = total([y, self.h])
    loss.backward(retain_grad=True)
    return y, self.h, self.g, loss, x


@kept
def gradients_set_from_outside(self, k):
    x = variable(k)
    y = self(x)
    y.grad = np.full(y.shape, 0.5, "f")
    self.h.grad = np.ones(self.h.shape, "f")
    y.backward()
    return y, self.h, x


@kept
def grad_cam(self, k):
    """Gradients of a class's score for a feature map, and the features weighted by them."""
    x = variable(k)
    score = F.sum(self(x)[:, k % 4])
    (g,) = chainer.grad([score], [self.h])
    weights = F.mean(g, axis=1, keepdims=True)
    return F.relu(F.sum(F.broadcast_to(weights, self.h.shape) * self.h, axis=1)), x


@kept
def adversarial_perturbation_of_a_hidden_layer(self, k):
    x = variable(k)
    y = self(x)
    total(y).backward(retain_grad=True)
    moved = chainer.Variable(self.h.array + 0.1 * np.sign(self.h.grad))
    z = self.b(moved)
    total(z).backward()
    return y, z, moved, x


@kept
def kept_variable_unchained(self, k):
    x = variable(k)
    y = self(x)
    self.h.unchain()
    total(y).backward()
    return y, self.h, x


@kept
def kept_variable_unchained_backward(self, k):
    """``b.W.grad`` was None."""
    x = variable(k)
    y = self(x)
    [self.h, self.g, y][k % 3].unchain_backward()
    F.sum(y).backward()
    return y, self.h, x


class BesideSomethingGone(Base):
    """What it keeps has nothing to do with a value that its program gave, and that is gone."""

    def forward(self, x, z):
        v = self.a(z)
        gone = v * v  # held by a name when the program runs
        self.h = F.sigmoid(self.b(x))
        y = self.h * v
        assert y.array.shape == gone.shape
        return F.tanh(y)


def _unchained_backward(model, y, x, z):
    """The gradients of ``z`` and of the weights behind it were None."""
    model.h.unchain_backward()


def _unchained(model, y, x, z):
    model.h.unchain()


def _function_unchained(model, y, x, z):
    model.h.creator.unchain()


def _gone_backward(model, y, x, z):
    F.sum(model.h).backward()


def _gone_backward_retained(model, y, x, z):
    F.sum(model.h).backward(retain_grad=True)


def _gone_grad(model, y, x, z):
    model.found = [None if g is None else g.array for g in chainer.grad([model.h], [x, z])]


def _gone_graph(model, y, x, z):
    graph = chainer.computational_graph.build_computational_graph([model.h])
    model.found = len(graph.nodes), len(graph.edges)


for _first in (_unchained_backward, _unchained, _function_unchained, _gone_backward,
               _gone_backward_retained, _gone_grad, _gone_graph):

    def _step(self, k, first=_first):
        x, z = variable(k), variable(k + 100)
        y = self(x, z)
        first(self, y, x, z)
        F.sum(y * y).backward()
        return y, self.h, x, z, self.__dict__.get("found")

    _make = stepping(BesideSomethingGone, _step)
    _make.__name__ = "beside_something_gone" + _first.__name__
    fault(_make)


@kept
def kept_and_used_outside(self, k):
    x = variable(k)
    y = self(x)
    loss = total(y) + total(F.exp(self.g)) + F.sum(self.h[:2])
    loss.backward()
    return y, loss, x


@kept
def kept_variable_cleared(self, k):
    """A Variable that is dropped between forward and backward."""
    x = variable(k)
    y = self(x)
    if k % 2:
        self.h = None
    if k % 3:
        self.g = None
    total(y).backward()
    return y, x


@kept
def creators(self, k):
    """Labels, ranks and inputs of the nodes are those of the functions."""
    x = variable(k)
    y = self(x)
    labels, node = [], y
    while node.creator is not None:
        labels.append((node.creator.label, node.creator.rank, len(node.creator.inputs)))
        node = node.creator.inputs[0]
    if k % 2:
        total(y).backward()
    return labels, y, x


@kept
def drawing(self, k):
    x = variable(k)
    y = self(x)
    graph = chainer.computational_graph.build_computational_graph([y])
    names = sorted(n.label for n in graph.nodes if hasattr(n, "inputs"))
    total(y).backward()
    return names, len(graph.edges), y, x


@kept
def nodes_of_variables(self, k):
    x = variable(k)
    y = self(x)
    facts = [(v.node.shape, v.node.dtype, v.rank, v.label) for v in (y, self.h, self.g, x)]
    facts.append(self.h.node is self.h.node)
    total(y).backward()
    return facts, y, x


@kept
def array_of_a_kept_variable_replaced(self, k):
    """Functions that keep their output see the array that they made."""
    x = variable(k)
    y = self(x)
    self.h.array = self.h.array * 2
    total(y).backward()
    return y, self.h, x


@kept
def array_of_a_kept_variable_written(self, k):
    """Written in place between forward and backward."""
    x = variable(k)
    y = self(x)
    self.g.array[...] *= 2
    total(y).backward()
    return y, self.g, x


@kept
def arrays_that_nodes_retain(self, k):
    x = variable(k)
    y = self(x)
    retained = [v.node.data for v in (self.h, self.g, y, x)]
    total(y).backward()
    return y, [None if a is None else a is v.array for a, v in zip(
        retained, (self.h, self.g, y, x), strict=True)]


@kept
def input_written(self, k):
    x = variable(k)
    y = self(x)
    x.array[...] *= 2
    total(y).backward()
    return y, x


@kept
def output_replaced(self, k):
    x = variable(k)
    y = self(x)
    y.array = y.array + 1
    F.sum(y * y).backward()
    return y, x


@kept
def several_backwards(self, k):
    """Of parts of the graph, one after another."""
    x = variable(k)
    y = self(x)
    F.sum(self.h).backward()
    F.sum(self.g * 2).backward()
    total(y).backward()
    total(y).backward()
    return y, self.h, x


@kept
def losses_per_kept_variable(self, k):
    x = variable(k)
    y = self(x)
    chainer.backward([total(y), F.sum(self.h), F.sum(self.g)])
    return y, x


@fault
def many_kept_variables():
    class Model(Base):
        def forward(self, x):
            self.hs, h = [], x
            for k in range(5):
                h = F.tanh(self.a(h)) if k % 2 else F.dropout(self.b(h))
                self.hs.append(h)
            return h

        def step(self, k):
            x = variable(k)
            y = self(x)
            if k % 3 == 1:
                self.hs[k % 5].unchain()
            if k % 3 == 2:
                self.hs[k % 4].unchain_backward()
            grads = chainer.grad([y], [*self.hs, x])
            (total(y) + total(self.hs)).backward()
            return y, grads, self.hs, x

    return Model


@fault
def one_of_several_results_unchained():
    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            return F.tanh(h), F.sigmoid(self.b(h))

        def step(self, k):
            x = variable(k)
            h, g = self(x)
            if k % 3 == 1:
                h.unchain()
            if k % 3 == 2:
                g.unchain()
            (F.sum(h) + F.sum(g)).backward()
            return h, g, x

    return Model


@fault
def result_that_depends_on_another():
    class Model(Base):
        def forward(self, x):
            h = F.tanh(self.a(x))
            return h, self.b(h), h * 2

        def step(self, k):
            x = variable(k)
            h, y, z = self(x)
            if k % 4 == 1:
                h.unchain()
            if k % 4 == 2:
                h.unchain_backward()
            grads = chainer.grad([F.sum(y * z)], [h, x])
            (total([y, z]) + F.sum(h)).backward(retain_grad=k % 2 > 0)
            return h, y, z, grads, x

    return Model


@fault
def two_losses_of_which_one_is_unchained():
    """``unchain_backward`` after its backward: the other loss lost its gradients."""

    class Model(Base):
        def forward(self, x):
            h = F.tanh(self.a(x))
            return F.sum(h * h), F.sum(self.b(h) ** 2)

        def step(self, k):
            x = variable(k)
            one, two = self(x)
            one.backward()
            one.unchain_backward()
            two.backward()
            return one, two, x

    return Model


@fault
def argument_with_a_graph():
    """The argument is computed from something that is unchained after the call."""

    class Model(Base):
        def forward(self, x):
            return self.b(F.tanh(self.a(x)) + x)

        def step(self, k):
            x = variable(k)
            h = F.sin(x) * 2
            y = self(h)
            if k % 3 == 1:
                h.unchain()
            if k % 3 == 2:
                h.unchain_backward()
            grads = chainer.grad([y], [h, x])
            total(y).backward(retain_grad=True)
            return y, h, grads, x

    return Model


@fault
def partly_without_gradients():
    """``requires_grad`` of results is that of define-by-run; so are names."""

    class Model(Base):
        def forward(self, x, mask):
            h = F.tanh(mask * 2)
            y = self.a(x)
            y.name = "logits"
            return y, h, F.argmax(y, axis=1), F.cast(y, "d"), F.relu(chainer.Variable(mask.array))

        def step(self, k):
            x, mask = variable(k), variable(k + 50)
            mask = chainer.Variable(mask.array, requires_grad=k % 2 > 0)
            found = self(x, mask)
            facts = [(v.requires_grad, v.creator is None, v.rank, v.name) for v in found]
            total(found[:2]).backward()
            return facts, found, x, mask

    return Model


@fault
def parameters_without_gradients():
    """``disable_update`` leaves gradients, ``requires_grad`` False does not."""

    class Model(Base):
        def forward(self, x):
            return self.b(F.tanh(self.a(x)))

        def step(self, k):
            self.a.W.node._requires_grad = self.a.W._requires_grad = k % 3 > 0
            (self.b.disable_update if k % 2 else self.b.enable_update)()
            return super().step(k)

    return Model


@fault
def freed_graphs():
    """What the caller drops is freed at once."""

    class Model(Base):
        def forward(self, x):
            h = F.tanh(self.a(x))
            return self.b(h)

        def step(self, k):
            gc.collect()
            x = variable(k)
            y = self(x)
            held = weakref.ref(x), weakref.ref(x.node)
            total(y).backward()
            y.unchain_backward()
            y = y.array
            del x
            return [r() is None for r in held], y

    return Model


# -- State of recurrent networks -------------------------------------------------------------------


@fault
def recurrent_state():
    """Truncated backpropagation: state goes from call to call, and is unchained now and then."""

    class Model(Base):
        h = None

        def forward(self, x):
            z = self.a(x) if self.h is None else self.a(x) + self.b(self.h)
            self.h = F.tanh(z)
            return F.dropout(self.h, 0.2)

        def step(self, k):
            x = variable(k)
            y = self(x)
            self.loss = getattr(self, "loss", 0) + F.sum(y * y)
            if k % 3 == 2:
                self.loss.backward()
                self.loss.unchain_backward()
                self.loss = 0
            return y, x

    return Model


@fault
def recurrent_state_never_unchained():
    """Parameters are updated while calls before them still wait for gradients."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm = L.LSTM(4, 4)
                self.peephole = L.StatefulPeepholeLSTM(4, 4)
            self.optimizer = chainer.optimizers.SGD(0.05).setup(self)

        def forward(self, x):
            return self.peephole(self.lstm(x))

        def step(self, k):
            if k % 6 == 0:
                self.lstm.reset_state()
                self.peephole.reset_state()
            x = variable(k)
            y = self(x)
            F.sum(y * y).backward()
            self.optimizer.update()
            return y, x

    return Model


@fault
def calls_before_one_backward():
    class Model(Base):
        def forward(self, x):
            return self.b(F.dropout(F.tanh(self.bn(self.a(x)))))

        def step(self, k):
            xs = [variable(k), variable(k + 20), variable(k + 40)]
            ys = [self(x) for x in xs]
            loss = F.sum(ys[0] * ys[2]) + total(ys[1])
            loss.backward()
            return ys, xs

    return Model


@fault
def calls_in_a_row():
    """Each takes what the one before gave."""

    class Model(Base):
        def forward(self, x):
            return F.tanh(self.a(x)) + x

        def step(self, k):
            x = y = variable(k)
            for _ in range(4):
                y = self(y)
            total(y).backward()
            return y, x

    return Model


# -- Parameters that change between forward and backward -------------------------------------------


class Normalized(Base):
    """Functions that keep parameters for backward."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.ln, self.prelu = L.LayerNormalization(4), L.PReLU()
            self.p = chainer.Parameter(np.linspace(-1, 1, 16, dtype="f").reshape(4, 4))

    def forward(self, x):
        h = F.leaky_relu(self.bn(self.a(x)))
        return self.prelu(self.ln(h)) + F.linear(h, F.normalize(self.p))


@fault
def parameters_rebound_before_backward():
    def step(self, k):
        x = variable(k)
        y = self(x)
        for p in (self.a.W, self.bn.gamma, self.p, self.ln.gamma):
            p.array = p.array * 1.5
        total(y).backward()
        return y, x

    return stepping(Normalized, step)()


@fault
def parameters_written_before_backward():
    def step(self, k):
        x = variable(k)
        y = self(x)
        for p in self.params():
            p.array[...] *= 1.2
        total(y).backward()
        return y, x

    return stepping(Normalized, step)()


@fault
def batch_normalization_alone():
    """Off by a third when gamma was scaled."""

    class Model(Base):
        def forward(self, x):
            return self.bn(x)

        def step(self, k):
            x = variable(k)
            y = self(x)
            self.bn.gamma.array = self.bn.gamma.array * 1.5
            total(y).backward()
            return y, x

    return Model


@fault
def discriminator_updated_before_the_generator():
    """Both losses come from one forward; the discriminator's update lies between the backwards."""

    class Model(Base):
        decorate = ("forward", "generate")

        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.g = L.Linear(4, 4)
            self.first = chainer.optimizers.Adam(0.05).setup(self)

        def generate(self, z):
            return F.tanh(self.g(z))

        def forward(self, x):
            return F.sum(F.leaky_relu(self.bn(self.a(x))), axis=1)

        def step(self, k):
            z, x = variable(k), variable(k + 50)
            fake = self.generate(z)
            y_fake, y_real = self(fake), self(x)
            loss_g = F.sum(F.softplus(-y_fake))
            loss_d = F.sum(F.softplus(y_fake)) + F.sum(F.softplus(-y_real))
            loss_d.backward()
            self.first.update()
            self.cleargrads()
            loss_g.backward()
            self.first.update()
            return loss_g, loss_d, z, x

    return Model


@fault
def parameters_updated_before_double_backprop():
    def step(self, k):
        x = variable(k)
        y = self(x)
        (g,) = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
        for p in self.params():
            p.array = np.asarray(p.array * np.float32(0.8))
        F.sum(g * g).backward()
        return y, g, x

    return stepping(Normalized, step)()


@fault
def statistics_changed_before_backward():
    class Model(Base):
        def forward(self, x):
            return self.bn(self.a(x))

        def step(self, k):
            x = variable(k)
            with chainer.using_config("train", k % 2 > 0):
                y = self(x)
            self.bn.avg_mean[...] += 1
            self.bn.avg_var = self.bn.avg_var * 2
            total(y).backward()
            return y, x

    return Model


@fault
def configuration_changed_before_backward():
    class Model(Base):
        def forward(self, x):
            return F.dropout(self.bn(self.a(x)))

        def step(self, k):
            x = variable(k)
            y = self(x)
            with chainer.using_config("train", False), chainer.using_config("dtype", np.float64):
                total(y).backward()
            return y, x

    return Model


# -- Double backprop -------------------------------------------------------------------------------


def chained(function, calls):
    """``calls`` calls in a row, a gradient, and the gradient of its square."""

    def make():
        class Model(Base):
            def forward(self, x):
                return function(x)

            def step(self, k):
                x = y = variable(k)
                for _ in range(calls):
                    y = self(y)
                (g,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
                F.sum(g * g).backward()
                return y, g, x

        return Model

    return make


@fault
def ranks_of_values_without_gradients():
    """They decide in which order gradients are added, too (the last bits were others)."""

    class Model(Base):
        def forward(self, x, u):
            h = F.tanh(self.b(x))
            v = u + h
            w = F.sigmoid(h) * h
            return v * w * 3.7

        def step(self, k):
            x = variable(k)
            u = chainer.Variable(variable(k + 100).array, requires_grad=False)
            for _ in range(k % 4):
                u = F.tanh(u) * 1.5
            y = self(x, u)
            total(y).backward()
            return y, x

    return Model


@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("name", ["tanh", "exp", "sigmoid", "square", "softplus", "log_softmax"])
def test_double_backprop_through_chained_calls(name, calls):
    """It was wrong by 20 to 70 % from the third round on."""
    check(chained(getattr(F, name), calls))


@fault
def double_backprop_of_a_nested_chain():
    class Inner(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = L.Linear(4, 4)

        @chainer.static_graph
        def forward(self, x):
            return F.tanh(self.a(x))

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner = Inner()

        def forward(self, x):
            return self.b(F.sigmoid(self.inner(self.inner(x))))

        def step(self, k):
            x = variable(k)
            y = self(self.inner(x))
            (g,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
            loss = F.sum(g * g) + F.sum(y)
            loss.backward()
            return y, g, x

    return Model


@fault
def double_backprop_of_recurrent_state():
    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm = L.StatefulPeepholeLSTM(4, 4)

        def forward(self, x):
            return self.lstm(x)

        def step(self, k):
            self.lstm.reset_state()
            xs = [variable(k), variable(k + 1), variable(k + 2)]
            ys = [self(x) for x in xs]
            grads = chainer.grad([F.sum(ys[-1])], xs, enable_double_backprop=True)
            sum(F.sum(g * g) for g in grads).backward()
            return ys, grads, xs

    return Model


@fault
def double_backprop_with_a_mode_inside():
    """Functions that ran under ``no_backprop_mode`` stay without a graph when it is rebuilt."""

    class Model(Base):
        def forward(self, x):
            h = F.tanh(self.a(x))
            with chainer.no_backprop_mode():
                g = F.sigmoid(self.b(h))
            with chainer.force_backprop_mode():
                return F.exp(h * g)

        def step(self, k):
            x = variable(k)
            y = self(x)
            (g,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
            F.sum(g * g).backward()
            return y, g, x

    return Model


@fault
def double_backprop_with_dropout_and_statistics():
    def step(self, k):
        x = variable(k)
        y = self(x)
        (gh,) = chainer.grad([F.sum(y * y)], [self.h], enable_double_backprop=True)
        (gx,) = chainer.grad([F.sum(gh * gh)], [x], enable_double_backprop=True)
        F.sum(gx * gx).backward()
        return y, gh, gx, x

    return stepping(Kept, step)()


@fault
def backward_with_double_backprop():
    """``backward(enable_double_backprop=True)``, and gradients of gradients."""

    class Model(Base):
        def forward(self, x):
            return self.b(F.tanh(self.a(x)))

        def step(self, k):
            x = variable(k)
            y = self(x)
            F.sum(y * y).backward(enable_double_backprop=True)
            g = x.grad_var
            loss = F.sum(g * g) + F.sum(self.a.W.grad_var ** 2)
            x.cleargrad()
            self.cleargrads()
            loss.backward()
            return y, loss, x

    return Model


@fault
def gradients_with_given_outputs():
    class Model(Base):
        def forward(self, x):
            return F.tanh(self.a(x)), F.exp(self.b(x))

        def step(self, k):
            x = variable(k)
            y, z = self(x)
            given = [variable(k + 60), None if k % 2 else variable(k + 70)]
            grads = chainer.grad(
                [y, z], [x, self.a.W, self.b.W], given, enable_double_backprop=k % 3 > 0
            )
            if k % 3:
                total(grads).backward()
            return y, z, grads, given, x

    return Model


# -- The order of sums -----------------------------------------------------------------------------


@fault
def gradient_penalty():
    """Three calls of a critic and a penalty in one loss: every progressive GAN."""

    class Model(Base):
        def forward(self, x):
            return F.sum(self.b(F.leaky_relu(self.a(x))), axis=1)

        def step(self, k):
            real, fake = variable(k), variable(k + 30)
            mixed = chainer.Variable(0.3 * real.array + 0.7 * fake.array)
            d_real, d_fake, d_mixed = self(real), self(fake), self(mixed)
            (g,) = chainer.grad([d_mixed], [mixed], enable_double_backprop=True)
            norm = F.sqrt(F.batch_l2_norm_squared(g) + 1e-6)
            penalty = 10 * F.mean_squared_error(norm, np.ones(3, "f"))
            drift = 1e-3 * F.mean(d_real * d_real)
            loss = F.mean(d_fake) - F.mean(d_real) + penalty + drift
            loss.backward()
            return loss, g, real, fake, mixed

    return Model


@fault
def outputs_and_inputs_that_stand_twice():
    """``chainer.backward`` adds them, ``chainer.grad`` counts each once."""

    class Model(Base):
        def forward(self, h):
            return self.b(F.tanh(h)) * h

        def step(self, k):
            x = variable(k)
            h = F.sin(x) * 2
            y = self(h)
            z = F.exp(h)
            given = [variable(k + 60 + 10 * i) for i in range(4)]
            grads = chainer.grad([h, y, h, z], [x, h, h], given, [None, given[3], given[0]])
            chainer.backward([h, y, h, z], given)
            return y, z, grads, x

    return Model


@fault
def three_uses_inside_and_outside():
    """An input that is used several times inside and outside."""

    class Model(Base):
        def forward(self, x):
            return F.tanh(x) + self.a(x) * x + F.exp(x)

        def step(self, k):
            x = variable(k)
            h = F.sin(x)
            y = h * 3 + self(h) + F.cos(h) + self(h) * h
            total(y).backward()
            return y, x

    return Model


@fault
def outputs_used_inside_and_outside():
    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            return h, F.tanh(h) + F.exp(h) * h, F.sigmoid(h)

        def step(self, k):
            x = variable(k)
            h, g, s = self(x)
            y = F.cos(h) + h * g + s / (abs(h) + 1) + F.sin(g)
            total(y).backward()
            return y, h, g, s, x

    return Model


@fault
def shared_parameters_in_two_chains():
    """A parameter that a decorated and an undecorated chain share (weight tying)."""

    class Model(Base):
        def forward(self, x):
            return F.tanh(self.a(x)) + F.linear(x, self.a.W) + self.a(F.exp(x))

        def step(self, k):
            x = variable(k)
            y = F.linear(self(x), F.transpose(self.a.W)) + self.a(x) + self(F.tanh(self.a(x)))
            total(y).backward()
            return y, x

    return Model


@fault
def sums_of_gradients_with_double_backprop():
    class Model(Base):
        def forward(self, x):
            h = F.tanh(self.a(x))
            return h * h + F.exp(h) + self.b(h)

        def step(self, k):
            x = variable(k)
            y = self(x) + self(F.sin(x)) * x
            grads = chainer.grad([F.sum(y)], [x, self.a.W], enable_double_backprop=True)
            (F.sum(y) + sum(F.sum(g * g) for g in grads)).backward()
            return y, grads, x

    return Model


@fault
def sums_of_products_of_one_input():
    """Three uses of one input in products and a mean: found by random programs."""

    class Model(Base):
        def forward(self, x):
            h = x - F.broadcast_to(F.mean(x, axis=0, keepdims=True), x.shape)
            g = F.scale(h, F.mean(x, axis=0), 1)
            return F.select_item(x, g.array.argmax(axis=1))[:, None] * g

    return Model


@fault
def sums_of_a_matrix_used_three_times():
    class Model(Base):
        def forward(self, x):
            g = F.matmul(F.matmul(x, x, transb=True), x) * 0.05
            return x, g, float(g.array.mean())

    return Model


@fault
def sums_over_calls_of_one_normalization():
    """Parameters that are used twice in each of three calls before one backward."""

    class Model(Base):
        def forward(self, x):
            with chainer.no_backprop_mode():
                h = F.tanh(x)
            h = h * x
            return self.bn(h) + self.bn(h)

        def step(self, k):
            xs = [variable(k), variable(k + 20), variable(k + 40)]
            sum(total(self(x)) for x in xs).backward()
            return xs

    return Model


@fault
def gradients_accumulate():
    """Over calls without ``cleargrads`` between them."""

    class Model(Base):
        def forward(self, x):
            return self.b(F.tanh(self.a(x)) + self.a(x))

        def step(self, k):
            x = variable(k)
            for _ in range(3):
                total(self(x)).backward()
            return x

    return Model


@fault
def gradients_written_in_place():
    """Which arrays the gradients are is the caller's to change."""

    class Model(Base):
        def forward(self, x):
            return self.b(F.tanh(self.a(x)))

        def step(self, k):
            x = variable(k)
            y = self(x)
            total(y).backward()
            for p in (self.a.W, self.a.b, self.b.W, self.b.b):
                p.grad[...] *= 0.5
            x.grad[0] = 7
            total(self(x)).backward()
            return y, x

    return Model


@fault
def loss_scale():
    class Model(Base):
        def forward(self, x):
            return F.sum(self.b(F.tanh(self.a(x))) ** 2)

        def step(self, k):
            x = variable(k)
            loss = self(x)
            loss.backward(loss_scale=float(2 ** (k % 3)))
            return loss, x

    return Model


@fault
def optimizer_with_hooks():
    """A training loop: updates, weight decay, clipping, and a snapshot's worth of state."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.optimizer = chainer.optimizers.MomentumSGD(0.05).setup(self)
            self.optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
            self.optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.0))

        def forward(self, x, t):
            h = F.dropout(F.relu(self.bn(self.a(x))))
            return F.softmax_cross_entropy(self.b(h), t)

        def step(self, k):
            x, t = variable(k), np.array([0, 3, k % 4], "i")
            self.optimizer.update(self, x, t)
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                after = self(x, t)
            return after, x

    return Model


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_the_graph(make):
    check(make)


@pytest.mark.parametrize("make", FAULTS[::3], ids=lambda f: f.__name__)
def test_the_graph_with_programs_that_are_large(make, monkeypatch):
    """Their checks hold no two sets of intermediate values, or of gradients, at a time."""
    monkeypatch.setattr(_piece, "_LARGE", -1)
    check(make)


# -- Gradients with respect to what requires none --------------------------------------------------

METHODS = {
    "product": lambda m, x: (m.a(x),),
    "computed": lambda m, x: (F.sum(m.a(F.exp(x))),),
    "kept": lambda m, x: (F.sum(m.a(h := F.exp(x)) * 2), h),
    "beside": lambda m, x: (F.tanh(x * m.a.W) * x,),
    "several": lambda m, x: (F.tanh(m.a(x)), F.exp(x) * m.b(x)),
    "choice": lambda m, x: (F.sum(F.where(np.eye(4) > 0, x, m.a.W)),),
    "rows": lambda m, x: (F.embed_id(np.array([1, 0, 2]), x) * m.b.W[:3], m.a(x)),
    "wrapped": lambda m, x: (F.linear(chainer.as_variable(x.array), m.a.W) + m.b(x),),
}


@pytest.mark.parametrize("name", METHODS)
def test_gradients_of_what_requires_none(name):
    def make():
        class Model(Base):
            def forward(self, x):
                return METHODS[name](self, x)

            def step(self, k):
                x = chainer.Variable(variable(k, 4, 4).array, requires_grad=False)
                ys = self(x)
                asked = [[x], [x, self.a.W], [self.a.W], [self.b.W, x], [x, *ys[1:]]][k % 5]
                found = chainer.grad(ys[:1], asked, enable_double_backprop=k % 3 == 1)
                if k % 3 == 1 and found[-1] is not None and found[-1].requires_grad:
                    found += chainer.grad([F.sum(found[-1] ** 2)], asked)
                if k % 4 == 3:
                    found += chainer.grad(ys, [x], grad_inputs=[x])
                return ys, found

        return Model

    check(make, 30)


# -- Arrays of other forms between a call and its backward -----------------------------------------


class Forms(chainer.Chain):
    """Keeps one result, which another is computed from."""

    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(6, size), L.Linear(size, 4)

    def forward(self, x):
        self.h = F.tanh(self.a(x))
        return self.b(self.h)


def of_shape(x):
    """One more column."""
    return np.zeros((*x.shape[:-1], x.shape[-1] + 1), x.dtype)


def of_dtype(x):
    return x.array.astype("d")


REFORMED = {
    "W": lambda net, x, y, loss: net.a.W,
    "b": lambda net, x, y, loss: net.b.b,
    "x": lambda net, x, y, loss: x,
    "h": lambda net, x, y, loss: net.h,
    "y": lambda net, x, y, loss: y,
}


def by_method(net, x, y, loss):
    loss.backward()


def by_grad(net, x, y, loss):
    for p, g in zip(net.params(), chainer.grad([loss], [*net.params()]), strict=True):
        p.grad_var = g


def together(net, x, y, loss):
    loss.grad = np.ones_like(loss.array)
    chainer.backward([loss])


def with_graph(net, x, y, loss):
    loss.backward(enable_double_backprop=True)


def reformed_steps(net, which, form, backward, whole, calls=9):
    """What each step gives; in some, one array is another while gradients are taken."""
    found = []
    for k in range(calls):
        x = variable(k, 3, 6)
        net.cleargrads()
        y = net(x)
        loss = F.sum(y) if whole else F.mean(F.square(y)) + F.sum(y)
        changed = REFORMED[which](net, x, y, loss)
        before = changed.array
        if k % 4 >= 2:
            changed.array = form(changed)
            if k % 4 == 3 and form is of_dtype:
                changed.array = before  # as if nothing had been
        try:
            backward(net, x, y, loss)
            found.append("went")
        except Exception as error:
            found.append(f"{type(error).__name__} {error}")
        found += [None if p.grad is None else p.grad.tobytes() for p in [x, *net.params()]]
        changed.array = before
    return found


@pytest.mark.parametrize("backward", [by_method, by_grad, together, with_graph])
@pytest.mark.parametrize("form", [of_shape, of_dtype])
@pytest.mark.parametrize("which", REFORMED)
@pytest.mark.parametrize("size", [5, 5000])
@pytest.mark.parametrize("whole", [True, False])
def test_gradients_of_arrays_of_another_form_are_refused(which, form, backward, size, whole):
    """A gradient has the form that its array had in the call: functions say that it does not fit
    (a program gave it, in silence)."""
    forward = chainer.static_graph(Forms.forward)
    found = []
    for cls in Forms, type("Compiled", (Forms,), {"forward": forward}):
        np.random.seed(0)
        with chainer.using_config("static_budget", None):
            found.append(reformed_steps(cls(size), which, form, backward, whole))
    assert found[0] == found[1]
    if which == "b" and backward is not by_grad:  # which only its gradient depends on
        assert any(type(value) is str and "incorrect" in value for value in found[0])


# -- Results that get another array, which functions find in backward -----------------------------


class Found(chainer.Chain):
    """Backward reads ``h``: its function has retained it, or one that has taken it."""

    def __init__(self, kind, size):
        super().__init__()
        self.kind = kind
        with self.init_scope():
            self.a, self.b = L.Linear(6, size), L.Linear(size, 2)

    def forward(self, x):
        h = self.a(x)
        if self.kind == "output":
            return (F.tanh(h),)
        if self.kind == "input":
            h = F.tanh(h)
            return h, F.square(h)
        if self.kind == "inside":
            h = F.tanh(h)
            h.data = np.clip(h.data, -0.3, 0.3)
            return h, F.square(h)
        if self.kind == "both":  # of the gradient of b
            return h, self.b(h)
        if self.kind == "not alone":
            return F.tanh(h), F.exp(h)
        c, h = F.lstm(h[:, :3], F.concat([h, h * 2.0, h[:, :2]], 1)[:, :12])
        return c, h


OTHER = {
    "number": lambda h: h * np.float32(1.5),
    "layout": lambda h: h[::-1],
    "shape": lambda h: np.concatenate([h, h[:, :1]], 1),
}


def rebound_steps(net, other, drops, tail, backward, calls=28):
    """What each step gives; in some, the first result is another array after the call."""
    found = []
    for k in range(calls):
        x = variable(k, 3, 6)
        results = net(x)
        h = results[0]
        is_set = k % 7 >= 5
        if drops:  # of several, the others alone lead to the loss
            loss = sum([tail(y) for y in results[1:] or results])
        if is_set:
            h.array = other(h.array)
        try:
            if not drops:
                loss = sum([tail(y) for y in results])
            net.cleargrads()
            if drops:
                del h, results
            backward(net, x, None, loss)
        except Exception as error:
            found.append(f"{type(error).__name__} {error}")
        found += [loss.array.tobytes(), *[
            None if p.grad is None else p.grad.tobytes() for p in net.params()]]
    return found


@pytest.mark.parametrize("backward", [by_method, by_grad, together, with_graph])
@pytest.mark.parametrize("tail", [F.sum, lambda y: F.sum(y * y)], ids=["sum", "square"])
@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("other", OTHER)
@pytest.mark.parametrize("size", [5, 5000])
@pytest.mark.parametrize("kind", ["output", "input", "inside", "both", "not alone", "cell"])
def test_functions_find_what_was_set_on_a_result(kind, size, other, drops, tail, backward):
    """Also where nobody holds the Variable any more: its node does (a program took the old one)."""
    size = 16 if kind == "cell" else size
    forward = chainer.static_graph(Found.forward)
    found = []
    for cls in Found, type("Compiled", (Found,), {"forward": forward}):
        np.random.seed(0)
        with chainer.using_config("static_budget", None):
            found.append(rebound_steps(cls(kind, size), OTHER[other], drops, tail, backward))
    assert found[0] == found[1]


# -- Graphs that are looked at after an update ----------------------------------------------------


class Large(chainer.Chain):
    """Of its leaves no copies are kept."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(8, 800), L.Linear(800, 4)

    def forward(self, x):
        return self.b(F.tanh(self.a(x)))


def whole_graph(y):
    graph = chainer.computational_graph.build_computational_graph([y])
    return sorted([(node.label, node.rank) for node in graph.nodes])


def up_to_leaves(y):
    found, seen = [], [y.creator_node]
    while seen:
        func = seen.pop()
        found.append((func.label, [(x.shape, x.dtype, x.requires_grad) for x in func.inputs]))
        seen += [x.creator_node for x in func.inputs if x.creator_node is not None]
    return found


def cut_in_the_middle(y):
    h = next(x for x in y.creator_node.inputs if x.creator_node is not None)
    h.unchain()
    return whole_graph(y), h.rank


def all_cut(y):
    y.unchain_backward()
    return y.creator_node is None


@pytest.mark.parametrize("budget", [None, 0.1])
@pytest.mark.parametrize("look", [whole_graph, up_to_leaves, cut_in_the_middle, all_cut])
@pytest.mark.parametrize("updates", [True, False])
def test_a_graph_is_there_to_be_looked_at_after_an_update(look, updates, budget):
    """Of large parameters, which are others by then (it was a RuntimeError)."""
    forward, found = chainer.static_graph(Large.forward), []
    for cls in Large, type("Compiled", (Large,), {"forward": forward}):
        np.random.seed(0)
        net = cls()
        optimizer = chainer.optimizers.SGD(0.01).setup(net)
        with chainer.using_config("static_budget", budget):
            for k in range(120):
                y = net(variable(k, 3, 8))
                net.cleargrads()
                F.sum(y).backward()
                if updates:
                    optimizer.update()
                if k % 40 == 39:
                    found.append(look(y))
    assert found[:3] == found[3:]


def test_gradients_that_are_lost_are_no_others():
    """Backward through such a graph says why it does not go."""
    np.random.seed(0)
    net = type("Compiled", (Large,), {"forward": chainer.static_graph(Large.forward)})()
    with chainer.using_config("static_budget", None):
        for k in range(120):
            y = net(variable(k, 3, 8))
            net.cleargrads()
            F.sum(y).backward()
        net.a.W.array[...] *= 2.0
        whole_graph(y)
        with pytest.raises(RuntimeError, match="Go backward before you update"):
            F.sum(y).backward()
        with pytest.raises(RuntimeError, match="Go backward before you update"):
            chainer.grad([y], [net.b.b])
        assert all([x.data is None for x in y.creator_node.inputs if x.creator_node is not None])


# -- Backward that goes on through the steps before ------------------------------------------------


class Words(chainer.Chain):
    """Takes one word of a sentence after the other; its weights are large arrays."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.e, self.l, self.o = L.Linear(8, 80), L.LSTM(80, 80), L.Linear(80, 8)

    def forward(self, x):
        return self.o(self.l(self.e(x)))


@pytest.mark.parametrize("words", [1, 2, 5, 9])
def test_a_state_that_is_unchained_after_some_steps_only(words):
    """Kinds of backward that come after updates, first after several steps."""
    compiled = type("Compiled", (Words,), {"forward": chainer.static_graph(Words.forward)})
    found = []
    for cls in Words, compiled:
        np.random.seed(0)
        net, losses = cls(), []
        optimizer = chainer.optimizers.SGD(0.01).setup(net)
        with chainer.using_config("static_budget", None):
            for k in range(14):
                for i in range(words):
                    y = net(variable(k + i, 2, 8))
                loss = F.mean(F.square(y - 1))
                net.cleargrads()
                loss.backward()
                optimizer.update()
                losses += [loss.array.tobytes(), net.l.lateral.W.grad.tobytes()]
                if k % 6 == 5:
                    loss.unchain_backward()
                    net.l.h.unchain_backward()
        found.append(losses)
    assert found[0] == found[1]
