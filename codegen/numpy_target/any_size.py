"""Programs for arrays of any sizes: NumPy calls as they were recorded, with lengths as parameters.

In: a graph whose shapes are polynomials of its first inputs. Out: a Program that takes no memory
beforehand: NumPy allocates each result, as it does in define-by-run. What may not happen: a line
that holds for the lengths of the probe only.
"""

from __future__ import annotations

from collections.abc import Callable

from chainwright.ir import Graph, Node
from chainwright.ir.layout import is_dense
from chainwright.ir.op import OPS
from chainwright.ir.size import UNKNOWN

from ..names import SharingNames
from ..plan.storage import FRESH, Storage, plan_storage
from ..program import Program
from .scalars import hoisted
from .writer import Writer, needs_buffer, with_copies


class NotAnySize(Exception):
    """A graph of which no program for any sizes can be written; the text says why."""


class _Writer(Writer):
    made_names = SharingNames

    def _plan(self, saved_count: int) -> Storage:
        return plan_storage(self.graph, saved_count, {}, lambda node: False, _reuses)

    def _write(self, node: Node) -> None:
        if self.plan.root(node) is node and node not in self.plan.reused:
            if node.shape != () and needs_buffer(node):
                self._allocate(node, FRESH)
                self._line(node, self._call(node, self.text[node]))
                return
        super()._write(node)

    def _fresh(self, node: Node) -> str:
        _check_dense(node)
        return super()._fresh(node)

    def _natural(self, node: Node) -> None:
        if OPS[node.op].kind == "creation":
            _check_dense(node)
        super()._natural(node)

    def arguments(self, node: Node, operand: Callable[[Node], str]) -> list[str]:
        held = hoisted(node)
        unknown = [x.op == "literal" and type(x.attr("value")) in UNKNOWN for x in node.inputs]
        return [
            self.names.scalar(*held[k]) if k in held and not unknown[k] else operand(x)
            for k, x in enumerate(node.inputs)
        ]


def _reuses(node: Node, taken: Node) -> bool:
    """What is dense in the same order at all sizes takes the same memory at all of them."""
    return node.dtype is not None and is_dense(node.dims, node.steps, node.dtype.itemsize)


def _check_dense(node: Node) -> None:
    if node.dtype is None or not is_dense(node.dims, node.steps, node.dtype.itemsize):
        raise NotAnySize(f"{node!r} is an array with gaps")


def any_size_program(graph: Graph, title: str, saved_count: int = 0) -> Program:
    """The program of a graph that :class:`~chainwright.ir.unify.Unified` has made.

    Its first inputs are the symbols.

    >>> from chainwright.codegen.numpy_target.any_size import any_size_program
    >>> from chainwright.ir import Graph, make, placeholder
    >>> from chainwright.ir.size import Size
    >>> n = Size(7, (((0,), 1),))
    >>> size, x = placeholder("size0", (), "i8"), placeholder("x", (n, 3), "f4")
    >>> y = make("reshape", x, shape=(Size(21, (((0,), 3),)),))
    >>> program = any_size_program(Graph((size, x), (y,), (y,), "f"), "an example")
    >>> print(program.source[program.source.index("def"):], end="")
    def f(size0, x, scratch, kept):
        v1 = x.reshape(((3 * size0),))
        return (v1,)
    """
    return _Writer(with_copies(graph), title, saved_count).program()
