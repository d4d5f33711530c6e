"""Native forms of library ops: a table that whoever knows an op fills.

A form says which memory it works in and which regions do the work. A pass of the target makes the
memory of nodes, so that it is planned like any other; the op's NumPy call does not look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from chainwright.ir import Graph, Node, Slot, make
from chainwright.ir.frozen import freeze, thaw
from chainwright.ir.kernel import Instr, Kernel, Operand
from chainwright.ir.make import remake
from chainwright.ir.passes import drop_dead, rebuild

from .driver import FOREIGN, OURS
from .matmul import product_walk
from .steps import (
    LIBRARY,
    Ints,
    Loop,
    Machine,
    Place,
    Product,
    Step,
    Work,
    dtype_name,
    inner_of,
    kernel_table,
    nest_of,
    work_of,
)

__all__ = [
    "LIBRARY", "LOWERED", "Emit", "Work", "arrays_of", "lowered", "settings_of", "with_memory",
]  # fmt: skip

Emit = Callable[..., Node]
#: Library ops that native code does as a composition of others, by name: ``lower(node, emit)``
#: gives the results, or None for types and settings that are left to NumPy.
LOWERED: dict[str, Callable[[Node, Emit], tuple[Node, ...] | None]] = {}


def lowered(graph: Graph) -> Graph:
    """Put compositions in the place of the library ops of :data:`LOWERED`."""
    if not any(node.op in LOWERED for node in graph.nodes):
        return graph
    nodes: list[Node] = []
    new: dict[Node, Node] = {}
    parts: dict[Node, tuple[Node, ...]] = {}
    for was in graph.nodes:
        inputs = tuple(new.get(x, x) for x in was.inputs)
        if was.op == "pick" and inputs[0] in parts:
            part = parts[inputs[0]][was.attr("k")]
            if _same_form(part, was):
                new[was] = part
                continue
        node = was if inputs == was.inputs else remake(was, inputs)
        made = LOWERED[node.op](node, _emitter(nodes, node)) if node.op in LOWERED else None
        if made is not None and node.attr("n_outputs") is not None:
            parts[node] = made
        elif made is not None and _same_form(made[0], node):
            (new[was],) = made
            continue
        nodes.append(node)
        new[was] = node
    outputs = tuple(new.get(x, x) for x in graph.outputs)
    return drop_dead(replace(graph, nodes=tuple(nodes), outputs=outputs))


def _same_form(made: Node, node: Node) -> bool:
    """Whether a composition gives what the op gives, down to the layout, on which sums depend."""
    return (made.shape, made.dtype, made.strides) == (node.shape, node.dtype, node.strides)


def _emitter(nodes: list[Node], node: Node) -> Emit:
    def emit(op: str, *inputs: Node, **facts: object) -> Node:
        nodes.append(make(op, *inputs, origin=node.origin, **facts))  # type: ignore[arg-type]
        return nodes[-1]

    return emit


def arrays_of(node: Node) -> tuple[Node, ...] | None:
    """The arrays of a library op in their order, without memory; None for other arguments."""
    template = node.attr("args")
    if template is None:
        return node.inputs
    slots = tuple(Slot(k) for k in range(len(template)))
    return node.inputs[: len(slots)] if template == slots else None


def settings_of(node: Node) -> dict[str, object]:
    return dict(thaw(node.attr("kwargs"), ()))


def with_memory(graph: Graph, machine: Machine) -> Graph:
    """Give library ops the memory that their native forms work in."""

    def replace(node: Node, was: Node) -> Node:
        work = work_of(node, machine)
        if work is None or not work.memory:
            return node
        arrays = arrays_of(node)
        if arrays is None or len(node.inputs) > len(arrays):
            return node
        origin = node.origin
        memory = [make("empty", shape=s, dtype=node.dtype, origin=origin) for s in work.memory]
        template = freeze(tuple(Slot(k) for k in range(len(arrays))))
        attrs = tuple((key, template if key == "args" else v) for key, v in node.attrs)
        inputs = (*arrays, *memory)
        return Node(node.op, inputs, attrs, node.shape, node.dtype, node.strides, origin)

    return rebuild(graph, replace)


# -- steps -------------------------------------------------------------------------------------


def dense(shape: Ints, size: int) -> Ints:
    """The strides of an array in C order."""
    steps = [size]
    for n in reversed(shape[1:]):
        steps.append(steps[-1] * n)
    return tuple(reversed(steps[: len(shape)]))


def _kernel_step(
    dims: Ints,
    dtype: np.dtype,
    operands: Sequence[tuple[Place, Ints]],
    body: tuple[Instr, ...],
    value: str,
    numbers: tuple[str, ...],
    origin: str,
) -> Step:
    """A loop over ``dims``; the last operand is what is written."""
    nest = nest_of(dims, [steps for _, steps in operands], by_rows=False)
    kind, last = dtype_name(dtype), len(operands) - 1
    made = tuple(
        Operand("y0" if k == last else f"a{k}", kind, inner_of(nest, k, dtype.itemsize), k == last)
        for k in range(len(operands))
    )
    kernel = Kernel(nest.ndim, made, numbers, body, (("y0", value),))
    first, *rest = kernel_table(kernel, nest, (0,) * len(numbers))
    table = (first * nest.rows, *rest)
    return Step(kernel, table, tuple(place for place, _ in operands), OURS, "", (origin,))


def copy_step(
    dims: Ints, dtype: np.dtype, source: Place, steps: Ints, target: Place, to: Ints, origin: str
) -> Step:
    """``target[...] = source``"""
    return _kernel_step(dims, dtype, [(source, steps), (target, to)], (), "a0", (), origin)


def add_step(
    dims: Ints, dtype: np.dtype, source: Place, steps: Ints, target: Place, to: Ints, origin: str
) -> Step:
    """``target[...] = target + source``"""
    kind = dtype_name(dtype)
    body = (Instr("t0", "add", kind, kind, ("a0", "a1"), "{0} + {1}", origin),)
    operands = [(target, to), (source, steps), (target, to)]
    return _kernel_step(dims, dtype, operands, body, "t0", (), origin)


def zero_step(dims: Ints, dtype: np.dtype, target: Place, to: Ints, origin: str) -> Step:
    """``target[...] = 0``"""
    return _kernel_step(dims, dtype, [(target, to)], (), "c0", (dtype_name(dtype),), origin)


def product_step(form: Product, places: tuple[Place, Place, Place], origin: str) -> Step:
    """One call of the loop of ``np.matmul``; there may be one outer loop."""
    walk = product_walk(form)
    assert walk is not None and walk.calls == 1
    loop = (form.dtype,) * 3
    head = Loop(np.matmul, loop, 0), Loop(np.matmul, loop, 1)
    return Step(
        "product", (*head, *walk.lengths, *walk.strides), places, FOREIGN, "matmul", (origin,)
    )
