"""What happens when a segment of native code has raised floating-point flags, or could not run.

NumPy warns after each call, as ``numpy.errstate`` asks; a segment tests the flags once, at its end.
If somebody wants to know, the segment is repeated as NumPy calls, which warn or raise from the
right line; then what it has to write is written. The same NumPy calls stand in where an array is
not of the layout that was compiled for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir import Graph, Node, placeholder
from chainwright.ir.make import remake

from ..numpy_target import generate
from ..plan.arena import View

_KINDS = ("divide", "over", "under", "invalid")


class Located(NamedTuple):
    """An array of a segment: the place in its tuple, and where in the memory there (or all)."""

    slot: int
    view: View | None


@dataclass(slots=True)
class Flags:
    """Which bits of the flags stand for which of NumPy's kinds of errors."""

    divide: int
    over: int
    under: int
    invalid: int

    @property
    def all(self) -> int:
        return self.divide | self.over | self.under | self.invalid

    def matter(self, raised: int) -> bool:
        """Whether somebody wants to know of what was raised."""
        wanted = np.geterr()
        return any(raised & getattr(self, k) and wanted[k] != "ignore" for k in _KINDS)


class Settlement:
    """Called with what the native code of a segment returned, and the arrays it was given."""

    def __init__(
        self,
        title: str,
        nodes: Sequence[Node],
        inputs: dict[Node, Located],
        outputs: dict[Node, Located],
    ) -> None:
        self.title, self.nodes, self.inputs, self.outputs = title, tuple(nodes), inputs, outputs
        self.commit: Callable[[Any], int] | None = None
        self.flags: Flags | None = None

    def __call__(self, raised: int, arrays: tuple[np.ndarray, ...]) -> None:
        if raised < 0:
            self._replaced(arrays)
            return
        if self.matters(raised):
            program = self._warning
            program.function(*self._given(arrays), program.new_scratch(), ())
        if self.commit is not None:
            self.commit(arrays)

    def matters(self, raised: int) -> bool:
        """Whether somebody wants to know of these flags."""
        assert self.flags is not None
        return self.flags.matter(raised)

    def _replaced(self, arrays: tuple[np.ndarray, ...]) -> None:
        program = self._whole
        results = program.function(*self._given(arrays), program.new_scratch(), ())
        for located, result in zip(self.outputs.values(), results, strict=True):
            _array(located, arrays)[...] = result

    def _given(self, arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        return [_array(located, arrays) for located in self.inputs.values()]

    @functools.cached_property
    def _warning(self) -> Any:
        nodes = [node for node in self.nodes if node.op != "write"]
        return self._program(nodes, ())

    @functools.cached_property
    def _whole(self) -> Any:
        return self._program(self.nodes, tuple(self.outputs))

    def _program(self, nodes: Sequence[Node], outputs: Sequence[Node]) -> Any:
        new: dict[Node, Node] = {}
        for k, node in enumerate(self.inputs):
            kind = node.attr("kind") if node.op == "placeholder" else "argument"
            new[node] = placeholder(f"x{k}", node.shape, node.dtype, node.strides, kind)
        for node in nodes:
            new[node] = remake(node, tuple(new.get(x, x) for x in node.inputs))
        inputs = tuple(new[node] for node in self.inputs)
        made = tuple(new[node] for node in nodes)
        graph = Graph(inputs, made, tuple(new[node] for node in outputs), "segment")
        return generate(graph, title=self.title).load()


def _array(located: Located, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    base, view = arrays[located.slot], located.view
    if view is None:
        return base
    return np.ndarray(view.shape, view.dtype, base.data, view.offset, view.strides)
