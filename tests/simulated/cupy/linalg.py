"""``cupy.linalg``."""
import numpy as np

from . import _ufunc
from ._array import NAMES

for _name, _text in NAMES['cupy.linalg'].items():
    if callable(getattr(np.linalg, _name, None)):
        globals()[_name] = _ufunc.function(_name, _text, getattr(np.linalg, _name))
