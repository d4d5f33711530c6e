"""Matrix products of our own, as LLVM IR text: blocks of the result that stay in registers.

A :class:`Form` is one function, a step of a program: it makes some columns of ``c = a b``, for
some rows of ``a``, a block of ``height`` rows by ``width`` at a time. There are two ways:

* ``inner``: the rows of ``a`` and the columns of ``b`` each lie in one run. Every item of the
  result has a vector of sums, one for each lane, that are added up pairwise at the end.
* ``outer``: the rows of ``b`` lie in one run; ``a`` may lie in any way. Every item is a sum in the
  order of the inner index, which starts anew after ``DEPTH`` of them.
* ``added``: products of the way ``outer``, with ``DEPTH`` inner indices at most, are added up one
  after the other, as gradients of a matrix that is used many times are. Blocks of the result stay
  in caches; by themselves such products are large, and would each go to memory and back.

So an item depends on its row, its column and the number of lanes, and on nothing else: neither on
the other rows nor on who computes which columns. Sums and products are joined (FMA).

>>> Form("inner", "f", 16, 4, 6).name
'chainwright_product_inner_f_16_4_6'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .driver import FAILED, FLOATS, Function

PREFIX = "chainwright_product_"
DEPTH = 64  # few enough that a block of b has long rows, which large strides ask for
INNER, OUTER, ADDED = "inner", "outer", "added"
#: The table of a step: lengths of the rows of this step, of the inner index, and of the columns;
#: bytes between rows and between inner indices of ``a``; between those of ``b``; rows of ``c``.
#: Then how many blocks of columns a matrix has, and how many matrices are ``NEXT`` to each other;
#: bytes between these, and between the first ones of such runs, for ``a``, ``b`` and ``c``; for how
#: many blocks of columns a row of the region stands.
ROWS, DEEP, COLUMNS, A_ROW, A_DEEP, B_DEEP, B_COLUMN, C_ROW, BLOCKS, RUN = range(10)
NEXT, FAR, EACH, MARK = 10, 13, 16, 17
#: Where the ``MARK`` is stands whether floating-point flags stay as they were, where NumPy does not
#: warn. That is an instruction of the processor, where a call of the C library takes 80 ns.
QUIET = MARK
#: How many blocks of rows, and for ``inner`` of columns, are done at a time: what caches hold.
TALL, WIDE = 18, 19
#: More for ``added``: how many products, whether they are added to what is there, whether this was
#: the last step: sums that are not finite are NumPy's then, which warns if a sum was the cause.
PRODUCTS, STARTED, CHECKED = 20, 21, 22
MOST_PRODUCTS = 5  # of a step: with more, their rows leave the second cache
_FAR = 1 << 62  # no column


class Form(NamedTuple):
    """One function; ``width`` are columns for ``inner``, and vectors of columns for ``outer``."""

    way: str
    kind: str
    lanes: int
    height: int
    width: int

    @property
    def name(self) -> str:
        return PREFIX + "_".join(map(str, self))

    @classmethod
    def named(cls, name: str) -> Form:
        way, kind, *sizes = name.removeprefix(PREFIX).split("_")
        return cls(way, kind, *map(int, sizes))

    @property
    def columns(self) -> int:
        """How many columns a block has."""
        return self.width * (1 if self.way == INNER else self.lanes)

    def text(self) -> str:
        """The module of the function.

        Its operands are ``a``, ``b``, ``c``, and the byte of the table that says which blocks of
        columns to make: as many as this byte is beyond the ``MARK`` are before them, in this matrix
        and those before it. Those of ``added`` are ``c``, the byte, and pairs of ``a`` and ``b``.
        """
        return _Writer(self).text()


class _Writer:
    """The text of one function."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.scalar, self.size = FLOATS[form.kind]
        self.suffix = f"f{8 * self.size}"  # of the names of LLVM's own functions
        self.vector = f"<{form.lanes} x {self.scalar}>"
        bits = 8 * self.size * form.lanes
        self.f = Function(
            f"internal void @product(ptr %args, ptr %table, i64 %rows) noinline "
            f'"prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'
        )
        self.declared: dict[str, str] = {}

    def text(self) -> str:
        f, form = self.f, self.form
        adds = form.way == ADDED
        operands = [f.item("%args", k, "ptr") for k in ((2, 3, 0) if adds else range(3))]
        mark = f.get(f"ptrtoint ptr {f.at('%table', MARK)} to i64")
        here = f.get(f"ptrtoint ptr {f.item('%args', 1 if adds else 3, 'ptr')} to i64")
        first = f.get(f"sub i64 {here}, {mark}")
        self.t = [f.item("%table", k) for k in range(MARK)]
        last = f.add(f.add(first, f.mul("%rows", self.t[EACH])), -1)
        self.sums = [[self._variable() for _ in range(form.width)] for _ in range(form.height)]
        blocks = self.t[BLOCKS]
        before = f.get(f"sdiv i64 {first}, {blocks}")
        matrices = f.get(f"sub i64 {f.get(f'sdiv i64 {last}, {blocks}')}, {before}")
        with f.loop(f.add(matrices, 1)) as i:
            matrix = f.add(before, i)
            self.a, self.b, self.c = self._of_matrix(operands, matrix)
            passed = f.mul(matrix, blocks)
            self.first = f.more(f.get(f"sub i64 {first}, {passed}"), "0")
            end = f.less(f.add(f.get(f"sub i64 {last}, {passed}"), 1), blocks)
            self._matrix(f.get(f"sub i64 {end}, {self.first}"))
        return "\n".join([f.text(), self._entry(), *self.declared.values(), ""])

    def _entry(self) -> str:
        """The function that others call: it keeps the flags, if they are not to be seen."""
        self.f = f = Function(f"void @{self.form.name}(ptr %args, ptr %table, i64 %rows)")
        flags = f.variable()
        quiet = f.get(f"icmp ne i64 {f.item('%table', QUIET)}, 0")
        with f.when(quiet):
            self._call("llvm.x86.sse.stmxcsr", "void", ("ptr", flags))
        f.call("@product", "ptr %args, ptr %table, i64 %rows")
        with f.when(quiet):
            self._call("llvm.x86.sse.ldmxcsr", "void", ("ptr", flags))
        return f.text()

    def _of_matrix(self, operands: list[str], matrix: str) -> list[str]:
        f, t = self.f, self.t
        far, near = (f.get(f"{op} i64 {matrix}, {t[RUN]}") for op in ("sdiv", "srem"))
        return [
            f.moved(x, f.add(f.mul(far, t[FAR + k]), f.mul(near, t[NEXT + k])))
            for k, x in enumerate(operands)
        ]

    def _matrix(self, columns: str) -> None:
        """Some blocks of columns of one matrix, all rows of this step."""
        f, form = self.f, self.form
        rows = f.get(f"sdiv i64 {self.t[ROWS]}, {form.height}")
        {INNER: self._inner, OUTER: self._outer, ADDED: self._added}[form.way](rows, columns)

    def _block(self, i: str, block: str) -> tuple[str, list[str]]:
        """The first column of a block, and the rows of ``c`` from that column on."""
        f = self.f
        column = f.mul(f.add(self.first, block), self.form.columns)
        return column, self._rows(f.moved(self.c, f.mul(column, self.size)), i, C_ROW)

    def _rows(self, matrix: str, i: str, stride: int) -> list[str]:
        """The rows of a matrix that the rows of a block stand for."""
        f, height = self.f, self.form.height
        rows = [f.add(f.mul(i, height), k) for k in range(height)]
        return [f.moved(matrix, f.mul(row, self.t[stride])) for row in rows]

    # -- vectors -------------------------------------------------------------------------------

    def _variable(self) -> str:
        name = f"%{self.f.name('sum')}"
        self.f.entry.append(f"  {name} = alloca {self.vector}")
        return name

    def _call(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        kinds = ", ".join(kind for kind, _ in arguments)
        self.declared[name] = f"declare {result} @{name}({kinds})"
        text = ", ".join(f"{kind} {value}" for kind, value in arguments)
        return self.f.call(f"@{name}", text, result)

    def _load(self, at: str, mask: str = "") -> str:
        if not mask:
            return self.f.get(f"load {self.vector}, ptr {at}, align 1")
        lanes, kind = self.form.lanes, self.vector
        return self._call(
            f"llvm.masked.load.v{lanes}{self.suffix}.p0", kind,
            ("ptr", at), ("i32", "1"), (f"<{lanes} x i1>", mask), (kind, "zeroinitializer"),
        )  # fmt: skip

    def _store(self, value: str, at: str, mask: str, lanes: int) -> None:
        kind = f"<{lanes} x {self.scalar}>"
        self._call(
            f"llvm.masked.store.v{lanes}{self.suffix}.p0", "void",
            (kind, value), ("ptr", at), ("i32", "1"), (f"<{lanes} x i1>", mask),
        )  # fmt: skip

    def _below(self, count: str, lanes: int, start: int = 0) -> str:
        """The lanes whose number, counted from ``start``, is below ``count``."""
        return self._among(count, range(start, start + lanes))

    def _among(self, count: str, numbers: Sequence[int]) -> str:
        """The lanes whose number is below ``count``."""
        f, lanes = self.f, len(numbers)
        kind = f"<{lanes} x i64>"
        one = f.get(f"insertelement {kind} poison, i64 {count}, i32 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        all_ = f.get(f"shufflevector {kind} {one}, {kind} poison, {zeros}")
        text = ", ".join(f"i64 {number}" for number in numbers)
        return f.get(f"icmp slt {kind} <{text}>, {all_}")

    def _prefetch(self, at: str) -> None:
        arguments = ("ptr", at), ("i32", "0"), ("i32", "3"), ("i32", "1")
        self._call("llvm.prefetch.p0", "void", *arguments)

    def _add_product(self, k: int, j: int, x: str, y: str) -> None:
        f, kind, place = self.f, self.vector, self.sums[k][j]
        was = f.get(f"load {kind}, ptr {place}")
        name = f"llvm.fma.v{self.form.lanes}{self.suffix}"
        total = self._call(name, kind, (kind, x), (kind, y), (kind, was))
        f.do(f"store {kind} {total}, ptr {place}")

    def _fill(self, block: list[list[str]], number: str) -> None:
        values = ", ".join([f"{self.scalar} {number}"] * self.form.lanes)
        for place in (place for row in block for place in row):
            self.f.do(f"store {self.vector} <{values}>, ptr {place}")

    def _spread(self, at: str) -> str:
        f, kind, lanes = self.f, self.vector, self.form.lanes
        item = f.get(f"load {self.scalar}, ptr {at}, align 1")
        one = f.get(f"insertelement {kind} poison, {self.scalar} {item}, i32 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return f.get(f"shufflevector {kind} {one}, {kind} poison, {zeros}")

    # -- inner: sums along the lanes -----------------------------------------------------------

    def _inner(self, rows: str, columns: str) -> None:
        f, t, lanes = self.f, self.t, self.form.lanes
        whole = f.get(f"sdiv i64 {t[DEEP]}, {lanes}")
        rest = f.get(f"sub i64 {t[DEEP]}, {f.mul(whole, lanes)}")
        mask = self._below(rest, lanes)
        with self._parts(rows, TALL) as (top, tall), self._parts(columns, WIDE) as (side, wide):
            with f.loop(tall) as i, f.loop(wide) as block:
                self._inner_block(f.add(top, i), f.add(side, block), whole, rest, mask)

    @contextmanager
    def _parts(self, count: str, most: int) -> Iterator[tuple[str, str]]:
        """A loop over parts of so many as the table says: the first of each, and how many."""
        f, length = self.f, self.f.item("%table", most)
        parts = f.get(f"sdiv i64 {f.add(f.add(count, length), -1)}, {length}")
        with f.loop(parts) as part:
            first = f.mul(part, length)
            yield first, f.less(f.get(f"sub i64 {count}, {first}"), length)

    def _inner_block(self, i: str, block: str, whole: str, rest: str, mask: str) -> None:
        """All items of a block: ``whole`` vectors of inner indices, and a ``rest``."""
        f, t, form = self.f, self.t, self.form
        lanes, size = form.lanes, self.size
        column, lines = self._block(i, block)
        left = self._rows(self.a, i, A_ROW)
        # The last block may have fewer columns: it reads the last of them again.
        last = f.add(t[COLUMNS], -1)
        right = [
            f.moved(self.b, f.mul(f.less(f.add(column, j), last), t[B_COLUMN]))
            for j in range(form.width)
        ]
        self._fill(self.sums, "0.0")
        with f.loop(whole) as step:
            self._multiply(left, right, f.mul(step, lanes * size))
        with f.when(f.get(f"icmp ne i64 {rest}, 0")):
            self._multiply(left, right, f.mul(whole, lanes * size), mask)
        count = f.get(f"sub i64 {t[COLUMNS]}, {column}")
        self._store_totals(lines, count)

    def _store_totals(self, lines: list[str], count: str) -> None:
        """Add up the lanes of a block, of which so many columns are there."""
        f, form = self.f, self.form
        places = [(k, j) for k in range(form.height) for j in range(form.width)]
        most = min(8, form.lanes)
        for start in range(0, len(places), most):
            some = places[start : start + most]
            sums = [f.get(f"load {self.vector}, ptr {self.sums[k][j]}") for k, j in some]
            total = self._totals([sums[q % len(some)] for q in range(most)])
            for k in sorted({k for k, _ in some}):
                columns = [j if row == k else _FAR for row, j in some]
                first = min(columns)
                here = (first - columns.index(first)) * self.size  # where the first lane would go
                mask = self._among(count, [*columns, *[_FAR] * (most - len(some))])
                self._store(total, f.moved(lines[k], here), mask, most)

    def _multiply(self, left: list[str], right: list[str], at: str, mask: str = "") -> None:
        f = self.f
        rows = [self._load(f.moved(p, at), mask) for p in left]
        for j, p in enumerate(right):
            y = self._load(f.moved(p, at), mask)
            for k, x in enumerate(rows):
                self._add_product(k, j, x, y)

    def _totals(self, sums: list[str]) -> str:
        """The totals of some vectors, as one vector: halves are added to halves, and so on."""
        width = self.form.lanes  # lanes for each of those that a vector stands for
        while len(sums) > 1:
            sums = [self._fold(x, y, width) for x, y in zip(sums[::2], sums[1::2], strict=True)]
            width //= 2
        (total,), lanes = sums, self.form.lanes
        while width > 1:
            total, lanes, width = self._fold(total, "poison", width, lanes), lanes // 2, width // 2
        return total

    def _fold(self, x: str, y: str, width: int, lanes: int = 0) -> str:
        """Add the second half of each ``width`` lanes to the first, in two vectors or in one."""
        f = self.f
        kind = f"<{lanes or self.form.lanes} x {self.scalar}>"
        starts = range(0, lanes or 2 * self.form.lanes, width)
        parts = []
        for half in (0, width // 2):
            text = ", ".join(f"i32 {s + half + k}" for s in starts for k in range(width // 2))
            which = f"<{len(starts) * width // 2} x i32> <{text}>"
            parts.append(f.get(f"shufflevector {kind} {x}, {kind} {y}, {which}"))
        return f.get(f"fadd <{len(starts) * width // 2} x {self.scalar}> {parts[0]}, {parts[1]}")

    # -- outer: columns along the lanes --------------------------------------------------------

    def _outer(self, rows: str, columns: str) -> None:
        f, t, size = self.f, self.t, self.size
        turns = f.get(f"sdiv i64 {f.add(t[DEEP], DEPTH - 1)}, {DEPTH}")
        with (
            self._parts(rows, TALL) as (top, tall),
            f.loop(turns) as turn,
            f.loop(tall) as k,
            f.loop(columns) as block,
        ):
            start, i = f.mul(turn, DEPTH), f.add(top, k)
            deep = f.less(f.get(f"sub i64 {t[DEEP]}, {start}"), str(DEPTH))
            column, lines = self._block(i, block)
            left = self._rows(f.moved(self.a, f.mul(start, t[A_DEEP])), i, A_ROW)
            right = f.moved(self.b, f.mul(start, t[B_DEEP]))
            right = f.moved(right, f.mul(column, size))
            masks, full = self._masks(column)
            self._sum_up(left, right, deep, masks, full)
            with f.when(f.get(f"icmp ne i64 {turn}, 0")):
                self._add_what_is_there(lines, masks)
            self._store_block(self.sums, lines, masks)

    def _masks(self, column: str) -> tuple[list[str], str]:
        """Which columns of a block there are, and whether they all are."""
        f, form = self.f, self.form
        count = f.get(f"sub i64 {self.t[COLUMNS]}, {column}")
        masks = [self._below(count, form.lanes, j * form.lanes) for j in range(form.width)]
        return masks, f.get(f"icmp sge i64 {count}, {form.columns}")

    def _sum_up(
        self, left: list[str], right: str, deep: str, masks: list[str], full: str
    ) -> None:
        """Sums for some inner indices, ``DEPTH`` at most."""
        f = self.f
        self._fill(self.sums, "0.0")
        with f.when(full), f.loop(deep) as k:
            self._advance(left, right, k, [""] * self.form.width)
        with f.when(f.get(f"xor i1 {full}, true")), f.loop(deep) as k:
            self._advance(left, right, k, masks)

    def _store_block(self, block: list[list[str]], lines: list[str], masks: list[str]) -> None:
        f, lanes = self.f, self.form.lanes
        for line, row in zip(lines, block, strict=True):
            for j, (place, mask) in enumerate(zip(row, masks, strict=True)):
                value = f.get(f"load {self.vector}, ptr {place}")
                self._store(value, f.moved(line, j * lanes * self.size), mask, lanes)

    def _add_what_is_there(self, lines: list[str], masks: list[str]) -> None:
        f = self.f
        for k, line in enumerate(lines):
            for j, mask in enumerate(masks):
                place = self.sums[k][j]
                was = self._load(f.moved(line, j * self.form.lanes * self.size), mask)
                new = f.get(f"load {self.vector}, ptr {place}")
                total = f.get(f"fadd {self.vector} {was}, {new}")
                f.do(f"store {self.vector} {total}, ptr {place}")

    def _advance(self, left: list[str], right: str, k: str, masks: list[str]) -> None:
        f, t, form = self.f, self.t, self.form
        line = f.moved(right, f.mul(k, t[B_DEEP]))
        columns = [
            self._load(f.moved(line, j * form.lanes * self.size), masks[j])
            for j in range(form.width)
        ]
        if form.way == OUTER:  # rows of b are far apart: processors don't see what comes next
            for j in range(form.width):
                self._prefetch(f.moved(line, (form.width + j) * form.lanes * self.size))
        along = f.mul(k, t[A_DEEP])
        if form.way == ADDED:  # a line of each row is read: the next block's are elsewhere
            self._prefetch(f.moved(left[0], f.add(along, f.mul(t[A_ROW], 2 * form.height - 1))))
        for row, p in enumerate(left):
            x = self._spread(f.moved(p, along))
            for j, y in enumerate(columns):
                self._add_product(row, j, x, y)

    # -- added: blocks of a sum of products ----------------------------------------------------

    def _added(self, rows: str, columns: str) -> None:
        f, t = self.f, self.t
        count, started, checked = (f.item("%table", k) for k in (PRODUCTS, STARTED, CHECKED))
        started = f.get(f"icmp ne i64 {started}, 0")
        checked = f.get(f"icmp ne i64 {checked}, 0")
        totals = [[self._variable() for _ in row] for row in self.sums]
        with f.loop(rows) as i, f.loop(columns) as block:
            column, lines = self._block(i, block)
            masks, full = self._masks(column)
            self._fill(totals, "-0.0")  # which changes nothing that is added to it
            with f.when(started):
                self._load_block(totals, lines, masks)
            with f.loop(count) as k:
                a, b = [f.item("%args", f.add(f.mul(k, 2), 2 + side), "ptr") for side in range(2)]
                left = self._rows(a, i, A_ROW)
                right = f.moved(b, f.mul(column, self.size))
                self._sum_up(left, right, t[DEEP], masks, full)
                self._add_to(totals)
            self._store_block(totals, lines, masks)
            with f.when(checked):
                self._check(totals)

    def _add_to(self, totals: list[list[str]]) -> None:
        """Add the sums."""
        f, kind = self.f, self.vector
        for row, others in zip(totals, self.sums, strict=True):
            for total, place in zip(row, others, strict=True):
                was = f.get(f"load {kind}, ptr {total}")
                new = f.get(f"load {kind}, ptr {place}")
                f.do(f"store {kind} {f.get(f'fadd {kind} {was}, {new}')}, ptr {total}")

    def _load_block(self, block: list[list[str]], lines: list[str], masks: list[str]) -> None:
        f, wide = self.f, self.form.lanes * self.size
        for line, row in zip(lines, block, strict=True):
            for j, (place, mask) in enumerate(zip(row, masks, strict=True)):
                was = self._load(f.moved(line, j * wide), mask)
                f.do(f"store {self.vector} {was}, ptr {place}")

    def _check(self, totals: list[list[str]]) -> None:
        """Fail where a sum is not finite: what it differs from itself by is no number then."""
        f, kind, lanes = self.f, self.vector, self.form.lanes
        found = "zeroinitializer"
        for place in (place for row in totals for place in row):
            value = f.get(f"load {kind}, ptr {place}")
            found = f.get(f"fadd {kind} {found}, {f.get(f'fsub {kind} {value}, {value}')}")
        bad = f.get(f"fcmp uno {kind} {found}, zeroinitializer")
        bad = f.get(f"bitcast <{lanes} x i1> {bad} to i{lanes}")
        with f.when(f.get(f"icmp ne i{lanes} {bad}, 0")):
            f.do(f"store i64 1, ptr {f.item('%args', FAILED, 'ptr')}")
