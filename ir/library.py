"""Rows of leaves, matrix products, library ops, calls, random draws, host calls and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .frozen import Scope, source
from .layout import Shape, dense_strides
from .node import IRError, Node
from .op import REQUIRED, Attrs, Inputs, Op, Text, array_dtype, call_text, register

# -- leaves ------------------------------------------------------------------------------------


def _no_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    raise IRError(f"{node.op} is no call")


def _constant_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return scope.value(node.attr("box").value, "constant")


def _literal_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return source(node.attr("value"), (), scope)


# -- products ----------------------------------------------------------------------------------


def _product_text(path: str) -> Text:
    def text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
        return call_text(scope.numpy(path), [*args, out] if out else args)

    return text


def _dot_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    a, b = (node.dims for node in inputs)
    if not a or not b:
        return a or b
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        raise IRError(f"dot: shapes {a} and {b} do not fit")
    return a[:-1] + b[:-2] + b[-1:] * (len(b) > 1)


def _matmul_shape(inputs: Inputs, attrs: Attrs) -> Shape:
    a, b = (node.dims for node in inputs)
    if not a or not b or a[-1] != b[-2 if len(b) > 1 else 0]:
        raise IRError(f"matmul: shapes {a} and {b} do not fit")
    outer = np.broadcast_shapes(a[:-2], b[:-2])
    return outer + a[-2:-1] * (len(a) > 1) + b[-1:] * (len(b) > 1)


def _dense(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    return dense_strides(shape, dtype.itemsize)


# -- calls -------------------------------------------------------------------------------------


def template_text(fn: str, node: Node, args: Sequence[str], scope: Scope) -> str:
    """A call with the recorded argument list; without one, all inputs in their order."""
    template = node.attr("args")
    values = list(args) if template is None else [source(item, args, scope) for item in template]
    kwargs = node.attr("kwargs")
    pairs = kwargs[1] if kwargs[:1] == ("dict",) else kwargs
    return call_text(fn, values, {key: source(value, args, scope) for key, value in pairs})


def _call_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    fn = node.attr("fn")
    return template_text(scope.value(fn, getattr(fn, "__name__", "call")), node, args, scope)


def _random_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return template_text(scope.numpy(f"random.{node.attr('fn')}"), node, args, scope)


def _host_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return call_text(scope.value(node.attr("fn"), node.attr("label")), args)


def _write_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return f"{args[0]}[...] = {args[1]}"


def _pick_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return f"{args[0]}[{node.attr('k')}]"


_TEMPLATE: dict[str, Any] = {"args": None, "kwargs": (), "n_outputs": None}


def register_library(
    name: str,
    implementation: Callable[..., Any],
    n_outputs: int | None = None,
    shared: Callable[..., Any] | None = None,
) -> None:
    """Make a library op of a function of arrays and plain settings.

    The op takes the attributes ``args`` (a template with ``Slot(k)`` for the k-th input; all
    inputs in order if left out), ``kwargs``, and ``view`` where this call's result shares memory
    with an input: True for the first, the number of another, and a tuple with such an entry or
    None for each result where there are several. With ``n_outputs`` it returns a tuple, named by
    ``pick`` nodes. ``shared`` does the same, in native code where there is any: it may not stand
    in programs that native code falls back on.
    """

    def text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
        function = shared if shared is not None and scope.shares else implementation
        return template_text(scope.value(function, name), node, args, scope)

    attrs = _TEMPLATE | {"n_outputs": n_outputs, "view": False}
    register(Op(name, "library", None, text, attrs))


register(
    Op("placeholder", "leaf", 0, _no_text, {"name": REQUIRED, "kind": REQUIRED, "index": None}),
    Op("constant", "leaf", 0, _constant_text, {"box": REQUIRED}),
    Op("literal", "leaf", 0, _literal_text, {"value": REQUIRED}),
    Op(
        "dot",
        "product",
        2,
        _product_text("dot"),
        {},
        _dot_shape,
        array_dtype,
        _dense,
        has_out=True,
    ),
    Op(
        "matmul",
        "product",
        2,
        _product_text("matmul"),
        {},
        _matmul_shape,
        array_dtype,
        None,
        has_out=True,
    ),
    Op(
        "call",
        "library",
        None,
        _call_text,
        _TEMPLATE | {"fn": REQUIRED, "impure": False, "view": False},
    ),
    Op("random", "random", None, _random_text, _TEMPLATE | {"fn": REQUIRED}),
    Op(
        "host",
        "opaque",
        None,
        _host_text,
        {"fn": REQUIRED, "label": "host", "n_outputs": 1},
    ),
    Op("write", "effect", 2, _write_text),
    Op("pick", "shape", 1, _pick_text, {"k": REQUIRED}),
)
