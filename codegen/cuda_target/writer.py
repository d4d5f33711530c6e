"""Programs of CuPy calls with fused kernels between them, as one readable Python file.

In: a graph whose elementwise groups the target has made. Each group is one kernel (several where
shapes differ); everything else is the call of CuPy that define-by-run makes: products by cuBLAS,
sums in CuPy's order, library ops. So the bits are those of define-by-run on CuPy arrays.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainwright.ir import Graph, Node
from chainwright.ir.alias import roots_of
from chainwright.ir.kernel import UNIT
from chainwright.ir.layout import extent, is_dense
from chainwright.ir.op import OPS, call_text, dtype_source
from chainwright.ir.template import template

from ..names import Names
from ..native_target.groups import Fused, Group, Stage
from ..native_target.steps import Ints
from ..numpy_target.tiles import escaping
from ..numpy_target.writer import Writer
from ..plan.storage import FRESH, Storage, can_fill, plan_storage
from .kernels import KernelSource, Launch, cuda_text, launch_of, number_of, source_of
from .ops import NotOnDevice
from .program import CudaProgram, options
from .row_text import PREAMBLE, RowText
from .rows import RowKernel, RowSpaces

THREADS = 256
MOST_BLOCKS = 2048

#: NumPy's reductions, as CuPy has them.
_REDUCTIONS = frozenset({"sum", "prod", "max", "min"})
_WITH_DTYPE = frozenset({"sum", "prod"})
#: What CuPy computes into a given buffer just as into a new one.
_FILLS = frozenset({"elementwise", "creation", "update", "product"})


class CudaNames(Names):
    """Names of CuPy's functions, where those of NumPy are asked for."""

    def __init__(self, cupy: Any) -> None:
        super().__init__()
        self.cupy = cupy
        self._taken |= {"cp", "CUDA", "OPTIONS", "module", "aligned"}

    def number(self, value: np.generic) -> str:
        """The name of a scalar of NumPy, an argument of kernels."""
        key = (value.dtype, value.tobytes())
        if key not in self._values:
            text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value))
            self._values[key] = self._define(f"c{len(self._values)}", text)
            self.constants[self._values[key]] = value
        return self._values[key]

    def numpy(self, path: str) -> str:
        """The name of ``cupy.<path>``."""
        if path not in self._paths:
            found: Any = self.cupy
            for part in path.split("."):
                found = getattr(found, part, None)
            if found is None:
                raise NotOnDevice(f"CuPy has no {path}")
            self._paths[path] = self._define(path.replace(".", "_"), f"cp.{path}")
            self.constants[self._paths[path]] = found
        return self._paths[path]

    def _define_value(self, value: object, hint: str) -> str:
        if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is not value:
            name = value.__name__.lstrip("_")  # SciPy calls what is behind its ``zeta`` ``_zeta``
            special = importlib.import_module("cupyx.scipy.special")
            if not hasattr(special, name):
                raise NotOnDevice(f"cupyx.scipy.special has no {name}")
            defined = self._define(name, f"special.{name}")
            self.constants |= {defined: getattr(special, name), "special": special}
            return defined
        return super()._define_value(value, hint)


@dataclass(slots=True, eq=False)
class KernelGroup:
    """A group of a graph as kernels: what only its kernels see takes no memory."""

    inner: Group | RowText
    nodes: tuple[Node, ...]
    local: frozenset[Node]

    @property
    def group(self) -> tuple[Node, ...]:
        return self.nodes

    def shape(self, node: Node) -> Ints:
        return (0, *node.dims[1:])


class Forms:
    """What a group is made of: loops over items, and views."""

    fast = False

    def of(self, node: Node) -> str:
        return "loop" if OPS[node.op].kind == "elementwise" else "view"

    def by_columns(self, node: Node) -> bool:
        return False


class CudaWriter(Writer):
    """Writes one program; see the module's text."""

    def __init__(
        self, graph: Graph, title: str, saved_count: int, cupy: Any, exact: bool = True
    ) -> None:
        self.made_names = functools.partial(CudaNames, cupy)  # type: ignore[assignment]
        self.cupy, self.exact = cupy, exact
        self.sources: list[KernelSource] = []
        self._kernels: dict[Any, str] = {}
        self.kernel_groups: dict[Node, KernelGroup] = {}
        super().__init__(graph, title, saved_count)

    def _plan(self, saved_count: int) -> Storage:
        outside = escaping(self.graph, roots_of(self.graph.nodes))
        forms: Any = Forms()
        spaces = RowSpaces(self.graph, self.exact)
        for nodes in self.graph.groups:
            roots, space = roots_of(nodes), spaces.of_group(nodes)
            inner: Group | RowText
            if space is None:
                inner = Group(nodes, forms, outside.__contains__)
                stored = frozenset(inner.stored)
            else:
                stored = frozenset(n for n in nodes if roots[n] is n and n in outside)
                inner = RowText(RowKernel(nodes, space, stored))
            local = frozenset(n for n in nodes if roots[n] in roots and roots[n] not in stored)
            self.kernel_groups.update(dict.fromkeys(nodes, KernelGroup(inner, nodes, local)))
        return plan_storage(self.graph, saved_count, self.kernel_groups, self._fills)

    def _fills(self, node: Node) -> bool:
        if node in self.kernel_groups:
            return True
        fits = OPS[node.op].kind in _FILLS or node.op in _REDUCTIONS or node.op == "concatenate"
        return fits and can_fill(node) and node.op != "where"

    def program(self) -> CudaProgram:
        for k, node in enumerate(self.graph.nodes):
            group = self.kernel_groups.get(node)
            if group is None:
                self._write(node)
            elif node is group.group[0]:
                self._write_group(group)
            self._free(self.frees.get(k, ()))
        return CudaProgram(**self._facts(), cupy=self.cupy, cuda=self._cuda())

    def _cuda(self) -> str:
        return cuda_text(self.sources, PREAMBLE)

    def _render(self, **parts: Any) -> str:
        names = [entry for source in self.sources for entry in source.entries]
        return template("chainwright.codegen.cuda_target", "program.py.j2").render(
            cuda=self._cuda(), options=options(self.exact), kernels=names, **parts)

    # -- kernels -------------------------------------------------------------------------------

    def _write_group(self, group: KernelGroup) -> None:
        """Memory for what outlives the kernels, then one launch for each."""
        for node in group.group:
            if node in group.local:
                continue
            if self.plan.root(node) is node:
                self._allocate(node, self.plan.place_of(node))
            else:
                self._view(node)
        if isinstance(group.inner, RowText):
            return self._launch_rows(group.inner)
        for stage in group.inner.stages:
            self._launch(group.inner, stage)

    def _launch_rows(self, text: RowText) -> None:
        if text.form not in self._kernels:
            self._add_kernel(text.form, text.source)
        name = self._kernels[text.form]
        chosen = self._aligned(name, text.vectors) if text.by_four else name
        numbers = [self._number(number_of(*item)) for item in text.numbers]
        arguments = [*map(self.operand, text.values), *numbers, *map(str, text.sizes)]
        blocks = min(text.blocks, MOST_BLOCKS)
        self.body.append(f"{chosen}(({blocks},), ({text.threads},), ({', '.join(arguments)},))")

    def _launch(self, group: Group, stage: Stage) -> None:
        fused = Fused(group, stage.nodes, by_rows=False, again=stage.again)
        kernel, nest, places = fused.parts()
        values = [place.value for place in places if isinstance(place.value, Node)]
        launch = launch_of(kernel, nest, values, fused.numbers)
        numbers = [self._number(number_of(*item)) for item in launch.numbers]
        arguments = [*map(self.operand, values), *numbers, *map(str, launch.sizes)]
        chosen, items = self._chosen(self._kernel(launch), launch, values)
        blocks = min(-(-launch.size // (items * THREADS)), MOST_BLOCKS)
        self.body.append(f"{chosen}(({blocks},), ({THREADS},), ({', '.join(arguments)},))")

    def _chosen(
        self, name: str, launch: Launch, values: Sequence[Node]
    ) -> tuple[str, int]:
        """The entry of a kernel and its items for each thread: four at a time where aligned."""
        if not launch.by_four:
            return name, 1
        vectors = [x for x, operand in zip(values, launch.kernel.operands, strict=True)
                   if operand.inner == UNIT]
        chosen = self._aligned(name, vectors)
        return chosen, 1 if chosen == name else 4

    def _aligned(self, name: str, vectors: Sequence[Node]) -> str:
        """The form of a kernel that moves vectors, where these arrays lie at multiples of 16."""
        if any(self.located[x].offset % 16 for x in vectors if x in self.located):
            return name
        unknown = [self.operand(x) for x in vectors
                   if x not in self.located and self.plan.place_of(x) != FRESH]
        if not unknown:
            return f"{name}_by_four"
        return f"aligned({name}_by_four, {name}, {', '.join(dict.fromkeys(unknown))})"

    def _kernel(self, launch: Launch) -> str:
        """The name of a kernel's text; equal ones are written once."""
        if launch.form not in self._kernels:
            self._add_kernel(launch.form, lambda name: source_of(name, launch))
        return self._kernels[launch.form]

    def _add_kernel(self, form: Any, source: Callable[[str], KernelSource]) -> None:
        name = self.names.new(f"kernel{len(self._kernels)}")
        self._kernels[form] = name
        self.sources.append(source(name))

    def _number(self, value: np.generic) -> str:
        return self.names.number(value)  # type: ignore[attr-defined]

    # -- calls ---------------------------------------------------------------------------------

    def arguments(self, node: Node, operand: Callable[[Node], str]) -> list[str]:
        """Texts of the inputs; Python scalars as they are, which CuPy hands to its kernels."""
        return [operand(x) for x in node.inputs]

    def _call(self, node: Node, out: str | None = None) -> str:
        args = self._arguments(node)
        if node.op in _REDUCTIONS:
            settings: dict[str, str | None] = {"axis": repr(node.attr("axis")), "out": out}
            if node.op in _WITH_DTYPE and node.attr("compute") is not None:
                settings["dtype"] = dtype_source(node.attr("compute"), self.names)
            if node.attr("keepdims"):
                settings["keepdims"] = "True"
            return call_text(self.names.numpy(node.op), args, settings)
        if OPS[node.op].kind == "product":
            return call_text(self.names.numpy(node.op), args, {"out": out})
        return OPS[node.op].text(node, args, self.names, out)

    def _fresh(self, node: Node) -> str:
        assert node.dtype is not None
        if is_dense(node.dims, node.steps, node.dtype.itemsize):
            return super()._fresh(node)
        size, start = extent(node.dims, node.steps, node.dtype.itemsize)
        memory = f"{self.names.numpy('empty')}({size}, {self.names.numpy('uint8')}).data"
        shape, kind = repr(node.dims), dtype_source(node.dtype, self.names)
        return f"{self.names.numpy('ndarray')}({shape}, {kind}, {memory} + {start}, {node.steps})"
