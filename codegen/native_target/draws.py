"""Random numbers in native code: those of NumPy's ``MT19937``, straight from its state.

``np.random.rand`` asks the generator for one number after the other. Here a whole block of the
generator's words is made at once, in loops that LLVM turns into vectors, and what is wanted of the
numbers is all that is written: the mask of a dropout. The state afterwards is NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence

from .driver import FLOATS, Function

KEEP = "chainwright_keep"
_WORDS, _NEAR, _FAR = 624, 397, 624 - 397
_BLOCK = 312  # numbers at a time: two words each


def texts() -> Sequence[str]:
    """The functions, by the type of the mask: ``f(state, mask, n, ratio, scale)``."""
    return [_twist(), _fill(), *map(_keep, FLOATS)]


def _twist() -> str:
    """The next block of words."""
    f = Function("internal void @twist(ptr %key)")

    def at(place: str) -> str:
        return f.get(f"getelementptr i32, ptr %key, i64 {place}")

    def mix(here: str, after: str, other: str) -> None:
        high = f.get(f"and i32 {f.get(f'load i32, ptr {at(here)}')}, -2147483648")
        following = f.get(f"load i32, ptr {at(after)}")
        y = f.get(f"or i32 {high}, {f.get(f'and i32 {following}, 2147483647')}")
        odd = f.get(f"sub i32 0, {f.get(f'and i32 {following}, 1')}")
        word = f.get(f"xor i32 {f.get(f'load i32, ptr {at(other)}')}, {f.get(f'lshr i32 {y}, 1')}")
        word = f.get(f"xor i32 {word}, {f.get(f'and i32 {odd}, -1727483681')}")
        f.do(f"store i32 {word}, ptr {at(here)}")

    with f.loop(str(_FAR)) as i:
        mix(i, f.add(i, 1), f.add(i, _NEAR))
    with f.loop(str(_WORDS - 1 - _FAR)) as i:
        k = f.add(i, _FAR)
        mix(k, f.add(k, 1), i)
    mix(str(_WORDS - 1), "0", str(_NEAR - 1))
    return f.text()


def _fill() -> str:
    """Store the next ``n`` words of a generator."""
    f = Function("internal void @fill(ptr %state, ptr %words, i64 %n)")
    position = f.moved("%state", 4 * _WORDS)
    done = f.variable()
    blocks = f.add(f.get(f"sdiv i64 %n, {_WORDS}"), 2)
    with f.loop(blocks):
        start = f.get(f"sext i32 {f.get(f'load i32, ptr {position}')} to i64")
        with f.when(f.get(f"icmp slt i64 {f.value(done)}, %n")):
            used = f.variable(start)
            with f.when(f.get(f"icmp sge i64 {start}, {_WORDS}")):
                f.call("@twist", "ptr %state")
                f.set(used, "0")
            first, given = f.value(used), f.value(done)
            left = f.get(f"sub i64 %n, {given}")
            count = f.less(left, f.get(f"sub i64 {_WORDS}, {first}"))
            with f.loop(count) as i:
                word = f.get(f"getelementptr i32, ptr %state, i64 {f.add(first, i)}")
                y = f.get(f"load i32, ptr {word}")
                y = f.get(f"xor i32 {y}, {f.get(f'lshr i32 {y}, 11')}")
                for shift, mask in ((7, -1658038656), (15, -272236544)):
                    moved = f.get(f"shl i32 {y}, {shift}")
                    y = f.get(f"xor i32 {y}, {f.get(f'and i32 {moved}, {mask}')}")
                y = f.get(f"xor i32 {y}, {f.get(f'lshr i32 {y}, 18')}")
                place = f.get(f"getelementptr i32, ptr %words, i64 {f.add(given, i)}")
                f.do(f"store i32 {y}, ptr {place}")
            f.set(done, f.add(given, count))
            end = f.get(f"trunc i64 {f.add(first, count)} to i32")
            f.do(f"store i32 {end}, ptr {position}")
    return f.text()


def _keep(letter: str) -> str:
    """``mask = scale if number >= ratio else 0``, for ``n`` numbers from 0 to 1."""
    kind, _ = FLOATS[letter]
    head = "ptr noalias %state, ptr noalias %mask, i64 %n, double %ratio, double %scale"
    f = Function(f"i64 @{KEEP}_{letter}({head})")
    words = f.array("i32", 2 * _BLOCK)
    scale = "%scale" if letter == "d" else f.get("fptrunc double %scale to float")
    blocks = f.get(f"sdiv i64 {f.add('%n', _BLOCK - 1)}, {_BLOCK}")
    with f.loop(blocks) as b:
        first = f.mul(b, _BLOCK)
        count = f.less(str(_BLOCK), f.get(f"sub i64 %n, {first}"))
        f.call("@fill", f"ptr %state, ptr {words}, i64 {f.mul(count, 2)}")
        with f.loop(count) as i:
            parts = []
            for k, drop in enumerate((5, 6)):
                at = f.get(f"getelementptr i32, ptr {words}, i64 {f.add(f.mul(i, 2), k)}")
                word = f.get(f"lshr i32 {f.get(f'load i32, ptr {at}')}, {drop}")
                parts.append(f.get(f"sitofp i32 {word} to double"))
            high = f.get(f"fmul double {parts[0]}, 67108864.0")
            number = f.get(f"fdiv double {f.get(f'fadd double {high}, {parts[1]}')}, {_UNIT}")
            kept = f.get(f"fcmp oge double {number}, %ratio")
            value = f.get(f"select i1 {kept}, {kind} {scale}, {kind} 0.0")
            place = f.get(f"getelementptr {kind}, ptr %mask, i64 {f.add(first, i)}")
            f.do(f"store {kind} {value}, ptr {place}")
    return f.text("i64 0")


_UNIT = "9007199254740992.0"  # 2 ** 53
