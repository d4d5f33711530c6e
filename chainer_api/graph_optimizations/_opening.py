"""Loops whose number of turns is another one in each call: their turns as compiled calls.

In: a method, of whose calls hardly two apply the same functions, since a loop goes as often as a
sentence is long. Out: the same method, in which the body of the loop is a function of its own. That
function is compiled like a decorated method: it has ways, programs and proofs, however often it is
called. What may not happen: a method that does anything else than before. So a loop is left as it
is where its body could tell that it stands in another function, or where a name may have no value.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Sequence, Set
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_NEWLOCALS
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from ._names import (
    Flow,
    leave_the_loop,
    names_read,
    names_read_outside,
    names_rebound,
    names_set,
    names_shared,
)
from ._source import codes_in, compiled_as, remember, surrounded, syntax_of

_NO_PLAIN_CALLS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
#: What looks at the variables of a function, or at its frame.
_LOOKS = frozenset(
    "locals vars dir eval exec globals breakpoint inspect _getframe currentframe f_locals f_back"
    .split()
)
#: Functions that use up an iterator at once.
_AT_ONCE = frozenset("all any dict list max min set sorted sum tuple".split())
_LETS_PASS = frozenset("using_config no_backprop_mode force_backprop_mode errstate".split())
_REFUSED = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global,
    ast.Nonlocal, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom,
    ast.Match,
)  # fmt: skip
# Names that no user's program has, since they are none.
_ITEMS, _CHUNK, _ENDS, _WITHIN = ".items", ".chunk", ".ends", ".within"


class Turns(NamedTuple):
    """A loop: the function of some of its turns, and the place where it stands.

    It is called with the object, values of the method's variables, and the items of the turns.
    """

    function: FunctionType
    place: str


class Opened(NamedTuple):
    """A method with its loops opened, before it is known what calls their turns.

    ``code`` has, besides the free variables of the method, one of the name ``turns<k>`` for each
    loop, and one that cuts iterables into chunks.
    """

    method: FunctionType
    code: CodeType
    turns: list[Turns]
    callees: list[tuple[str, ...]]  # what it calls of its object: paths of attributes

    def function(self, loops: Sequence[Any], within: Callable[[Any], Any]) -> Callable[..., Any]:
        """The method, with ``loops`` for the turns of its loops, each with its ``chunks``.

        ``within`` gives what is called in the place of what the method calls of its object.
        """
        cells: dict[str, Any] = {f".turns{k}": loop for k, loop in enumerate(loops)}
        cells |= {f".chunks{k}": loop.chunks for k, loop in enumerate(loops)}
        cells |= {f".listed{k}": loop.listed for k, loop in enumerate(loops)}
        cells[_WITHIN] = within
        return _function(self.method, self.code, cells)


def opened(method: Callable[..., Any]) -> Opened | None:
    """A method with the body of each loop that may go any number of times as a function.

    None where there is no such loop, or where its source is not to be had.

    >>> from chainer.graph_optimizations._opening import opened
    >>> opened(lambda self, xs: sum(xs)) is None
    True
    """
    if type(method) is not FunctionType or method.__code__.co_flags & _NO_PLAIN_CALLS:
        return None
    node = syntax_of(method)
    if not isinstance(node, ast.FunctionDef) or not (node.args.posonlyargs or node.args.args):
        return None
    if any([_name_of(n) in _LOOKS for n in ast.walk(node)]):
        return None
    try:
        return _Method(method, copy.deepcopy(node)).opened()
    except (SyntaxError, ValueError, RecursionError):  # a tree that the compiler does not take
        return None


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


class _Method:
    """One that is being opened."""

    def __init__(self, method: FunctionType, node: ast.FunctionDef) -> None:
        self._method, self._node = method, node
        args = node.args
        parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        self._given = {a.arg for a in parameters if a is not None}
        self._self = [*args.posonlyargs, *args.args][0].arg
        code = method.__code__
        self._locals = {*code.co_varnames, *code.co_cellvars}
        self._bodies: list[ast.FunctionDef] = []

    def opened(self) -> Opened | None:
        node = self._node
        if self._self in names_set(node.body):
            return None
        node.body, _ = self._block(node.body, frozenset(self._given))
        calls = _Calls(self._self)
        node.body = [calls.visit(statement) for statement in node.body]
        if not self._bodies and not calls.paths:
            return None
        node.decorator_list = []
        made, *bodies = _compiled(self._method, [node, *self._bodies])
        turns = []
        for body, code in zip(self._bodies, bodies, strict=True):
            function = _function(self._method, code, {}, own=True)
            function.__qualname__ += f", loop at line {body.lineno}"
            remember(function, body)
            turns.append(Turns(function, f"{code.co_filename}:{body.lineno}"))
        return Opened(self._method, made, turns, calls.paths)

    def _block(
        self, body: list[ast.stmt], known: Set[str]
    ) -> tuple[list[ast.stmt], Set[str]]:
        """The statements, with loops opened; ``known`` are the names that have values before."""
        found = list[ast.stmt]()
        for statement in body:
            before, known = known, Flow(known).run([statement])
            if isinstance(statement, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign)):
                statement = _Lists(self, before).visit(statement)
            if isinstance(statement, ast.For) and self._varies(statement.iter):
                try:
                    found.append(self._open(statement, before))
                    continue
                except _AsItIs:
                    pass
            inside = before
            if isinstance(statement, (ast.For, ast.While)):
                if isinstance(statement, ast.For):
                    inside = before | names_set([statement.target])
                statement.body, _ = self._block(statement.body, inside)
            elif isinstance(statement, ast.If):
                statement.body, _ = self._block(statement.body, inside)
                statement.orelse, _ = self._block(statement.orelse, inside)
            elif isinstance(statement, ast.With) and all(map(_catches_nothing, statement.items)):
                statement.body, _ = self._block(statement.body, inside)
            found.append(statement)
        return found, known

    def _varies(self, node: ast.expr) -> bool:
        """Whether an iterable may be a longer one in another call, as far as the text tells."""
        names = names_read([node])
        return bool((names & self._locals) - {self._self, _ITEMS})

    def _open(self, loop: ast.For, known: Set[str]) -> ast.stmt:
        """The loop, whose turns are those of a function.

        Raises:
            _AsItIs: The loop has to stay as it is.
        """
        within = [loop.target, *loop.body]
        _check_body(within, _AT_ONCE - self._locals - self._method.__globals__.keys())
        assigned = names_set(within)
        if self._self in assigned or assigned & names_shared(self._node):
            raise _AsItIs
        flow = Flow(names_set([loop.target]))
        at_end = flow.run(loop.body)
        for some in flow.ends:
            at_end = at_end & some
        exposed = flow.exposed & self._locals
        outside = names_read_outside(self._node, within)
        results = sorted(assigned & (exposed | outside))
        needed = exposed | ({*results} - at_end)
        needed = needed - {self._self}
        if not needed <= known or needed & names_rebound(self._node):
            raise _AsItIs
        arguments = sorted(needed)
        breaks = leave_the_loop(loop.body)
        k = len(self._bodies)
        self._bodies.append(self._turns(loop, arguments, results, breaks))
        turns = ast.Call(
            func=_load(f".turns{k}"),
            args=[*map(_load, [self._self, *arguments]), ast.Starred(_load(_CHUNK), ast.Load())],
            keywords=[],
        )
        stored = [*([_ENDS] if breaks else []), *results]
        made: list[ast.stmt]
        if stored:
            target = ast.Tuple([ast.Name(n, ast.Store()) for n in stored], ast.Store())
            made = [ast.Assign(targets=[target], value=turns)]
        else:
            made = [ast.Expr(turns)]
        if breaks:
            made.append(ast.If(test=_load(_ENDS), body=[ast.Break()], orelse=[]))
        found = ast.For(
            target=ast.Name(_CHUNK, ast.Store()),
            iter=ast.Call(
                func=_load(f".chunks{k}"), args=[loop.iter, _load(self._self)], keywords=[]),
            body=made, orelse=loop.orelse,
        )
        return _at(found, loop)

    def open_list(self, node: ast.ListComp, known: Set[str]) -> ast.expr:
        """A list comprehension, whose turns are those of a function.

        Raises:
            _AsItIs: It has to stay as it is.
        """
        first = node.generators[0]
        if not self._varies(first.iter) or any([g.is_async for g in node.generators]):
            raise _AsItIs
        rest = ast.ListComp(node.elt, [
            ast.comprehension(first.target, _load(_ITEMS), first.ifs, 0), *node.generators[1:]])
        for n in ast.walk(rest):
            if isinstance(n, (ast.NamedExpr, ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom)):
                raise _AsItIs
        arguments = sorted((names_read([rest]) & self._locals) - {self._self})
        if not known.issuperset(arguments) or names_rebound(self._node).intersection(arguments):
            raise _AsItIs
        k = len(self._bodies)
        made = ast.FunctionDef(
            name=self._node.name, args=_arguments([self._self, *arguments]),
            body=[ast.Return(rest)], decorator_list=[], type_params=[],
        )
        self._bodies.append(copy.deepcopy(_at(made, node)))
        return _at(ast.Call(
            func=_load(f".listed{k}"),
            args=[first.iter, *map(_load, [self._self, *arguments])], keywords=[],
        ), node)

    def _turns(
        self, loop: ast.For, arguments: list[str], results: list[str], breaks: bool
    ) -> ast.FunctionDef:
        """The function of some turns: it gives ``results``, and before them whether it is over."""

        def gives(ends: bool) -> ast.stmt:
            values: list[ast.expr] = [ast.Constant(ends)] if breaks else []
            values += map(_load, results)
            return ast.Return(ast.Tuple(values, ast.Load()) if values else None)

        inner = ast.For(
            target=loop.target, iter=_load(_ITEMS), body=loop.body,
            orelse=[gives(False)] if breaks else [],
        )
        made = ast.FunctionDef(
            name=self._node.name,
            args=_arguments([self._self, *arguments]), body=[inner, gives(breaks)],
            decorator_list=[], type_params=[],
        )
        return copy.deepcopy(_at(made, loop))


def _arguments(names: list[str]) -> ast.arguments:
    """Those of a function of turns, with the items."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in names], vararg=ast.arg(_ITEMS), kwonlyargs=[],
        kw_defaults=[], defaults=[],
    )


def _at(made: Any, node: ast.AST) -> Any:
    """A tree whose new nodes stand where ``node`` stands."""
    for n in ast.walk(made):
        if not hasattr(n, "lineno") and "lineno" in n._attributes:
            ast.copy_location(n, node)
    return made


class _Calls(ast.NodeTransformer):
    """Asks what is to be called, in each call of an attribute of the method's object."""

    def __init__(self, name: str) -> None:
        self._name, self.paths = name, list[tuple[str, ...]]()

    def visit_Call(self, node: ast.Call) -> Any:  # noqa: N802 - as ast has it
        self.generic_visit(node)
        path, at = list[str](), node.func
        while isinstance(at, ast.Attribute):
            path.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id == self._name and path:
            self.paths.append(tuple(reversed(path)))
            node.func = _at(
                ast.Call(func=_load(_WITHIN), args=[node.func], keywords=[]), node.func)
        return node

    def _leave(self, node: Any) -> Any:
        return node

    visit_Lambda = visit_FunctionDef = visit_ClassDef = _leave  # noqa: N815


class _Lists(ast.NodeTransformer):
    """Opens list comprehensions in a statement, the outermost ones."""

    def __init__(self, method: _Method, known: Set[str]) -> None:
        self._method, self._known = method, known

    def visit_ListComp(self, node: ast.ListComp) -> Any:  # noqa: N802 - as ast has it
        try:
            return self._method.open_list(node, self._known)
        except _AsItIs:
            return node

    def _leave(self, node: Any) -> Any:
        return node

    visit_Lambda = visit_GeneratorExp = visit_SetComp = visit_DictComp = _leave  # noqa: N815
    visit_IfExp = visit_BoolOp = _leave  # noqa: N815 - names may have no values there yet


def _catches_nothing(item: ast.withitem) -> bool:
    """Whether a manager is sure to let exceptions pass: what a loop has set then is lost."""
    call = item.context_expr
    return item.optional_vars is None and (
        isinstance(call, ast.Call) and _name_of(call.func) in _LETS_PASS)


class _AsItIs(Exception):
    """A loop cannot be opened."""


def _check_body(within: list[Any], uses_up: Set[str]) -> None:
    """Raises :class:`_AsItIs` where statements are not the same in a function of their own.

    ``uses_up`` are the names of functions that use up an iterator at once.
    """
    stored = names_set(within)
    at_once = {
        id(a) for n in within for call in ast.walk(n)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        and call.func.id in uses_up and len(call.args) == 1
        for a in call.args
    }
    for node in [n for statement in within for n in ast.walk(statement)]:
        if isinstance(node, _REFUSED):
            raise _AsItIs
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
            raise _AsItIs
        if isinstance(node, ast.ExceptHandler) and node.name is not None:
            raise _AsItIs
        # What they see of a variable is what it is when they run.
        if isinstance(node, (ast.Lambda, ast.GeneratorExp)) and id(node) not in at_once:
            if names_read([node]) & stored:
                raise _AsItIs

def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


# -- code


def _compiled(method: FunctionType, nodes: Sequence[ast.FunctionDef]) -> list[CodeType]:
    """The code of functions that stand where the method stands: in its class, and around it."""
    loops = itertools.product(("turns", "chunks", "listed"), range(len(nodes) - 1))
    more = [_WITHIN, *[f".{what}{k}" for what, k in loops]]
    found = list[CodeType]()
    for node in nodes:
        made = compiled_as(surrounded(node, method.__code__, more), method.__code__)
        inside = codes_in(made)  # of what is around it, maybe of its class, and its own
        found.append(next(
            c for c in inside[1:] if c.co_name == node.name and c.co_flags & CO_NEWLOCALS))
    return found


def _function(
    method: FunctionType, code: CodeType, more: dict[str, Any], own: bool = False
) -> FunctionType:
    """A function with the surroundings of the method; with defaults if it is not its ``own``."""
    cells = dict(zip(method.__code__.co_freevars, method.__closure__ or (), strict=True))
    closure = tuple([
        CellType(more[name]) if name in more else cells[name] for name in code.co_freevars])
    made = FunctionType(code, method.__globals__, method.__name__, None, closure)
    made.__qualname__, made.__module__ = method.__qualname__, method.__module__
    if not own:
        made.__defaults__, made.__kwdefaults__ = method.__defaults__, method.__kwdefaults__
    return made
