"""Inverses and determinants."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numpy

from . import library_op
from .windows import array_module


def _single(a: Any) -> Any:
    """LAPACK has no half precision."""
    return a.astype("f", copy=False) if a.dtype.char == "e" else a


def _raising(xp: Any) -> AbstractContextManager[Any]:
    """Where CuPy raises what NumPy raises, instead of giving NaN."""
    if xp is numpy:
        return nullcontext()
    return import_module("cupyx").errstate(linalg="raise")


@library_op("inverse")
def inverse(a: Any) -> Any:
    """Invert the matrix, or each of the matrices, ``a`` (..., n, n)."""
    xp = array_module(a)
    try:
        with _raising(xp):
            y = xp.linalg.inv(_single(a))
    except numpy.linalg.LinAlgError as e:
        raise ValueError("Input has singular matrices.") from e
    return y.astype(a.dtype, copy=False)


@library_op("determinant")
def determinant(a: Any) -> Any:
    """Compute the determinants (...) of matrices (..., n, n)."""
    return array_module(a).linalg.det(_single(a)).astype(a.dtype, copy=False)


@library_op("symmetric_eigen")
def symmetric_eigen(a: Any) -> tuple[Any, Any]:
    """Eigenvalues (..., n), ascending, and eigenvectors (..., n, n) of symmetric matrices."""
    values, vectors = array_module(a).linalg.eigh(_single(a))
    return values.astype(a.dtype, copy=False), vectors.astype(a.dtype, copy=False)
