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
import functools
import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_NEWLOCALS
from types import CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chainer import configuration, link_hook
from chainer.link import Link
from chainwright.tracer import is_library

from ._account import clock
from ._source import codes_in, compiled_as, remember, surrounded, syntax_of

if TYPE_CHECKING:
    from ._account import Account

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
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_TURNS = 16, 4  # of a loop in one call, once those of one turn have been served
_SERVED, _IN_A_ROW, _SELDOM = 256, 6, 1024  # so often; tries, until they come seldom
_LOOKED_AT = 64  # calls of a method, until it is asked again whether loops pay
_DEPTH = 8  # calls in calls in which loops are looked for
_COMPARED, _PLAIN = 64, 16  # calls that are timed, and calls without open loops to compare with
_SLOWER = 1.3  # times as long, of some calls that differ by half, is slower
_FEWEST, _NOTED = 5, 24  # functions in a turn that may pay; calls until it is known how many
_LONG = 4.0  # seconds in the turns of a loop, likewise
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

    >>> from chainer.graph_optimizations._loops import opened
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
        if self._self in _stored(node.body):
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
            before, known = known, _Flow(known).run([statement])
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
                    inside = before | _stored([statement.target])
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
        names = _read([node])
        return bool((names & self._locals) - {self._self, _ITEMS})

    def _open(self, loop: ast.For, known: Set[str]) -> ast.stmt:
        """The loop, whose turns are those of a function.

        Raises:
            _AsItIs: The loop has to stay as it is.
        """
        within = [loop.target, *loop.body]
        _check_body(within, _AT_ONCE - self._locals - self._method.__globals__.keys())
        assigned = _stored(within)
        if self._self in assigned or assigned & _shared(self._node):
            raise _AsItIs
        flow = _Flow(_stored([loop.target]))
        at_end = flow.run(loop.body)
        for some in flow.ends:
            at_end = at_end & some
        exposed = flow.exposed & self._locals
        outside = _read_outside(self._node, loop)
        results = sorted(assigned & (exposed | outside))
        needed = exposed | ({*results} - at_end)
        needed = needed - {self._self}
        if not needed <= known or needed & _rebound(self._node):
            raise _AsItIs
        arguments = sorted(needed)
        breaks = _breaks(loop.body)
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
        arguments = sorted((_read([rest]) & self._locals) - {self._self})
        if not known.issuperset(arguments) or _rebound(self._node).intersection(arguments):
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
    stored = _stored(within)
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
            if _read([node]) & stored:
                raise _AsItIs


def _shared(node: ast.FunctionDef) -> Set[str]:
    """The names that functions inside of a function have to do with."""
    found = set[str]()
    for statement in node.body:
        for n in ast.walk(statement):
            if isinstance(n, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found |= {m.id for m in ast.walk(n) if isinstance(m, ast.Name)}
            elif isinstance(n, (ast.Global, ast.Nonlocal)):
                found |= {*n.names}
    return found


def _rebound(node: ast.FunctionDef) -> Set[str]:
    """The names that functions inside of a function may give other values."""
    return {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


# -- names


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of the function's own variables that are set."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, _COMPREHENSIONS):
            for n in ast.walk(node):  # the target of := belongs to the function
                if isinstance(n, ast.NamedExpr):
                    found.add(n.target.id)
        elif isinstance(node, ast.Lambda):
            pass
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
        else:
            if isinstance(node, ast.ExceptHandler) and node.name is not None:
                found.add(node.name)
            if isinstance(node, ast.alias):
                found.add((node.asname or node.name).partition(".")[0])
            found |= _stored(ast.iter_child_nodes(node))
    return found


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are read, but for those of variables inside of comprehensions."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, _COMPREHENSIONS):
            own = {n.id for g in node.generators for n in ast.walk(g.target)
                   if isinstance(n, ast.Name)}
            first = _read([node.generators[0].iter])
            found |= first | (_read(ast.iter_child_nodes(node)) - own)
        elif isinstance(node, ast.AugAssign):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.add(node.id)
        else:
            found |= _read(ast.iter_child_nodes(node))
    return found


def _read_outside(function: ast.FunctionDef, loop: ast.For) -> set[str]:
    """The names that a function reads outside of the body of a loop."""
    inside = {id(n) for part in (loop.target, *loop.body) for n in ast.walk(part)}
    found = set[str]()
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if id(node) in inside:
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
        stack += ast.iter_child_nodes(node)
    return found


def _breaks(body: Iterable[ast.AST]) -> bool:
    """Whether statements leave the loop around them."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.For, ast.While)):
            if _breaks(node.orelse):
                return True
        elif isinstance(node, ast.stmt) or isinstance(node, ast.ExceptHandler):
            if _breaks(ast.iter_child_nodes(node)):
                return True
    return False


class _Flow:
    """Which names have values, from statement to statement.

    ``exposed`` are those that are read where they may have none of these statements, ``ends`` what
    has values where one of them leaves a turn of the loop around them.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        self.exposed = set[str]()
        self.ends: list[Set[str]] = []

    def run(self, body: Sequence[ast.stmt]) -> Set[str]:
        """The names that have values behind the statements, in any case."""
        found = self._after(body, self._known)
        return _Everything() if found is None else found

    def _after(self, body: Sequence[ast.stmt], known: Set[str] | None) -> Set[str] | None:
        for statement in body:
            if known is None:
                break  # never run
            known = self._step(statement, known)
        return known

    def _reads(self, nodes: Iterable[ast.AST], known: Set[str]) -> None:
        self.exposed |= _read(nodes) - known

    def _step(self, node: ast.stmt, known: Set[str]) -> Set[str] | None:
        if isinstance(node, (ast.Continue, ast.Break)):
            self.ends.append(known)
            return None
        if isinstance(node, (ast.Return, ast.Raise)):
            self._reads([node], known)
            return None
        if isinstance(node, ast.If):
            self._reads([node.test], known)
            return _both(self._after(node.body, known), self._after(node.orelse, known))
        if isinstance(node, (ast.For, ast.While)):
            head: list[ast.AST] = [node.iter] if isinstance(node, ast.For) else [node.test]
            self._reads(head, known)
            inside = known
            if isinstance(node, ast.For):
                self._reads([node.target], known)
                inside = known | _stored([node.target])
            before, self.ends = self.ends, []
            self._after(node.body, inside)
            self.ends = before
            self._after(node.orelse, known)
            return known
        if isinstance(node, ast.With):
            for item in node.items:
                self._reads([item], known)
                if item.optional_vars is not None:
                    known = known | _stored([item.optional_vars])
            self._after(node.body, known)
            return known  # the manager may have caught an exception
        if isinstance(node, ast.Try):
            for part in (node.body, node.orelse, node.finalbody):
                self._after(part, known)
            for handler in node.handlers:
                self._reads([*([handler.type] if handler.type else [])], known)
                self._after(handler.body, known)
            return known
        if isinstance(node, ast.Assign):
            self._reads([node.value, *node.targets], known)
        elif isinstance(node, ast.Delete):
            self._reads([node], known)
            gone = {t.id for t in node.targets if isinstance(t, ast.Name)}
            return frozenset(known) - gone
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            pass  # see _shared
        else:
            self._reads([node], known)
        return known | _always_stored(node)


def _always_stored(node: ast.stmt) -> set[str]:
    """The names that a simple statement sets in any case."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.For)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return _stored(targets)
    if isinstance(node, ast.AnnAssign):
        return _stored([node.target]) if node.value is not None else set()
    if isinstance(node, (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.ClassDef)):
        return _stored([node])
    return set()


def _both(a: Set[str] | None, b: Set[str] | None) -> Set[str] | None:
    if a is None:
        return b
    return a if b is None else a & b


class _Everything(frozenset[str]):
    """All names: what has values at a place that is never reached."""

    def __and__(self, other: Any) -> Any:
        return other

    def __rand__(self, other: Any) -> Any:
        return other

    def __or__(self, other: Any) -> Any:
        return self

    def __rsub__(self, other: Any) -> Any:
        return frozenset()


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


# -- calls


class Several:
    """Whether so many turns of a loop are to be one call: when there are programs for that."""

    def __init__(self, turns: int) -> None:
        self.turns, self.served = turns, False  # the last call of so many
        self._tries = self._left = 0

    def are_tried(self, account: Account) -> bool:
        """Whether the next call is to be one of so many."""
        self._left -= 1
        return self.served or self._left < 0 and account.has_earned(self.turns * account.plain)

    def were_tried(self, served: bool) -> None:
        """It was, and programs have served it or not."""
        self.served, self._tries = served, 0 if served else self._tries + 1
        self._left = 0 if self._tries < _IN_A_ROW else min(2**self._tries, _SELDOM)


class OpenLoop:
    """A loop whose turns are compiled: some of them are a call of a method like a decorated one."""

    def __init__(self, turns: Turns, call: Callable[..., Any]) -> None:
        self.turns, self._call, self._method = turns, call, turns.function
        # At first, a state that a loop goes on with is often none.
        self._first, self._later = [[Several(n) for n in _TURNS] for _ in range(2)]
        self.is_open = True
        self._seen = 0.0, 0, 0  # see pays
        self._sites = list[Any]()

    def _site(self, chain: Any) -> Any:
        manager = vars(chain).get("schedule_manager")
        site = None if manager is None else manager._sites.get(self._method)
        if site is not None and site not in self._sites:
            self._sites.append(site)
        return site

    def __call__(self, *arguments: Any) -> Any:
        """Some turns."""
        return self._call(*arguments)

    @property
    def hits(self) -> int:
        """The calls that programs have served."""
        return sum([site.ledger.hits for site in self._sites])

    def pays(self) -> bool:
        """Whether programs have served most of the calls of late, as far as it is known by now."""
        accounts = [site.account for site in self._sites]
        now = sum([a.in_method for a in accounts]), self.hits, sum([a.calls for a in accounts])
        seconds, hits, calls = [a - b for a, b in zip(now, self._seen, strict=True)]
        if configuration.peek("static_budget") is None:
            return True
        if self.hits == 0 and now[2] >= _NOTED:
            if max([site.most_functions for site in self._sites]) < _FEWEST:
                return False
        if seconds < _LONG:
            return True
        self._seen = now
        return 2 * hits > calls

    def close(self) -> None:
        """Its turns are no calls any more."""
        self.is_open, self._call = False, self._method

    def listed(self, iterable: Any, chain: Any, *arguments: Any) -> list[Any]:
        """What a list comprehension gives, whose turns these are."""
        found = list[Any]()
        for items in self.chunks(iterable, chain):
            found += self._call(chain, *arguments, *items)
        return found

    def chunks(self, iterable: Any, chain: Any) -> Iterator[tuple[Any, ...]]:
        """The items of the turns of each call: several, as soon as calls of one turn are served."""
        site = self._site(chain)
        if not self.is_open and is_steady(iterable):
            yield from [tuple(iterable)] if len(iterable) else ()
        elif site is None or site.ledger.without_python < _SERVED or not is_steady(iterable):
            yield from zip(iterable, strict=False)
        else:
            yield from self._several(iterable, site)

    def _several(self, iterable: Any, site: Any) -> Iterator[tuple[Any, ...]]:
        items, left, levels = iter(iterable), len(iterable), self._first
        account, ledger = site.account, site.ledger
        while left:
            tried = next(
                (some for some in levels if left >= some.turns and some.are_tried(account)), None)
            if tried is None:
                yield (next(items),)
                left -= 1
            else:
                hits = ledger.hits
                account.spends_freely = not tried.served  # they will be most of the calls
                try:
                    yield tuple(itertools.islice(items, tried.turns))
                finally:
                    account.spends_freely = False
                tried.were_tried(ledger.hits > hits)
                left -= tried.turns
            levels = self._later


class OpenMethod:
    """A method with its loops opened, and those of what it calls of its object and of its links.

    ``decorate`` makes a compiled method of the function of some turns, and of the functions that
    these turns are inside of: ``inside`` and the one that has the loop. They are not opened again
    where they call themselves.
    """

    def __init__(
        self, found: Opened, decorate: Callable[[FunctionType, Set[Any]], Any], inside: Set[Any]
    ) -> None:
        self._decorate, self._inside = decorate, inside
        self._loops = list[OpenLoop]()
        self._inner: dict[FunctionType, Callable[..., Any] | None] = {}
        self._function = self._inner[found.method] = self._opened(found)
        self._calls, self._compared_at = 0, 4 * _COMPARED
        self._times, self._plain = list[float](), list[float]()
        self._compares = configuration.peek("static_budget") is not None

    def _opened(self, found: Opened) -> Callable[..., Any]:
        inside = self._inside | {found.method}
        loops = [OpenLoop(turns, self._decorate(turns.function, inside)) for turns in found.turns]
        self._loops += loops
        return found.function(loops, self._within)

    def _within(self, callee: Any) -> Any:
        """What is called in the place of a method, or of a link."""
        target = _target_of(callee)
        if target is None or target[1] in self._inside:
            return callee
        owner, function = target
        if function not in self._inner:
            found = opened(function)
            self._inner[function] = None
            if found is not None and leads_to_loops(found, owner, self._inside):
                self._inner[function] = self._opened(found)
        made = self._inner[function]
        return callee if made is None else functools.partial(made, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._calls += 1
        if not self._counts:
            return self._function(*args, **kwargs)
        started = clock()
        try:
            return self._function(*args, **kwargs)
        finally:
            self._times.append(clock() - started)

    @property
    def _counts(self) -> bool:
        """Whether calls before those that are compared with them are timed."""
        return self._compared_at - _COMPARED <= self._calls and self._compares

    def is_to_be_compared(self) -> bool:
        """Whether the next call is to go as it did before loops were opened, and to be timed."""
        return self._compares and self._calls >= self._compared_at

    def is_slower(self, seconds: float) -> bool:
        """Whether calls are slower now; one that has gone as before took so many ``seconds``.

        How long a call takes depends on how often its loops go, which is the same in the middle,
        where what is compiled in some calls does not count, either. Only forward is timed.
        """
        self._plain.append(seconds)
        if len(self._plain) < _PLAIN or not self._times:
            return False
        slower = statistics.median(self._times) > _SLOWER * statistics.median(self._plain)
        self._times, self._plain = [], []
        self._compared_at += min(self._compared_at, _SELDOM)
        return slower

    @property
    def hits(self) -> int:
        """The calls of turns that programs have served."""
        return sum([loop.hits for loop in self._loops])

    @property
    def is_open(self) -> bool:
        """Whether any loop is, or may be one that no call has come to yet."""
        return not self._loops or any([loop.is_open for loop in self._loops])

    def close_what_does_not_pay(self) -> list[str]:
        """Close the loops whose turns programs hardly serve; gives where they stand."""
        n = self._calls
        if n % _LOOKED_AT and (n < 8 or n & (n - 1)):
            return []
        closed = [loop for loop in self._loops if loop.is_open and not loop.pays()]
        for loop in closed:
            loop.close()
        return [loop.turns.place for loop in closed]


def leads_to_loops(found: Opened, owner: Any, known: Set[Any], depth: int = 0) -> bool:
    """Whether a method that is to be opened has loops, or calls something that has.

    What it calls is looked up as it is, and nobody's code runs for that. Some functions are
    ``known`` to be inside of.
    """
    if found.turns:
        return True
    known = known | {found.method}
    for path in found.callees if depth < _DEPTH else ():
        target = _target_at(owner, path)
        if target is None or target[1] in known:
            continue
        inner = opened(target[1])
        if inner is not None and leads_to_loops(inner, target[0], known, depth + 1):
            return True
    return False


def _target_at(owner: Any, path: Sequence[str]) -> tuple[Any, FunctionType] | None:
    """What a call of an attribute calls: the object, and the function of its class."""
    *links, last = path
    for name in links:
        owner = vars(owner).get(name)
        if not isinstance(owner, Link):
            return None
    if last in vars(owner):
        return _target_of(vars(owner)[last])
    found = _of_class(owner, last)
    return None if found is None else (owner, found)


def _target_of(callee: Any) -> tuple[Any, FunctionType] | None:
    """The object and the function of a method, or of a link, that may have its loops opened."""
    if type(callee) is MethodType:
        owner, found = callee.__self__, callee.__func__
        if not isinstance(owner, Link) or not _is_users(found):
            return None
        return owner, found
    if not isinstance(callee, Link) or "__call__" in vars(callee) or "forward" in vars(callee):
        return None
    if type(callee).__call__ is not Link.__call__:
        found = _of_class(callee, "__call__")
    elif link_hook._thread_local.hooks or callee._local_link_hooks:
        return None
    else:
        found = _of_class(callee, "forward")
    return None if found is None else (callee, found)


def _of_class(owner: Any, name: str) -> Any:
    """A method of an object's class; None if it is none of the user's, or a compiled one."""
    found = next((vars(c)[name] for c in type(owner).__mro__ if name in vars(c)), None)
    return found if _is_users(found) else None


def _is_users(found: Any) -> bool:
    if type(found) is not FunctionType or hasattr(found, "__wrapped__"):
        return False
    return not is_library(found.__code__.co_filename)


def is_steady(iterable: Any) -> bool:
    """Whether nothing changes what comes next of an iterable while the first items are used.

    >>> from chainer.graph_optimizations._loops import is_steady
    >>> is_steady(range(3)), is_steady([1, 2, 3])
    (True, False)
    """
    return type(iterable) in (range, tuple) or type(iterable) is np.ndarray and iterable.ndim > 0
