"""Random methods of plain Python, of which all decides how much a link's result is scaled by.

Calls without Python are to do what it does: operators of numbers, containers and their methods,
aliases, comprehensions, closures, generators, loops that end early, what the object holds.
"""

import enum
import linecache

import numpy as np
from heard import warnings_heard
from trust import Base, difference, run, total, variable

import chainer

#: Statements: {o}, {a} and {b} are numbers, {l} and {m} lists, {d} a dictionary, {n} is a literal.
STATEMENTS = """
{o} = ({a} * 31 + {b}) % 97
{o} = {a} // ({b} % 5 + 1) - {b} % -7
{o} = -{a} // 3
{o} = divmod({a}, -5)[{n} % 2]
{o} = {a} if {b} % 2 else {n}
{o} = len({l}) + {a}
{o} = {l}[{a} % len({l})] if {l} else {b}
{o} = max({a}, {b}, {n}, key=lambda v: v % 5)
{o} = min({l}, default={a})
{o} = sum(v for v in {l} if v % 2) % 97
{o} = sum({l}, {a}) % 97
{o} = ({a} < {b} < {n}) + ({a} != {b}) * 2
{o} = {a} and {b} or {n}
{o} = int({a} in {l}) + 2 * ({b} not in {d})
{o} = {d}.get({a} % 5, {b})
{o} = {d}.setdefault({a} % 5, {b})
{o} = {d}.pop({a} % 5, {b})
{o} = [*{l}, {a}].index({a})
{o} = {l}.count({a}) + len({d})
{o} = {a} ^ {b}
{o} = {a} & {b} | {n}
{o} = {a} << {n} % 4
{o} = round({a} / 7 * {b}) % 97
{o} = int(f'{{{a} % 100:03d}}'[-2:])
{o} = int('%d%d' % ({a} % 10, {b} % 10))
{o} = sorted({l}, key=lambda v: -v)[0] if {l} else {a}
{o} = next((v for v in {l} if v > {a}), {b})
{o} = any(v > {a} for v in {l}) + all(v < {b} for v in {l})
{o} = functools.reduce(lambda p, q: (p * 3 + q) % 97, {l}, {a})
{o} = [q for p in ({l}, {m}) for q in p if q % 2][-1:] == [{a}]
{o} = (lambda *args, **kw: len(args) * 10 + len(kw))(*{l}[:3], *{m}[:2], k={a})
{o} = len({{*{l}, *{m}}})
{o} = len({{**{d}, {a}: {b}}})
{o} = ({l} == {m}) * 2 + ({d} == {{}}) * 4
{o} = len(str({l})) + len(repr({d}))
{o} = (y := {a} % 7) + y * {b}
{o} = self.n * {a} + self.k
{o} = self.more[{a} % 3] + {b}
{o} = list(reversed({l}))[:1] == {m}[-1:]
{o} = list(zip({l}, {m}))[-1][{n} % 2] if {l} and {m} else {a}
{o} = tuple({l}) == tuple({m})
{o} = abs({a} - {b}) ** 2 % 97
{o} = isinstance({a}, bool) + isinstance({a}, int) * 2
{o} = int(np.argmax({l})) if {l} else {n}
{o} = int(np.sum({l})) % 97
{o} = Kind.B.value + (Kind(1) is Kind.A) * {a}
{o} = Below({a}).named({b})
{o} = Thing.made({a}).v + Thing.twofold({b})
{o} = Called({n})({a}) % 97
{o} = len(Sized({l})) + ({a} in Sized({l})) * 3
{o} = [v for v in Sized({l})][-1:] == [{a}]
{o} = Sized({l})[{n} % 2] if len({l}) > 1 else {a}
{o} = {a} if Sized({l}) else {b}
{o} = len('-'.join([str(v) for v in {l}]))
{o} = 'abcabc'.find('abcd'[{n} % 4]) + 'a,b,c'.count(',')
{o} = len(f'{{{a}!r:>5}}') + ('x' * ({n} % 3) == 'xx')
{o} = len({{*{l}}} & {{*{m}}}) + len(set({l}) - {{{a}}})
{o} = len(set({l}) | set({m}))
{o} = True + {a} - ({b} > 3)
{o} = int({a} * 0.1 * 10) + int({a} / 3 * 3)
{o} = int(round({a} * 0.5)) + int(1e2 // ({a} % 7 + 1))
{o} = math.floor(-{a} / 4) + math.gcd({a}, 12)
{o} = ({a}, {b}, {n})[-1] + ({a}, {b}).index({b})
{o} = len({l}[{a} % 3 :: {n} % 2 + 1])
{o} = functools.partial(lambda p, q: p * 2 + q, {a})({b})
{o} = len(list(zip(*[{l}[:2], {m}[:2]])))
{o} = len(list(itertools.product({l}[:2], {m}[:2])))
{o} = CONSTANTS[{a} % 3] + {b}
{o} = getattr(self.box, 'w{n}', {a})
{o} = (self.box.v is None) + hasattr(self.box, 'v') * 2
{o} = self.more[-1] - self.more[{n} % 3]
{o} = sum([k * v for k, v in self.named.items()]) % 97
{o} = len(self.log) + len(self.named)
{o} = {a} if self.log else {b}
{l} = [p * q % 97 for p in {l}[:3] for q in {m}[:3] if p != q]
{l} = list(itertools.chain({l}[:3], {m}[:3]))
{l} = [v for v in self.more if v != {n}]
{l} = sorted({l}, key=lambda v: (v % 3, -v))
{d} = {{k: v for k, v in {d}.items() if v != {a}}}
{l}.append({a})
{l} = [v * 2 % 97 for v in {l} if v % 3 != {n} % 3]
{l}.insert({a} % 4, {b})
{l} += [{a}, {b}]
{l} = {l}[::-1]
{l}[: {n} % 3] = [{a}]
{l}[{n} % 2 :] = {l}[:{n}]
{l} *= {n} % 3
{l}.sort(key=lambda v: v % 10)
{l}.sort(reverse=True)
{l}.extend([v + {n} for v in {l}[:3]])
{l}.extend({l}[:4])
{l} = list(map(lambda p, q: (p + q) % 97, {l}, {m}))
{l} = [p - q for p, q in zip({l}, {m})]
{l} = [k * v % 97 for k, v in enumerate({l}, {n})]
{l} = sorted(set({l}))
{l} = [*{l}[1:], *{m}[:2]]
{l} = list(itertools.accumulate({l}))[:9]
{l} = {m}
{l} = {l}[:9] + {m}[:9]
{l} = [*range({a} % 5, {b} % 9, {n} % 3 + 1)]
{l}.reverse()
{l} = list({d}.values())[:9]
{l} = list({d})[:9]
{l} = [p for p, q in {d}.items() if q > {a}]
{l}, {m} = {m}, {l}
{l} = [[{a}], {l}[:2]][1]
{l} = sorted({d}.items())[0] if {d} else ({a},); {l} = list({l})
{l} = (lambda v=[]: v + [{a}])()
{d}[{a} % 5] = {b}
{d} = {{v % 5: k for k, v in enumerate({l})}}
{d}.update({{{a} % 5: {b}, {b} % 5: {a}}})
{d} = dict(sorted({d}.items()))
{d} = dict(zip({l}, {m}))
{d} = {{**{d}, {n}: {a}}}
{d} = {d}.copy()
self.log.append({a})
self.n = {a} % 11
self.more[{n} % 3] = {a}
self.named[{n}] = {b}
self.box.v = {a}
{o} = self.box.v
---
if {l}:
    {o} = {l}.pop({n} % len({l}))
---
if {l}:
    del {l}[0]
---
{o} = 0
for k, v in enumerate({l}):
    if v % 5 == {n} % 5:
        break
    if v % 2:
        continue
    {o} = ({o} * 3 + v + k) % 97
else:
    {o} += 1
---
{o} = 0
while {o} < {n}:
    {o} += 2
    if {o} == {a} % 9:
        break
else:
    {o} = {b}
---
def count(v, step={a} % 3):
    nonlocal_ = v + step
    return nonlocal_ * 2
{o} = count({b}) % 97
---
t = {a} % 7
def add(v):
    nonlocal t
    t += v
    return t
{o} = add({n}) + add(1) * 2 + t
---
fs = [lambda v, k=k: v * k for k in range(3)]
gs = [lambda v: v + k for k in range(3)]
{o} = sum(f({a}) for f in fs) + gs[0]({b}) % 97
---
def some(v):
    for k in range(3):
        if k == {n} % 4:
            return
        yield v + k
{l} = [*some({a}), *some({b})]
---
it = iter({l})
{o} = sum(v for v in it if v > {a} % 10) + len(list(it))
---
it = iter([1, {a}, {b}, 4])
{o} = next(it) * 10 + sum(itertools.islice(it, 2))
---
try:
    {o} = {a} + 1
finally:
    {m}.append({n})
---
with chainer.using_config('train', {n} % 2 == 0):
    {o} = int(chainer.config.train) + {a}
---
made = Thing({a}, {l})
made.v += {n}
{o} = made.v + len(made.items) + made.twice
---
made = Thing({a}, [])
other = Thing({b}, made.items)
other.items.append(1)
{o} = len(made.items) + (made == other) * 2 + (made != other) * 4
---
def power(k):
    return 1 if k <= 0 else power(k - 1) * 2 % 97
{o} = power({n}) + {a}
---
def rest(first, *more, last={b}, **named):
    return first + len(more) * 3 + last + len(named)
{o} = rest({a}, *{l}[:2], **{{'z': 1}}) + rest({a}, last={n})
---
{o} = 0
for p, q in zip({l}, {m}):
    for r in range(q % 3):
        if r == p % 3:
            break
        {o} += r + 1
    else:
        {o} += 5
---
with Entered({l}) as there:
    there.append({a})
{o} = len({l})
---
p, *q = [{a}, {b}, *{l}]
{o} = p + len(q)
---
(p, q), r = ({a}, {b}), {n}
{o} = p * 2 + q - r
---
for {o} in {l}[:2]:
    {m} = {m}[:5] + [{o}]
---
values = np.array({l} + [{a}])
values[values > {b}] = {n}
{o} = int(values.sum()) % 97
---
values = np.arange(6).reshape(2, 3)
values[{n} % 2] += {a}
{o} = int(values[:, {n} % 3].max())
"""


def _parts(text):
    first, *blocks = text.strip("\n").split("---\n")
    return first.splitlines() + [b.rstrip("\n") for b in blocks]


PARTS = _parts(STATEMENTS)
HEAD = """
import functools, itertools, math
import numpy as np
import chainer
from random_python import *
"""


class Thing:
    """An object that calls make."""

    def __init__(self, v, items):
        self.v, self.items = v, items

    @property
    def twice(self):
        return self.v * 2

    def __eq__(self, other):
        return self.v == other.v

    __hash__ = None


    @classmethod
    def made(cls, v):
        return cls(v + 1, [])

    @staticmethod
    def twofold(v):
        return v * 2

    def named(self, k):
        return self.v * 3 + k


class Below(Thing):
    def __init__(self, v):
        super().__init__(v, [v])
        self.v += len(self.items)

    def named(self, k=2):
        return super().named(k) + 1


class Called:
    def __init__(self, n):
        self.n = n

    def __call__(self, v):
        return v * self.n + 1


class Sized:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items) // 2

    def __iter__(self):
        return iter(self.items[:3])

    def __contains__(self, v):
        return v % 5 in [k % 5 for k in self.items]

    def __getitem__(self, k):
        return self.items[k + 1] * 2


class Entered:
    def __init__(self, items):
        self.items = items

    def __enter__(self):
        self.items.append(1)
        return self.items

    def __exit__(self, *error):
        self.items.append(2)


class Kind(enum.Enum):
    A, B = 1, 2


CONSTANTS = [3, 5, 7]


class Holder:
    v = 3


class Program(Base):
    """What a random method belongs to."""

    def __init__(self):
        super().__init__()
        self.box, self.n = Holder(), 1

    def step(self, k):
        self.k, self.n = k // 8 % 2, 1
        self.log, self.more, self.named = [], [1, 2, 5], {1: 4}
        y = self(variable(k % 5))
        total(y).backward()
        return y, self.log, self.more, self.named, self.n, self.box


class Recipe:
    """A random method, as some statements."""

    def __init__(self, seed, statements=None):
        self.seed, self.statements = seed, statements
        if statements is None:
            self.statements = [*_statements(np.random.RandomState(seed))]

    def method(self):
        lines = ["n0, n1, n2 = self.n, self.k, 5"]
        lines.append("l0, l1, d0 = [3, 1, 2], [self.k, 4], {1: 2, 0: 7}")
        lines += [line for text in self.statements for line in text.splitlines()]
        lines += [
            "h = 0",
            "for v in (n0, n1, n2, *l0, *l1, *d0, *d0.values()):",
            "    h = (h * 31 + v) % 9973",
            "self.h = h",
            "return (self.a if h % 2 else self.b)(x) * float(h % 13 + 1)",
        ]
        return "\n".join(["    def forward(self, x):", *["        " + line for line in lines]])

    def source(self):
        """A script that shows the program and checks it."""
        where = "PYTHONPATH=tests/chainer_api/graph_optimizations"
        head = f"# seed {self.seed}; run it with {where}"
        body = f"class Model(Program):\n{self.method()}"
        check = "chainer.global_config.static_budget = None\ncheck(lambda: Model, 20)"
        return f"{head}{HEAD}from trust import check\n\n\n{body}\n\n\n{check}\n"

    def make(self):
        """The class of the program, a new one each time."""
        name = f"<random Python {self.seed}>"
        text = f"{HEAD}\nclass Model(Program):\n{self.method()}\n"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        space = {"__name__": name}
        exec(compile(text, name, "exec"), space)
        return space["Model"]

    def differs(self, after=None, calls=20):
        """What a call does otherwise with the decorator, or what the log says, or None.

        It is compiled whatever it costs.
        """
        chainer.global_config.static_budget = None
        try:
            expected = run(self.make, False, calls)
            with warnings_heard() as log:
                told = difference(expected, run(self.make, True, calls, after))
            return told or (f"the log says: {log[0]}" if log else None)
        finally:
            linecache.cache.pop(f"<random Python {self.seed}>", None)

    def shrink(self):
        """The same with as few statements as still fail."""
        best, k = self, 0
        while k < len(best.statements):
            fewer = Recipe(self.seed, best.statements[:k] + best.statements[k + 1 :])
            try:
                fails = fewer.differs() is not None
            except SyntaxError:
                fails = False
            best, k = (fewer, k) if fails else (best, k + 1)
        return best


def _statements(random):
    def some(values):
        return values[random.randint(len(values))]

    numbers, lists = ["n0", "n1", "n2"], ["l0", "l1"]
    for _ in range(random.randint(4, 14)):
        names = {
            "o": some(numbers), "a": some(numbers), "b": some(numbers), "l": some(lists),
            "m": some(lists), "d": "d0", "n": random.randint(1, 8)}
        yield some(PARTS).format(**names)
        if random.rand() < 0.3:
            yield "l0, l1 = l0[-12:], l1[-12:]"


def program(seed):
    """The random method of a seed."""
    return Recipe(seed)
