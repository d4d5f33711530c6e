"""Convolutions in native code: the blocks of images and the products of the NumPy kernels.

Each function here is the native form of one in :mod:`chainwright.runtime.kernels.convolution`: the
same products of the same layouts in the same order, so that the bits are the same; copying windows
is a loop of native code, and there is no Python between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from chainwright.codegen.native_target.library import (
    LIBRARY,
    Work,
    add_step,
    arrays_of,
    copy_step,
    dense,
    product_step,
    settings_of,
    zero_step,
)
from chainwright.codegen.native_target.matmul import product_region, product_walk
from chainwright.codegen.native_target.steps import Ints, Machine, Place, Product, Region, Step
from chainwright.ir import Node
from chainwright.ir.layout import is_contiguous

from ..kernels import convolution as kernels
from ..kernels import products
from ..kernels.windows import offsets, reach
from ..options import OPTIONS
from .products import Parts, own_products, places_of, region_of, steps_of

#: Blocks of images whose products are shared among threads one by one: each is some steps.
_MOST_ALONE = 1 << 10


class Settings(NamedTuple):
    stride: Ints
    pad: Ints
    dilate: Ints
    groups: int


def _plain(x: Node) -> bool:
    assert x.dtype is not None
    return is_contiguous(x.dims, x.steps, x.dtype.itemsize)


def _taken(node: Node) -> tuple[Node, Node, Settings, dict[str, Any]] | None:
    """Both arrays and the settings; None for types and layouts that are left to NumPy."""
    arrays = arrays_of(node)
    if arrays is None or len(arrays) < 2:
        return None
    a, b = arrays[:2]
    numbers = np.dtype(np.float32), np.dtype(np.float64)
    if node.dtype not in numbers or a.dtype != node.dtype or b.dtype != node.dtype:
        return None
    if not all(x.size and _plain(x) for x in (node, a, b)):
        return None
    given: dict[str, Any] = settings_of(node)
    settings = Settings(*(given[name] for name in Settings._fields))
    return a, b, settings, given


class Multiplied(NamedTuple):
    """A product of some images: a step of NumPy's, or those of our own code."""

    form: Product
    places: tuple[Place, Place, Place]


def own_parts(form: Product) -> Parts | None:
    """The functions for a product that is our own in define-by-run; None where it is NumPy's."""
    found = own_products()
    if found is None or not products.are_few(*form.shapes[:2]):
        return None
    return found.parts(form)


class Writer:
    """Collects regions; ``memory`` are shapes until :meth:`place` knows the nodes."""

    def __init__(self, node: Node, machine: Machine) -> None:
        assert node.dtype is not None
        self.node, self.machine, self.dtype = node, machine, node.dtype
        self.size, self.origin = node.dtype.itemsize, str(node.origin or "")
        self.memory: list[Ints] = []
        self.products: dict[Product, Parts | None] = {}

    def room(self, *shape: int) -> int:
        """Memory of this shape, by its number."""
        self.memory.append(shape)
        return len(self.memory) - 1

    def product(
        self, shapes: tuple[Ints, Ints, Ints], strides: tuple[Ints, Ints, Ints]
    ) -> Product:
        form = Product("matmul", self.dtype, shapes, strides, False)
        self.products[form] = own_parts(form)
        return form

    def fits(self) -> bool:
        """Whether all products are our own, or single calls that give NumPy's bits."""
        for form, parts in self.products.items():
            walk = product_walk(form)
            if parts is None and (
                walk is None or walk.calls != 1 or not self.machine.multiplies(form)
            ):
                return False
        return True

    def whole(
        self, shapes: tuple[Ints, Ints, Ints], strides: tuple[Ints, Ints, Ints]
    ) -> Callable[[Node, Node, Node], list[Region]] | None:
        """A function that gives the regions of one product of whole arrays; None for NumPy's."""
        form = self.product(shapes, strides)
        parts = self.products[form]
        if parts is not None:
            return lambda a, b, c: [region_of(form, parts, places_of(a, b, c), self.origin)]
        if product_walk(form) is None or not self.machine.multiplies(form):
            return None
        return lambda *nodes: [product_region(form, nodes, self.origin)]

    def regions(self, count: int, steps: Sequence[Step | Multiplied]) -> list[Region]:
        """What is done for each of some blocks of images.

        Several threads share the columns of a product of our own: then each stands alone.
        """
        own = [s for s in steps if isinstance(s, Multiplied) and self.products[s.form]]
        if not own or OPTIONS.threads() == 1 or count > _MOST_ALONE:
            every = [step for s in steps for step in self._steps(s)]
            return [Region(count, 1, tuple(every))]
        return [self._alone(s, block) for block in range(count) for s in steps]

    def _steps(self, step: Step | Multiplied) -> list[Step]:
        if isinstance(step, Step):
            return [step]
        parts = self.products[step.form]
        if parts is None:
            return [product_step(step.form, step.places, self.origin)]
        return steps_of(step.form, parts, step.places, self.origin)

    def _alone(self, step: Step | Multiplied, block: int) -> Region:
        """A step, or the steps of a product, for one block of images."""

        def moved(p: Place) -> Place:
            return Place(p.value, p.offset + block * p.row_step, 0)

        if isinstance(step, Multiplied):
            one, other, result = map(moved, step.places)
            parts = self.products[step.form]
            if parts is not None:
                return region_of(step.form, parts, (one, other, result), self.origin)
            return Region(1, 1, (product_step(step.form, (one, other, result), self.origin),))
        return Region(1, 1, (replace(step, operands=tuple(map(moved, step.operands))),))

    def copy(self, dims: Ints, source: Place, steps: Ints, target: Place, to: Ints) -> Step:
        return copy_step(dims, self.dtype, source, steps, target, to, self.origin)


def _dense(shapes: tuple[Ints, Ints, Ints], size: int) -> tuple[Ints, Ints, Ints]:
    a, b, c = shapes
    return dense(a, size), dense(b, size), dense(c, size)


def _blocks(n: int, count: int) -> list[tuple[int, int, int]]:
    """Blocks of images: the first image, how many blocks of one size, and that size."""
    whole, rest = divmod(n, count)
    found = [(0, whole, count)] if whole else []
    return [*found, (whole * count, 1, rest)] if rest else found


class Windows:
    """Windows of images, which are padded first where they have to be, some images at a time."""

    def __init__(
        self, w: Writer, shape: Ints, ksize: Ints, outsize: Ints, s: Settings, most: int
    ) -> None:
        _, c, *spatial = shape
        self.w, self.s, self.ksize, self.outsize = w, s, ksize, outsize
        self.spatial, self.c = tuple(spatial), c
        lengths = reach(outsize, ksize, s.stride, s.dilate)
        pairs = zip(lengths, s.pad, self.spatial, strict=True)
        self.lengths = tuple(max(length, p + n) for length, p, n in pairs)
        self.padded = self.lengths != self.spatial
        self.room = w.room(most, c, *self.lengths) if self.padded else -1
        self.most = most

    def start(self, nodes: Sequence[Node]) -> list[Region]:
        """What is done once: zeros around the images."""
        if not self.padded:
            return []
        shape = (self.most, self.c, *self.lengths)
        target = Place(nodes[self.room], 0, 0)
        step = zero_step(shape, self.w.dtype, target, dense(shape, self.w.size), self.w.origin)
        return [Region(1, 1, (step,))]

    def steps(
        self, nodes: Sequence[Node], images: Place, count: int, columns: Place
    ) -> list[Step | Multiplied]:
        """Copy the windows of ``count`` images to columns: (c, *ksize, count, *outsize)."""
        w, s = self.w, self.s
        found: list[Step | Multiplied] = []
        inner = dense((self.c, *self.spatial), w.size)
        each = self.c * math.prod(self.spatial) * w.size
        if self.padded:
            field = dense((count, self.c, *self.lengths), w.size)
            place = sum(p * step for p, step in zip(s.pad, field[2:], strict=True))
            target = Place(nodes[self.room], place, 0)
            dims = (count, self.c, *self.spatial)
            found.append(w.copy(dims, images, (each, *inner), target, field))
            images = Place(nodes[self.room], 0, 0)
        else:
            field = (each, *inner)
        within = tuple(d * step for d, step in zip(s.dilate, field[2:], strict=True))
        across = tuple(d * step for d, step in zip(s.stride, field[2:], strict=True))
        dims = (self.c, *self.ksize, count, *self.outsize)
        walk = (field[1], *within, field[0], *across)
        found.append(w.copy(dims, images, walk, columns, dense(dims, w.size)))
        return found


def _is_dense_layer(n: int, pixels: int) -> bool:
    """Whether a product of whole images does it, without columns: NumPy's kernel has views."""
    return n > 1 and pixels == 1


def _forward(w: Writer, x: Node, W: Node, y: Node, s: Settings, nodes_of: Any) -> Any:
    """``y = convolution(x, W)``; None, or a function from the memory to regions."""
    n, c, *_ = x.dims
    co, ksize, outsize = y.dims[1], W.dims[2:], y.dims[2:]
    g, size = s.groups, math.prod(outsize)
    height = c * math.prod(ksize)
    filters = (g, co // g, height // g)
    if kernels._is_pointwise(ksize, s.stride, s.pad) and x.dims[2:] == outsize:
        shapes = filters, (n, g, c // g, size), (n, g, co // g, size)
        whole = w.whole(shapes, _dense(shapes, w.size))
        return None if whole is None else lambda nodes: whole(nodes_of(nodes, W), x, y)
    if _is_dense_layer(n, size):
        return None
    count = kernels._images_per_block(n, outsize)
    rows, row_size = outsize[0], math.prod(outsize[1:])
    if count == 1 and kernels._rows_per_block(rows, row_size, height, w.size) < rows:
        return None
    windows = Windows(w, x.dims, ksize, outsize, s, count)
    columns = w.room(height * count * size)
    result = w.room(co * count * size) if count > 1 else -1
    forms = {}
    for _, _, some in _blocks(n, count):
        shapes = filters, (g, height // g, some * size), (g, co // g, some * size)
        forms[some] = w.product(shapes, _dense(shapes, w.size))
    if not w.fits():
        return None

    def regions(nodes: Sequence[Node]) -> list[Region]:
        found = windows.start(nodes)
        for first, blocks, some in _blocks(n, count):
            each = x.steps[0], y.steps[0]
            images = Place(x, first * each[0], some * each[0])
            out = Place(y, first * each[1], some * each[1])
            held = Place(nodes[columns], 0, 0)
            steps: list[Step | Multiplied] = windows.steps(nodes, images, some, held)
            made = out if count == 1 else Place(nodes[result], 0, 0)
            places = Place(nodes_of(nodes, W), 0, 0), held, made
            steps.append(Multiplied(forms[some], places))
            if count > 1:
                a, *rest = dense((co, some, *outsize), w.size)
                dims = (some, co, *outsize)
                steps.append(w.copy(dims, made, (rest[0], a, *rest[1:]), out, y.steps))
            found += w.regions(blocks, steps)
        return found

    return regions


def _itself(nodes: Sequence[Node], x: Node) -> Node:
    return x


def convolution(node: Node, machine: Machine) -> Work | None:
    taken = _taken(node)
    if taken is None:
        return None
    x, W, s, _ = taken
    w = Writer(node, machine)
    regions = _forward(w, x, W, node, s, _itself)
    return None if regions is None else Work(tuple(w.memory), regions)


def convolution_transpose(node: Node, machine: Machine) -> Work | None:
    taken = _taken(node)
    if taken is None:
        return None
    y, W, s, _ = taken
    n, co = y.dims[:2]
    spatial, ksize, outsize = y.dims[2:], W.dims[2:], node.dims[2:]
    g, c = s.groups, W.dims[1] * s.groups
    w = Writer(node, machine)
    filters = (g, c // g * math.prod(ksize), co // g)
    a, b, d = dense((g, co // g, filters[1]), w.size)
    turned = a, d, b
    if kernels._is_pointwise(ksize, s.stride, s.pad) and spatial == outsize:
        size = math.prod(spatial)
        shapes = filters, (n, g, co // g, size), (n, g, c // g, size)
        strides = turned, dense(shapes[1], w.size), dense(shapes[2], w.size)
        whole = w.whole(shapes, strides)
        return None if whole is None else Work((), lambda nodes: whole(W, y, node))
    if kernels._prefers_flipping(c, co, ksize, s.stride, s.pad, s.dilate):
        return _flipped(w, y, W, node, s)
    return _spread(w, y, W, node, s, filters, turned)


def _flipped(w: Writer, y: Node, W: Node, node: Node, s: Settings) -> Work | None:
    """With stride one the adjoint is a convolution with the mirrored filters."""
    co, per_group, *ksize = W.dims
    g = s.groups
    shape = (g * per_group, co // g, *ksize)
    room = w.room(*shape)
    mirrored = Node("empty", (), (), shape, w.dtype, dense(shape, w.size))
    pairs = zip(s.dilate, ksize, s.pad, strict=True)
    rest = Settings((1,) * len(ksize), tuple(d * (k - 1) - p for d, k, p in pairs), s.dilate, g)
    inner = _forward(w, y, mirrored, node, rest, lambda nodes, W: nodes[room])
    if inner is None:
        return None
    dims = (g, co // g, per_group, *ksize)
    steps = dense(dims, w.size)
    last = sum((k - 1) * step for k, step in zip(ksize, steps[3:], strict=True))
    source = (*steps[:3], *(-step for step in steps[3:]))
    a, b, c, *others = dense((g, per_group, co // g, *ksize), w.size)

    def regions(nodes: Sequence[Node]) -> list[Region]:
        target = Place(nodes[room], 0, 0)
        copy = w.copy(dims, Place(W, last, 0), source, target, (a, c, b, *others))
        return [Region(1, 1, (copy,)), *inner(nodes)]

    return Work(tuple(w.memory), regions)


def _spread(
    w: Writer, y: Node, W: Node, node: Node, s: Settings, filters: Ints, turned: Ints
) -> Work | None:
    """Add up the columns of each block of images where they overlap."""
    n, co, *rest = y.dims
    spatial, ksize, outsize = tuple(rest), W.dims[2:], node.dims[2:]
    g, c = s.groups, node.dims[1]
    lengths = reach(spatial, ksize, s.stride, s.dilate)
    triples = zip(lengths, s.pad, outsize, strict=True)
    lengths = tuple(max(length, p + o) for length, p, o in triples)
    cropped = lengths != outsize
    height, size = c * math.prod(ksize), math.prod(spatial)
    if _is_dense_layer(n, size):
        return None
    count = min(kernels._images_per_buffer(n, spatial, height, w.size), n)
    field = w.room(n, c, *lengths) if cropped else -1
    values = w.room(co * count * size) if count > 1 else -1
    columns = w.room(height * count * size)
    forms = {}
    for _, _, some in _blocks(n, count):
        shapes = filters, (g, co // g, some * size), (g, filters[1], some * size)
        strides = turned, dense(shapes[1], w.size), dense(shapes[2], w.size)
        forms[some] = w.product(shapes, strides)
    if not w.fits():
        return None

    def regions(nodes: Sequence[Node]) -> list[Region]:
        whole = (n, c, *lengths)
        to = dense(whole, w.size)
        goal = nodes[field] if cropped else node
        zero = zero_step(whole, w.dtype, Place(goal, 0, 0), to, w.origin)
        found = [Region(1, 1, (zero,))]
        for first, blocks, some in _blocks(n, count):
            images = Place(y, first * y.steps[0], some * y.steps[0])
            steps: list[Step | Multiplied] = []
            if count > 1:
                a, *others = dense((co, some, *spatial), w.size)
                held = Place(nodes[values], 0, 0)
                dims = (some, co, *spatial)
                steps.append(w.copy(dims, images, y.steps, held, (others[0], a, *others[1:])))
                images = held
            made = Place(nodes[columns], 0, 0)
            steps.append(Multiplied(forms[some], (Place(W, 0, 0), images, made)))
            dims = (some, c, *spatial)
            target = Place(goal, first * to[0], some * to[0])
            steps += _columns_added(w, s, ksize, dims, nodes[columns], target, to)
            found += w.regions(blocks, steps)
        if cropped:
            at = sum(p * b for p, b in zip(s.pad, to[2:], strict=True))
            copy = w.copy(node.dims, Place(goal, at, 0), to, Place(node, 0, 0), node.steps)
            found.append(Region(1, 1, (copy,)))
        return found

    return Work(tuple(w.memory), regions)


def _columns_added(
    w: Writer, s: Settings, ksize: Ints, dims: Ints, columns: Node, target: Place, to: Ints
) -> list[Step]:
    """Add the columns of some images to where each place of the kernel lies in the ``target``.

    ``dims``: images, channels, positions of the kernel; ``to``: strides of the target.
    """
    some, c, *spatial = dims
    walk, k = dense((c, *ksize, some, *spatial), w.size), len(ksize)
    source = (walk[1 + k], walk[0], *walk[2 + k :])
    goal = (*to[:2], *[a * b for a, b in zip(s.stride, to[2:], strict=True)])
    steps = []
    for offset in offsets(ksize):
        at = sum(o * b for o, b in zip(offset, walk[1 : 1 + k], strict=True))
        there = sum(o * d * b for o, d, b in zip(offset, s.dilate, to[2:], strict=True))
        here = target._replace(offset=target.offset + there)
        steps.append(
            add_step(dims, w.dtype, Place(columns, at, 0), source, here, goal, w.origin)
        )
    return steps


def convolution_weight(node: Node, machine: Machine) -> Work | None:
    taken = _taken(node)
    if taken is None:
        return None
    x, gy, s, given = taken
    w = Writer(node, machine)
    n, c = x.dims[:2]
    co, outsize, ksize = gy.dims[1], gy.dims[2:], given["ksize"]
    g, size = s.groups, math.prod(outsize)
    height = c * math.prod(ksize)
    if _is_dense_layer(n, size):
        return None
    count = min(kernels._images_per_buffer(n, outsize, height, w.size), n)
    windows = Windows(w, x.dims, ksize, outsize, s, count)
    columns, total = w.room(height * count * size), w.room(co * height // g)
    values = w.room(co * count * size) if count > 1 else -1
    shape = (g, co // g, height // g)
    forms = {}
    for _, _, some in _blocks(n, count):
        a, b, d = dense((g, height // g, some * size), w.size)
        left = (g, co // g, some * size)
        shapes = left, (g, some * size, height // g), shape
        forms[some] = w.product(shapes, (dense(left, w.size), (a, d, b), dense(shape, w.size)))
    if not w.fits():
        return None

    def regions(nodes: Sequence[Node]) -> list[Region]:
        flat = (node.size,), w.dtype
        sum_, one = Place(node, 0, 0), (w.size,)
        found = [Region(1, 1, (zero_step(*flat, sum_, one, w.origin),)), *windows.start(nodes)]
        for first, blocks, some in _blocks(n, count):
            images = Place(x, first * x.steps[0], some * x.steps[0])
            grads = Place(gy, first * gy.steps[0], some * gy.steps[0])
            held, made = Place(nodes[columns], 0, 0), Place(nodes[total], 0, 0)
            steps: list[Step | Multiplied] = windows.steps(nodes, images, some, held)
            if count > 1:
                a, *others = dense((co, some, *outsize), w.size)
                target, dims = Place(nodes[values], 0, 0), (some, co, *outsize)
                to = (others[0], a, *others[1:])
                steps.append(w.copy(dims, grads, gy.steps, target, to))
                grads = target
            steps.append(Multiplied(forms[some], (grads, held, made)))
            steps.append(add_step(*flat, made, one, sum_, one, w.origin))
            found += w.regions(blocks, steps)
        return found

    return Work(tuple(w.memory), regions)


LIBRARY.update(
    convolution=convolution,
    convolution_transpose=convolution_transpose,
    convolution_weight=convolution_weight,
)
