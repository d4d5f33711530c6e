"""Rows of the tables that drive the tests of all functions.

The tables (``cases_<family>.py``) are read by ``test_functions.py`` under this project and by
``tests/golden/record_functions.py`` under the original, so they run on Python 3.8, import
nothing but NumPy and this module, and get the namespace ``chainer.functions`` handed in.

Inputs are made by *generators*, functions ``(rng, dtype) -> array``, from the frozen streams
of ``numpy.random.RandomState``: golden files hold results only.
"""
from __future__ import annotations

import dataclasses
import glob
import importlib
import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

# (rtol, atol) of comparisons with the recorded values, by dtype.
TOLERANCE = {'e': (4e-3, 4e-3), 'f': (2e-5, 2e-6), 'd': (1e-10, 1e-11)}


@dataclasses.dataclass(frozen=True)
class Case:
    """One function with settings, and the inputs it is tried on."""

    name: str
    call: Callable  # (F, *inputs) -> Variable, or a nest of tuples and lists of Variables
    variants: tuple[tuple[Callable, ...], ...]
    dtypes: str = 'efd'
    grads: tuple[int, ...] | None = None  # inputs that get gradients; None: the floating ones
    numeric: bool = True  # False: gradients are no derivatives (straight-through and the like)
    twice: bool = True  # differentiable twice
    opaque: bool = False  # one opaque node in a static graph
    random: bool = False  # draws random numbers
    record: bool = True  # False: the original cannot run it; `why` tells
    static: bool = True  # False: cannot be called in a static graph's method; `why` tells
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    tolerance: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    why: str = ''  # the reason for each setting that weakens a test

    def tolerances(self, char):
        return self.tolerance.get(char, TOLERANCE[char])

    def inputs(self, variant, dtype, seed=0):
        """The input arrays of one variant."""
        rng = np.random.RandomState(_seed(f'{self.name}/{variant}/{seed}'))
        return [make(rng, np.dtype(dtype)) for make in self.variants[variant]]

    def grad_indices(self, arrays):
        if self.grads is not None:
            return self.grads
        return tuple(i for i, a in enumerate(arrays) if a.dtype.kind == 'f')


@dataclasses.dataclass(frozen=True)
class Error:
    """A call that must raise, as it does in the original."""

    name: str
    call: Callable
    inputs: tuple[Callable, ...]
    exception: str  # name of the class or of one of its bases
    text: str = ''  # a part of the message of ours
    dtype: str = 'f'
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    record: bool = True  # False: the original does not raise it; `why` tells
    why: str = ''

    def arrays(self):
        rng = np.random.RandomState(_seed(self.name))
        return [make(rng, np.dtype(self.dtype)) for make in self.inputs]


def case(name, call, *variants, **settings):
    """A row; a variant is one generator or a tuple of them."""
    return Case(name, call, tuple(_as_tuple(v) for v in variants), **settings)


def error(name, call, inputs, exception='InvalidType', text='', **settings):
    """A row of a call that raises."""
    return Error(name, call, _as_tuple(inputs), exception, text, **settings)


def families():
    """Names of the families that have a table."""
    here = os.path.dirname(os.path.abspath(__file__))
    return sorted(os.path.basename(path)[len('cases_'):-len('.py')]
                  for path in glob.glob(os.path.join(here, 'cases_*.py')))


def table(family):
    """The module with the table of one family: ``CASES`` and ``ERRORS``."""
    return importlib.import_module('cases_' + family)


def flatten(result):
    """The Variables and arrays in a nest of tuples and lists, in order."""
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flatten(item)]
    return [result]


def output_grads(arrays, seed=0):
    """Fixed output gradients; ``None`` for outputs that have none."""
    rng = np.random.RandomState(1000 + seed)
    return [np.asarray(rng.uniform(-1, 1, a.shape)).astype(a.dtype) if a.dtype.kind == 'f'
            else None for a in arrays]


# Generators ------------------------------------------------------------------------------------

def _floating(draw, dtype):
    def make(rng, case_dtype):
        # asarray: RandomState gives Python floats for the shape ().
        return np.asarray(draw(rng)).astype(dtype or case_dtype)
    return make


def normal(*shape, scale=1., dtype=None):
    """Normal values of mean zero."""
    return _floating(lambda rng: rng.standard_normal(shape) * scale, dtype)


def uniform(low, high, *shape, dtype=None):
    """Uniform values between ``low`` and ``high``."""
    return _floating(lambda rng: rng.uniform(low, high, shape), dtype)


def positive(*shape, dtype=None):
    """Values between 0.3 and 3."""
    return uniform(.3, 3, *shape, dtype=dtype)


def away(*shape, points=(0.,), distance=.1, dtype=None):
    """Normal values at least ``distance`` from each of ``points``: kinks, poles."""
    def draw(rng):
        x = np.asarray(rng.standard_normal(shape) * 1.5)
        for point in points:
            side = np.where(x >= point, 1, -1)
            x = np.where(abs(x - point) < distance, point + side * (distance + abs(x - point)), x)
        return x
    return _floating(draw, dtype)


def distinct(*shape, dtype=None):
    """Values of which no two are closer than 0.1: no ties for maxima."""
    def draw(rng):
        size = int(np.prod(shape))
        return (rng.permutation(size).reshape(shape) - size // 2) * .1 + .03
    return _floating(draw, dtype)


def spd(*shape, dtype=None):
    """Symmetric positive definite matrices."""
    def draw(rng):
        a = rng.standard_normal(shape)
        return np.matmul(a, np.swapaxes(a, -1, -2)) + np.eye(shape[-1])
    return _floating(draw, dtype)


def constant(value, dtype=None):
    """A given array, in the case's dtype or its own."""
    return lambda rng, case_dtype: np.array(value, dtype or case_dtype)


def integers(low, high, *shape, dtype='int32'):
    """Integers from ``low`` up to and without ``high``."""
    return lambda rng, case_dtype: np.asarray(rng.randint(low, high, shape)).astype(dtype)


def permutation(n):
    """A random order of ``0 .. n - 1``."""
    return lambda rng, case_dtype: rng.permutation(n).astype('int32')


def booleans(*shape):
    return lambda rng, case_dtype: np.asarray(rng.uniform(0, 1, shape) < .5)


def _as_tuple(variant):
    return tuple(variant) if isinstance(variant, (tuple, list)) else (variant,)


def _seed(text):
    return zlib.crc32(text.encode()) & 0x7fffffff


def recorded_entry(entries, key, script):
    """What a script has recorded of the original under a key; says what to do if it has not."""
    assert key in entries, (
        f'nothing is recorded for {key}. Either record it: tests/golden/original '
        f'tests/golden/{script}; or, if the original cannot run the row, give it record=False and '
        'say why')
    return entries[key]
