"""Whatever Python code can read, change or make between functions: a replay never misses it.

Each row is a method and, where there is one, a change from call to call. The compiled method has to
give what the plain one gives.
"""

import collections
import copy
import dataclasses
import enum
import functools
import os
import types
import zlib

import numpy as np
import pytest
from compare import check, pair
from numpy import zeros

import chainer
import chainer.functions as F
import chainer.links as L

SMALL = np.zeros((3, 4), "f")
LARGE = np.zeros((60, 60), "f")
NESTED = [np.zeros((60, 60), "f")]
TABLE = np.arange(5000, dtype="f")


class Slots:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 1.0


class Plain:
    k = 1.0

    def __init__(self):
        self.a = 1.0
        self.inner = types.SimpleNamespace(z=1.0)

    @property
    def double(self):
        return self.a * 2

    def scale(self, x):
        return x * self.a


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Data:
    a: float = 1.0


class State(chainer.Chain):
    factor = 1.0
    table = np.ones(4, "f")

    def __init__(self):
        super().__init__()
        self.slots, self.plain, self.data, self.color = Slots(), Plain(), Data(), Color.RED
        self.scale = self.plain.scale
        self.partial = functools.partial(F.leaky_relu, slope=0.1)
        self.deque = collections.deque([1.0, 2.0])
        self.long = list(range(300))
        self.long_dict = {k: k for k in range(300)}
        self.array = np.ones(4, "f")
        self.arrays = {"w": np.ones(4, "f")}
        self.bytes = bytearray(b"ab")
        with self.init_scope():
            self.l1 = L.Linear(4, 4)

    def __getattr__(self, name):
        if name == "made_up":
            return self.factor * 3
        raise AttributeError(name)


ROWS = []


def row(change=None):
    def add(method):
        ROWS.append(pytest.param(method, change, id=method.__name__))
        return method

    return add


@row(lambda c, i: setattr(c.slots, "a", i / 2))
def slots(self, x):
    return x * self.slots.a


@row(lambda c, i: setattr(Plain, "k", i / 2))
def attribute_of_a_class_of_the_users(self, x):
    return x * self.plain.k


@row(lambda c, i: setattr(c.plain, "a", i / 2))
def bound_method(self, x):
    return self.scale(x)


@row(lambda c, i: setattr(c.plain.inner, "z", i / 2))
def attribute_of_an_attribute(self, x):
    return x * self.plain.inner.z + self.plain.double


@row(lambda c, i: setattr(c.data, "a", i / 2))
def field(self, x):
    return x * self.data.a


@row(lambda c, i: setattr(c, "color", Color.RED if i < 3 else Color.BLUE))
def member(self, x):
    return x * (2 if self.color is Color.RED else 3)


@row(lambda c, i: c.partial.keywords.update(slope=i / 2))
def keyword_of_a_partial(self, x):
    return self.partial(x)


@row(lambda c, i: c.deque.__setitem__(0, i / 2))
def deque(self, x):
    return x * self.deque[0]


@row(lambda c, i: c.bytes.__setitem__(0, i))
def byte(self, x):
    return x * self.bytes[0]


@row(lambda c, i: c.long.__setitem__(7, i))
def item_of_a_long_list(self, x):
    return x * self.long[7]


@row(lambda c, i: c.long_dict.__setitem__(7, i))
def item_of_a_large_dict(self, x):
    return x * self.long_dict[7]


@row(lambda c, i: setattr(State, "factor", i / 2))
def class_attribute(self, x):
    return x * type(self).factor


@row(lambda c, i: setattr(State, "factor", i / 2))
def class_attribute_by_class(self, x):
    return x * self.__class__.factor


@row(lambda c, i: setattr(State, "factor", i / 2))
def class_attribute_by_self(self, x):
    return x * self.factor


@row(lambda c, i: setattr(State, "factor", i / 2))
def class_method(self, x):
    @classmethod
    def factor(cls):
        return cls.factor

    return x * factor.__get__(None, type(self))()


@row(lambda c, i: os.environ.__setitem__("CHAINWRIGHT_TEST_FACTOR", str(i)))
def environment(self, x):
    return x * float(os.environ["CHAINWRIGHT_TEST_FACTOR"])


@row(lambda c, i: os.environ.__setitem__("CHAINWRIGHT_TEST_FACTOR", str(i)))
def environment_by_getenv(self, x):
    return x * float(os.getenv("CHAINWRIGHT_TEST_FACTOR"))


@row(lambda c, i: setattr(chainer.global_config, "test_factor", i))
def global_configuration(self, x):
    return x * chainer.global_config.test_factor


@row()
def attribute_that_is_not_there_yet(self, x):
    h = getattr(self, "h", None)
    self.h = F.tanh(self.l1(x) if h is None else self.l1(x) + h.array)
    return self.h


@row(lambda c, i: setattr(State, "factor", i / 2))
def attribute_that_getattr_makes_up(self, x):
    return x * self.made_up


@row()
def link_made_in_the_first_call(self, x):
    if not hasattr(self, "lazy"):
        with self.init_scope():
            self.lazy = L.Linear(4, 3, initialW=0.5)
    return self.lazy(x)


@row(lambda c, i: TABLE.__setitem__(3, i))
def element_of_a_large_global(self, x):
    return x * TABLE[3]


@row(lambda c, i: TABLE.__setitem__(3, i))
def part_of_a_large_global(self, x):
    return x * TABLE[:4]


@row(lambda c, i: SMALL.__setitem__(0, i))
def element_of_a_small_global(self, x):
    return x * float(SMALL[0, 0])


@row()
def array_by_two_names(self, x):
    self.plain.arrays = self.arrays
    return x * self.arrays["w"] + self.plain.arrays["w"]


@row()
def traced_index_of_a_global(self, x):
    return x * TABLE[np.argmax(x.array, axis=1)][:, None]


@row()
def traced_index_of_a_class_attribute(self, x):
    return x * self.table[np.argmax(x.array, axis=1)][:, None]


@row()
def one_hot_by_identity_matrix(self, x):
    return x * np.eye(4, dtype="f")[np.argmax(x.array, axis=1)]


@row()
def taken_by_traced_index(self, x):
    return x * np.arange(4, dtype="f").take(np.argmax(x.array, axis=1))[:, None]


@row()
def taken_by_function(self, x):
    index = np.argmax(x.array, axis=1)
    return x * np.take(np.arange(4, dtype="f"), index)[:, None] * np.take(SMALL + 1, index)[:, None]


@row()
def constants_made_in_python(self, x):
    z = np.zeros((3, 4), "f")
    for k in range(3):
        z[k] = k
    z *= 2
    z[z > 3] = -1
    np.add(z, 1, out=z)
    w = np.empty_like(z)
    w.fill(2)
    return x * z + w.sum() + float(z[1, 1]) * w.T.reshape(3, 4)


@row()
def positional_encoding(self, x):
    angle = np.arange(3)[:, None] / 10.0 ** np.arange(2)[None]
    code = np.zeros((3, 4), "f")
    code[:, 0::2], code[:, 1::2] = np.sin(angle), np.cos(angle)
    return x + code


@row()
def returned_constant(self, x):
    z = np.zeros((3, 4), "f")
    z[0] = 2
    return x * z, z


@row()
def initial_state(self, x):
    if getattr(self, "state", None) is None:
        self.state = chainer.Variable(self.xp.zeros((3, 4), "f"))
    self.state = F.tanh(self.l1(x) + self.state)
    return self.state


@row()
def one_hot_by_assignment(self, x):
    z = self.xp.zeros((3, 4), "f")
    z[self.xp.arange(3), np.argmax(x.array, axis=1)] = 1
    return x * z


def filling(make):
    """Ways to put values of a traced array into another one."""

    def method(self, x):
        z = make(self, x)
        return x * z[:3, :4]

    method.__name__ = make.__name__
    return row()(method)


@filling
def set_item(self, x):
    z = np.zeros((3, 4), "f")
    z[:] = x.array
    return z


@filling
def set_item_of_a_view(self, x):
    z = np.zeros((3, 4), "f")
    z.T[:] = x.array.T
    return z


@filling
def set_item_of_imported_zeros(self, x):
    z = zeros((3, 4), "f")
    z[:] = x.array
    return z


@filling
def set_item_of_converted_list(self, x):
    z = np.array([[0.0] * 4] * 3, "f")
    z[:] = x.array
    return z


@filling
def set_item_of_a_global(self, x):
    SMALL[:] = x.array
    return SMALL


@filling
def set_item_of_a_large_global(self, x):
    LARGE[:3, :4] = x.array
    return LARGE


@filling
def set_item_of_a_nested_global(self, x):
    NESTED[0][:3, :4] = x.array
    return NESTED[0]


@filling
def set_item_of_a_copy(self, x):
    z = LARGE.copy()
    z[:3, :4] = x.array
    return z


@filling
def set_item_of_a_result(self, x):
    z = SMALL + 0
    z[:] = x.array
    return z


@filling
def set_item_of_an_attribute(self, x):
    self.array[:] = x.array[0]
    return np.stack([self.array] * 3)


@filling
def set_item_in_a_dict(self, x):
    self.arrays["w"][:] = x.array[0]
    return np.stack([self.arrays["w"]] * 3)


@filling
def in_place(self, x):
    z = np.zeros((3, 4), "f")
    z += x.array
    return z


@filling
def out(self, x):
    z = np.zeros((3, 4), "f")
    np.multiply(x.array, 2, out=z)
    return z


@filling
def flat(self, x):
    z = np.zeros((3, 4), "f")
    z.flat[:] = x.array.ravel()
    return z


@filling
def put(self, x):
    z = np.zeros((3, 4), "f")
    np.put(z, [0, 1], x.array.ravel()[:2])
    return z


@filling
def copyto(self, x):
    z = np.zeros((3, 4), "f")
    np.copyto(z, x.array)
    return z


@filling
def add_at(self, x):
    z = np.zeros((3, 4), "f")
    np.add.at(z, (0,), x.array[0])
    return z


@row()
def several_results(self, x):
    u, d, v = np.linalg.svd(x.array, full_matrices=False)
    return F.matmul(u * d, v) * x


@row()
def iterator_of_numpy(self, x):
    return x * sum(float(v) for v in np.nditer(x.array))


@row()
def vectorized(self, x):
    return x * np.vectorize(lambda v: v * 2)(x.array).astype("f")


@row()
def memory(self, x):
    return x * memoryview(x.array)[0, 0]


@row()
def checksum(self, x):
    return x * (zlib.crc32(x.array) % 5)


@row()
def constant_changed_after_use(self, x):
    z = np.zeros((3, 4), "f")
    y = x * z
    z[0] = 1
    return y + x * z


@row()
def constant_changed_in_place_after_use(self, x):
    z = np.zeros((3, 4), "f")
    y = x + z
    z += 1
    return y + x * z


@row(lambda c, i: setattr(c, "number", i))
def dictionary_of_attributes(self, x):
    return x * vars(self)["number"]


@row()
def type_of_an_array(self, x):
    return x * (2 if type(x.array) is np.ndarray else 3)


@row()
def rank_of_a_variable(self, x):
    return x * x.rank


@row()
def creator_of_an_argument(self, x):
    return x * (1 if x.creator is None else 2)


@pytest.mark.parametrize(("method", "change"), ROWS)
def test_compiled_method_is_the_plain_one(method, change, monkeypatch):
    monkeypatch.setenv("CHAINWRIGHT_TEST_FACTOR", "0")
    monkeypatch.setattr(chainer.global_config, "test_factor", 0, raising=False)
    monkeypatch.setattr(State, "factor", 1.0)
    monkeypatch.setattr(Plain, "k", 1.0)
    cls = type(method.__name__, (State,), {"forward": method})
    chains = pair(cls)
    for chain in chains:
        chain.calls = iter([0, 0, 1, 1, 2, 5, 5, 6])
    held = copy.deepcopy([SMALL, LARGE, NESTED[0], TABLE])

    def call(chain, x):
        for array, before in zip([SMALL, LARGE, NESTED[0], TABLE], held, strict=True):
            array[...] = before
        if change is not None:
            change(chain, next(chain.calls))
        return chain(x), chain(x)

    make = lambda r: (chainer.Variable(r.randn(3, 4).astype("f")),)
    try:
        check(*chains, make, iterations=6, call=call)
    finally:
        SMALL[...] = 0


def test_globals_are_back_after_an_exception():
    def fail(self, x):
        y = x * SMALL
        raise KeyError(y.shape)

    small = SMALL
    _, static = pair(type("Failing", (State,), {"forward": fail}))
    with pytest.raises(KeyError):
        static(chainer.Variable(np.ones((3, 4), "f")))
    assert SMALL is small and type(SMALL) is np.ndarray
