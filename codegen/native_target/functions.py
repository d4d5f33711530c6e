"""Mathematical functions of single precision as LLVM IR, for kernels that need not be exact.

In: the lines of a kernel, the type, and the operands. Out: the name of the result. Each function is
straight-line code without branches, so that LLVM makes vectors of it; none has fast-math flags,
since the steps rest on rounding. ``benchmarks/results/functions.md`` has the errors.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Protocol


class Lines(Protocol):
    def emit(self, text: str) -> str: ...


_LN2, _LN2_HIGH, _LN2_LOW = 0.6931471805599453, 0.693359375, -2.12194440e-4


def number(value: float) -> str:
    """A constant of single precision, as LLVM writes it."""
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


class Code:
    """Writes arithmetic of floats; what is no name is a number."""

    def __init__(self, lines: Lines) -> None:
        self.emit = lines.emit

    def _two(self, op: str, a: str | float, b: str | float) -> str:
        return self.emit(f"{op} float {_operand(a)}, {_operand(b)}")

    def add(self, a: str | float, b: str | float) -> str:
        return self._two("fadd", a, b)

    def subtract(self, a: str | float, b: str | float) -> str:
        return self._two("fsub", a, b)

    def multiply(self, a: str | float, b: str | float) -> str:
        return self._two("fmul", a, b)

    def divide(self, a: str | float, b: str | float) -> str:
        return self._two("fdiv", a, b)

    def fused(self, a: str | float, b: str | float, c: str | float) -> str:
        """``a * b + c``, rounded once."""
        operands = ", ".join(f"float {_operand(x)}" for x in (a, b, c))
        return self.emit(f"call float @llvm.fma.f32({operands})")

    def polynomial(self, x: str, *coefficients: float) -> str:
        """The highest power first."""
        total: str | float = coefficients[0]
        for c in coefficients[1:]:
            total = self.fused(total, x, c)
        assert isinstance(total, str)
        return total

    def called(self, name: str, x: str) -> str:
        return self.emit(f"call float @llvm.{name}.f32(float {x})")

    def chosen(self, how: str, a: str, b: str | float, yes: str | float, no: str | float) -> str:
        """``yes if a <how> b else no``; a NaN is what ``how`` says it is."""
        test = self._two(f"fcmp {how}", a, b)
        return self.emit(f"select i1 {test}, float {_operand(yes)}, float {_operand(no)}")

    def bits(self, x: str) -> str:
        return self.emit(f"bitcast float {x} to i32")

    def of_bits(self, x: str) -> str:
        return self.emit(f"bitcast i32 {x} to float")

    def power_of_two(self, n: str) -> str:
        """``2 ** n`` for an integer from -126 to 127."""
        return self.of_bits(self.emit(f"shl i32 {self.emit(f'add i32 {n}, 127')}, 23"))

    def integer(self, x: str) -> str:
        """A whole number as an integer; any one for NaN."""
        return self.emit(f"freeze i32 {self.emit(f'fptosi float {x} to i32')}")


def _operand(x: str | float) -> str:
    return x if isinstance(x, str) else number(x)


def _reduced(c: Code, x: str) -> tuple[str, str]:
    """``n`` and ``r`` with ``x = n ln 2 + r``."""
    n = c.called("rint", c.multiply(x, 1 / _LN2))
    r = c.fused(n, -_LN2_LOW, c.fused(n, -_LN2_HIGH, x))
    return n, r


#: ``(exp(r) - 1 - r) / r ** 2`` for r up to half of ln 2.
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)


def exp(c: Code, x: str) -> str:
    low = c.chosen("olt", x, -104.0, -104.0, x)
    bounded = c.chosen("ogt", low, 89.0, 89.0, low)
    n, r = _reduced(c, bounded)
    p = c.fused(c.multiply(r, r), c.polynomial(r, *_EXP), r)
    k = c.integer(n)
    half = c.emit(f"ashr i32 {k}, 1")  # in two steps: the power itself may be out of bounds
    rest = c.emit(f"sub i32 {k}, {half}")
    return c.multiply(
        c.multiply(c.add(p, 1.0), c.power_of_two(half)), c.power_of_two(rest)
    )


def expm1(c: Code, x: str) -> str:
    low = c.chosen("olt", x, -30.0, -30.0, x)
    bounded = c.chosen("ogt", low, 89.0, 89.0, low)
    n, r = _reduced(c, bounded)
    p = c.fused(c.multiply(r, r), c.polynomial(r, *_EXP), r)
    power = c.power_of_two(c.emit(f"sub i32 {c.integer(n)}, 1"))  # half of it: that is in bounds
    half = c.fused(power, p, c.subtract(power, 0.5))
    result = c.multiply(half, 2.0)
    return c.chosen("oeq", x, 0.0, x, result)  # with its sign


def _log(c: Code, x: str) -> tuple[str, str]:
    """``log(x) = high + low`` for normal, positive numbers: what is rounded away is in ``low``."""
    # 0x3F3504F3 is the square root of one half: the mantissa is from there to twice that.
    above = c.emit(f"sub i32 {c.bits(x)}, 1060439283")
    exponent = c.emit(f"ashr i32 {above}, 23")
    mantissa = c.of_bits(c.emit(f"add i32 {c.emit(f'and i32 {above}, 8388607')}, 1060439283"))
    n = c.emit(f"sitofp i32 {exponent} to float")
    f = c.subtract(mantissa, 1.0)
    square = c.multiply(f, f)
    p = c.polynomial(
        f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )  # fmt: skip
    low = c.multiply(c.multiply(p, f), square)
    low = c.fused(n, _LN2_LOW, low)
    low = c.fused(-0.5, square, low)
    high = c.multiply(n, _LN2_HIGH)
    return c.add(high, f), c.add(c.subtract(f, c.subtract(c.add(high, f), high)), low)


def log(c: Code, x: str) -> str:
    tiny = c.emit(f"fcmp olt float {x}, {number(2.0**-126)}")
    larger = c.multiply(x, 2.0**23)
    normal = c.emit(f"select i1 {tiny}, float {larger}, float {x}")
    high, low = _log(c, normal)
    shift = c.emit(f"select i1 {tiny}, float {number(-23 * _LN2)}, float {number(0.0)}")
    result = c.add(c.add(high, low), shift)
    result = c.chosen("oeq", x, 0.0, -float("inf"), result)
    result = c.chosen("olt", x, 0.0, float("nan"), result)
    # infinity, and NaN as it is
    return c.chosen("ult", x, float("inf"), c.chosen("uno", x, 0.0, x, result), x)


def log1p(c: Code, x: str) -> str:
    one = c.add(x, 1.0)
    high, low = _log(c, one)
    lost = c.subtract(x, c.subtract(one, 1.0))  # what adding one has rounded away
    result = c.add(high, c.add(low, c.divide(lost, one)))
    result = c.chosen("oeq", one, 1.0, x, result)
    result = c.chosen("oeq", x, -1.0, -float("inf"), result)
    result = c.chosen("olt", x, -1.0, float("nan"), result)
    return c.chosen("ult", x, float("inf"), c.chosen("uno", x, 0.0, x, result), x)


def tanh(c: Code, x: str) -> str:
    size = c.called("fabs", x)
    bounded = c.chosen("ogt", size, 10.0, 10.0, size)  # 1 from there on
    square = c.multiply(bounded, bounded)
    small = c.polynomial(
        square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
        -3.33332819422e-1,
    )  # fmt: skip
    small = c.fused(c.multiply(small, square), bounded, bounded)
    doubled = c.add(bounded, bounded)
    n, r = _reduced(c, doubled)
    p = c.fused(c.multiply(r, r), c.polynomial(r, *_EXP), r)
    power = c.power_of_two(c.integer(n))
    grown = c.fused(power, p, power)
    large = c.subtract(1.0, c.divide(2.0, c.add(grown, 1.0)))
    result = c.chosen("olt", bounded, 0.625, small, large)
    signed = c.emit(f"call float @llvm.copysign.f32(float {result}, float {x})")
    return c.chosen("uno", x, 0.0, x, signed)


def _lower(function: Callable[[Code, str], str]) -> Callable[[Lines, str, list[str]], str]:
    return lambda lines, kind, args: function(Code(lines), args[0])


#: By the name of NumPy's ufunc; the form of :data:`chainwright.codegen.native_target.llvm.LOWER`.
FUNCTIONS = {f.__name__: _lower(f) for f in (exp, expm1, log, log1p, tanh)}
DECLARED = [
    "declare float @llvm.fma.f32(float, float, float)",
    "declare float @llvm.rint.f32(float)",
    "declare float @llvm.copysign.f32(float, float)",
]
