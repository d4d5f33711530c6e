"""Which names of a function have values where, as far as its text tells.

In: statements of a function. Out: what they read and set, and which names are sure to have values
behind them. What may not happen: a name is said to have a value that it has not in some case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence, Set
from typing import Any

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def names_shared(node: ast.FunctionDef) -> Set[str]:
    """The names that functions inside of a function have to do with."""
    found = set[str]()
    for statement in node.body:
        for n in ast.walk(statement):
            if isinstance(n, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found |= {m.id for m in ast.walk(n) if isinstance(m, ast.Name)}
            elif isinstance(n, (ast.Global, ast.Nonlocal)):
                found |= {*n.names}
    return found


def names_rebound(node: ast.FunctionDef) -> Set[str]:
    """The names that functions inside of a function may give other values."""
    return {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}


def names_set(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of the function's own variables that are set."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, COMPREHENSIONS):
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
            found |= names_set(ast.iter_child_nodes(node))
    return found


def names_read(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that are read, but for those of variables inside of comprehensions."""
    found = set[str]()
    for node in nodes:
        if isinstance(node, COMPREHENSIONS):
            own = {n.id for g in node.generators for n in ast.walk(g.target)
                   if isinstance(n, ast.Name)}
            first = names_read([node.generators[0].iter])
            found |= first | (names_read(ast.iter_child_nodes(node)) - own)
        elif isinstance(node, ast.AugAssign):
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.add(node.id)
        else:
            found |= names_read(ast.iter_child_nodes(node))
    return found


def names_read_outside(function: ast.FunctionDef, parts: Iterable[ast.AST]) -> set[str]:
    """The names that a function reads outside of some of its parts."""
    inside = {id(n) for part in parts for n in ast.walk(part)}
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


def leave_the_loop(
    body: Iterable[ast.AST], how: tuple[type[ast.stmt], ...] = (ast.Break,)
) -> bool:
    """Whether statements leave the loop around them, or its turn with ``ast.Continue``."""
    for node in body:
        if isinstance(node, how):
            return True
        if isinstance(node, (ast.For, ast.While)):
            if leave_the_loop(node.orelse, how):
                return True
        elif isinstance(node, (ast.stmt, ast.ExceptHandler)):
            if leave_the_loop(ast.iter_child_nodes(node), how):
                return True
    return False


class Flow:
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
        self.exposed |= names_read(nodes) - known

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
                inside = known | names_set([node.target])
            before, self.ends = self.ends, []
            self._after(node.body, inside)
            self.ends = before
            self._after(node.orelse, known)
            return known
        if isinstance(node, ast.With):
            for item in node.items:
                self._reads([item], known)
                if item.optional_vars is not None:
                    known = known | names_set([item.optional_vars])
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
            self.exposed |= gone - known
            return frozenset(known) - gone
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            pass  # see _shared
        else:
            self._reads([node], known)
        return known | _alwaysstored(node)


def _alwaysstored(node: ast.stmt) -> set[str]:
    """The names that a simple statement sets in any case."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.For)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return names_set(targets)
    if isinstance(node, ast.AnnAssign):
        return names_set([node.target]) if node.value is not None else set()
    if isinstance(node, (ast.FunctionDef, ast.Import, ast.ImportFrom, ast.ClassDef)):
        return names_set([node])
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


def live_before(body: Sequence[ast.stmt], after: Set[str]) -> Set[str]:
    """The names whose values are read in statements, or behind them, where ``after`` are.

    >>> import ast
    >>> from chainer.graph_optimizations._names import live_before
    >>> sorted(live_before(ast.parse("a = b; c += a").body, {"a", "d"}))
    ['b', 'c', 'd']
    """
    flow = Flow(())
    has_values = flow.run(body)
    return flow.exposed | (after - has_values)
