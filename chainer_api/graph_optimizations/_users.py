"""Functions of the user's in calls without Python.

In: a function that the call has made, and its inputs. Out: lines that compute what its ``forward``
does, read like the method itself, and a node with what that leaves on it: ``backward`` is the
user's own. What may not happen: a ``forward`` that does anything besides goes without being run.
"""

from __future__ import annotations

import ast
import functools
import inspect
import weakref
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer.function import FunctionAdapter
from chainer.utils import type_check
from chainer.variable import Variable

from ._own import CONTAINERS, OWN, OwnObject, Weak
from ._residual import NotProvable, Sym
from ._source import attributes_of, syntax_of
from ._tree import of_the_library

if TYPE_CHECKING:
    from ._dry import Dry

_RETAINED = frozenset({"_input_indexes_to_retain", "_output_indexes_to_retain"})
_PLAIN_CALLS = frozenset("len range zip enumerate isinstance min max any all".split())
_NOT_IN_CHECKS = (
    ast.Attribute, ast.Subscript, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Delete,
    ast.With, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.FunctionDef, ast.ClassDef,
)  # fmt: skip


def is_users(cls: type) -> bool:
    """Whether the code of functions of a class is the user's."""
    return issubclass(cls, FunctionAdapter) or not of_the_library(cls)


class Forward:
    """One that is read: what it gives, and what it leaves on the function."""

    def __init__(self, dry: Dry, func: OwnObject, inputs: list[Any]) -> None:
        self._dry, self._func = dry, func
        own = func.attributes.get("_function") if issubclass(func.cls, FunctionAdapter) else func
        if type(own) is not OwnObject:
            raise NotProvable("a function object of the outside is applied")
        self._own = own
        for name in ("_local_function_hooks", "check_type_forward", "forward", "backward"):
            if name in func.attributes or name in own.attributes:
                raise NotProvable(f"a function has {name} of its own")
        self._checks_types()
        interpreter = dry.interpreter
        arrays = tuple([self._array_of(v) for v in inputs])
        found = interpreter.call(interpreter.getattr(func, "forward"), [arrays], {})
        if type(found) is not tuple or not all(map(_is_array, found)):
            raise NotProvable(f"{own.cls.__name__} gives something else than a tuple of arrays")
        self.outputs: tuple[Sym, ...] = found

    def _array_of(self, v: Sym) -> Sym:
        found = self._dry.array_of(v) if isinstance(v.value, Variable) else v
        if not _is_array(found):
            raise NotProvable("an array that is still to be computed is read")
        return found

    def _checks_types(self) -> None:
        """Types are checked behind forward; where they are wrong the call goes with its Python."""
        cls = self._own.cls
        check = inspect.getattr_static(cls, "check_type_forward")
        if not isinstance(check, FunctionType) or not only_checks_types(check):
            raise NotProvable(f"{cls.__name__}.check_type_forward may do more than that")
        r = self._dry.residual
        r.guard(f"{r.const(cls)}.check_type_forward is not {r.const(check)}")

    def left_on(self, fake: Any) -> Sym:
        """The node, with what is left on it; ``fake`` is its counterpart in the call that is read.
        """
        func, own = self._func, self._own
        node = self._made(func, fake)
        if own is not func:
            made = self._made(own, object.__new__(own.cls), node)
            self._set(node, "_function", made, made.value)
        return node

    def _made(self, obj: OwnObject, fake: Any, node: Sym | None = None) -> Sym:
        r = self._dry.residual
        made = Sym(fake, r.name())
        r.line(f"{made.ref} = new({r.const(obj.cls)})")
        for name, v in obj.attributes.items():
            if type(v) is Weak and v.target is self._func and node is not None:
                self._set(made, name, Sym(None, f"{r.const(weakref.ref)}({node.ref})"))
            elif v is not self._own:
                self._may_be_left(name, v)
                self._set(made, name, v, self._dry.interpreter.native(v, computes=False))
        obj.applied, obj.real = True, made
        return made

    def _set(self, made: Sym, name: str, v: Any, native: Any = None) -> None:
        r = self._dry.residual
        r.line(f"{made.ref}.__dict__[{name!r}] = {r.ref(v)}")
        made.value.__dict__[name] = native

    def _may_be_left(self, name: str, v: Any) -> None:
        """What is held twice must not be changed."""
        kind = type(v)
        if kind is Sym:
            if v.applied or isinstance(v.value, Variable):
                raise NotProvable(f"a function keeps a Variable: {name}")
        elif kind is tuple:
            for item in v:
                self._may_be_left(name, item)
        elif kind in OWN or kind in CONTAINERS and name not in _RETAINED:
            raise NotProvable(f"a function keeps what its forward has made: {name}")


def _is_array(v: Any) -> bool:
    return type(v) is Sym and type(v.value) is np.ndarray and not v.applied


@functools.lru_cache(256)
def only_checks_types(check: FunctionType) -> bool:
    """Whether a ``check_type_forward`` does nothing else, as far as its text tells.

    >>> from chainer.graph_optimizations._users import only_checks_types
    >>> only_checks_types(chainer.Function.check_type_forward)
    True
    """
    if check.__module__.partition(".")[0] == "chainer":
        return True
    node = syntax_of(check)
    if not isinstance(node, ast.FunctionDef) or len(node.args.args) != 2 or check.__closure__:
        return False
    own, types = [a.arg for a in node.args.args]
    inner = [n for statement in node.body for n in ast.walk(statement)]
    names = {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if own in names or not all([_is_harmless(n) for n in inner]):
        return False
    known = {types, *names}
    return all([
        _calls_what_is_known(n.func, known, check) for n in inner if isinstance(n, ast.Call)])


def _is_harmless(n: ast.AST) -> bool:
    if isinstance(n, (ast.Attribute, ast.Subscript)):
        return isinstance(n.ctx, ast.Load)
    return not isinstance(n, _NOT_IN_CHECKS)


def _calls_what_is_known(node: ast.expr, known: set[str], check: FunctionType) -> bool:
    """A function of the module for such checks, a method of a type, or one of Python's own."""
    first, path = attributes_of(node)
    if not isinstance(first, ast.Name):
        return False
    if first.id in known:
        return bool(path)
    found = check.__globals__.get(first.id)
    if not path and first.id not in check.__globals__:
        return first.id in _PLAIN_CALLS
    for name in path[:-1]:
        found = vars(found).get(name) if inspect.ismodule(found) else None
    return found is type_check
