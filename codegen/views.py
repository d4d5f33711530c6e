"""Where values lie in an arena: follows views by their layout alone."""

from __future__ import annotations

import numpy as np

from chainwright.ir import Node
from chainwright.ir.interpret import run_node
from chainwright.ir.layout import extent
from chainwright.ir.op import OPS

from .arena import View
from .storage import KEPT, SCRATCH, Storage


def is_planned(node: Node, plan: Storage) -> bool:
    """Whether a view is known by its layout alone: a chain of moves in an arena."""
    if plan.place_of(node) not in (SCRATCH, KEPT):
        return False
    while plan.root(node) is not node:
        if not OPS[node.op].view:
            return False
        node = node.inputs[0]
    return True


def needed_bytes(node: Node, plan: Storage) -> int:
    """The memory of a value, or of one tile of it where only that exists."""
    if not plan.is_local(node) or node.dtype is None:
        return span_bytes(node)
    return extent(plan.tiles[node].shape(node), node.steps, node.dtype.itemsize)[0]


def view_in(node: Node, offset: int, plan: Storage) -> View:
    """The array in the arena for a value whose block starts at the offset."""
    view = _view_at(node, offset, plan)
    return view._replace(shape=plan.tiles[node].shape(node)) if plan.is_local(node) else view


def span_bytes(node: Node) -> int:
    assert node.shape is not None and node.strides is not None and node.dtype is not None
    return extent(node.shape, node.strides, node.dtype.itemsize)[0]


def _view_at(node: Node, offset: int, plan: Storage) -> View:
    """Where a value lies whose block starts at the offset: follow its views without memory."""
    assert node.shape is not None and node.strides is not None and node.dtype is not None
    if plan.root(node) is node:
        before = extent(node.shape, node.strides, node.dtype.itemsize)[1]
        return View(offset + before, node.shape, node.dtype, node.strides)
    base = _view_at(node.inputs[0], offset, plan)
    memory = np.zeros(span_bytes(node.inputs[0]) or 1, np.uint8)
    first = extent(base.shape, base.strides, base.dtype.itemsize)[1]
    array = np.ndarray(base.shape, base.dtype, memory.data, first, base.strides)
    view = run_node(node, [array])
    moved = view.ctypes.data - array.ctypes.data
    return View(base.offset + moved, view.shape, view.dtype, view.strides)
