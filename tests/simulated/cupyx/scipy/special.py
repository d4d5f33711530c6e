"""``cupyx.scipy.special``, by SciPy where it is installed."""
import numpy as np
from cupy import _ufunc
from cupy._array import NAMES

try:
    import scipy.special as _special
except ImportError:
    _special = None

for _name, _text in NAMES['cupyx.scipy.special'].items():
    _found = getattr(_special, _name, None)
    if isinstance(_found, np.ufunc):
        globals()[_name] = _ufunc.ufunc(_name, _found)
    elif callable(_found):
        globals()[_name] = _ufunc.function(_name, _text, _found)
