"""The CUDA target: fused kernels between CuPy's own calls."""

from __future__ import annotations

from typing import Any

from chainwright.ir import Graph, Node, make
from chainwright.ir.fusion import fuse
from chainwright.ir.passes import Pass, replace_nodes

from ..numpy_target.writer import with_copies
from .ops import takes
from .program import CudaProgram
from .rows import RowSpaces
from .writer import CudaWriter

_PLAIN = {"few_rows": "dot", "few_rows_matmul": "matmul"}


def plain_products(graph: Graph) -> Graph:
    """Let all products be those of the device's library, as in define-by-run."""

    def rewritten(node: Node) -> Node | None:
        plain = _PLAIN.get(node.op)
        if plain is None:
            return None
        return make(plain, *node.inputs, strides=node.strides, origin=node.origin)

    return replace_nodes(graph, rewritten)


class CudaTarget:
    """``cupy`` is the array module of the device.

    What is not ``exact`` has sums within rows in its kernels, and joins sums and products: the
    last bits are others than define-by-run's.
    """

    name = "cuda"

    def __init__(self, cupy: Any, exact: bool = True) -> None:
        self.cupy, self.exact = cupy, exact
        self.passes: tuple[Pass, ...] = (plain_products, self._fuse)

    def _fuse(self, graph: Graph) -> Graph:
        return fuse(graph, kin=RowSpaces(graph, self.exact))

    def takes(self, node: Node) -> bool:
        """Whether a node may be part of a kernel."""
        return takes(node)

    def program(self, graph: Graph, title: str, saved_count: int = 0) -> CudaProgram:
        """See :class:`~chainwright.codegen.cuda_target.writer.CudaWriter`.

        Raises:
            NotOnDevice: CuPy has no such function.
        """
        return CudaWriter(with_copies(graph), title, saved_count, self.cupy, self.exact).program()
