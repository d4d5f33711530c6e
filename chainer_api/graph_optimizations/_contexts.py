"""``with`` statements that hand every exception on, unseen.

In: the code of a function of the user's, and where in its source a ``with`` stands. Out: whether
all that it enters is known to do nothing about exceptions. What may not happen: one that swallows
some, or looks at them, is taken for such.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import warnings
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ._source import attributes_of, syntax_of

_MISSING = object()
_HARMLESS = (contextlib.nullcontext, warnings.catch_warnings, np.errstate, np.printoptions)


def hands_on(code: CodeType, names: dict[str, Any], where: tuple[int, int]) -> bool:
    """Whether the ``with`` at a line and column is one of these; ``names`` are the code's globals.

    Where Python tells the place of one of its items (since 3.13), whether that is.

    >>> from chainer.graph_optimizations._contexts import hands_on
    >>> hands_on(hands_on.__code__, {}, (1, 4))  # there is none
    False
    """
    cells = tuple([CellType() for _ in code.co_freevars])
    tree = syntax_of(FunctionType(code, names, code.co_name, None, cells))
    own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    for node in ast.walk(tree) if tree is not None else ():
        entered = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        if not entered or (node.lineno, node.col_offset) != where:
            entered = [e for e in entered if (e.lineno, e.col_offset) == where]
        if entered:
            return all([_is_harmless(e, names, own) for e in entered])
    return False


def _is_harmless(node: ast.expr, names: dict[str, Any], own: set[str]) -> bool:
    """Whether an expression calls one of the library's contexts, or another one that is known."""
    if not isinstance(node, ast.Call):
        return False
    first, path = attributes_of(node.func)
    if not isinstance(first, ast.Name) or first.id in own:
        return False
    found = names.get(first.id, getattr(builtins, first.id, _MISSING))
    for name in path:
        found = vars(found).get(name, _MISSING) if isinstance(found, ModuleType) else _MISSING
    module = getattr(found, "__module__", None) or ""
    of_the_library = module.split(".")[0] == "chainer" and module.split(".")[1:2] != ["testing"]
    return of_the_library or any([found is known for known in _HARMLESS])
