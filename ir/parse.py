"""Reads the printed form of a graph.

In: what ``str(graph)`` gave. Out: a graph with the same text. The text does not tell everything:
constants of several elements come back as zeros, objects (functions, for instance) as their
names, files as their last part.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .graph import Graph
from .layout import dense_strides
from .make import PLACEHOLDER_KINDS, constant, literal, placeholder
from .node import IRError, Node, Origin, Slot
from .op import OPS, REQUIRED

_COMMENT = re.compile(r"  # (.*?):(\d+) ([^#]*)$")
_DEFINED = re.compile(r"(%\S+?)(?:: (\S+?\[[\d,]*\]|object|tuple)(\{[^}]*\})?)? = (.*)$")
_TYPED = re.compile(r"(\w+)\[([\d,]*)\](?:\((.*)\))?$", re.DOTALL)
_SLOT = re.compile(r"<(\d+)>")


class Name:
    """Stands for an object of which the text has only the name."""

    __module__ = ""

    def __init__(self, name: str) -> None:
        self.__qualname__ = name


def parse(text: str) -> Graph:
    """The graph of a printed form.

    Raises:
        IRError: A line is none of such a text; the message has its number.

    >>> from chainwright.ir.parse import parse
    >>> graph = parse('''graph double
    ...   %x: f32[3] = argument
    ...   kernel 0
    ...     %1: f32[3] = multiply %x 2
    ...   return %1''')
    >>> graph.nodes[0].op
    'multiply'
    >>> print(graph)
    graph double
      %x: f32[3] = argument
      kernel 0
        %1: f32[3] = multiply %x 2
      return %1
    """
    return _Reader(text).graph()


class _Reader:
    def __init__(self, text: str) -> None:
        self._lines = text.rstrip("\n").split("\n")
        self._values: dict[str, Node] = {}
        self._saved = 0

    def graph(self) -> Graph:
        if not self._lines[0].startswith("graph "):
            raise IRError(f"line 1: a graph begins with its name, not with {self._lines[0]!r}")
        if not self._lines[-1].startswith("  return"):
            raise IRError(f"line {len(self._lines)}: a graph ends with what it returns")
        inputs, nodes = list[Node](), list[Node]()
        groups: list[list[Node]] = []
        for number, line in enumerate(self._lines[1:-1], 2):
            try:
                if re.fullmatch(r"  kernel \d+", line):
                    groups.append([])
                    continue
                name, node = self._line(line[2:])
            except (ValueError, SyntaxError, TypeError, LookupError, IRError) as error:
                raise IRError(f"line {number}: {line.strip()!r}: {error}") from error
            self._values[name] = node
            (inputs if node.op == "placeholder" else nodes).append(node)
            if line[2:4] == "  " and groups:
                groups[-1].append(node)
        returned = self._lines[-1].removeprefix("  return").strip()
        outputs = tuple(self._operand(token) for token in _tokens(returned, ","))
        return Graph(
            tuple(inputs), tuple(nodes), outputs, self._lines[0].removeprefix("graph "),
            tuple(map(tuple, groups)),
        )  # fmt: skip

    def _line(self, line: str) -> tuple[str, Node]:
        origin = None
        if found := _COMMENT.search(line):
            function, *via = found[3].split(" < ")
            origin = Origin(found[1], int(found[2]), function, tuple(via))
            line = line[: found.start()]
        found = _DEFINED.match(line.strip())
        if found is None:
            raise IRError("this is no line of a graph")
        name, kind, layout, rest = found.groups()
        shape, dtype = _type(kind)
        strides = _strides(layout, shape, dtype)
        if rest in PLACEHOLDER_KINDS:
            return name, self._input(name, shape, dtype, strides, rest)
        op, *tokens = _tokens(rest, " ")
        if op not in OPS:
            raise IRError(f"there is no op {op!r}")
        operands, attrs = list[Node](), dict[str, Any]()
        while tokens:
            token = tokens.pop(0)
            if token.startswith("["):
                attrs["index"] = _index(token[1:-1])
            elif found := re.match(r"(\w+)=", token):
                attrs[found[1]] = _value(token[found.end() :])
            else:
                operands.append(self._operand(
                    f"constant {tokens.pop(0)}" if token == "constant" else token))  # fmt: skip
        settings = {key: attrs.pop(key, default) for key, default in OPS[op].attrs.items()}
        wrong = [*attrs, *(key for key, value in settings.items() if value is REQUIRED)]
        if wrong:
            raise IRError(f"{op} and the attribute {', '.join(wrong)} do not fit")
        return name, Node(
            op, tuple(operands), tuple(settings.items()), shape, dtype, strides, origin)

    def _input(self, name: str, shape: Any, dtype: Any, strides: Any, kind: str) -> Node:
        index = self._saved if kind == "saved" else None
        self._saved += kind == "saved"
        return placeholder(name[1:], shape, dtype, strides, kind, index=index)

    def _operand(self, text: str) -> Node:
        if text.startswith("%"):
            if text not in self._values:
                raise IRError(f"{text} is not computed before it is used")
            return self._values[text]
        if text.startswith("constant "):
            shape, dtype = _type(text.removeprefix("constant "))
            return constant(np.zeros(shape or (), dtype))
        found = _TYPED.match(text)
        if found is not None and found[3] is not None:
            shape, dtype = _type(f"{found[1]}[{found[2]}]")
            return constant(_array(found[3], shape or (), np.dtype(dtype)))
        value = _value(text)
        return Node("literal", (), (("value", value),), (), None, ()) if isinstance(
            value, Name) else literal(value)  # fmt: skip


def _tokens(text: str, separator: str) -> Iterator[str]:
    """The parts of a text between separators that are outside of brackets and quotes."""
    depth, start, quote, escaped = 0, 0, "", False
    for k, char in enumerate(text):
        if quote:
            if char == quote and not escaped:
                quote = ""
            escaped = char == "\\" and not escaped
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == separator and not depth:
            yield text[start:k].strip()
            start = k + 1
    if text[start:].strip():
        yield text[start:].strip()


def _type(text: str | None) -> tuple[tuple[int, ...] | None, np.dtype[Any] | None]:
    if text is None or text == "tuple":
        return None, None
    if text == "object":
        return None, np.dtype(object)
    found = _TYPED.match(text)
    if found is None:
        raise IRError(f"{text!r} is no type")
    shape = tuple(int(n) for n in found[2].split(",") if n)
    short = re.fullmatch(r"([fiuc])(\d+)", found[1])
    return shape, np.dtype(f"{short[1]}{int(short[2]) // 8}" if short else found[1])


def _strides(text: str | None, shape: Any, dtype: Any) -> tuple[int, ...] | None:
    if shape is None or dtype is None:
        return None
    if text is None:
        return dense_strides(shape, dtype.itemsize)
    numbers = tuple(int(n) for n in text[1:-1].removeprefix("strides ").split(","))
    return numbers if "strides" in text else dense_strides(shape, dtype.itemsize, numbers)


def _array(text: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    bare = text.strip("[] ")
    value = {"True": True, "False": False}.get(bare, bare)
    made = np.array(value).astype(dtype)
    return made[()] if not shape else made.reshape(shape)


def _index(text: str) -> Any:
    tree: Any = _expression(f"x[{text}]")
    return _frozen(tree.slice)


def _value(text: str) -> Any:
    return _frozen(_expression(text))


def _expression(text: str) -> ast.expr:
    return ast.parse(_SLOT.sub(r"SLOT_\1", text), mode="eval").body


def _frozen(node: Any) -> Any:
    """The frozen form (see ``frozen.py``) of an expression."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        value = _frozen(node.operand)
        return Name(f"-{value.__qualname__}") if isinstance(value, Name) else -value
    if isinstance(node, ast.Tuple):
        return tuple(map(_frozen, node.elts))
    if isinstance(node, ast.List):
        return "list", tuple(map(_frozen, node.elts))
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return "dict", tuple((_frozen(key), _frozen(value)) for key, value in pairs)
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return "slice", *(None if part is None else _frozen(part) for part in parts)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "slice":
        return "slice", *map(_frozen, node.args)
    return _named(ast.unparse(node))


def _named(name: str) -> Any:
    if name.startswith("SLOT_"):
        return Slot(int(name.removeprefix("SLOT_")))
    if name in ("inf", "nan"):
        return float(name)
    try:
        return np.dtype(name)
    except TypeError:
        return Name(name)
