"""Kernels as LLVM IR text: plain arithmetic without fast-math flags, which rounds as NumPy does.

The function of a kernel is ``void name(ptr args, ptr table, i64 rows)``: addresses of the operands,
a table with lengths, strides and numbers, and how many rows of the outermost loop to do. The table
holds ``ndim`` lengths (the first is multiplied by ``rows``), then for each operand the strides of
the axes that need one (``strides_of``), then the numbers, each in eight bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from chainwright.ir.kernel import SAME, STRIDE, UNIT, Kernel, Operand

from .functions import DECLARED, FUNCTIONS

TYPES = {"f32": "float", "f64": "double", "bool": "i1"}
TYPES |= {f"{k}{bits}": f"i{bits}" for k in "iu" for bits in (8, 16, 32, 64)}
#: How elements lie in memory; those of float16 are only moved, for which their bits are enough.
STORED = TYPES | {"bool": "i8", "f16": "i16"}
SIZES = {"bool": 1, "f16": 2} | {f"{k}{bits}": bits // 8 for k in "iu" for bits in (8, 16, 32, 64)}
SIZES |= {"f32": 4, "f64": 8}


def kind_of(dtype: str) -> str:
    """``f``, ``i``, ``u`` or ``b``."""
    return dtype[0]


class Body:
    """Collects the lines of the innermost loop."""

    def __init__(self, fast: bool = False) -> None:
        self.flags = f"{FLAGS} " if fast else ""
        self.lines: list[str] = []
        self.values: dict[str, str] = {}
        self._count = 0

    def emit(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"


Lower = Callable[[Body, str, list[str]], str]


#: What kernels that are fast may do with sums and products of floats; NaN and infinity stay.
FLAGS = "reassoc nsz arcp contract"


def _plain(op: str) -> Lower:
    if op[0] == "f":
        return lambda b, t, a: b.emit(f"{op} {b.flags}{t} {a[0]}, {a[1]}")
    return lambda b, t, a: b.emit(f"{op} {t} {a[0]}, {a[1]}")


def _compare(how: str) -> Lower:
    return lambda b, t, a: b.emit(f"{how} {t} {a[0]}, {a[1]}")


def _intrinsic(name: str) -> Lower:
    def lower(b: Body, t: str, a: list[str]) -> str:
        short = {"float": "f32", "double": "f64"}.get(t, t)
        return b.emit(f"call {t} @llvm.{name}.{short}({t} {a[0]})")

    return lower


def _larger(how: str) -> Lower:
    """The first operand if it is larger or NaN, else the second: what NumPy's loops do on x86."""

    def lower(b: Body, t: str, a: list[str]) -> str:
        larger = b.emit(f"fcmp {how} {t} {a[0]}, {a[1]}")
        nan = b.emit(f"fcmp uno {t} {a[0]}, {a[0]}")
        chosen = b.emit(f"select i1 {larger}, i1 true, i1 {nan}")
        return b.emit(f"select i1 {chosen}, {t} {a[0]}, {t} {a[1]}")

    return lower


def _larger_integer(how: str) -> Lower:
    def lower(b: Body, t: str, a: list[str]) -> str:
        larger = b.emit(f"icmp {how} {t} {a[0]}, {a[1]}")
        return b.emit(f"select i1 {larger}, {t} {a[0]}, {t} {a[1]}")

    return lower


def _same(b: Body, t: str, a: list[str]) -> str:
    return a[0]


def _square(op: str) -> Lower:
    return lambda b, t, a: _plain(op)(b, t, [a[0], a[0]])


def _where(b: Body, t: str, a: list[str]) -> str:
    return b.emit(f"select i1 {a[0]}, {t} {a[1]}, {t} {a[2]}")


def _not(b: Body, t: str, a: list[str]) -> str:
    return b.emit(f"xor {t} {a[0]}, {'true' if t == 'i1' else '-1'}")


def _signbit(b: Body, t: str, a: list[str]) -> str:
    whole = {"float": "i32", "double": "i64"}[t]
    return b.emit(f"icmp slt {whole} {b.emit(f'bitcast {t} {a[0]} to {whole}')}, 0")


def _sign(b: Body, t: str, a: list[str]) -> str:
    """1, -1 or 0.0; NaN for NaN."""
    zero = b.emit(f"select i1 {b.emit(f'fcmp oeq {t} {a[0]}, 0.0')}, {t} 0.0, {t} {a[0]}")
    below = b.emit(f"select i1 {b.emit(f'fcmp olt {t} {a[0]}, 0.0')}, {t} -1.0, {t} {zero}")
    return b.emit(f"select i1 {b.emit(f'fcmp ogt {t} {a[0]}, 0.0')}, {t} 1.0, {t} {below}")


def _clip(b: Body, t: str, a: list[str]) -> str:
    """For bounds that are single numbers: what is equal to one stays, with its sign."""
    low = b.emit(f"select i1 {b.emit(f'fcmp olt {t} {a[0]}, {a[1]}')}, {t} {a[1]}, {t} {a[0]}")
    return b.emit(f"select i1 {b.emit(f'fcmp ogt {t} {low}, {a[2]}')}, {t} {a[2]}, {t} {low}")


def _logical(op: str) -> Lower:
    return lambda b, t, a: b.emit(f"{op} i1 {a[0]}, {a[1]}")


_FLOAT: dict[str, Lower] = {
    "add": _plain("fadd"),
    "subtract": _plain("fsub"),
    "multiply": _plain("fmul"),
    "divide": _plain("fdiv"),
    "negative": lambda b, t, a: b.emit(f"fneg {t} {a[0]}"),
    "absolute": _intrinsic("fabs"),
    "fabs": _intrinsic("fabs"),
    "square": _square("fmul"),
    "sqrt": _intrinsic("sqrt"),
    "reciprocal": lambda b, t, a: b.emit(f"fdiv {t} 1.0, {a[0]}"),
    "maximum": _larger("ogt"),
    "minimum": _larger("olt"),
    "isnan": lambda b, t, a: b.emit(f"fcmp uno {t} {a[0]}, {a[0]}"),
    "signbit": _signbit,
    "sign": _sign,
    "clip": _clip,
    "greater": _compare("fcmp ogt"),
    "greater_equal": _compare("fcmp oge"),
    "less": _compare("fcmp olt"),
    "less_equal": _compare("fcmp ole"),
    "equal": _compare("fcmp oeq"),
    "not_equal": _compare("fcmp une"),
}


def _integer(sign: str) -> dict[str, Lower]:
    return {
        "add": _plain("add"),
        "subtract": _plain("sub"),
        "multiply": _plain("mul"),
        "negative": lambda b, t, a: b.emit(f"sub {t} 0, {a[0]}"),
        "square": _square("mul"),
        "maximum": _larger_integer(f"icmp {sign}gt".split()[1]),
        "minimum": _larger_integer(f"icmp {sign}lt".split()[1]),
        "bitwise_and": _plain("and"),
        "bitwise_or": _plain("or"),
        "bitwise_xor": _plain("xor"),
        "invert": _not,
        "greater": _compare(f"icmp {sign}gt"),
        "greater_equal": _compare(f"icmp {sign}ge"),
        "less": _compare(f"icmp {sign}lt"),
        "less_equal": _compare(f"icmp {sign}le"),
        "equal": _compare("icmp eq"),
        "not_equal": _compare("icmp ne"),
    }


_BOOL: dict[str, Lower] = {
    "add": _logical("or"),
    "multiply": _logical("and"),
    "maximum": _logical("or"),
    "minimum": _logical("and"),
    "bitwise_and": _logical("and"),
    "bitwise_or": _logical("or"),
    "bitwise_xor": _logical("xor"),
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("xor"),
    "logical_not": _not,
    "invert": _not,
    "equal": _compare("icmp eq"),
    "not_equal": _compare("icmp ne"),
}
_ANY: dict[str, Lower] = {"copy": _same, "positive": _same, "where": _where, "store": _same}
LOWER: dict[str, dict[str, Lower]] = {
    "f": _FLOAT | _ANY,
    "i": _integer("s") | _ANY,
    "u": _integer("u") | _ANY,
    "b": _BOOL | _ANY,
}


def lowers(op: str, dtype: str) -> bool:
    """Whether an op has plain arithmetic for a dtype."""
    return dtype in TYPES and op in LOWER[kind_of(dtype)]


def approximates(op: str, dtype: str) -> bool:
    """Whether kernels that are fast have a function for an op."""
    return dtype == "f32" and op in FUNCTIONS


def casts(source: str, target: str) -> bool:
    """Whether a cast is one instruction at most, and its result is defined for all values."""
    if source == target:
        return source in STORED
    if source not in TYPES or target not in TYPES:
        return False
    return kind_of(source) != "f" or kind_of(target) in "fb"


def cast(b: Body, value: str, source: str, target: str) -> str:
    """The lines of a cast."""
    one, other = TYPES[source], TYPES[target]
    if one == other:
        return value
    kinds = kind_of(source), kind_of(target)
    if target == "bool":
        zero = "fcmp une" if kinds[0] == "f" else "icmp ne"
        return b.emit(f"{zero} {one} {value}, {'0.0' if kinds[0] == 'f' else '0'}")
    if kinds == ("f", "f"):
        op = "fpext" if SIZES[source] < SIZES[target] else "fptrunc"
    elif kinds[1] == "f":
        op = "sitofp" if kinds[0] == "i" else "uitofp"
    elif SIZES[source] > SIZES[target]:
        op = "trunc"
    else:
        op = "sext" if kinds[0] == "i" else "zext"
    return b.emit(f"{op} {one} {value} to {other}")


def strides_of(operand: Operand, ndim: int) -> int:
    """How many strides an operand has in the table."""
    return ndim - (operand.inner != STRIDE)


def name_of(kernel: Kernel) -> str:
    """The name of a kernel's function, the same in every process."""
    key = repr(kernel.key).encode(errors="surrogateescape")  # names of files may be any bytes
    return "k" + hashlib.sha256(key).hexdigest()[:24]


def kernel_text(kernel: Kernel) -> str:
    """The LLVM IR of a kernel: an entry that reads the table, and the loops."""
    name, k = name_of(kernel), kernel
    head, params, values = ["entry:"], [], []

    def load(kind: str, base: str, place: int, target: str) -> None:
        head.append(f"  %{target}.at = getelementptr i64, ptr {base}, i64 {place}")
        head.append(f"  %{target} = load {kind}, ptr %{target}.at")
        params.append(f"{kind} {'noalias ' * (kind == 'ptr')}%{target}")
        values.append(f"{kind} %{target}")

    place = 0
    for k_operand, operand in enumerate(k.operands):
        load("ptr", "%args", k_operand, operand.name)
    for axis in range(k.ndim):
        load("i64", "%table", place, f"n{axis}")
        place += 1
    head.append("  %n0.all = mul i64 %n0, %rows")
    values[len(k.operands)] = "i64 %n0.all"
    for operand in k.operands:
        for axis in range(strides_of(operand, k.ndim)):
            load("i64", "%table", place, f"{operand.name}.s{axis}")
            place += 1
    for j, dtype in enumerate(k.numbers):
        load(STORED[dtype], "%table", place, f"c{j}")
        place += 1
    return "\n".join(
        [
            f"define void @{name}(ptr %args, ptr %table, i64 %rows) {{",
            *head,
            f"  call void @{name}.loops({', '.join(values)})",
            "  ret void",
            "}",
            f"define internal void @{name}.loops({', '.join(params)}) #0 {{",
            *_loops(k),
            "}",
            *_DECLARED,
            'attributes #0 = { noinline nounwind "no-builtins" "prefer-vector-width"="512" }',
            "",
        ]
    )


_DECLARED = [
    f"declare {t} @llvm.{name}.{short}({t})"
    for name in ("fabs", "sqrt")
    for t, short in (("float", "f32"), ("double", "f64"))
]
_DECLARED += DECLARED


def _loops(k: Kernel) -> list[str]:
    lines, before = ["entry:"], "entry"
    pointers = {x.name: f"%{x.name}" for x in k.operands}
    for axis in range(k.ndim):
        last = axis == k.ndim - 1
        lines += [f"  br label %l{axis}", f"l{axis}:"]
        lines.append(f"  %i{axis} = phi i64 [0, %{before}], [%i{axis}.next, %d{axis}]")
        for x in k.operands:
            if last and x.inner == SAME:
                continue
            at = f"%{x.name}.p{axis}"
            if last and x.inner == UNIT:
                item = STORED[x.dtype]
                lines.append(f"  {at} = getelementptr {item}, ptr {pointers[x.name]}, i64 %i{axis}")
            else:
                lines.append(f"  {at}.o = mul i64 %i{axis}, %{x.name}.s{axis}")
                lines.append(f"  {at} = getelementptr i8, ptr {pointers[x.name]}, i64 {at}.o")
            pointers[x.name] = at
        before = f"l{axis}"
    lines += _innermost(k, pointers)
    for axis in reversed(range(k.ndim)):
        lines += [f"  br label %d{axis}", f"d{axis}:"]
        lines.append(f"  %i{axis}.next = add nuw nsw i64 %i{axis}, 1")
        lines.append(f"  %more{axis} = icmp slt i64 %i{axis}.next, %n{axis}")
        lines.append(f"  br i1 %more{axis}, label %l{axis}, label %e{axis}")
        lines.append(f"e{axis}:")
    return [*lines, "  ret void"]


def _innermost(k: Kernel, pointers: dict[str, str]) -> list[str]:
    b, dtypes = Body(k.fast), {}
    for x in k.operands:
        dtypes[x.name] = x.dtype
        if not x.out:
            b.values[x.name] = _load(b, x, pointers[x.name])
    for j, dtype in enumerate(k.numbers):
        dtypes[f"c{j}"] = dtype
        value = f"%c{j}"
        b.values[f"c{j}"] = b.emit(f"icmp ne i8 {value}, 0") if dtype == "bool" else value
    for step in k.body:
        dtypes[step.name] = step.result
        if step.op == "cast":
            source = dtypes[step.args[0]]
            b.values[step.name] = cast(b, b.values[step.args[0]], source, step.result)
            continue
        args = [b.values[arg] for arg in step.args]
        lower = LOWER[kind_of(step.dtype)].get(step.op) or FUNCTIONS[step.op]
        b.values[step.name] = lower(b, TYPES.get(step.dtype, STORED[step.dtype]), args)
    for operand, value in k.stores:
        text = b.values[value]
        if dtypes[operand] == "bool":
            text = b.emit(f"zext i1 {text} to i8")
        kind = STORED[dtypes[operand]]
        size = SIZES[dtypes[operand]]
        b.lines.append(f"  store {kind} {text}, ptr {pointers[operand]}, align {size}")
    return b.lines


def _load(b: Body, operand: Operand, pointer: str) -> str:
    kind = STORED[operand.dtype]
    value = b.emit(f"load {kind}, ptr {pointer}, align {SIZES[operand.dtype]}")
    return b.emit(f"icmp ne i8 {value}, 0") if operand.dtype == "bool" else value
