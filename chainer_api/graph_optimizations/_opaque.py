"""Python code of a traced call that each replay calls back, on the recording side.

In: functions of the user's (and those of ours that name an ``opaque`` reason) and ``static_code``,
while they run in a trace. Out: host nodes that call them again. What may not happen: a result of
theirs that enters the recording as a constant.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chainer import function, function_node
from chainer._tracing import state
from chainer.variable import Variable
from chainwright.ir import Node
from chainwright.runtime import LARGE, fingerprint
from chainwright.tracer import RecArray, Storage, root, unwatch

from ._arguments import is_object
from ._host import (
    LeftArray,
    OpaqueBackward,
    OpaqueForward,
    RandomAfter,
    StaticCall,
    holder,
    nodes_in,
)

if TYPE_CHECKING:
    from ._session import Session


class Before(NamedTuple):
    """A function as it is before its forward runs.

    A ``trusted`` one is ours: it draws through the recorder, and changes no attribute in place.
    """

    template: function_node.FunctionNode
    images: dict[str, Any]
    trusted: bool


class Opaque:
    """The opaque functions and ``static_code`` of one call."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tokens: dict[int, Node] = {}
        self._applied: dict[int, Any] = {}  # what user code sees of the functions that have run

    def applied(self, func: function_node.FunctionNode) -> None:
        """A function has run: what it holds now may depend on its inputs."""
        self._applied[id(holder(func))] = func

    def token(self, func: Any) -> Node | None:
        """The node that stands for the function in its backward; None where it is recorded."""
        return self._tokens.get(id(func))

    def before(self, func: function_node.FunctionNode, trusted: bool) -> Before:
        """To be called before forward; then :meth:`called` after it."""
        if not trusted:
            self._session.draws.check()
        return Before(func._copied(), {} if trusted else _images(func), trusted)

    def called(self, before: Before, func: Any, in_data: Any, outputs: Any) -> Any:
        """One host node for a function that is called whole at each replay."""
        session, rec = self._session, self._session.recorder
        if type(outputs) is not tuple or not all(isinstance(y, np.ndarray) for y in outputs):
            return outputs  # which apply() refuses
        if before.trusted:
            session.draws.check()
        else:
            session.draws.repeat()
            self._check_in_place(before.images, func, "forward")
        if not rec.live:
            return outputs
        given = session.given(holder(before.template))
        call = OpaqueForward(before.template, given, outputs)
        inputs = (*in_data, *nodes_in(given))
        node = rec.emit("host", inputs, fn=call, label=func.label, n_outputs=len(outputs) + 1)
        for recorded in rec.results(node, outputs):
            rec.know(recorded.held, recorded)
        token = rec.emit("pick", (node,), dtype=object, k=len(outputs))
        self.adopt(func, token)
        return outputs

    def _check_in_place(self, images: dict[str, Any], func: Any, method: str) -> None:
        """Replays share the attributes that a function is made with: no call may change them."""
        for name, now in _images(func).items():
            before = images.get(name)
            if before is not None and before[0] is now[0] and before[1:] != now[1:]:
                self._session.escape(
                    f"{method} of {func.label} changed its attribute {name!r} in place"
                )

    def read(self, seen: Any, name: str, value: Any) -> Any:
        """User code reads an attribute of a function; what it is to see."""
        func = self._applied.get(id(seen))
        if func is None or name.startswith("__") or name not in vars(seen):
            return value
        session, token = self._session, self._tokens.get(id(func))
        array = unwatch(value)
        if isinstance(array, np.ndarray):
            if token is not None and id(array) not in session.recorder.known:
                self._fetch_left(token, name, array)
            return session.watch(array)
        if token is not None:
            session.escape(f"the attribute {name!r} of a function was read after its forward")
        elif _has_arrays(value):
            session.escape(f"arrays inside of the attribute {name!r} of a function were read")
        return value

    def _fetch_left(self, token: Node, name: str, array: np.ndarray) -> None:
        """Know an array that forward has left as a result of the replayed call."""
        session, rec = self._session, self._session.recorder
        if not rec.live:
            return
        if id(root(array)) in rec.roots:
            session.escape(f"the attribute {name!r} of a function is a view of a traced array")
            return
        node = rec.emit("host", (token,), fn=LeftArray(name), label=f".{name}", n_outputs=1)
        (recorded,) = rec.results(node, (array,))
        rec.know(array, recorded)

    def adopt(self, func: Any, token: Node) -> None:
        """Record the backward of an opaque function as a call of it, too."""
        self._tokens[id(func)] = token
        self._session.made_function(func)
        func.backward = lambda indexes, gys: self._backward(func, indexes, gys)

    def _backward(self, func: Any, indexes: Any, gradients: Any) -> Any:
        plain = type(func).backward
        session, rec = self._session, self._session.recorder
        if state.trace is not session or not rec.live:
            return plain(func, indexes, gradients)
        if type(func).backward_accumulate is not function_node.FunctionNode.backward_accumulate:
            if not isinstance(func, function.FunctionAdapter):
                rec.escape(f"{func.label} has a backward_accumulate of its own")
        images = _images(func)
        with session.passive():
            results = plain(func, indexes, gradients)
        self._check_in_place(images, func, "backward")
        results = results if isinstance(results, tuple) else (results,)
        given = tuple(g is not None for g in gradients)
        present = tuple(r for r in results if r is not None)
        call = OpaqueBackward(
            tuple(indexes), given, [None if r is None else r._array for r in results]
        )
        node = rec.emit(
            "host",
            (self._tokens[id(func)], *[g._array for g in gradients if g is not None]),
            fn=call,
            label=f"{func.label} backward",
            n_outputs=len(present),
        )
        renewed = iter(rec.results(node, tuple(r._array.view() for r in present)))
        return tuple(r if r is None else self._renew(next(renewed)) for r in results)

    def _renew(self, recorded: RecArray) -> Variable:
        self._session.recorder.know(recorded.held, recorded)
        return Variable(recorded.held, requires_grad=False)

    def static_call(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A ``static_code`` function: called now, and again at each replay."""
        session, rec = self._session, self._session.recorder
        call = StaticCall(fn, args, kwargs)
        session.draws.check()
        with session.passive():
            result = call.run_plain()
        session.draws.repeat()
        if not rec.live:
            return result
        results = call.results(result)
        node = rec.emit(
            "host",
            tuple(unwatch(a) for a in call.arrays),
            fn=call,
            label=call.label,
            n_outputs=len(results) + 1,
        )
        for k, array in enumerate(results):
            picked = rec.emit("pick", (node,), array, k=k)
            known = rec.known.get(id(array))
            if known is not None and known.held is array:
                known.update(picked)
            else:
                rec.know(array, RecArray(rec, array, Storage(picked)))
        after = rec.emit("pick", (node,), dtype=object, k=len(results))
        session.applications.append(RandomAfter(after))
        return result


#: Attributes of the base classes, which say nothing about what a function has computed.
BOOKKEEPING = frozenset(
    name
    for kind in (function_node.FunctionNode, function.FunctionAdapter, function.Function)
    for name in vars(kind)
)


def _images(func: function_node.FunctionNode) -> dict[str, Any]:
    """Attributes of a function: the object, and what tells whether it was changed in place."""
    found = {}
    for name, value in vars(holder(func)).items():
        if name not in BOOKKEEPING:
            held = unwatch(value)
            sum_ = zlib.crc32(held.tobytes()) if isinstance(held, np.ndarray) else 0
            found[name] = (held, fingerprint(held, is_object), sum_)
    return found


def _has_arrays(value: Any, depth: int = 3) -> bool:
    if type(value) in (list, tuple, dict) and depth and len(value) <= LARGE:
        items = value.values() if type(value) is dict else value
        return any(_has_arrays(item, depth - 1) for item in items)
    return isinstance(value, np.ndarray)
