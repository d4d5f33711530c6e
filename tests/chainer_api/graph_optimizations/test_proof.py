"""Calls without Python: what is proved, and that what a proof rests on is looked at in each call.

Each case is a program that :mod:`trust` runs with and without the decorator. In the cases of
``GUARDS`` something is changed before one call, after calls have gone without their Python: that
very call must see it. How the calls went is counted, too, so that a case that is not proved any
more fails.
"""

import contextlib
import functools
import itertools
import logging
import random
import re
import threading
import types
import warnings
from collections import namedtuple

import numpy as np
import pytest
from trust import (
    Base,
    Box,
    check,
    decorated_class,
    difference,
    run,
    simple,
    table,
    total,
    variable,
)

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.graph_optimizations import _safe
from chainer.graph_optimizations._residual import MISS

CALLS, CHANGE = 24, 18  # the last calls before the change are 17 and 18: no check is due there
GUARDS, guard = table()
EFFECTS, effect = table()
PROVED, proved = table()


def report(model):
    return model.schedule_manager.report()[0]


def calls_without_python(fault, calls):
    """For each call of a decorated model whether it went without its Python."""
    np.random.seed(0)
    model = decorated_class(fault)()
    found = []
    for k in range(calls):
        model.cleargrads()
        before = report(model).without_python if k else 0
        with contextlib.suppress(IndexError, ValueError):
            model.step(k)
        found.append(report(model).without_python > before)
    return found


@pytest.mark.parametrize("target", ["auto", "native"])  # native code leaves guards out
@pytest.mark.parametrize("fault", GUARDS, ids=lambda f: f.__name__)
def test_a_change_is_seen_at_once(fault, target, monkeypatch):
    monkeypatch.setitem(vars(chainer.global_config), "static_target", target)
    check(fault, CALLS)
    went = calls_without_python(fault, CALLS)
    assert went[CHANGE - 2] and went[CHANGE - 1], "the case is not proved"


def changing(change):
    """Have ``change(self)`` come before one call."""

    def apply(self, k):
        if k == CHANGE:
            change(self)

    return apply


# -- What a proof rests on


@guard
def a_number():
    def forward(self, x):
        return self.a(x) * self.k

    return simple(forward, changing(lambda s: setattr(s, "k", 3.0)), k=lambda: 2.0)


@guard
def a_number_of_another_type():
    def forward(self, x):
        return F.sum(self.a(x), axis=self.axis)

    return simple(forward, changing(lambda s: setattr(s, "axis", (0, 1))), axis=lambda: 1)


@guard
def a_flag():
    def forward(self, x):
        return F.relu(self.a(x)) if self.flag else F.tanh(self.a(x))

    return simple(forward, changing(lambda s: setattr(s, "flag", False)), flag=lambda: True)


@guard
def a_string():
    def forward(self, x):
        return getattr(F, self.act)(self.a(x))

    return simple(forward, changing(lambda s: setattr(s, "act", "tanh")), act=lambda: "relu")


@guard
def a_function_in_an_attribute():
    def forward(self, x):
        return self.act(self.a(x))

    return simple(forward, changing(lambda s: setattr(s, "act", F.tanh)), act=lambda: F.relu)


@guard
def a_method_that_is_shadowed():
    class Model(Base):
        def act(self, x):
            return F.relu(x)

        def forward(self, x):
            return self.act(self.a(x))

        def step(self, k):
            if k == CHANGE:
                self.act = F.tanh
            return super().step(k)

    return Model


@guard
def a_method_of_another_object():
    """It is the same function, bound to another link."""

    class Model(Base):
        def forward(self, x):
            return self.b(self.a(x))

        def step(self, k):
            if k == CHANGE:
                self.a.forward = self.b.forward
            return super().step(k)

    return Model


@guard
def a_method_of_the_class():
    class Model(Base):
        def act(self, x):
            return F.relu(x)

        def forward(self, x):
            return self.act(self.a(x))

        def step(self, k):
            if k == CHANGE:
                type(self).act = lambda self, x: F.tanh(x)
            return super().step(k)

    return Model


@guard
def a_base_class():
    class Above(Base):
        def act(self, x):
            return F.relu(x)

    class Model(Above):
        def forward(self, x):
            return super().act(self.a(x))

        def step(self, k):
            if k == CHANGE:
                Above.act = lambda self, x: F.tanh(x)
            return super().step(k)

    return Model


@guard
def a_property():
    class Model(Base):
        @property
        def scale(self):
            return 2.0

        def forward(self, x):
            return self.a(x) * self.scale

        def step(self, k):
            if k == CHANGE:
                type(self).scale = property(lambda self: 5.0)
            return super().step(k)

    return Model


@guard
def a_class_attribute():
    class Model(Base):
        k = 2.0

        def forward(self, x):
            return self.a(x) * self.k

        def step(self, k):
            if k == CHANGE:
                type(self).k = 3.0
            return super().step(k)

    return Model


@guard
def an_attribute_before_that_of_the_class():
    class Model(Base):
        k = 2.0

        def forward(self, x):
            return self.a(x) * self.k

        def step(self, k):
            if k == CHANGE:
                self.k = 3.0
            return super().step(k)

    return Model


@guard
def the_class_of_a_child():
    class Twice(L.Linear):
        def forward(self, x):
            return super().forward(x) * 2

    def forward(self, x):
        return self.a(x)

    return simple(forward, changing(lambda s: setattr(s.a, "__class__", Twice)))


@guard
def what_stands_above_in_the_style_of_python_2():
    class Middle(Base):
        def act(self, x):
            return F.tanh(x)

    class Model(Middle):
        def act(self, x):
            return super(Model, self).act(x) * 2

        def forward(self, x):
            return self.act(self.a(x))

        def step(self, k):
            if k == CHANGE:
                Middle.act = lambda self, x: F.relu(x)
            y = self(variable(k))
            F.sum(y).backward()
            return y

    return Model


@guard
def attributes_whose_names_are_no_names():
    """As ``setattr`` and ``add_link`` take them: blocks by number, ligatures, keywords."""
    names = "blocks.0", "class", "a b", "\ufb01rst", "'"

    class Model(Base):
        def __init__(self):
            super().__init__()
            for k, name in enumerate(names):
                setattr(self, name, k + 1.5)
            with self.init_scope():
                setattr(self, "layers.0", L.Linear(4, 4))

        def forward(self, x, **kw):
            h = getattr(self, "layers.0")(self.a(x)) * kw["not a name"]
            for name in names:
                h = h * getattr(self, name)
            setattr(self, "kept.0", 7)
            return h * getattr(self, "kept.0")

        def step(self, k):
            if k == CHANGE:
                setattr(self, "a b", 0.5)
            y = self(variable(k), **{"not a name": 2.0})
            F.sum(y).backward()
            return y, vars(self)["kept.0"]

    return Model


@guard
def an_attribute_by_a_method():
    def forward(self, x):
        return self.__getattribute__("a")(x) * self.__getattribute__("k")

    return simple(forward, changing(lambda s: setattr(s, "k", 5.0)), k=lambda: 2.0)


@guard
def code_of_a_function():
    def act(x):
        return F.relu(x)

    def other(x):
        return F.tanh(x)

    def forward(self, x):
        return act(self.a(x))

    return simple(forward, changing(lambda s: setattr(act, "__code__", other.__code__)))


@guard
def a_default_value():
    def act(x, k=2.0):
        return x * k

    def forward(self, x):
        return act(self.a(x))

    return simple(forward, changing(lambda s: setattr(act, "__defaults__", (3.0,))))


@guard
def a_list_as_default_value():
    def act(x, k=[2.0]):  # noqa: B006 - that is the point
        return x * k[0]

    def forward(self, x):
        return act(self.a(x))

    return simple(forward, changing(lambda s: act.__defaults__[0].__setitem__(0, 3.0)))


@guard
def a_keyword_default():
    def act(x, *, k=2.0):
        return x * k

    def forward(self, x):
        return act(self.a(x))

    return simple(forward, changing(lambda s: act.__kwdefaults__.update(k=3.0)))


@guard
def an_attribute_of_a_function():
    def act(x):
        return x * act.k

    act.k = 2.0

    def forward(self, x):
        return act(self.a(x))

    return simple(forward, changing(lambda s: setattr(act, "k", 3.0)))


@guard
def a_closure_cell():
    k = 2.0

    def change(self):
        nonlocal k
        k = 3.0

    def forward(self, x):
        return self.a(x) * k

    return simple(forward, changing(change))


@guard
def a_module():
    helper = types.ModuleType("helper")
    helper.act = F.relu

    def forward(self, x):
        return helper.act(self.a(x))

    return simple(forward, changing(lambda s: setattr(helper, "act", F.tanh)))


class _Moved:
    """An attribute that a module has as soon as somebody asks for it, as those of six.moves."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __get__(self, module, kind):
        vars(module)[self.name] = self.value
        return self.value


class _Lazy(types.ModuleType):
    act, turns = _Moved("act", F.relu), _Moved("turns", range)


@guard
def a_module_that_looks_for_its_parts_when_they_are_asked_for():
    helper = _Lazy("helper")

    def forward(self, x):
        for _ in helper.turns(2):
            x = helper.act(self.a(x))
        return x

    return simple(forward, changing(lambda s: setattr(helper, "act", F.tanh)))


@guard
def a_module_with_a_function_for_what_it_lacks():
    helper = types.ModuleType("helper")
    helper.act, helper.__getattr__ = F.relu, lambda name: F.sigmoid

    def forward(self, x):
        return helper.act(self.a(x))

    return simple(forward, changing(lambda s: delattr(helper, "act")))


@guard
def a_builtin_that_is_shadowed():
    names = {"F": F, "__builtins__": __builtins__, "__name__": "elsewhere"}

    def forward(self, x):
        return self.a(x) * len(self.sizes)

    forward = types.FunctionType(forward.__code__, names, "forward")

    def change(self):
        names["len"] = lambda v: 7

    model = simple(forward, changing(change), sizes=lambda: [1, 2])
    model.forward.__globals__["F"] = F
    return model


@guard
def an_item_of_a_list():
    def forward(self, x):
        return self.a(x) * self.ks[1]

    return simple(
        forward, changing(lambda s: s.ks.__setitem__(1, 3.0)), ks=lambda: [1.0, 2.0]
    )


@guard
def the_length_of_a_list():
    def forward(self, x):
        for act in self.acts:
            x = act(self.a(x))
        return x

    return simple(
        forward, changing(lambda s: s.acts.append(F.tanh)), acts=lambda: [F.relu, F.sigmoid]
    )


@guard
def an_item_of_a_dictionary():
    def forward(self, x):
        return self.a(x) * self.ks["one"]

    return simple(forward, changing(lambda s: s.ks.update(one=3.0)), ks=lambda: {"one": 2.0})


@guard
def the_keys_of_a_dictionary():
    def forward(self, x):
        x = self.a(x)
        if "two" in self.ks:
            x = x * 7
        return x * self.ks.get("three", 1.5)

    return simple(forward, changing(lambda s: s.ks.update(two=1, three=2)), ks=lambda: {"one": 2.0})


@guard
def the_order_of_a_dictionary():
    def forward(self, x):
        for name, act in self.acts.items():
            x = act(x) * len(name)
        return self.a(x)

    def change(self):
        self.acts["x"] = self.acts.pop("x")

    return simple(forward, changing(change), acts=lambda: {"x": F.relu, "yy": F.tanh})


@guard
def a_set():
    def forward(self, x):
        return self.a(x) * 2 if "a" in self.names else self.a(x)

    return simple(forward, changing(lambda s: s.names.remove("a")), names=lambda: {"a", "b"})


@guard
def an_attribute_of_a_plain_object():
    def forward(self, x):
        return self.a(x) * self.box.inner.k

    return simple(
        forward, changing(lambda s: setattr(s.box.inner, "k", 3.0)),
        box=lambda: Box(inner=Box(k=2.0)),
    )  # fmt: skip


@guard
def something_that_was_not_there():
    def forward(self, x):
        return self.a(x) * getattr(self, "k", 2.0) if not hasattr(self, "off") else x + 1

    return simple(forward, changing(lambda s: setattr(s, "k", 3.0)))


@guard
def a_child_that_is_replaced():
    class Model(Base):
        def forward(self, x):
            return self.a(x)

        def step(self, k):
            if k == CHANGE:
                del self.a
                with self.init_scope():
                    self.a = L.Linear(4, 4, nobias=True)
            return super().step(k)

    return Model


@guard
def a_child_of_a_list():
    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.list = chainer.ChainList(L.Linear(4, 4), L.Linear(4, 4))

        def forward(self, x):
            for link in self.list:
                x = F.relu(link(x))
            return x

        def step(self, k):
            if k == CHANGE:
                self.list.append(L.Linear(4, 4))
            return super().step(k)

    return Model


@guard
def one_object_in_two_places():
    """Two attributes were one object, and are two."""

    def forward(self, x):
        one, two = self.one, self.two
        return self.a(x) * (2.0 if one is two else 3.0) + two.k

    def change(self):
        self.two = Box(k=1.0)

    def start(self, k):
        if k == 0:
            self.two = self.one
        if k == CHANGE:
            change(self)

    return simple(forward, start, one=lambda: Box(k=1.0), two=lambda: None)


@guard
def two_arguments_that_become_one():
    class Model(Base):
        def forward(self, x, z):
            return self.a(x) * self.b(z)

        def step(self, k):
            x, z = variable(k), variable(k + 40)
            y = self(x, x if k == CHANGE else z)
            total(y).backward()
            return y, x, z

    return Model


@guard
def a_parameter_with_another_array():
    def forward(self, x):
        return self.a(x)

    def change(self):
        self.a.W.array = self.a.W.array * 2

    return simple(forward, changing(change))


@guard
def an_argument_that_requires_no_gradient():
    class Model(Base):
        def forward(self, x):
            return self.a(x)

        def step(self, k):
            x = variable(k)
            y = self(x.array if k == CHANGE + 1 else chainer.Variable(
                x.array, requires_grad=k != CHANGE
            ))  # fmt: skip
            total(y).backward()
            return y, x

    return Model


@guard
def another_shape():
    class Model(Base):
        def forward(self, x):
            return self.a(x) * x.shape[0]

        def step(self, k):
            y = self(variable(k, 5 if k == CHANGE else 3, 4))
            total(y).backward()
            return y

    return Model


@guard
def another_layout():
    class Model(Base):
        def forward(self, x):
            return self.a(x)

        def step(self, k):
            x = variable(k)
            if k == CHANGE:
                x.array = np.asfortranarray(x.array)
            y = self(x)
            total(y).backward()
            return y

    return Model


@guard
def an_argument_that_is_a_number():
    class Model(Base):
        def forward(self, x, n, scale=1.0):
            for _ in range(n):
                x = self.a(x) * scale
            return x

        def step(self, k):
            y = self(variable(k), 3 if k == CHANGE else 2, scale=0.5 if k % 2 else 0.5)
            total(y).backward()
            return y

    return Model


@guard
def more_arguments():
    class Model(Base):
        def forward(self, x, *more, **named):
            for z in more:
                x = x + z
            return self.a(x) * named.get("k", 2.0)

        def step(self, k):
            more = [variable(k + 40)] * (k == CHANGE)
            y = self(variable(k), *more, **({"k": 3.0} if k == CHANGE + 1 else {}))
            total(y).backward()
            return y

    return Model


@guard
def the_configuration():
    class Model(Base):
        def forward(self, x):
            return self.a(x) * (2.0 if chainer.config.train else 3.0)

        def step(self, k):
            with chainer.using_config("train", k != CHANGE):
                y = self(variable(k))
            total(y).backward()
            return y

    return Model


@guard
def an_entry_of_the_users_in_the_configuration():
    class Model(Base):
        def forward(self, x):
            return self.a(x) * chainer.config.users_own_entry

        def step(self, k):
            with chainer.using_config("users_own_entry", 3.0 if k == CHANGE else 2.0):
                y = self(variable(k))
            total(y).backward()
            return y

    return Model


@guard
def a_hook_of_a_link():
    class Twice(chainer.LinkHook):
        name = "Twice"

        def forward_preprocess(self, args):
            args.link.seen = getattr(args.link, "seen", 0) + 1

    def forward(self, x):
        return self.a(x)

    return simple(forward, changing(lambda s: s.a.add_hook(Twice())))


@guard
def a_hook_that_is_there_no_more():
    class Model(Base):
        def forward(self, x):
            return self.b(F.relu(self.a(x)))

        def step(self, k):
            if k == 0:
                self.a.add_hook(chainer.link_hooks.SpectralNormalization())
            if k == CHANGE:
                self.a.delete_hook("SpectralNormalization")
            return super().step(k)

    return Model


@guard
def parameters_that_are_registered():
    """An attribute becomes a parameter of the chain, where the call stands in its init_scope."""

    class Model(Base):
        def forward(self, x):
            self.weight = self.a.W
            return self.a(x)

        def step(self, k):
            if k != CHANGE:
                return super().step(k)
            with self.init_scope():
                return super().step(k), sorted(name for name, _ in self.namedparams())

    return Model


@guard
def a_hook_of_the_thread():
    seen = []

    class Seen(chainer.LinkHook):
        name = "Seen"

        def forward_preprocess(self, args):
            seen.append(args.link.name)

    class Model(Base):
        def forward(self, x):
            return self.a(x)

        def step(self, k):
            if k != CHANGE:
                return super().step(k)
            with Seen():
                return super().step(k), list(seen)

    return Model


@guard
def a_value_that_decides():
    """An argument's values pick the branch."""

    class Model(Base):
        def forward(self, x, t):
            return F.relu(self.a(x)) if t.sum() > 0 else F.tanh(self.b(x))

        def step(self, k):
            x = variable(k)
            y = self(x, np.full(3, -1.0 if k == CHANGE else 1.0, "f"))
            total(y).backward()
            return y

    return Model


@guard
def a_computed_value_that_decides():
    """A value of the call's own picks the branch, in the middle of it."""

    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            return F.relu(h) if float(h.array[0, 0]) < 1e3 else F.tanh(self.b(h))

        def step(self, k):
            x = variable(k)
            if k == CHANGE:
                x.array[:] = 1e4
                self.a.W.array[:] = 1
            y = self(x)
            total(y).backward()
            return y

    return Model


@guard
def what_comes_after_an_array_is_changed():
    """Where a guard fails the array is what it was, before the Python changes it again."""

    def forward(self, x):
        y = self.a(x) + self.u[0].copy()
        self.u *= 0.5
        self.u[1:] += y.array[0]
        return y * self.k

    return simple(
        forward, changing(lambda s: setattr(s, "k", 3.0)),
        k=lambda: 2.0, u=lambda: np.arange(8, dtype="f").reshape(2, 4),
    )  # fmt: skip


@guard
def an_exception_after_an_array_is_changed():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.seen = np.zeros(4, "f")

        def forward(self, x, t):
            y = self.a(x)
            self.seen[...] = 0.9 * self.seen + y.array.mean(axis=0)
            np.add.at(self.seen, t, 1)
            return F.select_item(y, t)

        def step(self, k):
            return self(variable(k), np.array([0, 1, -99 if k == CHANGE else 2])), self.seen

    return Model


@guard
def an_exception_after_statistics():
    class Model(Base):
        def forward(self, x, t):
            self.h = self.bn(self.a(x))
            return F.select_item(F.relu(self.h), t)

        def step(self, k):
            return self(variable(k), np.array([0, 1, 99 if k == CHANGE else 2]))

    return Model


@guard
def a_value_that_decides_after_statistics():
    class Model(Base):
        def forward(self, x, t):
            h = self.bn(self.a(x))
            y = F.relu(h) if float(abs(h.array).max()) < 1.7 else F.tanh(h)
            return F.select_item(y, t)

        def step(self, k):
            x = variable(k)
            x.array[:] = np.linspace(-1, 1, 12).reshape(3, 4) + x.array / 64
            if k == CHANGE:
                x.array[0] += 500
                self.a.W.array[:] = np.eye(4)
            y = self(x, np.array([0, 1, 2]))
            total(y).backward()
            return y

    return Model


@guard
def memory_that_functions_have_used():
    """The array that is changed is that of a parameter, from one call on."""

    class Model(Base):
        def forward(self, x):
            y = self.a(x)
            self.u[...] = 0.5 * self.u + 1
            return F.tanh(y)

        def step(self, k):
            if k == 0:
                self.u = np.zeros((4, 4), "f")
            if k == CHANGE:
                self.u = self.a.W.array[:]
            return super().step(k)

    return Model


@guard
def an_array_that_may_not_be_written():
    def forward(self, x):
        self.count += 1
        y = self.a(x)
        self.u[0] = y.array[0, 0]
        return y * self.u[0]

    return simple(
        forward, changing(lambda s: s.u.setflags(write=False)),
        u=lambda: np.zeros(4, "f"), count=lambda: 0,
    )  # fmt: skip


@guard
def a_subclass_of_arrays():
    class Loud(np.ndarray):
        def __iadd__(self, other):
            self[0] = 7
            return super().__iadd__(other)

    def forward(self, x):
        self.u += 1
        return self.a(x) * float(self.u[0])

    return simple(
        forward, changing(lambda s: setattr(s, "u", s.u.view(Loud))), u=lambda: np.zeros(4, "f")
    )


@guard
def an_array_that_is_another_ones_from_now_on():
    """Of real numbers ``conj()`` is the array itself, which may not be changed twice."""

    class Model(Base):
        def forward(self, x, t):
            other = t.conj()
            other += 1
            h = self.a(x) * np.abs(other).astype("f")
            return h if self.flag else F.tanh(h)

        def step(self, k):
            self.flag = k != CHANGE
            t = np.arange(4, dtype="f" if k == CHANGE else "F")
            y = self(variable(k), t)
            total(y).backward()
            return y, t

    return Model


@guard
def draws_before_something_changes():
    def forward(self, x):
        scale = random.random() + random.uniform(1, 2) * random.randint(1, 3)
        return self.a(x) * scale * self.k

    return simple(forward, changing(lambda s: setattr(s, "k", 3.0)), k=lambda: 2.0)


@guard
def draws_before_a_branch():
    """Nothing is compared behind the draws but what they have given."""

    class Model(Base):
        def forward(self, x):
            h = F.dropout(self.a(x), 0.4)
            return h if random.random() < 0.9 else F.tanh(h)

        def step(self, k):
            large = next(n for n in range(99) if random.Random(n).random() > 0.9)
            random.seed(large if k == CHANGE else 1)
            return super().step(k), random.random()

    return Model


def with_pool(change):
    """The pool of earlier images of adversarial training; ``change(pool, x)`` comes once."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.pool = [np.full((3, 4), k, "f") for k in range(4)]

        def forward(self, x):
            h, old = self.a(x), random.choice(self.pool)
            y = self.b(old + h * 0)
            self.pool[random.randrange(4)] = h.array.copy()
            return y, self.b(x)

        def step(self, k):
            if k == CHANGE:
                change(self.pool)
            y = self(variable(k))
            total(y).backward()
            return y, self.pool

    return Model


@guard
def another_kind_of_item():
    return with_pool(lambda pool: pool.__setitem__(slice(4), [2.0] * 4))


@guard
def another_shape_of_items():
    return with_pool(lambda pool: pool.__setitem__(slice(4), [np.ones((1, 4), "f")] * 4))


@guard
def fewer_items():
    return with_pool(lambda pool: pool.clear())


@guard
def a_gradient_that_there_is_from_now_on():
    """What an argument has been computed from is reached by ``chainer.grad``, too."""

    class Model(Base):
        def forward(self, x, behind):
            y = F.tanh(self.a(x))
            (g,) = chainer.grad([y], [behind])
            return y if g is None else y * F.sum(g)

        def step(self, k):
            behind = variable(k)
            x = F.sigmoid(behind) if k == CHANGE else variable(k + 1)
            y = self(x, behind)
            total(y).backward()
            return y, behind, x

    return Model


@guard
def a_gradient_that_decides():
    class Model(Base):
        def forward(self, x):
            y = self.a(x)
            (g,) = chainer.grad([F.sum(y * y)], [x])
            return F.relu(y) if float(abs(g.array).max()) < 1e3 else F.tanh(self.b(y))

        def step(self, k):
            if k == CHANGE:
                self.a.W.array *= 1e3
            return super().step(k)

    return Model


@guard
def an_exception_after_a_gradient():
    class Model(Base):
        def forward(self, x, t):
            y = self.bn(F.dropout(self.a(x), 0.3))
            (g,) = chainer.grad([F.sum(y * y)], [x])
            return F.select_item(F.relu(y + g), t)

        def step(self, k):
            y = self(variable(k), np.array([0, 1, 99 if k == CHANGE else 2]))
            total(y).backward()
            return y

    return Model


@guard
def an_array_that_decides_twice():
    class Model(Base):
        def forward(self, x, t):
            n, h = np.array([3.0]), self.a(x)
            if n:
                h = F.relu(h)
            n -= t
            if n:
                h = self.b(h)
            return h

        def step(self, k):
            y = self(variable(k), 3.0 if k == CHANGE else 1.0)
            total(y).backward()
            return y

    return Model


@guard
def arrays_of_two_arguments_that_become_one():
    class Model(Base):
        def forward(self, x, z):
            return F.relu(self.a(x)) if x.array is z.array else F.tanh(self.b(x) + z)

        def step(self, k):
            x, z = variable(k), variable(k + 40)
            if k == CHANGE:
                z.array = x.array
            y = self(x, z)
            total(y).backward()
            return y

    return Model


@guard
def an_array_in_a_tuple():
    """The tuple is the same object, what it holds is not."""

    def forward(self, x):
        y = self.a(x)
        return y * len(str(self.pair))

    return simple(
        forward, changing(lambda s: s.pair[1].fill(1e9)), pair=lambda: (1, np.zeros(2, "i"))
    )


# -- What is done besides the results


@effect
def arrays_of_the_outside_that_are_changed():
    """The power iteration of spectral normalization, and what comes of a tied array."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.u = np.linspace(-1, 1, 4, dtype="f")[None]
            self.v = self.u[0]

        def forward(self, x):
            w = self.a.W.array
            v = self.u.dot(w)
            v /= np.sqrt((v**2).sum()) + 1e-12
            u = v.dot(w.T)
            u /= np.sqrt((u**2).sum()) + 1e-12
            self.u[...] = u
            sigma = F.sum(F.matmul(F.matmul(u, self.a.W), v.T))
            self.u *= 2
            return F.linear(x, self.a.W / F.broadcast_to(sigma, (4, 4))) + self.v.copy()

    return Model


@effect
def gradients_inside():
    """As in virtual adversarial training: a perturbation from a gradient."""

    class Model(Base):
        def forward(self, x):
            y = self.bn(self.a(x))
            d = chainer.Variable(np.random.randn(*x.shape).astype("f"))
            (g,) = chainer.grad([F.sum((self.bn(self.a(x + d)) - y.array) ** 2)], [d])
            self.seen = g
            r = g.array / np.sqrt((g.array**2).sum() + 1e-6)
            return F.dropout(self.b(x + r)) * y

    return Model


@effect
def gradients_of_gradients_inside():
    """A gradient penalty, and weights that are adapted before they are used."""

    class Model(Base):
        def forward(self, x):
            h = F.dropout(F.tanh(self.a(x)), 0.3)
            grads = chainer.grad(
                [h], [x, self.a.W, self.b.W], [chainer.Variable(h.array + 1)],
                enable_double_backprop=True,
            )  # fmt: skip
            w = self.a.W - 0.1 * grads[1]
            penalty = F.sum((F.sqrt(F.batch_l2_norm_squared(grads[0]) + 1e-6) - 1) ** 2)
            return F.linear(x, w), penalty, grads[2]

    return Model


@effect
def functions_between_in_another_mode():
    def forward(self, x):
        with chainer.no_backprop_mode():
            h = F.get_item(self.a(x), np.array([True, False, True]))
        return F.tanh(h) * F.get_item(self.b(x), np.array([False, True, True]))

    return simple(forward)


@effect
def a_pool_of_images():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.pool, self.last = [], None

        def pooled(self, image):
            if len(self.pool) < 3:
                self.pool.append(image)
                return image
            k = random.randrange(3)
            self.pool[k], image = image, self.pool[k]
            return image

        def forward(self, x):
            h = F.tanh(self.a(x))
            return h * self.b(self.pooled(h.array.copy())), random.gauss(0, 1)

    return Model


@effect
def one_image_in_two_places():
    """Which of the arrays are one object is seen by whoever takes two of them."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            self.pool = [np.full((3, 4), k // 2, "f") for k in range(4)]

        def forward(self, x):
            i, j = random.randrange(4), random.randrange(4)
            y = self.a(x) + self.pool[i] * 2
            return self.b(self.pool[i]) * y + self.pool[j]

        def step(self, k):
            self.pool[1], self.pool[3] = self.pool[0], self.pool[2]
            return super().step(k)

    return Model


@effect
def hooks_that_set_weights():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.a.add_hook(chainer.link_hooks.SpectralNormalization(factor=0.5))
            self.b.add_hook(chainer.link_hooks.WeightStandardization())

        def forward(self, x):
            return self.b(F.relu(self.a(x)))

    return Model


@effect
def a_queue_of_features():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.queue, self.at = np.ones((9, 4), "f"), 0
            self.follower = self.a.copy("copy")

        def forward(self, x):
            for p, q in zip(self.follower.params(), self.a.params(), strict=True):
                p.array[...] = 0.9 * p.array + 0.1 * q.array
            with chainer.no_backprop_mode():
                k = self.follower(x).array
            y = F.matmul(self.a(x), self.queue.copy(), transb=True)
            self.queue[self.at : self.at + len(k)] = k
            self.at = (self.at + len(k)) % 9
            return y

        def step(self, k):
            self.a.W.array += 0.01
            return super().step(k)

    return Model


@effect
def centers_and_counts():
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.centers, self.counts = np.zeros((5, 4), "f"), np.zeros(5, "i")
            self.last = np.zeros(4, "f")

        def forward(self, x, t):
            difference = self.a(x) - self.centers[t]
            np.add.at(self.centers, t, 0.1 * difference.array)
            np.add.at(self.counts, t, 1)
            np.multiply(difference.array[0], 2, out=self.last)
            row = self.centers[self.counts.argmax()]
            row += 1
            self.total = np.add.reduce(self.counts)
            return difference * np.multiply.outer(np.ones(3, "f"), self.last)

        def step(self, k):
            y = self(variable(k), np.random.RandomState(k).randint(0, 5, 3))
            total(y).backward()
            return y

    return Model


@effect
def an_argument_that_is_filled():
    class Model(Base):
        def forward(self, x, t, out):
            t[t < 0] = 0
            y = F.select_item(self.a(x), t)
            out.fill(len(t))
            out[1] = y.array[0]
            return y

        def step(self, k):
            t, out = np.random.RandomState(k).randint(-1, 4, 3), np.empty(3, "f")
            y = self(variable(k), t, out)
            total(y).backward()
            return y, t, out

    return Model


@effect
def statistics_before_values():
    class Model(Base):
        def forward(self, x):
            h = self.bn(self.a(x))
            self.largest = float(h.array.max())
            p, indices = F.max_pooling_2d(h[None, None], 1, return_indices=True)
            return F.upsampling_2d(p, indices, 1, 1, outsize=h.shape)

    return Model


@effect
def attributes():
    def forward(self, x):
        self.h = F.relu(self.a(x))
        self.size = x.shape[0]
        self.pair = (self.h, [x])
        return self.b(self.h)

    return simple(forward)


@effect
def a_counter():
    def forward(self, x):
        self.count += 1
        self.box.count = self.box.count * 2 % 17
        return self.a(x)

    return simple(forward, count=lambda: 0, box=lambda: Box(count=3))


@effect
def state_of_links():
    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm = L.LSTM(4, 4)

        def forward(self, x):
            return self.lstm(x)

        def step(self, k):
            if k % 6 == 0:
                self.lstm.reset_state()
            y = self(variable(k))
            loss = total(y)
            loss.backward()
            loss.unchain_backward()
            return y

    return Model


@effect
def reports():
    class Model(Base):
        def forward(self, x):
            h = self.a(x)
            loss = F.sum(h * h)
            chainer.report({"loss": loss, "n": len(x)}, self)
            return loss

        def step(self, k):
            reporter = chainer.Reporter()
            reporter.add_observer("main", self)
            with reporter:
                loss = self(variable(k))
            loss.backward()
            return loss, dict(reporter.observation)

    return Model


@effect
def reports_to_nobody():
    def forward(self, x):
        h = self.a(x)
        chainer.report({"loss": F.sum(h)}, self)
        return h

    return simple(forward)


@effect
def a_classifier():
    class Model(L.Classifier):
        def __init__(self):
            super().__init__(chainer.Sequential(L.Linear(4, 6), F.relu, F.dropout, L.Linear(6, 3)))

        def step(self, k):
            loss = self(variable(k), np.arange(3, dtype="i"))
            loss.backward()
            return loss, self.y, self.accuracy

    Model.decorate = ("forward",)
    return Model


@effect
def lists_and_dictionaries_that_grow():
    def forward(self, x):
        y = self.a(x)
        self.log.append(x.shape)
        self.cache["last"] = y
        return y

    return simple(forward, log=list, cache=dict)


@effect
def random_numbers_of_the_methods_own():
    def forward(self, x):
        noise = np.random.rand(*x.shape).astype("f")
        return F.dropout(self.a(x) + noise, 0.3) * np.random.uniform(0.5, 1.5)

    return simple(forward)


@effect
def a_branch_by_chance():
    """Where the numbers drawn lead elsewhere the generator is set back."""

    def forward(self, x):
        h = F.dropout(self.a(x), 0.3)
        return self.b(h) if np.random.rand() < 0.8 else h

    return simple(forward)


@effect
def statistics():
    def forward(self, x):
        return self.bn(self.a(x))

    return simple(forward)


# -- What can be proved, of the things that trust.md names


@proved
def array_modules():
    def forward(self, x):
        xp = chainer.backend.get_array_module(x)
        return self.a(x) * xp.asarray(xp.ones(4, "f")) + self.xp.arange(4, dtype="f")

    return simple(forward)


@proved
def devices_in_the_style_of_chainer_1():
    """Deprecated: their warnings name the line of the caller, also where nobody runs it."""

    def forward(self, x):
        with chainer.cuda.get_device(x.array):
            h = self.a(x)
        with chainer.cuda.get_device_from_id(self._device_id):
            return F.tanh(h)

    return simple(forward)


@proved
def forms_of_arrays():
    """As all code reads them that was written for Chainer 1; no program ends there."""

    def forward(self, x):
        h = F.tanh(self.a(x))
        n, width = h.data.shape
        h = F.reshape(h, (n, width // 2, 2)) * (h.array.size / len(h.data)) + h.data.ndim
        if h.data.dtype != x.array.dtype or len(self.a.W.data) != self.a.W.data.shape[0]:
            return None
        return F.sum(F.reshape(h, (len(h.array), -1)), axis=1)

    return simple(forward)


@proved
def variables_in_the_place_of_lists():
    def forward(self, x):
        h = F.stack(F.tanh(self.a(x)))
        return F.pad_sequence(h) + F.concat(F.expand_dims(h, 0))

    return simple(forward)


@proved
def arrays_of_arguments():
    class Model(Base):
        def forward(self, x, t):
            mask = (t >= 0).astype("f")
            return F.sum(self.a(x) * mask[:, None]) / mask.sum()

        def step(self, k):
            t = np.random.RandomState(k).randint(-1, 2, 3)
            t[0] = 1
            y = self(variable(k), t)
            y.backward()
            return y

    return Model


@proved
def own_arrays():
    class Model(Base):
        def forward(self, x, t):
            onehot = np.zeros((3, 4), "f")
            onehot[np.arange(3), t] = 1
            onehot += 0.5
            np.add.at(onehot, (0, t), 1)
            return F.sum(self.a(x) * onehot)

        def step(self, k):
            y = self(variable(k), np.random.RandomState(k).randint(0, 4, 3))
            y.backward()
            return y

    return Model


@proved
def variables_that_are_unpacked():
    """Also in loops: these end with an index that is out of bounds."""

    def forward(self, x):
        h = F.tanh(self.a(x))
        first, *rest = h
        for row, other in zip(h, reversed(F.reshape(h, (3, 2, 2)))):
            first = first * F.sum(row) + F.sum(other)
        return first, rest, sum([F.sum(row * row) for row in h])

    return simple(forward)


@proved
def items_of_several_results():
    """What NumPy gives in a tuple is made anew in each call, whoever takes it as it is."""

    def forward(self, x):
        h = self.a(x)
        i, j = np.nonzero(np.ones((3, 4)))
        q, r = np.divmod(x.array[:, 0], 2)
        top, bottom = np.split(x.array[:2], 2)
        chosen = F.sum(h[i, j]) + F.sum(h[np.triu_indices(3)]) + F.sum(h[np.ix_([0, 1], [1, 3])])
        inverse = np.unique(np.arange(3) % 2, return_inverse=True)[1]
        return chosen, F.embed_id(inverse, h), h[:, 0] * r + q, F.sum(x[:1] * top - x[1:2] * bottom)

    return simple(forward)


@proved
def functions_in_part():
    def forward(self, x):
        noisy = functools.partial(F.dropout, ratio=0.3)
        h = x
        for layer in (self.a, noisy, functools.partial(self.b), functools.partial(noisy)):
            h = layer(h) + (1 if layer else 0)
        *_, last = itertools.accumulate([h, x, h], lambda a, b: F.tanh(a) * b)
        sums = itertools.accumulate([h, x], func=functools.partial(F.maximum), initial=last)
        return functools.partial(sum, [*sums])(x)

    return simple(forward)


@proved
def rows():
    def forward(self, x):
        h, rows = x, np.arange(6, dtype="f").reshape(2, 3)
        for row in rows:
            h = self.a(h) * row[:, None]
        return h

    return simple(forward)


@proved
def numbers_of_results():
    class Model(Base):
        def forward(self, x, t):
            y = self.a(x)
            correct = 0
            correct += (y.array.argmax(axis=1) == t).sum()
            return y, correct, float(y.array[0, 0])

        def step(self, k):
            y, *numbers = self(variable(k), np.arange(3))
            total(y).backward()
            return y, numbers

    return Model


@proved
def containers_and_comprehensions():
    def forward(self, x):
        hs = [self.a(x) * k for k in (1.0, 2.0) if k]
        by_name = {name: h for name, h in zip("ab", hs, strict=True)}
        acts = [lambda v, k=k: v * k for k in range(1, 3)]
        h = sum(act(h) for act, h in zip(acts, by_name.values(), strict=True))
        first, *rest = F.separate(h, axis=0)
        return {"h": h, "rest": (first, rest)}

    return simple(forward)


Pair = namedtuple("Pair", "one two")


@proved
def objects_as_results():
    class Value:
        kind = "value"

        def __init__(self, q):
            self.q = q
            self.n = q.shape[1]

    def forward(self, x):
        h = self.a(x)
        return Value(h), Pair(h, two=x), self.b

    return simple(forward)


@proved
def generators():
    def forward(self, x):
        def halves(v):
            for part in F.split_axis(v, 2, 1):
                yield F.tanh(part)
            yield from (v, v)

        return F.concat(list(halves(self.a(x))), axis=1)

    return simple(forward)


@proved
def iterators():
    def forward(self, x):
        ends = list(itertools.accumulate([1, 2]))
        parts = F.split_axis(self.a(x), ends, 1)
        pairs = [F.sum(a) * F.sum(b) for a, b in itertools.pairwise(parts)]
        return sum(itertools.islice(itertools.chain(pairs, pairs), 3))

    return simple(forward)


@proved
def normalization():
    def forward(self, x):
        return F.relu(self.bn(self.a(x)))

    return simple(forward)


@proved
def partial_functions():
    def forward(self, x):
        return self.act(self.a(x))

    return simple(forward, act=lambda: functools.partial(F.leaky_relu, slope=0.1))


@proved
def a_loop_that_values_end():
    class Model(Base):
        def forward(self, x):
            n = 0
            while float(F.sum(x).array) < 100.0 and n < 3:
                x = F.tanh(self.a(x))
                n += 1
            return x, n

    return Model


@proved
def a_number_that_changes():
    class Model(Base):
        def forward(self, x, beta):
            return self.a(x) * beta + beta * 2

        def step(self, k):
            y = self(variable(k), 1.0 + k)
            total(y).backward()
            return y

    return Model


@proved
def a_function_between_programs():
    def forward(self, x):
        h = F.get_item(self.a(x), np.array([True, False, True]))
        return F.tanh(h)

    return simple(forward)


@proved
def products_of_variables():
    def forward(self, x):
        h = self.a(x)
        return F.matmul(F.softmax(F.matmul(h, h, transb=True)), h)

    return simple(forward)


@proved
def modes_in_the_method():
    def forward(self, x):
        with chainer.no_backprop_mode(), chainer.using_config("train", False):
            z = F.dropout(F.tanh(self.b(x)))
        return self.a(x) * z

    return simple(forward)


@proved
def decorated_methods_in_decorated_ones():
    class Inner(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(4, 4)

        @chainer.static_graph
        def forward(self, x):
            return F.relu(self.l(x))

    class Model(Base):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner = Inner()

        def forward(self, x):
            return self.inner(x) + self.a(x)

    return Model


@pytest.mark.parametrize("fault", EFFECTS + PROVED, ids=lambda f: f.__name__)
def test_it_is_proved(fault):
    check(fault, CALLS)
    # Some are checked, and two ways through a method need two proofs.
    assert sum(calls_without_python(fault, CALLS)) > CALLS // 3


# -- Several proofs of one method


MANY, many = table()


@many
def ways_in_turn():
    class Model(Base):
        def forward(self, x):
            return F.relu(self.a(x)) if self.k % 2 else F.tanh(self.b(x)) * 2.0

        def step(self, k):
            self.k = k
            return super().step(k)

    return Model


@many
def modes_in_turn():
    class Model(Base):
        def forward(self, x):
            return F.dropout(self.bn(self.a(x)))

        def step(self, k):
            with chainer.using_config("train", k % 2 == 0), chainer.using_config(
                "enable_backprop", k % 4 < 2
            ):
                y = self(variable(k))
            if k % 4 < 2:
                total(y).backward()
            return y

    return Model


@many
def one_way_with_several_lengths():
    """The functions are the same; how often the Python goes round is not."""

    class Model(Base):
        def forward(self, x, boxes):
            target = np.zeros((3, 4), "f")
            for k, (i, j) in enumerate(boxes):
                target[i, j] += k + 1
            return F.sum((self.a(x) - target) ** 2)

        def step(self, k):
            boxes = np.random.RandomState(k).randint(0, 3, (k % 5, 2)).tolist()
            loss = self(variable(k), boxes)
            loss.backward()
            return loss

    return Model


@pytest.mark.parametrize("fault", MANY, ids=lambda f: f.__name__)
def test_each_of_several_ways_gets_its_proof(fault):
    check(fault, 150)
    went = calls_without_python(fault, 150)
    assert sum(went[-32:]) >= 26, "not all of the ways are proved"


def test_what_never_comes_back_is_not_proved_again_and_again():
    class Model(Base):
        @chainer.static_graph
        def forward(self, x, rows):
            target = np.zeros((3, 4), "f")
            for row in rows:
                target[row % 3] += 1
            return F.sum((self.a(x) - target) ** 2)

    model = Model()
    for k in range(60):
        model(variable(k), [1] * (k + 1))
    site = next(iter(model.schedule_manager._sites.values()))
    assert 1 <= len(site.proofs.proofs) <= 3


@pytest.mark.parametrize("of_result", [False, True])
def test_names_of_variables_are_compared(of_result):
    """Names of parameters do not change; but they could. Those of results need Python."""

    class Model(Base):
        @chainer.static_graph
        def forward(self, x):
            h = self.a(x)
            if not of_result or h.name is None:
                h = h * (2 if x.name == "x3" else 3)
            for p in self.params():
                if p.name == "W":
                    h = h + F.sum(p * p)
            return h

    model, plain = Model(), Model()
    plain.copyparams(model)
    for k in range(24):
        for net, forward in ((model, model.forward), (plain, plain.forward.__wrapped__)):
            x = variable(0)
            x.name = "x3" if k % 8 == 7 else None
            net.b.b.name = "W" if k > 16 else "b"
            net.cleargrads()
            y = forward(x) if net is model else forward(plain, x)
            F.sum(y).backward()
            if net is model:
                expected = y.array.tobytes(), net.b.W.grad.tobytes()
        assert (y.array.tobytes(), plain.b.W.grad.tobytes()) == expected
    assert (model.schedule_manager.report()[0].without_python > 3) != of_result


def test_numbers_are_looked_for_among_literals():
    """Python warns of literals that are compared by identity: texts have none."""

    class Model(Base):
        @chainer.static_graph
        def forward(self, x, index):
            k = int(index.sum())
            return self.a(x) if k in (0, 3) else self.b(x)

    model = Model()
    for k in range(24):
        y, index = model(variable(k), np.array([1, k // 8])), np.array([1, k // 8])
        layer = model.a if index.sum() in (0, 3) else model.b
        np.testing.assert_array_equal(y.array, layer(variable(k)).array)
    assert model.schedule_manager.report()[0].without_python > 8


@pytest.mark.parametrize("saved", [1000.0, -1.0])
def test_proofs_go_that_take_more_time_than_they_save(saved, monkeypatch):
    """Each is one of eight that a call may need, and finds that out after its first program."""

    class Model(Base):
        @chainer.static_graph
        def forward(self, x):
            y = F.relu(F.absolute(x + 10.0))
            rows = range(int(y.array[0, 0]) - 7)
            target = np.zeros((3, 4), "f")
            for row in rows:
                target[row % 3] += 1
            return F.sum((self.a(y) - target) ** 2)

    # Each look at the clock is a second later, and later than what reading takes its time by.
    now = itertools.count(1 << 30)
    model = Model()

    def call(k):
        model(np.full((3, 4), k % 8 - 3.0, "f"))
        (site,) = model.schedule_manager._sites.values()
        for proof in site.proofs.proofs:
            proof.meter.program = 1.0
            proof.app.meter.program = 1.0 + saved  # what a call takes with its Python
        return site

    for k in range(104):
        site = call(k)
    made = len(site.proofs.proofs)
    monkeypatch.setattr("chainer.graph_optimizations._proof.clock", lambda: float(next(now)))
    with chainer.using_config("static_budget", 0.1):
        for k in range(104, 400):
            call(k)
    proofs, app = site.proofs.proofs, site.last
    if saved > 0:
        assert len(proofs) >= made > 4 and all([p.gain > 0 for p in proofs]) and not app.proof_tries
    else:
        assert not proofs and app.proof_tries


# -- How they are told and trusted


def net(method):
    class Net(Base):
        forward = chainer.static_graph(method)

    return Net()


def called(model, n=12):
    for k in range(n):
        total(model(variable(k))).backward()
    return report(model)


def test_the_report_says_what_keeps_python():
    def forward(self, x):
        print(end="")
        return self.a(x)

    told = called(net(forward))
    assert told.without_python == 0
    event = next(e for e in told.events if e.kind == "with Python")
    assert "print" in event.reason
    line = forward.__code__.co_firstlineno + 1
    assert event.where.endswith(f"test_proof.py:{line}")


def test_a_call_that_breaks_its_promise_ends_the_proof(caplog):
    """What no guard can see: here a proof is made wrong by hand."""

    def forward(self, x):
        return F.relu(self.a(x)) if self.k > 0 else F.tanh(self.b(x))

    model = net(forward)
    model.k = 1
    called(model, 7)
    site = next(iter(model.schedule_manager._sites.values()))
    (proof,) = site.proofs.proofs
    model.k = 0
    proof.holds, proof.replay = lambda *args: ([], []), lambda *args: True
    proof.leaf_slots = []
    proof.uses = 31  # the next one is checked
    with caplog.at_level(logging.WARNING, "chainwright"):
        y = model(variable(3))
    expected = F.tanh(model.b(variable(3)))
    assert (y.array == expected.array).all()
    assert "applied other functions" in caplog.text or "another one" in caplog.text
    assert site.proofs.proofs == ()
    assert [e.kind for e in report(model).events].count("distrusted") == 1


@pytest.mark.parametrize("raises", [False, True])
def test_programs_that_fail_are_told_of_unless_the_functions_fail_too(raises, caplog):
    def forward(self, x):
        y = F.tanh(self.a(x))
        if self.k > 1:
            raise ValueError("the user's")
        return y

    model = net(forward)
    model.k = 1
    called(model, 7)
    site = next(iter(model.schedule_manager._sites.values()))
    (proof,) = site.proofs.proofs
    proof.shortcut.give_up()
    proof.shortcut.found = None

    def fails(chain, args, kw, carrier):
        carrier.values, carrier.failed = [None], "ZeroDivisionError: by hand"
        return MISS

    replay, proof.replay = proof.replay, fails
    proof.uses = 4  # no check is due
    if raises:
        model.k = 2
        with pytest.raises(ValueError, match="the user's"):
            model(variable(3))
        assert site.proofs.proofs == (proof,)
        proof.replay, model.k = replay, 1
        before = report(model).without_python
        model(variable(3))
        assert report(model).without_python == before + 1
        return
    with caplog.at_level(logging.WARNING, "chainwright"):
        y = model(variable(3))
    assert (y.array == F.tanh(model.a(variable(3))).array).all()
    assert "programs raised ZeroDivisionError: by hand, and the functions did not" in caplog.text
    assert site.proofs.proofs == ()


def turned(t):
    found = np.flip(t)
    found += 1


def part(t):
    found = np.split(t, 3)[0]
    found += 1


def row(t):
    found = t[np.argmax(t[:, 0])]
    found += 1


def view(t):
    found = t.T.reshape(4, 3)[1:]
    found[0] *= 3


def itself(t):
    t[1] *= 2
    np.subtract(t, 1, out=t)
    t.sort()


@pytest.mark.parametrize("change", [turned, part, row, view, itself], ids=lambda f: f.__name__)
def test_reading_a_call_changes_nothing(change):
    class Net(Base):
        @chainer.static_graph
        def forward(self, x, t):
            change(t)
            self.u[...] += t
            return self.a(x) + self.u.copy()

    model = Net()
    given, expected = np.zeros((3, 4), "f"), np.zeros((3, 4), "f")
    for k in range(30):
        arrays = [np.arange(12, dtype="f").reshape(3, 4) for _ in range(2)]
        model.u = given
        y = model(variable(k), arrays[0])
        model.u = expected
        z = Net.forward.__wrapped__(model, variable(k), arrays[1])
        assert (y.array == z.array).all(), k
        assert (arrays[0] == arrays[1]).all() and (given == expected).all(), k
    assert report(model).without_python > 20 or change is turned


def test_threads_that_change_one_array():
    """No change of another thread's is taken back."""

    class Net(Base):
        @chainer.static_graph
        def forward(self, x, t):
            h = self.a(x)
            self.count += 1
            return F.relu(h) if t.sum() > 0 else F.tanh(h)

    model, n = Net(), 300
    model.count = np.zeros(1, "i")

    def work(sign):
        for k in range(n):
            model(variable(k), np.full(2, sign * (-1) ** k, "f"))

    threads = [threading.Thread(target=work, args=(sign,)) for sign in (1, -1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert model.count[0] == 2 * n


def test_threads_that_note_a_number_at_once(monkeypatch):
    """One notes a number where the other has just made it an input: there are no two ways then."""

    class Net(Base):
        @chainer.static_graph
        def forward(self, x, k):
            return F.tanh(self.a(x) * k)

    kind = F.math.basic_math.MulConstant
    forward, between = kind.forward, []

    def meanwhile(self, xs):
        if between:
            between.pop()()
        return forward(self, xs)

    monkeypatch.setattr(kind, "forward", meanwhile)
    model = Net()

    def call(k):
        y, z = model(variable(0), k), Net.forward.__wrapped__(model, variable(0), k)
        assert (y.array == z.array).all()

    def in_a_thread():
        thread = threading.Thread(target=call, args=(0.5,))
        thread.start()
        thread.join()

    call(0.1)
    call(0.1)
    between.append(in_a_thread)
    call(0.3)
    (site,) = model.schedule_manager._sites.values()
    (linear,) = site.root.all_children()
    assert [child.numbers for child in linear.all_children()] == [(("value", float),)]
    for k in range(40):
        call(0.3 if k % 8 == 7 else 0.1 * k)
    assert report(model).without_python > 20 and "distrusted" not in str(report(model))


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (lambda right: [], "it set (seen|h)"),
        (lambda right: [(k, n, ("plain", int, "7")) for k, n, _ in right], "something else"),
        (lambda right: right, None),
    ],
)  # fmt: skip
def test_what_is_set_is_compared(caplog, sets, told):
    def forward(self, x):
        self.seen += 1
        self.h = F.relu(self.a(x))
        return self.b(self.h)

    model = net(forward)
    model.seen = 0
    called(model, 7)
    site = next(iter(model.schedule_manager._sites.values()))
    (proof,) = site.proofs.proofs
    proof.sets = sets(proof.sets)
    proof.uses = 31  # the next one is checked
    with caplog.at_level(logging.WARNING, "chainwright"):
        model(variable(3))
    assert (re.search(told, caplog.text) if told else not caplog.text), caplog.text
    assert (site.proofs.proofs == ()) is (told is not None)


def test_how_proofs_are_checked():
    def forward(self, x):
        return self.a(x)

    counts = {}
    for mode in ("always", "spaced", "first", "never"):
        with chainer.using_config("static_check", mode):
            counts[mode] = called(net(forward), 30).without_python
    assert counts["always"] == 0 < counts["spaced"] < counts["first"] < counts["never"]


def test_a_failing_program_runs_again_with_python():
    """What define-by-run raises is raised, and the generator is where define-by-run leaves it."""

    class Net(Base):
        @chainer.static_graph
        def forward(self, x, t):
            return F.select_item(F.dropout(self.a(x), 0.2), t)

    model = Net()
    for _ in range(10):
        model(variable(1), np.array([0, 1, 2]))
    assert report(model).without_python
    np.random.seed(3)
    with pytest.raises((IndexError, ValueError)):
        model(variable(1), np.array([0, 1, 99]))
    after = np.random.get_state()[2]
    np.random.seed(3)
    with pytest.raises((IndexError, ValueError)):
        Net.forward.__wrapped__(model, variable(1), np.array([0, 1, 99]))
    assert np.random.get_state()[2] == after


def test_a_checked_call_that_does_not_follow_its_way():
    """What it notes is compared instead: there are no promises."""
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(3, 2)

        @chainer.static_graph
        def forward(self, x):
            return F.relu(self.l(x))

    model, x = Net(), np.ones((4, 3), "f")
    for k in range(40):
        model(x)
        if k == 20:
            (site,) = model.schedule_manager._sites.values()
            site.forms.differ = True
            site.forms.forgets_programs()
    assert "distrusted" not in str(report(model))
    assert report(model).without_python > 25


class Warns(Base):
    @chainer.static_graph
    def forward(self, x):
        with chainer.no_backprop_mode():
            h = F.batch_matmul(x, x, transb=True)
        return F.sum(h) * self.a(x[0])


def warned(model, calls):
    """The warnings of some calls, each with where it comes from."""
    x = np.linspace(-1, 1, 2 * 3 * 4, dtype="f").reshape(2, 3, 4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(calls):
            model(x)
    return [(str(w.message), w.category, w.filename, w.lineno) for w in found]


def test_warnings_of_the_library_come_without_python_too():
    model = Warns()
    before = warned(model, 20)
    assert report(model).without_python > 8
    assert len(before) == 20 and len(set(before)) == 1
    plain = types.MethodType(Warns.forward.__wrapped__, model)
    assert warned(plain, 1) == before[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # where it is an exception the call needs its Python
        with pytest.raises(DeprecationWarning, match="batch_matmul"):
            model(np.ones((2, 3, 4), "f"))


class WarnsOfItsLines(Base):
    @chainer.static_graph
    def forward(self, x):
        x = x[0]
        for _ in range(2):
            with chainer.cuda.get_device(x):
                x = F.tanh(x)
        y = F.relu(x) if (
            self._device_id is None) else x
        return self.a(y)


def test_warnings_of_the_callers_line_come_from_there():
    model = WarnsOfItsLines()
    before = warned(model, 20)
    assert report(model).without_python > 8
    assert len(before) == 60 and len(set(before)) == 2
    assert {where for _, _, where, _ in before} == {__file__}
    first = WarnsOfItsLines.forward.__wrapped__.__code__.co_firstlineno
    assert [line - first for *_, line in before[-3:]] == [4, 4, 7]
    assert warned(types.MethodType(WarnsOfItsLines.forward.__wrapped__, model), 1) == before[:3]


def test_a_warning_of_what_stands_on_several_lines_keeps_python():
    """Which of these it names is not the same in all releases of Python."""

    class Net(Base):
        @chainer.static_graph
        def forward(self, x):
            with (chainer.cuda
                  .get_device(x[0])):
                return self.a(x[0])

    model = Net()
    assert len(warned(model, 20)) == 20
    assert report(model).with_python > 8 and report(model).without_python == 0


def test_warnings_of_the_user_keep_python():
    class Net(Base):
        @chainer.static_graph
        def forward(self, x):
            warnings.warn("hot", UserWarning)  # noqa: B028
            return self.a(x)

    model = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(12):
            model(variable(k))
    assert report(model).with_python > 6 and report(model).without_python == 0


ARGUMENTS_OF_DRAWS = {
    "beta": (2.0, 3.0), "binomial": (5, 0.4), "chisquare": (3.0,), "choice": (4,),
    "dirichlet": ((1.0, 2.0, 1.0, 3.0),), "f": (2.0, 3.0), "gamma": (2.0,), "geometric": (0.3,),
    "hypergeometric": (5, 4, 3), "logseries": (0.4,), "multinomial": (5, (0.1, 0.2, 0.3, 0.4)),
    "negative_binomial": (3, 0.4), "noncentral_chisquare": (2.0, 1.0),
    "noncentral_f": (2.0, 3.0, 1.0), "pareto": (2.0,), "power": (2.0,), "randint": (3,),
    "standard_gamma": (2.0,), "standard_t": (3.0,), "triangular": (0.0, 1.0, 2.0),
    "vonmises": (0.0, 1.0), "wald": (1.0, 2.0), "weibull": (2.0,), "zipf": (3.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", _safe._DRAWS)
def test_draws_are_proved(name):
    given = ARGUMENTS_OF_DRAWS.get(name, ())
    if name == "permutation":
        given, shape = (4,), {}
    elif name in ("rand", "randn"):
        given, shape = (3, 4), {}
    else:
        shape = {"size": 3 if name in ("dirichlet", "multinomial") else (3, 4)}
    draw = getattr(np.random, name)

    def forward(self, x):
        return F.dropout(self.a(x)) * draw(*given, **shape).astype("f")

    def fault():
        return simple(forward)

    check(fault, CALLS)
    assert any(calls_without_python(fault, CALLS))


DECIDED = {
    "a branch": lambda y: "yes" if float(y.array[0, 0]) > 0.3 else None,
    "an index": lambda y: int(y.array[0].argmax()),
    "the largest by a key": lambda y: max(range(4), key=lambda k: float(y.array[0, k])),
    "an order": lambda y: sorted(range(4), key=lambda k: -y.array[0, k])[:2],
    "a form": lambda y: (y,) if y.array[0, 0] > 0.3 else [y],
}


@pytest.mark.parametrize("name", DECIDED)
def test_results_that_values_decide_are_no_mistakes_of_a_proof(name):
    """The same functions are applied; the check finds a call which the proof is not for."""
    decide = DECIDED[name]

    def forward(self, x):
        y = self.a(x)
        return y, decide(y)

    def fault():
        return simple(forward)

    check(fault, 80)
    model = decorated_class(fault)()
    for k in range(80):
        model.step(k)
    assert "distrusted" not in {e.kind for e in report(model).events}
    assert report(model).without_python > 2


def test_a_decorated_link_is_another_one_all_at_once():
    """That its first call makes its ``schedule_manager`` is nothing that the user's code does."""

    class Inner(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = L.Linear(6, 6)

        @chainer.static_graph
        def forward(self, x):
            return F.relu(self.a(x))

    class Outer(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.inner, self.b = Inner(), L.Linear(6, 1)

        @chainer.static_graph
        def forward(self, x):
            return self.b(self.inner(x))

    model, x = Outer(), np.ones((6, 6), "f")
    for k in range(120):
        if k % 5 == 4:
            model.inner = Inner()
        expected = model.b(F.relu(model.inner.a(x)))
        assert np.array_equal(model(x).array, expected.array)
    assert report(model).without_python > 40


def fill_a_view(m):
    part = m.u[1:]
    part.fill(part[0, 1] + 1)


def fill_by_name(m):
    fill = m.u.fill
    fill(m.u[0, 0] + 1)


def a_field(m):
    m.record["n"] += 1


def a_field_by_item(m):
    m.record["n"][0] = m.record["n"][0] + 2


def a_field_in_a_view(m):
    field = m.record[1:]["m"]
    field[:] = field * 0.5 + 1


def some_fields(m):
    m.record[["n"]]["n"][1] += 1


def a_field_of_an_item(m):
    m.record[0]["n"] += 1


def fields_in_a_loop(m):
    for name in ("n", "m"):
        m.record[name][2] += m.record["n"][0] + 1


def fill_a_field(m):
    m.record["n"].fill(m.record["n"].max() + 1)


ITSELF = {
    "fill": lambda m: m.u.fill(m.u[0, 0] + 1), "sort": lambda m: (-m.u).sort() or m.u[0].sort(),
    "fill of a parameter": lambda m: m.b.b.array.fill(m.b.b.array[0] * 0.9 + 0.1),
    "turned": lambda m: m.u.T.fill(m.u.T[0, 0] + 1),
    **{f.__name__: f for f in (
        fill_a_view, fill_by_name, a_field, a_field_by_item, a_field_in_a_view, some_fields,
        a_field_of_an_item, fields_in_a_loop, fill_a_field)},
}


@pytest.mark.parametrize("write", ITSELF)
def test_what_is_written_once_by_what_was_there(write):
    """To read the method writes nothing, and where a guard fails nothing is written twice."""

    def forward(self, x):
        y = self.a(x)
        ITSELF[write](self)
        return F.tanh(self.b(y)) * self.k

    def fault():
        return simple(
            forward, changing(lambda s: setattr(s, "k", 3.0)), k=lambda: 2.0,
            u=lambda: np.array([[3, 1, 2, 0]] * 2, "f"),
            record=lambda: np.ones(3, [("n", "i4"), ("m", "f4")]))

    assert difference(run(fault, False, 40), run(fault, True, 40)) is None
