"""``cupy.lib``."""
import types

import numpy as np

from ._array import ndarray, operand, view


def _as_strided(x, shape=None, strides=None):
    if not isinstance(x, ndarray):
        raise TypeError(f'cupy.ndarray is expected, not {type(x)}')
    return view(x, np.lib.stride_tricks.as_strided(operand(x), shape, strides))


stride_tricks = types.SimpleNamespace(as_strided=_as_strided)
