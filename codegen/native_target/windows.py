"""Windows of images in native code: values go to the places that indexes name.

In: an array of results of pooling, and of each the index of its place in its window. Out: the
function that adds each value onto that place of the image, or stores it there, in the order in
which NumPy does it. An index out of bounds ends the step with a word for the driver.
"""

from __future__ import annotations

from collections.abc import Sequence

from .driver import FAILED, FLOATS, Function

Ints = tuple[int, ...]
SCATTER = "chainwright_scatter"
AXES = 3
_HEAD = 3 + 4 * AXES  # images, places in a window, whether to add; sizes, strides, pads, windows


def scatter_table(
    images: int, adds: bool, ksize: Ints, outsize: Ints, shape: Ints, stride: Ints, pad: Ints
) -> Ints:
    """The table of the function; every setting has one number for each of up to three axes."""
    missing = AXES - len(ksize)
    ones, zeros = (1,) * missing, (0,) * missing
    places = [()]
    for k in (*ones, *ksize):
        places = [(*p, i) for p in places for i in range(k)]
    head = (images, len(places), int(adds), *ones, *shape, *ones, *stride, *zeros, *pad)
    return (*head, *ones, *outsize, *(i for p in places for i in p))


def texts() -> Sequence[str]:
    """The functions of the module, for the driver's module."""
    return list(map(_scatter, FLOATS))


def _scatter(letter: str) -> str:
    kind, size = FLOATS[letter]
    f = Function(f"void @{SCATTER}_{letter}(ptr %args, ptr %table, i64 %rows)")
    target, values, indexes = (f.item("%args", k, "ptr") for k in range(3))
    images, places, adds = (f.item("%table", k) for k in range(3))
    groups = [[f.item("%table", 3 + AXES * g + a) for a in range(AXES)] for g in range(4)]
    shape, stride, pad, out = groups
    known = f.at("%table", _HEAD)
    area = f.mul(f.mul(shape[0], shape[1]), shape[2])
    adding = f.get(f"icmp ne i64 {adds}, 0")
    at = f.variable()
    with f.loop(images) as b, f.loop(out[0]) as i, f.loop(out[1]) as j, f.loop(out[2]) as k:
        n = f.value(at)
        f.set(at, f.add(n, 1))
        index = f.item(indexes, n)
        wrong = f.get(f"icmp uge i64 {index}, {places}")
        with f.when(wrong):
            f.do(f"store i64 1, ptr {f.item('%args', FAILED, 'ptr')}")
        f.leave(wrong, "void")
        place = f.at(known, f.mul(index, AXES))
        position, inside = f.mul(b, area), "true"
        step = area
        for a, x in enumerate((i, j, k)):
            first = f.get(f"sub i64 {f.mul(x, stride[a])}, {pad[a]}")
            here = f.add(first, f.item(place, a))
            fits = f.get(f"icmp ult i64 {here}, {shape[a]}")
            inside = f.get(f"and i1 {inside}, {fits}")
            step = f.mul(shape[1], shape[2]) if a == 0 else shape[2] if a == 1 else "1"
            position = f.add(position, f.mul(here, step))
        with f.when(inside):
            to = f.moved(target, f.mul(position, size))
            value = f.get(f"load {kind}, ptr {f.moved(values, f.mul(n, size))}")
            total = f.get(f"fadd {kind} {f.get(f'load {kind}, ptr {to}')}, {value}")
            chosen = f.get(f"select i1 {adding}, {kind} {total}, {kind} {value}")
            f.do(f"store {kind} {chosen}, ptr {to}")
    return f.text()
