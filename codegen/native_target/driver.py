"""The fixed part of native code, as LLVM IR text: it runs a program that is a table of steps.

A program is an array of int64. Its regions run one after the other, each a few rows at a time; a
region is a list of steps, each the address of a function with its table and its operands. So a
schedule needs no code of its own, and a kernel is compiled once for all that use it.

The functions of steps have the form ``void f(ptr args, ptr table, i64 rows)``. Here are those that
call NumPy's loops: ``loop`` and ``flat`` (elementwise), ``reduce``, ``product``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

RUN, WORKER, COMMIT, SWEEP, SERIES, LOOP, FLAT, REDUCE, PRODUCT = (
    "chainwright_run",
    "chainwright_worker",
    "chainwright_commit",
    "chainwright_sweep",
    "chainwright_series",
    "chainwright_loop",
    "chainwright_flat",
    "chainwright_reduce",
    "chainwright_product",
)
#: LLVM's floating-point types, and the bytes of an item, by the characters of NumPy's dtypes.
FLOATS = {"f": ("float", 4), "d": ("double", 8)}
MOST_OPERANDS = 60
#: After the operands of a step comes the address of a word; what is not 0 there says that the step
#: could not do its work (an index out of bounds), so that NumPy calls have to do it, and to raise.
FAILED = MOST_OPERANDS

# The head of a program, in items.
N_BASES, N_REGIONS, REGIONS, N_COMMITS, COMMITS, CHECKS, ARRAY_TYPE, CLEAR, TEST, MASK = range(10)
POOL = 10  # the address of the threads that take part, or 0
LONG, OCCURRED = 11, 12  # the addresses of PyLong_FromLongLong and of PyErr_Occurred
HEAD = 13
#: After the name of RUN, SWEEP or SERIES: what does the same for Python, in CPython's form for a
#: function of one argument, and keeps the GIL.
BRIEF = "_brief"
# The head of a region: rows, rows at a time, steps; with how many other threads the rows may be
# shared; where the local values are: the base, their first byte; from which step on parts of the
# rows have to come one after the other. An operand with LOCAL for a base is local.
REGION_HEAD = 7
ORDERED = 6
LOCAL = -1
# A pool: whether somebody uses it, its threads, what is done (bases, program, region, tiles), the
# next tile, tiles at a time, threads that are not done, flags, failures; sem_wait, sem_trywait,
# sem_post, sched_yield; two semaphores, for the start of work and for its end; the tile whose turn
# it is with what has an order.
BUSY, WORKERS, P_BASES, P_CODE, P_REGION, P_TILES, P_NEXT, P_PART = range(8)
PENDING, P_FLAGS, P_FAILED = range(8, 11)
SEM_WAIT, SEM_TRY, SEM_POST, YIELD, SEM_START, SEM_END, P_TURN = 11, 12, 13, 14, 16, 24, 40
POOL_ITEMS = 48
_SPINS = 64  # looks at whose turn it is, until others may have the processor
# A sweep has other items there, and more: how many items and where; which is the first to do, and
# from which of its elements on (written when a sweep stops, too); the kernel, its table, elements
# at a time, operands and what is known of each, memory for results, the address of memcpy.
N_ITEMS, ITEMS, FIRST, PLACE = N_REGIONS, REGIONS, N_COMMITS, COMMITS
KERNEL, TABLE, TILE, N_OPERANDS, OPERANDS, RESULTS, COPY = range(HEAD, HEAD + 7)
SWEEP_HEAD = HEAD + 7
# A series has programs for items, each with so many words: its address, and for each of its bases
# but the first the slot of an array here, and at which of its bytes it begins.
WIDTH = HEAD
SERIES_HEAD = HEAD + 1
# What a sweep returns: all is done; flags were raised; arrays of an item share memory.
DONE, RAISED, SHARED = range(3)
# Kinds of steps: our own code; a call of foreign code, which may clear the floating-point flags;
# one whose flags NumPy does not look at.
OURS, FOREIGN, SILENT = 0, 1, 2


class Layout(NamedTuple):
    """Where CPython and NumPy keep what is read without their help, in bytes."""

    tuple_items: int
    type: int
    data: int
    ndim: int
    dims: int
    strides: int
    descr: int
    flags: int
    kind: int  # of a dtype: kind, letter, byte order and number in eight bytes


class Function:
    """Writes a function; variables live in memory, which LLVM turns into registers."""

    def __init__(self, head: str) -> None:
        self.head, self.entry, self.lines, self._count = head, ["entry:"], ["  br label %start"], 0
        self.lines.append("start:")

    def name(self, hint: str = "t") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def get(self, text: str) -> str:
        name = f"%{self.name()}"
        self.do(f"{name} = {text}")
        return name

    def variable(self, start: str = "0") -> str:
        name = f"%{self.name('var')}"
        self.entry.append(f"  {name} = alloca i64")
        self.set(name, start)
        return name

    def array(self, kind: str, length: int) -> str:
        name = f"%{self.name('array')}"
        self.entry.append(f"  {name} = alloca [{length} x {kind}]")
        return name

    def set(self, variable: str, value: str) -> None:
        self.do(f"store i64 {value}, ptr {variable}")

    def value(self, variable: str) -> str:
        return self.get(f"load i64, ptr {variable}")

    def at(self, base: str, place: int | str) -> str:
        """The address of an item of eight bytes."""
        return self.get(f"getelementptr i64, ptr {base}, i64 {place}")

    def item(self, base: str, place: int | str, kind: str = "i64") -> str:
        return self.get(f"load {kind}, ptr {self.at(base, place)}")

    def field(self, base: str, offset: int | str, kind: str = "ptr") -> str:
        return self.get(f"load {kind}, ptr {self.moved(base, offset)}")

    def moved(self, base: str, offset: int | str) -> str:
        return self.get(f"getelementptr i8, ptr {base}, i64 {offset}")

    def add(self, a: str, b: int | str) -> str:
        return self.get(f"add i64 {a}, {b}")

    def mul(self, a: str, b: int | str) -> str:
        return self.get(f"mul i64 {a}, {b}")

    def less(self, a: str, b: str) -> str:
        return self.get(f"select i1 {self.get(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def more(self, a: str, b: str) -> str:
        return self.get(f"select i1 {self.get(f'icmp sgt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def call(self, function: str, arguments: str, result: str = "void") -> str:
        text = f"call {result} {function}({arguments})"
        if result == "void":
            self.do(text)
            return ""
        return self.get(text)

    @contextmanager
    def loop(self, n: str) -> Iterator[str]:
        """``for i in range(n)``."""
        i, k = self.variable(), self.name("")
        self.do(f"br label %head{k}")
        self.lines.append(f"head{k}:")
        value = self.value(i)
        more = self.get(f"icmp slt i64 {value}, {n}")
        self.do(f"br i1 {more}, label %body{k}, label %end{k}")
        self.lines.append(f"body{k}:")
        yield value
        self.set(i, self.add(value, 1))
        self.do(f"br label %head{k}")
        self.lines.append(f"end{k}:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        k = self.name("")
        self.do(f"br i1 {condition}, label %then{k}, label %else{k}")
        self.lines.append(f"then{k}:")
        yield
        self.do(f"br label %else{k}")
        self.lines.append(f"else{k}:")

    def leave(self, condition: str, result: str) -> None:
        k = self.name("")
        self.do(f"br i1 {condition}, label %leave{k}, label %stay{k}")
        self.lines += [f"leave{k}:", f"  ret {result}", f"stay{k}:"]

    def text(self, result: str = "void") -> str:
        lines = [f"define {self.head} {{", *self.entry, *self.lines, f"  ret {result}", "}", ""]
        return "\n".join(lines)


def driver_text(layout: Layout) -> str:
    """The module of all functions here, for this Python and NumPy."""
    parts = [_program_of(layout), _bases(layout), _wait_for_turn(), _do_tiles(), _take_part()]
    parts += [_share(), _worker()]
    parts += [_execute(), _run(), _series(), _commit()]
    parts += [_brief(RUN), _brief(SWEEP), _brief(SERIES)]
    parts += [_sweep(layout), _loop(), _flat(), _copy_item(), _reduce(), _product()]
    return "\n".join(parts)


def _bases(layout: Layout) -> str:
    """Read the addresses of the arrays in a tuple; 1 if one has another layout than expected."""
    f = Function("internal i64 @read_bases(ptr %arrays, ptr %code, ptr %bases)")
    items = f.moved("%arrays", layout.tuple_items)
    check = f.variable(f.item("%code", CHECKS))
    kind = f.item("%code", ARRAY_TYPE, "ptr")
    with f.loop(f.item("%code", N_BASES)) as k:
        array = f.item(items, k, "ptr")
        place = f.value(check)
        ndim = f.item("%code", place)
        f.set(check, f.add(place, 1))
        with f.when(f.get(f"icmp sge i64 {ndim}, 0")):
            f.leave(f.get(f"icmp ne ptr {f.field(array, layout.type)}, {kind}"), "i64 1")
            have = f.get(f"sext i32 {f.field(array, layout.ndim, 'i32')} to i64")
            f.leave(f.get(f"icmp ne i64 {have}, {ndim}"), "i64 1")
            wanted = f.item("%code", f.add(place, 1), "ptr")
            dtype = f.field(array, layout.descr)
            # Arrays that come from a pickle have dtypes of their own, which are equal.
            with f.when(f.get(f"icmp ne ptr {dtype}, {wanted}")):
                is_of, should = (f.field(d, layout.kind, "i64") for d in (dtype, wanted))
                f.leave(f.get(f"icmp ne i64 {is_of}, {should}"), "i64 1")
            first = f.add(place, 2)
            dims, strides = f.field(array, layout.dims), f.field(array, layout.strides)
            with f.loop(ndim) as axis:
                length = f.item("%code", f.add(first, axis))
                f.leave(f.get(f"icmp ne i64 {f.item(dims, axis)}, {length}"), "i64 1")
                step = f.item("%code", f.add(f.add(first, ndim), axis))
                f.leave(f.get(f"icmp ne i64 {f.item(strides, axis)}, {step}"), "i64 1")
            f.set(check, f.add(f.add(first, ndim), ndim))
        f.do(f"store ptr {f.field(array, layout.data)}, ptr {f.at('%bases', k)}")
    return f.text("i64 0")


def _do_tiles() -> str:
    """Run some tiles of a region; what comes back are the floating-point flags.

    ``pool`` is that of the threads which do others, null if none do or if nothing has an order.
    """
    head = "ptr %bases, ptr %code, ptr %region, ptr %local, i64 %first, i64 %end, ptr %failed"
    f = Function(f"internal i64 @do_tiles({head}, ptr %pool)")
    ordered = f.item("%region", ORDERED)
    shares = f.get("icmp ne ptr %pool, null")
    args = f.array("ptr", MOST_OPERANDS + 1)
    test, clear = f.item("%code", TEST, "ptr"), f.item("%code", CLEAR, "ptr")
    mask = f.get(f"trunc i64 {f.item('%code', MASK)} to i32")
    flags, pc = f.variable(), f.variable()
    f.do(f"store ptr %failed, ptr {f.at(args, FAILED)}")
    rows, tile, steps = (f.item("%region", k) for k in range(3))
    with f.loop(f.get("sub i64 %end, %first")) as t:
        first = f.mul(f.add(t, "%first"), tile)
        n = f.less(tile, f.get(f"sub i64 {rows}, {first}"))
        f.set(pc, str(REGION_HEAD))
        with f.loop(steps) as s:
            now = f.get(f"icmp eq i64 {s}, {ordered}")
            with f.when(f.get(f"and i1 {shares}, {now}")):
                f.call("@wait_for_turn", f"ptr %pool, i64 {f.add(t, '%first')}")
            step = f.at("%region", f.value(pc))
            function, table = f.item(step, 0, "ptr"), f.item(step, 1)
            kind, operands = f.item(step, 2), f.item(step, 3)
            with f.loop(operands) as k:
                entry = f.at(step, f.add(f.mul(k, 3), 4))
                slot = f.item(entry, 0)
                local = f.get(f"icmp slt i64 {slot}, 0")
                slot = f.get(f"select i1 {local}, i64 0, i64 {slot}")
                base = f.item("%bases", slot, "ptr")
                base = f.get(f"select i1 {local}, ptr %local, ptr {base}")
                offset = f.add(f.item(entry, 1), f.mul(first, f.item(entry, 2)))
                f.do(f"store ptr {f.moved(base, offset)}, ptr {f.at(args, k)}")
            with f.when(f.get(f"icmp ne i64 {kind}, {OURS}")):
                _collect(f, flags, test, mask)
            f.call(function, f"ptr {args}, ptr {f.at('%code', table)}, i64 {n}")
            with f.when(f.get(f"icmp eq i64 {kind}, {SILENT}")):
                f.call(clear, f"i32 {mask}", "i32")
            f.set(pc, f.add(f.add(f.value(pc), f.mul(operands, 3)), 4))
        with f.when(shares):
            after = f.add(f.add(t, "%first"), 1)
            f.do(f"store atomic i64 {after}, ptr {f.at('%pool', P_TURN)} release, align 8")
    _collect(f, flags, test, mask)
    return f.text(f"i64 {f.value(flags)}")


def _wait_for_turn() -> str:
    """Wait until all tiles before this one are done with what has an order.

    Tiles are taken one after the other, so the first that is not done waits for nobody.
    """
    f = Function("internal void @wait_for_turn(ptr %pool, i64 %tile)")
    turn, give_way = f.at("%pool", P_TURN), f.item("%pool", YIELD, "ptr")
    f.do("br label %again")
    f.lines.append("again:")
    with f.loop(str(_SPINS)):
        now = f.get(f"load atomic i64, ptr {turn} acquire, align 8")
        f.leave(f.get(f"icmp eq i64 {now}, %tile"), "void")
    f.call(give_way, "", "i32")
    f.do("br label %again")
    f.lines.append("never:")
    return f.text()


def _has_order(f: Function, region: str) -> str:
    return f.get(f"icmp slt i64 {f.item(region, ORDERED)}, {f.item(region, 2)}")


def _take_part() -> str:
    """Run tiles of the region that a pool is at, as long as there are any."""
    f = Function("internal i64 @take_part(ptr %pool, ptr %local, ptr %failed)")
    bases, code, region = (f.item("%pool", k, "ptr") for k in (P_BASES, P_CODE, P_REGION))
    tiles, part = f.item("%pool", P_TILES), f.item("%pool", P_PART)
    others = f.get(f"select i1 {_has_order(f, region)}, ptr %pool, ptr null")
    flags = f.variable()
    with f.loop(tiles):  # nobody takes more parts than there are tiles
        first = f.get(f"atomicrmw add ptr {f.at('%pool', P_NEXT)}, i64 {part} seq_cst")
        done = f.get(f"icmp sge i64 {first}, {tiles}")
        f.leave(done, f"i64 {f.value(flags)}")
        end = f.less(f.add(first, part), tiles)
        rest = f"ptr %local, i64 {first}, i64 {end}, ptr %failed, ptr {others}"
        raised = f.call("@do_tiles", f"ptr {bases}, ptr {code}, ptr {region}, {rest}", "i64")
        f.set(flags, f.get(f"or i64 {f.value(flags)}, {raised}"))
    return f.text(f"i64 {f.value(flags)}")


def _wait(f: Function, semaphore: str, wait: str) -> None:
    """Wait for a semaphore, again where a signal has come between."""
    k = f.name("")
    f.do(f"br label %wait{k}")
    f.lines.append(f"wait{k}:")
    result = f.call(wait, f"ptr {semaphore}", "i32")
    again = f.get(f"icmp ne i32 {result}, 0")
    f.do(f"br i1 {again}, label %wait{k}, label %woken{k}")
    f.lines.append(f"woken{k}:")


def _share() -> str:
    """Run a region with the threads of a pool; alone, if they work for somebody else."""
    head = "ptr %bases, ptr %code, ptr %region, ptr %local, i64 %tiles, ptr %failed"
    f = Function(f"internal i64 @share({head}, ptr %pool, i64 %most)")
    pair = f.get("cmpxchg ptr %pool, i64 0, i64 1 seq_cst seq_cst")
    mine = f.get(f"extractvalue {{i64, i1}} {pair}, 1")
    flags = f.variable()
    with f.when(f.get(f"xor i1 {mine}, true")):
        rest = "ptr %local, i64 0, i64 %tiles, ptr %failed, ptr null"
        alone = f.call("@do_tiles", f"ptr %bases, ptr %code, ptr %region, {rest}", "i64")
        f.set(flags, alone)
    f.leave(f.get(f"xor i1 {mine}, true"), f"i64 {f.value(flags)}")
    workers = f.less(f.item("%pool", WORKERS), "%most")
    parts = f.mul(f.add(workers, 1), 8)
    part = f.add(f.get(f"sdiv i64 %tiles, {parts}"), 1)
    # Where tiles wait for each other, each thread takes the next one.
    part = f.get(f"select i1 {_has_order(f, '%region')}, i64 1, i64 {part}")
    for k, kind, value in (
        (P_BASES, "ptr", "%bases"), (P_CODE, "ptr", "%code"), (P_REGION, "ptr", "%region"),
        (P_TILES, "i64", "%tiles"), (P_NEXT, "i64", "0"), (P_PART, "i64", part),
        (PENDING, "i64", workers), (P_FLAGS, "i64", "0"), (P_FAILED, "i64", "0"),
        (P_TURN, "i64", "0"),
    ):
        f.do(f"store {kind} {value}, ptr {f.at('%pool', k)}")
    f.do("fence seq_cst")
    post, wait = f.item("%pool", SEM_POST, "ptr"), f.item("%pool", SEM_WAIT, "ptr")
    with f.loop(workers):
        f.call(post, f"ptr {f.at('%pool', SEM_START)}", "i32")
    own = f.call("@take_part", "ptr %pool, ptr %local, ptr %failed", "i64")
    # Threads that still sleep are not to wake for this: nobody waits for them.
    asleep, trying = f.variable(), f.item("%pool", SEM_TRY, "ptr")
    with f.loop(workers):
        refused = f.call(trying, f"ptr {f.at('%pool', SEM_START)}", "i32")
        took = f.get(f"zext i1 {f.get(f'icmp eq i32 {refused}, 0')} to i64")
        f.set(asleep, f.add(f.value(asleep), took))
    left = f.value(asleep)
    before = f.get(f"atomicrmw sub ptr {f.at('%pool', PENDING)}, i64 {left} seq_cst")
    some = f.get(f"icmp ne i64 {left}, 0")
    nobody = f.get(f"and i1 {some}, {f.get(f'icmp eq i64 {before}, {left}')}")
    with f.when(f.get(f"xor i1 {nobody}, true")):  # else the last of them says that it is done
        _wait(f, f.at("%pool", SEM_END), wait)
    f.do("fence seq_cst")
    with f.when(f.get(f"icmp ne i64 {f.item('%pool', P_FAILED)}, 0")):
        f.do("store i64 1, ptr %failed")
    flags = f.get(f"or i64 {own}, {f.item('%pool', P_FLAGS)}")
    f.do("store atomic i64 0, ptr %pool seq_cst, align 8")
    return f.text(f"i64 {flags}")


def _worker() -> str:
    """What a thread of a pool does for ever; ``memory`` is for its local values."""
    f = Function(f"i64 @{WORKER}(ptr %pool, ptr %memory)")
    failed = f.variable()
    post, wait = f.item("%pool", SEM_POST, "ptr"), f.item("%pool", SEM_WAIT, "ptr")
    f.do("br label %next")
    f.lines.append("next:")
    _wait(f, f.at("%pool", SEM_START), wait)
    f.do("fence seq_cst")
    f.set(failed, "0")
    code = f.item("%pool", P_CODE, "ptr")
    mask = f.get(f"trunc i64 {f.item(code, MASK)} to i32")
    f.call(f.item(code, CLEAR, "ptr"), f"i32 {mask}", "i32")
    low = f.item(f.item("%pool", P_REGION, "ptr"), 5)
    local = f.moved("%memory", f.get(f"sub i64 0, {low}"))
    flags = f.call("@take_part", f"ptr %pool, ptr {local}, ptr {failed}", "i64")
    f.do(f"{f.name('%old')} = atomicrmw or ptr {f.at('%pool', P_FLAGS)}, i64 {flags} seq_cst")
    bad = f.value(failed)
    f.do(f"{f.name('%old')} = atomicrmw or ptr {f.at('%pool', P_FAILED)}, i64 {bad} seq_cst")
    before = f.get(f"atomicrmw sub ptr {f.at('%pool', PENDING)}, i64 1 seq_cst")
    with f.when(f.get(f"icmp eq i64 {before}, 1")):
        f.call(post, f"ptr {f.at('%pool', SEM_END)}", "i32")
    f.do("br label %next")
    f.lines.append("never:")
    return f.text("i64 0")


def _execute() -> str:
    """Run regions; what comes back are the floating-point flags that were raised on the way."""
    f = Function("internal i64 @execute(ptr %bases, ptr %code, i64 %at, i64 %regions)")
    flags, start, failed = f.variable(), f.variable("%at"), f.variable()
    pool = f.item("%code", POOL, "ptr")
    idle = f.get(f"icmp ne ptr {pool}, null")
    with f.loop("%regions"):
        region = f.at("%code", f.value(start))
        rows, tile, steps, apart, slot = (f.item(region, k) for k in range(5))
        local = f.item("%bases", slot, "ptr")
        tiles = f.get(f"sdiv i64 {f.add(f.add(rows, tile), -1)}, {tile}")
        both = f.get(f"and i1 {idle}, {f.get(f'icmp ne i64 {apart}, 0')}")
        common = f"ptr %bases, ptr %code, ptr {region}, ptr {local}"
        with f.when(both):
            rest = f"i64 {tiles}, ptr {failed}, ptr {pool}, i64 {apart}"
            raised = f.call("@share", f"{common}, {rest}", "i64")
            f.set(flags, f.get(f"or i64 {f.value(flags)}, {raised}"))
        with f.when(f.get(f"xor i1 {both}, true")):
            rest = f"i64 0, i64 {tiles}, ptr {failed}, ptr null"
            raised = f.call("@do_tiles", f"{common}, {rest}", "i64")
            f.set(flags, f.get(f"or i64 {f.value(flags)}, {raised}"))
        pc = f.variable()
        f.set(pc, str(REGION_HEAD))
        with f.loop(steps):
            operands = f.item(f.at(region, f.value(pc)), 3)
            f.set(pc, f.add(f.add(f.value(pc), f.mul(operands, 3)), 4))
        f.set(start, f.add(f.value(start), f.value(pc)))
    f.leave(f.get(f"icmp ne i64 {f.value(failed)}, 0"), "i64 -1")
    return f.text(f"i64 {f.value(flags)}")


def _collect(f: Function, flags: str, test: str, mask: str) -> None:
    raised = f.get(f"zext i32 {f.call(test, f'i32 {mask}', 'i32')} to i64")
    f.set(flags, f.get(f"or i64 {f.value(flags)}, {raised}"))


def _entered(f: Function) -> tuple[str, str]:
    """The program of a tuple of arrays, which is its first, and the addresses of all."""
    code = f.get("call ptr @program_of(ptr %arrays)")
    bases = f.get(f"alloca ptr, i64 {f.item(code, N_BASES)}")
    wrong = f.call("@read_bases", f"ptr %arrays, ptr {code}, ptr {bases}", "i64")
    f.leave(f.get(f"icmp ne i64 {wrong}, 0"), "i64 -1")
    return code, bases


def _run() -> str:
    """Run a program: 0, the flags that were raised (then nothing is committed), or -1."""
    f = Function(f"i64 @{RUN}(ptr %arrays)")
    code, bases = _entered(f)
    mask = f.get(f"trunc i64 {f.item(code, MASK)} to i32")
    f.call(f.item(code, CLEAR, "ptr"), f"i32 {mask}", "i32")
    where = f"i64 {f.item(code, REGIONS)}, i64 {f.item(code, N_REGIONS)}"
    flags = f.call("@execute", f"ptr {bases}, ptr {code}, {where}", "i64")
    f.leave(f.get(f"icmp ne i64 {flags}, 0"), f"i64 {flags}")
    where = f"i64 {f.item(code, COMMITS)}, i64 {f.item(code, N_COMMITS)}"
    f.call("@execute", f"ptr {bases}, ptr {code}, {where}", "i64")
    return f.text("i64 0")


def _series() -> str:
    """Run programs one after the other, each on parts of the arrays: the flags, or -1.

    What their tables say of the layouts of arrays is not looked at.
    """
    f = Function(f"i64 @{SERIES}(ptr %arrays)")
    code, arrays = _entered(f)
    bases, flags = f.array("ptr", MOST_OPERANDS), f.variable()
    mask = f.get(f"trunc i64 {f.item(code, MASK)} to i32")
    f.call(f.item(code, CLEAR, "ptr"), f"i32 {mask}", "i32")
    with f.loop(f.item(code, N_ITEMS)) as i:
        item = f.at(code, f.add(f.item(code, ITEMS), f.mul(i, f.item(code, WIDTH))))
        program = f.item(item, 0, "ptr")
        f.do(f"store ptr {program}, ptr {bases}")
        with f.loop(f.add(f.item(program, N_BASES), -1)) as k:
            place = f.at(item, f.add(f.mul(k, 2), 1))
            begin = f.moved(f.item(arrays, f.item(place, 0), "ptr"), f.item(place, 1))
            f.do(f"store ptr {begin}, ptr {f.at(bases, f.add(k, 1))}")
        where = f"i64 {f.item(program, REGIONS)}, i64 {f.item(program, N_REGIONS)}"
        raised = f.call("@execute", f"ptr {bases}, ptr {program}, {where}", "i64")
        f.leave(f.get(f"icmp slt i64 {raised}, 0"), "i64 -1")
        f.set(flags, f.get(f"or i64 {f.value(flags)}, {raised}"))
    return f.text(f"i64 {f.value(flags)}")


def _commit() -> str:
    """Do the writes of a program that has run and raised flags."""
    f = Function(f"i64 @{COMMIT}(ptr %arrays)")
    code, bases = _entered(f)
    where = f"i64 {f.item(code, COMMITS)}, i64 {f.item(code, N_COMMITS)}"
    f.call("@execute", f"ptr {bases}, ptr {code}, {where}", "i64")
    return f.text("i64 0")


def _brief(name: str) -> str:
    """A function whose result Python gets as a number; what NumPy's loops have raised is raised."""
    f = Function(f"ptr @{name}{BRIEF}(ptr %self, ptr %arrays)")
    result = f.call(f"@{name}", "ptr %arrays", "i64")
    code = f.get("call ptr @program_of(ptr %arrays)")
    error = f.call(f.item(code, OCCURRED, "ptr"), "", "ptr")
    f.leave(f.get(f"icmp ne ptr {error}, null"), "ptr null")
    return f.text(f"ptr {f.call(f.item(code, LONG, 'ptr'), f'i64 {result}', 'ptr')}")


#: NPY_ARRAYWRITEABLE
WRITEABLE = 0x400


def _sweep(layout: Layout) -> str:
    """Run a kernel over items one after the other, a few elements at a time.

    Results are written over what was read only when no floating-point flag has been raised, so
    that whoever called can do the rest in another way.
    """
    return _SweepText(layout).text()


class _SweepText:
    """Writes :func:`_sweep`."""

    item = slots = offsets = length = ""  # of the item at hand

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.f = f = Function(f"i64 @{SWEEP}(ptr %arrays)")
        self.code, self.bases = _entered(f)
        code = self.code
        self.args = f.array("ptr", MOST_OPERANDS)
        self.test, self.copy, self.kernel = (f.item(code, k, "ptr") for k in (TEST, COPY, KERNEL))
        self.mask = f.get(f"trunc i64 {f.item(code, MASK)} to i32")
        f.call(f.item(code, CLEAR, "ptr"), f"i32 {self.mask}", "i32")
        self.operands, self.tile, self.results = (
            f.item(code, k) for k in (N_OPERANDS, TILE, RESULTS)
        )
        self.known, self.table = (f.at(code, f.item(code, k)) for k in (OPERANDS, TABLE))
        self.width = f.add(f.mul(self.operands, 2), 1)
        self.first = f.item(code, FIRST)
        self.done = f.variable(f.item(code, PLACE))

    def text(self) -> str:
        f, code, first = self.f, self.code, self.first
        with f.loop(f.get(f"sub i64 {f.item(code, N_ITEMS)}, {first}")) as i:
            self.item = f.add(first, i)
            row = f.at(code, f.add(f.item(code, ITEMS), f.mul(self.item, self.width)))
            self.slots, self.offsets = f.at(row, 1), f.at(row, f.add(self.operands, 1))
            self.length = f.item(row, 0)
            self._refuse_shared()
            self._run_tiles()
            f.set(self.done, "0")
        f.do(f"store i64 0, ptr {f.at(code, FIRST)}")
        f.do(f"store i64 0, ptr {f.at(code, PLACE)}")
        return f.text(f"i64 {DONE}")

    def _begin(self, o: str) -> str:
        return self.f.item(self.bases, self.f.item(self.slots, o))

    def _way(self, o: str) -> tuple[str, str]:
        """Bytes to the next element; where a result is put, or -1 for what is read."""
        f = self.f
        return f.item(self.known, f.mul(o, 2)), f.item(self.known, f.add(f.mul(o, 2), 1))

    def _stop(self, condition: str, why: int) -> None:
        f = self.f
        with f.when(condition):
            f.do(f"store i64 {self.item}, ptr {f.at(self.code, FIRST)}")
            f.do(f"store i64 {f.value(self.done)}, ptr {f.at(self.code, PLACE)}")
        f.leave(condition, f"i64 {why}")

    def _refuse_shared(self) -> None:
        """Stop where a result cannot be written, or shares memory with another array."""
        f = self.f
        with f.loop(self.operands) as o:
            size, place = self._way(o)
            with f.when(f.get(f"icmp sge i64 {place}, 0")):
                low = self._begin(o)
                high = f.add(low, f.mul(self.length, size))
                array = f.item(items_of(f, self.layout), f.item(self.slots, o), "ptr")
                flags = f.field(array, self.layout.flags, "i32")
                fixed = f.get(f"icmp eq i32 {f.get(f'and i32 {flags}, {WRITEABLE}')}, 0")
                self._stop(fixed, SHARED)
                with f.loop(self.operands) as j:
                    other, _ = self._way(j)
                    start = self._begin(j)
                    end = f.add(start, f.mul(self.length, other))
                    apart = f.get(
                        f"icmp ne i64 {f.item(self.slots, j)}, {f.item(self.slots, o)}"
                    )
                    one = f.get(f"icmp ult i64 {start}, {high}")
                    two = f.get(f"icmp ult i64 {low}, {end}")
                    shared = f.get(f"and i1 {apart}, {f.get(f'and i1 {one}, {two}')}")
                    self._stop(shared, SHARED)

    def _run_tiles(self) -> None:
        """Run the kernel on what is not done of an item, and bring results to their places."""
        f = self.f
        rest = f.get(f"sub i64 {self.length}, {f.value(self.done)}")
        tiles = f.get(f"sdiv i64 {f.add(f.add(rest, self.tile), -1)}, {self.tile}")
        with f.loop(tiles):
            at = f.value(self.done)
            m = f.less(self.tile, f.get(f"sub i64 {self.length}, {at}"))
            with f.loop(self.operands) as o:
                size, place = self._way(o)
                array = f.add(
                    f.add(self._begin(o), f.item(self.offsets, o)), f.mul(at, size)
                )
                is_read = f.get(f"icmp slt i64 {place}, 0")
                there = f.add(self.results, place)
                address = f.get(f"select i1 {is_read}, i64 {array}, i64 {there}")
                f.do(f"store i64 {address}, ptr {f.at(self.args, o)}")
            f.call(self.kernel, f"ptr {self.args}, ptr {self.table}, i64 {m}")
            raised = f.call(self.test, f"i32 {self.mask}", "i32")
            self._stop(f.get(f"icmp ne i32 {raised}, 0"), RAISED)
            with f.loop(self.operands) as o:
                size, place = self._way(o)
                with f.when(f.get(f"icmp sge i64 {place}, 0")):
                    target = f.get(
                        f"inttoptr i64 {f.add(self._begin(o), f.mul(at, size))} to ptr"
                    )
                    source = f.item(self.args, o, "ptr")
                    f.call(self.copy, f"ptr {target}, ptr {source}, i64 {f.mul(m, size)}", "ptr")
            f.set(self.done, f.add(at, m))


def items_of(f: Function, layout: Layout) -> str:
    """The arrays of the tuple after the first, which is the program: slot 1 is at 1."""
    return f.moved("%arrays", layout.tuple_items)


def _program_of(layout: Layout) -> str:
    """The address of the program: the data of the first array of the tuple."""
    f = Function("internal ptr @program_of(ptr %arrays)")
    array = f.field("%arrays", layout.tuple_items)
    return f.text(f"ptr {f.field(array, layout.data)}")


# Tables of the functions that call NumPy's loops, in items.
LOOP_HEAD = (
    6  # function, data, operands, rows' factor, two lengths; then strides: rows, outer, inner
)


def _loop() -> str:
    """A loop of a ufunc, for each item of two outer loops."""
    f = Function(f"void @{LOOP}(ptr %args, ptr %table, i64 %rows)")
    inner = f.array("ptr", 16)
    function, data, operands = (f.item("%table", k, t) for k, t in enumerate(["ptr", "ptr", "i64"]))
    rows = f.mul("%rows", f.item("%table", 3))
    steps = [f.at("%table", f.add(f.mul(operands, k), LOOP_HEAD)) for k in range(3)]
    with f.loop(rows) as i, f.loop(f.item("%table", 4)) as j:
        with f.loop(operands) as k:
            offset = f.add(f.mul(i, f.item(steps[0], k)), f.mul(j, f.item(steps[1], k)))
            address = f.moved(f.item("%args", k, "ptr"), offset)
            f.do(f"store ptr {address}, ptr {f.at(inner, k)}")
        f.call(function, f"ptr {inner}, ptr {f.at('%table', 5)}, ptr {steps[2]}, ptr {data}")
    return f.text()


def _flat() -> str:
    """A loop of a ufunc over one run; table: function, data, rows' factor, strides."""
    f = Function(f"void @{FLAT}(ptr %args, ptr %table, i64 %rows)")
    length = f.array("i64", 1)
    function, data = f.item("%table", 0, "ptr"), f.item("%table", 1, "ptr")
    f.do(f"store i64 {f.mul('%rows', f.item('%table', 2))}, ptr {length}")
    f.call(function, f"ptr %args, ptr {length}, ptr {f.at('%table', 3)}, ptr {data}")
    return f.text()


def _copy_item() -> str:
    f = Function("internal void @copy_item(ptr %to, ptr %from, i64 %size)")
    for kind, size in (("i32", 4), ("i64", 8), ("i16", 2)):
        with f.when(f.get(f"icmp eq i64 %size, {size}")):
            f.do(f"store {kind} {f.get(f'load {kind}, ptr %from')}, ptr %to")
            f.do("ret void")
            f.lines.append(f"{f.name('gone')}:")
    f.do(f"store i8 {f.get('load i8, ptr %from')}, ptr %to")
    return f.text()


# function, data, length of a cut, what to start from, start value, bytes of an item,
# rows' factor and strides (input, result); two outer loops and the inner one: length and strides.
REDUCE_ITEMS = 18
# What a result starts from: the first items, the start value, or what stands in it.
FIRST_ITEMS, VALUE, RESULT = range(3)


def _reduce() -> str:
    """``ufunc.reduce`` with NumPy's loop inside and the loops around it in NumPy's order."""
    f = Function(f"void @{REDUCE}(ptr %args, ptr %table, i64 %rows)")
    t = [f.item("%table", k, "ptr" if k < 2 else "i64") for k in range(REDUCE_ITEMS)]
    function, data, cut, given, size = t[0], t[1], t[2], t[3], t[5]
    inner, length, steps = f.array("ptr", 3), f.array("i64", 1), f.array("i64", 3)
    source, result = f.item("%args", 0, "ptr"), f.item("%args", 1, "ptr")
    n, s, o = t[15:]
    for k, step in enumerate((o, s, o)):
        f.do(f"store i64 {step}, ptr {f.at(steps, k)}")
    is_run = f.get(f"icmp eq i64 {o}, 0")
    starts = f.get(f"select i1 {is_run}, i64 1, i64 {n}")
    has_value = f.get(f"icmp eq i64 {given}, {VALUE}")
    begins = f.get(f"icmp ne i64 {given}, {RESULT}")
    with f.loop(f.mul("%rows", t[6])) as i, f.loop(t[9]) as j, f.loop(t[12]) as k:
        p = f.moved(source, f.add(f.mul(i, t[7]), f.add(f.mul(j, t[10]), f.mul(k, t[13]))))
        q = f.moved(result, f.add(f.mul(i, t[8]), f.add(f.mul(j, t[11]), f.mul(k, t[14]))))
        first = begins
        for index, stride in ((j, t[11]), (k, t[14])):
            fresh = f.get(f"icmp ne i64 {stride}, 0")
            zero = f.get(f"icmp eq i64 {index}, 0")
            first = f.get(f"and i1 {first}, {f.get(f'or i1 {fresh}, {zero}')}")
        start = f.variable()
        f.set(start, "0")
        with f.when(first):
            with f.loop(starts) as x:
                item = f.moved(p, f.mul(x, s))
                item = f.get(f"select i1 {has_value}, ptr {f.at('%table', 4)}, ptr {item}")
                f.call("@copy_item", f"ptr {f.moved(q, f.mul(x, o))}, ptr {item}, i64 {size}")
            f.set(start, f.get(f"select i1 {has_value}, i64 0, i64 {starts}"))
        cuts = f.add(f.get(f"sdiv i64 {f.add(n, -1)}, {cut}"), 1)
        with f.loop(cuts) as c:
            low, stop = f.value(start), f.less(n, f.mul(f.add(c, 1), cut))
            with f.when(f.get(f"icmp slt i64 {low}, {stop}")):
                out, read = f.moved(q, f.mul(low, o)), f.moved(p, f.mul(low, s))
                for x, address in enumerate((out, read, out)):
                    f.do(f"store ptr {address}, ptr {f.at(inner, x)}")
                f.do(f"store i64 {f.get(f'sub i64 {stop}, {low}')}, ptr {length}")
                f.call(function, f"ptr {inner}, ptr {length}, ptr {steps}, ptr {data}")
                f.set(start, stop)
    return f.text()


def _product() -> str:
    """The loop of ``np.matmul``: function, data, four lengths, nine strides."""
    f = Function(f"void @{PRODUCT}(ptr %args, ptr %table, i64 %rows)")
    function, data = f.item("%table", 0, "ptr"), f.item("%table", 1, "ptr")
    f.call(function, f"ptr %args, ptr {f.at('%table', 2)}, ptr {f.at('%table', 6)}, ptr {data}")
    return f.text()
