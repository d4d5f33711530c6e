"""A run of a method by the interpreter: its functions are compared with the known ways.

In: a decorated method and the arguments of a call. Out: the residual code, which goes from guards
to programs to results. What may not happen: an effect. Programs and draws that are needed for
values are run on copies, and the generator is set back.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import _tracing, configuration
from chainer._backprop import grad
from chainer.function_node import FunctionNode
from chainer.variable import Variable
from chainwright.ir.layout import REUSED
from chainwright.runtime import is_asynchronous

from ._ahead import Guard, ahead
from ._carrier import Carrier, failed, grad_inside, hear, holds, hush, undone, within
from ._device import elsewhere, gpu_of
from ._frames import is_decorated
from ._interpreter import Interpreter
from ._lean import Code, Ran, variable_line
from ._made import Writer
from ._own import OwnObject
from ._random import (
    PLAIN_DRAWS,
    draw_function,
    generator_state,
    set_generator_state,
    whole_generator_state,
)
from ._residual import PLAIN, NotProvable, Residual, Sym, is_name
from ._settings import settings_now
from ._specs import Spec, other_gaps
from ._tree import Application
from ._users import Forward, is_users
from ._values import Elsewhere, Incomparable, copied
from ._warned import Hearing

if TYPE_CHECKING:
    from ._site import Site

_new = object.__new__
_Promise = _tracing.Promise


class _Refusing:
    """In the place of a run while a method is interpreted: no function may get here."""

    busy = halted = False
    computes = 0

    def config_changes(self, name: str) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if hasattr(_Aside, name) and is_asynchronous():
            return set() if name == "statistics" else getattr(_Aside, name)
        raise NotProvable("a function is applied by code that is not read")


class _Aside:
    """What signal handlers and finalizers find, who have come in the middle of that.

    Nothing is put off for them, and nothing that they do is a part of the method.
    """

    funcs = ()
    statistics = frozenset[int]()

    @staticmethod
    def owns(x: Variable) -> bool:
        return False

    @staticmethod
    def detached(x: Variable) -> Variable | None:
        return None

    @staticmethod
    def look(x: Variable, why: str) -> None:
        """It has its values."""

    @staticmethod
    def looked_at_array(array: Any) -> None:
        """Likewise."""

    @staticmethod
    def stop(why: str) -> None:
        """Likewise."""

    @staticmethod
    def looked_at(x: Variable, array: Any) -> None:
        """Likewise."""

    @staticmethod
    def rebinds(x: Variable, array: Any) -> None:
        """Likewise."""

    @staticmethod
    def step(run: Any, func: FunctionNode, inputs: Any) -> Any:
        with _tracing.aside():
            return func._apply(inputs)

    @staticmethod
    def settle(why: str) -> None:
        """Nothing of theirs is put off."""


class NoWay(NotProvable):
    """The call does not go a way that is known."""


def _is_array(value: Any) -> bool:
    value = value.value if type(value) is Sym else None
    return type(value) is np.ndarray and not value.dtype.hasobject


def _is_data(value: Any) -> bool:
    """Whether it holds no code of anybody's."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_data, value))
    if isinstance(value, dict):
        return all(map(_is_data, value.values()))
    if isinstance(value, slice):
        return True
    return type(value) in PLAIN or isinstance(value, (np.ndarray, np.generic, np.dtype, type))


class Dry:
    """One run; see the module."""

    any_size = False  # whether lengths may be others in other calls
    large = REUSED  # bytes of an array that NumPy may write another one's items into

    def __init__(self, site: Site, chain: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> None:
        self.site = site
        self.app: Application = site.root
        self.first = 1
        self.residual = r = Residual()
        self.interpreter = Interpreter(r, self)
        r.guarded = self._guarded
        self.statistics: set[int] = set()
        self.views: dict[int, Sym] = {}
        self.bases: dict[int, Sym] = {}
        self.own_objects: list[OwnObject] = []
        self.effects: list[tuple[str, Any, Any, Any]] = []
        self.slots: dict[int, int] = {}  # of values that functions have been applied to
        self.values: list[Any] = []  # the symbols, by slot
        self.leaves: list[Sym] = []
        self.pending: list[Application] = []
        self.drawn: list[Any] = []
        self._states: dict[Application, Any] = {}  # the generator before that
        self._aliases: dict[int, Variable] = {}  # of Variables of the outside
        self.numbers: dict[tuple[Application, str], Any] = {}  # that are inputs of programs
        self.ran: list[Ran] = []  # programs
        self.begun: int | None = None  # the line from which on the call does something
        self._computed: int | None = None  # the line from which on it may warn
        self._guarded_late = False  # whether guards stand behind that
        self.hearing = Hearing()
        self.guards: list[Guard] = []  # behind that
        self._of_form = False
        self._of_leaves = False
        self.plain_draws, self.draws_anything = True, False
        self._may_have_drawn = False  # while it was read
        self._python_state: Any = None  # of Python's generator, before it is asked
        self._saved_whole: set[int] = set()  # arrays of the outside that the call changes
        #: What is changed in their place, while a call is read.
        self._copies: dict[int, tuple[np.ndarray, Elsewhere]] = {}
        self._saves: list[tuple[int, bool, str]] = []  # see _save_later
        self.undoes = False  # whether something may have to be undone
        self._made: set[int] = set()
        self._placed = 0  # leaves that stand in the list of values
        self._settings = settings_now()
        self.chain, self.args, self.kw = chain, args, kw

    # -- the whole

    def run(self) -> Any:
        """Interpret; gives what the method returns, with the residual code complete."""
        r, args, kw = self.residual, self.args, self.kw
        r.line("try:")
        condition = f"len(args) != {len(args)} or " + (
            f"kw.keys() != {r.const(set(kw))}" if kw else "kw"
        )
        r.guard(condition)
        chain = r.load("chain", self.chain)
        positional = [r.load(f"args[{k}]", v) for k, v in enumerate(args)]
        named = {k: r.load(f"kw[{k!r}]", v) for k, v in kw.items()}
        before, refusing, state = dict(configuration.local_entries.__dict__), _Refusing(), None
        run, _tracing.state.run = _tracing.state.run, refusing
        try:
            state = whole_generator_state()
            with self.hearing:  # what is computed now is computed again in the call
                result = self.interpreter.run_function(
                    self.site.method, [chain, *positional], named
                )
                self.interpreter.check_generators()
                if self.pending:
                    self.sync()
        finally:
            _tracing.state.run = run
            if state is not None and self._may_have_drawn:
                set_generator_state(state)  # else another thread would draw its numbers again
            if self._python_state is not None:
                random.setstate(self._python_state)
            if configuration.local_entries.__dict__ != before:
                raise AssertionError("the configuration has changed")
        if not self.ran:
            raise NotProvable("no program")
        self._finish(result)
        return result

    def _finish(self, result: Any) -> None:
        r = self.residual
        writer = Writer(r)
        self._save_earlier()
        effects = []
        last = {(id(o), n): k for k, (kind, o, n, _) in enumerate(self.effects) if kind == "set"}
        for k, (kind, obj, name, value) in enumerate(self.effects):
            if kind == "set" and last[id(obj), name] != k and name in vars(obj.value):
                continue  # set again in the same call, with nothing of the user's between
            if kind == "set":
                value = writer.text(value)
                effects.append(f"{obj.ref}.{name} = {value}" if is_name(name) else
                               f"setattr({obj.ref}, {name!r}, {value})")
            elif kind == "report":
                effects.append(
                    f"report({writer.text(value)}, {'None' if obj is None else writer.text(obj)})"
                )
            elif kind == "warn":
                effects.append(f"{r.const(name.warn)}()")
            elif kind == "append":
                effects.append(f"{obj.ref}.append({writer.text(value)})")
            elif kind == "extend":
                effects.append(f"{obj.ref}.extend({writer.text(value)})")
            elif kind == "item":
                effects.append(f"{obj.ref}[{r.ref(name)}] = {writer.text(value)}")
        text = writer.text(result)
        self._distinct_writes()
        for line in writer.lines:
            r.line(line)
        if self._guarded_late:
            assert self._computed is not None
            r.lines[self._computed] = "hear(carrier)"
            r.line("holds(carrier)")
        if effects:
            r.line("carrier.effects = True")
        for line in effects:
            r.line(line)
        r.line(f"return {text}")
        head, body = r.lines[:1], r.lines[1:]
        head += [f"    {line}" for line in body]
        head += ["except Exception:", "    return failed(carrier)"]
        if self._guarded_late:
            head += ["except BaseException:", "    hush(carrier)", "    raise"]
        r.lines[:] = head
        r.names["failed"], r.names["undone"] = failed, undone
        r.names["hear"], r.names["hush"], r.names["holds"] = hear, hush, holds
        r.names["report"] = __import__("chainer").reporter.report
        r.names["first_state"] = generator_state if self.plain_draws else whole_generator_state
        self.code = Code(r.lines, r.names, self.ran)

    def _distinct_writes(self) -> None:
        """Two objects of which one is written must be two in other calls, too."""
        r = self.residual
        for obj in {id(o): o for _, o, _, _ in self.effects if type(o) is Sym}.values():
            kind = type(obj.value)
            same = [s for s in r.objects.values() if type(s.value) is kind and s is not obj]
            for other in same:
                r.guard(f"{obj.ref} is {other.ref}")

    def forget(self) -> None:
        """Hold nothing of the call any longer."""
        for frame in self.interpreter.all_frames:
            frame.names.clear()
        for held in (self.interpreter, self.residual, self):
            held.__dict__.clear()

    def _begin(self) -> None:
        """From here on the call does something: it computes, draws or writes."""
        self.computes()
        if self.begun is None:
            self.begun = len(self.residual.lines)

    def computes(self) -> None:
        """What comes may warn: nobody is to hear of it before the last guard."""
        if self._computed is None:
            r = self.residual
            self._computed, r.miss = len(r.lines), "return undone(carrier)"
            r.line("pass")  # unless guards follow

    def _guarded(self) -> None:
        """A guard is written: it may be one on what the call itself computes."""
        self._guarded_late = self._computed is not None
        if self.begun is not None:
            depth = self.first - 1 if self._of_leaves else self.app.depth
            self.guards.append(Guard(len(self.residual.lines), depth, self._of_form))

    def decisions(self) -> tuple[list[str], list[Guard]]:
        """Lines that can be run before the call, and the guards that cannot be, as a whole."""
        assert self.begun is not None  # there is a program
        r = self.residual
        found = ahead(r.lines, self.begun, r.kinds, self.undoes or bool(self._saves))
        late = [g for g in self.guards if found.get(g.line) != r.lines[g.line]]
        return list(found.values()), late

    # -- what the interpreter asks

    def decorated(self, function: FunctionType) -> FunctionType | None:
        """The method below the decorator of a compiled one: inside of a call it is plain."""
        if is_decorated(function.__code__):
            cells = dict(
                zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            )
            return cells["method"].cell_contents
        return None

    def is_made(self, sym: Sym) -> bool:
        """Whether an object comes into being in the call."""
        return sym.slot is not None and sym not in self.leaves or id(sym) in self._made

    def effect(self, kind: str, obj: Any, name: Any, value: Any) -> None:
        """Something to do after the programs."""
        if settings_now() is not self._settings:
            raise NotProvable("an effect in another configuration than the call's")
        if obj is not None and type(obj) is not Sym:
            raise NotProvable("an effect on an object that the call has made")
        self.effects.append((kind, obj, name, value))

    def warns(self, warning: Any) -> None:
        """``warning.warn()`` is to be called after the programs."""
        self.effects.append(("warn", None, warning, None))

    def changes(self, sym: Sym, part: str | None = None) -> None:
        """An array is changed in place now: all of it, or what is written as ``part``.

        One of the outside is put back where a guard fails later.
        """
        r, root = self.residual, sym
        while (base := self.bases.get(id(root))) is not None:
            root = base
        if not root.own and (not root.outside or self.is_made(root)):
            raise NotProvable("an array is changed in place that may be another one's")
        self.spec(root)  # an array that was made in this call is of no other kind in others
        self._used_before(root)
        if not root.own:
            self._change_outside(root, sym, part)
        r.contents_change()

    def _change_outside(self, root: Sym, sym: Sym, part: str | None) -> None:
        r = self.residual
        self._begin()
        if id(root) not in self._saved_whole:
            self.undoes = True
            r.miss = "return undone(carrier)"
            if part is None:
                self._saved_whole.add(id(root))
            text = part or root.ref
            r.line(f"carrier.undo.append(({text}, copied({text})))")
        if id(root) not in self._copies:  # while a call is read it is a copy that is changed
            real, copy = root.value, copied(root.value)
            self._copies[id(root)] = real, Elsewhere([(real, copy)])
            r.kept.append(root)
            self._shows(root, copy)
        if root is not sym:
            _, elsewhere = self._copies[id(root)]
            there = elsewhere.seen(sym.value)
            if there is not None:
                self._shows(sym, there)
            elif not np.may_share_memory(sym.value, root.value):
                raise NotProvable("what may be a view of an array is changed in place")

    def _shows(self, sym: Sym, array: np.ndarray) -> None:
        """Another array takes the place of one, while a call is read."""
        self.residual.kept.append(sym.value)
        if id(sym.value) in self.slots:
            self.slots[id(array)] = self.slots[id(sym.value)]
        sym.value = array

    def _used_before(self, root: Sym) -> None:
        """Functions that are pending must not have used what is changed: they compute it later."""
        r = self.residual
        slots = {s for app in self.pending for s in (*app.inputs, *app.arrays.values())}
        before, _ = self._copies.get(id(root), (root.value, None))
        for slot in sorted(slots):
            leaf = self.values[slot]
            if leaf.applied or root.own and leaf.born < root.born:
                continue  # what was there before an array was made has memory of its own
            array = f"{leaf.ref}._array" if isinstance(leaf.value, Variable) else leaf.ref
            real = leaf.value._array if isinstance(leaf.value, Variable) else leaf.value
            if type(real) is not np.ndarray:
                continue  # on a device
            if leaf is root or np.may_share_memory(before, real):
                raise NotProvable("an array is changed after its use")
            r.guard(f"overlap({root.ref}, {array})")

    def _save_later(self, text: str, may_fail: bool) -> None:
        """The next line writes to the array ``text``: it is saved, if something may fail then."""
        r = self.residual
        self._saves.append((len(r.lines), may_fail, text))
        r.line("pass")
        r.miss = "return undone(carrier)"

    def _save_earlier(self) -> None:
        """Nothing but effects and results follow."""
        r = self.residual
        places = {place for place, *_ in self._saves}
        last = len(r.lines) - 1
        while last - 1 in places:  # the lines before the last one belong to it
            last -= 1
        for place, may_fail, text in reversed(self._saves):
            if may_fail or place < last:
                r.lines[place] = f"carrier.undo.append(({text}, copied({text})))"
                self.undoes = True

    def draws(self, name: str) -> None:
        """Random numbers are drawn from here on: where a guard fails the generator is set back."""
        r, self._may_have_drawn = self.residual, True
        self.plain_draws = self.plain_draws and name in PLAIN_DRAWS
        if not self.draws_anything:
            self._begin()
            self.draws_anything = True
            r.line("carrier.first_state = first_state()")
            r.miss = "return undone(carrier)"

    def draws_of_python(self) -> None:
        """The same for Python's ``random``."""
        if self._python_state is None:
            self._begin()
            self._python_state, self.undoes = random.getstate(), True
            r = self.residual
            r.line(f"carrier.python_state = {r.const(random.getstate)}()")
            r.miss = "return undone(carrier)"

    def variable(self, cls: type, args: list[Any], kw: dict[str, Any]) -> Any:
        """``Variable(array)`` in the method."""
        data, *rest = args
        names = set(kw) - {"requires_grad", "name"}
        if cls is not Variable or rest or names or type(data) is not Sym:
            raise NotProvable(f"a {cls.__name__} is made")
        if type(data.value) is not np.ndarray:
            raise NotProvable("a Variable of no array is made")
        fixed = {k: self.residual.fix(v) for k, v in kw.items()}
        self.spec(data)
        parts = [data.ref, *[f"{k}={self.residual.ref(v)}" for k, v in fixed.items()]]
        found = self.residual.made(f"Variable({', '.join(parts)})", Variable(data.value, **fixed))
        self._made.add(id(found))
        return found

    def spec(self, sym: Sym) -> Spec:
        """What a Variable or array looks like, the same in all calls."""
        value, r = sym.value, self.residual
        if sym.slot is not None and sym.applied or type(value) is _Promise:
            array = value._array if isinstance(value, Variable) else value
            grad = value._requires_grad if isinstance(value, Variable) else None
            facts = array.shape, array.dtype, array.strides, grad, gpu_of(array)
            return Spec(type(value), *facts)
        try:
            spec = Spec.of(value)
        except Incomparable as e:
            raise NotProvable(f"{e} is used as an array") from None
        if not sym.checked:
            sym.checked = True
            a = sym.ref
            if isinstance(value, Variable):
                r.guard(f"type({sym.ref}) is not {r.const(type(value))}")
                r.guard(f"{sym.ref}._requires_grad is not {spec.requires_grad}")
                a = r.name()
                r.line(f"{a} = {sym.ref}._array")
            r.guard(f"{elsewhere(a, spec.gpu, r.const)} or {self._differs(sym, a, spec)}")
        return spec

    def _differs(self, sym: Sym, a: str, spec: Spec) -> str:
        """A condition for another layout than this one, of the array ``a`` of a value."""
        shape = self.residual.const(spec.shape)
        return f"{a}.shape != {shape} or {self._is_no(a, spec)}{self._has_other_gaps(a, spec)}"

    def _has_other_gaps(self, a: str, spec: Spec) -> str:
        return other_gaps(a, spec, self.residual.const)

    def _is_no(self, a: str, spec: Spec) -> str:
        dtype = self.residual.const(spec.dtype)
        return f"{a}.dtype is not {dtype} and {a}.dtype != {dtype}"

    def shape(self, sym: Sym) -> tuple[Any, ...]:
        """The lengths of a Variable or array."""
        return self.spec(sym).shape

    def size(self, sym: Sym) -> Any:
        """How many items it has."""
        return math.prod(self.spec(sym).shape)

    def exact(self, sym: Sym) -> Spec:
        """What it looks like, to the last length, and to the gaps between its items."""
        spec = self.spec(sym)
        return self._with_gaps(sym, spec) if spec.loose and not sym.applied else spec

    def _with_gaps(self, sym: Sym, spec: Spec) -> Spec:
        x, a = sym.value, sym.ref
        if isinstance(x, Variable):
            x, a = x._array, f"{a}._array"
        self.residual.guard(f"{a}.strides != {self.residual.const(x.strides)}")
        return spec._replace(strides=x.strides, loose=False)

    def array_of(self, sym: Sym) -> Any:
        """``x._array``: no look."""
        if sym.applied:
            found = Sym(sym.value._array, "?")
            found.applied = True
            return found
        self.spec(sym)
        return self.residual.load(f"{sym.ref}._array", sym.value._array)

    def look(self, sym: Sym) -> Any:
        """``x.array``: a sync point, where what is pending has to do with it."""
        if sym.applied:
            if self.pending:
                self.sync()
            if sym.applied:
                raise NotProvable("a result that no program gives is looked at")
        elif self.pending and sym in self.leaves and self.site_looks(sym):
            self.sync()
        self.spec(sym)
        found = self.residual.load(f"{sym.ref}._array", sym.value._array)
        if self.is_made(sym):
            self._made.add(id(found))
        return found

    def site_looks(self, sym: Sym) -> bool:
        """Whether an ordinary call stops where this is read."""
        return True

    # -- functions

    def apply(self, func: Any, inputs: list[Any]) -> Any:
        """``func.apply(inputs)``: the next application on a known way."""
        if type(func) is not OwnObject or func.applied:
            raise NotProvable("a function object of the outside, or one that has run, is applied")
        settings = settings_now()
        if settings is None or settings.debug:
            raise NotProvable("debug mode, or a configuration that cannot be compared")
        read = _Read(self, func, inputs, settings)
        attributes, child = read.attributes, self._child(read.app)
        if read.cannot and child.eager is None:  # a program does what attributes say
            raise NotProvable(read.cannot)
        self.slots = read.slots
        between = child.eager is not None
        begun = False
        for sym in read.new:
            slot = len(self.values)
            if slot not in child.inputs and not begun:
                self._begins(child, attributes)
                begun = True
            self._leaf(child, slot, sym)
            sym.slot = slot
            self.values.append(sym)
            self.leaves.append(sym)
        if not begun:
            self._begins(child, attributes)
        if not child.any_attributes:
            numbers = dict(child.numbers)
            for name, v in attributes.items():
                if name in numbers:
                    if type(v) is Sym:
                        self.residual.type_of(v)
                    self.numbers[child, name] = v
                elif not _is_array(v):
                    self._is_known(child, name, v)
        # What users can see they must find changed when the function has been applied.
        between |= any([id(self.values[s].value) not in self.statistics for s in child.writes])
        if between:
            made_of = self._apply_between(child, func, inputs, read.fake)
            func.applied = True
            return made_of
        func.applied = True
        self.app = child
        self.pending.append(child)
        self._draw(child)
        return tuple([self._output(spec) for spec in child.outputs])

    def _begins(self, app: Application, attributes: dict[str, Any]) -> None:
        """The inputs of a function are known."""

    def _leaf(self, app: Application, slot: int, sym: Sym) -> None:
        """A value from outside of the programs is what the way says of it."""
        self._may_be_written(app, slot, sym)
        self.spec(sym)

    def _may_be_written(self, app: Application, slot: int, sym: Sym) -> None:
        """What a function writes a program takes as it is, so it has to lie as programs expect."""
        if slot in app.writes and self.exact(sym).strides != self.spec(sym).strides:
            raise NotProvable("rows of an array are written that have gaps between them")

    def _is_known(self, app: Application, name: str, v: Any) -> None:
        """An attribute of a function is what the way says of it."""
        self.residual.fix([x for x in v if not _is_array(x)] if type(v) in (tuple, list) else v)

    def _opened(self, v: Any) -> Any:
        """A sequence of the outside that holds arrays, item by item."""
        if type(v) is Sym and type(v.value) in (tuple, list):
            if any([isinstance(x, np.ndarray) for x in v.value]):
                return type(v.value)(self.interpreter.iterate(v))
        return v

    def _child(self, made: Application) -> Application:
        """The application that comes next."""
        hot = [c for c in self.app.child(made) or () if c.hot]
        if len(hot) != 1:
            label = made.kind.__name__
            raise NoWay(f"{label} is applied, and no known way goes on like that")
        return hot[0]

    def _apply_between(self, app: Application, func: Any, inputs: Any, fake: Any) -> Any:
        """A function that is no part of a program."""
        r, users = self.residual, is_users(func.cls)
        if not users and not all(map(_is_data, fake.__dict__.values())):
            raise NotProvable(f"{app.label} has an attribute that is no plain data")
        if any([spec.gpu is not None for spec in (*app.outputs, *map(self.spec, inputs))]):
            raise NotProvable(f"{app.label} is {app.eager}")  # CuPy's generators have no copies
        if self.pending:
            self.sync()
        self._begin()
        self._may_have_drawn = True
        if users:
            apply, args, outs = self._as_read(func, inputs, fake)
        else:
            apply, args, outs = self._as_it_is(func, inputs, fake)
        if app.settings is not self._settings:
            r.names["within"] = within
            apply = f"within({r.const(app.settings)}, {apply})"
        o = r.name()
        r.line(f"{o} = {apply}({args})")
        self._of_form = True
        made_of = self._results_between(app, o, outs)
        self._of_form = False
        self.app, self.first = app, app.depth + 1
        made = []
        for y, sym in zip(outs, made_of, strict=True):
            sym.slot, sym.checked = len(self.values), True
            self.slots[id(y)] = sym.slot
            self.values.append(sym)
            self._made.add(id(sym))
            made.append(sym)
        return tuple(made)

    def _as_read(self, func: Any, inputs: Any, fake: Any) -> tuple[str, str, Any]:
        """A function of the user's is applied: what to call, its arguments, and the results."""
        forward = Forward(self, func, inputs)
        node = forward.left_on(fake)
        xs = tuple([self._apart(v) for v in inputs])
        with _tracing.aside():
            outs = fake._has_given(xs, tuple([y.value for y in forward.outputs]))
        args = f"{self._tuple(inputs)}, {self._tuple(forward.outputs)}"
        return f"{node.ref}._has_given", args, outs

    def _tuple(self, values: Iterable[Any]) -> str:
        return f"({''.join([f'{self.residual.ref(v)}, ' for v in values])})"

    def _as_it_is(self, func: Any, inputs: Any, fake: Any) -> tuple[str, str, Any]:
        """Likewise a function of the library."""
        r = self.residual
        f = func.real = Sym(fake, r.name())
        r.line(f"{f.ref} = new({r.const(func.cls)})")
        for name, v in func.attributes.items():
            r.line(f"{f.ref}.__dict__[{name!r}] = {r.ref(v)}")
            if isinstance(fake.__dict__[name], np.ndarray):
                fake.__dict__[name] = copied(fake.__dict__[name])
                if type(v) is Sym and not v.own:
                    self._save_later(v.ref, may_fail=True)  # running statistics, for instance
        xs = tuple([self._apart(v) for v in inputs])
        before = generator_state()
        with _tracing.aside():
            outs = fake._apply(xs)
        if generator_state() != before:
            self.draws("whatever")
        return f"{f.ref}._apply", self._tuple(inputs), outs

    def _results_between(self, app: Application, o: str, outs: tuple[Variable, ...]) -> list[Any]:
        """The results of a function that is applied between programs, of the form known."""
        r = self.residual
        if not app.gives(outs):
            raise NotProvable("the form of results depends on values")
        r.guard(f"not {r.const(app)}.gives({o})")
        return [r.made(f"{o}[{k}]", y) for k, y in enumerate(outs)]

    def _apart(self, sym: Sym) -> Any:
        """The same array in another Variable: nothing is to be kept at the nodes of the caller."""
        x = sym.value
        if not isinstance(x, Variable) or self.is_made(sym):
            return x
        found = self._aliases.get(id(x))
        if found is None:
            found = Variable(x._array, requires_grad=x._requires_grad)
            self._aliases[id(x)] = found
        return found

    def _draw(self, app: Application) -> None:
        if not app.draws:
            return
        r = self.residual
        plain = all([draw.name in PLAIN_DRAWS for draw in app.draws])
        for draw in app.draws:
            self.draws(draw.name)
        if plain and not self.plain_draws:
            plain = True
        state = generator_state if plain else whole_generator_state
        r.line(f"carrier.states[{r.const(app)}] = {r.const(state)}()")
        self._states[app] = state()
        for draw in app.draws:
            f, args, kwargs = draw_function(draw.name), draw.args, draw.kwargs
            texts = self._text_of(args), self._text_of(kwargs)
            r.line(f"carrier.drawn.append({r.const(f)}(*{texts[0]}, **{texts[1]}))")
            self.drawn.append(f(*self._now(args), **self._now(kwargs)))

    def _text_of(self, value: Any) -> str:
        return self.residual.const(value)

    def _now(self, value: Any) -> Any:
        return value

    def _output(self, spec: Spec) -> Sym:
        y = _new(Variable)
        y._array = _tracing.promise(spec.shape, spec.dtype, spec.gpu)
        y._requires_grad = spec.requires_grad
        sym = Sym(y, f"s{len(self.values)}")
        sym.slot, sym.applied = len(self.values), True
        self.slots[id(y)] = sym.slot
        self.values.append(sym)
        self.residual.kept.append(y)
        return sym

    # -- programs

    def sync(self) -> None:
        """Have a program compute what is pending."""
        r, app, first = self.residual, self.app, self.first
        plan = app.plans.get(first)
        if plan is None or not plan.ready():
            raise NotProvable("no program ends at this place yet")
        self._distinct_writes()
        if len(self.leaves) > 1:
            ids = ", ".join([f"id({s.ref})" for s in self.leaves])
            self._of_leaves = True  # those used since the last program are new among them
            r.guard(f"len({{{ids}}}) != {len(self.leaves)}")
            self._of_leaves = False
        self._begin()
        for s in self.leaves:
            if s.ref == "?":
                raise NotProvable("a promised array is a leaf")
        n, variables = len(self.values), dict[int, int]()
        names: list[str] = ["None"] * (n - self._placed)
        for k, sym in enumerate(self.values[self._placed :], self._placed):
            if not sym.applied:
                names[k - self._placed] = sym.ref
            elif k in plan.given:
                names[k - self._placed] = sym.ref
                variables[k] = len(r.lines)
                r.line(variable_line(k, sym.value._requires_grad))
        for (a, name), v in self.numbers.items():
            if a in self.pending:
                r.line(f"carrier.numbers[{r.const(a)}, {name!r}] = {r.ref(v)}")
        values_at, placed, self._placed = len(r.lines), self._placed, n
        r.line(f"carrier.values += [{', '.join(names)}]")
        for slot in {slot for piece in plan.pieces for slot in piece.written}:
            self._save_later(self.values[slot].ref, may_fail=False)  # itself it leaves no half
        drawn = any([a.draws for a in self.pending])
        then = "; carrier.drawn = []; carrier.states = {}" if drawn else ""
        self.ran.append(
            Ran(app, first, plan, placed, names, variables, values_at, len(r.lines), then))
        r.line(f"{r.const(plan)}.run(carrier){then}")
        self._preview(plan)
        self.pending, self.first = [], app.depth + 1

    def _preview(self, plan: Any) -> None:
        """Compute the results, on copies of what the program would write, in a graph apart."""
        carrier, pieces = Carrier(), plan.pieces
        carrier.values = [self._apart(sym) for sym in self.values]
        for slot in {slot for piece in pieces for slot in piece.written}:
            carrier.values[slot] = copied(carrier.values[slot])
        carrier.drawn, self.drawn = self.drawn, []
        carrier.states, self._states = self._states, {}
        for key, number in self.numbers.items():
            if key[0] in self.pending:
                carrier.numbers[key] = self.interpreter.native(number)
        self._sizes_for(carrier)
        before = [piece.counts for piece in pieces]
        with _tracing.aside(), np.errstate(all="ignore"):  # the call itself has told of them
            plan.run(carrier)
        for piece, counts in zip(pieces, before, strict=True):
            piece.counts = counts
        for slot in plan.given:
            sym = self.values[slot]
            sym.applied, sym.checked, sym.born = False, True, self.residual.count
            self._made.add(id(sym))

    def _sizes_for(self, carrier: Carrier) -> None:
        """Lengths that attributes of functions have."""

    # -- gradients

    def gradients(
        self, outputs: list[Any], inputs: list[Any], grad_outputs: Any, options: dict[str, Any]
    ) -> list[Any]:
        """``chainer.grad`` in the method: it is called as it is, between programs."""
        r = self.residual
        if settings_now() is not self._settings:
            raise NotProvable("chainer.grad in another configuration than the call's")
        if self.pending:
            self.sync()
        for sym in (*outputs, *inputs, *[v for v in grad_outputs or () if v is not None]):
            if type(sym) is not Sym or not isinstance(sym.value, Variable) or sym.applied:
                raise NotProvable("chainer.grad of something else than Variables with values")
            self.spec(sym)
        self._begin()
        parts = [r.ref(outputs), r.ref(inputs), r.ref(grad_outputs)]
        parts += [f"{name}={r.ref(value)}" for name, value in options.items()]
        o = r.name()
        r.line(f"{o} = {r.const(grad_inside)}({', '.join(parts)})")
        given = grad_outputs and [None if v is None else self._apart(v) for v in grad_outputs]
        with _tracing.aside():
            found = grad(
                [self._apart(y) for y in outputs], [self._apart(x) for x in inputs], given,
                **options,
            )
        made = []
        for k, g in enumerate(found):
            sym = r.made(f"{o}[{k}]", g)
            if type(sym) is Sym:
                self._made.add(id(sym))
                self.views[id(sym)] = sym
            made.append(sym)
        return made


class _Read:
    """A function that the method applies, described as where calls are noted.

    Raises:
        NotProvable: An input is no array that is known, or an attribute may be anything.
    """

    def __init__(self, dry: Dry, func: Any, inputs: list[Any], settings: Any) -> None:
        self._dry, self._cls = dry, func.cls
        self._symbols: dict[int, Sym] = {}
        self.app = made = Application(dry.app)
        self.fake = _new(func.cls)  # with the attributes of this call
        #: Why the attributes are not known: that matters where a program does what they say.
        self.cannot = ""
        self.attributes = {name: dry._opened(v) for name, v in func.attributes.items()}
        try:
            for name, v in self.attributes.items():
                self.fake.__dict__[name] = self._attribute(v)
        except NotProvable as e:
            self.cannot = str(e)
        natives = tuple([self._array(v) for v in inputs])
        self._forget()
        try:
            if self.cannot:
                raise Incomparable(self.cannot)
            made.describe(self.fake, natives, settings, self._slot_of, self._count)
        except Incomparable as e:
            why = f"{func.cls.__name__} has {e}"
            if not is_users(func.cls):
                raise NotProvable(self.cannot or why) from None
            # Any such function goes this way, as where calls are noted.
            self._forget()
            self.attributes, self.fake, self.cannot = {}, _new(func.cls), why
            made.describe(_new(FunctionNode), natives, settings, self._slot_of, self._count)
            made.kind, made.place, made.images = func.cls, (func.cls, *made.place[1:]), None

    def _forget(self) -> None:
        """No value has come that had not come before."""
        self.new: list[Sym] = []
        self.slots, self._count = dict(self._dry.slots), len(self._dry.values)

    def _array(self, v: Any) -> Any:
        """The array or Variable that a symbol stands for."""
        dry = self._dry
        if type(v) is not Sym or not isinstance(v.value, (Variable, np.ndarray)):
            raise NotProvable(f"an input of {self._cls.__name__} is no array")
        if type(v.value) is _Promise:
            raise NotProvable("a promised array is an input")
        slot = dry.slots.get(id(v.value))
        first = self._symbols.setdefault(id(v.value), v if slot is None else dry.values[slot])
        if first is not v:  # here they are one object
            dry.residual.guard(f"{v.ref} is not {first.ref}")
        return v.value

    def _attribute(self, v: Any) -> Any:
        if type(v) in (tuple, list):
            return type(v)([self._attribute_item(x) for x in v])
        return self._attribute_item(v)

    def _attribute_item(self, v: Any) -> Any:
        return self._array(v) if _is_array(v) else self._dry.interpreter.native(v, computes=False)

    def _slot_of(self, x: Any) -> int:
        slot = self.slots.get(id(x))
        if slot is None:
            if id(x) not in self._symbols:  # running statistics on a GPU, say
                raise NotProvable(f"{self._cls.__name__} has an array that is no argument of it")
            slot = self.slots[id(x)] = self._count + len(self.new)
            self.app.leaves[slot] = Spec.of(x)
            self.new.append(self._symbols[id(x)])
        return slot
