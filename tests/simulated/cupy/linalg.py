"""``cupy.linalg``: what has no inverse gives NaN, unless ``cupyx.errstate`` says 'raise'."""
import functools
import threading

import numpy as np

from . import _ufunc
from ._array import NAMES


class Settings(threading.local):
    linalg = 'ignore'


settings = Settings()


def _quiet(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except np.linalg.LinAlgError:
            if settings.linalg == 'raise':
                raise
            return np.full_like(args[0], np.nan)

    return call


for _name, _text in NAMES['cupy.linalg'].items():
    if callable(getattr(np.linalg, _name, None)):
        _target = getattr(np.linalg, _name)
        _target = _quiet(_target) if _name == 'inv' else _target
        globals()[_name] = _ufunc.function(_name, _text, _target)
