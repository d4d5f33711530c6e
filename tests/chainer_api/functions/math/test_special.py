"""Special functions without SciPy."""
import sys

import numpy as np
import pytest

import chainer.functions as F


@pytest.mark.parametrize('name', [
    'digamma', 'erf', 'erfc', 'erfcinv', 'erfcx', 'erfinv', 'lgamma', 'log_ndtr', 'ndtr', 'ndtri'])
def test_error_without_scipy(monkeypatch, name):
    monkeypatch.setitem(sys.modules, 'scipy.special', None)
    with pytest.raises(ImportError, match=r'scipy\.special\..*pip install scipy'):
        getattr(F, name)(np.array([.5]))
