"""Rows of reductions and scans, in the form that NumPy's own wrappers call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .frozen import Scope
from .layout import Shape, dense_strides, reduced_strides
from .node import IRError, Node
from .op import Attrs, Inputs, Op, Text, call_text, dtype_source, register


def axes_of(axis: Any, ndim: int) -> Shape:
    """The axes that a reduction removes, as non-negative numbers."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(not -ndim <= a < ndim for a in axes):
        raise IRError(f"axis {axis} is out of bounds for {ndim} dimensions")
    return tuple(a % ndim for a in axes)


def _shape(inputs: Inputs, attrs: Attrs) -> Shape:
    shape = inputs[0].dims
    gone = set(axes_of(attrs["axis"], len(shape)))
    if attrs["keepdims"]:
        return tuple(1 if axis in gone else n for axis, n in enumerate(shape))
    return tuple(n for axis, n in enumerate(shape) if axis not in gone)


def _strides(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    (x,) = inputs
    assert x.shape is not None and x.strides is not None and x.dtype is not None
    axes = axes_of(attrs["axis"], len(x.shape))
    return reduced_strides(x.shape, x.strides, axes, attrs["keepdims"], dtype.itemsize)


def _sum_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    if attrs["compute"] is not None:
        return attrs["compute"]
    dtype = _input_dtype(inputs, attrs)
    if dtype.kind in "bi" and dtype.itemsize < np.intp(0).itemsize:
        return np.dtype(np.intp)
    return np.dtype(np.uintp) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def _mean_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    if attrs["compute"] is not None:
        return attrs["compute"]
    dtype = _input_dtype(inputs, attrs)
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def _variance_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    return np.abs(np.empty(0, _mean_dtype(inputs, attrs))).dtype


def _input_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    dtype = inputs[0].dtype
    assert dtype is not None
    return dtype


def _bool(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    return np.dtype(np.bool_)


def _intp(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    return np.dtype(np.intp)


def _ufunc_text(path: str) -> Text:
    """``add_reduce(x, axis, dtype, out, keepdims)``, without the tail that says nothing."""

    def text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
        compute = node.attr("compute") if path in ("add.reduce", "multiply.reduce") else None
        tail = [dtype_source(compute, scope), out or "None", repr(node.attr("keepdims"))]
        while tail and tail[-1] in ("None", "False"):
            tail.pop()
        return call_text(scope.numpy(path), [*args, repr(node.attr("axis")), *tail])

    return text


def _method_text(method: str, *names: str) -> Text:
    """``x.mean(axis=..)``, with the settings that the op has and that say something."""

    def text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
        settings: dict[str, str | None] = {name: _setting(node, name, scope) for name in names}
        return call_text(f"{args[0]}.{method}", [], settings | {"out": out})

    return text


def _setting(node: Node, name: str, scope: Scope) -> str | None:
    value = node.attr("compute" if name == "dtype" else name)
    if name == "dtype":
        return None if value is None else dtype_source(value, scope)
    return repr(value) if name == "axis" or value else None


_AXIS = {"axis": None, "keepdims": False}


# mean, var and std compute otherwise when they are given a buffer (float16 sums lose bits).
_OWN_RESULT = frozenset({"mean", "var", "std"})


def _reduction(name: str, text: Text, dtype: Any, attrs: dict[str, Any], rows: bool = False) -> Op:
    return Op(
        name,
        "reduction",
        1,
        text,
        _AXIS | attrs,
        shape=_shape,
        dtype=dtype,
        strides=_strides,
        has_out=name not in _OWN_RESULT,
        rows=rows,
    )


def _arg_strides(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    return dense_strides(shape, dtype.itemsize)


def _arg_row(name: str) -> Op:
    text = _method_text(name, "axis", "keepdims")
    return Op(name, "reduction", 1, text, _AXIS, _shape, _intp, _arg_strides, has_out=True)


def _scan_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    return (inputs[0].size,) if attrs["axis"] is None else inputs[0].dims


def _scan_row(name: str) -> Op:
    text = _method_text(name, "axis", "dtype")
    attrs = {"axis": None, "compute": None}
    return Op(name, "scan", 1, text, attrs, _scan_shape, _sum_dtype, None, has_out=True)


_COMPUTE = {"compute": None}
_SPREAD = {"compute": None, "ddof": 0}

register(
    _reduction("sum", _ufunc_text("add.reduce"), _sum_dtype, _COMPUTE, True),
    _reduction("prod", _ufunc_text("multiply.reduce"), _sum_dtype, _COMPUTE, True),
    _reduction("max", _ufunc_text("maximum.reduce"), _input_dtype, {}, True),
    _reduction("min", _ufunc_text("minimum.reduce"), _input_dtype, {}, True),
    _reduction("any", _method_text("any", "axis", "keepdims"), _bool, {}),
    _reduction("all", _method_text("all", "axis", "keepdims"), _bool, {}),
    _reduction("mean", _method_text("mean", "axis", "dtype", "keepdims"), _mean_dtype, _COMPUTE),
    _reduction(
        "var", _method_text("var", "axis", "dtype", "ddof", "keepdims"), _variance_dtype, _SPREAD
    ),
    _reduction(
        "std", _method_text("std", "axis", "dtype", "ddof", "keepdims"), _variance_dtype, _SPREAD
    ),
    _arg_row("argmax"),
    _arg_row("argmin"),
    _scan_row("cumsum"),
    _scan_row("cumprod"),
)
