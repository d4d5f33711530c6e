"""What the front end tells a session while a call is traced.

Attribute and configuration reads cost nothing outside of traces: the classes' methods are
replaced while at least one trace runs, and put back after the last. Other threads meanwhile take
the same methods and find no trace of theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from chainer import _backprop, configuration, function, function_node
from chainer._tracing import state
from chainer.link import Link
from chainer.variable import Parameter, Variable, VariableNode

from ._opaque import BOOKKEEPING

_lock = threading.Lock()
_running = 0
_MISSING = object()
_saved: dict[tuple[Any, str], Any] = {}
_SAFE_CONFIG = frozenset({"_local", "_global", "show"})


@contextmanager
def installed() -> Iterator[None]:
    """Have the replaced methods in place."""
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            for (owner, name), replacement in _REPLACEMENTS.items():
                _saved[owner, name] = vars(owner).get(name, _MISSING)
                setattr(owner, name, replacement)
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                for (owner, name), was in _saved.items():
                    if was is _MISSING:
                        delattr(owner, name)
                    else:
                        setattr(owner, name, was)


_plain_get = object.__getattribute__
_link_set = Link.__setattr__
_link_delete = Link.__delattr__
_config_get = configuration.LocalConfig.__getattr__
_plain_apply = function_node.FunctionNode.apply
_plain_init = Variable.__init__
_initialize = Parameter.initialize
_set_array = Variable._set_array


def _link_getattribute(self: Link, name: str) -> Any:
    session = state.trace
    try:
        value = _plain_get(self, name)
    except AttributeError:
        if session is not None:
            session.missed_attribute(self, name)
        raise
    return value if session is None else session.read_attribute(self, name, value)


def _function_getattribute(self: Any, name: str) -> Any:
    value = _plain_get(self, name)
    if name in BOOKKEEPING:
        return value
    session = state.trace
    # Inside of a forward that is recorded, and in backward, attributes are what they are.
    if session is None or not session.linking or session.in_function:
        return value
    return session.opaque.read(self, name, value)


def _link_setattr(self: Link, name: str, value: Any) -> None:
    session = state.trace
    if session is not None:
        with session.passive():
            value = session.unwatched(value)
            _link_set(self, name, value)
        session.wrote_attribute(self, name, value)
    else:
        _link_set(self, name, value)


def _link_delattr(self: Link, name: str) -> None:
    if state.trace is not None:
        state.trace.escape(f"the attribute {name!r} was deleted")
    _link_delete(self, name)


def _config_getattr(self: configuration.LocalConfig, name: str) -> Any:
    session = state.trace
    if session is None:
        return _config_get(self, name)
    with session.passive():  # it reads the global configuration
        value = _config_get(self, name)
    if self is configuration.config and name not in _SAFE_CONFIG:
        session.read_config(name, value)
    return value


def _global_getattribute(self: configuration.GlobalConfig, name: str) -> Any:
    value = _plain_get(self, name)
    session = state.trace
    if session is not None and self is configuration.global_config and not callable(value):
        if not name.startswith("__"):
            session.read_config(name, value, self)
    return value


def _apply(self: function_node.FunctionNode, inputs: Any) -> Any:
    session = state.trace
    if session is None or not session.linking:
        return _plain_apply(self, inputs)
    return session.apply(self, inputs, _plain_apply)


def _variable_init(self: Variable, *args: Any, **kwargs: Any) -> None:
    session = state.trace
    _plain_init(self, *args, **kwargs)
    if session is not None:
        session.made_variable(self)


def _read_array(self: Variable) -> Any:
    session, array = state.trace, self._array
    if session is None or type(array) is not np.ndarray:
        return array
    return session.read_array(self)


def _write_array(self: Variable, array: Any) -> None:
    if state.trace is not None:
        state.trace.escape("the array of a Variable was replaced")
    _set_array(self, array)


def _outside(var: Variable, effect: str) -> Variable:
    """The Variable that the caller has in the place of ``var``: effects are for that one."""
    session = state.trace
    if session is None:
        return var
    session.escape(effect)
    leaf = session.leaf_of(var)
    return var if leaf is None else leaf.outer


def _gradient(name: str) -> property:
    plain = getattr(Variable, name)
    return property(
        lambda self: plain.fget(_outside(self, f"Variable.{name} was read")),
        lambda self, value: plain.fset(_outside(self, f"Variable.{name} was set"), value),
    )


def _effect(name: str) -> Callable[..., None]:
    plain = getattr(Variable, name)
    return lambda self, *args: plain(_outside(self, f"Variable.{name}() was called"), *args)


def _unchain_backward(self: Variable) -> None:
    session = state.trace
    if session is None:
        return _plain_unchain(self)
    session.escape("Variable.unchain_backward() was called")
    outside = session.leaves_before(self)
    _plain_unchain(self)
    for outer in outside:
        outer.unchain_backward()
    return None


def _origin(name: str) -> property:
    """An attribute that tells where a Variable comes from: one of the caller's has its own."""
    plain = getattr(Variable, name)

    def read(self: Variable) -> Any:
        session = state.trace
        if session is not None and session.leaf_of(self) is not None:
            return plain.fget(_outside(self, f"the {name} of an argument or attribute was read"))
        return plain.fget(self)

    return property(read, plain.fset)


def _rank(self: Variable) -> int:
    return _plain_rank.fget(_outside(self, "Variable.rank was read"))


def _node_data(self: VariableNode) -> Any:
    session, array = state.trace, _plain_node_data.fget(self)
    return array if session is None or array is None else session.watch(array)


def _output_data(self: Any) -> Any:
    if state.trace is not None:
        state.trace.escape("the output_data of a function was read")
    return _plain_output_data.fget(self)


_plain_unchain = Variable.unchain_backward
_plain_rank: Any = Variable.rank
_plain_node_data: Any = VariableNode.data
_plain_output_data: Any = function_node.FunctionNode.output_data


def _made_ones(var: Variable, loss_scale: Any) -> Variable:
    session = state.trace
    made = _ones(var, loss_scale)
    if session is not None:
        session.made_variable(made)
    return made


def _start_backward(plain: Callable[..., None]) -> Callable[..., None]:
    def start(*args: Any) -> None:
        session = state.trace
        if session is None:
            return plain(*args)
        session.escape("backward() was called, which sets gradients")
        plain(*args)
        for inner, leaf in list(session.leaves.values()):
            node, outer = inner.node, leaf.outer.node
            grad, node._grad_var = node._grad_var, None
            if grad is not None and outer._creator_node is None:
                old = outer._grad_var
                outer._grad_var = grad if old is None else old + grad
            elif grad is not None:
                _backward_to_leaves({outer: [grad]}, [outer], False, None)
        return None

    return start


_ones, _backward_to_leaves = _backprop._ones, _backprop._backward_to_leaves


def _initialize_parameter(self: Parameter, shape: Any) -> None:
    session = state.trace
    if session is None:
        return _initialize(self, shape)
    with session.accounted_draws(), session.passive():
        _initialize(self, shape)
    return None


_REPLACEMENTS: dict[tuple[Any, str], Any] = {
    (_backprop, "_ones"): _made_ones,
    (_backprop, "_backward_to_leaves"): _start_backward(_backward_to_leaves),
    (_backprop, "_backward_one"): _start_backward(_backprop._backward_one),
    (Link, "__getattribute__"): _link_getattribute,
    (Link, "__setattr__"): _link_setattr,
    (Link, "__delattr__"): _link_delattr,
    (configuration.LocalConfig, "__getattr__"): _config_getattr,
    (configuration.GlobalConfig, "__getattribute__"): _global_getattribute,
    (function_node.FunctionNode, "apply"): _apply,
    (function_node.FunctionNode, "__getattribute__"): _function_getattribute,
    (function.Function, "__getattribute__"): _function_getattribute,
    (Variable, "__init__"): _variable_init,
    (Variable, "array"): property(_read_array, _write_array),
    (Variable, "data"): property(_read_array, _write_array),
    (Variable, "grad"): _gradient("grad"),
    (Variable, "grad_var"): _gradient("grad_var"),
    (Variable, "cleargrad"): _effect("cleargrad"),
    (Variable, "zerograd"): _effect("zerograd"),
    (Variable, "addgrad"): _effect("addgrad"),
    (Variable, "copydata"): _effect("copydata"),
    (Variable, "unchain"): _effect("unchain"),
    (Variable, "unchain_backward"): _unchain_backward,
    (Variable, "rank"): property(_rank),
    (Variable, "creator"): _origin("creator"),
    (Variable, "creator_node"): _origin("creator_node"),
    (Variable, "name"): _origin("name"),
    (VariableNode, "data"): property(_node_data, _plain_node_data.fset),
    (function_node.FunctionNode, "output_data"): property(_output_data),
    (Parameter, "initialize"): _initialize_parameter,
}
