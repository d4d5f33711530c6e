"""What a target is: it makes programs of graphs.

A graph is recorded, optimised and cut into forward and backward once, whatever runs it. A target
then applies the passes it wants to each part and writes the program: a
:class:`~chainwright.codegen.program.Program`, whose ``load()`` gives
``function(*inputs, scratch, kept)`` with the outputs as a tuple, and ``new_scratch`` and
``new_kept`` for the memory it runs in. So programs of different targets can take turns on the same
schedule, between two calls and between a forward run and its backward.
"""

from __future__ import annotations

from typing import Protocol

from chainwright.ir import Graph, Node
from chainwright.ir.passes import Pass

from .program import Program


class Target(Protocol):
    """``passes`` run over each graph before ``program`` gets it; a new target is one folder."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool:
        """Whether programs give bit for bit what define-by-run gives."""
        ...

    @property
    def passes(self) -> tuple[Pass, ...]: ...

    def takes(self, node: Node) -> bool:
        """Whether a node may be part of a kernel."""
        ...

    def program(self, graph: Graph, title: str, saved_count: int = 0) -> Program:
        """The program of a prepared graph; its last ``saved_count`` outputs are saved values."""
        ...
