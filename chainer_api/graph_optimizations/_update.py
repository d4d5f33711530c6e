"""Updates of all parameters as one call of native code.

In: an optimizer with its gradients. Out: what the loop over parameters would have made of arrays
and states, bit for bit, where update rules and hooks are array code of the library's form
(:class:`chainer.optimizer._StepRule`); everything else is left to the loop. What may not happen: a
difference that anybody could see, in numbers, warnings, exceptions or counts.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from chainer import optimizer
from chainer.backends import cuda
from chainer.link import _all_params
from chainer.optimizer_hooks._elementwise import ElementwiseHook
from chainer.variable import Parameter
from chainwright.ir import Graph
from chainwright.runtime import pass_on
from chainwright.runtime.native import looks
from chainwright.runtime.sweeps import DONE, RAISED, Items, Sweep, SweepCode, same_walk
from chainwright.tracer import Recorder

from ._again import Again, Unknown
from ._device import span
from ._errors import errors
from ._held import LARGE, hold
from ._values import check_is_due, copied, same_numbers

_ALIKE = 16  # updates until they are expected to go on alike
_NEVER = 1 << 40
_CHECKED = 8 << 20  # bytes that a check of an update copies at most, but for one parameter
_LENGTH = 1024  # of the arrays that are recorded; no part of what comes out
_DTYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
_NUMBERS = frozenset({float, int, bool})
_LARGEST = {np.dtype(np.float32): 1e38, np.dtype(np.float64): 1e308}
#: What a child class or an object may not have changed.
_METHODS = tuple(
    "update _update _update_in_fp32 _init_states update_core update_core_cpu".split()
)
_OWN = frozenset((*_METHODS, "_step", "_numbers"))
_QUIET = frozenset({"ignore", "warn"})


def numbers_fit(numbers: Sequence[Any], dtype: np.dtype) -> bool:
    """Whether numbers are such as NumPy casts to the dtype of the arrays without a word."""
    largest = _LARGEST[dtype]
    return all([
        n is None or type(n) in _NUMBERS and -largest < n < largest for n in numbers
    ])


class Key(NamedTuple):
    """What recorded code depends on."""

    kind: Any  # a rule's class, or a hook's
    dtype: np.dtype
    states: tuple[str, ...]
    absent: tuple[bool, ...]  # which numbers are None


@functools.lru_cache(256)
def code_of(key: Key) -> SweepCode:
    record = _record_rule if issubclass(key.kind, optimizer.UpdateRule) else _record_hook
    return SweepCode(f"the update by {key.kind.__name__}", lambda: record(key))


def _recorded_numbers(rec: Recorder, key: Key) -> list[Any]:
    found = []
    for k, absent in enumerate(key.absent):
        array = np.zeros((), key.dtype)
        if not absent:
            rec.input(array, f"c{k}", "argument")
        found.append(None if absent else rec.wrap(array))
    return found


def _record_rule(key: Key) -> tuple[Graph, list[int | None]]:
    """The graph of ``_step``: inputs are the array, the gradient, the states and the numbers."""
    rec = Recorder()
    array, grad, *states = (np.ones(_LENGTH, key.dtype) for _ in range(2 + len(key.states)))
    inputs = [rec.external(array, "array"), rec.input(grad, "grad", "argument")]
    inputs += [rec.external(s, name) for s, name in zip(states, key.states, strict=True)]
    state = {name: rec.wrap(s) for s, name in zip(states, key.states, strict=True)}
    numbers = _recorded_numbers(rec, key)
    with np.errstate(all="ignore"):
        key.kind._step(np, rec.wrap(array), rec.wrap(grad), state, tuple(numbers))
    _check(rec)
    inputs += [n.node() for n in numbers if n is not None]
    held = [array, None, *states]
    ends = {
        k: rec.node_of(a) for k, a in enumerate(held)
        if a is not None and rec.node_of(a) is not inputs[k]
    }
    graph = Graph(tuple(inputs), tuple(rec.nodes), tuple(ends.values()), key.kind.__name__)
    return graph, list(ends)


def _record_hook(key: Key) -> tuple[Graph, list[int | None]]:
    """The graph of ``_changed``: inputs are the array, the gradient and the numbers."""
    rec = Recorder()
    array, grad = np.ones(_LENGTH, key.dtype), np.ones(_LENGTH, key.dtype)
    inputs = [rec.input(array, "array", "argument"), rec.input(grad, "grad", "argument")]
    numbers = _recorded_numbers(rec, key)
    with np.errstate(all="ignore"):
        made = key.kind._changed(np, rec.wrap(array), rec.wrap(grad), tuple(numbers))
    _check(rec)
    inputs += [n.node() for n in numbers if n is not None]
    graph = Graph(tuple(inputs), tuple(rec.nodes), (made.node(),), key.kind.__name__)
    return graph, [None]


def _check(rec: Recorder) -> None:
    if rec.escaped is not None:
        raise RuntimeError(f"what it does cannot be recorded: {rec.escaped.reason}")


class ErrorState:
    """Which floating-point errors a sweep has to stop at; ``None`` if it may not run at all."""

    def __init__(self) -> None:
        self._known: Any = self  # no error state is this
        self.kinds: tuple[str, ...] | None = ()

    def look(self) -> None:
        """Look again; ``kinds`` is the same object as long as nothing has changed."""
        state = errors()
        if state is self._known and state is not None:
            return
        self._known = state
        told = np.geterr()
        quiet = all([how in _QUIET for how in told.values()])
        self.kinds = tuple([k for k, how in told.items() if how != "ignore"]) if quiet else None


class Group(NamedTuple):
    """Rules that have the same numbers: those of one class without hyperparameters of their own."""

    rule: Any  # one of them
    first: int  # where the numbers begin


class Entry(NamedTuple):
    """A parameter of a plan, and what was found of it."""

    param: Parameter
    rule: Any
    array: np.ndarray
    state: dict[str, Any]
    names: tuple[str, ...]  # of the states
    group: Group

    @property
    def held(self) -> dict[str, np.ndarray]:
        """The states by their names."""
        return {name: self.state[name] for name in self.names}


class Facts(NamedTuple):
    """What has to be as it was when a parameter is updated again."""

    param: Parameter
    rule: Any
    attributes: dict[str, Any]  # the rule's, without hooks; its count goes on
    hyperparam: Any
    own: dict[str, Any]  # the hyperparam's attributes
    names: tuple[str, ...]  # of the states

    @classmethod
    def of(cls, param: Any, rule: Any) -> Facts:
        # Empty dictionaries of our own: hooks that are added do not come into these.
        attributes = {
            name: {} if type(value) is dict and not value else value
            for name, value in rule.__dict__.items()
        }
        own = rule.hyperparam.__dict__
        # One without hyperparameters of its own has the numbers of its parent.
        own = dict(own) if len(own) == 1 else own
        return cls(param, rule, attributes, rule.hyperparam, own, tuple(rule._state))


class Part:
    """The entries of one kind of code: one sweep."""

    references_to_each = 3  # to the arrays: of the entry, and of two lists

    def __init__(self, key: Key, code: SweepCode) -> None:
        self.key, self.code = key, code
        self.entries: list[Entry] = []
        self._facts: list[Facts] = []
        self._counted: list[tuple[Any, dict[str, Any]]] = []  # rules, and what is known of them
        self.grads: list[np.ndarray] = []
        self.groups: dict[Any, Group] = {}
        self._present = [not absent for absent in key.absent]
        self.width = sum(self._present)
        self.sweep: Sweep | None = None
        self.heeded: tuple[str, ...] | None = None  # what the sweep stops at
        self.numbers = np.zeros(0, key.dtype)
        self._held: list[np.ndarray] = []  # the arrays, and their states
        self.known: list[Any] = []  # what the sweep is called with, gradients left out
        self.of_gradients = slice(3, None, 2 + len(key.states))  # where those stand
        #: The groups, and for native code that writes their numbers, if there is any, tables.
        self._numbered: list[tuple[Group, Any]] = []
        self._write: Any = None
        self._kinds: tuple[type, ...] | None = None  # of numbers that fit
        self._largest = _LARGEST[key.dtype]

    def add(self, param: Any, rule: Any, grad: np.ndarray, found: Any) -> None:
        array, state = found
        hyperparam = rule.hyperparam
        same = id(hyperparam._parent) if len(hyperparam.__dict__) == 1 else id(rule)
        own = tuple([getattr(rule, name, None) for name in rule._own_numbers])
        known = (same, rule.t, own)
        if known not in self.groups:
            self.groups[known] = Group(rule, self.width * len(self.groups))
        group = self.groups[known]
        self.entries.append(Entry(param, rule, array, state, tuple(state), group))
        facts = Facts.of(param, rule)
        self._facts.append(facts)
        self._counted.append((rule, facts.attributes))
        self.grads.append(grad)
        self._held += [array, *state.values()]

    def link(self) -> None:
        arrays = [
            (e.array, grad, *e.state.values())
            for e, grad in zip(self.entries, self.grads, strict=True)
        ]
        self.grads = []
        self._known_to_all = [hold(e.array) for e in self.entries if e.array.nbytes >= LARGE]
        for held in self._known_to_all:
            held.others.add(self)
        self.numbers = np.zeros(self.width * len(self.groups), self.key.dtype)
        self._write = looks.numbers()
        for group in self.groups.values():
            place = self.numbers[group.first : group.first + self.width]
            table = None
            if self._write is not None:
                table = looks.numbers_table(place, self._present, self._largest)
            self._numbered.append((group, table))
        self.sweep = self.code.over(Items(arrays, [e.group.first for e in self.entries]))
        self.known = [self.sweep.code, self.numbers]
        for array, _, *states in arrays:
            self.known += [array, None, *states]

    def stands(self) -> bool:
        """Whether all but the gradients is as it was."""
        return self.arrays(gradients=False) is not None

    def arrays(self, gradients: bool = True) -> list[Any] | None:
        """The arrays of the sweep; None if anything is not as it was.

        Without ``gradients``, these may be missing, here and in the parameters.
        """
        assert self.sweep is not None
        grads: list[Any] = []
        held: list[Any] = []
        try:
            for param, rule, attributes, hyperparam, own, names in self._facts:
                state = rule._state
                if (
                    param.update_rule is not rule
                    or param._loss_scale is not None
                    or "update" in param.__dict__
                    or rule.__dict__ != attributes
                    or hyperparam.__dict__ != own
                    or (*state,) != names
                ):
                    return None
                if gradients:
                    if (grad := param._node._grad_var) is None:
                        return None
                    grads.append(grad._array)
                held.append(param._array)
                held += state.values()
        except Exception as error:  # something cannot be compared
            pass_on(error)
            return None
        if not all(map(operator.is_, held, self._held)):
            return None
        return self.arrays_with(grads) if gradients else []

    def arrays_with(self, grads: list[Any]) -> list[Any]:
        """The arrays of the sweep, with these gradients."""
        found = self.known[:]
        found[self.of_gradients] = grads
        return found

    def count(self) -> None:
        """The rules have one update more."""
        for rule, attributes in self._counted:
            rule.t = attributes["t"] = attributes["t"] + 1

    def was_counted(self) -> None:
        """The rules have counted it themselves."""
        for _, attributes in self._counted:
            attributes["t"] += 1

    def has_counted(self, t: int) -> None:
        """Native code has counted so far."""
        for _, attributes in self._counted:
            attributes["t"] = t

    def write_numbers(self, counted: bool = False) -> bool:
        """Compute the numbers for counts that are one higher; False if they do not fit.

        The rules may have ``counted`` that one already.
        """
        key, one, write = self.key, 0 if counted else 1, self._write
        for (rule, first), table in self._numbered:
            if one:
                rule.t += 1
            try:
                numbers = rule._numbers(key.dtype)
            except Exception as error:  # the loop over parameters raises it
                pass_on(error)
                return False
            finally:
                if one:
                    rule.t -= 1
            if write is not None and write((table, *numbers)):
                continue
            given = list(itertools.compress(numbers, self._present))
            kinds = tuple(map(type, numbers))
            if kinds != self._kinds or not sum(map(abs, given)) < self._largest:
                if tuple([n is None for n in numbers]) != key.absent:
                    return False
                if not numbers_fit(numbers, key.dtype):
                    return False
                self._kinds = kinds
            self.numbers[first : first + self.width] = given
        return True

    def run(self, arrays: list[Any]) -> bool:
        """Update; False if an array has another layout now, so that NumPy has done it."""
        sweep = self.sweep
        assert sweep is not None
        given = tuple(arrays)
        result = sweep.call(given)
        while result != DONE:
            if result < 0:  # a layout that was not expected
                for item in range(len(self.entries)):
                    self._plainly(item, 0)
                return False
            item, place = sweep.stopped
            self._plainly(item, place if result == RAISED else 0)
            sweep.go_on(item + 1)
            result = sweep.call(given)
        return True

    def _plainly(self, item: int, place: int) -> None:
        """Update the elements of an entry from ``place`` on by NumPy calls."""
        entry = self.entries[item]
        try:
            self._by_numpy(entry, place)
        except BaseException:
            self.uncount(item + 1)
            raise

    def uncount(self, first: int = 0) -> None:
        """The rules from the ``first`` on have been counted, and are not updated."""
        for entry in self.entries[first:]:
            entry.rule.t -= 1

    def _by_numpy(self, entry: Entry, place: int) -> None:
        rule, grad = entry.rule, entry.param.grad
        if not place:
            rule.update_core(entry.param)
            return
        state = {name: _flat(a)[place:] for name, a in entry.held.items()}
        array, grad = _flat(entry.array)[place:], _flat(grad)[place:]
        rule._step(np, array, grad, state, rule._numbers(grad.dtype))


def _flat(array: np.ndarray) -> np.ndarray:
    """The elements in the order in which they lie, as a view."""
    return array.transpose(np.argsort(array.strides, kind="stable")[::-1]).reshape(-1)


class Plan:
    """What is known of an optimizer's parameters: those that sweeps update, and the others."""

    def __init__(self, params: list[Any]) -> None:
        self.params = params
        self.parts: list[Part] = []
        self.others: list[Any]
        self._without: list[Any]  # those without a rule
        self._waiting: list[SweepCode] = []  # still to be compiled
        self._uses = 0  # also of plans before it that found the same
        parts = self._sorted()
        shared = _sharing(params)
        inside = [[e for e in part.entries if id(e.param) in shared] for part in parts]
        if shared and max(map(len, inside), default=0) < len(shared):
            parts = self._sorted(apart=shared)  # the loop over parameters has an order
        for part in parts:
            if part.code.ready():
                part.link()
                self.parts.append(part)
            else:
                self._waiting += [] if part.code.hopeless else [part.code]
                self.others += [e.param for e in part.entries]
        #: Whether sweeps update all parameters.
        self.is_whole = sum([len(part.entries) for part in self.parts]) == len(params) > 0
        #: Those of the others: another one may have memory in common with some that sweeps update.
        self._arrays = [param._array for param in self.others]

    def _sorted(self, apart: Set[int] = frozenset()) -> list[Part]:
        """Parts for the parameters, but for those with ids that are to stay ``apart``."""
        self.others, self._without = [], []
        parts: dict[Key, Part] = {}
        seen: set[int] = set()
        for param in self.params:
            rule = param.update_rule
            if rule is None:
                self._without.append(param)
                continue
            if id(param) in seen or id(rule) in seen or id(param) in apart:
                self.others.append(param)  # one that is updated several times
                continue
            seen |= {id(param), id(rule)}
            if not isinstance(rule, optimizer._StepRule) or not _is_plain(type(rule)):
                return []  # a rule of the user's: all goes as it always goes
            found = _found(param, rule)
            if found is None:
                if _does_not_fit(param, rule):
                    return []  # it is likely to raise, and those behind it are to stay as they are
                self.others.append(param)
                continue
            key, grad, facts = found
            if key not in parts:
                parts[key] = Part(key, code_of(key))
            parts[key].add(param, rule, grad, facts)
        return list(parts.values())

    def is_of(self, params: list[Any]) -> bool:
        """Whether these are the parameters, and those that no sweep updates are as they were."""
        return (
            len(self.params) == len(params)
            and all(map(operator.is_, self.params, params))
            and all([param.update_rule is None for param in self._without])
            and all([x._array is a for x, a in zip(self.others, self._arrays, strict=True)])
        )

    def check(self, todo: list[list[Any]], kinds: Sequence[str], first: int) -> tuple[bool, int]:
        """Update by the loop over parameters, and compare some of what it does with the sweeps.

        A sweep over copies makes what the loop has to make. As many parameters are compared as
        ``_CHECKED`` bytes allow, from the ``first`` on: whether they are equal, and how many.
        """
        compared = [] if _overlap(todo) else self._swept(todo, kinds, first)
        for param in self.params:
            param.update()
        again = {id(x) for param in self.others for x in (param, param.update_rule)}
        for part, entry, copies in compared:
            if copies is None or id(entry.param) in again or id(entry.rule) in again:
                continue
            arrays = [entry.param._array, *(entry.rule._state or {}).values()]
            if not all(map(same_numbers, copies, arrays)):
                part.code.distrust()
                return False, 0
        return True, len(compared)

    def _swept(self, todo: list[list[Any]], kinds: Sequence[str], first: int) -> list[Any]:
        """What sweeps make of copies: parts, entries, and the copies of array and states."""
        places = [(part, k, given) for part, given in zip(self.parts, todo, strict=True)
                  for k in range(len(part.entries))]
        first %= len(places)
        compared, room = [], _CHECKED
        for part, k, given in places[first:] + places[:first]:
            width = 2 + len(part.key.states)
            array, grad, *states = given[2 + k * width : 2 + (k + 1) * width]
            room -= width * array.nbytes
            if room < 0 and compared:
                break
            entry = part.entries[k]
            if type(grad) is not np.ndarray or (grad.shape, grad.dtype, grad.strides) != (
                array.shape, array.dtype, array.strides
            ):
                continue  # a gradient of another form: the sweep leaves it to NumPy's calls
            array, *states = copies = [copied(a) for a in (array, *states)]
            sweep = part.code.over(Items([(array, grad, *states)], [entry.group.first]))
            sweep.heed(kinds)
            if sweep.call((sweep.code, part.numbers, array, grad, *states)) != DONE:
                copies = None  # NumPy's calls do some of it
            compared.append((part, entry, copies))
        return compared

    def is_due(self) -> bool:
        """Whether to look again at the parameters, more and more rarely where some do not fit."""
        self._uses += 1
        if any([code.ready() for code in self._waiting]):
            return True
        return bool(self.others) and self._uses & (self._uses - 1) == 0

    def made_anew(self) -> Plan:
        """What is known by now."""
        plan = Plan(self.params)
        if len(plan.others) == len(self.others):
            plan._uses = self._uses
        return plan


def _overlap(todo: list[list[Any]]) -> bool:
    """Whether arrays of sweeps share memory, which copies of them would not."""
    return bool(_overlapping([a for given in todo for a in given[2:]]))


def _sharing(params: list[Any]) -> set[int]:
    """The ids of parameters whose arrays have memory in common with that of another one."""
    known = list({id(p): p for p in params if type(p._array) is np.ndarray}.values())
    return {id(known[k]) for k in _overlapping([p._array for p in known])}


def _overlapping(arrays: list[Any]) -> set[int]:
    """The places of arrays between whose first and last byte others have some of theirs."""
    spans = sorted([(*span(a)[1:], k) for k, a in enumerate(arrays) if a.size])
    found, end, last = set[int](), 0, -1
    for start, stop, k in spans:
        if start < end:
            found |= {k, last}
        if stop > end:
            end, last = stop, k
    return found


class HookPlan:
    """A hook's sweep over all parameters that have a gradient."""

    def __init__(self, hook: Any, params: list[Any]) -> None:
        self.params = params
        self.entries: list[tuple[Any, np.ndarray]] = []
        self.others: list[Any] = []
        self.sweep: Sweep | None = None
        self.code: SweepCode | None = None
        numbers = hook._numbers(1)
        kinds = {p._array.dtype for p in params if p._array is not None}
        if len(kinds) != 1 or not kinds <= _DTYPES or not numbers_fit(numbers, *kinds):
            return
        (self.dtype,) = kinds
        absent = tuple([n is None for n in numbers])
        self.numbers = np.zeros(len(numbers), self.dtype)
        arrays = []
        seen: set[int] = set()
        for param in params:
            array, grad = param._array, None if param._array is None else param.grad
            both = [array, grad]
            fits = type(param) is Parameter and all(type(a) is np.ndarray for a in both)
            fits = fits and id(param) not in seen  # else the hook is called several times for it
            seen.add(id(param))
            if not fits or not array.ndim or not same_walk(both) or param._loss_scale is not None:
                self.others.append(param)
                continue
            self.entries.append((param, array))
            arrays.append((array, grad, grad))
        code = code_of(Key(type(hook), self.dtype, (), absent))
        if not arrays:
            return
        self.code = code
        if code.ready():
            self.sweep = code.over(Items(arrays, [0] * len(arrays)))

    def run(self, hook: Any, kinds: Sequence[str], check: bool) -> bool | None:
        """Change all gradients; None if nothing was done, since something has changed.

        To ``check`` means to have the hook do it, and to compare.
        """
        sweep = self.sweep
        assert sweep is not None and self.code is not None
        numbers = hook._numbers(1)
        if len(numbers) != self.numbers.size or not numbers_fit(numbers, self.dtype):
            return None
        if any([n is None for n in numbers]):
            return None
        self.numbers[...] = numbers
        made = []
        given = [sweep.code, self.numbers]
        for param, array in self.entries:
            grad_var = param._node._grad_var
            if param._array is not array or grad_var is None or param._loss_scale is not None:
                return None
            grad = grad_var._array
            if type(grad) is not np.ndarray:
                return None
            new = np.empty_like(grad)
            made.append(new)
            given += [array, grad, new]
        sweep.heed(kinds)
        sweep.go_on(0)
        if sweep.call(tuple(given)) != DONE:
            return None  # the hook itself warns, or raises
        right = True
        if check:
            for (param, _), new in zip(self.entries, made, strict=True):
                hook(param.update_rule, param)
                right = right and same_numbers(param.grad, new)
        else:
            for (param, _), new in zip(self.entries, made, strict=True):
                param.grad = new
        if not right:
            self.code.distrust()
            self.sweep = None
        for param in self.others:
            hook(param.update_rule, param)
        return True


@functools.lru_cache(256)
def _is_plain(kind: type) -> bool:
    """Whether a class of rules has the library's methods, but for ``_step`` and ``_numbers``."""
    base = optimizer._StepRule
    return all(getattr(kind, name) is getattr(base, name) for name in _METHODS)


def _found(param: Any, rule: Any, kind: type = np.ndarray) -> Any:
    """The key of a parameter, its gradient, and what its entry holds; None if it has none.

    ``kind`` is the class that all of its arrays have to have.
    """
    array, state = param._array, rule._state
    grad = None if array is None else param.grad
    if type(param) is not Parameter or state is None or grad is None or not rule.enabled:
        return None
    if "update" in param.__dict__ or not _OWN.isdisjoint(rule.__dict__):
        return None
    if param._loss_scale is not None:
        return None
    arrays = [array, grad, *state.values()]
    if any(type(a) is not kind or a.dtype != array.dtype for a in arrays):
        return None
    if array.dtype not in _DTYPES or not array.ndim or any(a.shape != array.shape for a in arrays):
        return None
    if not same_walk(arrays) or rule._pre_update_hooks or rule._post_update_hooks:
        return None
    try:
        rule.t += 1
        try:
            numbers = rule._numbers(array.dtype)
        finally:
            rule.t -= 1
    except Exception as error:
        pass_on(error)
        return None
    if not numbers_fit(numbers, array.dtype):
        return None
    absent = tuple([n is None for n in numbers])
    key = Key(type(rule), array.dtype, tuple(state), absent)
    return key, grad, (array, state)


def _does_not_fit(param: Any, rule: Any) -> bool:
    """Whether arrays of an update have other shapes than the parameter."""
    if param._array is None:  # its size is still to be known
        return False
    shape, arrays = param._array.shape, [param.grad, *(rule._state or {}).values()]
    return any([getattr(a, "shape", shape) != shape for a in arrays])


class Updates:
    """Belongs to an optimizer; copies and pickles of it start without."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._errors = ErrorState()
        self._hooks: dict[type, HookPlan] = {}
        self._swept = self._compared = 0  # updates by sweeps, and parameters that were compared
        self._hooked: Counter[type] = Counter()
        self._there: Any = None  # the updates of parameters on a GPU
        self._again: Again | None = None
        self._left: Again | None = None  # one that was left for a look only
        # Updates in a row that were like the ones before, and how many it takes.
        self._alike, self._wait = 0, _ALIKE

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __copy__(self) -> None:
        return None

    def __reduce__(self) -> Any:
        return _nothing, ()

    def hook(self, hook: Any, params: list[Any]) -> bool:
        """Have a hook change all gradients; False if that is left to the loop over them."""
        kind = type(hook)
        if not isinstance(hook, ElementwiseHook) or kind.__call__ is not ElementwiseHook.__call__:
            return False
        if self._are_there(params):
            return self._there.hook(hook, params)
        self._errors.look()
        if self._errors.kinds is None:
            return False
        plan = self._hooks.get(kind)
        known = plan is not None and len(plan.params) == len(params)
        if not known or not all([a is b for a, b in zip(plan.params, params, strict=True)]):
            plan = self._hooks[kind] = HookPlan(hook, params)
        if plan.sweep is None:
            if plan.code is not None and not plan.code.hopeless:
                del self._hooks[kind]  # it is still to be compiled
            return False
        self._hooked[kind] += 1
        if plan.run(hook, self._errors.kinds, check_is_due(self._hooked[kind])):
            return True
        del self._hooks[kind]
        return False

    def _are_there(self, params: list[Any]) -> bool:
        """Whether parameters are on a GPU: the first tells."""
        if not cuda.available or not params or type(params[0]._array) is not cuda.ndarray:
            return False
        if self._there is None:
            from ._device_update import DeviceUpdates

            self._there = DeviceUpdates()
        return True

    def run(self, params: list[Any]) -> bool:
        """Update all parameters; False if that is left to the loop over them."""
        if self._are_there(params):
            return self._there.run(params)
        plan = self._plan
        self._leave(changed=False)
        self._errors.look()
        if self._errors.kinds is None:
            return False
        if plan is None or not plan.is_of(params):
            plan = self._plan = Plan(params)
        elif plan.is_due():
            plan = self._plan = plan.made_anew()
        if not plan.parts:
            return False
        todo = self._todo(plan)
        if todo is None:
            self._plan = None
            return False
        self._swept += 1
        if check_is_due(self._swept):
            arrays = [arrays for _, arrays in todo]
            right, number = plan.check(arrays, self._errors.kinds, self._compared)
            for part in plan.parts:
                part.was_counted()
            self._compared += number
            if not right:
                self._plan = None
            return True
        self._alike = min(self._alike, 0)
        self._sweep(todo)
        for param in plan.others:
            param.update()
        return True

    def run_again(self, params: list[Any]) -> bool:
        """Update all parameters as before; False, and nothing was done, if more is to be done."""
        plan, again = self._plan, self._again
        if plan is None or not plan.is_whole or check_is_due(self._swept + 1):
            self._leave(changed=False)
            return False
        self._errors.look()
        if self._errors.kinds is None:
            self._leave()
            return False
        if again is not None:
            if params is again.params and self._run_as_before(again, plan):
                return True
            self._leave()
        if not plan.is_of(params):
            return False
        todo = self._todo(plan)
        if todo is None:
            return False
        self._swept += 1
        self._sweep(todo)
        self._alike += 1
        return True

    def again(self, target: Any) -> Again | None:
        """What is known of an update like the last one, if links and parameters are the same."""
        again, plan = self._again, self._plan
        if again is None:
            if plan is not None and plan.is_whole and self._alike >= self._wait:
                self._find_again(target, plan)
            return self._again
        if again.holds(target, plan):
            return again
        self._leave()
        return None

    def _find_again(self, target: Any, plan: Plan) -> None:
        # What is watched from now on has to be what the plan was made of.
        if not plan.is_of(_all_params(target)) or not all([p.stands() for p in plan.parts]):
            return
        again, self._left = self._left, None
        try:
            if again is not None and again.holds(target, plan):
                again.enter()
            else:
                again = Again(target, plan)
        except (Unknown, AttributeError, KeyError, TypeError):
            self._alike = -_NEVER
        else:
            self._again = again

    def _leave(self, changed: bool = True) -> None:
        """The next update is not like the last one, or something is to be looked at."""
        again, self._again = self._again, None
        if again is None:
            return
        again.leave()
        self._left = None if changed else again
        if changed:
            self._alike = 0
            self._wait = _ALIKE if again.uses >= 4 * self._wait else 4 * self._wait

    def _run_as_before(self, again: Again, plan: Plan) -> bool:
        todo = again.arrays()
        if todo is None or not again.holds(again.target, plan) or not again.begin():
            return False
        for part, _ in todo:
            if not part.write_numbers(counted=True):
                again.undo()
                return False
        self._swept += 1
        self._sweep(todo, counted=True)
        return True

    def _todo(self, plan: Plan) -> list[tuple[Part, list[Any]]] | None:
        """Each part with the arrays of its sweep; None if something has changed."""
        todo = []
        for part in plan.parts:
            arrays = part.arrays()
            if arrays is None or not part.write_numbers():
                return None
            todo.append((part, arrays))
        return todo

    def _sweep(self, todo: list[tuple[Part, list[Any]]], counted: bool = False) -> None:
        kinds = self._errors.kinds
        plan, self._plan = self._plan, None  # what raises leaves counts that no plan knows
        for k, (part, arrays) in enumerate(todo):
            if part.heeded is not kinds:
                assert part.sweep is not None and kinds is not None
                part.sweep.heed(kinds)
                part.heeded = kinds
            if not counted:
                part.count()
            try:
                if not part.run(arrays):
                    plan = None
            except BaseException:
                for later, _ in todo[k + 1 :] if counted else ():
                    later.uncount()
                raise
        self._plan = plan


def _nothing() -> None:
    """What pickled updates become."""
