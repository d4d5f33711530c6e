"""What one element is in CUDA C, for the ops whose bits are those of CuPy's own functions.

CuPy's ufuncs are such expressions, each in a kernel of its own. Compiled without contraction of
products and sums (``-fmad=false``), the same expression after another in one kernel gives the same
bits. Ops with more to them in CuPy (``power``, remainders, ``sign``) are left to CuPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chainwright.ir import Node
from chainwright.ir.alias import viewed
from chainwright.ir.op import OPS

from ..native_target.forms import operand_dtypes
from ..native_target.steps import dtype_name, is_scalar

#: The C type of each dtype as values are computed; half precision in single, rounded each time.
TYPES = {
    "f16": "float",
    "f32": "float",
    "f64": "double",
    "bool": "bool",
    "i8": "signed char",
    "u8": "unsigned char",
    "i16": "short",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned int",
    "i64": "long long",
    "u64": "unsigned long long",
}
FLOATS = frozenset({"f16", "f32", "f64"})
_SINGLE = FLOATS - {"f64"}
INTS = frozenset(TYPES) - FLOATS - {"bool"}
NUMBERS = FLOATS | INTS
ANY = frozenset(TYPES)
BITS = INTS | {"bool"}


class NotOnDevice(Exception):
    """There is nothing for a part of a graph; the text says for which."""


class Form(NamedTuple):
    """``text`` with a place for each operand (``{f}`` is ``f`` in single), and for which loops."""

    text: str
    loops: frozenset[str]


def _calls(names: str, loops: frozenset[str] = FLOATS) -> dict[str, Form]:
    """Functions of one number; ``ours:theirs`` where CUDA has another name."""
    pairs = [item.partition(":")[::2] for item in names.split()]
    return {ours: Form(f"{theirs or ours}{{f}}({{0}})", loops) for ours, theirs in pairs}


FORMS: dict[str, Form] = {
    "add": Form("{0} + {1}", NUMBERS),
    "subtract": Form("{0} - {1}", NUMBERS),
    "multiply": Form("{0} * {1}", NUMBERS),
    "divide": Form("{0} / {1}", FLOATS),
    "negative": Form("-{0}", NUMBERS),
    "square": Form("{0} * {0}", NUMBERS),
    "reciprocal": Form("1 / {0}", FLOATS),
    "absolute": Form("fabs{f}({0})", FLOATS),
    "maximum": Form("maximum({0}, {1})", FLOATS),
    "minimum": Form("minimum({0}, {1})", FLOATS),
    "greater": Form("{0} > {1}", ANY),
    "greater_equal": Form("{0} >= {1}", ANY),
    "less": Form("{0} < {1}", ANY),
    "less_equal": Form("{0} <= {1}", ANY),
    "equal": Form("{0} == {1}", ANY),
    "not_equal": Form("{0} != {1}", ANY),
    "logical_and": Form("{0} && {1}", ANY),
    "logical_or": Form("{0} || {1}", ANY),
    "logical_not": Form("!{0}", ANY),
    "bitwise_and": Form("{0} & {1}", BITS),
    "bitwise_or": Form("{0} | {1}", BITS),
    "bitwise_xor": Form("{0} ^ {1}", BITS),
    "isnan": Form("{0} != {0}", FLOATS),
    "where": Form("{0} ? {1} : {2}", ANY),
    **_calls("sqrt exp expm1 floor ceil trunc rint tanh sinh cosh sin cos tan cbrt"),
    **_calls("arcsin:asin arctan:atan"),
    # In double precision CUDA's own code for these has sums of products that CuPy's kernels
    # contract (benchmarks/check_cuda.py --functions), so that they stay CuPy's there.
    **_calls("log log2 log10 log1p arccos:acos arcsinh:asinh arccosh:acosh", _SINGLE),
    **_calls("arctanh:atanh", _SINGLE),
}
#: What the operands are cast to before; they are copied as they are.
MOVES = frozenset({"cast", "copy", "positive"})


def takes(node: Node) -> bool:
    """Whether a node may be a part of a kernel: elementwise with an exact form, or a view."""
    if viewed(node) is not None:
        return OPS[node.op].view
    if OPS[node.op].kind != "elementwise" or node.dtype is None or not node.size:
        return False
    dtypes = operand_dtypes(node)
    if dtypes is None or dtype_name(node.dtype) not in TYPES:
        return False
    loop = dtype_name(dtypes[-1])
    form = FORMS.get(node.op)
    if node.op not in MOVES and (form is None or loop not in form.loops):
        return False
    return all(
        _given(x, dtype_name(dtype)) for x, dtype in zip(node.inputs, dtypes, strict=True)
    )


def _given(x: Node, wanted: str) -> bool:
    """Whether an operand can be brought to the dtype of the loop."""
    if wanted not in TYPES or not x.is_array and x.op != "literal":
        return False
    if is_scalar(x):
        return x.op != "literal" or _fits(x.attr("value"), wanted)
    if x.op == "constant" and x.shape == ():
        return False  # a number of NumPy that is no argument of kernels: it has no address there
    have = dtype_name(x.dtype)
    if x.dtype is None or x.strides is None or any(s % x.dtype.itemsize for s in x.strides):
        return False
    return have in TYPES and not (have == "f64" and wanted == "f16")  # rounded otherwise by CuPy


def _fits(value: object, wanted: str) -> bool:
    """Whether a Python number is a value of the dtype."""
    if wanted in FLOATS:
        return True
    if wanted == "bool":
        return type(value) is bool
    limits = np.iinfo({"i": "int", "u": "uint"}[wanted[0]] + wanted[1:])
    return type(value) is not float and limits.min <= int(value) <= limits.max  # type: ignore[call-overload]
