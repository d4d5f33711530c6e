"""The user's Python runs in every call: whatever it reads, makes, changes or returns is its own.

Each function of the table makes a chain that once went wrong when its method was compiled; what
:func:`trust.check` compares is the first, second, third and later calls, bit for bit.
"""

import collections
import contextvars
import copy
import functools
import itertools
import os
import pickle
import random
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest
from trust import Base, Box, check, simple, table, total, variable

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L

FAULTS, fault = table()


# -- Results ---------------------------------------------------------------------------------------


@fault
def object_as_result():
    """Variables in a plain object: the gradient to the inputs was lost in the first call."""

    def forward(self, x):
        h = F.tanh(self.a(x))
        return Box(h, inner=Box(self.b(h)))

    return simple(forward)


@fault
def distribution_as_result():
    """A policy that returns a distribution."""

    class Model(Base):
        def forward(self, x):
            return D.Normal(self.a(x), log_scale=F.tanh(self.b(x)))

        def step(self, k):
            x = variable(k)
            p = self(x)
            action = p.sample()
            loss = F.sum(p.log_prob(action.array) + p.entropy) + F.sum(p.mean)
            loss.backward()
            return action, p.mean, p.stddev, loss, x

    return Model


@fault
def categorical_as_result():
    """A distribution whose parameters are used before it is returned."""

    class Model(Base):
        def forward(self, x):
            p = D.Categorical(logit=self.a(x))
            self.entropy = F.mean(p.entropy)
            return p

        def step(self, k):
            x = variable(k)
            p = self(x)
            action = p.sample()
            loss = F.sum(p.log_prob(action.array)) - self.entropy
            loss.backward()
            return action, p.log_p, loss, x

    return Model


@fault
def action_value_as_result():
    """An object with lazy attributes that are computed from a Variable."""

    class ActionValue:
        def __init__(self, q):
            self.q = q
            self.chosen = q.array.argmax(axis=1)

        @property
        def max(self):
            return F.select_item(self.q, self.chosen.astype("i"))

    class Model(Base):
        def forward(self, x):
            return ActionValue(self.b(F.relu(self.a(x))))

        def step(self, k):
            x = variable(k)
            value = self(x)
            F.sum(value.max * 2).backward()
            return value, x

    return Model


@fault
def closure_as_result():
    """A returned function was the first call's for ever."""

    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            return lambda k: h * k

        def step(self, k):
            x = variable(k)
            y = self(x)(3)
            F.sum(y * y).backward()
            return y, x

    return Model


@fault
def partial_as_result():
    class Model(Base):
        def forward(self, x):
            return functools.partial(F.leaky_relu, self.a(x), slope=0.3)

        def step(self, k):
            x = variable(k)
            y = self(x)()
            F.sum(y * y).backward()
            return y, x

    return Model


@fault
def object_array_as_result():
    def forward(self, x):
        found = np.empty(2, object)
        found[0], found[1] = self.a(x), F.tanh(x)
        return found

    return simple(forward)


@fault
def deque_as_result():
    return simple(lambda self, x: collections.deque([self.a(x), F.relu(self.b(x))], maxlen=3))


@fault
def set_as_result():
    class Model(Base):
        def forward(self, x):
            return {F.sum(self.a(x))}

        def step(self, k):
            x = variable(k)
            (y,) = found = self(x)
            y.backward()
            return type(found).__name__, y, x

    return Model


@fault
def ordered_dictionary_as_result():
    def forward(self, x):
        return collections.OrderedDict(z=self.a(x), a=collections.Counter(k=3), h=F.tanh(x))

    return simple(forward)


@fault
def generator_as_result():
    """The body of a generator runs after the call."""

    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            for _ in range(2):
                yield F.dropout(h)
                h = F.tanh(self.b(h))

        def step(self, k):
            x = variable(k)
            steps = [*self(x)]
            total(steps).backward()
            return steps, x

    return Model


@fault
def generator_inside():
    """A generator that is left suspended in an attribute."""

    def forward(self, x):
        def steps():
            h = F.dropout(self.a(x))
            yield h
            yield self.b(F.tanh(h))

        self.steps = steps()
        next(self.steps)
        return next(self.steps)

    return simple(forward)


@fault
def object_on_self():
    """Variables hanging on an object that hangs on the chain."""

    def forward(self, x):
        self.box.h = F.tanh(self.a(x))
        self.box.deep = {"k": [Box(self.b(x))]}
        return self.box.h * 2

    return simple(forward, box=Box)


@fault
def object_on_self_is_the_only_result():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.box = Box()

        def forward(self, x):
            self.box.h = F.tanh(self.a(x))

        def step(self, k):
            x = variable(k)
            none = self(x)
            F.sum(self.box.h**2).backward()
            return none, x

    return Model


@fault
def global_list():
    """Variables put into a global list, or into one of a closure."""
    found = []

    def forward(self, x):
        h = F.tanh(self.a(x))
        found.append(h)
        return self.b(h)

    class Model(simple(forward)):
        def step(self, k):
            x = variable(k)
            y = self(x)
            (total(y) + F.sum(found[-1])).backward()
            return y, x, len(found), found[-1]

    return Model


@fault
def array_of_self_as_result():
    """A returned array is the object that the chain holds."""
    return simple(
        lambda self, x: (self.table, self.a(x) + self.table),
        change=lambda self, k: self.table.__iadd__(k),
        table=lambda: np.ones(4, "f"),
    )


@fault
def dictionary_of_self_as_result():
    def forward(self, x):
        self.cache["h"] = self.a(x)
        return self.cache

    return simple(forward, cache=dict)


@fault
def state_array_as_result():
    def forward(self, x):
        self.seen += x.array.sum(axis=0)
        return self.seen, self.a(x)

    return simple(forward, seen=lambda: np.zeros(4, "f"))


@fault
def argument_as_result():
    return simple(lambda self, x: [x, self.a(x), x.array])


@fault
def constant_as_result():
    """A constant output was one array for all replays, so writing into it stayed."""

    class Model(Base):
        def forward(self, x):
            return F.reshape(np.ones(x.shape, "f"), (-1,)), self.a(x)

        def step(self, k):
            x = variable(k)
            ones, y = self(x)
            before = ones.array.copy()
            ones.array[...] = 7
            total(y).backward()
            return before, ones, y, x

    return Model


@fault
def result_written_into():
    """Writing into a result changes nothing else."""

    class Model(Base):
        def forward(self, x):
            self.h = F.tanh(self.a(x))
            return F.reshape(self.h, (-1,)), self.b(self.h)

        def step(self, k):
            x = variable(k)
            v, y = self(x)
            v.array[::2] = 0
            y.array[...] += 1
            (F.sum(v) + F.sum(y)).backward()
            return v, y, x

    return Model


# -- Arguments -------------------------------------------------------------------------------------


@fault
def list_as_output_argument():
    class Model(Base):
        def forward(self, x, out):
            out.append(F.tanh(self.a(x)))
            out.append(self.b(out[-1]))

        def step(self, k):
            x, out = variable(k), [1]
            none = self(x, out)
            total(out[1:]).backward()
            return none, out, x

    return Model


@fault
def dictionary_as_output_argument():
    class Model(Base):
        def forward(self, x, out):
            out["h"] = h = F.tanh(self.a(x))
            return h * 2

        def step(self, k):
            x, out = variable(k), {}
            y = self(x, out=out)
            (total(y) + F.sum(out["h"])).backward()
            return y, out, x

    return Model


@fault
def argument_popped():
    class Model(Base):
        def forward(self, xs):
            h = self.a(xs.pop())
            xs.reverse()
            xs.insert(0, h)
            return self.b(h)

        def step(self, k):
            xs = [variable(k), variable(k + 1), variable(k + 2)]
            ys = [*xs]
            y = self(xs)
            total(y).backward()
            return y, xs, ys

    return Model


@fault
def object_as_argument():
    """An object with Variables that the method reads and sets."""

    class Model(Base):
        def forward(self, state):
            state.h = F.tanh(self.a(state.x) + self.b(state.h))
            return state

        def step(self, k):
            x = variable(k)
            given = Box(x=x, h=variable(k + 1))
            state = self(given)
            F.sum(state.h * state.h).backward()
            return state is given, state, x

    return Model


@fault
def array_argument_written():
    class Model(Base):
        def forward(self, x, out):
            h = self.a(x)
            out[...] = h.array * 2
            return F.tanh(h)

        def step(self, k):
            x, out = variable(k), np.zeros((3, 4), "f")
            y = self(x, out)
            total(y).backward()
            return y, out, x

    return Model


@fault
def iterator_as_argument():
    class Model(Base):
        def forward(self, xs):
            return self.b(F.tanh(self.a(next(xs)))) + next(xs)

        def step(self, k):
            x = variable(k)
            xs = iter([x, x * 2, x * 3])
            y = self(xs)
            total(y).backward()
            return y, len([*xs]), x

    return Model


@fault
def array_of_an_argument_is_itself():
    """``x.array is x.array``, and the caller's own array object."""

    class Model(Base):
        def forward(self, x):
            self.same = x.array is x.array
            self.held = x.array
            h = self.a(x)
            self.same_inside = h.array is h.array
            self.kind = type(h.array) is np.ndarray, type(x.array) is np.ndarray
            return h

        def step(self, k):
            x = variable(k)
            array = x.array
            y = self(x)
            return y, self.held is array, x

    return Model


# -- What Python reads -----------------------------------------------------------------------------


@fault
def count_in_an_attribute():
    return simple(lambda self, x: self.a(x) * next(self.count), count=itertools.count)


@fault
def cycle_in_an_attribute():
    return simple(
        lambda self, x: next(self.turn)(self.a(x)),
        turn=lambda: itertools.cycle([F.relu, F.tanh, F.sigmoid]),
    )


@fault
def list_iterator_in_an_attribute():
    return simple(
        lambda self, x: self.a(x) * next(self.rest, 0.5), rest=lambda: iter([1.0, 2.0, 3.0])
    )


@fault
def generator_in_an_attribute():
    return simple(lambda self, x: self.a(x) * next(self.g), g=lambda: (k / 2 for k in range(99)))


@fault
def count_in_a_closure():
    count = itertools.count(2)
    return simple(lambda self, x: self.a(x) * next(count))


@fault
def hidden_branch():
    """A branch by a hidden iterator, with dropout and statistics on both sides."""

    def forward(self, x):
        h = F.dropout(self.bn(F.relu(self.a(x))), 0.3)
        if next(self.count) % 3:
            h = F.dropout(F.tanh(self.b(h)), 0.2) + h
        else:
            h = F.sigmoid(self.bn(h)) * 2.0
        self.log.append(len(self.log))
        return self.b(F.dropout(h))

    return simple(forward, count=itertools.count, log=list)


def _hyper():
    """A module of hyperparameters."""
    sys.modules["chainwright_test_hyper"] = module = types.ModuleType("chainwright_test_hyper")
    module.k = 1.0
    return module


@fault
def module_imported_inside():
    module = _hyper()

    def forward(self, x):
        import chainwright_test_hyper as hyper

        return self.a(x) * hyper.k

    return simple(forward, change=lambda self, k: setattr(module, "k", 1 + k // 2))


@fault
def module_in_a_closure():
    module = _hyper()
    return simple(
        lambda self, x: self.a(x) * module.k,
        change=lambda self, k: setattr(module, "k", 1 + k // 2),
    )


@fault
def attribute_of_a_function():
    def scaled(h):
        return h * scaled.k

    scaled.k = 1.0
    return simple(
        lambda self, x: scaled(self.a(x)), change=lambda self, k: setattr(scaled, "k", 1 + k // 2)
    )


@fault
def default_value_of_a_function():
    def scaled(h, k=[1.0]):  # noqa: B006
        return h * k[0]

    return simple(
        lambda self, x: scaled(self.a(x)),
        change=lambda self, k: scaled.__defaults__[0].__setitem__(0, 1.0 + k // 2),
    )


@fault
def defaults_replaced():
    def scaled(h, k=1.0):
        return h * k

    return simple(
        lambda self, x: scaled(self.a(x)),
        change=lambda self, k: setattr(scaled, "__defaults__", (1.0 + k // 2,)),
    )


@fault
def counter_on_a_class():
    """Counted once only: the write was seen in the trace, and never again."""

    class Model(Base):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return self.a(x)

        def step(self, k):
            return super().step(k), self.calls

    return Model


@fault
def counter_on_a_function():
    def counted(h):
        counted.calls += 1
        return F.tanh(h)

    counted.calls = 0

    class Model(simple(lambda self, x: counted(self.a(x)))):
        def step(self, k):
            return super().step(k), counted.calls

    return Model


@fault
def counter_on_a_module():
    module = _hyper()

    def forward(self, x):
        module.k += 1
        return self.a(x)

    class Model(simple(forward)):
        def step(self, k):
            return super().step(k), module.k

    return Model


@fault
def counter_that_is_used():
    def forward(self, x):
        self.n += 1
        return self.a(x) * (1.0 / self.n)

    return simple(forward, n=int)


@fault
def method_shadowed_by_an_attribute():
    """``m.act = F.relu`` after calls in which ``act`` was the class's method."""

    class Model(Base):
        def act(self, h):
            return F.tanh(h)

        def forward(self, x):
            return self.b(self.act(self.a(x)))

        def step(self, k):
            if k == 4:
                self.act = F.relu
            if k == 8:
                del self.act
            return super().step(k)

    return Model


@fault
def staticmethod_shadowed_by_an_attribute():
    class Model(Base):
        @staticmethod
        def act(h):
            return F.tanh(h)

        def forward(self, x):
            return self.b(self.act(self.a(x)))

        def step(self, k):
            if k == 4:
                self.act = F.relu
            return super().step(k)

    return Model


@fault
def method_of_a_child_shadowed():
    def change(self, k):
        if k == 4:
            self.b.forward = lambda h: h * 3

    return simple(lambda self, x: F.tanh(self.b(self.a(x))), change=change)


@fault
def method_of_a_class_replaced():
    class Block(chainer.Chain):
        def forward(self, h):
            return F.tanh(h)

    def change(self, k):
        if k == 4:
            Block.forward = lambda self, h: F.relu(h)

    def forward(self, x):
        return self.block(self.a(x))

    return simple(forward, change=change, block=Block)


@fault
def function_of_the_library_replaced():
    space = types.SimpleNamespace(act=F.tanh)

    class Model(simple(lambda self, x: F.tanh(self.a(x)) + space.act(x))):
        def step(self, k):
            tanh = F.tanh
            try:
                if k % 5 == 4:
                    F.tanh = F.relu
                    space.act = F.sigmoid
                return super().step(k)
            finally:
                F.tanh = tanh

    return Model


@fault
def function_put_into_the_library():
    """Fetched by ``getattr(F, name)``."""

    class Model(simple(lambda self, x: getattr(F, "chainwright_test_act", F.tanh)(self.a(x)))):
        def step(self, k):
            if k >= 4:
                F.chainwright_test_act = F.relu if k < 8 else F.sigmoid
            return super().step(k)

        def close(self):
            del F.chainwright_test_act

    return Model


@fault
def getattr_that_computes():
    class Table:
        def __init__(self):
            self.n = 0

        def __getattr__(self, name):
            if name.startswith("k"):
                self.n += 1
                return float(self.n)
            raise AttributeError(name)

    return simple(lambda self, x: self.a(x) * self.table.k1 + self.table.k2, table=Table)


@fault
def deep_objects():
    """Plain objects and dictionaries five levels below an attribute."""

    def make():
        return Box(a=Box(b={"c": Box(d={"e": Box(f=1.0)})}))

    def change(self, k):
        self.deep.a.b["c"].d["e"].f = 1.0 + k // 2

    return simple(
        lambda self, x: self.a(x) * self.deep.a.b["c"].d["e"].f, change=change, deep=make
    )


@fault
def large_nested_lists():
    def make():
        return [[[float(k)] * 3 for k in range(400)] for _ in range(30)]

    def change(self, k):
        self.table[29][399][2] = 1.0 + k // 2

    return simple(lambda self, x: self.a(x) * self.table[29][399][2], change=change, table=make)


@fault
def file_loaded_inside():
    import tempfile

    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "table.npy")

    class Model(simple(lambda self, x: self.a(x) + np.load(path))):
        def step(self, k):
            np.save(path, np.full(4, 1 + k // 2, "f"))
            return super().step(k)

        def close(self):
            folder.cleanup()

    return Model


@fault
def existence_of_a_file():
    import tempfile

    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "flag")

    class Model(simple(lambda self, x: self.a(x) * (2 if os.path.exists(path) else 1))):
        def step(self, k):
            if k == 4:
                with open(path, "w"):
                    pass
            if k == 8:
                os.remove(path)
            return super().step(k)

        def close(self):
            folder.cleanup()

    return Model


@fault
def seeded_inside():
    """``np.random.seed`` in the method, before a function that draws."""

    def forward(self, x):
        np.random.seed(5)
        return F.dropout(self.a(x))

    return simple(forward)


@fault
def seeded_by_an_attribute():
    def forward(self, x):
        h = F.dropout(self.a(x))
        np.random.seed(self.seed)
        return F.dropout(h) + np.random.rand()

    return simple(forward, change=lambda self, k: setattr(self, "seed", k // 2), seed=int)


@fault
def warning_in_each_call():
    class Model(Base):
        def forward(self, x):
            warnings.warn("mind the gap", DeprecationWarning)
            return self.a(x)

        def step(self, k):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = super().step(k)
            return found, [str(w.message) for w in told if w.category is DeprecationWarning]

    return Model


@fault
def context_variable():
    factor = contextvars.ContextVar("factor", default=1.0)

    class Model(simple(lambda self, x: self.a(x) * factor.get())):
        def step(self, k):
            token = factor.set(1.0 + k // 2)
            try:
                return super().step(k)
            finally:
                factor.reset(token)

    return Model


@fault
def target_of_a_weak_reference():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.box = Box(k=2.0)
            self.ref = weakref.ref(self.box)

        def forward(self, x):
            box = self.ref()
            return self.a(x) * (1.0 if box is None else box.k)

        def step(self, k):
            if k == 3:
                self.box.k = 3.0
            if k == 6:
                self.box = None
            return super().step(k)

    return Model


@fault
def command_line():
    class Model(simple(lambda self, x: self.a(x) * len(sys.argv))):
        def step(self, k):
            argv = sys.argv
            sys.argv = ["a"] * (1 + k // 2)
            try:
                return super().step(k)
            finally:
                sys.argv = argv

    return Model


@fault
def record_array():
    return simple(
        lambda self, x: self.a(x) * self.table.k,
        change=lambda self, k: self.table.k.fill(1 + k // 2),
        table=lambda: np.rec.array(np.ones(4, [("k", "f"), ("n", "i")])),
    )


@fault
def memory_view():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.data = bytearray(b"abcd")
            self.view = memoryview(self.data)

        def forward(self, x):
            return self.a(x) * float(self.view[1])

        def step(self, k):
            self.data[1] = 1 + k // 2
            return super().step(k)

    Model.__getstate__ = None
    return Model


@fault
def clock_and_identity():
    """Code that depends on nothing the library could know, and compares identities."""

    def forward(self, x):
        h = self.a(x)
        self.same = h is self.last, id(h) == id(self.last)
        self.last = h
        return F.tanh(h)

    return simple(forward, last=lambda: None)


@fault
def spectral_normalization():
    """A power iteration on raw arrays that writes into the parameter and into state."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.u = np.ones(4, "f") / 2

        def forward(self, x):
            w = self.a.W.array
            v = w.T.dot(self.u)
            v /= np.sqrt((v**2).sum()) + 1e-12
            self.u[...] = w.dot(v)
            self.u /= np.sqrt((self.u**2).sum()) + 1e-12
            sigma = float(self.u.dot(w).dot(v))
            w /= max(sigma, 0.5)
            return F.relu(self.a(x))

    return Model


# -- Configuration, modes, reports, hooks ----------------------------------------------------------


@fault
def configuration_set_inside():
    def forward(self, x):
        h = self.a(x)
        with chainer.no_backprop_mode():
            g = F.tanh(self.b(h))
        with chainer.using_config("train", bool(next(self.count) % 2)):
            h = F.dropout(self.bn(h))
        return self.a(h * g)

    return simple(forward, count=itertools.count)


@fault
def modes_from_outside():
    class Model(Base):
        def forward(self, x):
            return self.b(F.dropout(self.bn(F.relu(self.a(x)))))

        def step(self, k):
            x = variable(k)
            with (
                chainer.using_config("train", k % 3 > 0),
                chainer.using_config("enable_backprop", k % 4 > 0),
            ):
                y = self(x)
            if k % 4:
                total(y).backward()
            return y, y.creator is None, x

    return Model


@fault
def dtype_of_the_configuration():
    def forward(self, x):
        layer = L.Linear(4, 2, initialW=0.5)
        return F.matmul(x, layer.W, transb=True)

    class Model(simple(forward)):
        def step(self, k):
            with chainer.using_config("dtype", [np.float32, np.float64][k % 2]):
                return super().step(k)

    return Model


@fault
def reports_from_inside():
    class Model(Base):
        def forward(self, x):
            y = self.b(F.relu(self.a(x)))
            loss = F.mean(y * y)
            chainer.report({"loss": loss, "max": F.max(y), "n": next(self.n)}, self)
            return loss

        def step(self, k):
            x = variable(k)
            reporter = chainer.Reporter()
            reporter.add_observer("m", self)
            seen = {}
            with reporter.scope(seen):
                loss = self(x)
            loss.backward()
            return seen, seen["m/loss"] is loss, loss, x

    def init(self):
        super(Model, self).__init__()
        self.n = itertools.count()

    Model.__init__ = init
    return Model


@fault
def hook_inside():
    def forward(self, x):
        h = F.relu(self.a(x))
        with chainer.function_hooks.TimerHook() as timer:
            h = F.tanh(self.b(h))
        self.log.append([name for name, _ in timer.call_history])
        return F.sigmoid(h)

    return simple(forward, log=list)


@fault
def hook_outside():
    class Seen(chainer.FunctionHook):
        name = "seen"

        def __init__(self):
            self.log = []

        def forward_postprocess(self, function, in_data):
            self.log.append(("f", function.label, *[float(a.sum()) for a in in_data]))

        def backward_postprocess(self, function, in_data, out_grad):
            self.log.append(("b", function.label))

    class Model(Base):
        def forward(self, x):
            return self.b(F.relu(self.a(x)))

        def step(self, k):
            if k % 3:
                return super().step(k)
            with Seen() as seen:
                return super().step(k), seen.log

    return Model


@fault
def debug_mode():
    """NaNs are found where they arise."""

    class Model(Base):
        def forward(self, x):
            with np.errstate(all="ignore"):
                return self.b(F.log(self.a(x)))

        def step(self, k):
            with chainer.using_config("debug", k % 3 == 2):
                return super().step(k)

    return Model


@fault
def print_in_the_method():
    import io

    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            print(h.array[0], h.shape, repr(h), str(h), len(h), h.dtype, h.name, file=self.out)
            print(h, x, file=self.out)
            return F.tanh(h)

        def step(self, k):
            self.out = io.StringIO()
            found = super().step(k)
            self.out = self.out.getvalue()
            return found

    return Model


# -- Exceptions ------------------------------------------------------------------------------------


@fault
def exception_of_ones_own():
    def forward(self, x):
        self.h = F.dropout(self.bn(F.relu(self.a(x))))
        if next(self.count) % 4 == 2:
            raise KeyError("mine")
        return F.tanh(self.h)

    return simple(forward, count=itertools.count)


@pytest.mark.parametrize(
    "kind",
    [
        KeyError,
        AttributeError,
        ValueError,
        StopIteration,
    ],
)
def test_the_method_runs_once(kind):
    """A KeyError or AttributeError of the user's own ran the method a second time."""

    def make():
        class Model(Base):
            def forward(self, x, k):
                self.calls += 1
                y = self.a(x)
                if k not in self.seen:
                    self.seen[k] = 1
                    raise kind(k)
                return y

            def __init__(self):
                super().__init__()
                self.seen, self.calls = {}, 0

            def step(self, k):
                return self(variable(k), "aabbcdcddeeaab"[k])

        return Model

    check(make)


@fault
def exceptions_of_data():
    """Raised by array code, and caught inside of the method."""

    def forward(self, x):
        h = self.a(x)
        n = next(self.count)
        try:
            h = h + F.sum(F.inv(np.eye(5, dtype="f") * float(n % 3)))
        except (ValueError, np.linalg.LinAlgError):
            h = h * 2
        return F.tanh(h)

    return simple(forward, count=itertools.count)


@fault
def cholesky_caught():
    def forward(self, x):
        h = self.a(x)
        a = np.eye(4, dtype="f") * [1.0, -1.0, 2.0][next(self.count) % 3]
        try:
            return F.matmul(h, F.cholesky(F.broadcast_to(a, (4, 4))))
        except Exception as e:
            self.log.append(type(e).__name__)
            return h

    return simple(forward, count=itertools.count, log=list)


@fault
def index_out_of_range():
    def forward(self, x):
        h = self.a(x)
        try:
            return F.get_item(h, (np.array([0, next(self.count) % 5]),)) * 2
        except IndexError as e:
            self.log.append(str(e))
            return h

    return simple(forward, count=itertools.count, log=list)


@fault
def label_out_of_range():
    def forward(self, x):
        h = self.a(x)
        t = np.array([0, 1, next(self.count) % 6], "i")
        try:
            return F.sum(F.select_item(h, t)) + F.softmax_cross_entropy(h, t)
        except Exception as e:
            self.log.append((type(e).__name__, str(e)))
            return h

    return simple(forward, count=itertools.count, log=list)


@fault
def exception_of_an_unused_function():
    """What nobody uses is computed, too, and raises."""

    def forward(self, x):
        F.inv(np.eye(4, dtype="f") * float(next(self.count) % 3))
        return self.a(x)

    return simple(forward, count=itertools.count)


@fault
def exception_after_effects():
    """Statistics that were updated before an exception of data stay updated."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.n = itertools.count()

        def forward(self, x):
            h = self.bn(self.a(x))
            return h + F.sum(F.inv(np.eye(5, dtype="f") * float(next(self.n) % 3)))

    return Model


@fault
def type_error_of_a_function():
    class Model(Base):
        def forward(self, x, n):
            h = self.bn(self.a(x))
            return F.reshape(h, (n, -1))

        def step(self, k):
            x = variable(k)
            y = self(x, [2, 3, 4, 5, 6][k % 5])
            total(y).backward()
            return y, x

    return Model


@fault
def wrong_arguments():
    class Model(Base):
        def forward(self, x, n=1):
            return self.a(x) * n

        def step(self, k):
            x = variable(k)
            if k % 4 == 1:
                return self(x, 1, 2)
            if k % 4 == 2:
                return self()
            if k % 4 == 3:
                return self(chainer.Variable(np.ones((3, 5), "f")))
            return self(x, n=k)

    return Model


@fault
def batch_normalization_of_one_axis():
    """Over axis 0 of a 1-dimensional input it raises in backward, define-by-run."""

    class Model(Base):
        def forward(self, x):
            gamma, beta = np.ones((), "f"), np.zeros((), "f")
            return F.batch_normalization(x[0] * 2, gamma, beta, axis=0)

    return Model


@fault
def warnings_as_errors():
    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            return h * np.log(x.array * 0 + (next(self.n) % 3))

        def step(self, k):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                return super().step(k)

    def init(self):
        super(Model, self).__init__()
        self.n = itertools.count()

    Model.__init__ = init
    return Model


@fault
def floating_point_errors():
    """``np.errstate`` of the caller holds for the functions of the method."""

    class Model(Base):
        def forward(self, x):
            return F.log(F.relu(self.a(x))) + F.exp(x * 100)

        def step(self, k):
            with np.errstate(all="ignore" if k % 3 else "raise"):
                return super().step(k)

    return Model


# -- Randomness ------------------------------------------------------------------------------------


@fault
def noise_between_functions():
    def forward(self, x):
        h = F.dropout(F.relu(self.a(x)))
        h = h + np.random.randn(*h.shape).astype("f")
        self.log.append((random.random(), float(np.random.rand())))
        return self.b(F.dropout(self.bn(h)))

    return simple(forward, log=list)


@fault
def random_branches():
    """Stochastic depth."""

    def forward(self, x):
        h = self.a(x)
        for _ in range(4):
            if np.random.rand() < 0.5:
                h = h + F.dropout(F.tanh(self.b(h)), 0.3)
        return F.gaussian(h, h * 0)

    return simple(forward)


@fault
def all_that_draws():
    def forward(self, x):
        h = F.dropout(self.a(x), 0.3)
        h = F.zoneout(h, x, 0.4) + F.gaussian(h, x)
        h = F.rrelu(h) + F.simplified_dropconnect(x, self.b.W, self.b.b)
        return F.gumbel_softmax(h, 0.7)

    return simple(forward)


@fault
def state_read_between_draws():
    def forward(self, x):
        h = F.dropout(self.a(x))
        self.position = np.random.get_state()[2]
        return F.dropout(h)

    return simple(forward)


@fault
def forget_with_dropout():
    """Masks were mixed up."""

    def forward(self, x):
        y = F.forget(lambda z: F.dropout(F.tanh(self.a(z)), 0.4), x)
        return F.dropout(self.b(y), 0.3)

    return simple(forward)


@fault
def forget():
    return simple(lambda self, x: self.b(F.forget(lambda z: F.tanh(self.a(z)) * z, x)))


@fault
def double_backprop_of_forget():
    """It is not allowed, and says so."""

    class Model(Base):
        def forward(self, x):
            return F.forget(lambda z: F.tanh(self.a(z)), x)

        def step(self, k):
            x = variable(k)
            y = self(x)
            (g,) = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
            F.sum(g * g).backward()
            return y, x

    return Model


# -- Looks from everywhere -------------------------------------------------------------------------


@fault
def branch_on_a_value():
    def forward(self, x):
        h = F.relu(self.a(x))
        if float(h.array.sum()) > 4:
            h = h * 0.5
        while float(F.sum(h * h).array) > 1:
            h = h * 0.7
            self.log.append(float(h.array.mean()))
        return F.dropout(F.tanh(self.bn(self.b(h))))

    return simple(forward, log=list)


@fault
def look_in_the_middle():
    def forward(self, x):
        h = F.tanh(self.a(x))
        self.first = float(h.array[0, 0])
        g = self.b(h)
        self.shapes = h.shape, g.size, g.ndim, len(g), g.dtype
        return F.sigmoid(g) * self.first

    return simple(forward)


@fault
def look_from_another_thread():
    def forward(self, x):
        h, found = self.a(x), []
        thread = threading.Thread(target=lambda: found.append(float(h.array.sum())))
        thread.start()
        thread.join()
        self.log += found
        return F.tanh(h)

    return simple(forward, log=list)


@fault
def functions_in_another_thread():
    def forward(self, x):
        h, found = self.a(x), []
        thread = threading.Thread(target=lambda: found.append(F.tanh(h) * 2))
        thread.start()
        thread.join()
        return self.b(found[0])

    return simple(forward)


@fault
def copies_inside():
    def forward(self, x):
        h = F.tanh(self.a(x))
        g = copy.deepcopy(h)
        s = copy.copy(h)
        p = pickle.loads(pickle.dumps(h.array))
        return self.b(h + g) + s * p, g

    return simple(forward)


@fault
def pickled_inside():
    def forward(self, x):
        h = F.tanh(self.a(x))
        h = h + pickle.loads(pickle.dumps(chainer.Variable(h.array)))
        h = h + chainer.as_variable(h.data)
        return h + F.copy(self.b(h), -1)

    return simple(forward)


@fault
def statistics_read_inside():
    def forward(self, x):
        h = self.bn(self.a(x))
        self.log.append(float(self.bn.avg_mean[0]))
        h = self.bn(self.b(h))
        self.log.append((self.bn.N, self.bn.avg_var.sum()))
        return h

    return simple(forward, log=list)


@fault
def statistics_read_by_code_without_a_name():
    """Code that ``exec`` runs has no ``__name__`` among its globals."""
    text = """
def forward(self, x):
    h = self.bn(self.a(x))
    self.log.append(float(self.bn.avg_mean.sum()))
    return h * self.bn.avg_var
"""
    space = {}
    exec(text, space)
    return simple(space["forward"], log=list)


@fault
def statistics_replaced_inside():
    def forward(self, x):
        h = self.bn(self.a(x))
        self.bn.avg_mean = self.bn.avg_mean * 0.5
        self.bn.avg_var[...] = 1
        return self.bn(h)

    return simple(forward)


@fault
def statistics_held_outside():
    """An array that somebody else holds is the one that is written."""

    class Model(Base):
        def forward(self, x):
            return self.bn(self.a(x))

        def step(self, k):
            held = self.bn.avg_mean
            found = super().step(k)
            return found, held, held is self.bn.avg_mean

    return Model


@fault
def parameter_written_after_use():
    def forward(self, x):
        h = F.relu(self.a(x))
        self.a.W.array *= 0.9
        g = self.a(h)
        self.a.W.array = self.a.W.array * 1.1
        return self.a(g)

    return simple(forward)


@fault
def parameter_updated_inside():
    """An inner step of gradient descent (MAML)."""

    def forward(self, x):
        loss = F.sum(F.tanh(self.a(x)) ** 2)
        gw, gb = chainer.grad([loss], [self.a.W, self.a.b], enable_double_backprop=True)
        w, b = self.a.W - 0.1 * gw, self.a.b - 0.1 * gb
        return F.linear(x, w, b)

    return simple(forward)


@fault
def backward_inside():
    def forward(self, x):
        h = F.tanh(self.a(x))
        loss = F.sum(h * h)
        self.a.cleargrads()
        loss.backward()
        self.norm = float((self.a.W.grad**2).sum())
        return self.b(x) * self.norm

    return simple(forward)


@fault
def grad_inside():
    def forward(self, x):
        y = self.b(F.tanh(self.a(x)))
        (g,) = chainer.grad([F.sum(y * y)], [x])
        return y * F.sum(g)

    return simple(forward)


@fault
def new_link_inside():
    def forward(self, x):
        layer = L.Linear(4, 3)
        return layer(F.tanh(self.a(x)))

    return simple(forward)


@fault
def link_added_inside():
    def forward(self, x):
        if not hasattr(self, "late"):
            with self.init_scope():
                self.late = L.Linear(None, 3)
        return self.late(self.a(x))

    return simple(forward)


@fault
def sorted_sequences():
    """Sorting by length, and back."""

    class Model(Base):
        def forward(self, xs):
            order = np.argsort([-len(x) for x in xs], kind="stable")
            hs = [F.sum(F.tanh(self.a(xs[k])), axis=0) for k in order]
            return F.stack([hs[k] for k in np.argsort(order)])

        def step(self, k):
            lengths = np.random.RandomState(k).randint(1, 5, 3)
            xs = [variable(k + i, n, 4) for i, n in enumerate(lengths)]
            y = self(xs)
            total(y).backward()
            return y, xs

    return Model


@fault
def scipy_first_imported_inside():
    """Imports run unwatched: the error function stays the library's."""
    pytest.importorskip("scipy")

    class Model(simple(lambda self, x: F.erf(self.a(x)) + F.ndtri(F.sigmoid(x)))):
        def step(self, k):
            if k == 0:
                for name in [n for n in sys.modules if n.startswith("scipy")]:
                    self.modules[name] = sys.modules.pop(name)
            found = super().step(k)
            if k == 0:
                sys.modules.update(self.modules)
                self.modules = None
            return found

    def init(self):
        super(Model, self).__init__()
        self.modules = {}

    Model.__init__ = init
    return Model


@fault
def deep_copy_of_the_chain():
    class Model(Base):
        def forward(self, x):
            return self.b(F.dropout(F.tanh(self.a(x))))

        def step(self, k):
            found = super().step(k)
            other = pickle.loads(pickle.dumps(self.a)) if k % 2 else copy.deepcopy(self.a)
            twin = self.copy("copy" if k % 3 else "init")
            y = twin(variable(k))
            total(y).backward()
            return found, y, other.W

    return Model


@fault
def nested_methods():
    """A decorated method that calls another, with its own calls and state."""

    class Model(Base):
        decorate = ("forward", "inner")

        def inner(self, x):
            self.h = F.tanh(self.bn(self.a(x)))
            return F.dropout(self.h)

        def forward(self, x):
            return self.b(self.inner(F.dropout(x))) + self.b(self.inner(x))

    return Model


# -- Checks of programs ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["spaced", "always", "first", "never"])
def test_checks_change_nothing(mode):
    """However often programs are checked, nothing is run or drawn twice."""

    def make():
        class Model(hidden_branch()):
            def step(self, k):
                with chainer.using_config("static_check", mode):
                    return super().step(k)

        return Model

    check(make)


@pytest.mark.parametrize("make", FAULTS, ids=lambda f: f.__name__)
def test_the_users_python(make):
    check(make)
