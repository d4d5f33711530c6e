"""Copies, fills, joins and what is read or written at places, as regions of native code."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from chainwright.ir import Node, make
from chainwright.ir.frozen import thaw
from chainwright.ir.kernel import Instr, Kernel, Operand
from chainwright.ir.layout import phantom

from .driver import OURS
from .places import PLACES, READ, TABLES, WRITE, places_of, rows_of
from .steps import (
    LIBRARY,
    Ints,
    Machine,
    Place,
    Region,
    Step,
    Work,
    bits,
    dtype_name,
    inner_of,
    is_scalar,
    kernel_table,
    nest_of,
    scalar_bits,
    spread,
)


def copy_region(
    source: Node, target: Node, dims: Ints, strides: Ints, offset: int, origin: str = ""
) -> Region:
    """Store a value, broadcast to ``dims``, in a part of the target."""
    assert target.dtype is not None
    kind = dtype_name(target.dtype)
    if is_scalar(source):
        return fill_region(target, scalar_bits(source, target.dtype), dims, strides, offset, origin)
    nest = nest_of(dims, [spread(source, dims), strides], by_rows=False)
    assert source.dtype is not None
    a = Operand("a0", dtype_name(source.dtype), inner_of(nest, 0, source.dtype.itemsize))
    y = Operand("y0", kind, inner_of(nest, 1, target.dtype.itemsize), out=True)
    body, value = (), "a0"
    if a.dtype != kind:
        body, value = (
            (Instr("t0", "cast", a.dtype, kind, ("a0",), f"({kind}) {{0}}", origin),),
            "t0",
        )
    kernel = Kernel(nest.ndim, (a, y), (), body, (("y0", value),))
    places = (Place(source, 0, 0), Place(target, offset, 0))
    step = Step(kernel, kernel_table(kernel, nest, ()), places, origins=(origin,))
    return Region(nest.rows, nest.rows, (step,))


def fill_region(
    target: Node, value: int, dims: Ints, strides: Ints, offset: int, origin: str = ""
) -> Region:
    """Store one number in a part of the target."""
    assert target.dtype is not None
    nest = nest_of(dims, [strides], by_rows=False)
    kind = dtype_name(target.dtype)
    y = Operand("y0", kind, inner_of(nest, 0, target.dtype.itemsize), out=True)
    kernel = Kernel(nest.ndim, (y,), (kind,), (), (("y0", "c0"),))
    table = kernel_table(kernel, nest, (value,))
    step = Step(kernel, table, (Place(target, offset, 0),), origins=(origin,))
    return Region(nest.rows, nest.rows, (step,))


def move_regions(node: Node, reuses: bool) -> list[Region]:
    """Copies and fills; ``reuses``: the result has taken over the memory of its base."""
    origin = str(node.origin or "")
    if node.op == "write":
        target, value = node.inputs
        return [copy_region(value, target, target.dims, target.steps, 0, origin)]
    assert node.dtype is not None
    if node.op in ("zeros", "ones"):
        value = bits(node.op == "ones", node.dtype)
        return [fill_region(node, value, node.dims, node.steps, 0, origin)]
    if node.op == "empty":
        return []
    if node.op == "reshape":
        (x,) = node.inputs
        size = node.dtype.itemsize
        dense = tuple(size * prod(x.dims[k + 1 :]) for k in range(len(x.dims)))
        return [copy_region(x, node, x.dims, dense, 0, origin)]
    if node.op == "concatenate":
        return list(_joined(node, origin))
    if node.op == "add_rows":
        zeros = fill_region(node, 0, node.dims, node.steps, 0, origin)
        return [zeros, _at_places(node, origin)]
    if node.op == "getitem":
        return [_at_places(node, origin)]
    base, value = node.inputs[:2]
    regions = [] if reuses else [copy_region(base, node, node.dims, node.steps, 0, origin)]
    if len(node.inputs) > 2:
        return [*regions, _at_places(node, origin)]
    ghost = phantom(node.dims, node.dtype, node.steps)
    index = thaw(node.attr("index"), ())
    items = index if isinstance(index, tuple) else (index,)
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)  # an array even where one item is meant
    part = ghost[items]
    offset = part.__array_interface__["data"][0] - ghost.__array_interface__["data"][0]
    if part.size:
        regions.append(copy_region(value, node, part.shape, part.strides, offset, origin))
    return regions


def _sum_of_tables(node: Node, machine: Machine) -> Work | None:
    """Rows of one pair after the other are added up in a table of their own, then to the sum."""
    arrays = node.inputs[: len(node.inputs) // 2 * 2]  # memory comes after them
    facts = {"shape": node.shape, "dtype": node.dtype, "strides": node.strides}
    found = [
        rows_of(make("add_rows", *pair, **facts, kwargs=thaw(node.attr("kwargs"), ())))
        for pair in zip(arrays[::2], arrays[1::2], strict=True)
    ]
    if not all(found):
        return None

    def regions(memory: Sequence[Node]) -> list[Region]:
        (own,), origin, steps = memory, str(node.origin or ""), list[Step]()
        total, table = Place(node, 0, 0), Place(own, 0, 0)
        for pair in filter(None, found):
            rows, ids = Place(pair.rows, 0, 0), Place(pair.ids, 0, 0)
            for function, places in (
                (pair.kind, (table, rows, ids)),
                (f"{TABLES}_{pair.kind[-1]}", (total, table, ids)),
            ):
                steps.append(Step(function, pair.table, places, OURS, node.op, (origin,)))
        zeros = [fill_region(x, 0, x.dims, x.steps, 0, origin) for x in (node, own)]
        return [*zeros, Region(1, 1, tuple(steps))]

    return Work((node.dims,), regions)


LIBRARY["add_rows_sum"] = _sum_of_tables


def _at_places(node: Node, origin: str) -> Region:
    """Reading, writing or adding up at places that are arrays."""
    if node.op == "add_rows":
        found = rows_of(node)
        assert found is not None
        places = tuple(Place(x, 0, 0) for x in (node, found.rows, found.ids))
        return Region(1, 1, (Step(found.kind, found.table, places, OURS, node.op, (origin,)),))
    found = places_of(node)
    assert found is not None
    reads = node.op == "getitem"
    arrays = (node, found.array) if reads else (node.inputs[1], node)
    places = tuple(Place(x, 0, 0) for x in (*arrays, *found.indices))
    table = found.table(READ if reads else WRITE)
    return Region(1, 1, (Step(PLACES, table, places, OURS, node.op, (origin,)),))


def _joined(node: Node, origin: str) -> list[Region]:
    axis, start, regions = node.attr("axis") % len(node.dims), 0, []
    for x in node.inputs:
        offset = start * node.steps[axis]
        regions.append(copy_region(x, node, x.dims, node.steps, offset, origin))
        start += x.dims[axis]
    return regions
