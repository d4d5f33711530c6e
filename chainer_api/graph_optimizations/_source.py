"""From a function to the syntax tree of its source, where that is sure to be its source."""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import linecache
import os
import time
import weakref
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from chainwright.runtime.trees import parsed, unheard
from chainwright.tracer import is_library

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_BEGUN = time.time() - time.process_time() - 1.0  # at the latest
_known: dict[CodeType, Any] = {}
#: Of functions that were made of such trees.
_made: dict[int, Any] = {}  # by the id of the code: two objects that are equal end apart


def syntax_of(function: FunctionType) -> Any:
    """The ``FunctionDef`` or ``Lambda`` of a function, with the line numbers of its file.

    None where there is no source, or where it is not what the function was compiled from.

    >>> from chainer.graph_optimizations._source import syntax_of
    >>> syntax_of(syntax_of).name
    'syntax_of'
    """
    code = function.__code__
    if id(code) in _made:
        return _made[id(code)]
    try:
        return _known[code]
    except KeyError:
        pass
    found = None
    candidates = _candidates(code, function.__globals__)
    if len(candidates) == 1 and _is_settled(code.co_filename):
        found = candidates[0]
    names = function.__globals__
    modules = [n for n in code.co_names if issubclass(type(names.get(n)), ModuleType)]
    for node in candidates if found is None else ():
        if _compiles_to(node, code, modules):
            found = node
            break
    if len(_known) > 4096:
        _known.clear()
    _known[code] = found
    return found


def remember(function: FunctionType, node: Any) -> None:
    """A function was compiled from a tree that stands in no file."""
    code = function.__code__
    _made[id(code)] = node
    weakref.finalize(code, _made.pop, id(code), None)


def _is_settled(filename: str) -> bool:
    """Whether a file is a library's that has not been written since this process began."""
    try:
        return is_library(filename) and os.stat(filename).st_mtime < _BEGUN
    except OSError:
        return False


def _candidates(code: CodeType, names: dict[str, Any]) -> list[Any]:
    lines = linecache.getlines(code.co_filename, names)
    first = code.co_firstlineno
    if not 0 < first <= len(lines):
        return []
    if code.co_name == "<lambda>":
        return _lambdas(lines, first)
    last = max([line for _, _, line in code.co_lines() if line is not None], default=first)
    for end in range(min(last, len(lines)), min(last + 40, len(lines)) + 1):
        some = lines[first - 1 : end]
        indented = some[0][:1].isspace()
        # As many lines before it as there are in the file: the tree knows where it stands.
        text = "\n" * (first - 1 - indented) + "if 1:\n" * indented + "".join(some)
        try:
            body: Any = parsed(text).body
        except SyntaxError:
            continue
        if indented and len(body) == 1:
            body = body[0].body
        if len(body) == 1 and isinstance(body[0], ast.FunctionDef):
            return body
        return []
    return []


_trees: dict[int, Any] = {}


def _lambdas(lines: list[str], first: int) -> list[Any]:
    text = "".join(lines)
    key = hash(text)
    if key not in _trees:
        if len(_trees) > 64:
            _trees.clear()
        try:
            tree = parsed(text)
        except SyntaxError:
            return []
        _trees[key] = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
    return [n for n in _trees[key] if n.lineno <= first <= (n.end_lineno or n.lineno)]


def class_around(code: CodeType) -> str | None:
    """The name of the class in which a function stands that has this code; None where in none."""
    *outer, _ = code.co_qualname.split(".")
    return outer[-1] if outer and outer[-1] != "<locals>" else None


def mangled(name: str, cls: str | None) -> str:
    """A name as the compiler has it in a class: ``__x`` of a class C is ``_C__x``.

    >>> from chainer.graph_optimizations._source import mangled
    >>> mangled("__x", "_C"), mangled("__x__", "C"), mangled("__x", None), mangled("__x", "__")
    ('_C__x', '__x__', '__x', '__x')
    """
    own = (cls or "").lstrip("_")
    return f"_{own}{name}" if own and name.startswith("__") and not name.endswith("__") else name


def surrounded(
    node: Any, code: CodeType, more: Iterable[str] = (), modules: Iterable[str] = ()
) -> ast.Module:
    """A module with a function in surroundings like those that it had which has this code.

    It stands in its class, and in a function that has its free variables, and ``more``. Calls of
    attributes of imported ``modules`` are compiled in another way.
    """
    cls = class_around(code)
    body: Any
    if isinstance(node, ast.Lambda):
        body = ast.Expr(node)
    else:
        body = ast.FunctionDef(**{**vars(node), "decorator_list": []})
    if cls is not None:
        body = ast.ClassDef(
            name=cls, bases=[], keywords=[], body=[body], decorator_list=[], type_params=[]
        )
    free = [name for name in code.co_freevars if cls is None or name != "__class__"]
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in (*free, *more)], kwonlyargs=[],
        kw_defaults=[], defaults=[],
    )
    own = cls or code.co_name
    names = [] if own in code.co_freevars or own == "<lambda>" else [ast.Global(names=[own])]
    around = ast.FunctionDef(
        name="around", args=arguments, body=[*names, body], decorator_list=[], type_params=[]
    )
    imports = [ast.Import(names=[ast.alias(name=name)]) for name in modules]
    # The function itself, which has many nodes, knows where it stands.
    for new in (*imports, *[i.names[0] for i in imports], *arguments.args, *names, body, around):
        if not hasattr(new, "lineno"):
            new.lineno = new.end_lineno = 1
            new.col_offset = new.end_col_offset = 0
    return ast.Module(body=[*imports, around], type_ignores=[])


def compiled_as(module: ast.Module, code: CodeType) -> CodeType:
    """The code of a module, as that of the file of ``code`` is compiled."""
    with unheard():
        return compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)


def _compiles_to(node: Any, code: CodeType, modules: Iterable[str]) -> bool:
    """Whether the compiler makes this code of the tree, in surroundings like those it had."""
    try:
        made = compiled_as(surrounded(node, code, modules=modules), code)
    except (SyntaxError, ValueError):
        return False
    return any(_same(found, code) for found in codes_in(made) if found.co_name == code.co_name)


def codes_in(code: CodeType) -> list[CodeType]:
    """Those of the functions and classes in it, from the outside to the inside."""
    found = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [*found, *[inner for c in found for inner in codes_in(c)]]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return (
            (a.co_code == b.co_code and a.co_names == b.co_names or _steps(a) == _steps(b))
            and a.co_varnames == b.co_varnames
            and a.co_freevars == b.co_freevars
            and a.co_cellvars == b.co_cellvars
            and (a.co_flags ^ b.co_flags) & ~inspect.CO_NESTED == 0
            and len(a.co_consts) == len(b.co_consts)
            and all(map(_same, a.co_consts, b.co_consts))
        )
    return type(a) is type(b) and repr(a) == repr(b)


# Calls of attributes are compiled in other ways where the name is that of an imported module.
_NO_STEPS = frozenset({"CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG", "NOP"})


def _steps(code: CodeType) -> list[tuple[str, Any]]:
    found, places, jumps = [], {}, []
    for i in dis.get_instructions(code):
        places[i.offset] = len(found)
        if i.opname in _NO_STEPS:
            continue
        name = "LOAD_ATTR" if i.opname == "LOAD_METHOD" else i.opname
        value = i.argrepr
        if name in ("LOAD_ATTR", "LOAD_GLOBAL"):
            value = str(i.argval)  # the text says in each version in another way how it is called
        elif i.opcode in dis.hasjrel or i.opcode in dis.hasjabs:
            jumps.append((len(found), i.argval))
            value = ""
        elif isinstance(i.argval, CodeType):
            value = ""
        found.append((name, value))
    targets = [(at, places.get(target)) for at, target in jumps]
    return [*found, ("jumps", targets)]


def attributes_of(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """What an expression begins with, and the attributes that lead on from there.

    >>> import ast
    >>> from chainer.graph_optimizations._source import attributes_of
    >>> first, path = attributes_of(ast.parse("x.y.z", mode="eval").body)
    >>> first.id, path
    ('x', ['y', 'z'])
    """
    path = list[str]()
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    return node, path
