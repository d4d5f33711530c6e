"""Graphs of any sizes: what recordings of the same functions at several sizes have in common.

In: graphs recorded at several *probes*, each of which gives a length to every symbol. Out: one
graph of the same nodes, in whose shapes and attributes polynomials of the symbols stand. What may
not happen: a graph that computes something else at sizes between those of the probes. So nothing
that differs from probe to probe is left but lengths, and numbers that are one divided by a length.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from .frozen import freeze
from .graph import Graph
from .layout import is_contiguous, is_dense, order_of
from .make import constant, make
from .node import Box, Node
from .size import STRIDES, Probe, Share, Size, Terms, symbol

_SLICE = ("start", "stop", "step")
_FOR_TWO = 4  # probes tell nothing of sums of two products
#: Symbols of which any products are looked at, for which there have to be more probes than symbols.
#: Of more than these only sums are, and fewer probes will do.
FEW = 8
_STRIDES = (1, 2, 3)  # by which symbols follow each other that are added up, where there are more
_MOST_ITEMS = 1e15  # that anybody has
_LEAST_SHARE = 1 / _MOST_ITEMS
_LARGEST_CONSTANT = 64  # that is added to a length: ``n + 1``


class Different(Exception):
    """Graphs that are not the same but for lengths; the text says where."""


def fit(values: Sequence[int], probes: Sequence[Probe]) -> int | None:
    """A number, or the simplest polynomial of the symbols that has these values at the probes.

    >>> from chainwright.ir.unify import fit
    >>> probes = [(3, 5), (7, 4), (2, 9)]
    >>> fit([8, 8, 8], probes), fit([6, 14, 4], probes), fit([15, 28, 18], probes)
    (8, (2 * size0), (size0 * size1))
    >>> fit([1, 2, 4], probes)
    """
    if len(set(values)) == 1:
        return values[0]
    for terms in _candidates(values, probes):
        made = Size(values[0], terms)
        if all(made.at(p) == v for v, p in zip(values, probes, strict=True)):
            return made
    return None


def _candidates(values: Sequence[int], probes: Sequence[Probe]) -> Iterator[Terms]:
    symbols = range(len(probes[0]))
    first, value = probes[0], values[0]
    if len(symbols) > FEW:
        yield from _of_many(values, probes)
        return
    products = _products(len(symbols))
    for product in products:
        whole = math.prod([first[k] for k in product])
        if whole and value % whole == 0:
            yield ((product, value // whole),)
        if len(product) == 1 and abs(value - whole) <= _LARGEST_CONSTANT:
            yield ((product, 1), ((), value - whole))
    for product in products:  # a x + b
        sizes = [math.prod([p[k] for k in product]) for p in probes]
        other = next((k for k, n in enumerate(sizes) if n != sizes[0]), None)
        if other is not None and (values[other] - value) % (sizes[other] - sizes[0]) == 0:
            slope = (values[other] - value) // (sizes[other] - sizes[0])
            if slope:
                yield ((product, slope), ((), value - slope * sizes[0]))
    if len(probes) > len(symbols) + 1:  # else some sum always fits
        rows = [(*probe, 1) for probe in probes]
        factors = np.linalg.lstsq(np.array(rows, float), np.array(values, float), rcond=None)[0]
        ends = [*((k,) for k in symbols), ()]
        found = [(end, round(x)) for end, x in zip(ends, factors.tolist(), strict=True)]
        yield tuple([(end, factor) for end, factor in found if factor])
    if len(probes) > _FOR_TWO:
        yield from _of_two(values, probes)


@functools.lru_cache(8)
def _runs(probes: tuple[Probe, ...]) -> tuple[np.ndarray, list[range]]:
    """Sums of symbols that follow each other, at all probes, and which these are."""
    rows, n = np.array(probes, np.int64), len(probes[0])
    sums, runs = list[np.ndarray](), list[range]()
    for stride in _STRIDES:
        for first in range(n):
            found = rows[:, first::stride].cumsum(axis=1)
            ends = range(found.shape[1])[stride > 1 :]  # one symbol is no sum with a stride
            sums.append(found[:, ends.start :])
            runs += [range(first, first + k * stride + 1, stride) for k in ends]
    return np.concatenate(sums, axis=1), runs


def _of_many(values: Sequence[int], probes: Sequence[Probe]) -> Iterator[Terms]:
    """Sums of symbols that follow each other, times a factor, and with a constant: what lists of
    arrays have of which each has another length."""
    sums, runs = _runs(tuple(map(tuple, probes)))
    given = np.array(values, np.int64)
    other = int(np.flatnonzero(given != given[0])[0])
    steps = sums[other] - sums[0]
    factors, rests = np.divmod(given[other] - given[0], np.where(steps == 0, 1, steps))
    fits = (steps != 0) & (rests == 0) & (factors != 0)
    fits &= (factors * sums + (given[0] - factors * sums[0]) == given[:, None]).all(axis=0)
    for k in np.flatnonzero(fits).tolist():
        factor, rest = int(factors[k]), int(given[0] - factors[k] * sums[0, k])
        terms = tuple([((symbol,), factor) for symbol in runs[k]])
        yield (*terms, ((), rest)) if rest else terms


def _of_two(values: Sequence[int], probes: Sequence[Probe]) -> Iterator[Terms]:
    """Sums of two products of symbols: ``a x + b x y``."""
    products = [p for p in _products(len(probes[0])) if len(p) < 3]
    columns = {p: [math.prod([probe[k] for k in p]) for probe in probes] for p in products}
    for one, other in itertools.combinations(products, 2):
        x, y = columns[one], columns[other]
        for k in range(1, len(probes)):
            d = x[0] * y[k] - x[k] * y[0]
            if d:
                a, rest = divmod(values[0] * y[k] - values[k] * y[0], d)
                b, more = divmod(x[0] * values[k] - x[k] * values[0], d)
                if a and b and not rest and not more:
                    yield ((one, a), (other, b))
                break


def fit_share(
    values: Sequence[float], probes: Sequence[Probe], kind: Callable[[float], float] = float
) -> float | None:
    """A number, or one that depends on a length and is then rounded to a ``kind``.

    One or minus one divided by a length, or anything that makes a variance unbiased.

    >>> from chainwright.ir.unify import fit_share
    >>> probes = [(7,), (3,), (20,)]
    >>> fit_share([1 / 14, 1 / 6, 1 / 40], probes), fit_share([14 / 13, 6 / 5, 40 / 39], probes)
    ((1.0 / (2 * size0)), (1.0 * ((2 * size0) / ((2 * size0) - 1))))
    """
    if len({v.hex() for v in values}) == 1:
        return values[0]
    for made in _shares(values, probes):
        if all(kind(made.at(p)) == v for v, p in zip(values, probes, strict=True)):
            return made
    return None


def _shares(values: Sequence[float], probes: Sequence[Probe]) -> Iterator[Share]:
    if not all([_LEAST_SHARE < abs(v) < math.inf for v in values]):
        return
    for factor in (1.0, -1.0):
        lengths = [round(factor / v) for v in values]
        size = None if 0 in lengths else fit(lengths, probes)
        if type(size) is Size:
            yield Share(factor, size)
    for product in _products(len(probes[0])):
        counts = [math.prod([p[k] for k in product]) for p in probes]
        by_count = dict(zip(counts, values, strict=True))
        if len(by_count) < 2:
            continue
        # The two of the smallest tell best: v / w = a (k b - 1) / (b (k a - 1)), with k a and k b
        # for n.
        (a, v), (b, w) = sorted(by_count.items())[:2]
        grows = a * b * (v / w - 1)
        times = (v / w * b - a) / grows if grows else 0.0
        if not 1 < times * a < _MOST_ITEMS:
            continue
        times = round(times)
        if times * a > 1:
            size = Size(times * counts[0], ((product, times),))
            factor = v / (times * a / (times * a - 1))
            for near in (factor, math.nextafter(factor, math.inf), math.nextafter(factor, 0.0)):
                yield Share(near, size, unbiased=True)


def _products(symbols: int) -> list[tuple[int, ...]]:
    """The products of up to three symbols, if there are few."""
    most = 3 if symbols <= FEW else 1
    return [
        p for n in range(1, most + 1)
        for p in itertools.combinations_with_replacement(range(symbols), n)]


def fit_value(
    values: Sequence[Any], probes: Sequence[Probe],
    fit: Callable[[Sequence[int], Sequence[Probe]], int | None] = fit,
) -> Any:
    """One nested value in the place of those at the probes.

    Raises:
        Different: If they differ in something else than lengths.

    >>> from chainwright.ir.unify import fit_value
    >>> fit_value([(3, None), (7, None)], [(3,), (7,)])
    (size0, None)
    """
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        raise Different(f"{first!r} has another type at other sizes")
    kind = type(first)
    if kind is slice:
        parts = [fit_value([getattr(v, n) for v in values], probes, fit) for n in _SLICE]
        return slice(*parts)
    if kind in (tuple, list):
        if any(len(value) != len(first) for value in values):
            raise Different(f"{first!r} has another length at other sizes")
        return kind([fit_value(v, probes, fit) for v in zip(*values, strict=True)])
    if kind is dict and all(value.keys() == first.keys() for value in values):
        return {name: fit_value([v[name] for v in values], probes, fit) for name in first}
    made = None
    if kind is int:
        made = fit(values, probes)
    elif kind is float:
        made = fit_share(values, probes)
    elif not isinstance(first, Box) and all(value == first for value in values):
        return first
    if made is None:
        raise Different(f"{[*values]} at the sizes {[*probes]}")
    return made


class Unified:
    """Graphs of any sizes, made of those recorded at several probes.

    Graphs that share nodes (a forward and its backwards) are unified one after the other by one
    of these.
    """

    def __init__(self, probes: Sequence[Probe]) -> None:
        if min(probes[0], default=2) < 2:
            raise Different("a length of the first probe is 1, of which the layout tells nothing")
        self._probes = probes
        self._made: dict[Node, Node] = {}
        self._partners: dict[Node, tuple[Node, ...]] = {}
        self._fitted: dict[tuple[int, ...], int | None] = {}
        self._counted: list[Node] = []  # nodes in the place of constants, for the present graph

    def graph(self, graphs: Sequence[Graph]) -> Graph:
        """The graph of any sizes of graphs that were recorded at the probes, in their order.

        Raises:
            Different: If they are not the same but for lengths.
        """
        first = graphs[0]
        for name in ("inputs", "nodes", "outputs"):
            if len({len(getattr(g, name)) for g in graphs}) > 1:
                raise Different(f"other {name} of {first.name} at other sizes")
        inputs = [self._node(nodes) for nodes in zip(*[g.inputs for g in graphs], strict=True)]
        nodes = [self._node(nodes) for nodes in zip(*[g.nodes for g in graphs], strict=True)]
        outputs = [self._node(nodes) for nodes in zip(*[g.outputs for g in graphs], strict=True)]
        counted, self._counted = self._counted, []
        return Graph(tuple(inputs), (*counted, *nodes), tuple(outputs), first.name)

    def _node(self, nodes: tuple[Node, ...]) -> Node:
        first = nodes[0]
        known = self._partners.get(first)
        if known is not None:
            if known != nodes:
                raise Different(f"{first!r} is another node at other sizes")
            return self._made[first]
        self._partners[first] = nodes
        made = self._made[first] = self._new(first, nodes)
        return made

    def _new(self, first: Node, nodes: tuple[Node, ...]) -> Node:
        self._same(first, "op", [n.op for n in nodes])
        self._same(first, "dtype", [n.dtype for n in nodes])
        self._same(first, "number of inputs", [len(n.inputs) for n in nodes])
        self._same(first, "layout", _layouts(nodes))
        if first.op == "constant":
            return self._constant(first, nodes)
        inputs = [self._node(xs) for xs in zip(*[n.inputs for n in nodes], strict=True)]
        self._same(first, "attributes", [tuple([name for name, _ in n.attrs]) for n in nodes])
        attrs = tuple([
            (pairs[0][0], self._value(first, [value for _, value in pairs]))
            for pairs in zip(*[n.attrs for n in nodes], strict=True)])
        shape = None if first.shape is None else self._value(first, [n.shape for n in nodes])
        made = Node(
            first.op, tuple(inputs), attrs, shape, first.dtype, first.strides, first.origin)
        if first.dtype is not None and first.strides and not is_dense(
                first.dims, first.steps, first.dtype.itemsize):
            with contextlib.suppress(Different):
                made.found[STRIDES] = self._value(first, [n.strides for n in nodes])
        return made

    def _constant(self, first: Node, nodes: tuple[Node, ...]) -> Node:
        arrays = [np.asarray(n.attr("box").value) for n in nodes]
        if all(a.shape == arrays[0].shape and a.tobytes() == arrays[0].tobytes() for a in arrays):
            return constant(first.attr("box").value, first.origin)
        if all(a.ndim == 1 and np.array_equal(a, np.arange(a.size, dtype=a.dtype)) for a in arrays):
            length = self._value(first, [a.size for a in arrays])
            return self._computed(first, np.arange, (length,), (length,))
        if (fill := _only_value(arrays)) is not None and is_contiguous(
                first.dims, first.steps, fill.itemsize):
            shape = self._value(first, [a.shape for a in arrays])
            return self._computed(first, np.full, (shape, fill.item()), shape)
        if all(a.ndim == 0 and a.dtype.kind == "f" for a in arrays):
            numbers, kind = [float(a) for a in arrays], arrays[0].dtype.type
            share = fit_share(numbers, self._probes, lambda x: float(kind(x)))
            if share is None and all(n.is_integer() for n in numbers):
                share = self._fit([int(n) for n in numbers], self._probes)
            if share is not None:
                return self._computed(first, np.asarray, (share,), ())
        shown = [a.shape if a.size > 1 else a.tolist() for a in arrays]
        raise Different(f"a constant of {first.origin}: {shown} at the sizes {[*self._probes]}")

    def _computed(self, first: Node, fn: Any, args: Any, shape: tuple[int, ...]) -> Node:
        """A call in the place of a constant that depends on sizes."""
        made = make(
            "call", fn=fn, args=freeze(args), kwargs=freeze({"dtype": first.dtype}),
            shape=shape, dtype=first.dtype, strides=first.strides, origin=first.origin)
        self._counted.append(made)
        return made

    def _same(self, node: Node, what: str, values: Sequence[Any]) -> None:
        if any(value != values[0] for value in values):
            raise Different(f"another {what} of {node!r} ({node.origin}) at other sizes")

    def _value(self, node: Node, values: Sequence[Any]) -> Any:
        try:
            return fit_value(values, self._probes, self._fit)
        except Different as e:
            raise Different(f"{node!r} of {node.origin}: {e}") from e

    def _fit(self, values: Sequence[int], probes: Sequence[Probe]) -> int | None:
        key = tuple(values)
        if key not in self._fitted:
            self._fitted[key] = fit(values, probes)
        return self._fitted[key]


def _only_value(arrays: Sequence[np.ndarray]) -> np.generic | None:
    """What all items of all arrays are, bit for bit; None if there is no such number."""
    items = {a[(0,) * a.ndim].tobytes() for a in arrays if a.size and a.dtype.kind in "biuf"}
    if len(items) != 1 or any([a.dtype != arrays[0].dtype or not a.size for a in arrays]):
        return None
    item, = items
    same = all([a.tobytes() == item * a.size for a in arrays])
    return np.frombuffer(item, arrays[0].dtype)[0] if same else None


def _layouts(nodes: Sequence[Node]) -> list[Hashable]:
    """What of the layouts of a value at the probes has to be the same.

    Axes of length one may have any stride, and an array with gaps has none where these are at
    axes of length one.
    """
    if any(n.shape is None or n.strides is None or n.dtype is None for n in nodes):
        return [None for _ in nodes]
    if all(map(_is_usual, nodes)):
        return [True for _ in nodes]
    first, dense = nodes[0], _is_dense(nodes[0])
    found = list[Hashable]()
    for n in nodes:
        both = zip(n.dims, first.dims, strict=False)
        axes = [k for k, (a, b) in enumerate(both) if a > 1 and b > 1]
        found.append(_layout(n, axes) == _layout(first, axes) and (_is_dense(n) or not dense))
    return found


def _is_usual(node: Node) -> bool:
    """Whether it is laid out as NumPy allocates arrays, and is not empty."""
    assert node.dtype is not None
    usual = is_contiguous(node.dims, node.steps, node.dtype.itemsize)
    return usual and 0 not in node.dims


def _layout(node: Node, axes: Sequence[int]) -> tuple[Hashable, ...]:
    order = tuple([axis for axis in order_of(node.steps) if axis in axes])
    signs = tuple([(node.steps[axis] > 0) - (node.steps[axis] < 0) for axis in axes])
    return len(node.dims), 0 in node.dims, order, signs


def _is_dense(node: Node) -> bool:
    assert node.dtype is not None
    long = [(n, step) for n, step in zip(node.dims, node.steps, strict=True) if n != 1]
    shape, strides = (tuple(part) for part in zip(*long, strict=True)) if long else ((), ())
    return is_dense(shape, strides, node.dtype.itemsize)


def with_sizes(graph: Graph, count: int, kind: str, first: int) -> Graph:
    """The graph with the symbols before its inputs: ``kind``, with indexes from ``first`` on."""
    symbols = tuple([
        make("placeholder", name=symbol(k), kind=kind, index=first + k if kind == "saved" else None,
             shape=(), dtype=np.dtype(np.intp), strides=())
        for k in range(count)])
    return Graph((*symbols, *graph.inputs), graph.nodes, graph.outputs, graph.name, graph.groups)
