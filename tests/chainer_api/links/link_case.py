"""Rows of the tables that drive the tests of all links.

The tables (``link_cases.py``) are read by ``test_links.py`` under this project and by
``tests/golden/record_links.py`` under the original, so they run on Python 3.8, import nothing
but NumPy and this module, and get the namespace ``chainer.links`` handed in.

What a row does, in both worlds (:func:`run`): make the link after ``numpy.random.seed(0)``, call it
once, so that lazy parameters get their arrays; keep what a serializer sees (*initial*); move all
parameters by fixed amounts, so that none is zero; call it again while training, with gradients
(*outputs*, *gradients*, *input_gradients*, *state*); and once more after training (*predictions*).
"""
from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

# (rtol, atol) of comparisons with the recorded values, by dtype.
TOLERANCE = {'e': (5e-3, 5e-3), 'f': (3e-5, 3e-6), 'd': (1e-10, 1e-11)}


@dataclasses.dataclass(frozen=True)
class Case:
    """One link, what it is called with, and how."""

    name: str
    make: Callable  # L -> link
    inputs: tuple[Callable, ...]  # generators (rng, dtype) -> array
    call: Callable  # (link, *inputs) -> Variable, or a nest of tuples and lists of Variables
    dtypes: str = 'f'
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    static: bool = True  # False: cannot be called in a static graph's method; `why` tells
    replays: bool = True  # False: define-by-run in a static graph; `why` tells
    tolerance: tuple[float, float] | None = None
    since: int = 5  # the first major version that runs it and loads its files
    saved_since: int = 0  # the first one whose files of it are tested; 0: the same
    why: str = ''  # the reason for each setting that weakens a test

    def arrays(self, char, seed=0):
        """The input arrays."""
        rng = np.random.RandomState(_seed(f'{self.name}/{seed}'))
        return [make(rng, np.dtype(char)) for make in self.inputs]

    def tolerances(self, char):
        return self.tolerance or TOLERANCE[char]


def case(name, make, inputs, call=None, **settings):
    """A row; ``inputs`` is one generator or a tuple of them."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    return Case(name, make, inputs, call or (lambda link, *xs: link(*xs)), **settings)


def keys(row):
    """``(key in the golden file, dtype)`` of a row."""
    return [(f'{row.name}/{char}', char) for char in row.dtypes]


def run(chainer, row, char):
    """Everything that is compared, as a dict of dicts of arrays; ``None`` where there is none."""
    return run_link(chainer, row, char)[1]


def run_link(chainer, row, char):
    """The link, trained, and what :func:`run` returns."""
    with using_config(chainer, dict(row.config, dtype=np.dtype(char))):
        np.random.seed(0)
        link = row.make(chainer.links)
        call(chainer, row, link, row.arrays(char))
        initial = saved(chainer, link)
        disturb(link)
        outputs, gradients, input_gradients = train(chainer, row, link, row.arrays(char))
        state = saved(chainer, link)
        return link, {
            'initial': initial, 'outputs': outputs, 'gradients': gradients,
            'input_gradients': input_gradients, 'state': state,
            'predictions': predict(chainer, row, link, row.arrays(char, 1)),
        }


def call(chainer, row, link, xs, seed=1):
    """Calls the link; returns a list."""
    np.random.seed(seed)
    if hasattr(link, 'reset_state'):
        link.reset_state()
    return flatten(row.call(link, *xs))


def train(chainer, row, link, arrays, seed=1):
    """Outputs, gradients of the parameters, and gradients of the floating inputs."""
    link.cleargrads()
    xs = [chainer.Variable(a) if a.dtype.kind == 'f' else a for a in arrays]
    ys = call(chainer, row, link, xs, seed)
    variables = [y for y in ys if isinstance(y, chainer.Variable) and y.dtype.kind == 'f']
    rng = np.random.RandomState(1000)
    gys = [np.asarray(rng.uniform(-1, 1, y.shape)).astype(y.dtype) for y in variables]
    loss = sum(chainer.functions.sum(y * gy) for y, gy in zip(variables, gys))  # noqa: B905
    loss.backward()
    return (
        numbered(array(chainer, y) for y in ys),
        {path: param.grad for path, param in link.namedparams()},
        numbered(x.grad if isinstance(x, chainer.Variable) else None for x in xs))


def predict(chainer, row, link, arrays):
    """Outputs without training."""
    with using_config(chainer, {'train': False, 'enable_backprop': False}):
        return numbered(array(chainer, y) for y in call(chainer, row, link, arrays))


def saved(chainer, link):
    """What a serializer saves: a dict of arrays."""
    serializer = chainer.serializers.DictionarySerializer()
    link.serialize(serializer)
    return {key: np.array(value) for key, value in serializer.target.items()}


def disturb(link):
    """Moves all parameters by fixed amounts; those that are NaN get values."""
    for path, param in sorted(link.namedparams()):
        rng = np.random.RandomState(_seed(path))
        move = np.asarray(rng.uniform(-.5, .5, param.shape)).astype(param.dtype)
        param.array[...] = np.nan_to_num(param.array) + move


def array(chainer, value):
    return np.array(value.array if isinstance(value, chainer.Variable) else value)


def numbered(values):
    return {str(i): value for i, value in enumerate(values)}


def flatten(result):
    """The Variables and arrays in a nest of tuples and lists, in order."""
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flatten(item)]
    return [result]


class using_config:
    """Several settings at once."""

    def __init__(self, chainer, settings):
        self.contexts = [chainer.using_config(k, v) for k, v in sorted(settings.items())]

    def __enter__(self):
        for context in self.contexts:
            context.__enter__()

    def __exit__(self, *error):
        for context in reversed(self.contexts):
            context.__exit__(*error)


# Generators ------------------------------------------------------------------------------------

def normal(*shape, scale=1., dtype=None):
    """Normal values of mean zero."""
    return lambda rng, char: np.asarray(rng.standard_normal(shape) * scale).astype(dtype or char)


def integers(low, high, *shape):
    """Integers from ``low`` up to and without ``high``."""
    return lambda rng, char: np.asarray(rng.randint(low, high, shape)).astype(np.int32)


def constant(value, dtype=None):
    """A given array."""
    return lambda rng, char: np.array(value, dtype or char)


def _seed(text):
    return zlib.crc32(text.encode()) & 0x7fffffff
