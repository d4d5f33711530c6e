"""Functions of the user's in calls without Python: their forward is read, or the call has its
Python."""

import numpy as np
import pytest
from trust import Box, check, run, simple, total, variable

import chainer
import chainer.functions as F
from chainer.graph_optimizations._users import only_checks_types
from chainer.utils import type_check

SEEN = []


class Reversal(chainer.Function):
    def __init__(self, weight=1.0):
        self.weight = weight

    def forward_cpu(self, inputs):
        self.shape = inputs[0].shape
        return (inputs[0],)

    def backward_cpu(self, inputs, gys):
        return (-self.weight * gys[0].reshape(self.shape),)


class Sign(chainer.FunctionNode):
    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        (x_type,) = in_types
        chainer.utils.type_check.expect(x_type.dtype.kind == "f", x_type.ndim > 0)

    def forward(self, inputs):
        (x,) = inputs
        xp = chainer.backend.get_array_module(x)
        self.retain_inputs((0,))
        self.inside = (xp.abs(x) < 1).astype(x.dtype)
        return (xp.sign(x),)

    def backward(self, indexes, gys):
        (x,) = self.get_retained_inputs()
        return (gys[0] * self.inside + 0 * x,)


class Two(chainer.Function):
    def forward(self, inputs):
        x, y = inputs
        self.retain_inputs((1,))
        self.retain_outputs([0])
        return np.exp(x), x * y

    def backward(self, inputs, gys):
        none, y = inputs
        assert none is None
        gx = np.zeros_like(y)
        for gy, factor in zip(gys, (self.output_data[0], y), strict=True):
            gx += 0 if gy is None else gy * factor
        return gx, None


class Noise(chainer.Function):
    def forward(self, inputs):
        self.mask = (np.random.rand(*inputs[0].shape) < 0.5).astype("f")
        return (inputs[0] * self.mask,)

    def backward(self, inputs, gys):
        return (gys[0] * self.mask,)


class Branches(chainer.Function):
    def forward(self, inputs):
        self.rate = 2.0 if inputs[0].sum() > 0 else 0.5
        return (inputs[0] * np.float32(self.rate),)

    def backward(self, inputs, gys):
        return (gys[0] * np.float32(self.rate),)


class Tells(Reversal):
    def forward_cpu(self, inputs):
        SEEN.insert(len(SEEN), len(SEEN))
        return super().forward_cpu(inputs)


class ChecksMore(Reversal):
    def check_type_forward(self, in_types):
        SEEN.append(len(SEEN))


class KeepsList(Reversal):
    def forward_cpu(self, inputs):
        self.kept = [inputs[0] * 2]
        return super().forward_cpu(inputs)

    def backward_cpu(self, inputs, gys):
        return (gys[0] * self.kept[0],)


class Writes(Reversal):
    def forward_cpu(self, inputs):
        inputs[0][...] *= 2
        return super().forward_cpu(inputs)


class OfChain(chainer.FunctionNode):
    def __init__(self, chain):
        self.chain = chain

    def forward(self, inputs):
        self.y = inputs[0] * np.float32(self.chain.rate)
        return (self.y,)

    def backward(self, indexes, gys):
        return (gys[0] * np.float32(self.chain.rate),)


class OfTable(OfChain):
    def __init__(self, table, chain):
        self.table = table
        super().__init__(chain)

    def forward(self, inputs):
        return (inputs[0] * self.table * np.float32(self.chain.rate),)

    def backward(self, indexes, gys):
        return (gys[0] * self.table * np.float32(self.chain.rate),)


TABLE = np.linspace(-1, 1, 4).astype("f")


def keep(self, f):
    self.kept = f
    return f


def changed(f, x):
    y = f(x)
    f.weight = 3.0
    return y


def looked_at(f, x):
    (y,) = f.apply((x,))
    return y * f.inside


def without_graph(self, f, x):
    with chainer.no_backprop_mode():
        y = f(x)
    return y


PROVED = {
    "old": lambda self, x: F.tanh(Reversal()(self.a(x))) * 2,
    "first": lambda self, x: self.a(Reversal(0.5)(x)),
    "last": lambda self, x: Reversal(2.0)(self.a(x)),
    "only results of others": lambda self, x: F.sum(self.b(Reversal()(F.tanh(self.a(x))))),
    "new": lambda self, x: self.b(Sign().apply((self.a(x),))[0]),
    "several": lambda self, x: self.b(Reversal()(Sign().apply((self.a(x),))[0])) + Reversal()(x),
    "several results": lambda self, x: sum(Two()(self.a(x), self.b(x).array)),
    "a result that is not used": lambda self, x: Two()(self.a(x), x)[1] * 2,
    "looks at it": lambda self, x: self.b(looked_at(Sign(), self.a(x))),
    "other object": lambda self, x: self.b(OfChain(self).apply((self.a(x),))[0]),
    "array and object": lambda self, x: self.b(OfTable(TABLE, self).apply((self.a(x),))[0]),
    "without graph": lambda self, x: self.b(x) + without_graph(self, Reversal(), self.a(x)),
}  # fmt: skip

AS_BEFORE = {
    "tells": lambda self, x: F.tanh(Tells()(self.a(x))),
    "checks more": lambda self, x: F.tanh(ChecksMore()(self.a(x))),
    "keeps a list": lambda self, x: F.tanh(KeepsList()(self.a(x))),
    "is kept": lambda self, x: F.tanh(keep(self, Reversal())(self.a(x))),
    "is changed": lambda self, x: F.tanh(changed(Reversal(), self.a(x))),
    "of the outside": lambda self, x: F.tanh(SHARED[0](self.a(x))),
}

EITHER = {
    "noise": lambda self, x: self.b(Noise()(self.a(x))),
    "branches": lambda self, x: self.b(Branches()(self.a(x))),
    "writes": lambda self, x: self.b(Writes()(self.a(x))),
}

SHARED = [Reversal()]


def _without_python(forward, **options):
    """The calls that have gone without their Python."""
    found = []

    def after(model):
        found.extend(r.without_python for r in model.schedule_manager.report())

    run(lambda: simple(forward, rate=lambda: 0.5, **options), True, calls=16, after=after)
    return sum(found)


@pytest.mark.parametrize("name", [*PROVED, *AS_BEFORE, *EITHER])
def test_methods_with_functions_of_the_user_give_what_they_give(name):
    forward = (PROVED | AS_BEFORE | EITHER)[name]
    SHARED[:] = [Reversal()]
    check(lambda: simple(forward, rate=lambda: 0.5), calls=12)


@pytest.mark.parametrize("name", PROVED)
def test_a_forward_that_does_nothing_else_needs_no_python(name):
    assert _without_python(PROVED[name]) > 4


@pytest.mark.parametrize("name", AS_BEFORE)
def test_another_forward_has_its_python(name):
    SEEN.clear()
    assert _without_python(AS_BEFORE[name]) == 0
    assert SEEN == ([*range(16)] if name in ("tells", "checks more") else [])


def test_settings_of_the_chain_are_read_in_each_call():
    def change(self, k):
        self.rate = 0.5 if k < 10 else 0.25

    fault = lambda: simple(PROVED["other object"], change, rate=lambda: 0.5)  # noqa: E731
    check(fault, calls=16)


class Limited(chainer.FunctionNode):
    def __init__(self, limit):
        self.limit = limit

    def check_type_forward(self, in_types):
        type_check.expect(in_types[0].shape[1] >= self.limit, in_types[0].shape[0] < 12)

    def forward(self, inputs):
        return (inputs[0] * np.float32(2),)

    def backward(self, indexes, gys):
        return (gys[0] * np.float32(2),)


class OldLimited(chainer.Function):
    def __init__(self, limit):
        self.limit = limit

    check_type_forward = Limited.check_type_forward
    forward = Limited.forward

    def backward(self, inputs, gys):
        return (gys[0] * 2,)


@pytest.mark.parametrize("kind", [Limited, OldLimited])
@pytest.mark.parametrize("what", ["the attribute", "the length"])
def test_wrong_types_are_wrong_without_python(kind, what):
    def forward(self, x):
        f = kind(self.limit)
        h = F.relu(self.a(x))
        return F.tanh(f(h) if kind is OldLimited else f.apply((h,))[0])

    def change(self, k):
        self.limit = 9 if k in (20, 22) else 1 + k % 3

    def fault():
        if what == "the attribute":
            return simple(forward, change, limit=int)

        class Lengths(simple(forward, limit=int)):
            def step(self, k):
                x = variable(k, 2 + 5 * k % 9 if k not in (32, 35) else 13, 4)
                y = self(x)
                total(y).backward()
                return y, x

        return Lengths

    found = []
    fault.__name__ = what
    check(fault, calls=36)
    run(fault, True, calls=36, after=lambda model: found.extend(
        r.without_python for r in model.schedule_manager.report()))
    assert sum(found) > 2


class Declared(chainer.FunctionNode):
    """May be part of a program, where its attributes can be compared."""

    _supports_static_optimizations = True
    box = None

    def forward(self, inputs):
        return (inputs[0] * np.float32(1.0 if self.box is None else self.box.factor),)

    def backward(self, indexes, gys):
        return (gys[0] * np.float32(1.0 if self.box is None else self.box.factor),)


@pytest.mark.parametrize("often", [False, True])
def test_attributes_that_cannot_be_compared_are_not_left_out(often):
    """A function without such an attribute may have come before, with a program."""

    def forward(self, x, k=0):
        f = Declared()
        if self.k % 2 if often else self.k > 8:
            f.box = self.box
        return F.tanh(f.apply((self.a(x),))[0])

    def change(self, k):
        self.k = k

    check(lambda: simple(forward, change, box=lambda: Box(factor=2.0), k=int), calls=24)


def test_the_graph_has_the_function_and_its_arrays():
    def forward(self, x):
        return self.b(Sign().apply((self.a(x),))[0])

    def after(model):
        x = chainer.Variable(np.linspace(-3, 3, 12).reshape(3, 4).astype("f"))
        y = model(x)
        assert model.schedule_manager.report()[0].without_python > 4
        (sign,) = [n for n in _nodes(y.creator) if type(n) is Sign]
        h = sign.inputs[0].get_variable()
        np.testing.assert_array_equal(sign.inside, np.abs(h.array) < 1)
        assert not hasattr(sign, "rate") and sign.outputs[0]() is not None
        (gx,) = chainer.grad([y], [x], enable_double_backprop=True)
        F.sum(gx * gx).backward()
        assert model.b.W.grad is not None

    run(lambda: simple(forward), True, calls=16, after=after)


def _nodes(func):
    found = [func]
    for node in func.inputs:
        if node.creator_node is not None:
            found += _nodes(node.creator_node)
    return found


def test_checks_of_types():
    def plain(self, in_types):
        x, *rest = in_types
        type_check.expect(x.ndim == len(self.axes), *[r.dtype == x.dtype for r in rest])

    def sets(self, in_types):
        self.types = in_types

    def calls(self, in_types):
        self.other(in_types)

    def prints(self, in_types):
        print(in_types)

    def walrus(self, in_types):
        return (kept := in_types) and kept

    assert only_checks_types(plain) and only_checks_types(Sign.check_type_forward)
    assert only_checks_types(chainer.FunctionNode.check_type_forward)
    for other in (sets, calls, prints, walrus):
        assert not only_checks_types(other)
