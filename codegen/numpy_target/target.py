"""The NumPy target: what it wants of a graph, and the way to its programs."""

from __future__ import annotations

from chainwright.ir import Graph, Node
from chainwright.ir.fusion import fuse, has_rows
from chainwright.ir.passes import Pass, drop_dead, merge_common

from ..names import SharingNames
from ..program import Program
from .select import select_large
from .writer import Writer, with_copies


class _Writer(Writer):
    made_names = SharingNames


class NumpyTarget:
    """Programs of NumPy calls; where a chain is large, in tiles that stay in the cache."""

    name = "numpy"
    exact = True
    passes: tuple[Pass, ...] = (select_large, merge_common, drop_dead, fuse)

    def takes(self, node: Node) -> bool:
        """Whether a node may be part of a group that runs in tiles."""
        return has_rows(node)

    def program(self, graph: Graph, title: str, saved_count: int = 0) -> Program:
        """See :func:`~chainwright.codegen.numpy_target.generate`.

        Library ops are called as define-by-run calls them: until there is native code for all of
        the program, it is not to be slower.
        """
        return _Writer(with_copies(graph), title, saved_count).program()


NUMPY = NumpyTarget()
