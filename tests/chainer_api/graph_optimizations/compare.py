"""Runs a decorated method beside the undecorated one and compares everything, bit for bit."""

import copy

import numpy as np

import chainer


def decorated(cls, *names, **options):
    """A subclass of ``cls`` whose methods ``names`` are compiled."""
    names = names or ("forward",)
    methods = {n: chainer.static_graph(**options)(getattr(cls, n)) for n in names}
    return type(f"Static{cls.__name__}", (cls,), methods)


def pair(cls, *args, names=("forward",), **kwargs):
    """An undecorated chain and a decorated one with equal parameters."""
    np.random.seed(0)
    plain = cls(*args, **kwargs)
    np.random.seed(0)
    static = decorated(cls, *names)(*args, **kwargs)
    return plain, static


def arrays_in(value):
    """All arrays of a nested result, with where they stand."""
    if isinstance(value, chainer.Variable):
        return [("variable", value.array)]
    if isinstance(value, np.ndarray):
        return [("array", value)]
    if isinstance(value, dict):
        return [(f"{k}.{p}", a) for k, v in value.items() for p, a in arrays_in(v)]
    if isinstance(value, (tuple, list)):
        return [
            (f"{type(value).__name__}{k}.{p}", a)
            for k, v in enumerate(value)
            for p, a in arrays_in(v)
        ]
    if hasattr(value, "__dataclass_fields__"):
        return arrays_in({k: getattr(value, k) for k in value.__dataclass_fields__})
    return [(repr(value), np.zeros(0))]


def assert_same_bits(a, b, what):
    a, b = arrays_in(a), arrays_in(b)
    assert [p for p, _ in a] == [p for p, _ in b], what
    for (path, x), (_, y) in zip(a, b, strict=True):
        assert (x.dtype, x.shape, x.strides) == (y.dtype, y.shape, y.strides), (what, path)
        assert x.tobytes() == y.tobytes(), (what, path, np.abs(x - y).max())


def state_of(chain):
    """Parameters, gradients and persistent values of a chain."""
    found = {}
    for name, param in sorted(chain.namedparams()):
        found[name] = param.array
        found[name + ".grad"] = param.grad if param.grad is not None else "none"
    for path, link in chain.namedlinks():
        for name in sorted(link._persistent):
            found[f"{path}:{name}"] = np.array(getattr(link, name))
    return found


def assert_same_random_state(a, b):
    assert a[0] == b[0] and (a[1] == b[1]).all() and a[2:] == b[2:]


def loss_of(result):
    """A scalar that gives every element of every output another gradient.

    Each output is used once: where an output is also used inside of the method several times, the
    order in which define-by-run adds the gradients depends on what uses it outside, too.
    """
    total = 0
    for k, (_, y) in enumerate(variables_in(result)):
        weights = np.linspace(k - 1.3, 2.1, y.size).reshape(y.shape).astype(y.dtype)
        total = total + chainer.functions.sum(y * weights)
    return total


def variables_in(value):
    if isinstance(value, chainer.Variable):
        return [("", value)]
    if isinstance(value, dict):
        return [i for v in value.values() for i in variables_in(v)]
    if isinstance(value, (tuple, list)):
        return [i for v in value for i in variables_in(v)]
    if hasattr(value, "__dataclass_fields__"):
        return [i for k in value.__dataclass_fields__ for i in variables_in(getattr(value, k))]
    return []


def step(chain, inputs, seed, call=None, backward=True, clear=True):
    """One iteration; everything it gave or changed."""
    np.random.seed(seed)
    inputs = copy.deepcopy(inputs)
    if clear:
        chain.cleargrads()
    result = (call or (lambda c, *xs: c(*xs)))(chain, *inputs)
    if backward:
        loss = loss_of(result)
        if isinstance(loss, chainer.Variable) and loss.creator is not None:
            loss.backward()
    grads = [x.grad if x.grad is not None else "none" for _, x in variables_in(inputs)]
    return result, grads, state_of(chain), np.random.get_state()


def check(plain, static, make_inputs, iterations=5, **options):
    """Compare ``iterations`` steps of both chains on fresh inputs."""
    for k in range(iterations):
        inputs = make_inputs(np.random.RandomState(k))
        expected = step(plain, inputs, k, **options)
        actual = step(static, inputs, k, **options)
        for what, a, b in zip(
            ("result", "input gradients", "state"), expected, actual, strict=False
        ):
            assert_same_bits(a, b, f"iteration {k}: {what}")
        assert_same_random_state(expected[3], actual[3])


def hits(chain):
    return sum(r.hits for r in chain.schedule_manager.report())


def reasons(chain, kind="define-by-run"):
    return [e.reason for r in chain.schedule_manager.report() for e in r.events if e.kind == kind]


def x32(*shape):
    """Makes one Variable a call."""
    return lambda random: (chainer.Variable(random.randn(*shape).astype("f")),)
