"""Updates of all parameters on a GPU as one kernel, and hooks that change all gradients.

In: an optimizer with its gradients. Out: what the loop over parameters would have made of arrays
and states, bit for bit; whatever has no kernel is left to the loop. The kernel is compiled after a
few updates, and compared with the loop when it is first used, and from time to time.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from chainer import configuration, optimizer
from chainer.backends import cuda
from chainer.variable import Parameter
from chainwright.runtime.cuda import DeviceSweep, SweepText, overlap, sweep_text
from chainwright.runtime.sweeps import same_walk

from ._update import (
    _CHECKED,
    _DTYPES,
    Key,
    _found,
    _is_plain,
    _record_hook,
    _record_rule,
    numbers_fit,
)
from ._values import check_is_due, copied, same_numbers

logger = logging.getLogger("chainwright")

_UPDATES = 3  # before kernels are compiled, but for the target 'cuda'


@functools.lru_cache(256)
def _text_of(key: Key) -> SweepText | None:
    """The kernel of a rule or a hook; None, with a line in the log, if it has none."""
    record = _record_rule if issubclass(key.kind, optimizer.UpdateRule) else _record_hook
    try:
        graph, writes = record(key)
    except Exception:
        logger.warning("%s stays calls of CuPy", key.kind.__name__, exc_info=True)
        return None
    return sweep_text(graph, writes, key.kind.__name__)


class Set(NamedTuple):
    """A parameter of a launch, and the arrays that it hands over."""

    param: Parameter
    arrays: tuple[Any, ...]


def _few(sets: list[Set]) -> list[Set]:
    """The first sets: at least one, and no more than may be copied for a check."""
    chosen, room = sets[:1], _CHECKED
    for s in sets[1:]:
        room -= sum(a.nbytes for a in s.arrays)
        if room < 0:
            break
        chosen.append(s)
    return chosen


class Launch:
    """The sets that one launch updates: rules of one class with the same numbers."""

    def __init__(self, numbers: tuple[Any, ...]) -> None:
        self.numbers = [n for n in numbers if n is not None]
        self.sets: list[Set] = []


class Kernels:
    """The kernels of an optimizer on one GPU, by what they compute and where."""

    def __init__(self) -> None:
        self._sweeps: dict[Any, Any] = {}
        self._uses: Counter[Any] = Counter()

    def sweep(self, where: Any) -> Any:
        """The sweep of a key, a GPU and a number of the launch; None if there is none."""
        if where not in self._sweeps:
            key, gpu, _ = where
            text, made = _text_of(key), None
            if text is not None:
                try:
                    with cuda.Device(gpu):
                        made = DeviceSweep(text, cuda.cupy)
                except cuda.cupy.cuda.compiler.CompileException as e:
                    logger.warning("%s stays calls of CuPy, as the kernel does not compile: %s",
                                   key.kind.__name__, e)
            self._sweeps[where] = made
        return self._sweeps[where]

    def distrust(self, where: Any) -> None:
        """Leave it to the loop from now on."""
        self._sweeps[where] = None
        logger.warning("the kernel for %s gave other values than CuPy's calls, to which it is "
                       "left from now on. Please report it", where[0].kind.__name__)

    def check_is_due(self, where: Any) -> bool:
        """Whether a launch is to be compared with what the loop does."""
        self._uses[where] += 1
        return check_is_due(self._uses[where])


class DeviceUpdates:
    """The updates of an optimizer whose parameters are on a GPU."""

    def __init__(self) -> None:
        self._kernels = Kernels()
        self._calls = 0
        #: Whether arrays overlap that the tables of these sweeps have now.
        self._overlap: dict[Any, bool] = {}

    def _waits(self) -> bool:
        self._calls += 1
        return self._calls <= _UPDATES and configuration.peek("static_target") == "auto"

    def run(self, params: Sequence[Any]) -> bool:
        """Update all parameters; False if that is left to the loop over them."""
        if self._waits():
            return False
        launches: dict[Any, Launch] = {}
        others: list[Any] = []
        seen: set[int] = set()
        for param in params:
            rule = param.update_rule
            if rule is None:
                continue
            if id(param) in seen or id(rule) in seen:  # one that is updated several times
                others.append(param)
                continue
            seen |= {id(param), id(rule)}
            if not isinstance(rule, optimizer._StepRule) or not _is_plain(type(rule)):
                return False  # a rule of the user's: all goes as it always goes
            found = _found(param, rule, cuda.ndarray)
            if found is None:
                others.append(param)
                continue
            key, grad, (array, state, *_) = found
            rule.t += 1
            try:
                numbers = rule._numbers(key.dtype)
            finally:
                rule.t -= 1
            where = key, array.data.device_id, numbers
            arrays = (array, grad, *state.values())
            launches.setdefault(where, Launch(numbers)).sets.append(Set(param, arrays))
        ready = self._ready(launches, [p._array for p in others])
        if not ready:
            return False
        if any([self._kernels.check_is_due(where) for where, _, _ in ready]):
            self._check(params, ready)
            return True
        done = {id(s.param) for _, _, launch in ready for s in launch.sets}
        others += [s.param for launch in launches.values() for s in launch.sets
                   if id(s.param) not in done]  # there is no kernel for their rule
        for where, sweep, launch in ready:
            for param, _ in launch.sets:
                param.update_rule.t += 1
            with cuda.Device(where[1]):
                sweep.launch(launch.numbers)
        for param in others:
            param.update()
        return True

    def _ready(self, launches: dict[Any, Launch], others: Sequence[Any] = ()) -> list[Any]:
        """The launches with their sweeps; none if arrays overlap, so that the order matters."""
        ready, counts, moved = [], dict[Any, int](), False
        for (key, gpu, _), launch in launches.items():
            k = counts[key, gpu] = counts.get((key, gpu), -1) + 1
            where = key, gpu, k
            sweep = self._kernels.sweep(where)
            if sweep is not None:
                with cuda.Device(gpu):
                    moved = sweep.place([s.arrays for s in launch.sets]) or moved
                ready.append((where, sweep, launch))
        places = tuple([where for where, _, _ in ready])
        if moved or places not in self._overlap:
            sets = [a for launch in launches.values() for s in launch.sets for a in s.arrays]
            self._overlap[places] = overlap([
                *sets, *(a for a in others if type(a) is cuda.ndarray)])
        return [] if self._overlap[places] else ready

    def _check(self, params: Sequence[Any], ready: list[Any]) -> None:
        """Update by the loop, and compare sets of each launch with what the kernel makes."""
        compared = []
        for where, sweep, launch in ready:
            chosen = _few(launch.sets)
            copies = [[copied(a) for a in (s.arrays[0], *s.arrays[2:])] for s in chosen]
            with cuda.Device(where[1]):
                sweep.place([(c[0], s.arrays[1], *c[1:])
                             for c, s in zip(copies, chosen, strict=True)])
                sweep.launch(launch.numbers)
            compared.append((where, chosen, copies))
        for param in params:
            param.update()
        for where, chosen, copies in compared:
            arrays = [a for s in chosen for a in (s.arrays[0], *s.arrays[2:])]
            made = [a for c in copies for a in c]
            if not all(map(same_numbers, made, arrays)):
                self._kernels.distrust(where)

    def hook(self, hook: Any, params: Sequence[Any]) -> bool:
        """Have a hook change all gradients; False if that is left to the loop over them."""
        if self._waits():
            return False
        numbers = hook._numbers(1)
        launches: dict[Any, Launch] = {}
        for param in params:
            array, grad = param._array, None if param._array is None else param.grad
            both = (array, grad)
            if type(param) is not Parameter or any(type(a) is not cuda.ndarray for a in both):
                continue
            fits = array.dtype in _DTYPES and array.dtype == grad.dtype and array.ndim
            fits = fits and numbers_fit(numbers, array.dtype) and param._loss_scale is None
            if fits and same_walk(both):
                absent = tuple(n is None for n in numbers)
                where = Key(type(hook), array.dtype, (), absent), array.data.device_id, numbers
                launch = launches.setdefault(where, Launch(numbers))
                with cuda.Device(where[1]):
                    launch.sets.append(Set(param, (*both, cuda.cupy.empty_like(grad))))
        ready = self._ready(launches)
        if not ready:
            return False
        for where, sweep, launch in ready:
            with cuda.Device(where[1]):
                sweep.launch(launch.numbers)
        done = {id(s.param): s.arrays[2] for _, _, launch in ready for s in launch.sets}
        right = {where: True for where, _, _ in ready}
        if any([self._kernels.check_is_due(where) for where, _, _ in ready]):
            for param in params:
                hook(param.update_rule, param)
            for where, _, launch in ready:
                right[where] = all([same_numbers(made, param.grad)
                                    for param, (_, _, made) in _few(launch.sets)])
        else:
            for param in params:
                if id(param) in done:
                    param.grad = done[id(param)]
                else:
                    hook(param.update_rule, param)
        for where, equal in right.items():
            if not equal:
                self._kernels.distrust(where)
        return True

