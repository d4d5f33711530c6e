"""Runs the same program with a decorated method and without, and says what differed.

A *fault* is a function that makes a chain class from scratch (so that no state is shared between
the two runs). ``forward`` of that class is compiled in one of the runs, or the methods that its
``decorate`` names. ``step(k)`` is the k-th call with everything around it: backward passes,
updates, changes; what it returns is described to the last bit, and so are all attributes of the
chain, gradients, identities of objects, the random generators, and the exception if there was one.
"""

import collections
import enum
import itertools
import random
import types
import warnings
import weakref

import numpy as np
from phrases import only_phrases

import chainer
import chainer.functions as F
import chainer.links as L

CALLS = 12
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, enum.Enum)
_BY_NAME = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, np.ufunc)


class Base(chainer.Chain):
    """A chain to start from, and a training step."""

    decorate = ("forward",)

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = L.Linear(4, 4), L.Linear(4, 4)
            self.bn = L.BatchNormalization(4)

    def step(self, k):
        x = variable(k)
        y = self(x)
        total(y).backward()
        return y, x


class Box:
    """A plain object."""

    def __init__(self, *values, **named):
        self.values = values
        self.__dict__.update(named)


def simple(forward, change=None, **attributes):
    """A chain with this method; ``change(self, k)`` comes before the k-th call."""

    class Model(Base):
        def __init__(self):
            super().__init__()
            for name, make in attributes.items():
                setattr(self, name, make())

        def step(self, k):
            if change is not None:
                change(self, k)
            return super().step(k)

    # A function of its own for each chain: attributes of functions are state, too.
    copied = types.FunctionType(
        forward.__code__, forward.__globals__, "forward", forward.__defaults__, forward.__closure__
    )
    Model.forward = copied
    return Model


def variable(k, *shape):
    """The argument of the k-th call."""
    values = np.random.RandomState(1000 + k).randn(*(shape or (3, 4)))
    return chainer.Variable(values.astype("f"), name=f"x{k}")


def variables_in(value, found=None, seen=None):
    """All Variables that can be reached from a result."""
    found = [] if found is None else found
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, (_PLAIN, _BY_NAME)):
        return found
    seen[id(value)] = value
    if isinstance(value, chainer.Variable):
        found.append(value)
        return found
    for _, child in _children(value):
        variables_in(child, found, seen)
    return found


def total(value):
    """A loss in which every element of every Variable of a result has another weight."""
    loss = 0
    for k, y in enumerate(v for v in variables_in(value) if v.dtype.kind == "f"):
        weights = np.linspace(k - 1.3, 2.1, y.size).reshape(y.shape).astype(y.dtype)
        loss = loss + F.sum(y * weights)
    return loss


def _children(value):
    """What an object holds, with names."""
    if isinstance(value, np.ndarray):
        items = value.flat if value.dtype == object else ()
        return [(f"[{k}]", v) for k, v in enumerate(items)]
    if isinstance(value, dict):
        return [(f"[{k!r}]", v) for k, v in value.items()] + _attributes(value)
    if isinstance(value, (list, tuple, collections.deque)):
        return [(f"[{k}]", v) for k, v in enumerate(value)] + _attributes(value)
    if isinstance(value, (set, frozenset)):
        ordered = sorted(value, key=lambda v: str(getattr(v, "array", v)))
        return [(f"{{{k}}}", v) for k, v in enumerate(ordered)]
    return _attributes(value)


# Where compilers keep what they know.
_LEFT_OUT = {"schedule_manager", "_updates", "__dict__", "__weakref__"}


def _attributes(value):
    names = [*getattr(value, "__dict__", ())]
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return [
        (f".{n}", getattr(value, n))
        for n in sorted(set(names))
        if n not in _LEFT_OUT and hasattr(value, n)
    ]


class Description:
    """Facts about everything that can be reached from some objects."""

    def __init__(self):
        self.facts = []
        self._numbers = {}
        self._kept = []

    def add(self, path, value):
        if isinstance(value, _PLAIN):
            self.facts.append((path, type(value).__name__, repr(value)))
        elif isinstance(value, np.generic):
            data = _without_kinds_of_nan(np.asarray(value)).tobytes()
            self.facts.append((path, "NumPy scalar", str(value.dtype), data))
        elif isinstance(value, _BY_NAME):
            self.facts.append((path, "named", getattr(value, "__name__", repr(value))))
        elif id(value) in self._numbers:
            self.facts.append((path, "the same object as", self._numbers[id(value)]))
        else:
            self._numbers[id(value)] = path
            self._kept.append(value)
            self._add_object(path, value)

    def _add_object(self, path, value):
        self.facts.append((path, "type", type(value).__name__))
        if isinstance(value, np.ndarray):
            self.array(path, value)
        elif isinstance(value, chainer.Variable):
            self._add_variable(path, value)
            return
        elif isinstance(value, (np.random.RandomState, random.Random)):
            self.facts.append((path, "random state", *_random_state(value)))
        elif isinstance(value, (itertools.count, np.dtype)):
            self.facts.append((path, "repr", repr(value)))
        elif isinstance(value, weakref.ref):
            return
        for name, child in _children(value):
            self.add(path + name, child)

    def _add_variable(self, path, value):
        self.facts.append((path, "requires_grad", value.requires_grad, "name", value.name))
        self.add(path + ".array", value.array)
        grad = value.grad
        if grad is None:
            self.facts.append((path, "no gradient"))
        else:
            # Which gradients share memory is left open.
            self.facts.append((path + ".grad", "type", type(grad).__name__))
            self.array(path + ".grad", grad)

    def array(self, path, value):
        data = b"" if value.dtype == object else _without_kinds_of_nan(value).tobytes()
        facts = str(value.dtype), value.shape, value.strides, value.flags.writeable
        self.facts.append((path, "array", *facts, data))


def bits(array):
    """Those of an array or None, whatever the sign of a NaN."""
    return None if array is None else _without_kinds_of_nan(array).tobytes()


def _without_kinds_of_nan(value):
    """Which of two NaNs comes out is left open, and so is its sign: see docs/targets.md."""
    if value.dtype.kind != "f" or not np.isnan(value).any():
        return value
    return np.where(np.isnan(value), value.dtype.type("nan"), value)


def _random_state(source):
    """All of a generator's state, as something that compares quickly."""
    if hasattr(source, "getstate"):
        return (hash(source.getstate()),)
    name, keys, *rest = source.get_state()
    return name, keys.tobytes(), *rest


def run(fault, compiled, calls=CALLS, after=None):
    """All facts of ``calls`` steps of a fault's chain: a list for each step."""
    np.random.seed(7)
    random.seed(7)
    model = (decorated_class(fault) if compiled else fault())()
    facts = []
    try:
        for k in range(calls):
            facts.append(_facts_of_step(model, k))
        if after is not None:
            after(model)
    finally:
        getattr(model, "close", lambda: None)()
    return facts


def decorated_class(fault):
    """The class of a fault, with the methods compiled that are to be."""
    cls = fault()
    for name in cls.decorate:
        _decorate(cls, *name.split("."))
    return cls


def _decorate(owner, *path):
    """Compile ``owner.a.b``, of which the last is a method."""
    for name in path[:-1]:
        owner = getattr(owner, name)
    setattr(owner, path[-1], chainer.static_graph(getattr(owner, path[-1])))


def _facts_of_step(model, k):
    model.cleargrads()
    seen = Description()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = model.step(k)
        except Exception as e:
            seen.facts.append(("exception", type(e).__name__, _message(e)))
            result = None
    seen.add("model", model)
    seen.add("result", result)
    seen.facts.append(("numpy.random", *_random_state(np.random)))
    seen.facts.append(("random", *_random_state(random)))
    return seen.facts


def _message(error):
    """What an exception says, without the lines of the stack that debug mode adds."""
    return str(error).split("\nStacktrace of the application")[0]


def difference(expected, actual):
    """What differs between two runs, for people; None if nothing does."""
    for k, (a, b) in enumerate(zip(expected, actual, strict=True)):
        for p, q in itertools.zip_longest(a, b):
            if p != q:
                return f"call {k + 1}: {_told(p, q)}"
    return None


def _told(p, q):
    both_arrays = p and q and p[1] == q[1] == "array" and p[:4] == q[:4]
    if both_arrays and p[-1] != q[-1] and p[2] not in ("object",):
        x, y = (np.frombuffer(f[-1], f[2]) for f in (p, q))
        with np.errstate(all="ignore"):
            off = np.abs(x.astype("D") - y.astype("D")).max()
        return f"{p[0]}: off by {off:.3g}: {x[:6]} without, {y[:6]} with the decorator"
    return f"{str(p)[:300]} without, {str(q)[:300]} with the decorator"


def check(fault, calls=CALLS):
    """The decorated method gives what the undecorated one gives, in every call."""
    expected = run(fault, False, calls)
    again = run(fault, False, calls)
    assert difference(expected, again) is None, f"the case is no program: {fault.__name__}"
    told = difference(expected, run(fault, True, calls))
    assert told is None, f"{fault.__name__}: {told}"
    with only_phrases():
        told = difference(expected, run(fault, True, calls))
    assert told is None, f"{fault.__name__}, as phrases: {told}"


def table():
    """A list of faults, and the decorator that puts a function into it."""
    faults = []

    def fault(make):
        faults.append(make)
        return make

    return faults, fault
