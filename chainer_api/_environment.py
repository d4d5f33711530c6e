"""Default settings, as environment variables give them, and what depends on settings directly.

====================================== =====================================================
environment variable                   what it sets
====================================== =====================================================
CHAINER_CUDNN_FAST_BATCH_NORMALIZATION ``config.cudnn_fast_batch_normalization`` (0 or 1)
CHAINER_DEBUG                          ``config.debug`` (0 or 1)
CHAINER_DTYPE                          ``config.dtype`` (float16, float32, float64, mixed16)
CHAINER_KEEP_GRAPH_ON_REPORT           ``config.keep_graph_on_report`` (0 or 1)
CHAINER_LAZY_GRAD_SUM                  ``config.lazy_grad_sum`` (0 or 1)
CHAINER_TYPE_CHECK                     ``config.type_check`` (0 or 1)
CHAINER_USE_CUDNN                      ``config.use_cudnn`` (always, auto, never)
CHAINER_USE_CUDNN_TENSOR_CORE          ``config.use_cudnn_tensor_core`` (always, auto, never)
CHAINER_USE_IDEEP                      ``config.use_ideep`` (always, auto, never)
CHAINER_WARN_NONDETERMINISTIC          ``config.warn_nondeterministic`` (0 or 1)
CHAINWRIGHT_TARGET                     ``config.static_target`` (numpy, native, auto)
CHAINWRIGHT_LOGS                       what is logged to standard error (recompiles, code, graph)
CHAINER_CUDNN                          0: cuDNN is not used (:mod:`chainer.backends.cuda`)
CHAINER_SEED                           seed of CuPy's random numbers (the same)
CHAINER_DATASET_ROOT                   folder of downloads (:mod:`chainer.dataset`)
CHAINER_PYTHON_350_FORCE               nothing any more: Python 3.11 or later is required
====================================== =====================================================
"""
import os
import warnings

import numpy

from chainer import configuration, function_hook
from chainer.configuration import config, global_config
from chainwright.runtime import OPTIONS, TARGETS, blas_threads


class _Mixed16:
    """Pseudo dtype: float16 data, with float32 where float16 is not precise enough."""

    dtype = numpy.dtype(numpy.float16)

    def __repr__(self):
        return "dtype('mixed16')"

    def __reduce__(self):
        return 'mixed16'  # copies and pickles are the one object


mixed16 = _Mixed16()
"""Pseudo dtype for mixed precision: float16 data, float32 parameters."""


def _flag(name, default=False):
    text = os.environ.get(name)
    if text is None or text == '':
        return default
    try:
        return bool(int(text))
    except ValueError:
        warnings.warn(f'{name}={text} is ignored: it must be 0 or 1', stacklevel=2)
        return default


def _choice(name, choices, default):
    text = os.environ.get(name, default)
    if text in choices:
        return text
    raise TypeError(
        f'invalid environment variable {name}={text!r}: it must be one of {", ".join(choices)}')


_TERNARY = ('always', 'auto', 'never')
_DTYPES = {'float16': numpy.dtype('float16'), 'float32': numpy.dtype('float32'),
           'float64': numpy.dtype('float64'), 'mixed16': mixed16}


def default_settings():
    """Return the entries of :data:`chainer.global_config` as they are at the start."""
    return {
        'autotune': False,
        'compute_mode': None,
        'cudnn_deterministic': False,
        'cudnn_fast_batch_normalization': _flag('CHAINER_CUDNN_FAST_BATCH_NORMALIZATION'),
        'debug': _flag('CHAINER_DEBUG'),
        'dtype': _DTYPES[_choice('CHAINER_DTYPE', _DTYPES, 'float32')],
        'enable_backprop': True,
        'in_recomputing': False,
        '_will_recompute': False,
        'keep_graph_on_report': _flag('CHAINER_KEEP_GRAPH_ON_REPORT'),
        'lazy_grad_sum': _flag('CHAINER_LAZY_GRAD_SUM'),
        'schedule_func': None,
        'static_cuda_graphs': False,  # until a real device has run them
        'static_exact': True,
        'static_step': True,
        'static_threads': None,
        'static_target': _choice('CHAINWRIGHT_TARGET', TARGETS, 'auto'),
        'train': True,
        'type_check': _flag('CHAINER_TYPE_CHECK', True),
        'use_cudnn': _choice('CHAINER_USE_CUDNN', _TERNARY, 'auto'),
        'use_cudnn_tensor_core': _choice('CHAINER_USE_CUDNN_TENSOR_CORE', _TERNARY, 'auto'),
        'use_ideep': _choice('CHAINER_USE_IDEEP', _TERNARY, 'never'),
        'use_static_graph': True,
        'static_budget': 0.1,
        'static_check': 'spaced',
        'static_profile': False,
        'warn_nondeterministic': _flag('CHAINER_WARN_NONDETERMINISTIC'),
    }


vars(global_config).update(default_settings())
OPTIONS.target = lambda: configuration.peek('static_target')
# Programs run under hooks only if these want to hear of their parts.
OPTIONS.profile = lambda: bool(
    configuration.peek('static_profile') or function_hook._thread_local.function_hooks)
OPTIONS.timed = function_hook.tell_of_part
OPTIONS.budget = lambda: configuration.peek('static_budget')
OPTIONS.exact = lambda: configuration.peek('static_exact')
OPTIONS.graphs = lambda: configuration.peek('static_cuda_graphs')


def _threads():
    given = configuration.peek('static_threads')
    return blas_threads() if given is None else given


OPTIONS.threads = _threads


def _one_of(*choices):
    *first, last = map(repr, choices)
    return choices.__contains__, f'{", ".join(first)} or {last}'


_A_FLAG = lambda value: isinstance(value, (int, numpy.bool_)), 'True or False'
configuration.allowed.update({
    'static_budget': (
        lambda value: value is None or isinstance(value, (int, float)) and value >= 0,
        'None or a part of the time, as 0.1'),
    'static_check': _one_of('spaced', 'first', 'always', 'never'),
    'static_cuda_graphs': _A_FLAG,
    'static_exact': _A_FLAG,
    'static_profile': _A_FLAG,
    'static_step': _A_FLAG,
    'static_target': _one_of(*TARGETS),
    'static_threads': (
        lambda value: value is None or type(value) is int and value > 0,
        'None or a positive int'),
})


def get_dtype(dtype=None, map_mixed16=None):
    """Return a dtype, by default that of ``chainer.config.dtype``.

    Args:
        dtype (str, numpy.dtype or None): A dtype, or ``None`` for the configured one.
        map_mixed16 (numpy.dtype): What stands for :data:`chainer.mixed16`, float16 by default.

    Returns:
        numpy.dtype: The dtype.

    .. doctest::

        >>> chainer.get_dtype()
        dtype('float32')
        >>> chainer.get_dtype(np.float64)
        dtype('float64')
    """
    if dtype is None:
        dtype = config.dtype
    if dtype is mixed16 and map_mixed16 is not None:
        dtype = map_mixed16
    return numpy.dtype(dtype)


def get_compute_mode():
    """Return ``chainer.config.compute_mode``, by which GPUs choose the order of axes in memory.

    .. doctest::

        >>> with chainer.using_config('compute_mode', 'cudnn_fast'):
        ...     chainer.get_compute_mode()
        'cudnn_fast'
    """
    return config.compute_mode


def is_debug():
    """Return whether debug mode is on in this thread (``chainer.config.debug``).

    .. doctest::

        >>> with chainer.using_config('debug', True):
        ...     chainer.is_debug()
        True
    """
    return bool(config.debug)


def set_debug(debug):
    """Turn debug mode on or off in this thread (``chainer.config.debug = debug``).

    Args:
        debug (bool): Whether it is on.
    """
    config.debug = debug


class DebugMode:
    """Context manager of debug mode. Deprecated: use ``chainer.using_config('debug', debug)``.

    Args:
        debug (bool): Whether it is on.
    """

    def __init__(self, debug):
        warnings.warn(
            "chainer.DebugMode is deprecated; use chainer.using_config('debug', ...)",
            DeprecationWarning, stacklevel=2)
        self._context = configuration.using_config('debug', debug)

    def __enter__(self):
        self._context.__enter__()

    def __exit__(self, *args):
        self._context.__exit__(*args)
