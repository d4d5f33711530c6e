"""Indices that are arrays: reading, writing and adding up at places, in native code.

In: nodes ``x[i, j]``, ``x[i, j] = y`` with arrays of integers for the leading axes, and
``add_rows``, and sums of such tables. Out: steps of the functions here. An index out of bounds ends
the step with a word for the driver: NumPy calls do the segment once more then, and raise as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from chainwright.ir import Node
from chainwright.ir.frozen import index_items, thaw
from chainwright.ir.layout import is_contiguous
from chainwright.ir.node import Slot

from .driver import FAILED, FLOATS, Function

Ints = tuple[int, ...]
READ, WRITE = range(2)
PLACES, ROWS, TABLES = "chainwright_places", "chainwright_rows", "chainwright_tables"
_LOOPS = 3
_HEAD = 3 + 2 * _LOOPS  # what to do, indices, bytes of a block; lengths and strides of the loops
_EACH = 3 + _LOOPS  # an index: length and stride of its axis, bytes of a number, strides
_MOST = 8


class Places(NamedTuple):
    """``array[indices]`` and what lies beside it: a result, or a value to be stored."""

    array: Node
    indices: tuple[Node, ...]
    lengths: Ints
    steps: tuple[Ints, ...]  # of the other array, then of each index
    block: int  # bytes

    def table(self, what: int) -> Ints:
        table = [what, len(self.indices), self.block, *self.lengths, *self.steps[0]]
        for k, (index, steps) in enumerate(zip(self.indices, self.steps[1:], strict=True)):
            assert index.dtype is not None
            table += [self.array.dims[k], self.array.steps[k], index.dtype.itemsize, *steps]
        return tuple(table)


def places_of(node: Node) -> Places | None:
    """The places that a getitem or setitem speaks of; None if they are of another kind."""
    array = node.inputs[0]
    first = 1 if node.op == "getitem" else 2
    items = index_items(node.attr("index"))
    if items[-1] is Ellipsis:
        items = items[:-1]
    if not items or not all(isinstance(item, Slot) for item in items) or len(items) > _MOST:
        return None
    indices = tuple(node.inputs[first + item.k] for item in items)
    if not all(_is_index(x) for x in indices) or array.dtype is None or not array.size:
        return None
    dims = np.broadcast_shapes(*(x.dims for x in indices))
    rest = array.dims[len(items) :]
    other = node if node.op == "getitem" else node.inputs[1]
    if other.dtype != array.dtype or other.op == "literal":
        return None
    whole = (*dims, *rest)
    if len(other.dims) > len(whole) or other.op == "constant" and not other.dims:
        return None
    steps = _spread(other, whole)
    size = array.dtype.itemsize
    if rest and not (
        is_contiguous(rest, array.steps[len(items) :], size)
        and is_contiguous(rest, steps[len(dims) :], size)
    ):
        return None
    if node.op != "getitem" and not all(_is_plain(x) for x in indices):
        return None  # of a place that comes twice, NumPy's order says which value stays
    axes = [k for k, n in enumerate(dims) if n != 1]
    if len(axes) > _LOOPS:
        return None
    missing = _LOOPS - len(axes)
    walks = [steps, *(_spread(x, dims) for x in indices)]
    return Places(
        array,
        indices,
        (*(1,) * missing, *(dims[k] for k in axes)),
        tuple((*(0,) * missing, *(walk[k] for k in axes)) for walk in walks),
        int(np.prod(rest, dtype=int)) * size,
    )


def _is_index(x: Node) -> bool:
    integer = x.dtype is not None and x.dtype.kind == "i" and x.dtype.itemsize in (4, 8)
    return integer and x.dtype.isnative and x.size > 0 and x.shape is not None  # type: ignore[union-attr]


def _is_plain(x: Node) -> bool:
    assert x.dtype is not None
    return is_contiguous(x.dims, x.steps, x.dtype.itemsize)


def _spread(x: Node, dims: Ints) -> Ints:
    missing = len(dims) - len(x.dims)
    pairs = zip(x.dims, x.steps, strict=True)
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in pairs)


class Rows(NamedTuple):
    """``add_rows``: its arrays, and the table of the function."""

    rows: Node
    ids: Node
    table: Ints
    kind: str


def rows_of(node: Node) -> Rows | None:
    """What an ``add_rows`` adds up; None for layouts and types that native code has not."""
    template, kwargs = node.attr("args"), dict(thaw(node.attr("kwargs"), ()))
    if template not in (None, (Slot(0), Slot(1))) or len(node.inputs) != 2:
        return None
    rows, ids = node.inputs
    if not _is_index(ids) or not rows.size or rows.dtype != node.dtype:
        return None
    if len(ids.dims) != 1 and not _is_plain(ids):
        return None
    if rows.dtype not in (np.dtype(np.float32), np.dtype(np.float64)) or node.shape is None:
        return None
    if not (_is_plain(rows) and _is_plain(node)) or rows.dims[:-1] != ids.dims:
        return None
    ignored = kwargs.get("ignore_label")
    if ignored is not None and type(ignored) is not int:
        return None
    assert ids.dtype is not None and node.dtype is not None
    length, width = node.dims
    size = ids.dtype.itemsize
    step = ids.steps[0] if len(ids.dims) == 1 else size
    table = ids.size, width, length, size, int(ignored is not None), ignored or 0, step
    return Rows(rows, ids, table, f"{ROWS}_{node.dtype.char}")


# -- the functions -----------------------------------------------------------------------------


def texts() -> Sequence[str]:
    """The functions of the module, for the driver's module."""
    copy = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    sums = [make(letter) for make in (_add_rows, _add_tables) for letter in FLOATS]
    return [copy, _load_index(), _at_places(), *sums]


def _load_index() -> str:
    """A number of an index, counted from the start; -1 if it is out of bounds."""
    f = Function("internal i64 @load_index(ptr %at, i64 %size, i64 %length)")
    value = f.variable()
    with f.when(f.get("icmp eq i64 %size, 4")):
        f.set(value, f.get(f"sext i32 {f.get('load i32, ptr %at')} to i64"))
    with f.when(f.get("icmp eq i64 %size, 8")):
        f.set(value, f.get("load i64, ptr %at"))
    given = f.value(value)
    below = f.get(f"icmp slt i64 {given}, 0")
    counted = f.get(f"select i1 {below}, i64 {f.add(given, '%length')}, i64 {given}")
    inside = f.get(f"icmp ult i64 {counted}, %length")
    return f.text(f"i64 {f.get(f'select i1 {inside}, i64 {counted}, i64 -1')}")


def _fails(f: Function, condition: str) -> None:
    with f.when(condition):
        f.do(f"store i64 1, ptr {f.item('%args', FAILED, 'ptr')}")
    f.leave(condition, "void")


def _at_places() -> str:
    f = Function(f"void @{PLACES}(ptr %args, ptr %table, i64 %rows)")
    reads = f.get(f"icmp eq i64 {f.item('%table', 0)}, {READ}")
    count, block = f.item("%table", 1), f.item("%table", 2)
    lengths = [f.item("%table", 3 + k) for k in range(_LOOPS)]
    steps = [f.item("%table", 3 + _LOOPS + k) for k in range(_LOOPS)]
    beside, array = f.item("%args", 0, "ptr"), f.item("%args", 1, "ptr")
    offset = f.variable()
    with f.loop(lengths[0]) as i, f.loop(lengths[1]) as j, f.loop(lengths[2]) as k:
        f.set(offset, "0")
        with f.loop(count) as q:
            known = f.at("%table", f.add(f.mul(q, _EACH), _HEAD))
            index = f.item("%args", f.add(q, 2), "ptr")
            for x, place in zip((i, j, k), range(3, 3 + _LOOPS), strict=True):
                index = f.moved(index, f.mul(x, f.item(known, place)))
            length, size = f.item(known, 0), f.item(known, 2)
            value = f.call("@load_index", f"ptr {index}, i64 {size}, i64 {length}", "i64")
            _fails(f, f.get(f"icmp slt i64 {value}, 0"))
            f.set(offset, f.add(f.value(offset), f.mul(value, f.item(known, 1))))
        one = f.moved(array, f.value(offset))
        other = beside
        for x, step in zip((i, j, k), steps, strict=True):
            other = f.moved(other, f.mul(x, step))
        to = f.get(f"select i1 {reads}, ptr {other}, ptr {one}")
        source = f.get(f"select i1 {reads}, ptr {one}, ptr {other}")
        single = f.get(f"icmp eq i64 {block}, 4")
        with f.when(single):
            f.do(f"store i32 {f.get(f'load i32, ptr {source}')}, ptr {to}")
        with f.when(f.get(f"xor i1 {single}, true")):
            f.call("@llvm.memcpy.p0.p0.i64", f"ptr {to}, ptr {source}, i64 {block}, i1 false")
    return f.text()


def _add_rows(letter: str) -> str:
    """``table[ids[i]] += rows[i]``"""
    kind, size = FLOATS[letter]
    f = Function(f"void @{ROWS}_{letter}(ptr %args, ptr %table, i64 %rows)")
    width = f.item("%table", 1)
    table, rows = (f.item("%args", k, "ptr") for k in range(2))
    with _ids(f) as (i, value):
        _fails(f, f.get(f"icmp slt i64 {value}, 0"))
        to = f.moved(table, f.mul(f.mul(value, width), size))
        source = f.moved(rows, f.mul(f.mul(i, width), size))
        with f.loop(width) as j:
            _add(f, kind, f.moved(to, f.mul(j, size)), f.moved(source, f.mul(j, size)))
    return f.text()


def _add_tables(letter: str) -> str:
    """``total += table``, which is zero but for the rows of some ids, and is all zero then.

    Adding the others would change nothing: a sum that starts with zeros is never -0.0. So is a row
    that comes a second time.
    """
    kind, size = FLOATS[letter]
    f = Function(f"void @{TABLES}_{letter}(ptr %args, ptr %table, i64 %rows)")
    width = f.item("%table", 1)
    total, table = (f.item("%args", k, "ptr") for k in range(2))
    with _ids(f) as (_, value), f.when(f.get(f"icmp sge i64 {value}, 0")):
        start = f.mul(f.mul(value, width), size)
        to, source = f.moved(total, start), f.moved(table, start)
        with f.loop(width) as j:
            at = f.moved(source, f.mul(j, size))
            _add(f, kind, f.moved(to, f.mul(j, size)), at)
            f.do(f"store {kind} 0.0, ptr {at}")
    return f.text()


@contextmanager
def _ids(f: Function) -> Iterator[tuple[str, str]]:
    """A loop over the ids that are not left out: which one, and its row; -1 if there is none."""
    n, _, length, bytes_, ignores, ignored, step = (f.item("%table", k) for k in range(7))
    ids = f.item("%args", 2, "ptr")
    some = f.get(f"icmp ne i64 {ignores}, 0")
    with f.loop(n) as i:
        at = f.moved(ids, f.mul(i, step))
        value = f.call("@load_index", f"ptr {at}, i64 {bytes_}, i64 {length}", "i64")
        given = f.variable()
        with f.when(f.get(f"icmp eq i64 {bytes_}, 4")):
            f.set(given, f.get(f"sext i32 {f.get(f'load i32, ptr {at}')} to i64"))
        with f.when(f.get(f"icmp eq i64 {bytes_}, 8")):
            f.set(given, f.get(f"load i64, ptr {at}"))
        left_out = f.get(f"and i1 {some}, {f.get(f'icmp eq i64 {f.value(given)}, {ignored}')}")
        with f.when(f.get(f"xor i1 {left_out}, true")):
            yield i, value


def _add(f: Function, kind: str, to: str, source: str) -> None:
    term = f.get(f"load {kind}, ptr {source}")
    total = f.get(f"fadd {kind} {f.get(f'load {kind}, ptr {to}')}, {term}")
    f.do(f"store {kind} {total}, ptr {to}")
