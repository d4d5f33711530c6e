"""What remains of a method when its Python is left out: straight-line code, written while an
interpreter runs the method once.

In: reads of the world outside of the call, and computations on what was read. Out: one function
that reads the same again, compares it with what the proof rests on (*guards*), computes, runs
programs, and does what is left to do. What may not happen: a value that another call could find
different, used as if it were known.
"""

from __future__ import annotations

import collections
import functools
import keyword
import re
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from chainer.variable import Variable

from ._values import Incomparable, copied, differs, image


class NotProvable(Exception):
    """The Python of the method cannot be left out; the text says why."""


class TooMuch(NotProvable):
    """To read the method would take too long, each time."""


class Sym:
    """A value from outside of the call, or one computed from such: known by its name there.

    ``value`` is what it is in the call that the proof is made with. A ``fixed`` one is the same in
    all calls, since a guard says so.
    """

    __slots__ = ("applied", "born", "checked", "fixed", "outside", "own", "ref", "slot", "value")

    def __init__(self, value: Any, ref: str, born: int = 0) -> None:
        self.value, self.ref, self.born = value, ref, born
        self.fixed = self.checked = False
        self.own = self.outside = False  # an array that the call has made, or has found
        self.slot: int | None = None
        self.applied = False

    def __repr__(self) -> str:
        return f"<{self.ref}: {type(self.value).__name__}>"


def is_name(text: str) -> bool:
    """Whether an attribute's name may stand behind a dot; ``setattr`` takes any text."""
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


def attribute(owner: str, name: str) -> str:
    """What reads an attribute of what ``owner`` gives.

    >>> from chainer.graph_optimizations._residual import attribute
    >>> attribute("v1", "units"), attribute("v1", "encoders.0")
    ('v1.units', "getattr(v1, 'encoders.0')")
    """
    return f"{owner}.{name}" if is_name(name) else f"getattr({owner}, {name!r})"


NUMBERS = frozenset({int, float, complex})
PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis)})
_UNIQUE = (
    type,
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
    np.ufunc,
    MethodDescriptorType,
    WrapperDescriptorType,
    MemberDescriptorType,
    GetSetDescriptorType,
    property,
    functools._lru_cache_wrapper,
)
_ARRAY_FUNCTION = type(np.sum)  # of NumPy's Python functions, if it is a type of its own
_UNIQUE = (*_UNIQUE, _ARRAY_FUNCTION)
_MOST_VALUES = 10_000  # of which each takes 11 KiB and 70 us (ResNet-152 has some 3,000)
_MOST_COMPARED = 1000  # of a list, say, that is compared in each call, which takes 0.25 us an item
_SMALL = range(-5, 257)  # each of these is one object
MISS = object()


def is_number(value: Any) -> bool:
    """Whether it is a plain number: Python's or NumPy's, no truth value."""
    return type(value) in NUMBERS or isinstance(value, np.generic)


class Residual:
    """The code so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = dict(_NAMES)
        self._by_id: dict[int, str] = {}
        self._constants: dict[int, Any] = {}
        self._loads: dict[str, Any] = {}
        self._guards: set[str] = set()
        self.kinds: dict[str, type] = {}  # of values, by name
        self.objects: dict[int, Sym] = {}  # what was read, by identity
        self._made = set[str]()  # names of what the call itself has made, and of its items
        self.kept: list[Any] = []  # so that ids stay what they are
        self.miss = "return MISS"
        self.count = 0  # of names
        self._contents: list[Sym] = []  # fixed ones whose contents were compared
        self.guarded: Any = lambda: None  # is told of guards
        self.blind = set[int]()  # containers of the outside that are changed: nobody may read them

    # -- text

    def const(self, value: Any) -> str:
        """The name of an object in the generated code."""
        name = self._by_id.get(id(value))
        if name is None:
            name = self._by_id[id(value)] = f"k{len(self._by_id)}"
            self.names[name] = value
        return name

    def constant(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        """A tuple of the method's text, which is one object in all calls."""
        self._constants[id(value)] = value
        return value

    def is_constant(self, value: tuple[Any, ...]) -> bool:
        return id(value) in self._constants

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def guard(self, condition: str, once: bool = True) -> None:
        """Where the condition holds, the proof says nothing about the call.

        What holds ``once`` holds in the rest of the call.
        """
        if once and condition in self._guards:
            return
        self._guards.add(condition)
        self.guarded()
        self.line(f"if {condition}: {self.miss}")

    def ref(self, value: Any) -> str:
        """A value as it stands in the generated code."""
        kind = type(value)
        if kind is Sym:
            return value.ref
        if value is None or kind is bool or kind is type(Ellipsis):
            return repr(value)
        if kind is int:
            return f"({value})" if value < 0 else repr(value)
        if kind is str and len(value) < 40:
            return repr(value)
        if kind is tuple:
            if self.is_constant(value):
                return self.const(value)
            inner = "".join([f"{self.ref(v)}, " for v in value])
            return f"tuple([{inner}])" if inner else "()"  # each call has one of its own
        if kind is list:
            return f"[{', '.join([self.ref(v) for v in value])}]"
        if kind is dict:
            items = [f"{self.ref(k)}: {self.ref(v)}" for k, v in value.items()]
            return "{" + ", ".join(items) + "}"
        if kind is slice:
            return f"slice({self.ref(value.start)}, {self.ref(value.stop)}, {self.ref(value.step)})"
        if (
            kind in PLAIN
            or isinstance(value, (np.generic, np.dtype, range, frozenset))
            or isinstance(value, _UNIQUE)
        ):
            return self.const(value)
        raise NotProvable(f"a {kind.__name__} made in the call is handed to code that is not read")

    # -- reading

    def load(self, text: str, value: Any) -> Any:
        """What stands outside of the call at the place that ``text`` names."""
        if text in self._loads:
            return self._loads[text]
        found = self._loads[text] = self._loaded(text, value)
        return found

    def _loaded(self, text: str, value: Any) -> Any:
        kind = type(value)
        self.kept.append(value)
        if kind in (bool, type(None), type(Ellipsis)) or isinstance(value, _UNIQUE):
            self.guard(f"{text} is not {self.const(value)}")
            return value
        if kind is str or kind is bytes:
            k = self.const(value)
            v = self.name()
            self.guard(
                f"({v} := {text}) is not {k} and (type({v}) is not {kind.__name__} or {v} != {k})"
            )
            return value
        if isinstance(value, np.dtype):
            v = self.name()
            self.guard(f"({v} := {text}) is not {self.const(value)} and {self._other(v, value)}")
            return value
        return self.made(text, value, self.objects)

    def made(self, text: str, value: Any, known: dict[int, Sym] | None = None) -> Any:
        """A value that ``text`` computes or reads."""
        kind = type(value)
        self.kept.append(value)
        if value is None or isinstance(value, (type, np.dtype, ModuleType, FunctionType)):
            v = self.name()
            self.line(f"{v} = {text}")
            other = f" and {self._other(v, value)}" if isinstance(value, np.dtype) else ""
            self.guard(f"{v} is not {self.const(value)}{other}")
            return value
        if known is not None and id(value) in known and not is_number(value):
            # Two ways to one object: that must be so in other calls, too.
            self.guard(f"{text} is not {known[id(value)].ref}")
            return known[id(value)]
        if len(self.kinds) >= _MOST_VALUES:
            raise TooMuch(f"the method reads, or computes, more than {_MOST_VALUES} values")
        sym = Sym(value, self.name(), self.count)
        sym.outside, self.kinds[sym.ref] = known is not None, kind
        first = _FIRST.match(text)
        if known is None or first is not None and first[0] in self._made:
            self._made.add(sym.ref)
        self.line(f"{sym.ref} = {text}")
        of_values = kind in PLAIN or is_number(value) or kind is np.ndarray
        if known is not None or not of_values:  # else it depends on what was read, and its type
            self.guard(f"type({sym.ref}) is not {self.const(kind)}")
        if known is not None and not is_number(value):
            known[id(value)] = sym
        return sym

    def _other(self, name: str, dtype: np.dtype[Any]) -> str:
        """That a value is no such dtype; equal to it are texts and classes, too."""
        k = self.const(dtype)
        return f"(type({name}) is not type({k}) or {name} != {k})"

    def was_there(self, sym: Sym) -> bool:
        """Whether it is there before the call, and is no item of what the call makes."""
        return sym.outside and sym.ref not in self._made

    # -- comparing

    def fix(self, value: Any) -> Any:
        """The plain data that a value is in all calls: a guard says so."""
        kind = type(value)
        if kind is Sym:
            if self.blind and _holds_any(value.value, self.blind):
                raise NotProvable("a container of the outside is changed and read")
            if not value.fixed:
                self._fix(value)
                value.fixed = True
            return value.value
        if kind is tuple or kind is list:
            return kind([self.fix(v) for v in value])
        if kind is dict:
            return {self.fix(k): self.fix(v) for k, v in value.items()}
        if kind is slice:
            return slice(self.fix(value.start), self.fix(value.stop), self.fix(value.step))
        if kind is set or kind is frozenset:
            return kind([self.fix(v) for v in value])
        if (
            kind in PLAIN
            or isinstance(value, (np.generic, np.dtype, range))
            or isinstance(value, _UNIQUE)
        ):
            return value
        raise NotProvable(f"a {kind.__name__} is used as plain data")

    def _fix(self, sym: Sym) -> None:
        value, v = sym.value, sym.ref
        kind = type(value)
        if isinstance(value, Variable):
            raise NotProvable("a Variable is used as plain data")
        k = self.const(value)
        if kind is bool:
            self.guard(f"{v} is not {k}")
        elif kind is np.bool_:
            self.guard(f"type({v}) is not {self.const(kind)} or {v} != {k}")
        elif kind is int and value in _SMALL:
            self.guard(f"{v} is not {k}")
        elif kind in (int, str, bytes):
            self.guard(f"{v} is not {k} and (type({v}) is not {kind.__name__} or {v} != {k})")
        elif kind is float:
            self.guard(
                f"{v} is not {k} and (type({v}) is not float or {v} != {k} or "
                f"{v} == 0 and repr({v}) != {repr(value)!r})"
            )
        else:
            unchanging = kind is tuple and all([type(item) in PLAIN for item in value])
            if kind in (list, tuple, dict) and len(value) > _MOST_COMPARED and not unchanging:
                raise TooMuch(f"a {kind.__name__} of more than {_MOST_COMPARED} items is read")
            self.same_contents(v, value, f"{v} is not {k} and " if unchanging else "")
            self._contents.append(sym)

    def same_contents(self, text: str, value: Any, exact: str = "") -> None:
        """What a text gives has the contents that it has now, with their types."""
        try:
            known = image(value)
        except Incomparable as e:
            raise NotProvable(f"{e} is used as plain data") from None
        self.guard(f"{exact}differs({text}, {self.const(known)})")
        self.kept.append(known)

    def type_of(self, sym: Sym) -> type:
        """The class of a value, the same in all calls."""
        kind = type(sym.value)
        if sym.outside:  # a guard says so already
            return kind
        if kind in PLAIN or isinstance(sym.value, (np.generic, np.ndarray)):
            self.guard(f"type({sym.ref}) is not {self.const(kind)}")
        return kind

    def truth(self, sym: Sym) -> bool:
        """The truth of plain data or of an array, the same in all calls."""
        found = bool(sym.value)
        if not sym.fixed:
            once = not isinstance(sym.value, np.ndarray)
            self.guard(f"not {sym.ref}" if found else sym.ref, once)
        return found

    def contents_change(self) -> None:
        """An array is written: what it, and others that share its memory, hold is not known."""
        for sym in self._contents:
            sym.fixed = False
        self._contents = []

    def function(self, arguments: str) -> Any:
        """Compile what has been written: ``replay(<arguments>)``."""
        body = "\n    ".join(_joined(self.lines))
        code = _compiled(f"def replay({arguments}):\n    {body}\n")
        return defined(code, self.names, "replay")


def defined(code: CodeType, names: dict[str, Any], name: str) -> Any:
    """The function that code defines, where it finds what has these names.

    It is not among them itself: what they hold, parameters for instance, would live until garbage
    is collected, however long nobody has a use for the function any more.
    """
    exec(code, names)
    return names.pop(name)


def _holds_any(value: Any, ids: set[int]) -> bool:
    """Whether nested containers have one of these among them."""
    if isinstance(value, dict):
        items: Any = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        return False
    return id(value) in ids or any([_holds_any(item, ids) for item in items])


_GUARD = re.compile(r"    if (.*): return (.*)")
_FIRST = re.compile(r"v\d+")  # the name that a text begins with


def _joined(lines: list[str]) -> list[str]:
    """The same code with guards in a row as one, and with one way out of most of them.

    There may be a thousand guards, and Python's compiler takes its memory for each statement, and
    for what each does where it fails.
    """
    first = next((k for k, line in enumerate(lines) if line.startswith("except")), None)
    if first is None:
        return lines
    exits = collections.Counter([found[2] for line in lines if (found := _GUARD.fullmatch(line))])
    usual = exits.most_common(1)[0][0] if exits else None
    found, conditions, exit_of = list[str](), list[str](), ""

    def end() -> None:
        if conditions:
            out = "break" if exit_of == usual else f"return {exit_of}"
            found.append(f"        if {' or '.join(conditions)}: {out}")
            conditions.clear()

    for line in lines[1:first]:
        guard = _GUARD.fullmatch(line)
        if guard is None or guard[2] != exit_of:
            end()
        if guard is None:
            found.append(f"    {line}")
        else:
            exit_of = guard[2]
            conditions.append(f"({guard[1]})")
    end()
    return [lines[0], "    while True:", *found, f"    return {usual}", *lines[first:]]


@functools.lru_cache(256)
def _compiled(text: str) -> CodeType:
    return compile(text, "<chainwright replay>", "exec")


_NAMES = {
    "MISS": MISS,
    "Variable": Variable,
    "ndarray": np.ndarray,
    "differs": differs,
    "new": object.__new__,
    "copied": copied,
    "overlap": np.may_share_memory,
}
