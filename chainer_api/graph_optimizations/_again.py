"""Updates that are like the last one: what an optimizer updates, as long as nothing has changed.

In: an optimizer's links, parameters and rules, after an update of all of them by sweeps. Out: their
parameters, and the arrays of the next sweeps, without a look at each. What may not happen: anything
of these that has changed, and passes for the same. So native code compares the attributes of links,
parameters, rules, hyperparameters and states (``runtime/native/words.py``), and counts the updates
of the rules itself, since each count is a change.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from chainer.link import Chain, ChainList, Link, _all_params
from chainer.variable import Parameter
from chainwright.runtime.native import looks, words

if TYPE_CHECKING:
    from ._update import Plan

_Words = list[words.Word]
_CALLS = 16  # of clearing, until it is looked for a faster way
_cleargrad = Parameter.cleargrad


class Unknown(Exception):
    """What has to be the same cannot be watched."""


def _known(found: _Words | None) -> _Words:
    if found is None:
        raise Unknown
    return found


def _object(obj: Any, held: list[Any]) -> _Words:
    """An object with all of its attributes."""
    return [*_known(words.class_of(obj)), *_known(words.instance_words(obj, held))]


def _tree(link: Any, held: list[Any]) -> _Words:
    """What the parameters of a link and of those below it are, in their order."""
    d, params = link.__dict__, type(link).params
    if "params" in d or params not in (
        Link.params, Chain.params, ChainList.params
    ):
        raise Unknown
    names = ["params", "_params", *d["_params"]]
    children, of_children = list[Any](), _Words()
    if params is Chain.params:
        names += ["_children", *d["_children"]]
        children = [d[name] for name in d["_children"]]
        of_children = _known(words.set_words(d["_children"], held))
    elif params is ChainList.params:
        names.append("_children")
        children = d["_children"]
        of_children = words.list_words(children, held)
    found = [*_known(words.class_of(link)), *_known(words.attributes_at(link))]
    found += _known(words.entry_words(d, held, *names))
    found += [*_known(words.set_words(d["_params"], held)), *of_children]
    for child in children:
        found += _tree(child, held)
    return found


def _parameter(param: Any, held: list[Any]) -> _Words:
    """A parameter, whose gradient is cleared by forgetting it."""
    if type(param) is not Parameter or param._array is None or "cleargrad" in param.__dict__:
        raise Unknown
    if Parameter.cleargrad is not _cleargrad:
        raise Unknown
    return _object(param, held)


class Gradients:
    """Those of all parameters of a link, to be cleared again and again."""

    def __init__(self, link: Link) -> None:
        self._link = weakref.ref(link)  # copies of it share this
        #: Nodes, the table that tells of them, and what is held for it; together, for threads.
        self.known: tuple[list[Any], Any, list[Any]] | None = None
        self._same: Any = None
        self._calls, self._wait = 0, _CALLS  # since they were sought, and until they are

    def clear(self, link: Link) -> bool:
        """Clear them; False, and nothing was done, where something may have changed."""
        if self._link() is not link:
            return False
        known = self.known
        if known is None:
            self._calls += 1
            if self._calls >= self._wait:
                self._find(link)
            return False
        if not self._same(known[1]):
            self.known = None
            return False
        for node in known[0]:
            node._grad_var = None
        return True

    def _find(self, link: Link) -> None:
        self._calls, self._wait = 0, min(4 * self._wait, 1 << 20)
        self._same = looks.comparison() if looks.are_native() else None
        if self._same is None:
            return
        held: list[Any] = []
        try:
            found, params = _tree(link, held), _all_params(link)
            found += [word for param in params for word in _parameter(param, held)]
        except (Unknown, AttributeError, KeyError, TypeError):
            return
        self.known = [param._node for param in params], looks.table_of(found), held


class Again:
    """What an update needs, if :meth:`holds`."""

    def __init__(self, target: Link, plan: Plan) -> None:
        same, count = looks.comparison(), looks.counting()
        if same is None or count is None:
            raise Unknown
        self._same, self._count = same, count
        self.target, self.plan, self.params = target, plan, plan.params
        self._held: list[Any] = []
        found = _tree(target, self._held)
        rules = []
        for part in plan.parts:
            for entry in part.entries:
                found += self._of_entry(entry)
                rules.append(entry.rule)
        self._dicts = [rule.__dict__ for rule in rules]
        for rule in rules:
            found += _known(words.class_of(rule))
            found += _known(words.instance_words(rule, self._held, {"t"}))
            for table in (rule._state, rule._pre_update_hooks, rule._post_update_hooks):
                found += _known(words.dict_words(table, self._held))
        self._table = looks.table_of(found)
        self.uses = 0
        #: The nodes of the parameters, and of each part those of its entries.
        self.nodes = [param._node for param in self.params]
        self._parts = [(part, [entry.param._node for entry in part.entries])
                       for part in plan.parts]
        self.enter()

    def enter(self) -> None:
        """Count from now on, after updates that were counted without it.

        Raises:
            Unknown: That cannot be done.
        """
        table, counts = looks.counting_table(self._dicts, "t"), {d["t"] for d in self._dicts}
        if table is None or len(counts) != 1 or type(t := counts.pop()) is not int:
            raise Unknown
        self._rules, self._t = table, t

    def _of_entry(self, entry: Any) -> _Words:
        held = self._held
        return [*_parameter(entry.param, held), *_object(entry.rule.hyperparam, held)]

    def holds(self, target: Any, plan: Any) -> bool:
        """Whether all is as it was, but for the rules, which :meth:`begin` looks at."""
        return self.target is target and self.plan is plan and self._same(self._table)

    def arrays(self) -> list[tuple[Any, list[Any]]] | None:
        """Each part with the arrays of its sweep; None where a gradient is missing."""
        found = []
        try:
            for part, nodes in self._parts:
                arrays = part.known[:]  # what Part.arrays_with does
                arrays[part.of_gradients] = [node._grad_var._array for node in nodes]
                found.append((part, arrays))
        except AttributeError:
            return None
        return found

    def begin(self) -> bool:
        """Count one update more for all rules; False, and nothing was done, if one has changed."""
        self.uses += 1
        return self._set(self._t + 1)

    def undo(self) -> None:
        """Nothing was updated after all."""
        self._set(self._t - 1)

    def _set(self, t: int) -> bool:
        self._rules[-1] = id(t)
        if not self._count(self._rules):
            return False
        self._t = t
        return True

    def leave(self) -> None:
        """Let the plan know how often was counted."""
        for part in self.plan.parts:
            part.has_counted(self._t)
