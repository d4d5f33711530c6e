"""``cupy.random``: draws of NumPy's generators, which are not those of a GPU.

Draws are in double precision where no dtype is given, and generators cannot be copied or asked for
their state, as with CuPy.
"""
import os

import numpy as np

from ._array import NAMES, check_dtype, operand, to_device
from ._capture import refuse_library

_FLOATING = ('standard_normal', 'normal', 'uniform', 'random_sample', 'gumbel', 'laplace',
             'lognormal', 'exponential', 'standard_exponential', 'standard_cauchy', 'beta', 'gamma',
             'standard_gamma', 'standard_t', 'vonmises', 'wald', 'weibull', 'pareto', 'power',
             'rayleigh', 'triangular', 'chisquare', 'f', 'dirichlet', 'multivariate_normal')
_TAKES_DTYPE = frozenset(_FLOATING) | {'randn', 'rand'}


class RandomState:
    """A generator."""

    def __init__(self, seed=None, method=None):
        self._state = np.random.RandomState(seed)

    def seed(self, seed=None):
        self._state.seed(seed)

    def _draw(self, name, args, kwargs):
        refuse_library('cuRAND')
        dtype = kwargs.pop('dtype', None)
        args = [operand(x) for x in args]
        kwargs = {key: operand(x) for key, x in kwargs.items()}
        drawn = np.asarray(getattr(self._state, name)(*args, **kwargs))
        return to_device(drawn if dtype is None else drawn.astype(check_dtype(dtype)))

    def permutation(self, a):
        return to_device(self._state.permutation(operand(a)))

    def shuffle(self, a):
        self._state.shuffle(operand(a))

    def tomaxint(self, size=None):
        return to_device(self._state.tomaxint(size))


def _method(name):
    def call(self, *args, **kwargs):
        return self._draw(name, args, kwargs)

    call.__name__ = name
    return call


for _name in dir(np.random.RandomState):
    if not _name.startswith('_') and not hasattr(RandomState, _name) and _name not in (
            'get_state', 'set_state', 'bytes'):
        setattr(RandomState, _name, _method(_name))

_global = [RandomState(int(os.environ['CUPY_SEED']) if 'CUPY_SEED' in os.environ else None)]


def get_random_state():
    return _global[0]


def set_random_state(rs):
    _global[0] = rs


def seed(seed=None):
    _global[0].seed(seed)


def default_rng(seed=None):
    raise NotImplementedError('the simulated device has no Generator')


def _function(name):
    def call(*args, **kwargs):
        return getattr(_global[0], name)(*args, **kwargs)

    call.__name__ = name
    return call


for _name, _text in NAMES['cupy.random'].items():
    if _name not in globals() and hasattr(RandomState, _name):
        globals()[_name] = _function(_name)
for _alias in ('random', 'ranf', 'sample'):
    globals()[_alias] = _function('random_sample')
