"""Guards of a proof that need not be looked at, since nothing they read has changed.

In: the lines of a proof's code, and a call for which they hold. Out: the same code without the
guards whose objects native code can watch (attributes of links and modules, classes, lists, layouts
of arrays; see ``runtime/native/words.py``), and the table of what it watches. What may not happen:
a guard left out that could fail while the table is as it was. So a line is left out only where
each part of it is understood; whatever runs code of anybody's, or is another thing in each call or
thread, stays.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from chainer._tracing import note_holder
from chainwright.runtime.native import looks, words
from chainwright.runtime.trees import parsed

from ._direct import Direct
from ._own import IS_MADE, MISSING, decides, in_class
from ._plan import Plan
from ._residual import defined
from ._source import codes_in

_AT_ONCE, _TRIES = 3, 6  # times that a brief way is looked for again: soon, and at all
_SOON = 64  # uses until it is asked again for native code
_LONG = 1024  # uses after which it was no mistake
_LEAST = 8  # guards fewer, or it is no gain
_OF_LAYOUT = re.compile(
    r"if type\((v\d+)\) is not ndarray or \1\.shape != (k\d+) or \1\.dtype is not (k\d+) and "
    r"\1\.dtype != \3 or \1\.strides != (k\d+): return (MISS|undone\(carrier\))"
)
#: Draws come in the order of the method, among the guards, of which they change nothing.
_OF_DRAW = re.compile(
    r"carrier\.(first_state = first_state\(\)|states\[k\d+\] = k\d+\(\)"
    r"|drawn\.append\(k\d+\(\*k\d+, \*\*k\d+\)\))"
)
_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__closure__"})
_OF_ARRAYS = frozenset({"shape", "dtype", "strides"})
_COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Moving(Exception):
    """The expression may be another thing in the next call."""


class Watch:
    """Expressions that are what they were as long as the words are: their values, and the words.

    ``volatile`` are the addresses of words that change although the guards hold.
    """

    def __init__(self, names: dict[str, Any], chain: Any, volatile: set[int]) -> None:
        self.names, self.volatile = names, volatile
        self.known: dict[str, Any] = {"chain": chain}
        #: What is watched: addresses with what stands there, in their order.
        self.watched: dict[int, int] = {}
        #: What is held for it.
        self.held: list[Any] = []

    def _watch(self, found: Sequence[words.Word] | None) -> None:
        if found is None or not self.volatile.isdisjoint([at for at, _ in found]):
            raise Moving
        for at, word in found:
            if self.watched.setdefault(at, word) != word:
                raise Moving

    def value(self, node: ast.expr) -> Any:
        """What an expression is.

        Raises:
            Moving: It cannot be watched.
        """
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Moving
        try:
            return method(node)
        except (LookupError, AttributeError) as e:  # the call itself has taken it away
            raise Moving from e

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        for where in (self.known, self.names):
            if node.id in where:
                return where[node.id]
        raise Moving

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        assert isinstance(node.target, ast.Name)
        found = self.known[node.target.id] = self.value(node.value)
        return found

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        found = self.value(node.operand)
        if isinstance(node.op, ast.USub) and type(found) in (int, float):
            return -found
        if isinstance(node.op, ast.Not) and type(found) is bool:
            return not found
        raise Moving

    def _boolop(self, node: ast.BoolOp) -> Any:
        found: Any = None
        for operand in node.values:
            found = self.value(operand)
            if type(found) is not bool:
                raise Moving
            if found is isinstance(node.op, ast.Or):
                break
        return found

    def _compare(self, node: ast.Compare) -> bool:
        if len(node.ops) != 1:
            raise Moving
        a, b = self.value(node.left), self.value(node.comparators[0])
        kind = type(node.ops[0])
        if kind in (ast.In, ast.NotIn):
            if type(b) is not dict or type(a) is not str:
                raise Moving
            self._watch(words.entry_words(b, self.held, a))
        elif kind not in (ast.Is, ast.IsNot) and not (words.is_plain(a) and words.is_plain(b)):
            raise Moving
        if kind not in _COMPARED:
            raise Moving
        return _COMPARED[kind](a, b)

    def _call(self, node: ast.Call) -> Any:
        f = node.func
        if not isinstance(f, ast.Name) or f.id in self.names or len(node.args) != 1:
            raise Moving
        if node.keywords or f.id not in ("type", "len"):
            raise Moving
        obj = self.value(node.args[0])
        if f.id == "type":
            self._watch(words.class_of(obj))
            return type(obj)
        if type(obj) is list:
            self._watch(words.list_words(obj, self.held))
        elif type(obj) is dict:
            self._watch(words.size_words(obj))
        elif type(obj) is tuple:
            self._watch(words.tuple_words(obj, self.held))
        else:
            raise Moving
        return len(obj)

    def _subscript(self, node: ast.Subscript) -> Any:
        obj, key = self.value(node.value), self.value(node.slice)
        if type(obj) is dict and type(key) is str:
            self._watch(words.entry_words(obj, self.held, key))
        elif type(obj) is list and type(key) is int:
            self._watch(words.list_words(obj, self.held))
        elif type(obj) is tuple and type(key) is int:
            self._watch(words.tuple_words(obj, self.held))
        else:
            raise Moving
        return obj[key]

    def _attribute(self, node: ast.Attribute) -> Any:
        obj, name = self.value(node.value), node.attr
        if isinstance(obj, type):
            return self._of_class(obj, name)
        kind = type(obj)
        if kind is np.ndarray:
            return self._of_array(obj, name)
        if kind is FunctionType and name in _OF_FUNCTIONS:
            found = getattr(obj, name)
            if found is None:
                raise Moving
            self._watch(words.member_words(obj, found, self.held))
            return found
        return self._of_instance(obj, name)

    def _of_array(self, obj: np.ndarray, name: str) -> Any:
        if name not in _OF_ARRAYS:
            raise Moving
        self._watch(words.class_of(obj))
        self._watch(words.array_words(obj))
        self.held.append(obj.dtype)
        return getattr(obj, name)

    def _of_class(self, obj: type, name: str) -> Any:
        """An attribute of a class: what stands there, nothing that code makes of it."""
        for_all = in_class(type(obj), name)
        if type(obj).__getattribute__ is not type.__getattribute__ or (
            for_all is not MISSING and decides(for_all)
        ):
            raise Moving  # ``__dict__``, ``__name__``: the class of classes makes them
        found = in_class(obj, name)
        if found is MISSING or hasattr(type(found), "__get__") and type(found).__flags__ & IS_MADE:
            raise Moving
        if getattr(obj, name) is not found:
            raise Moving
        self._watch(words.class_of(obj))
        self._watch(words.class_words(obj))
        return found

    def _of_instance(self, obj: Any, name: str) -> Any:
        """An attribute of an object, where that is an entry of its dictionary or of its class's."""
        kind = type(obj)
        is_module = issubclass(kind, ModuleType)
        usual = ModuleType if is_module else object
        if kind.__getattribute__ is not usual.__getattribute__ or not hasattr(obj, "__dict__"):
            raise Moving
        raw = in_class(kind, name)
        if raw is not MISSING and name != "__dict__" and decides(raw):
            raise Moving
        self._watch(words.class_of(obj))
        found = obj.__dict__
        if name == "__dict__" and type(raw) not in (GetSetDescriptorType, MemberDescriptorType):
            raise Moving
        if is_module:
            self._watch(words.member_words(obj, found, self.held))
        else:
            self._watch(words.attributes_at(obj))
        if name == "__dict__":
            return found
        self._watch(words.entry_words(found, self.held, name))
        if name in found:
            return found[name]
        if raw is MISSING or hasattr(type(raw), "__get__"):
            raise Moving
        return raw


def _words_of_plans(
    plans: Sequence[tuple[Any, int, Any]], held: list[Any],
) -> list[words.Word]:
    """That the programs are there; whether pieces were dropped changes with each of their uses."""
    found = []
    for app, first, plan in plans:
        there = words.entry_words(app.plans, held, first)
        own = words.instance_words(plan, held)
        if app.plans.get(first) is not plan or not plan.ready() or there is None or own is None:
            raise Moving
        found += [*there, *own]
    return found


def _function(body: Sequence[str]) -> str:
    lines = ["def brief(chain, args, kw, carrier):", "try:", *body]
    return "\n    ".join(lines) + "\n"


class Brief:
    """Code that does what a proof's does, as long as ``table`` is as it was."""

    def __init__(
        self, lines: Sequence[str], names: dict[str, Any], chain: Any, volatile: set[int],
        plans: Sequence[tuple[Any, int, Any]],
    ) -> None:
        self._names = names
        self._watch = Watch(names, chain, volatile)
        first = next(
            k for k, line in enumerate(lines)
            if line.lstrip().startswith("carrier.") and not _OF_DRAW.fullmatch(line.strip()))
        guards = [line.strip() for line in lines[1:first]]
        # One by one: the tree of all of them would take megabytes.
        kept = [x for line in guards if (x := self._kept(line, *parsed(line).body))]
        self.watched, self._held = self._watch.watched, self._watch.held
        of_plans = _words_of_plans(plans, self._held)
        self.table = looks.table_of([*self.watched.items(), *of_plans])
        #: How many lines it has less.
        self.saved = first - 1 - len(kept)
        self._finish([*[f"    {line}" for line in kept], *lines[first:]])

    def changed_since(self, older: Brief) -> set[int]:
        """The addresses of words that are not as they were then, though the guards hold."""
        return {at for at, word in older.watched.items() if self.watched.get(at, word) != word}

    def _finish(self, body: list[str]) -> None:
        given = {}
        chain = self._watch.known.pop("chain")
        codes = codes_in(compile(_function(body), "<chainwright brief>", "exec"))
        bound = {name for code in codes for name in code.co_varnames + code.co_cellvars}
        used = bound.union(*[code.co_names for code in codes])
        for name, value in self._watch.known.items():
            if name not in used:
                continue
            if value is chain:  # whose life is not to depend on it
                body = [f"    {name} = chain", *body]
            elif name in bound:  # ``v1 += v2``: an array that is changed in place
                body = [f"    {name} = known_{name}", *body]
                given[f"known_{name}"] = value
            else:
                given[name] = value
        self.text = _function(body)
        space = {**self._names, **given}
        for name, plan in self._names.items():
            if type(plan) is Plan:
                space[name] = Direct(plan)
        code = compile(self.text, "<chainwright brief>", "exec")
        self.replay: Any = defined(code, space, "brief")
        self.replay.names = space  # for whoever wants to know who holds the arrays in it
        self.replay.text = self.text
        note_holder(self.replay, [v for v in space.values() if type(v) is np.ndarray])
        del self._watch, self._names  # which hold what the call has found

    def _kept(self, line: str, statement: ast.stmt, *more: ast.stmt) -> str:
        """What is left of a line: nothing, where all of it can be watched."""
        if more:
            return line
        try:
            if isinstance(statement, ast.If):
                if self._watch.value(statement.test) is False:
                    return ""
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                found = self._watch.value(statement.value)
                self._watch.known[statement.targets[0].id] = found
                return ""
        except Moving:
            pass
        if isinstance(statement, ast.If):
            return self._fewer_compared(statement.test) or self._by_layout(line)
        return line

    def _by_layout(self, line: str) -> str:
        """The layout of an array, compared by native code."""
        found = _OF_LAYOUT.fullmatch(line)
        if found is None:
            return line
        name, *form, end = found.groups()
        shape, dtype, strides = (self._names[k] for k in form)
        fit, table = looks.layouts(), looks.layouts_table([(shape, dtype, strides)])
        if fit is None or table is None:
            return line
        number = sum([k.startswith("layout") for k in self._names])
        self._names = {**self._names, "fit": fit, f"layout{number}": table}
        return f"if not fit((layout{number}, {name})): return {end}"

    def _fewer_compared(self, test: ast.expr) -> str:
        """``len({id(a), id(b)}) != 2``, with those left out that are the same in each call."""
        items = _compared_ids(test)
        if items is None:
            return ""
        known = self._watch.known
        there = {id(known[name]) for name in items if name in known}
        others = [name for name in items if name not in known]
        if len(there) + len(others) != len(items):
            return ""
        if not others:
            return "pass"
        ids = f"({''.join([f'id({name}), ' for name in others])})"
        self._names = {**self._names, "there": frozenset(there)}
        more = f" or len({{*{ids}}}) != {len(others)}" if len(others) > 1 else ""
        return f"if not there.isdisjoint({ids}){more}: return undone(carrier)"


class Shortcut:
    """Finds a brief way for a proof, and again where what it watched has changed."""

    def __init__(
        self, lines: Sequence[str], names: dict[str, Any], holds: Any,
        plans: tuple[tuple[Any, int, Any], ...],
    ) -> None:
        self._lines, self._names, self._holds, self._plans = lines, names, holds, plans
        #: Of the programs: as long as the table is as it was they are there, or have been dropped.
        self.pieces = [piece for _, _, plan in plans for piece in plan.pieces]
        self.same: Any = None  # compares
        #: The table and the code of a brief way, as long as there is one; together, for threads.
        self.found: tuple[np.ndarray, Callable[..., Any]] | None = None
        self._last: Brief | None = None
        #: How often words have changed, by their addresses, and the one with which it was lost.
        self._changes = Counter[int]()
        self._lost_by: int | None = None
        self._tries = 0
        self.at = math.inf  # the use after which one is looked for
        self._made_at = 0.0

    def wanted_at(self, use: float) -> None:
        """Look for one after so many uses of the proof."""
        self.at = use

    def is_lost(self, use: int) -> None:
        """Something has changed; that may happen now and then, or in each call."""
        found, self.found = self.found, None
        self._lost_by = None if found is None else looks.first_change(found[0])
        if use - self._made_at >= _LONG:
            self._tries = 0
        self.at = use + (1 if self._tries < _AT_ONCE else 4**self._tries)
        if self._tries > _TRIES:
            self.give_up()

    def give_up(self) -> None:
        self.at, self._last, self._lines = math.inf, None, ()

    def find(self, use: int, chain: Any, args: Any, kw: Any, carrier: Any) -> None:
        """Look for one, in a call for which the guards hold."""
        if not looks.are_native():
            self.at = use + _SOON  # LLVM, which takes time and memory, may not be there yet
            return
        self.at, self._tries, self._made_at = math.inf, self._tries + 1, use
        self.same = looks.comparison()
        if self.same is None:
            return
        try:
            brief = self._made(chain)
        except (Moving, SyntaxError, ValueError):
            self.give_up()
            return
        # The words are older than these looks, and the same as after them: so are the objects.
        if brief.saved < _LEAST or self._holds(chain, args, kw, carrier) is False:
            self.give_up()
        elif self.same(brief.table):
            self.found = brief.table, brief.replay

    def _made(self, chain: Any) -> Brief:
        brief = Brief(self._lines, self._names, chain, self._volatile(), self._plans)
        if self._last is not None:
            changed = brief.changed_since(self._last)
            if self._lost_by is not None:  # it may be what it was again
                changed.add(self._lost_by)
            before = self._volatile()
            self._changes.update(changed)
            if self._volatile() != before:
                brief = Brief(self._lines, self._names, chain, self._volatile(), self._plans)
        self._last = brief
        return brief

    def _volatile(self) -> set[int]:
        """Addresses of what changes again and again, while the guards hold or in between."""
        return {at for at, times in self._changes.items() if times > 1}


def _compared_ids(test: ast.expr) -> list[str] | None:
    """The names in a comparison that several objects are different ones."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Call):
        return None
    call = test.left
    if not isinstance(call.func, ast.Name) or call.func.id != "len" or not call.args:
        return None
    if not isinstance(call.args[0], ast.Set) or not isinstance(test.ops[0], ast.NotEq):
        return None
    names = []
    for item in call.args[0].elts:
        if not isinstance(item, ast.Call) or not isinstance(item.args[0], ast.Name):
            return None
        if not isinstance(item.func, ast.Name) or item.func.id != "id":
            return None
        names.append(item.args[0].id)
    return names

