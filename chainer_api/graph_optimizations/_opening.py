"""Loops whose number of turns is another one in each call: their turns as compiled calls.

In: a method, of whose calls hardly two apply the same functions, since a loop goes as often as a
sentence is long. Out: the same method, in which the body of the loop is a function of its own, and
so are the statements before and behind it. These functions are compiled like decorated methods:
they have ways, programs and proofs, however often they are called. What may not happen: a method
that does anything else than before. So statements are left as they are where they could tell that
they stand in another function, or where a name may have no value.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import itertools
from collections.abc import Callable, Sequence, Set
from inspect import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_NEWLOCALS,
    getattr_static,
)
from types import CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from ._names import (
    COMPREHENSIONS,
    Flow,
    leave_the_loop,
    live_before,
    names_read,
    names_read_outside,
    names_rebound,
    names_set,
    names_shared,
)
from ._source import (
    attributes_of,
    class_around,
    codes_in,
    compiled_as,
    mangled,
    remember,
    surrounded,
    syntax_of,
)
from ._steady import ALONG, OPTIONS, along

_NO_PLAIN_CALLS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
#: What looks at the variables of a function, or at its frame.
_LOOKS = frozenset(
    "locals vars dir eval exec globals breakpoint inspect _getframe currentframe f_locals f_back "
    "stacklevel print_stack extract_stack format_stack walk_stack".split()
)
#: How types look attributes up, whose ways run nobody's code: each of them has one of its own.
_LOOKS_UP_ONLY = frozenset(
    t.__getattribute__ for t in (object, dict, SimpleNamespace, ModuleType))
#: Functions that use up an iterator at once.
_AT_ONCE = frozenset("all any dict list max min set sorted sum tuple".split())
_LETS_PASS = frozenset("using_config no_backprop_mode force_backprop_mode errstate".split())
_REFUSED = (
    ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global,
    ast.Nonlocal, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom,
    ast.Match,
)  # fmt: skip
#: Attributes that are numbers, or made of such.
_NUMBERS = frozenset("shape ndim size dtype itemsize nbytes".split())
_PARTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.With, ast.Assert,
)  # fmt: skip
# Names that no user's program has, since they are none.
_ITEMS, _CHUNK, _ENDS, _WITHIN = ".items", ".chunk", ".ends", ".within"
_VALUE, _LIST, _FOUND, _SAME, _ALONG = ".value", ".list", ".found", ".same", ".along"


class Turns(NamedTuple):
    """A loop, or statements that follow each other: their function, and the place of the first.

    It is called with the object, values of the method's variables, and the items of the turns.
    """

    function: FunctionType
    place: str
    goes_on: bool  # whether there may be any number of calls


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
        cells |= {_WITHIN: within, _SAME: _still_gives, _ALONG: along}
        return _function(self.method, self.code, cells)


def opened(
    method: Callable[..., Any], leads: Callable[[tuple[str, ...]], bool] | None = None
) -> Opened | None:
    """A method with the body of each loop that may go any number of times as a function.

    None where there is nothing of it, or where its source is not to be had. With ``leads``, what
    stands between loops, and in those that stay, becomes functions, too; it tells whether what an
    attribute of the object calls, by its path, has loops itself.

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
        node = _with_private_names(copy.deepcopy(node), class_around(method.__code__))
        return _Method(method, node, leads).opened()
    except (SyntaxError, ValueError, RecursionError):  # a tree that the compiler does not take
        return None


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.keyword):
        return node.arg
    return node.attr if isinstance(node, ast.Attribute) else None


def _with_private_names(node: ast.FunctionDef, cls: str | None) -> ast.FunctionDef:
    """The same function with its private variables named as in its code.

    Raises:
        SyntaxError: Where a function or a class inside of it has a private name, or an import
            without another name: these stand for more.
    """

    def of_code(name: str) -> str:
        return mangled(name, cls)

    for n in ast.walk(node):
        if isinstance(n, ast.Name):
            n.id = of_code(n.id)
        elif isinstance(n, ast.arg):
            n.arg = of_code(n.arg)
        elif isinstance(n, ast.ExceptHandler) and n.name is not None:
            n.name = of_code(n.name)
        elif isinstance(n, ast.alias):
            if n.asname is not None:
                n.asname = of_code(n.asname)
            elif of_code(own := n.name.partition(".")[0]) != own:
                raise SyntaxError(f"{own} is imported under another name")
        elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and n is not node:
            inside = [n.name, *[x.id for x in ast.walk(n) if isinstance(x, ast.Name)]]
            if any([of_code(name) != name for name in inside]):
                raise SyntaxError(f"{n.name} has names of its own")
    return node


class _Method:
    """One that is being opened."""

    def __init__(
        self, method: FunctionType, node: ast.FunctionDef,
        leads: Callable[[tuple[str, ...]], bool] | None,
    ) -> None:
        self._method, self._node = method, node
        self._leads = leads and functools.cache(leads)
        args = node.args
        parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        self._given = {a.arg for a in parameters if a is not None}
        self._self = [*args.posonlyargs, *args.args][0].arg
        code = method.__code__
        self._rebound = names_rebound(node)  # by functions inside of it, which stay as they are
        self._locals = {*code.co_varnames, *code.co_cellvars}
        #: Functions of Python's own, and those that use up an iterator at once.
        self._builtins = {*dir(builtins)} - self._locals - method.__globals__.keys()
        self._uses_up = _AT_ONCE & self._builtins
        self._bodies: list[tuple[ast.FunctionDef, bool]] = []  # and whether they go on
        self._names: list[str] = []  # of new variables

    def opened(self) -> Opened | None:
        node = self._node
        if self._self in names_set(node.body):
            return None
        node.body = self._block(node.body, frozenset(self._given), frozenset())
        calls = _Calls(self._self)
        node.body = [calls.visit(statement) for statement in node.body]
        if not self._bodies and not calls.paths:
            return None
        node.decorator_list = []
        made, *bodies = _compiled(self._method, [node, *[body for body, _ in self._bodies]])
        turns = []
        for (body, goes_on), code in zip(self._bodies, bodies, strict=True):
            function = _function(self._method, code, {}, own=True)
            what = "loop at line" if goes_on else "from line"
            function.__qualname__ += f", {what} {body.lineno}"
            remember(function, body)
            turns.append(Turns(function, f"{code.co_filename}:{body.lineno}", goes_on))
        return Opened(self._method, made, turns, calls.paths)

    def _block(
        self, body: list[ast.stmt], known: Set[str], after: Set[str] | None, goes_on: bool = False
    ) -> list[ast.stmt]:
        """The statements, with loops opened.

        ``known`` are the names that have values before, ``after`` those that are read behind them:
        None in a loop, which ``goes_on`` for any number of turns.
        """
        found, part = list[ast.stmt](), _Part(known)
        lives = [after]  # behind the last statement, and before each one from there on
        for statement in reversed(body):
            lives.append(None if lives[-1] is None else live_before([statement], lives[-1]))
        for statement in body:
            live, rest = lives.pop(), lives[-1]
            before, known = known, Flow(known).run([statement])
            instead = statement
            if isinstance(statement, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign)):
                statement = _Lists(self, before).visit(statement)
                first, guards, instead = self._apart(statement)
                if first:
                    found += [*self._part(part, live, goes_on), *first]
                    before, known = before | names_set(first), known | names_set(first)
                    part = _Part(before, guards, instead, sorted(names_set(first)))
            if self._may_be_part(statement):
                part.add(statement, before)
                continue
            if isinstance(statement, ast.Return) and self._ends_part(statement, part):
                part.add(_as_value(statement), before)
                if part.instead is instead:
                    part.instead = _as_value(instead)
                statement = instead = _at(ast.Return(_load(_VALUE)), statement)
            ends = part.lets_go if not part.statements else []
            found += self._part(part, live, goes_on)
            part = _Part(known)
            found += [self._with_loops(instead, before, rest, goes_on), *ends]
        return found + self._part(part, after, goes_on)

    def _with_loops(
        self, statement: ast.stmt, known: Set[str], after: Set[str] | None, goes_on: bool
    ) -> ast.stmt:
        """A statement with the loops in it opened; see _block."""
        if isinstance(statement, ast.For) and self._varies(statement.iter):
            try:
                behind = after
                if after is not None:  # what stands in else runs, or does not after a break
                    behind = after | live_before(statement.orelse, frozenset())
                return self._open(statement, known, behind)
            except _AsItIs:
                pass
        if isinstance(statement, (ast.For, ast.While)):
            if isinstance(statement, ast.For):
                known = known | names_set([statement.target])
            any_number = isinstance(statement, ast.While) or self._varies(statement.iter)
            statement.body = self._block(statement.body, known, None, goes_on or any_number)
        elif isinstance(statement, ast.If):
            statement.body = self._block(statement.body, known, after, goes_on)
            statement.orelse = self._block(statement.orelse, known, after, goes_on)
        elif isinstance(statement, ast.With) and all(map(_catches_nothing, statement.items)):
            statement.body = self._block(statement.body, known, after, goes_on)
        return statement

    def _apart(
        self, statement: Any
    ) -> tuple[list[ast.stmt], list[tuple[ast.expr, str]], Any]:
        """What a statement begins with and is no part of a function: opened lists, and calls that
        lead to loops.

        Gives statements that compute it, so that the statement itself has their values; what they
        have looked up before that, with names; and the statement with these names instead, since
        what is called may set something anew that has been looked up.
        """
        found, guards = list[ast.stmt](), list[tuple[ast.expr, str]]()
        if self._leads is None or self._is_apart(statement.value):
            return found, guards, statement
        if isinstance(statement, ast.AugAssign) and not self._stays(statement.target):
            return found, guards, statement
        while statement.value is not None:
            looked_up = list[ast.expr]()
            first = self._computed_first(statement.value, looked_up)
            if first is None or not self._is_apart(first):
                break
            known = [node for node, _ in guards]
            for node in looked_up:
                if node not in known:
                    guards.append((node, self._name(_FOUND)))
                    found.append(_at(_stores_one(guards[-1][1], copy.deepcopy(node)), node))
            name = self._name(_LIST)
            found.append(_at(_stores_one(name, first), first))
            statement.value = _Put(first, name).visit(statement.value)
        copies: dict[int, Any] = {}
        instead = copy.deepcopy(statement, copies)
        for node, name in guards:
            instead = _Put(copies[id(node)], name).visit(instead)
        return found, guards, instead

    def _name(self, kind: str) -> str:
        """A new variable."""
        name = f"{kind}{len(self._names)}"
        self._names.append(name)
        self._locals.add(name)
        return name

    def _is_apart(self, node: ast.expr | None) -> bool:
        """Whether something is opened itself: a list, or a call that leads to loops."""
        if not isinstance(node, ast.Call) or self._leads is None:
            return False
        path = _path(node.func, self._self)
        return _is_opened_list(node) or bool(path) and self._leads(path)

    def _computed_first(self, node: ast.expr, looked_up: list[ast.expr]) -> ast.expr | None:
        """What an expression computes first, if anything; what it has ``looked_up`` before that."""
        if self._is_apart(node):
            return node
        if isinstance(node, ast.Call) and all([k.arg is not None for k in node.keywords]):
            parts = [node.func, *node.args, *[k.value for k in node.keywords]]
        elif isinstance(node, (ast.Tuple, ast.List)):
            parts = node.elts
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Constant) or self._stays(node):
            return None
        elif isinstance(node, (ast.Name, ast.Attribute)) and _is_looked_up(node):
            looked_up.append(node)
            return None
        else:
            return node
        for part in parts:
            if (found := self._computed_first(part, looked_up)) is not None:
                return found
        return node if isinstance(node, (ast.Call, ast.BinOp)) else None

    def _stays(self, node: ast.expr) -> bool:
        """Whether an expression is a variable that nothing but this method sets."""
        return isinstance(node, ast.Name) and (
            node.id in self._locals and node.id not in self._rebound)

    def _may_be_part(self, statement: ast.stmt) -> bool:
        """Whether a statement may be one of those of a function: calls all go one way through it,
        as far as its text tells."""
        if not isinstance(statement, _PARTS) or not self._is_of_part(statement):
            return False
        return not leave_the_loop([statement], (ast.Break, ast.Continue))

    def _ends_part(self, statement: ast.Return, part: _Part) -> bool:
        """Whether what a method returns is computed in the function of the statements before."""
        if not self._is_of_part(statement.value):
            return False
        if self._computes(statement):
            return True
        return bool(part.statements) and any(
            [isinstance(n, ast.BinOp) for n in ast.walk(statement)])

    def _is_of_part(self, node: ast.AST | None) -> bool:
        if self._leads is None or node is None:
            return False
        for n in ast.walk(node):
            if isinstance(n, (*_REFUSED, ast.While)):
                return False
            if isinstance(n, ast.For) and self._varies(n.iter):
                return False
            if isinstance(n, COMPREHENSIONS) and self._varies(n.generators[0].iter):
                if not all(map(self._is_number, _items(n))):
                    return False
            if isinstance(n, ast.Call) and self._is_apart(n):
                return False
        return True

    def _is_number(self, node: ast.expr) -> bool:
        """Whether an expression gives numbers, or lists of such: it applies no function."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return all(map(self._is_number, node.elts))
        if isinstance(node, ast.BinOp):  # len(x) + n, [0] * n
            sides = self._is_number(node.left), self._is_number(node.right)
            return all(sides) or any([
                known and not isinstance(side, ast.Constant)
                for known, side in zip(sides, (node.left, node.right), strict=True)])
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in self._builtins
        if isinstance(node, (ast.Subscript, ast.UnaryOp)):
            return self._is_number(node.value if isinstance(node, ast.Subscript) else node.operand)
        return isinstance(node, ast.Constant) or (
            isinstance(node, ast.Attribute) and node.attr in _NUMBERS)

    def _part(self, part: _Part, after: Set[str] | None, goes_on: bool) -> list[ast.stmt]:
        """Statements as the call of a function, if they may be one, and compute something."""
        statements, plain = part.statements, part.plain()
        if not statements:
            return []
        try:
            if not any(map(self._computes, statements)):
                raise _AsItIs
            arguments, results = self._variables(
                statements, statements, Flow(()), part.known, after)
        except _AsItIs:
            return [plain[0], *part.lets_go, *plain[1:]]
        values = ast.Tuple([*map(_load, results)], ast.Load())
        body = [*statements, ast.Return(values if results else None)]
        self._bodies.append((self._function(body, arguments, statements[0]), goes_on))
        call = ast.Call(
            func=_load(f".turns{len(self._bodies) - 1}"),
            args=[*map(_load, [self._self, *arguments])], keywords=[])
        made = _stores(results, call)
        if part.guards:
            same = [_is_still(node, name) for node, name in part.guards]
            test = ast.BoolOp(ast.And(), same) if len(same) > 1 else same[0]
            made = ast.If(test=test, body=[made], orelse=plain)
        return [_at(made, statements[0]), *part.lets_go]

    def _computes(self, statement: ast.stmt) -> bool:
        """Whether a statement calls something, and does something with what that gives."""
        called = statement.value if isinstance(statement, ast.Expr) else None
        return any([
            isinstance(n, ast.Call) and n is not called and not self._is_number(n)
            for n in ast.walk(statement)])

    def _variables(
        self, within: Sequence[ast.AST], body: list[ast.stmt], flow: Flow, known: Set[str],
        after: Set[str] | None, again: bool = False,
    ) -> tuple[list[str], list[str]]:
        """What a function of some statements takes, and what it gives; ``again``: to itself, too.

        Raises:
            _AsItIs: They have to stay as they are.
        """
        _check_body(within, self._uses_up)
        assigned = names_set(within)
        if self._self in assigned or assigned & names_shared(self._node):
            raise _AsItIs
        at_end = flow.run(body)
        for some in flow.ends:
            at_end = at_end & some
        exposed = flow.exposed & self._locals
        wanted = exposed if again or after is None else set[str]()
        wanted = wanted | {_VALUE} | (
            names_read_outside(self._node, within) if after is None else after)
        results = assigned & wanted
        needed = (exposed | (results - at_end)) - {self._self}
        if not needed <= known or needed & self._rebound:
            raise _AsItIs
        return sorted(needed), sorted(results)

    def _function(
        self, body: list[ast.stmt], arguments: list[str], at: ast.AST
    ) -> ast.FunctionDef:
        made = ast.FunctionDef(
            name=self._node.name, args=_arguments([self._self, *arguments]), body=body,
            decorator_list=[], type_params=[])
        return copy.deepcopy(_at(made, at))

    def _varies(self, node: ast.expr) -> bool:
        """Whether an iterable may be a longer one in another call, as far as the text tells."""
        names = names_read([node])
        return bool((names & self._locals) - {self._self, _ITEMS})

    def _along(self, node: ast.expr) -> ast.expr:
        """What a loop goes over, so that it tells how long it is."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return node
        if node.func.id not in ALONG & self._builtins:
            return node
        if not all([k.arg in OPTIONS for k in node.keywords]):
            return node
        args = [node.func, *node.args]
        if node.func.id != "reversed":  # what tells its length can be gone over forwards only
            args[1:] = map(self._along, node.args)
        return _at(ast.Call(func=_load(_ALONG), args=args, keywords=node.keywords), node)

    def _open(self, loop: ast.For, known: Set[str], after: Set[str] | None) -> ast.stmt:
        """The loop, whose turns are those of a function.

        Raises:
            _AsItIs: The loop has to stay as it is.
        """
        arguments, results = self._variables(
            [loop.target, *loop.body], loop.body, Flow(names_set([loop.target])), known, after,
            again=True)
        breaks = leave_the_loop(loop.body)
        k = len(self._bodies)
        self._bodies.append((self._turns(loop, arguments, results, breaks), True))
        turns = ast.Call(
            func=_load(f".turns{k}"),
            args=[*map(_load, [self._self, *arguments]), ast.Starred(_load(_CHUNK), ast.Load())],
            keywords=[],
        )
        made = [_stores([*([_ENDS] if breaks else []), *results], turns)]
        if breaks:
            made.append(ast.If(test=_load(_ENDS), body=[ast.Break()], orelse=[]))
        found = ast.For(
            target=ast.Name(_CHUNK, ast.Store()),
            iter=ast.Call(
                func=_load(f".chunks{k}"), args=[self._along(loop.iter), _load(self._self)],
                keywords=[]),
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
        if not known.issuperset(arguments) or self._rebound.intersection(arguments):
            raise _AsItIs
        k = len(self._bodies)
        self._bodies.append((self._function([ast.Return(rest)], arguments, node), True))
        return _at(ast.Call(
            func=_load(f".listed{k}"),
            args=[self._along(first.iter), *map(_load, [self._self, *arguments])], keywords=[],
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
        return self._function([inner, gives(breaks)], arguments, loop)


class _Part:
    """Statements that may become a function, and the names that have values before them.

    ``guards`` are expressions of the first one, with variables that have been set to them before
    something else was computed: where they give something else by now, it is to be ``instead``.
    """

    def __init__(
        self, known: Set[str], guards: Sequence[tuple[ast.expr, str]] = (), instead: Any = None,
        apart: Sequence[str] = (),
    ) -> None:
        self.known, self.guards, self.instead, self._apart = known, guards, instead, apart
        self.statements: list[ast.stmt] = []

    def add(self, statement: ast.stmt, known: Set[str]) -> None:
        if not self.statements:
            self.known = known
        self.statements.append(statement)

    def plain(self) -> list[ast.stmt]:
        """The statements as they are, with what was looked up."""
        if not self.guards or not self.statements:
            return self.statements
        return [self.instead, *copy.deepcopy(self.statements[1:])]

    @property
    def lets_go(self) -> list[ast.stmt]:
        """Nothing holds any longer what was computed apart, for the first of the statements."""
        return [_at(_stores_one(name, ast.Constant(None)), self.instead) for name in self._apart]


def _as_value(statement: Any) -> ast.stmt:
    """What a method returns as the value of a variable."""
    return _at(_stores_one(_VALUE, statement.value), statement)


def _stores_one(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)


def _is_looked_up(node: ast.expr) -> bool:
    """Whether an expression only looks something up: a variable, or an attribute of such."""
    return isinstance(attributes_of(node)[0], ast.Name)


def _is_still(node: ast.expr, name: str) -> ast.expr:
    """Asks whether an expression still leads to the value of a variable."""
    first, path = attributes_of(node)
    args = [_load(name), copy.deepcopy(first), *map(ast.Constant, path)]
    return ast.Call(func=_load(_SAME), args=args, keywords=[])


def _still_gives(before: Any, owner: Any, *path: str) -> bool:
    """Whether attributes lead to what they led to before, and to look them up runs nobody's code.

    So nobody can tell that they are looked up once more.

    >>> from chainer.graph_optimizations._opening import _still_gives
    >>> import types
    >>> x = types.SimpleNamespace(y=types.SimpleNamespace(z=[]))
    >>> _still_gives(x.y.z, x, "y", "z"), _still_gives([], x, "y", "z")
    (True, False)
    """
    for name in path:
        kind = type(owner)
        if kind.__getattribute__ not in _LOOKS_UP_ONLY:
            return False
        try:
            found = getattr_static(owner, name)
        except AttributeError:
            return False
        own = getattr(owner, "__dict__", {})
        if name in own and found is own[name] or not hasattr(type(found), "__get__"):
            owner = found
        elif type(found) is FunctionType:
            owner = MethodType(found, owner)  # made anew each time
        else:
            return False
    return owner is before or type(owner) is MethodType and owner == before


def _stores(names: list[str], call: ast.expr) -> ast.stmt:
    """A statement that sets variables to what a call gives."""
    if not names:
        return ast.Expr(call)
    target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    return ast.Assign(targets=[target], value=call)


def _items(node: Any) -> list[ast.expr]:
    """What a comprehension consists of."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def _path(node: ast.expr, name: str) -> tuple[str, ...]:
    """The attributes that lead from the variable of a name to an expression, if it is one such."""
    first, path = attributes_of(node)
    return tuple(path) if isinstance(first, ast.Name) and first.id == name else ()


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
        if path := _path(node.func, self._name):
            self.paths.append(path)
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


class _Put(ast.NodeTransformer):
    """Puts a variable in the place of an expression."""

    def __init__(self, old: ast.expr, name: str) -> None:
        self._old, self._name = old, name

    def visit(self, node: ast.AST) -> Any:
        return _at(_load(self._name), node) if node is self._old else super().visit(node)


def _is_opened_list(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and (_name_of(node.func) or "").startswith(".listed")


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
    more = [_WITHIN, _SAME, _ALONG, *[f".{what}{k}" for what, k in loops]]
    found = list[CodeType]()
    for node in nodes:
        module = ast.fix_missing_locations(surrounded(node, method.__code__, more))
        made = compiled_as(module, method.__code__)
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
