"""The native target: LLVM code with NumPy's bits, one call for each run of nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chainwright.ir import Graph, Node, make
from chainwright.ir.fusion import fuse
from chainwright.ir.make import remake
from chainwright.ir.passes import Pass, replace_nodes

from ..numpy_target.writer import with_copies
from .forms import Forms
from .library import lowered, with_memory
from .outer import outer_as_loops
from .program import Linker, NativeProgram
from .steps import Machine, work_of
from .sums import sums_of_terms
from .writer import NativeWriter


def _with_columns(graph: Graph, forms: Forms) -> Graph:
    """Let sums over the rows of a group be part of it: what they read need not be stored."""
    home = {node: k for k, group in enumerate(graph.groups) for node in group}
    sums: dict[int, list[Node]] = {}
    for node in graph.nodes:
        if node not in home and len(node.inputs) == 1 and forms.by_columns(node):
            k = home.get(node.inputs[0])
            if k is not None and node.inputs[0].dims[0] == graph.groups[k][0].dims[0]:
                sums.setdefault(k, []).append(node)
    if not sums:
        return graph
    groups = [(*group, *sums.get(k, ())) for k, group in enumerate(graph.groups)]
    moved = {node for nodes in sums.values() for node in nodes}
    after = {graph.groups[k][-1]: nodes for k, nodes in sums.items()}
    nodes: list[Node] = []
    for node in graph.nodes:
        if node not in moved:
            nodes += [node, *after.get(node, ())]
    return replace(graph, nodes=tuple(nodes), groups=tuple(groups))


def count_in_integers(graph: Graph) -> Graph:
    """Sums of truth values are sums of integers, which have a loop of NumPy's."""

    def rewritten(node: Node) -> Node | None:
        if node.op != "sum" or node.inputs[0].dtype != np.bool_ or node.dtype != np.int64:
            return None
        cast = make("cast", *node.inputs, dtype=node.dtype, origin=node.origin)
        return remake(node, (cast,))

    return replace_nodes(graph, rewritten)


class NativeTarget:
    """``machine`` says what is known to give NumPy's bits here, ``linker`` compiles.

    What is not ``exact`` has functions of its own where NumPy approximates, and joins sums and
    products: the last bits are others.
    """

    name = "native"

    def __init__(self, machine: Machine, linker: Linker, exact: bool = True) -> None:
        self.machine, self.linker, self.exact = machine, linker, exact

    def forms(self) -> Forms:
        """The native forms of nodes, for one graph."""
        return Forms(self.machine, fast=not self.exact)

    @property
    def passes(self) -> tuple[Pass, ...]:
        return (
            lowered, count_in_integers, self._outer, self._sum_up, self._with_memory, self._fuse,
        )  # fmt: skip

    def _outer(self, graph: Graph) -> Graph:
        return outer_as_loops(graph, self.machine.outer)

    def _sum_up(self, graph: Graph) -> Graph:
        return sums_of_terms(graph, lambda node: work_of(node, self.machine) is not None)

    def _with_memory(self, graph: Graph) -> Graph:
        return with_memory(graph, self.machine)

    def _fuse(self, graph: Graph) -> Graph:
        forms = self.forms()
        return _with_columns(fuse(graph, forms.by_rows), forms)

    def takes(self, node: Node) -> bool:
        """Whether a node may be part of a group that runs by rows."""
        return self.forms().by_rows(node)

    def program(self, graph: Graph, title: str, saved_count: int = 0) -> NativeProgram:
        graph = with_copies(graph)
        return NativeWriter(graph, title, saved_count, self.forms(), self.linker).program()
