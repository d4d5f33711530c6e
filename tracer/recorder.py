"""The writing side of a trace: real arrays in, graph nodes out.

In: the arrays that flow through one call, named by identity. Out: nodes, in the order in which
they happened. What may not happen: a recorded value that another input would have made
different. Where that cannot be promised, :meth:`Recorder.escape` ends the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir import Node, Origin, constant, literal, make, placeholder

from .recarray import RecArray, Storage, root
from .watch import unwatch

SCALARS = (bool, int, float, complex, type(None))


class Escape(NamedTuple):
    """Why a recording ended, and the user's line."""

    reason: str
    where: str


class Source(NamedTuple):
    """Where an array that outlives the call is found at each replay.

    ``how`` is 'item' (``owner[key]``) or 'attr' (``owner.key``).
    """

    text: str
    how: str
    owner: Any
    key: Any


class Mark(NamedTuple):
    """A point to which a recording can be taken back."""

    nodes: int
    versions: tuple[tuple[Storage, Node, int], ...]


class Recorder:
    """Records the operations of one call (and later of its backward) as graph nodes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.live = True
        self.escaped: Escape | None = None
        self.origin: Origin | None = None
        self.known: dict[int, RecArray] = {}
        self.roots: dict[int, np.ndarray] = {}
        self.written: dict[int, Storage] = {}
        self.firsts: dict[int, Node] = {}  # what written storages held before
        self.sources: dict[int, tuple[np.ndarray, Source]] = {}
        self.externals: list[tuple[Node, Source, RecArray]] = []
        self.closed = False  # whether unknown arrays are refused instead of held constant
        self.on_random: Callable[[], None] = lambda: None
        self._constants: dict[int, tuple[np.ndarray, Node]] = {}
        self._keep: list[Any] = []

    # -- what the trace knows

    def input(self, array: np.ndarray, name: str, kind: str) -> Node:
        """Make ``array`` a placeholder of the graph and know it from now on."""
        node = placeholder(name, array.shape, array.dtype, array.strides, kind)
        self.know(array, RecArray(self, array, Storage(node)))
        return node

    def adopt(self, array: np.ndarray, node: Node) -> None:
        """Know ``array`` as the value of a node that was recorded before."""
        if id(array) not in self.known:
            self.know(array, RecArray(self, array, Storage(node)))

    def constants_only(self) -> Recorder:
        """A recorder that knows the constants and bound arrays of this one, and holds no more."""
        made = Recorder()
        made.sources, made._constants = self.sources, dict(self._constants)
        return made

    def adopt_all(self, other: Recorder) -> None:
        """Know what another recording of the same call had for constants and bound arrays.

        Anything else unknown is refused from now on: it may differ from call to call.
        """
        self.sources.update(other.sources)
        self._constants.update(other._constants)
        self.closed = True

    def know(self, array: np.ndarray, rec: RecArray) -> None:
        """Remember that ``array`` holds the value of ``rec``; held strongly, so ids stay unique."""
        self.known[id(array)] = rec
        owner = root(array)
        self.roots[id(owner)] = owner
        self._keep.append(array)

    def offer_source(self, array: np.ndarray, source: Source) -> None:
        """Tell where ``array`` lives, for the case that the call uses it."""
        if id(array) not in self.known:
            self.sources.setdefault(id(array), (array, source))

    def wrap(self, array: Any) -> Any:
        """The recording array for a real one: a known value, a bound array or a constant."""
        array = unwatch(array)
        if not isinstance(array, np.ndarray):
            return array
        rec = self.known.get(id(array))
        if rec is not None and rec.held is array:
            return rec
        if id(array) in self.sources:
            return self._bind(array)
        return self._capture(array)

    def _bind(self, array: np.ndarray) -> RecArray:
        source = self.sources[id(array)][1]
        node = placeholder(source.text, array.shape, array.dtype, array.strides, "external")
        storage = Storage(node)
        rec = RecArray(self, array, storage)
        self.externals.append((node, source, rec))
        self.know(array, rec)
        return rec

    def _capture(self, array: np.ndarray) -> RecArray:
        owner = root(array)
        if id(owner) in self.roots:
            self.escape("a view of a traced array was made outside of recorded functions")
        elif self.closed and id(array) not in self._constants:
            self.escape(
                "backward uses an array that forward did not have and no function has made"
            )
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

    def home_of(self, rec: RecArray) -> Node:
        """The placeholder of an array that outlives the call, the present value of others."""
        for node, _, bound in self.externals:
            if bound is rec:
                return node
        return rec.node()

    # -- ending and taking back

    def escape(self, reason: str, where: str = "") -> None:
        """End the recording: what follows runs on plain arrays."""
        if self.live:
            place = where or (f"{self.origin.file}:{self.origin.line}" if self.origin else "")
            self.escaped = Escape(reason, place)
            self.live = False

    def mark(self) -> Mark:
        """A point to return to with :meth:`rewind`."""
        written = self.written.values()
        return Mark(len(self.nodes), tuple((s, s.node, s.version) for s in written))

    def write(self, storage: Storage, value: Node) -> None:
        """A new version of a storage."""
        if storage.shared:
            self.escape("an array is written whose memory another one shares")
        self.written.setdefault(id(storage), storage)
        self.firsts.setdefault(id(storage), storage.node)
        storage.node = value
        storage.version += 1

    def rewind(self, mark: Mark) -> None:
        """Forget the nodes since ``mark`` and record again."""
        del self.nodes[mark.nodes :]
        before = {id(storage) for storage, _, _ in mark.versions}
        for key in [k for k in self.written if k not in before]:
            storage, first = self.written.pop(key), self.firsts.pop(key)
            storage.node, storage.version = first, 0
        for storage, node, version in mark.versions:
            storage.node, storage.version = node, version
        self.live, self.escaped = True, None

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
        for target, _, rec in self.externals:
            storage = rec.storage
            if storage.node is not target:
                self.emit("write", (target, storage.node))
                storage.node = target
