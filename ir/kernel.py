"""Kernel: one fused loop over elements, as plain data that no target owns.

A kernel has no sizes in it: lengths, strides and numbers come from a table when it runs, so that
one kernel serves all layers and batch sizes of a form. ``str(kernel)`` is a C-like listing with the
user's lines; ``key`` is what the generated code depends on, without these lines.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

#: How an operand moves along the innermost axis: by items, not at all, by a stride of the table.
UNIT, SAME, STRIDE = "unit", "same", "stride"


@dataclass(frozen=True, slots=True)
class Operand:
    """An array of a kernel: read, or (``out``) written."""

    name: str
    dtype: str
    inner: str
    out: bool = False


@dataclass(frozen=True, slots=True)
class Instr:
    """``name = op(args)``, computed in ``dtype``; ``result`` is the dtype of what comes out.

    The args name operands, numbers of the table, and earlier results. ``text`` is the C-like
    expression of the op, with a place for each arg.
    """

    name: str
    op: str
    dtype: str
    result: str
    args: tuple[str, ...]
    text: str = ""
    origin: str = ""

    def __str__(self) -> str:
        if not self.text:
            return f"{self.op}({', '.join(self.args)})"
        return self.text.format(*self.args)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A nest of ``ndim`` loops around ``body``; ``stores`` says which result goes to which operand.

    ``fast``: results may differ in the last bits from those of the body done step by step.

    >>> a, y = Operand("a0", "f32", UNIT), Operand("y0", "f32", UNIT, out=True)
    >>> step = Instr("t1", "multiply", "f32", "f32", ("a0", "c0"), "{0} * {1}", "net.py:3 scale")
    >>> print(Kernel(1, (a, y), ("f32",), (step,), (("y0", "t1"),)))
    kernel(n0; f32 a0[i], f32 c0; out f32 y0[i])
      for i < n0
        f32 t1 = a0 * c0                                    # net.py:3 scale
        y0 = t1
    """

    ndim: int
    operands: tuple[Operand, ...]
    numbers: tuple[str, ...]
    body: tuple[Instr, ...]
    stores: tuple[tuple[str, str], ...]
    fast: bool = False

    @property
    def key(self) -> Hashable:
        """Equal for kernels whose code is the same."""
        body = tuple((i.name, i.op, i.dtype, i.result, i.args) for i in self.body)
        return self.ndim, self.operands, self.numbers, body, self.stores, self.fast

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        letters = "ijklmnop"[: self.ndim]
        lengths = ", ".join(f"n{k}" for k in range(self.ndim))
        read = [self._declared(x, letters) for x in self.operands if not x.out]
        read += [f"{dtype} c{k}" for k, dtype in enumerate(self.numbers)]
        written = [self._declared(x, letters) for x in self.operands if x.out]
        yield f"kernel({lengths}; {', '.join(read)}; out {', '.join(written)})"
        indent = "  "
        for k, letter in enumerate(letters):
            yield f"{indent}for {letter} < n{k}"
            indent += "  "
        for step in self.body:
            line = f"{indent}{step.result} {step.name} = {step}"
            yield f"{line:<55} # {step.origin}" if step.origin else line
        for operand, value in self.stores:
            yield f"{indent}{operand} = {value}"

    def _declared(self, operand: Operand, letters: str) -> str:
        last = {UNIT: letters[-1], SAME: "0", STRIDE: f"{letters[-1]}*s"}[operand.inner]
        return f"{operand.dtype} {operand.name}[{','.join([*letters[:-1], last])}]"
