"""Rows of the elementwise ops: every ufunc with one result, ``where``, ``clip``, casts, copies."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .frozen import Scope
from .layout import Shape, allocated_strides, phantom
from .node import IRError, Node
from .op import (
    Attrs,
    Inputs,
    Op,
    Text,
    broadcast_shape,
    call_text,
    common_dtype,
    dtype_source,
    register,
    same_shape,
)
from .size import plain


def allocated(inputs: Inputs, attrs: Attrs, shape: Shape, dtype: np.dtype[Any]) -> Shape:
    """Layout rule: what NumPy allocates for an elementwise result."""
    operands = [(n.shape, n.strides, n.dtype) for n in inputs if n.dtype is not None]
    return allocated_strides(shape, dtype.itemsize, operands)  # type: ignore[arg-type]


def resolved(ufunc: np.ufunc, inputs: Inputs, compute: Any = None) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that NumPy picks: one for each operand, then that of the result."""
    return _resolved(ufunc, tuple(map(_operand, inputs)), compute)


@functools.cache
def _resolved(ufunc: np.ufunc, operands: tuple[Any, ...], compute: Any) -> tuple[Any, ...]:
    if compute is None:
        return ufunc.resolve_dtypes((*operands, None))
    signature = (None,) * ufunc.nin + (compute,)
    return ufunc.resolve_dtypes((*operands, None), signature=signature, casting="unsafe")


def _operand(node: Node) -> Any:
    if node.op != "literal":
        return node.dtype
    kind = type(plain(node.attr("value")))
    return np.dtype(bool) if kind is bool else kind


def _ufunc_dtype(name: str, inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    try:
        return resolved(getattr(np, name), inputs, attrs["compute"])[-1]
    except TypeError as error:
        raise IRError(f"{name} has no loop for {[_operand(n) for n in inputs]}") from error


#: A step or two for each element (``Op.cheap``).
CHEAP = frozenset(
    "absolute add bitwise_and bitwise_or bitwise_xor cast ceil clip copy copysign divide equal "
    "floor fmax fmin greater greater_equal invert isfinite isinf isnan less less_equal "
    "logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal "
    "positive reciprocal rint sign signbit sqrt square subtract trunc where".split()
)
#: How one element reads in a listing (``Op.scalar``).
SCALAR = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "square": "{0} * {0}",
    "reciprocal": "1 / {0}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "bitwise_and": "{0} & {1}",
    "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}",
    "invert": "~{0}",
    "logical_and": "{0} && {1}",
    "logical_or": "{0} || {1}",
    "logical_not": "!{0}",
    "where": "{0} ? {1} : {2}",
}
#: Ufuncs that warn about a positional third operand: ``out`` has to be named.
NAMED_OUT = frozenset({"maximum", "minimum"})


def ufunc_text(path: str) -> Text:
    """Text of a ufunc call, ``out`` being positional (the fast way) where NumPy likes that."""
    keyword = path in NAMED_OUT

    def text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
        compute, casting = node.attr("compute"), node.attr("casting")
        settings = {
            "dtype": None if compute is None else dtype_source(compute, scope),
            "casting": None if casting is None else repr(casting),
        }
        if out and keyword:
            return call_text(scope.numpy(path), args, settings | {"out": out})
        return call_text(scope.numpy(path), [*args, out] if out else args, settings)

    return text


def ufunc_row(name: str) -> Op:
    return Op(
        name,
        "elementwise",
        getattr(np, name).nin,
        ufunc_text(name),
        {"compute": None, "casting": None},
        shape=broadcast_shape,
        dtype=functools.partial(_ufunc_dtype, name),
        strides=allocated,
        has_out=True,
        cheap=name in CHEAP,
        scalar=SCALAR.get(name, ""),
        in_place=True,
    )


def is_single(name: str) -> bool:
    """Whether NumPy has an elementwise ufunc with one result under exactly this name."""
    ufunc = getattr(np, name)
    if not isinstance(ufunc, np.ufunc) or ufunc.__name__ != name:
        return False
    return ufunc.nout == 1 and ufunc.signature is None


def _where_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    if out is None:
        return call_text(scope.numpy("where"), args)
    copyto, (flags, chosen, other) = scope.numpy("copyto"), args
    if node.inputs[0].dtype != np.bool_:
        flags = f"{flags}.astype({scope.numpy('bool_')})"
    return f"{copyto}({out}, {other}); {copyto}({out}, {chosen}, where={flags})"


def _clip_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return call_text(f"{args[0]}.clip", [*args[1:], out] if out else args[1:])


def _power_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    return f"{args[0]} ** {args[1]}"


def _cast_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    if out:
        return f"{scope.numpy('copyto')}({out}, {args[0]}, 'unsafe')"
    order = order_letter(node)
    return call_text(
        f"{args[0]}.astype",
        [dtype_source(node.dtype, scope)],
        {"order": None if order in ("K", None) else repr(order)},
    )


def _copy_text(node: Node, args: Sequence[str], scope: Scope, out: str | None = None) -> str:
    if out:
        return f"{scope.numpy('copyto')}({out}, {args[0]})"
    return f"{args[0]}.copy({order_letter(node) or 'K'!r})"


def order_letter(node: Node) -> str | None:
    """The ``order`` argument that gives a copy the recorded layout; None if there is none."""
    x, dtype = node.inputs[0], node.dtype
    if x.shape is None or x.dtype is None or x.strides is None:
        return "K"
    like = phantom(x.shape, x.dtype, x.strides)
    orders: tuple[Literal["K", "C", "F"], ...] = ("K", "C", "F")
    made = (order for order in orders if np.empty_like(like, dtype, order).strides == node.strides)
    return next(made, None)


def _select_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    return common_dtype(inputs[1:], attrs)


def _clip_dtype(inputs: Inputs, attrs: Attrs) -> np.dtype[Any]:
    given = [n for n in inputs if not (n.op == "literal" and n.attr("value") is None)]
    return common_dtype(given, attrs)


def _elementwise(
    name: str, arity: int, text: Text, dtype: Any, has_out: bool = True, in_place: bool = False
) -> Op:
    return Op(
        name,
        "elementwise",
        arity,
        text,
        shape=same_shape if arity == 1 else broadcast_shape,
        dtype=dtype,
        strides=allocated,
        has_out=has_out,
        cheap=name in CHEAP,
        scalar=SCALAR.get(name, ""),
        in_place=in_place,
    )


register(
    # Of what is loaded: getattr(np, "f2py") would import it.
    *(ufunc_row(name) for name in sorted(vars(np)) if is_single(name)),
    _elementwise("where", 3, _where_text, _select_dtype),
    _elementwise("clip", 3, _clip_text, _clip_dtype),
    # The operator, which is not the ufunc: NumPy squares where the exponent is 2.
    _elementwise("pow", 2, _power_text, common_dtype, has_out=False),
    _elementwise("cast", 1, _cast_text, None),
    _elementwise("copy", 1, _copy_text, lambda inputs, attrs: inputs[0].dtype, in_place=True),
)
