"""Sums of a run of items in NumPy's order, as vectors: what stands for the loop of ``np.add``.

NumPy adds up a run in halves, until 128 items or fewer are left; of these eight sums go side by
side, which are then added up pairwise (Higham, "The accuracy of floating point summation", 1993).
Fewer than eight items are added up one after the other. NumPy's own loop takes any stride, so that
its eight sums are no vector. In: the arguments of such a loop, for one run. Out: the run is added
to the result. What may not happen: another order.
"""

from __future__ import annotations

from collections.abc import Sequence

from .driver import FLOATS, Function

SUM = "chainwright_sum"
_FEW = 8  # items of which so many sums are made side by side
_BLOCK = 128  # items that are not halved any more


def texts() -> Sequence[str]:
    """The functions of the module, which have the form of NumPy's loops."""
    return [text for letter in FLOATS for text in (_block(letter), _halves(letter), _sum(letter))]


def _block(letter: str) -> str:
    """The sum of 8 to 128 items."""
    lane, _ = FLOATS[letter]
    kind = f"<8 x {lane}>"
    f = Function(f"internal {lane} @block_{letter}(ptr %items, i64 %n)")
    sums, rest = f.array(kind, 1), f.array(lane, 1)

    def eight(k: str) -> str:
        start = f.get(f"getelementptr {kind}, ptr %items, i64 {k}")
        return f.get(f"load {kind}, ptr {start}, align 4")

    f.do(f"store {kind} {eight('0')}, ptr {sums}")
    eights = f.get("sdiv i64 %n, 8")
    with f.loop(f.add(eights, -1)) as k:
        more, so_far = eight(f.add(k, 1)), f.get(f"load {kind}, ptr {sums}")
        f.do(f"store {kind} {f.get(f'fadd {kind} {so_far}, {more}')}, ptr {sums}")
    total = f.get(f"load {kind}, ptr {sums}")
    for width in (8, 4, 2):
        halves = []
        for first in (0, 1):
            picked = ", ".join(f"i32 {k}" for k in range(first, width, 2))
            form = f"<{width} x {lane}>"
            mask = f"<{width // 2} x i32> <{picked}>"
            halves.append(f.get(f"shufflevector {form} {total}, {form} poison, {mask}"))
        total = f.get(f"fadd <{width // 2} x {lane}> {halves[0]}, {halves[1]}")
    f.do(f"store {lane} {f.get(f'extractelement <1 x {lane}> {total}, i32 0')}, ptr {rest}")
    done = f.mul(eights, 8)
    with f.loop(f.get(f"sub i64 %n, {done}")) as k:
        start = f.get(f"getelementptr {lane}, ptr %items, i64 {f.add(done, k)}")
        item, so_far = f.get(f"load {lane}, ptr {start}"), f.get(f"load {lane}, ptr {rest}")
        f.do(f"store {lane} {f.get(f'fadd {lane} {so_far}, {item}')}, ptr {rest}")
    return f.text(f"{lane} {f.get(f'load {lane}, ptr {rest}')}")


def _halves(letter: str) -> str:
    """The sum of any number of items."""
    lane, _ = FLOATS[letter]
    f = Function(f"internal {lane} @halves_{letter}(ptr %items, i64 %n)")
    result = f.array(lane, 1)
    few = f.get(f"icmp slt i64 %n, {_FEW}")
    with f.when(few):
        f.do(f"store {lane} -0.0, ptr {result}")
        with f.loop("%n") as k:
            start = f.get(f"getelementptr {lane}, ptr %items, i64 {k}")
            item, so_far = f.get(f"load {lane}, ptr {start}"), f.get(f"load {lane}, ptr {result}")
            f.do(f"store {lane} {f.get(f'fadd {lane} {so_far}, {item}')}, ptr {result}")
    f.leave(few, f"{lane} {f.get(f'load {lane}, ptr {result}')}")
    short = f.get(f"icmp sle i64 %n, {_BLOCK}")
    with f.when(short):
        found = f.call(f"@block_{letter}", "ptr %items, i64 %n", lane)
        f.do(f"store {lane} {found}, ptr {result}")
    with f.when(f.get(f"xor i1 {short}, true")):
        half = f.mul(f.get("sdiv i64 %n, 16"), 8)  # of eights, too
        behind = f.get(f"getelementptr {lane}, ptr %items, i64 {half}")
        one = f.call(f"@halves_{letter}", f"ptr %items, i64 {half}", lane)
        left = f.get(f"sub i64 %n, {half}")
        other = f.call(f"@halves_{letter}", f"ptr {behind}, i64 {left}", lane)
        f.do(f"store {lane} {f.get(f'fadd {lane} {one}, {other}')}, ptr {result}")
    return f.text(f"{lane} {f.get(f'load {lane}, ptr {result}')}")


def _sum(letter: str) -> str:
    """``out = first + sum(items)``: arguments out, items, out; their number first in ``n``."""
    lane, _ = FLOATS[letter]
    f = Function(f"void @{SUM}_{letter}(ptr %args, ptr %n, ptr %steps, ptr %data)")
    out, items = f.item("%args", 0, "ptr"), f.item("%args", 1, "ptr")
    found = f.call(f"@halves_{letter}", f"ptr {items}, i64 {f.item('%n', 0)}", lane)
    first = f.get(f"load {lane}, ptr {out}")
    f.do(f"store {lane} {f.get(f'fadd {lane} {first}, {found}')}, ptr {out}")
    return f.text()
