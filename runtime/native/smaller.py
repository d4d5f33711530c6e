"""Layouts of few elements that stand for larger ones, where rules about NumPy are tested.

NumPy chooses the way of a product or a sum by strides: which axis is contiguous, which axes are one
run, which rows have gaps between them. All of these stay as they are; only axes become shorter.
"""

from __future__ import annotations

from chainwright.codegen.native_target.steps import Ints, Product, Reduction
from chainwright.ir.layout import extent

_BYTES = 1 << 23  # that all arrays of a test may span
#: Kinds of axes: those that products are looped over, those of their matrices, and those of sums.
_OUTER, _INNER, _SUMMED = range(3)
#: What they keep: sums of few numbers agree by chance.
_LEAST = {_OUTER: 4, _INNER: 256, _SUMMED: 16}

Layout = tuple[Ints, Ints]  # shape and strides
Name = tuple[int, int]  # of axes that have one length: their kind, and a number


def smaller_product(form: Product) -> Product:
    """A product of the same kind that spans at most 8 MiB, where there is one.

    Lengths that are equal stay so. Outer axes become short first, then the longest of a matrix.
    """
    ndims = [len(shape) for shape in form.shapes]
    cores = min(2, ndims[0]), min(2, ndims[1]), (ndims[0] > 1) + (ndims[1] > 1)

    def names(part: int) -> list[Name]:
        """By their places, from the last on; those of matrices by their lengths."""
        shape = form.shapes[part]
        outer = len(shape) - cores[part]
        return [(_OUTER, k - outer) if k < outer else (_INNER, n) for k, n in enumerate(shape)]

    layouts = list(zip(form.shapes, form.strides, strict=True))
    a, b, c = _smaller(layouts, [names(k) for k in range(3)], form.dtype.itemsize)
    return form._replace(shapes=(a[0], b[0], c[0]), strides=(a[1], b[1], c[1]))


def smaller_reduction(form: Reduction) -> Reduction:
    """A reduction of the same kind that spans at most 8 MiB, where there is one."""
    names = [(_SUMMED, k) for k in range(len(form.shape))]
    layouts = [(form.shape, form.strides), (form.shape, form.out)]
    x, out = _smaller(layouts, [names, names], form.dtype.itemsize)
    return form._replace(shape=x[0], strides=x[1], out=out[1])


def _smaller(layouts: list[Layout], names: list[list[Name]], itemsize: int) -> list[Layout]:
    """Layouts whose axes become shorter together where they have one name."""
    lengths: dict[Name, int] = {}
    for (shape, _), called in zip(layouts, names, strict=True):
        lengths.update({name: n for name, n in zip(called, shape, strict=True) if n != 1})
    found = layouts
    while sum([extent(*layout, itemsize)[0] for layout in found]) > _BYTES:
        long = [name for name, n in lengths.items() if n > _LEAST[name[0]]]
        if not long:
            break
        name = min(long, key=lambda name: (name[0], -lengths[name]))
        lengths[name] -= lengths[name] // 2
        found = [
            _shortened(layout, [1 if n == 1 else lengths[name] for n, name in zip(
                layout[0], called, strict=True)], itemsize)
            for layout, called in zip(layouts, names, strict=True)
        ]
    return found


def _shortened(layout: Layout, lengths: list[int], itemsize: int) -> Layout:
    """The same layout with axes of other lengths; gaps between runs stay as many bytes."""
    shape, strides = layout
    steps = list(strides)
    run = short = 0  # bytes of the axes inside, before and after
    for k in sorted(range(len(shape)), key=lambda k: (abs(strides[k]), shape[k])):
        step = abs(strides[k])
        if not step:
            continue
        if step >= run:
            new = short + step - run
        else:  # windows that overlap, or an axis of length 1
            new = max(step * short // run // itemsize * itemsize, itemsize)
        run, short = step * shape[k], new * lengths[k]
        steps[k] = new if strides[k] > 0 else -new
    return tuple(lengths), tuple(steps)
