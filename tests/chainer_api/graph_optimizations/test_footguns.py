"""One test for each fault of the original's static_graph (S1 to S14), and for what people met more.

The undecorated method is the specification: each test compares with it, bit for bit, over several
iterations with fresh inputs.
"""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from compare import (
    arrays_in,
    assert_same_bits,
    check,
    decorated,
    hits,
    loss_of,
    pair,
    step,
    x32,
)

import chainer
import chainer.functions as F
import chainer.links as L


class MLP(chainer.Chain):
    def __init__(self, n=4):
        super().__init__()
        self.slope = 0.2
        self.k = 2.0
        self.offset = np.full((1, 5), 0.5, "f")
        with self.init_scope():
            self.l1 = L.Linear(n, 6)
            self.l2 = L.Linear(6, 5)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def test_plain_replay():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4))
    assert hits(static) > 0


# -- S1


class Attributes(MLP):
    flag = True

    def forward(self, x):
        h = self.l2(F.relu(self.l1(x))) * self.k
        if self.flag:
            h = h + self.offset
        return F.leaky_relu(h, self.slope)


def test_s1_attributes_are_guarded():
    plain, static = pair(Attributes)
    check(plain, static, x32(3, 4))
    for name, value in [("flag", False), ("k", 3), ("k", 3.0), ("slope", -0.0), ("slope", 0.0)]:
        for chain in (plain, static):
            setattr(chain, name, value)
        check(plain, static, x32(3, 4), iterations=3)
    assert hits(static) > 0


def test_s1_arrays_in_attributes_are_read_anew():
    plain, static = pair(Attributes)
    check(plain, static, x32(3, 4))
    for chain in (plain, static):
        chain.offset += 3
    check(plain, static, x32(3, 4), iterations=3)
    for chain in (plain, static):
        chain.offset = np.full((1, 5), -2, "f")
    check(plain, static, x32(3, 4), iterations=3)
    for chain in (plain, static):
        chain.offset = np.full((3, 5), -2, "d").astype("f")
    check(plain, static, x32(3, 4), iterations=3)


def test_s1_parameters_and_links_may_be_bound_anew():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4))
    for chain in (plain, static):
        np.random.seed(7)
        del chain.l2
        with chain.init_scope():
            chain.l2 = L.Linear(6, 5)
    check(plain, static, x32(3, 4), iterations=3)
    for chain in (plain, static):
        chain.l1.W.array = chain.l1.W.array * 2
    check(plain, static, x32(3, 4), iterations=3)
    for chain in (plain, static):
        chain.l1.W.array[...] += 1
    check(plain, static, x32(3, 4), iterations=3)


SCALE = 2.0


class Table:
    factor = 3.0


class Globals(MLP):
    def forward(self, x):
        return self.l1(x) * SCALE + Table.factor + helper(x)


def helper(x):
    return F.sum(x) * OPTIONS["weight"]


OPTIONS = {"weight": 0.5}


def test_s1_globals_are_guarded(monkeypatch):
    plain, static = pair(Globals)
    check(plain, static, x32(3, 4), iterations=3)
    namespace = globals()
    old = namespace["SCALE"]
    try:
        namespace["SCALE"] = -1.5
        check(plain, static, x32(3, 4), iterations=3)
    finally:
        namespace["SCALE"] = old
    monkeypatch.setattr(Table, "factor", 7)
    check(plain, static, x32(3, 4), iterations=3)
    monkeypatch.setitem(OPTIONS, "weight", 4)
    check(plain, static, x32(3, 4), iterations=3)
    assert hits(static) > 0


def test_s1_closures_are_guarded():
    amount = 2.0

    class Closure(MLP):
        def forward(self, x):
            return self.l1(x) * amount

    plain, static = pair(Closure)
    check(plain, static, x32(3, 4), iterations=3)
    amount = 5.0
    check(plain, static, x32(3, 4), iterations=3)


class ValueBranch(MLP):
    def forward(self, x):
        h = self.l1(x)
        if float(h.array.sum()) > 0:
            return h * 100
        return -h


def test_s1_branch_on_values():
    plain, static = pair(ValueBranch)
    check(plain, static, x32(3, 4), iterations=8)


class RawBranch(MLP):
    def forward(self, x):
        return self.l1(x) * (100 if x[0, 0] > 0 else -1)


def test_s1_branch_on_a_raw_argument():
    plain, static = pair(RawBranch)
    check(plain, static, lambda r: (r.randn(3, 4).astype("f"),), iterations=8)


@pytest.mark.parametrize("name", ["train", "my_own_setting"])
def test_s1_config_is_guarded(name):
    class Configured(MLP):
        def forward(self, x):
            return self.l1(x) * (2 if getattr(chainer.config, name) else 3)

    chainer.global_config.my_own_setting = True
    try:
        plain, static = pair(Configured)
        for value in (True, False, True, False):
            with chainer.using_config(name, value):
                check(plain, static, x32(3, 4), iterations=3)
        assert hits(static) > 0
    finally:
        del chainer.global_config.my_own_setting


# -- S2, S3


class Keywords(MLP):
    def forward(self, x, k=2.0, mode=None, names=()):
        h = self.l1(x) * k
        if mode is not None:
            h = getattr(F, mode)(h)
        for name in names:
            h = getattr(F, name)(h)
        return h


def test_s2_keyword_arguments():
    plain, static = pair(Keywords)
    for kwargs in [
        {},
        {"k": 5},
        {"k": 5.0},
        {"mode": "tanh"},
        {"names": ["relu", "sigmoid"]},
        {"k": -0.0},
    ]:
        check(plain, static, x32(3, 4), iterations=3, call=lambda c, x, kw=kwargs: c(x, **kw))
    assert hits(static) > 0


class AnyNames(MLP):
    """Nothing that stands between a call and the method has a name that an argument may have."""

    def forward(this, x, self=1.0, chain=2.0, method=3.0, args=4.0, kwargs=5.0):  # noqa: N805
        return this.l1(x) * (self + chain + method) * (args - kwargs)


def test_s2_keyword_arguments_of_any_name():
    plain, static = pair(AnyNames)
    for name in ("self", "chain", "method", "args", "kwargs"):
        given = {name: 7.0}
        check(
            plain, static, x32(3, 4), iterations=6, call=lambda c, x, kw=given: c.forward(x, **kw))
    assert hits(static) > 0


class Nested(MLP):
    def forward(self, *args):
        if isinstance(args[0], list):
            (x,), y = args
            return self.l1(x) + self.l1(y)
        x, (y,) = args
        return self.l1(x) - self.l1(y)


def test_s3_nesting_belongs_to_the_key():
    plain, static = pair(Nested)
    two = lambda r: (
        chainer.Variable(r.randn(3, 4).astype("f")),
        chainer.Variable(r.randn(3, 4).astype("f")),
    )
    for call in (lambda c, x, y: c([x], y), lambda c, x, y: c(x, [y])):
        check(plain, static, two, iterations=3, call=call)


def test_s3_strides_and_dtype_belong_to_the_key():
    plain, static = pair(MLP)
    for make in (
        lambda r: r.randn(3, 4).astype("f"),
        lambda r: r.randn(4, 3).astype("f").T,
        lambda r: r.randn(6, 8).astype("f")[::2, ::2],
        lambda r: np.asfortranarray(r.randn(3, 4).astype("f")),
    ):
        check(plain, static, lambda r, make=make: (make(r),), iterations=3)


class Dropout(MLP):
    def forward(self, x):
        return self.l2(F.dropout(F.relu(self.l1(x)), 0.4))


def test_s3_train_and_backprop_are_two_things():
    plain, static = pair(Dropout)
    for train in (True, False):
        for backprop in (True, False):
            with (
                chainer.using_config("train", train),
                chainer.using_config("enable_backprop", backprop),
            ):
                check(plain, static, x32(3, 4), iterations=4)


# -- S4


class Noisy(MLP):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(6)

    def forward(self, x):
        h = F.dropout(self.bn(self.l1(x)), 0.3)
        h = F.gaussian(h, h * 0.1)
        return self.l2(F.rrelu(F.dropout(h, 0.5)))


def test_s4_random_draws_are_those_of_define_by_run():
    plain, static = pair(Noisy)
    check(plain, static, x32(3, 4), iterations=6)
    assert hits(static) > 0


# -- S5, S6


def test_s5_gradients_accumulate():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4), iterations=6, clear=False)
    assert hits(static) > 0


class Shared(MLP):
    def forward(self, x):
        h = F.tanh(self.l1(x))
        h = F.tanh(F.linear(h, F.transpose(self.l1.W)) + x)
        return self.l2(F.relu(self.l1(h))) * F.sum(self.l1.W) + F.sum(h * x)


def test_s5_sums_of_several_uses_have_the_same_order():
    plain, static = pair(Shared)
    check(plain, static, x32(3, 4), iterations=6, clear=False)
    assert hits(static) > 0


def test_s6_parameters_are_inputs():
    plain, static = pair(MLP)
    for k in range(4):
        x = np.random.RandomState(k).randn(3, 4).astype("f")
        got = []
        for chain in (plain, static):
            v = chainer.Variable(x.copy())
            y = chain(v)
            got.append(
                chainer.grad(
                    [y], [chain.l1.W, chain.l2.b, v], [chainer.Variable(np.ones((3, 5), "f"))]
                )
            )
        assert_same_bits(got[0], got[1], k)
    assert hits(static) > 0


# -- S7


class Counting(MLP):
    def __init__(self):
        super().__init__()
        self.ran = []
        with self.init_scope():
            self.bn = L.BatchNormalization(6)

    def forward(self, x):
        SEEN.append(1)
        return self.bn(self.l1(x))


SEEN = []


def test_s7_the_first_call_runs_once():
    plain, static = pair(Counting)
    SEEN.clear()
    check(plain, static, x32(3, 4), iterations=1)
    assert len(SEEN) == 2  # one for each chain
    assert static.bn.N == plain.bn.N
    check(plain, static, x32(3, 4), iterations=5)


# -- S8, S9


class TwoMethods(MLP):
    def encode(self, x):
        return F.relu(self.l1(x))

    def decode(self, h):
        return self.l2(h)

    def forward(self, x):
        return self.decode(self.encode(x))


def test_s8_two_decorated_methods():
    plain, static = pair(TwoMethods, names=("encode", "decode"))
    check(plain, static, x32(3, 4))
    assert len(static.schedule_manager.report()) == 2
    assert hits(static) > 0


def test_s8_a_decorated_method_that_calls_another():
    plain, static = pair(TwoMethods, names=("encode", "forward"))
    check(plain, static, x32(3, 4))
    assert hits(static) > 0  # the inner one is part of the outer


@dataclasses.dataclass
class Pair:
    a: object
    b: object


class Structures(MLP):
    def forward(self, x, form):
        h = self.l1(x)
        y = F.relu(h)
        if form == "tuple":
            return h, y
        if form == "list":
            return [h, (y, [h])]
        if form == "dict":
            return {"h": h, "y": y, "n": 3, "none": None}
        if form == "dataclass":
            return Pair(h, [y, "text"])
        if form == "array":
            return h.array, y
        return h


@pytest.mark.parametrize("first", ["tuple", "list"])
def test_s9_the_structure_of_the_result(first):
    plain, static = pair(Structures)
    for form in (first, "tuple", "list", "dict", "dataclass", "array", "single", "tuple", "list"):
        check(plain, static, x32(3, 4), iterations=3, call=lambda c, x, f=form: c(x, f))
    assert hits(static) > 0


def test_s9_one_object_twice_stays_one_object():
    class Twice(MLP):
        def forward(self, x):
            h = self.l1(x)
            return h, h

    plain, static = pair(Twice)
    check(plain, static, x32(3, 4))
    a, b = static(chainer.Variable(np.ones((3, 4), "f")))
    assert a is b


# -- S10


class Failing(MLP):
    fail = True

    def forward(self, x):
        h = self.l1(x)
        if self.fail:
            raise ValueError("on purpose")
        return self.l2(h)


def test_s10_an_exception_while_tracing_leaves_everything_usable():
    plain, static = pair(Failing)
    x = chainer.Variable(np.ones((3, 4), "f"))
    for chain in (plain, static):
        for _ in range(2):
            with pytest.raises(ValueError, match="on purpose"):
                chain(x)
        chain.fail = False
    check(plain, static, x32(3, 4))
    assert hits(static) > 0
    with pytest.raises(chainer.utils.type_check.InvalidType):
        static(chainer.Variable(np.ones((3, 9), "f")))
    check(plain, static, x32(3, 4))


# -- S11


class NumPyInside(MLP):
    def forward(self, x):
        return self.l1(x - x.array.mean(axis=0))


class NumPyOnRaw(MLP):
    def forward(self, x):
        return self.l1(x - np.asarray(x).mean(axis=0))


NUMPY_CODE = {
    lambda self, x: self.l1(x / 2 - x.mean(axis=0)): True,
    lambda self, x: self.l1(x.astype("d").astype("f")[::-1] * np.float32(2)): True,
    lambda self, x: self.l1(np.maximum(x, 0) + (x > 0.5) * np.tanh(x).T.T): True,
    lambda self, x: self.l1(np.concatenate([x[:1], x[1:] ** 2, x[[0, 2]]])): True,
    lambda self, x: self.l1(x.reshape(4, 3).transpose().copy()): True,
    lambda self, x: self.l1(x) + F.sum(self.l1(x).array * 2): True,
    lambda self, x: self.l1(x / abs(x).max()): False,
    lambda self, x: self.l1(x * (2 if (x > 0).all() else 3)): False,
    lambda self, x: self.l1(x[x[:, 0] > -5]): False,
    lambda self, x: self.l1(x if (x == x).sum(axis=0)[0] > 1 else x): False,
    lambda self, x: self.l1(np.array([row * 2 for row in x])): False,
}


def test_s11_numpy_code_inside_the_method():
    raw = lambda r: (r.randn(3, 4).astype("f"),)
    plain, static = pair(NumPyInside)
    check(plain, static, x32(3, 4), iterations=5)
    assert hits(static) > 0
    plain, static = pair(NumPyOnRaw)
    check(plain, static, raw, iterations=5)
    for number, (method, compiled) in enumerate(NUMPY_CODE.items()):
        chain = type(f"NumPyCode{number}", (MLP,), {"forward": method})
        plain, static = pair(chain)
        check(plain, static, raw, iterations=5)
        assert (hits(static) > 0) >= compiled, str(static.schedule_manager.report())


# -- S12


class ReturnsInput(MLP):
    def forward(self, x, y):
        return x, self.l1(x), y


def test_s12_returning_an_input():
    plain, static = pair(ReturnsInput)
    two = lambda r: (chainer.Variable(r.randn(3, 4).astype("f")), r.randn(2).astype("f"))
    check(plain, static, two)
    x, y = chainer.Variable(np.ones((3, 4), "f")), np.ones(2, "f")
    a, _, b = static(x, y)
    assert a is x and b is y
    assert hits(static) > 0


def test_s12_the_same_array_twice():
    class Same(MLP):
        def forward(self, x, y):
            return self.l1(x) * F.sum(y)

    plain, static = pair(Same)
    one = x32(3, 4)
    two = lambda r: (*one(r), *one(r))
    check(plain, static, one, call=lambda c, x: c(x, x))
    check(plain, static, two)
    check(plain, static, lambda r: (r.randn(3, 4).astype("f"),), call=lambda c, x: c(x, x))


# -- S13


@pytest.mark.parametrize("how", ["deepcopy", "copy", "init", "share", "pickle", "copy.copy"])
def test_s13_copies(how):
    plain, static = pair(PickleMLP)
    check(plain, static, x32(3, 4))
    make = {
        "deepcopy": copy.deepcopy,
        "copy": lambda c: c.copy("copy"),
        "init": lambda c: c.copy("init"),
        "share": lambda c: c.copy("share"),
        "pickle": lambda c: pickle.loads(pickle.dumps(c)),
        "copy.copy": copy.copy,
    }[how]
    if how == "pickle":
        static = PickleStatic(plain)
        check(plain, static, x32(3, 4))
    np.random.seed(3)
    a = make(plain)
    np.random.seed(3)
    b = make(static)
    assert b is not static
    check(a, b, x32(3, 4))
    for chain in (a, b):
        for p in chain.params():
            p.array[...] *= 2
    check(a, b, x32(3, 4))
    check(plain, static, x32(3, 4))


class PickleMLP(MLP):
    pass


class PickleStatic(PickleMLP):
    def __init__(self, other):
        super().__init__()
        self.copyparams(other)

    @chainer.static_graph
    def forward(self, x):
        return super().forward(x)


# -- S14


def test_s14_wrong_options():
    with pytest.raises(TypeError, match="no option minimise_cache_size"):
        chainer.static_graph(minimise_cache_size=True)
    with pytest.raises(TypeError, match="must be True or False"):
        chainer.static_graph(force_test_define_by_run=1)
    with pytest.raises(ValueError, match="verbosity_level must be 0, 1 or 2"):
        chainer.static_graph(verbosity_level=3)
    with pytest.raises(TypeError, match="instead of the class"):
        chainer.static_graph(MLP)
    with pytest.raises(TypeError, match="takes a method, or options by keyword"):
        chainer.static_graph(True)

    @chainer.static_graph
    def free(x):
        return x

    with pytest.raises(TypeError, match="only methods of a chainer.Chain"):
        free(np.ones(3))

    class NoChain:
        @chainer.static_graph
        def forward(self, x):
            return x

    with pytest.raises(TypeError, match="forward was called on a NoChain"):
        NoChain().forward(np.ones(3))


@pytest.mark.parametrize(
    "options",
    [
        {"force_test_define_by_run": True},
        {"minimize_cache_size": False},
        {"verbosity_level": 2},
        {"enable_double_backprop": True},
    ],
)
def test_s14_right_options(options):
    np.random.seed(0)
    plain = MLP()
    np.random.seed(0)
    static = decorated(MLP, **options)()
    check(plain, static, x32(3, 4))
    with chainer.using_config("train", False):
        check(plain, static, x32(3, 4))
    assert hits(static) > 0


# -- what people met more


def test_two_calls_before_one_backward():
    plain, static = pair(MLP)

    def call(chain, x, y):
        return chain(x), chain(y), chain(x)

    two = lambda r: (*x32(3, 4)(r), *x32(3, 4)(r))
    check(plain, static, two, call=call)
    assert hits(static) > 0


def test_backward_twice():
    plain, static = pair(MLP)
    for k in range(4):
        got = []
        for chain in (plain, static):
            x = chainer.Variable(np.random.RandomState(k).randn(3, 4).astype("f"))
            chain.cleargrads()
            loss = F.sum(chain(x) ** 2)
            loss.backward()
            loss.backward()
            got.append([x.grad, *[p.grad for p in chain.params()]])
        assert_same_bits(got[0], got[1], k)


class OldStyle(chainer.Function):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, inputs):
        (x,) = inputs
        self.mask = x > np.median(x)
        return (np.where(self.mask, x * np.float32(self.factor), x),)

    def backward(self, inputs, grads):
        return (np.where(self.mask, grads[0] * np.float32(self.factor), grads[0]),)


class NewStyle(chainer.FunctionNode):
    def forward(self, inputs):
        x, y = inputs
        self.retain_inputs((0,))
        self.biggest = float(abs(x).max())
        return (x / np.float32(self.biggest) + y, y * np.float32(2))

    def backward(self, indexes, gys):
        gy, gz = gys
        gx = None if gy is None else gy / self.biggest
        g = F.sum(gy, axis=1, keepdims=True) if gz is None else gz * 2
        if gy is not None and gz is not None:
            g += F.sum(gy, axis=1, keepdims=True)
        return tuple((gx, g)[i] for i in indexes)


class UserFunctions(MLP):
    def forward(self, x):
        h = OldStyle(self.k)(self.l1(x))
        a, b = NewStyle().apply((h, x[:, :1] * 2))
        return self.l2(a), b


def test_functions_of_the_users():
    plain, static = pair(UserFunctions)
    check(plain, static, x32(3, 4), iterations=6)
    assert hits(static) > 0


class Recurrent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(10, 4)
            self.lstm = L.LSTM(4, 6)
            self.out = L.Linear(6, 10)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x)))


@pytest.mark.parametrize("names", [("forward",)])
def test_a_link_with_state(names):
    plain, static = pair(Recurrent, names=names)

    def call(chain, xs, ts):
        chain.lstm.reset_state()
        loss = 0
        for x, t in zip(xs, ts, strict=True):
            loss += F.softmax_cross_entropy(chain(x), t)
        return loss

    make = lambda r: (r.randint(0, 10, (5, 3)).astype("i"), r.randint(0, 10, (5, 3)).astype("i"))
    check(plain, static, make, iterations=6, call=call)
    assert_same_bits(plain.lstm.h, static.lstm.h, "h")
    assert_same_bits(plain.lstm.c, static.lstm.c, "c")
    assert hits(static) > 0


def test_truncated_backpropagation():
    plain, static = pair(Recurrent)
    for chain in (plain, static):
        chain.lstm.reset_state()

    def call(chain, xs, ts):
        loss = 0
        for x, t in zip(xs, ts, strict=True):
            loss += F.softmax_cross_entropy(chain(x), t)
        chain.cleargrads()
        loss.backward()
        loss.unchain_backward()
        return loss.array

    make = lambda r: (r.randint(0, 10, (4, 3)).astype("i"), r.randint(0, 10, (4, 3)).astype("i"))
    check(plain, static, make, iterations=6, call=call)
    assert hits(static) > 0


class Smooth(MLP):
    def forward(self, x):
        return self.l2(F.tanh(self.l1(x)) ** 2)


@pytest.mark.parametrize("enable", [False, True])
def test_double_backprop(enable):
    np.random.seed(0)
    plain = Smooth()
    np.random.seed(0)
    static = decorated(Smooth, enable_double_backprop=enable)()
    for k in range(5):
        got = []
        for chain in (plain, static):
            np.random.seed(k)
            chain.cleargrads()
            x = chainer.Variable(np.random.RandomState(k).randn(3, 4).astype("f"))
            y = chain(x)
            (gx,) = chainer.grad([F.sum(y * y)], [x], enable_double_backprop=True)
            loss = F.sum(gx * gx) + F.sum(y)
            loss.backward()
            got.append([loss, gx, x.grad, *[p.grad for p in chain.params()]])
            if k > 1:  # ordinary steps between, so that replays have a schedule
                chain.cleargrads()
                F.sum(chain(chainer.Variable(x.array))).backward()
        assert_same_bits(got[0], got[1], k)
    assert hits(static) > 0


def test_double_backprop_repeats_the_random_numbers_of_its_call():
    class SmoothDropout(MLP):
        def forward(self, x):
            return self.l2(F.dropout(F.tanh(self.l1(x)), 0.4)) ** 2

    plain, static = pair(SmoothDropout)
    check(plain, static, x32(3, 4), iterations=3)
    for k in range(3):
        got = []
        for chain in (plain, static):
            np.random.seed(k)
            x = chainer.Variable(np.random.RandomState(k).randn(3, 4).astype("f"))
            y, z = chain(x), np.random.rand(2)
            (gx,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
            chain.cleargrads()
            F.sum(gx * gx).backward()
            got.append([y, gx, z, x.grad, *[p.grad for p in chain.params()], np.random.rand(3)])
        for a, b in zip(*got, strict=True):
            assert_same_bits(a, b, k)


class Calls(chainer.FunctionHook):
    name = "Calls"

    def __init__(self):
        self.labels = []

    def forward_postprocess(self, function, in_data):
        self.labels.append(function.label)

    def backward_postprocess(self, function, in_data, out_grad):
        self.labels.append("backward " + function.label)


def test_function_hooks_see_every_function():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4))
    seen = []
    for chain in (plain, static):
        hook = Calls()
        with hook:
            F.sum(chain(chainer.Variable(np.ones((3, 4), "f")))).backward()
        seen.append(hook.labels)
    assert seen[0] == seen[1] and len(seen[0]) > 6


def test_graph_drawing_shows_every_function():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4))
    seen = []
    for chain in (plain, static):
        loss = F.sum(chain(chainer.Variable(np.ones((3, 4), "f"))))
        graph = chainer.computational_graph.build_computational_graph([loss])
        seen.append(
            (
                sorted(getattr(n, "label", "") for n in graph.nodes),
                len(graph.edges),
            )
        )
    assert seen[0] == seen[1]


def test_deep_structures_as_arguments():
    class Deep(MLP):
        def forward(self, batch, options=None):
            h = self.l1(batch["x"]) + batch["more"][0].a
            return h * (options["scale"] if options else 1)

    plain, static = pair(Deep)

    def make(r):
        return (
            {
                "x": chainer.Variable(r.randn(3, 4).astype("f")),
                "more": [Pair(r.randn(3, 6).astype("f"), "label"), 3, None],
            },
            {"scale": 2},
        )

    check(plain, static, make)
    assert hits(static) > 0


def test_counters_stay_define_by_run():
    class Counter(MLP):
        n = 0

        def forward(self, x):
            self.n += 1
            return self.l1(x) * self.n

    plain, static = pair(Counter)
    check(plain, static, x32(3, 4), iterations=12)
    assert static.n == plain.n == 12


def test_appending_to_a_list_stays_define_by_run():
    class Appending(MLP):
        def __init__(self):
            super().__init__()
            self.seen = []

        def forward(self, x):
            self.seen.append(len(self.seen))
            return self.l1(x)

    plain, static = pair(Appending)
    check(plain, static, x32(3, 4), iterations=5)
    assert static.seen == plain.seen == [0, 1, 2, 3, 4]


def test_draws_outside_of_functions_stay_define_by_run():
    class Drawing(MLP):
        def forward(self, x):
            return self.l1(x) * float(np.random.rand())

    plain, static = pair(Drawing)
    check(plain, static, x32(3, 4), iterations=5)


def test_printing_stays_define_by_run(capsys):
    class Printing(MLP):
        def forward(self, x):
            print("called")
            return self.l1(x)

    plain, static = pair(Printing)
    check(plain, static, x32(3, 4), iterations=4)
    assert capsys.readouterr().out == "called\n" * 8


def test_variables_from_elsewhere_stay_define_by_run():
    weight = chainer.Variable(np.full((3, 6), 2, "f"))

    class Elsewhere(MLP):
        def forward(self, x):
            return self.l1(x) * weight

    plain, static = pair(Elsewhere)
    for k in range(4):
        got = []
        for chain in (plain, static):
            weight.cleargrad()
            result, grads, state, _ = step(chain, x32(3, 4)(np.random.RandomState(k)), k)
            got.append([result, grads, state, weight.grad])
        assert_same_bits(got[0], got[1], k)


def test_reports_are_repeated():
    class Reporting(MLP):
        def forward(self, x):
            loss = F.sum(self.l1(x) ** 2)
            chainer.report({"loss": loss, "size": len(x)}, self)
            return loss

    plain, static = pair(Reporting)
    seen = []
    for chain in (plain, static):
        reporter = chainer.Reporter()
        reporter.add_observer("main", chain)
        values = []
        for k in range(4):
            observation = {}
            with reporter.scope(observation):
                step(chain, x32(3, 4)(np.random.RandomState(k)), k)
            values.append({n: float(getattr(v, "array", v)) for n, v in observation.items()})
        seen.append(values)
    assert seen[0] == seen[1] and set(seen[0][0]) == {"main/loss", "main/size"}
    assert hits(static) > 0


def test_persistent_and_plain_attributes_are_set():
    class Setting(MLP):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            self.last_shape = x.shape
            self.hidden = F.relu(self.l1(x))
            return self.l2(self.hidden)

    plain, static = pair(Setting)
    for k in range(4):
        got = []
        for chain in (plain, static):
            result, grads, state, _ = step(chain, x32(3, 4)(np.random.RandomState(k)), k)
            got.append([result, grads, state, chain.hidden, list(chain.last_shape)])
            F.sum(chain.hidden).backward()
            got[-1].append([p.grad for p in chain.params() if p.grad is not None])
        assert_same_bits(got[0], got[1], k)
    assert hits(static) > 0


def test_30_batch_sizes_keep_a_bounded_number_of_schedules():
    plain, static = pair(MLP)
    for n in range(1, 31):
        check(plain, static, x32(n, 4), iterations=2)
    assert len(static.schedule_manager.programs) <= 8


def test_50_forwards_without_backward_keep_one_schedule():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4), iterations=50, backward=False)
    check(plain, static, x32(3, 4), iterations=3)
    assert len(static.schedule_manager.programs) == 1
    assert hits(static) > 0


def test_the_results_of_a_call_are_not_overwritten_by_the_next():
    _, static = pair(MLP)
    kept = []
    for k in range(6):
        x = chainer.Variable(np.random.RandomState(k).randn(3, 4).astype("f"))
        static.cleargrads()
        y = static(x)
        F.sum(y * y).backward()
        kept.append(([y.array, x.grad, static.l1.W.grad], None))
        kept[-1] = (kept[-1][0], [a.copy() for a in kept[-1][0]])
    for arrays, copies in kept:
        assert_same_bits(arrays, copies, "kept")


def test_end_forward_and_report():
    plain, static = pair(MLP)
    check(plain, static, x32(3, 4))
    manager = static.schedule_manager
    manager.end_forward()
    check(plain, static, x32(3, 4))
    report = manager.report()
    assert [e.kind for e in report[0].events] == ["compile"]
    assert "test_footguns" in str(report) and report[0].events[0].seconds > 0
    program = manager.programs[0]
    assert "def " in program.source and "test_footguns.py" in program.source
    assert "ReLU" in str(program.recorded)
    assert program.recorded.to_dot().source.startswith("digraph")


def test_loss_of_is_sensitive():
    """The comparison itself: another output gives another loss."""
    a = chainer.Variable(np.ones(3, "f"))
    assert float(loss_of((a, a)).array) != float(loss_of((a, a * 2)).array)
    assert arrays_in({"a": a})
