"""Helpers for functions, links and user code."""
# Packages of other people take ``chainer.utils.collections_abc``.
import collections.abc as collections_abc  # noqa: F401
import contextlib
import shutil
import tempfile

import numpy

from chainer.utils import argument as argument
from chainer.utils import array as array
from chainer.utils import cache as cache
from chainer.utils import conv as conv
from chainer.utils import conv_nd as conv_nd
from chainer.utils import imgproc as imgproc
from chainer.utils import sparse as sparse
from chainer.utils import type_check as type_check
from chainer.utils import walker_alias as walker_alias
from chainer.utils.array import size_of_shape as size_of_shape
from chainer.utils.array import sum_to as sum_to
from chainer.utils.conv import get_conv_outsize as get_conv_outsize
from chainer.utils.conv import get_deconv_outsize as get_deconv_outsize
from chainer.utils.experimental import experimental as experimental
from chainer.utils.nondeterministic import nondeterministic as nondeterministic
from chainer.utils.sparse import CooMatrix as CooMatrix
from chainer.utils.sparse import get_order as get_order
from chainer.utils.sparse import to_coo as to_coo
from chainer.utils.walker_alias import WalkerAlias as WalkerAlias


def force_array(x, dtype=None):
    """Return ``x`` as an array: NumPy scalars become 0-dimensional arrays.

    NumPy gives a scalar where a 0-dimensional array is computed with; functions must return
    arrays.

    Args:
        x (scalar or array): A value.
        dtype: Dtype of the result, that of ``x`` by default.

    .. doctest::

        >>> chainer.utils.force_array(np.float32(1.5))
        array(1.5, dtype=float32)
    """
    if type(x) is numpy.ndarray and (dtype is None or x.dtype == dtype):
        return x
    if numpy.isscalar(x):
        return numpy.array(x) if dtype is None else numpy.array(x, dtype)
    return x if dtype is None else x.astype(dtype, copy=False)


def force_type(dtype, value):
    """Return ``value`` as a scalar (or array) of ``dtype``.

    .. doctest::

        >>> x = chainer.utils.force_type(np.dtype('float32'), np.zeros(2))
        >>> x.dtype
        dtype('float32')
    """
    if numpy.isscalar(value):
        return dtype.type(value)
    if value.dtype != dtype:
        return value.astype(dtype, copy=False)
    return value


@contextlib.contextmanager
def tempdir(**kwargs):
    """Context manager of a temporary directory, which is removed with all it holds at the end.

    Args:
        kwargs: Arguments of :func:`tempfile.mkdtemp`; in addition ``ignore_errors`` tells
            whether failures to remove it are ignored.

    .. doctest::

        >>> import os
        >>> with chainer.utils.tempdir() as path:
        ...     os.path.isdir(path)
        True
        >>> os.path.exists(path)
        False
    """
    ignore_errors = kwargs.pop('ignore_errors', False)
    path = tempfile.mkdtemp(**kwargs)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=ignore_errors)
