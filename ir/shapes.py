"""Rows of what moves elements without computing: views, indexing, joining, updates, creation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .frozen import Scope, index_items, index_source, slots_of, source, thaw
from .layout import Shape, dense_strides, extent, is_dense, order_of, phantom, reshaped_strides
from .node import IRError, Node
from .op import (
    REQUIRED,
    Attrs,
    Inputs,
    Op,
    Text,
    array_dtype,
    call_text,
    dtype_source,
    register,
    same_dtype,
    same_shape,
)
from .size import Size, symbols_in


def _phantom(node: Node) -> np.ndarray:
    if node.shape is None or node.dtype is None or node.strides is None:
        raise IRError(f"{node!r} is no array")
    return phantom(node.shape, node.dtype, node.strides)


def _view_strides(take: Any) -> Any:
    """Layout rule of an op that always gives a view: let NumPy do it, without memory."""

    def strides(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
        return take(_phantom(inputs[0]), attrs, shape).strides

    return strides


def _reshape_strides(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    view = reshape_view(inputs[0], shape, attrs["fortran"])
    order = tuple(reversed(range(len(shape)))) if attrs["fortran"] else None
    return view if view is not None else dense_strides(shape, dtype.itemsize, order)


def reshape_view(x: Node, shape: Shape, fortran: bool) -> Shape | None:
    """Strides of a reshape that is a view, ``None`` where it copies."""
    assert x.shape is not None and x.strides is not None and x.dtype is not None
    if x.shape == shape:
        return x.strides
    if 0 in x.shape:
        return np.empty(x.shape, x.dtype).reshape(shape, order="F" if fortran else "C").strides
    if not fortran:
        return reshaped_strides(x.shape, x.strides, shape, x.dtype.itemsize)
    found = reshaped_strides(x.shape[::-1], x.strides[::-1], shape[::-1], x.dtype.itemsize)
    return None if found is None else found[::-1]


def _reshape_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    order = {"order": "'F'" if node.attr("fortran") else None}
    x, shape = node.inputs[0], node.dims
    if shape == x.shape and node.strides != x.strides and node.size:
        shape = (*shape[:-1], -1)  # NumPy then lays axes of length one out anew
    return call_text(f"{args[0]}.reshape", [repr(shape)], order)


def _transpose_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    axes = node.attr("axes")
    if axes is None or axes == tuple(reversed(range(len(axes)))):
        return f"{args[0]}.T"
    return f"{args[0]}.transpose({', '.join(map(str, axes))})"


def _transposed(x: np.ndarray, attrs: Attrs, shape: Shape) -> np.ndarray:
    return x.transpose(attrs["axes"])


def _transpose_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    shape = inputs[0].dims
    axes = attrs["axes"] if attrs["axes"] is not None else range(len(shape))[::-1]
    if sorted(axes) != list(range(len(shape))):
        raise IRError(f"axes {tuple(axes)} do not permute {len(shape)} dimensions")
    return tuple(shape[axis] for axis in axes)


def _broadcast_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    if symbols_in(node.shape) or node.inputs[0].shape == node.shape:
        return call_text(scope.value(broadcast, "broadcast"), [args[0], repr(node.shape)])
    return call_text(scope.numpy("broadcast_to"), [args[0], repr(node.shape)])


def broadcast(x: Any, shape: Shape) -> Any:
    """An array with a shape; itself, if that is its own: so functions do that are told one."""
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _getitem_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return f"{args[0]}[{index_source(node.attr('index'), args[1:], scope)}]"


def is_basic(index: Any) -> bool:
    """Whether an index gives a view: numbers, slices, None and Ellipsis."""
    return all(
        item is None or item is Ellipsis or type(item) in (int, Size) or _is_slice(item)
        for item in index_items(index)
    )


def _is_slice(item: Any) -> bool:
    return isinstance(item, tuple) and item[:1] == ("slice",) and not slots_of(item)


def _getitem_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    flat = np.broadcast_to(np.int8(0), inputs[0].dims)
    indices = [_index_stand_in(node) for node in inputs[1:]]
    return flat[thaw(attrs["index"], indices)].shape


def _index_stand_in(node: Node) -> np.ndarray:
    if node.dtype is not None and node.dtype.kind == "b":
        raise IRError("the shape of a result indexed by a mask depends on data: use where")
    return np.broadcast_to(np.intp(0), node.dims)


def _getitem_strides(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    if not is_basic(attrs["index"]):
        return dense_strides(shape, dtype.itemsize)
    return _phantom(inputs[0])[thaw(attrs["index"], ())].strides


def _setitem_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    base = out or args[0]
    return f"{base}[{index_source(node.attr('index'), args[2:], scope)}] = {args[1]}"


def _add_at_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    index = source(node.attr("index"), args[2:], scope)
    return call_text(scope.numpy("add.at"), [out or args[0], index, args[1]])


def _base_strides(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    return inputs[0].steps


def _update_row(name: str, text: Text) -> Op:
    attrs = {"index": REQUIRED}
    return Op(name, "update", None, text, attrs, same_shape, same_dtype, _base_strides)


# -- joining -----------------------------------------------------------------------------------


def _concatenate_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    items = f"({', '.join(args)}{',' * (len(args) == 1)})"
    tail = [repr(node.attr("axis")), *([out] if out else [])]
    return call_text(scope.numpy("concatenate"), [items, *tail])


def _stack_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    items = f"({', '.join(args)}{',' * (len(args) == 1)})"
    tail = [repr(node.attr("axis")), *([out] if out else [])]
    return call_text(scope.numpy("stack"), [items, *tail])


def _concatenate_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    if attrs["axis"] is None:
        return (sum(node.size for node in inputs),)
    flats = [np.broadcast_to(np.int8(0), node.dims) for node in inputs]
    axis = attrs["axis"] % flats[0].ndim
    length = sum(flat.shape[axis] for flat in flats)
    return flats[0].shape[:axis] + (length,) + flats[0].shape[axis + 1 :]


def _stack_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    shape = inputs[0].dims
    axis = attrs["axis"] % (len(shape) + 1)
    return shape[:axis] + (len(inputs),) + shape[axis:]


# -- creation ----------------------------------------------------------------------------------


def _creation_text(fn: str) -> Text:
    """``zeros(shape, dtype)``; a permuted layout is a transposed fresh array."""

    def text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
        if out and fn == "empty":
            return out
        if out:
            return f"{out}.fill({0 if fn == 'zeros' else 1})"
        return fresh_text(node, scope, fn)

    return text


def fresh_text(node: Node, scope: Scope, fn: str = "empty") -> str:
    """Text that makes an array of a node's shape, dtype and layout."""
    shape, strides, dtype = node.dims, node.steps, node.dtype
    assert dtype is not None
    order = order_of(strides)
    kind = dtype_source(dtype, scope)
    if not is_dense(shape, strides, dtype.itemsize):
        size, start = extent(shape, strides, dtype.itemsize)
        memory = f"{scope.numpy('empty')}({size}, {scope.numpy('uint8')})"
        return call_text(
            scope.numpy("ndarray"), [repr(shape), kind, memory, str(start), repr(strides)]
        )
    in_memory = tuple(shape[axis] for axis in order)
    made = call_text(scope.numpy(fn), [repr(in_memory), kind])
    if order == tuple(range(len(shape))):
        return made
    back = tuple(order.index(axis) for axis in range(len(shape)))
    return f"{made}.transpose{back!r}"


def _creation_row(name: str) -> Op:
    return Op(name, "creation", 0, _creation_text(name), has_out=True)


def _basic(x: np.ndarray, attrs: Attrs, shape: Shape) -> np.ndarray:
    return np.broadcast_to(x, shape)


def _bitcast_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return f"{args[0]}.view({dtype_source(node.dtype, scope)})"


def _view_row(name: str, text: Text, attrs: dict[str, Any], shape: Any, take: Any) -> Op:
    return Op(name, "shape", 1, text, attrs, shape, same_dtype, _view_strides(take), view=True)


register(
    Op(
        "reshape",
        "shape",
        1,
        _reshape_text,
        {"fortran": False},
        None,
        same_dtype,
        _reshape_strides,
        view=True,
    ),
    _view_row("transpose", _transpose_text, {"axes": None}, _transpose_shape, _transposed),
    _view_row("broadcast_to", _broadcast_text, {}, None, _basic),
    # The same bits as another dtype of the same size.
    Op(
        "bitcast",
        "shape",
        1,
        _bitcast_text,
        shape=same_shape,
        strides=_base_strides,
        view=True,
    ),
    Op(
        "getitem",
        "shape",
        None,
        _getitem_text,
        {"index": REQUIRED},
        _getitem_shape,
        same_dtype,
        _getitem_strides,
        view=True,
    ),
    _update_row("setitem", _setitem_text),
    _update_row("add_at", _add_at_text),
    Op(
        "concatenate",
        "shape",
        None,
        _concatenate_text,
        {"axis": 0},
        _concatenate_shape,
        array_dtype,
        has_out=True,
    ),
    Op("stack", "shape", None, _stack_text, {"axis": 0}, _stack_shape, array_dtype),
    *(_creation_row(name) for name in ("zeros", "ones", "empty")),
)
