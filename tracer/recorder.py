"""The writing side of a trace: real arrays in, graph nodes out.

In: the arrays that flow through one call, named by identity. Out: nodes, in the order in which
they happened. What may not happen: a recorded value that another input would have made
different. Where that cannot be promised, :meth:`Recorder.escape` ends the recording.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir import Node, Origin, constant, literal, make, placeholder

from .recarray import RecArray, Storage, root

SCALARS = (bool, int, float, complex, type(None))


class Escape(NamedTuple):
    """Why a recording ended, and the user's line."""

    reason: str
    where: str


class Recorder:
    """Records the operations of one call (and later of its backward) as graph nodes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.live = True
        self.escaped: Escape | None = None
        self.origin: Origin | None = None
        #: What array code gets for ``xp.random``: by default, draws are recorded as nodes.
        self.random: Any = None
        self.known: dict[int, RecArray] = {}
        self.roots: dict[int, np.ndarray] = {}
        self._externals: list[tuple[Node, RecArray]] = []
        self._constants: dict[int, tuple[np.ndarray, Node]] = {}
        self._keep: list[Any] = []

    # -- what the trace knows

    def input(self, array: np.ndarray, name: str, kind: str) -> Node:
        """Make ``array`` a placeholder of the graph and know it from now on."""
        node = placeholder(name, array.shape, array.dtype, array.strides, kind)
        self.know(array, RecArray(self, array, Storage(node)))
        return node

    def external(self, array: np.ndarray, name: str) -> Node:
        """Like :meth:`input`, of an array that outlives the call: it is written in place."""
        node = self.input(array, name, "external")
        self._externals.append((node, self.known[id(array)]))
        return node

    def is_written(self, array: np.ndarray) -> bool:
        """Whether an external array has been written."""
        return any(rec.held is array and rec.storage.version for _, rec in self._externals)

    def know(self, array: np.ndarray, rec: RecArray) -> None:
        """Remember that ``array`` holds the value of ``rec``; held strongly, so ids stay unique."""
        self.known[id(array)] = rec
        owner = root(array)
        self.roots[id(owner)] = owner
        self._keep.append(array)

    def wrap(self, array: Any) -> Any:
        """The recording array for a real one: a known value, a bound array or a constant."""
        if not isinstance(array, np.ndarray):
            return array
        rec = self.known.get(id(array))
        if rec is not None and rec.held is array:
            return rec
        return self._capture(array)

    def _capture(self, array: np.ndarray) -> RecArray:
        owner = root(array)
        if id(owner) in self.roots:
            self.escape("a view of a traced array was made outside of recorded functions")
        held = self._constants.get(id(array))
        if held is None:
            # By value: nothing of the user's may change it later.
            copied = np.array(array, order="K", copy=True, subok=False)
            held = self._constants[id(array)] = (array, constant(copied))
        rec = RecArray(self, array, Storage(held[1]))
        self.know(array, rec)
        return rec

    def node_of(self, array: np.ndarray) -> Node:
        """The node whose value ``array`` holds now."""
        return self.wrap(array).node()

    # -- ending

    def escape(self, reason: str, where: str = "") -> None:
        """End the recording: what follows runs on plain arrays."""
        if self.live:
            place = where or (f"{self.origin.file}:{self.origin.line}" if self.origin else "")
            self.escaped = Escape(reason, place)
            self.live = False

    def write(self, storage: Storage, value: Node) -> None:
        """A new version of a storage."""
        if storage.shared:
            self.escape("an array is written whose memory another one shares")
        storage.node = value
        storage.version += 1

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Run helpers without recording what they do."""
        was, self.live = self.live, False
        try:
            yield
        finally:
            self.live = was if self.escaped is None else False

    # -- emitting

    def operand(self, value: Any) -> Node:
        """The node for something that stands as an array argument of an operation."""
        if isinstance(value, Node):
            return value
        if type(value) in SCALARS:
            return literal(value)
        if isinstance(value, np.generic):
            return constant(value)
        if isinstance(value, (list, tuple)):
            return constant(np.asarray(value))
        return (value if type(value) is RecArray else self.wrap(value)).node()

    def emit(self, op: str, inputs: tuple[Any, ...], result: Any = None, **facts: Any) -> Node:
        """Write one node down; ``result`` is its real result, where it is at hand.

        ``facts`` are the node's attributes, and its shape or dtype where no rule and no result
        gives them.
        """
        if isinstance(result, (np.ndarray, np.generic)):
            facts.update(shape=result.shape, dtype=result.dtype, strides=result.strides)
        node = make(op, *[self.operand(i) for i in inputs], origin=self.origin, **facts)
        self.nodes.append(node)
        return node

    def results(self, node: Node, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Recording arrays for the parts of a node with several outputs."""
        return tuple(
            RecArray(self, r, Storage(self.emit("pick", (node,), r, k=k)))
            for k, r in enumerate(results)
        )

    def pending_writes(self) -> None:
        """Emit the writes to arrays that outlive the call, after all that reads them."""
        for target, rec in self._externals:
            storage = rec.storage
            if storage.node is not target:
                self.emit("write", (target, storage.node))
                storage.node = target
