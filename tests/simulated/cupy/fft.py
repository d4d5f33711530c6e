"""``cupy.fft``."""
import numpy as np

from . import _ufunc
from ._array import NAMES

for _name, _text in NAMES['cupy.fft'].items():
    if callable(getattr(np.fft, _name, None)):
        globals()[_name] = _ufunc.function(_name, _text, getattr(np.fft, _name))
