"""An interpreter of Python's syntax trees, for running a method without effects.

In: functions, with their arguments as values of :mod:`._residual`. Out: what they return; meanwhile
the residual code is written. What may not happen: user code that runs natively, or an effect on
anything that was there before the call.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import math
import sys
import weakref
from collections.abc import Generator, Iterator
from inspect import CO_GENERATOR
from types import FunctionType
from typing import Any

import numpy as np

from chainer import _tracing
from chainwright.tracer import is_library

from ._account import clock
from ._objects import VARIABLES, Objects
from ._own import Closure, Super
from ._residual import NotProvable, Sym, TooMuch
from ._source import class_around, mangled, syntax_of

_STEPS = 2_000_000  # nodes of syntax trees that one proof may take
_BETWEEN_LOOKS = 512  # at the clock
_MOST_ITEMS = 100_000  # that are unpacked
_DEPTH = 120  # calls inside of calls
_UNBOUND = object()
_HOST = np.empty(0)  # stands for arrays on the host, of which nothing else is asked


class Frame:
    """A call of a function that is being interpreted."""

    def __init__(
        self, node: Any, names: dict[str, Any], outer: Frame | None, function: FunctionType | None,
        file: str, cls: str | None,
    ) -> None:
        self.node, self.names, self.outer, self.function = node, names, outer, function
        self.file, self.cls = file, cls
        self.library = is_library(file)
        self.line = getattr(node, "lineno", 0)
        self.spans = False  # whether what is done there stands on several lines
        self.nonlocals: set[str] = set()
        self.globals_declared: set[str] = set()
        self.comprehension = False

    def real(self) -> FunctionType:
        """The function, made outside of the call, in whose text this stands."""
        frame = self
        while frame.function is None:
            assert frame.outer is not None
            frame = frame.outer
        return frame.function


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Raised(Exception):
    """The interpreted code has raised an exception of its own."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Interpreter(Objects):
    """Runs functions; see the module."""

    def __init__(self, residual: Any, dry: Any) -> None:
        super().__init__(residual, dry)
        self.frames: list[Frame] = []
        self.steps = 0
        self._looks_at = 0
        self.until = math.inf  # when it is to have ended, by the clock of the account
        self.failed_at = ""
        self.all_frames: list[Frame] = []
        self._open: list[Frame] = []  # of generators that have begun and are not at their end
        self._expressions = {
            name: getattr(self, f"_{name.lower()}")
            for name in _EXPRESSIONS
        }
        self._dispatch = {getattr(ast, n): f for n, f in self._expressions.items()}
        self._statements = {getattr(ast, n): getattr(self, f"_{n.lower()}") for n in _STATEMENTS}

    def where(self) -> str:
        """The user's line."""
        for frame in reversed(self.frames):
            if not frame.library:
                return f"{frame.file}:{frame.line}"
        return ""

    def in_library(self) -> bool:
        """Whether code of the library is being run."""
        return not self.frames or self.frames[-1].library

    # -- functions

    def run_function(self, function: FunctionType, args: list[Any], kw: dict[str, Any]) -> Any:
        node = syntax_of(function)
        name = function.__qualname__
        if node is None:
            raise NotProvable(f"the source of {name} is not to be had")
        library = is_library(function.__code__.co_filename)
        r = self.residual
        if not library:
            r.guard(f"{r.const(function)}.__code__ is not {r.const(function.__code__)}")
        cls = class_around(function.__code__)
        frame = Frame(node, {}, None, function, function.__code__.co_filename, cls)
        f = r.const(function)
        if not library and function.__defaults__:
            r.guard(f"len({f}.__defaults__ or ()) != {len(function.__defaults__)}")
        defaults = [
            self._default(library, f"{f}.__defaults__[{k}]", v)
            for k, v in enumerate(function.__defaults__ or ())
        ]
        kwdefaults = {
            k: self._default(library, f"{f}.__kwdefaults__[{k!r}]", v)
            for k, v in (function.__kwdefaults__ or {}).items()
        }
        return self._enter(frame, args, kw, defaults, kwdefaults, name)

    def _default(self, library: bool, text: str, value: Any) -> Any:
        if library and (value is None or type(value) in (bool, int, float, str)):
            return value
        return self.residual.load(text, value)

    def run_closure(self, closure: Closure, args: list[Any], kw: dict[str, Any]) -> Any:
        outer = closure.frame
        frame = Frame(closure.node, {}, outer, None, outer.file, outer.cls)
        name = getattr(closure.node, "name", "<lambda>")
        return self._enter(frame, args, kw, closure.defaults, closure.kwdefaults, name)

    def _enter(
        self, frame: Frame, args: Any, kw: Any, defaults: Any, kwdefaults: Any, name: str
    ) -> Any:
        node = frame.node
        frame.globals_declared, frame.nonlocals = _declared(node)
        _bind(node.args, frame.names, list(args), dict(kw), defaults, kwdefaults, name)
        self.all_frames.append(frame)
        if len(self.frames) >= _DEPTH:
            raise NotProvable("calls go too deep")
        if isinstance(node, ast.Lambda):
            self.frames.append(frame)
            try:
                return self.eval(node.body)
            finally:
                self.frames.pop()
        if isinstance(node, ast.AsyncFunctionDef):
            raise NotProvable("a coroutine")
        body = self._body(frame)
        function = frame.function
        if function.__code__.co_flags & CO_GENERATOR if function else _is_generator(node):
            return self._generator(frame, body)
        self.frames.append(frame)
        try:
            for _ in body:
                raise NotProvable("a yield at an unexpected place")
        except _Return as r:
            return r.value
        except Exception:
            self.failed_at = self.failed_at or self.where()
            raise
        finally:
            self.frames.pop()
        return None

    def _body(self, frame: Frame) -> Generator[Any, None, None]:
        yield from self._block(frame.node.body)

    def _generator(self, frame: Frame, body: Any) -> Iterator[Any]:
        self._open.append(frame)
        while True:
            self.frames.append(frame)
            try:
                value = next(body)
            except (StopIteration, _Return):
                self._open.remove(frame)
                return
            finally:
                self.frames.pop()
            yield value

    def check_generators(self) -> None:
        """A generator that is left in the middle does what it has in ``finally`` when it goes."""
        for frame in self._open:
            if any([isinstance(n, (ast.Try, ast.With)) for n in ast.walk(frame.node)]):
                raise NotProvable("a generator with try or with is left before its end")

    # -- names

    def lookup(self, name: str) -> Any:
        frame: Frame | None = self.frames[-1]
        assert frame is not None
        inner = frame
        while frame is not None:
            if name in frame.names and name not in frame.globals_declared:
                return frame.names[name]
            if name in frame.globals_declared:
                return self._global(inner.real(), name)
            function = frame.function
            if function is not None:
                code = function.__code__
                if name in code.co_freevars:
                    k = code.co_freevars.index(name)
                    try:
                        value = (function.__closure__ or ())[k].cell_contents
                    except ValueError:
                        raise NotProvable(f"{name} has no value yet") from None
                    r = self.residual
                    cell = (function.__closure__ or ())[k]
                    return r.load(f"{r.const(cell)}.cell_contents", value)
                if name in code.co_varnames or name in code.co_cellvars:
                    raise NotProvable(f"{name} has no value at this place")
            elif not frame.comprehension and name in _stored(frame.node) - frame.nonlocals:
                raise NotProvable(f"{name} has no value at this place")
            frame = frame.outer
        return self._global(inner.real(), name)

    def _global(self, function: FunctionType, name: str) -> Any:
        names, r = function.__globals__, self.residual
        if self._mangled(name) != name:
            raise NotProvable(f"{name} has another name in a class")
        if name in names:
            return r.load(f"{r.const(names)}[{name!r}]", names[name])
        r.guard(f"{name!r} in {r.const(names)}")
        if not hasattr(builtins, name):
            raise NotProvable(f"there is no {name}")
        return r.load(f"{r.const(vars(builtins))}[{name!r}]", getattr(builtins, name))

    def store(self, name: str, value: Any, frame: Frame | None = None) -> None:
        frame = frame or self.frames[-1]
        if name in frame.globals_declared:
            raise NotProvable(f"the global {name} is set")
        if name in frame.nonlocals:
            outer = frame.outer
            while outer is not None:
                if name in outer.names:
                    outer.names[name] = value
                    return
                outer = outer.outer
            raise NotProvable(f"{name} of an outer function is set")
        frame.names[name] = value

    # -- statements

    def _block(self, body: Any) -> Generator[Any, None, None]:
        statements, frame = self._statements, self.frames[-1]
        for node in body:
            frame.line, frame.spans = node.lineno, False
            self._step()
            run = statements.get(type(node))
            if run is not None:
                run(node)
            else:
                compound = _COMPOUND.get(type(node))
                if compound is None:
                    raise NotProvable(f"a statement of the kind {type(node).__name__}")
                yield from getattr(self, compound)(node)

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._looks_at:
            self._looks_at = self.steps + _BETWEEN_LOOKS
            if self.steps > _STEPS or clock() > self.until:
                raise TooMuch("the method does too much for it to be read")

    def _expr_(self, node: Any) -> Generator[Any, None, None]:
        value = node.value
        if type(value) is ast.Yield:
            yield None if value.value is None else self.eval(value.value)
        elif type(value) is ast.YieldFrom:
            yield from self.iterate(self.eval(value.value))
        elif type(value) is not ast.Constant:
            self.eval(value)

    def _return(self, node: Any) -> None:
        raise _Return(None if node.value is None else self.eval(node.value))

    def _assign(self, node: Any) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _annassign(self, node: Any) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))

    def _augassign(self, node: Any) -> None:
        target = node.target
        op = type(node.op).__name__
        if isinstance(target, ast.Name):
            old = self.lookup(target.id)
            self.store(target.id, self.inplace(op, old, self.eval(node.value)))
        elif isinstance(target, ast.Attribute):
            obj = self.eval(target.value)
            name = self._mangled(target.attr)
            old = self.getattr(obj, name)
            self.setattr(obj, name, self.inplace(op, old, self.eval(node.value)))
        elif isinstance(target, ast.Subscript):
            obj, key = self.eval(target.value), self.eval(target.slice)
            old = self.getitem(obj, key)
            self.setitem(obj, key, self.inplace(op, old, self.eval(node.value)))

    def assign(self, target: Any, value: Any) -> None:
        kind = type(target)
        if kind is ast.Name:
            self.store(target.id, value)
        elif kind is ast.Tuple or kind is ast.List:
            self._unpack(target.elts, value)
        elif kind is ast.Attribute:
            self.setattr(self.eval(target.value), self._mangled(target.attr), value)
        elif kind is ast.Subscript:
            self.setitem(self.eval(target.value), self.eval(target.slice), value)
        else:
            raise NotProvable(f"an assignment to a {kind.__name__}")

    def _unpack(self, targets: Any, value: Any) -> None:
        star = next((k for k, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        most = _MOST_ITEMS if star is not None else len(targets) + 1
        values = list(itertools.islice(self.iterate(value), most))
        if len(values) == _MOST_ITEMS:
            raise NotProvable("too many values to unpack")
        if star is None:
            if len(values) != len(targets):
                raise NotProvable("too many or too few values to unpack")
            for t, v in zip(targets, values, strict=True):
                self.assign(t, v)
            return
        after = len(targets) - star - 1
        if len(values) < star + after:
            raise NotProvable("too few values to unpack")
        for t, v in zip(targets[:star], values, strict=False):
            self.assign(t, v)
        end = len(values) - after
        self.assign(targets[star].value, values[star:end])
        for t, v in zip(targets[star + 1 :], values[end:], strict=True):
            self.assign(t, v)

    def _pass(self, node: Any) -> None:
        pass

    def _break(self, node: Any) -> None:
        raise _Break

    def _continue(self, node: Any) -> None:
        raise _Continue

    def _global_(self, node: Any) -> Generator[Any, None, None]:
        yield from ()  # known where the function begins, whether this line is run or not

    def _nonlocal(self, node: Any) -> None:
        pass

    def _assert(self, node: Any) -> None:
        if __debug__ and not self.truth(self.eval(node.test)):
            raise NotProvable("an assertion fails")

    def _raise(self, node: Any) -> None:
        raise NotProvable("an exception is raised")

    def _delete(self, node: Any) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.frames[-1].names:
                del self.frames[-1].names[target.id]
            elif isinstance(target, ast.Subscript):
                self.delitem(self.eval(target.value), self.eval(target.slice))
            else:
                raise NotProvable("something is deleted")

    def _functiondef(self, node: Any) -> None:
        decorators = [self.eval(decorator) for decorator in node.decorator_list]
        value: Any = self._closure(node)
        for decorator in reversed(decorators):
            value = self.call(decorator, [value], {})
        self.store(node.name, value)

    def _closure(self, node: Any) -> Closure:
        hints = [a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        hints.append(getattr(node, "returns", None))
        if any([isinstance(n, ast.Call) for hint in hints if hint for n in ast.walk(hint)]):
            raise NotProvable("an annotation calls something")
        defaults = [self.eval(d) for d in node.args.defaults]
        kwdefaults = {
            a.arg: self.eval(d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        }
        return Closure(node, self.frames[-1], defaults, kwdefaults)

    def _import(self, node: Any) -> None:
        for alias in node.names:
            if alias.asname is not None and "." in alias.name:
                raise NotProvable("a module is imported by another name")
            module = self._module(alias.name)
            if alias.asname is None and "." in alias.name:
                module = self._module(alias.name.partition(".")[0])
            self.store(alias.asname or alias.name.partition(".")[0], module)

    def _importfrom(self, node: Any) -> None:
        name = node.module or ""
        if node.level:
            package = self.frames[-1].real().__globals__.get("__package__") or ""
            parts = package.split(".")
            name = ".".join([*parts[: len(parts) - node.level + 1], *([name] if name else [])])
        module = self._module(name)
        for alias in node.names:
            if hasattr(module, alias.name):
                value = self.getattr(module, alias.name)
            else:
                value = self._module(f"{name}.{alias.name}")
            self.store(alias.asname or alias.name, value)

    def _module(self, name: str) -> Any:
        if name not in sys.modules:
            raise NotProvable(f"the module {name} is imported in the method")
        r = self.residual
        return r.load(f"{r.const(sys.modules)}[{name!r}]", sys.modules[name])

    # -- compound statements

    def _if(self, node: Any) -> Generator[Any, None, None]:
        yield from self._block(node.body if self.truth(self.eval(node.test)) else node.orelse)

    def _for(self, node: Any) -> Generator[Any, None, None]:
        for item in self.iterate(self.eval(node.iter)):
            self.assign(node.target, item)
            try:
                yield from self._block(node.body)
            except _Break:
                return
            except _Continue:
                continue
        yield from self._block(node.orelse)

    def _while(self, node: Any) -> Generator[Any, None, None]:
        while self.truth(self.eval(node.test)):
            self._step()
            try:
                yield from self._block(node.body)
            except _Break:
                return
            except _Continue:
                continue
        yield from self._block(node.orelse)

    def _with(self, node: Any) -> Generator[Any, None, None]:
        yield from self._with_items(node, 0)

    def _with_items(self, node: Any, k: int) -> Generator[Any, None, None]:
        if k == len(node.items):
            yield from self._block(node.body)
            return
        item = node.items[k]
        manager = self.eval(item.context_expr)
        value = self.enter(manager)
        try:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
            yield from self._with_items(node, k + 1)
        except (_Return, _Break, _Continue):
            self.exit(manager)
            raise
        except BaseException:
            self.exit_quickly(manager)
            raise
        self.exit(manager)

    def _try(self, node: Any) -> Generator[Any, None, None]:
        # An exception ends the proof, so no handler ever runs.
        try:
            yield from self._block(node.body)
            yield from self._block(node.orelse)
        except (_Return, _Break, _Continue):
            yield from self._block(node.finalbody)
            raise
        yield from self._block(node.finalbody)

    # -- expressions

    def eval(self, node: Any) -> Any:
        self.steps += 1
        run = self._dispatch.get(type(node))
        if run is None:
            raise NotProvable(f"an expression of the kind {type(node).__name__}")
        return run(node)

    def _constant(self, node: Any) -> Any:
        return node.value

    def _name(self, node: Any) -> Any:
        return self.lookup(node.id)

    def _mangled(self, name: str) -> str:
        return mangled(name, self.frames[-1].cls)

    def _is_at(self, node: Any, name: Any) -> None:
        frame = self.frames[-1]
        frame.line, frame.spans = node.lineno, name.lineno != name.end_lineno

    def _of_form(self, node: Any, name: str) -> tuple[Any, bool]:
        """What stands there, or ``name`` of it where that is the array of a Variable.

        Nobody looks at the array then: see :func:`chainer._tracing.takes_form`.
        """
        if name not in _tracing.FORM or type(node) is not ast.Attribute or (
                node.attr not in _tracing.ARRAYS):
            return self.eval(node), False
        variable = self.eval(node.value)
        if type(variable) is Sym and type(variable.value) in VARIABLES and (
                variable.value._array is not None):
            return self.getattr(variable, name), True
        self._is_at(node, node)
        return self.getattr(variable, node.attr), False

    def _attribute(self, node: Any) -> Any:
        owner, is_form = self._of_form(node.value, node.attr)
        if is_form:
            return owner
        self._is_at(node, node)
        return self.getattr(owner, self._mangled(node.attr))

    def _subscript(self, node: Any) -> Any:
        return self.getitem(self.eval(node.value), self.eval(node.slice))

    def _slice(self, node: Any) -> Any:
        return slice(
            *[None if n is None else self.eval(n) for n in (node.lower, node.upper, node.step)]
        )

    def _call(self, node: Any) -> Any:
        args: list[Any] = []
        function = self.eval(node.func)
        for a in node.args:
            if isinstance(a, ast.Starred):
                args += self.iterate(self.eval(a.value))
            elif len(node.args) == 1 and not node.keywords and (
                    any([function is asks for asks in _tracing.ask_for_form])):
                found, is_form = self._of_form(a, "shape")
                if is_form:
                    self._is_at(node, node.func)
                    return self._form(function, found)
                args.append(found)
            else:
                args.append(self.eval(a))
        kw: dict[str, Any] = {}
        for k in node.keywords:
            more = {k.arg: self.eval(k.value)} if k.arg is not None else (
                self.items_of(self.eval(k.value)))
            if not kw.keys().isdisjoint(more) or not all([type(name) is str for name in more]):
                raise NotProvable("arguments by name that are given twice, or have no name")
            kw.update(more)
        self._is_at(node, node.func)
        if function is super and not args:
            return self._super()
        return self.call(function, args, kw)

    def _form(self, function: Any, shape: Any) -> Any:
        """What such a function says of an array on the host."""
        if function is not len:
            return self.call(function, [_HOST], {})
        if not shape:
            raise NotProvable("the length of an array without axes")
        return self.getitem(shape, 0)

    def _super(self) -> Super:
        frame: Frame | None = self.frames[-1]
        while frame is not None and frame.comprehension:
            frame = frame.outer
        assert frame is not None
        first = next(iter([*frame.node.args.posonlyargs, *frame.node.args.args]), None)
        if frame.function is None or first is None:
            raise NotProvable("super() in an inner function")
        return Super(self.lookup("__class__"), frame.names[first.arg])

    def _binop(self, node: Any) -> Any:
        return self.binary(type(node.op).__name__, self.eval(node.left), self.eval(node.right))

    def _unaryop(self, node: Any) -> Any:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.truth(value)
        return self.unary(type(node.op).__name__, value)

    def _boolop(self, node: Any) -> Any:
        ends_at = isinstance(node.op, ast.Or)
        value: Any = None
        for part in node.values:
            value = self.eval(part)
            if part is not node.values[-1] and self.truth(value) is ends_at:
                return value
        return value

    def _compare(self, node: Any) -> Any:
        if _asks_for_none(node):
            left, is_form = self._of_form(node.left, "shape")
            if is_form:
                return isinstance(node.ops[0], ast.IsNot)
        else:
            left = self.eval(node.left)
        found: Any = True
        for k, (op, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.eval(part)
            found = self.compare(type(op).__name__, left, right)
            if k + 1 < len(node.ops) and not self.truth(found):
                return found
            left = right
        return found

    def _ifexp(self, node: Any) -> Any:
        return self.eval(node.body if self.truth(self.eval(node.test)) else node.orelse)

    def _elements(self, nodes: Any) -> list[Any]:
        found: list[Any] = []
        for n in nodes:
            if isinstance(n, ast.Starred):
                found += self.iterate(self.eval(n.value))
            else:
                found.append(self.eval(n))
        return found

    def _tuple(self, node: Any) -> Any:
        made = tuple(self._elements(node.elts))
        if made and all([isinstance(n, (ast.Constant, ast.Tuple)) for n in node.elts]):
            # One object in all calls, if the compiler has made a constant of it.
            for known in self.frames[-1].real().__code__.co_consts:
                if type(known) is tuple and repr(known) == repr(made):
                    return self.residual.constant(known)
        return made

    def _list(self, node: Any) -> Any:
        return self._elements(node.elts)

    def _set(self, node: Any) -> Any:
        return {self.residual.fix(v) for v in self._elements(node.elts)}

    def _dict(self, node: Any) -> Any:
        found: dict[Any, Any] = {}
        for k, v in zip(node.keys, node.values, strict=True):
            if k is None:
                found.update(self.items_of(self.eval(v)))
            else:
                key = self.key(self.eval(k))
                found[key] = self.eval(v)
        return found

    def _inner(self) -> Frame:
        outer = self.frames[-1]
        frame = Frame(outer.node, {}, outer, None, outer.file, outer.cls)
        frame.line, frame.comprehension = outer.line, True
        self.all_frames.append(frame)
        return frame

    def _comprehension(self, node: Any, give: Any) -> Iterator[Any]:
        first = self.iterate(self.eval(node.generators[0].iter))  # in the outer scope
        frame = self._inner()

        def walk(k: int, items: Iterator[Any]) -> Iterator[Any]:
            part = node.generators[k]
            while True:
                self.frames.append(frame)
                try:
                    item = next(items)
                    self.assign(part.target, item)
                    taken = all(self.truth(self.eval(c)) for c in part.ifs)
                    last = k + 1 == len(node.generators)
                    value = give() if taken and last else None
                    inner = None if last or not taken else self.iterate(
                        self.eval(node.generators[k + 1].iter)
                    )
                except StopIteration:
                    return
                finally:
                    self.frames.pop()
                if not taken:
                    continue
                if inner is None:
                    yield value
                else:
                    yield from walk(k + 1, inner)

        return walk(0, iter(first))

    def _listcomp(self, node: Any) -> Any:
        return list(self._comprehension(node, lambda: self.eval(node.elt)))

    def _setcomp(self, node: Any) -> Any:
        return {self.residual.fix(v) for v in self._listcomp(node)}

    def _generatorexp(self, node: Any) -> Any:
        return self._comprehension(node, lambda: self.eval(node.elt))

    def _dictcomp(self, node: Any) -> Any:
        pairs = self._comprehension(
            node, lambda: (self.key(self.eval(node.key)), self.eval(node.value))
        )
        return dict(pairs)

    def _lambda(self, node: Any) -> Any:
        return self._closure(node)

    def _namedexpr(self, node: Any) -> Any:
        value = self.eval(node.value)
        frame = self.frames[-1]
        while frame.comprehension:  # it names what is outside of comprehensions
            assert frame.outer is not None
            frame = frame.outer
        self.store(node.target.id, value, frame)
        return value

    def _joinedstr(self, node: Any) -> Any:
        return "".join([self.eval(v) for v in node.values])

    def _formattedvalue(self, node: Any) -> Any:
        value = self.residual.fix(self.eval(node.value))
        if node.conversion != -1:
            value = {"s": str, "r": repr, "a": ascii}[chr(node.conversion)](value)
        return format(value, "" if node.format_spec is None else self.eval(node.format_spec))


_EXPRESSIONS = (
    "Constant Name Attribute Subscript Slice Call BinOp UnaryOp BoolOp Compare IfExp Tuple List "
    "Set Dict ListComp SetComp GeneratorExp DictComp Lambda NamedExpr JoinedStr FormattedValue"
).split()
_STATEMENTS = (
    "Return Assign AnnAssign AugAssign Pass Break Continue Nonlocal Assert Raise Delete "
    "FunctionDef Import ImportFrom"
).split()
_COMPOUND = {
    ast.If: "_if",
    ast.For: "_for",
    ast.While: "_while",
    ast.With: "_with",
    ast.Try: "_try",
    ast.Expr: "_expr_",
    ast.Global: "_global_",
}


def _asks_for_none(node: ast.Compare) -> bool:
    """Whether an expression compares one value with None."""
    return len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and (
        isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None)


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _once(function: Any) -> Any:
    """Look at each node once.

    What is known of one does not stand on it: from Python 3.15 on, nodes with attributes that their
    class does not know cannot be copied.
    """
    known = weakref.WeakKeyDictionary[ast.AST, Any]()

    @functools.wraps(function)
    def look(node: ast.AST) -> Any:
        if node not in known:
            known[node] = function(node)
        return known[node]

    return look


@_once
def _stored(node: Any) -> set[str]:
    """The names that a function itself gives values to."""
    found = set[str]()
    stack = list(node.body) if not isinstance(node, ast.Lambda) else []
    while stack:
        n = stack.pop()
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            found.add(n.id)
        elif isinstance(n, (ast.FunctionDef, ast.ClassDef)):
            found.add(n.name)
        elif not isinstance(n, (ast.Lambda, *_COMPREHENSIONS)):
            stack += ast.iter_child_nodes(n)
    return found


#: Where statements stand in others.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@_once
def _declared(node: Any) -> tuple[set[str], set[str]]:
    """The names that a function declares to be global, and those of functions around it."""
    found: tuple[set[str], set[str]] = set(), set()
    stack = list(node.body) if not isinstance(node, ast.Lambda) else []
    while stack:
        n = stack.pop()
        if isinstance(n, ast.Global):
            found[0].update(n.names)
        elif isinstance(n, ast.Nonlocal):
            found[1].update(n.names)
        elif not isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for statements in _BLOCKS:
                stack += getattr(n, statements, ())
    return found


_generators: dict[int, tuple[Any, bool]] = {}


def _is_generator(node: Any) -> bool:
    known = _generators.get(id(node))
    if known is None or known[0] is not node:
        stack, found = list(node.body), False
        while stack:
            n = stack.pop()
            if isinstance(n, (ast.Yield, ast.YieldFrom)):
                found = True
                break
            if not isinstance(n, (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)):
                stack += ast.iter_child_nodes(n)
        known = _generators[id(node)] = (node, found)
    return known[1]


def _bind(
    spec: Any, names: dict[str, Any], args: list[Any], kw: dict[str, Any], defaults: Any,
    kwdefaults: Any, name: str,
) -> None:
    """Give arguments their names, as a call does."""
    params = [*spec.posonlyargs, *spec.args]
    for p, v in zip(params, args, strict=False):
        names[p.arg] = v
    if len(args) > len(params):
        if spec.vararg is None:
            raise NotProvable(f"{name} gets too many arguments")
        names[spec.vararg.arg] = tuple(args[len(params) :])
    elif spec.vararg is not None:
        names[spec.vararg.arg] = ()
    first = len(params) - len(defaults)
    only = {p.arg for p in spec.posonlyargs}
    for k, p in enumerate(params):
        if k < len(args):
            if p.arg in kw and p.arg not in only:
                raise NotProvable(f"{name} gets {p.arg} twice")
        elif p.arg in kw and p.arg not in only:
            names[p.arg] = kw.pop(p.arg)
        elif k >= first:
            names[p.arg] = defaults[k - first]
        else:
            raise NotProvable(f"{name} misses the argument {p.arg}")
    for p in spec.kwonlyargs:
        if p.arg in kw:
            names[p.arg] = kw.pop(p.arg)
        elif p.arg in kwdefaults:
            names[p.arg] = kwdefaults[p.arg]
        else:
            raise NotProvable(f"{name} misses the argument {p.arg}")
    if spec.kwarg is not None:
        names[spec.kwarg.arg] = kw
    elif kw:
        raise NotProvable(f"{name} has no argument {next(iter(kw))}")
