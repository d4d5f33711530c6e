"""Where values lie in an arena: follows views by their layout alone."""

from __future__ import annotations

import numpy as np

from chainwright.ir import Node
from chainwright.ir.interpret import run_node
from chainwright.ir.layout import extent

from .arena import View
from .storage import Storage


def needed_bytes(node: Node, plan: Storage) -> int:
    """The memory of a value, or of one tile of it where only that exists."""
    if not plan.is_local(node) or node.dtype is None:
        return span_bytes(node)
    return extent(plan.tiles[node].shape(node), node.steps, node.dtype.itemsize)[0]


def tile_view(node: Node, view: View, plan: Storage) -> View:
    """The array for a value, or for one tile of it where only that exists."""
    return view._replace(shape=plan.tiles[node].shape(node)) if plan.is_local(node) else view


def span_bytes(node: Node) -> int:
    assert node.dtype is not None
    return extent(node.dims, node.steps, node.dtype.itemsize)[0]


def whole(node: Node, offset: int) -> View:
    """Where a value lies that has the memory at the offset for itself."""
    assert node.dtype is not None
    before = extent(node.dims, node.steps, node.dtype.itemsize)[1]
    return View(offset + before, node.dims, node.dtype, node.steps)


def moved(node: Node, base: View) -> View:
    """Where a view lies: the move is made on an array of the base's layout that nothing reads."""
    size, first = extent(base.shape, base.strides, base.dtype.itemsize)
    memory = np.zeros(size or 1, np.uint8)
    array = np.ndarray(base.shape, base.dtype, memory.data, first, base.strides)
    view = run_node(node, [array])
    distance = view.ctypes.data - array.ctypes.data
    return View(base.offset + distance, view.shape, view.dtype, view.strides)
