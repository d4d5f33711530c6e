"""Text that makes again what a call has made itself: lists, objects, named tuples.

In: values of the interpreter. Out: lines, after which each of them has a name. What may not happen:
two objects where the method has made one, or one where it has made two.
"""

from __future__ import annotations

from typing import Any

from chainer.function_node import FunctionNode

from ._own import Bound, Closure, OwnObject, Partial
from ._residual import NotProvable, Residual, Sym


class Writer:
    """Text that makes values again: those that a call has made, at its end."""

    def __init__(self, residual: Residual) -> None:
        self.residual, self.lines = residual, list[str]()
        self._known: dict[int, str] = {}

    def text(self, value: Any) -> str:
        kind = type(value)
        r = self.residual
        if kind is Sym:
            if value.applied:
                raise NotProvable("a result that the program does not give is held")
            return value.ref
        if kind is tuple:
            return self._tuple(value)
        if isinstance(value, tuple) or kind is slice:
            return self._once(value, kind)
        if kind in (list, dict) or kind is OwnObject or kind.__name__ == "OrderedDict":
            return self._mutable(value, kind)
        if kind in (set, frozenset) and not value:
            return f"{kind.__name__}()"
        if kind in (Closure, Bound, Partial) or hasattr(value, "__next__"):
            raise NotProvable("a function or iterator made in the call is held")
        return r.ref(value)

    def _once(self, value: Any, kind: type) -> str:
        """A named tuple or slice: one object, wherever it is held."""
        name = self._known.get(id(value))
        if name is None:
            items = (value.start, value.stop, value.step) if kind is slice else value
            text = f"{self.residual.const(kind)}({', '.join(map(self.text, items))})"
            name = self._known[id(value)] = self.residual.name()
            self.lines.append(f"{name} = {text}")
        return name

    def _tuple(self, value: tuple[Any, ...]) -> str:
        if not value or self.residual.is_constant(value):
            return self.residual.ref(value)
        name = self._known.get(id(value))
        if name is None:
            inner = ", ".join([self.text(v) for v in value])
            name = self._known[id(value)] = self.residual.name()
            self.lines.append(f"{name} = tuple([{inner}])")
        return name

    def _mutable(self, value: Any, kind: type) -> str:
        known = self._known.get(id(value))
        if known is not None:
            return known
        r = self.residual
        name = self._known[id(value)] = r.name()
        if kind is list:
            self.lines.append(f"{name} = []")
            items = ", ".join([self.text(v) for v in value])
            self.lines.append(f"{name} += [{items}]")
        elif kind is OwnObject:
            if value.applied or issubclass(value.cls, FunctionNode):
                raise NotProvable("a function object is held")
            self.lines.append(f"{name} = new({r.const(value.cls)})")
            d = r.name()
            self.lines.append(f"{d} = {name}.__dict__")
            for k, v in value.attributes.items():
                self.lines.append(f"{d}[{k!r}] = {self.text(v)}")
        else:
            self.lines.append(f"{name} = {r.const(kind)}()")
            for k, v in value.items():
                self.lines.append(f"{name}[{r.ref(k)}] = {self.text(v)}")
        return name
