"""The native target: LLVM code with NumPy's bits, one call for each run of nodes."""

from __future__ import annotations

from chainwright.ir import Graph, Node
from chainwright.ir.fusion import fuse
from chainwright.ir.passes import Pass

from ..numpy_target.writer import with_copies
from .program import Linker, NativeProgram
from .steps import Forms, Machine
from .writer import NativeWriter


class NativeTarget:
    """``machine`` says what is known to give NumPy's bits here, ``linker`` compiles."""

    name = "native"
    exact = True

    def __init__(self, machine: Machine, linker: Linker) -> None:
        self._machine, self._linker = machine, linker

    @property
    def passes(self) -> tuple[Pass, ...]:
        return (self._fuse,)

    def _fuse(self, graph: Graph) -> Graph:
        return fuse(graph, Forms(self._machine).by_rows)

    def takes(self, node: Node) -> bool:
        """Whether a node may be part of a group that runs by rows."""
        return Forms(self._machine).by_rows(node)

    def program(self, graph: Graph, title: str, saved_count: int = 0) -> NativeProgram:
        forms = Forms(self._machine)
        return NativeWriter(with_copies(graph), title, saved_count, forms, self._linker).program()
