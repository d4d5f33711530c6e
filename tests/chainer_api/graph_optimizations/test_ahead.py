"""Checks of proofs look ahead: in calls that a proof is not for nothing is compared with it.

A call begins with something (a program, a draw, a write), and then reads what another call finds
otherwise. Guards behind the beginning that can be known before it are looked at before it.
"""

import functools
import random

import numpy as np
import pytest
from trust import Base, check, decorated_class, variable

import chainer
import chainer.functions as F
from chainer.graph_optimizations._ahead import ahead


def nothing(self, x):
    return x


def batch_normalization_of_a_held_array(self, x):
    F.batch_normalization(
        x, self.one, self.zero, running_mean=self.kept, running_var=self.one
    )
    return x


def a_draw(self, x):
    return F.dropout(x, 0.3)


def a_draw_of_numpy(self, x):
    return x + np.random.randn(*x.shape).astype("f")


def a_draw_of_python(self, x):
    return x * random.random()


def a_write(self, x):
    self.kept += 1
    return x


def a_program(self, x):
    y = self.a(x)
    return y * (y.array > 0)


def a_gradient(self, x):
    y = self.a(x)
    (g,) = chainer.grad([F.sum(y * y)], [x])
    return y + g


def a_variable_without_graph(self, x):
    with chainer.no_backprop_mode():
        y = F.sigmoid(x)
    return y + chainer.Variable(np.random.randn(*x.shape).astype("f"))


BEGINNINGS = [
    nothing, a_variable_without_graph, batch_normalization_of_a_held_array, a_draw,
    a_draw_of_numpy, a_draw_of_python, a_write, a_program, a_gradient,
]  # fmt: skip


def another_layout(self, x, z):
    return x, chainer.Variable(np.asfortranarray(z.array))


def another_type(self, x, z):
    return x, chainer.Variable(z.array.astype("d"))


def no_gradient(self, x, z):
    return x, chainer.Variable(z.array, requires_grad=False)


def one_object(self, x, z):
    return x, x


def another_number(self, x, z):
    self.k = 3
    return x, z


def another_list(self, x, z):
    self.sizes = [1, 3]
    return x, z


def another_function(self, x, z):
    self.act = F.tanh
    return x, z


def another_array(self, x, z):
    self.order = np.array([0, 1, 3, 2], "i")
    return x, z


CHANGES = [
    another_layout, another_type, no_gradient, one_object, another_number, another_list,
    another_function, another_array,
]  # fmt: skip


def case(begin, change):
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.one, self.zero = np.ones(4, "f"), np.zeros(4, "f")
            self.kept = np.zeros(4, "f")
            self._restore()

        def _restore(self):
            self.k, self.act, self.sizes = 2, F.sigmoid, [2, 2]
            self.order = np.array([3, 2, 1, 0])

        def forward(self, x, z):
            h = begin(self, x)
            v = self.act(F.cast(z[:, self.order], "f")) * h
            first, second = F.split_axis(v, self.sizes[:1], axis=1)
            return F.concat([second, first], axis=1) * self.k

        def step(self, k):
            random.seed(k)
            self._restore()
            x, z = variable(k), variable(k + 100)
            if k > 6 and k % 3:
                x, z = change(self, x, z)
            y = self.forward(x, z)
            F.sum(y).backward()
            return y.array, x.grad, z.grad, self.kept.copy(), self.one.copy()

    return Model


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("begin", BEGINNINGS, ids=lambda f: f.__name__)
def test_calls_that_a_proof_is_not_for_are_not_compared(begin, change, monkeypatch):
    """That the log is silent is a part of this test, as of all others."""
    monkeypatch.setattr(chainer.global_config, "static_check", "always")
    fault = functools.partial(case, begin, change)
    check(fault, 16)
    model = decorated_class(fault)()
    for k in range(16):
        model.step(k)
    (told,) = model.schedule_manager.report()
    assert told.checks >= 6


@pytest.mark.parametrize(
    "begin", [nothing, batch_normalization_of_a_held_array, a_draw, a_write],
    ids=lambda f: f.__name__,
)
def test_results_are_compared_where_no_value_decides(begin):
    class Model(Base):
        def __init__(self):
            super().__init__()
            self.one, self.zero = np.ones(4, "f"), np.zeros(4, "f")
            self.kept = np.zeros(4, "f")

        def forward(self, x, z):
            return F.relu(self.a(begin(self, x))) * self.b(z)

    model = decorated_class(lambda: Model)()
    for k in range(7):
        model.forward(variable(k), variable(k + 100))
    ((proof, *_),) = [site.proofs.proofs for site in model.schedule_manager._sites.values()]
    assert not proof.by_values


def test_lines_that_are_run_ahead():
    lines = """
v1 = args[0]
v2 = v1._array
carrier.first_state = first_state()
if k1.apply is not k2: return undone(carrier)
v3 = k1['TABLE']
if v3[0] is not k3: return undone(carrier)
v4 = v1.sizes
if v4[0] != 3: return undone(carrier)
v5 = v2[0]
if v5: return undone(carrier)
v6 = v1.array
if v6: return undone(carrier)
if type(v6) is not ndarray or v6.shape != k4: return undone(carrier)
v7 = k5(v1)
if v7 is not k6: return undone(carrier)
if differs(v4, k7): return undone(carrier)
v8 = v1.k
v9 = v8 + 1
if v9 is not k8 and v9 != k8: return undone(carrier)
if (v10 := v1.name) is not k9 and v10 != k9: return undone(carrier)
v1.k = v9
if len({id(v1), id(v7), id(v4)}) != 3: return undone(carrier)
return v10
""".strip().splitlines()
    kinds = {
        "v3": tuple, "v4": list, "v5": np.float32, "v6": np.ndarray, "v8": int, "v9": int,
    }  # fmt: skip
    behind = {0, 1, 2, 8, 9, 11, 13, 14, 20, 22}
    found = ahead(lines, 2, kinds, False)
    assert [*found] == [k for k in range(len(lines)) if k not in behind]
    assert found.pop(21) == "if len({id(v1), id(v4)}) != 2: return undone(carrier)"
    assert all(lines[k] == text for k, text in found.items())
    assert 15 not in ahead(lines, 2, kinds, True)
