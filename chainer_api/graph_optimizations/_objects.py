"""What an interpreted method may do with objects: attributes, items, operators, calls.

Values are plain Python objects (constants, and containers that the call has made), or of the
classes of :mod:`._own`, or a :class:`~._residual.Sym`. Where an operation is not known to be
without effects, the proof ends.
"""

from __future__ import annotations

import abc
import collections
import enum
import functools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from chainer import _tracing, configuration
from chainer.link import Chain, ChainList, Link
from chainer.utils.cache import cached_property
from chainer.variable import Parameter, Variable
from chainwright.ir import size as lengths

from . import _safe
from ._computing import Computing
from ._own import (
    CONTAINERS,
    IS_MADE,
    MISSING,
    OWN,
    Bound,
    Closure,
    Context,
    OwnObject,
    Partial,
    Super,
    View,
    Weak,
    decides,
    in_class,
    is_library_class,
)
from ._residual import PLAIN, NotProvable, Sym, TooMuch, attribute

VARIABLES = (Variable, Parameter)
_MOST_READ = 256  # of a list, say, that the method goes through
_REGISTER = (Link, Chain, ChainList)  # whose __setattr__ sets, and knows parameters besides


class Objects(Computing):
    """The operations."""

    def __init__(self, residual: Any, dry: Any) -> None:
        self.residual, self.dry = residual, dry
        self.written: dict[int, dict[str, Any]] = {}  # attributes set in the call, by object
        self.writers: dict[int, Sym] = {}
        self.blind: set[int] = residual.blind
        self.shown: set[int] = set()  # objects whose dictionaries were read, and these

    # What the interpreter adds.
    run_function: Any
    run_closure: Any
    _step: Any
    in_library: Any

    # -- kinds

    def class_of(self, value: Any) -> type:
        kind = type(value)
        if kind is Sym:
            return self.residual.type_of(value)
        if kind is OwnObject:
            return value.cls
        if kind is Closure:
            return FunctionType
        if kind is Bound:
            return MethodType if not isinstance(value.function, str) else BuiltinFunctionType
        if kind is Partial:
            return functools.partial
        if kind is Weak:
            return weakref.ref
        if kind in (Super, Context, View) or hasattr(value, "__next__"):
            raise NotProvable(f"a {kind.__name__.lower()} is used as an object")
        return kind

    def is_plain(self, value: Any) -> None:
        """A class or module has no code of its own that runs where it is used.

        Raises:
            NotProvable: It has: a metaclass, or a function for the attributes that it lacks.
        """
        if isinstance(value, type):
            if type(value) not in (type, abc.ABCMeta):
                raise NotProvable(f"the class {value.__name__} has a metaclass of its own")
        elif isinstance(value, ModuleType) and not _is_usual(value):
            raise NotProvable(f"the module {value.__name__} has code of its own")

    def has_setter(self, cls: type, name: str) -> bool:
        """Whether something of the class is asked where the attribute is set."""
        found = in_class(cls, name)
        return isinstance(found, property) or hasattr(type(found), "__set__")

    def truth(self, value: Any) -> bool:
        kind = type(value)
        self.is_plain(value)
        if isinstance(value, tuple) and kind is not tuple:
            raise NotProvable("the truth of a named tuple")
        if kind is Sym:
            real = value.value
            if type(real) in PLAIN or isinstance(real, (np.generic, np.ndarray)):
                return self.residual.truth(value)
            if type(real) in (list, tuple, dict, OrderedDict):
                return self.length(value) > 0
            return self._object_truth(value, type(real))
        if kind is OwnObject:
            return self._object_truth(value, value.cls)
        if kind in (Closure, Bound, Partial, Weak):
            return True
        if kind is View:
            return self.length(value) > 0
        return bool(value)

    def _object_truth(self, value: Any, cls: type) -> bool:
        for name in ("__bool__", "__len__"):
            if in_class(cls, name) is not MISSING:
                found = self.special(value, name, []) if name == "__bool__" else self.length(value)
                if name == "__bool__" and self.class_of(found) is not bool:
                    raise NotProvable("__bool__ gives no truth value")
                return self.truth(found)
            self.stays_without(cls, name)
        return True

    # -- classes, which may become others

    def stays_without(self, cls: type, name: str) -> None:
        """The proof rests on that instances of a class have no such method."""
        if cls.__flags__ & IS_MADE and not is_library_class(cls):
            r = self.residual
            r.guard(f"{r.const(_has)}({r.const(cls)}, {name!r})")

    def stays(self, cls: type, name: str, found: Any) -> None:
        """It rests on that a class has this method."""
        if cls.__flags__ & IS_MADE and not is_library_class(cls):
            r = self.residual
            r.guard(f"{attribute(r.const(cls), name)} is not {r.const(found)}")

    # -- attributes

    def getattr(self, obj: Any, name: str, default: Any = MISSING) -> Any:
        kind = type(obj)
        if kind is Sym:
            return self._sym_attribute(obj, name, default)
        if kind is OwnObject:
            return self._own_attribute(obj, name, default)
        if kind is Super:
            return self._super_attribute(obj, name)
        if kind is Bound and name == "__self__":
            return obj.owner
        if kind is Bound and name == "__func__" and isinstance(obj.function, FunctionType):
            return obj.function
        r = self.residual
        if isinstance(obj, ModuleType):
            if not (_is_usual(obj) or _stands_in(obj, name)):
                raise NotProvable(f"the module {obj.__name__} computes its attributes")
            try:
                value = getattr(obj, name)
            except AttributeError:
                return self._lacks(obj, name, default)
            return r.load(attribute(r.const(obj), name), value)
        if isinstance(obj, type):
            return self._class_attribute(obj, name, default)
        if kind is np.ufunc and name in _safe.UFUNC_METHODS:
            return Bound(name, obj)
        if kind in CONTAINERS or kind is str or kind is bytes:
            if not hasattr(kind, name):
                if default is not MISSING:
                    return default
                raise NotProvable(f"a {kind.__name__} has no {name}")
            return Bound(name, obj)
        if hasattr(obj, "__next__"):
            raise NotProvable(f"the attribute {name} of an iterator")
        if kind in OWN:
            raise NotProvable(f"the attribute {name} of a {kind.__name__.lower()}")
        if isinstance(obj, tuple):
            return self._tuple_attribute(obj, name, default)
        if isinstance(obj, FunctionType):
            if not hasattr(obj, name):
                return self._lacks(obj, name, default)
            return r.load(attribute(r.const(obj), name), getattr(obj, name))
        return self._plain_attribute(obj, name, default)

    def _tuple_attribute(self, obj: Any, name: str, default: Any) -> Any:
        """A field of a named tuple that the call has made, or what its class has besides."""
        cls, r = type(obj), self.residual
        found = in_class(cls, name)
        if type(found) is _FIELD:
            return obj[obj._fields.index(name)]
        if found is MISSING:
            return self._lacks(cls, name, default)
        if isinstance(found, property):
            r.guard(f"{attribute(r.const(cls), name)} is not {r.const(found)}")
            return self.call(found.fget, [obj], {})
        if isinstance(found, FunctionType):
            r.guard(f"{attribute(r.const(cls), name)} is not {r.const(found)}")
            return Bound(found, obj)
        if name in tuple.__dict__ and in_class(cls, name) is tuple.__dict__[name]:
            return Bound(name, obj)
        return self._class_attribute(cls, name, default)

    def _plain_attribute(self, obj: Any, name: str, default: Any) -> Any:
        """An attribute of plain data that cannot change."""
        if type(obj).__flags__ & IS_MADE and not isinstance(obj, (np.dtype, np.generic)):
            raise NotProvable(f"the attribute {name} of a {type(obj).__name__}")
        try:
            value = getattr(obj, name)
        except AttributeError:
            if default is not MISSING:
                return default
            raise NotProvable(f"a {type(obj).__name__} has no {name}") from None
        if callable(value) and not isinstance(value, type):
            return Bound(name, obj)
        if type(value) in PLAIN or isinstance(value, (np.dtype, type, np.generic, tuple)):
            return value
        raise NotProvable(f"the attribute {name} of a {type(obj).__name__}")

    def _lacks(self, obj: Any, name: str, default: Any) -> Any:
        if default is MISSING:
            raise NotProvable(f"there is no attribute {name}")
        r = self.residual
        r.guard(f"hasattr({r.ref(obj)}, {name!r})")
        return default

    def _class_attribute(self, cls: type, name: str, default: Any = MISSING) -> Any:
        r = self.residual
        if type(cls) not in (type, abc.ABCMeta, enum.EnumType):
            raise NotProvable(f"the class {cls.__name__} has a metaclass of its own")
        if name in ("__name__", "__qualname__", "__module__"):
            return r.load(attribute(r.const(cls), name), getattr(cls, name))
        if name == "__mro__":
            return cls.__mro__
        if name == "__dict__":
            raise NotProvable("the dictionary of a class")
        found = in_class(cls, name)
        if found is MISSING:
            if in_class(type(cls), name) is not MISSING:
                raise NotProvable(f"the attribute {name} of a metaclass")
            return self._lacks(cls, name, default)
        if isinstance(found, classmethod):
            function = found.__func__
            if not isinstance(function, FunctionType):
                return Bound(name, cls)
            r.guard(f"{attribute(r.const(cls), name)}.__func__ is not {r.const(function)}")
            return Bound(function, cls)
        if isinstance(found, staticmethod):
            return r.load(attribute(r.const(cls), name), found.__func__)
        if isinstance(found, (FunctionType, property)) or not hasattr(type(found), "__get__"):
            return r.load(attribute(r.const(cls), name), found)
        if isinstance(found, _safe.BUILTIN_DESCRIPTORS):
            return r.load(attribute(r.const(cls), name), getattr(cls, name))
        raise NotProvable(f"the attribute {name} of a class")

    def _super_attribute(self, obj: Super, name: str) -> Any:
        mro = self.class_of(obj.owner).__mro__
        r = self.residual
        for c in mro[mro.index(obj.cls) + 1 :]:
            if name in c.__dict__:
                found = c.__dict__[name]
                r.guard(f"{r.const(c)}.__dict__.get({name!r}) is not {r.const(found)}")
                if isinstance(found, FunctionType):
                    return Bound(found, obj.owner)
                if isinstance(found, property):
                    return self.call(found.fget, [obj.owner], {})
                if isinstance(found, staticmethod):
                    return found.__func__
                if c is object and name == "__setattr__":
                    return Bound("__setattr__", obj.owner)
                if c is object and name == "__init__":
                    return Bound("__init__", obj.owner)
                break
            r.guard(f"{name!r} in {r.const(c)}.__dict__")
        raise NotProvable(f"super().{name}")

    def _sym_attribute(self, obj: Sym, name: str, default: Any) -> Any:
        value = obj.value
        kind = type(value)
        if kind in VARIABLES:
            return self._variable_attribute(obj, name, default)
        if kind is np.ndarray or kind is _tracing.Promise:
            return self._array_attribute(obj, name, default)
        if kind in PLAIN or isinstance(value, np.generic):
            return self._number_attribute(obj, name, default)
        if value is configuration.config:
            return self._setting(obj, name, default)
        if isinstance(value, tuple) and name in getattr(value, "_fields", ()):
            return self.residual.load(attribute(obj.ref, name), getattr(value, name))
        if kind in (list, tuple, dict, OrderedDict, set, frozenset):
            if not hasattr(kind, name):
                return self._lacks(obj, name, default)
            return Bound(name, obj)
        if kind is functools.partial and name in ("func", "args", "keywords"):
            return self.residual.load(attribute(obj.ref, name), getattr(value, name))
        if kind is MethodType and name in ("__func__", "__self__"):
            return self.residual.load(attribute(obj.ref, name), getattr(value, name))
        return self._object_attribute(obj, name, default)

    def _setting(self, obj: Sym, name: str, default: Any) -> Any:
        """An entry of the configuration: compared as a whole in each call, but for a few."""
        from ._settings import Settings

        if not hasattr(obj.value, name):
            return self._lacks(obj, name, default)
        value = getattr(obj.value, name)
        if name in Settings._WITHOUT_EFFECT or name.startswith("static_"):
            if type(value) is bool:
                self.residual.guard(f"{attribute(obj.ref, name)} is not {value}")
                return value
            raise NotProvable(f"chainer.config.{name} is read")
        if type(value) in PLAIN or isinstance(value, (type, np.dtype)):
            return value
        raise NotProvable(f"chainer.config.{name} is read")

    def _object_attribute(self, obj: Sym, name: str, default: Any) -> Any:
        r, value = self.residual, obj.value
        cls = type(value)
        if cls.__getattribute__ is not object.__getattribute__ and not isinstance(
            value, threading.local
        ):
            raise NotProvable(f"a {cls.__name__} has a __getattribute__ of its own")
        written = self.written.get(id(value), {})
        found = in_class(cls, name)
        if found is object.__getattribute__ and in_class(cls, "__getattr__") is MISSING:
            return Bound(name, obj)
        if isinstance(found, property):
            r.guard(f"{attribute(r.const(cls), name)} is not {r.const(found)}")
            return self.call(found.fget, [obj], {})
        if type(found) is _tracing.WrittenArray:
            return self._written_array(obj, name)
        if name in written:
            return written[name]
        if name == "__dict__":
            if written or id(value) in self.blind:
                raise NotProvable("the dictionary of an object that was changed")
            if not self.in_library():
                self.shown.update((id(value), id(value.__dict__)))
            return r.load(f"{obj.ref}.__dict__", value.__dict__)
        if name == "__class__":
            return cls
        own = getattr(value, "__dict__", {})
        if hasattr(type(found), "__set__") and not isinstance(
            found, (MemberDescriptorType, GetSetDescriptorType)
        ):
            raise NotProvable(f"the attribute {name} of a {cls.__name__} is computed")
        if name in own or isinstance(found, (MemberDescriptorType, GetSetDescriptorType)):
            try:
                return r.load(attribute(obj.ref, name), getattr(value, name))
            except AttributeError:
                raise NotProvable(f"{name} has no value yet") from None
        if found is MISSING:
            if in_class(cls, "__getattr__") is not MISSING:
                raise NotProvable(f"a {cls.__name__} computes its attribute {name}")
            return self._lacks(obj, name, default)
        if isinstance(found, FunctionType):
            r.guard(f"{attribute(r.const(cls), name)} is not {r.const(found)}")
            if hasattr(value, "__dict__"):
                r.guard(f"{name!r} in {obj.ref}.__dict__")
            return Bound(found, obj)
        if isinstance(found, (classmethod, staticmethod)):
            if hasattr(value, "__dict__"):
                r.guard(f"{name!r} in {obj.ref}.__dict__")
            return self._class_attribute(cls, name)
        if hasattr(type(found), "__get__") and not isinstance(found, type):
            raise NotProvable(f"the attribute {name} of a {cls.__name__} is computed")
        return r.load(attribute(obj.ref, name), found)

    def _written_array(self, obj: Sym, name: str) -> Any:
        """Running statistics: read by links of the library, or else with a sync point."""
        if not self.in_library():
            raise NotProvable("an array that functions write to is read")
        r, values = self.residual, obj.value.__dict__
        # References are counted: none may be held here meanwhile.
        free = type(values.get(name)) is np.ndarray and not _tracing.is_handed_out(values, name)
        value = values.get(name)
        if free:
            there, look = r.const(_tracing.handed_out), r.const(_tracing.is_handed_out)
            r.guard(f"{there} and {look}({obj.ref}.__dict__, {name!r})")
            self.dry.statistics.add(id(value))
        return r.load(f"{obj.ref}.__dict__[{name!r}]", value)

    def _own_attribute(self, obj: OwnObject, name: str, default: Any) -> Any:
        if obj.real is not None:
            return self._left(obj.real, name, default)
        if obj.applied and name != "apply":
            raise NotProvable("what a function has left on itself is read")
        found = in_class(obj.cls, name)
        r = self.residual
        if obj.cls.__getattribute__ is not object.__getattribute__:
            raise NotProvable(f"a {obj.cls.__name__} has a __getattribute__ of its own")
        if isinstance(found, property):
            r.guard(f"{attribute(r.const(obj.cls), name)} is not {r.const(found)}")
            return self.call(found.fget, [obj], {})
        if type(found) is cached_property:
            getter = r.load(attribute(r.const(obj.cls), name), found)
            return self.call(cached_property.__get__, [getter, obj, obj.cls], {})
        if hasattr(type(found), "__set__") and not isinstance(
            found, (MemberDescriptorType, GetSetDescriptorType)
        ):
            raise NotProvable(f"the attribute {name} of a {obj.cls.__name__} is computed")
        if name in obj.attributes:
            return obj.attributes[name]
        if name == "__class__":
            return obj.cls
        if name == "__dict__":
            return obj.attributes
        if found is MISSING:
            if in_class(obj.cls, "__getattr__") is not MISSING:
                raise NotProvable(f"a {obj.cls.__name__} computes its attribute {name}")
            return self._lacks(obj.cls, name, default)
        if isinstance(found, FunctionType):
            r.guard(f"{attribute(r.const(obj.cls), name)} is not {r.const(found)}")
            return Bound(found, obj)
        return self._class_attribute(obj.cls, name)

    def _left(self, obj: Sym, name: str, default: Any) -> Any:
        """What a function that has run has left on itself."""
        value = obj.value.__dict__.get(name, MISSING)
        if value is None or type(value) in (np.ndarray, tuple, int, float, bool):
            return self.residual.made(attribute(obj.ref, name), value)
        raise NotProvable("what a function has left on itself is read")

    # -- Variables and arrays

    def _variable_attribute(self, obj: Sym, name: str, default: Any) -> Any:
        r = self.residual
        spec = self.dry.spec
        if name == "shape":
            return self.dry.shape(obj)
        if name == "dtype":
            return spec(obj).dtype
        if name == "ndim":
            return len(spec(obj).shape)
        if name == "size":
            return self.dry.size(obj)
        if name in ("requires_grad", "_requires_grad"):
            return spec(obj).requires_grad
        if name == "_array":
            return self.dry.array_of(obj)
        if name in ("array", "data"):
            return self.dry.look(obj)
        if name == "xp":
            spec(obj)
            return np
        if name == "name" and type(obj.value) in VARIABLES and not self.dry.is_made(obj):
            return r.load(f"{obj.ref}.name", obj.value.name)
        if name == "is_initialized" and type(obj.value) is Parameter:
            spec(obj)
            return True
        if name == "_layout":
            if obj.slot is None or not obj.applied:
                r.guard(f"{obj.ref}._layout is not None")
            return None
        found = in_class(type(obj.value), name)
        if name in vars(obj.value) and name not in ("_node",):
            raise NotProvable(f"the attribute {name} of a Variable")
        if isinstance(found, FunctionType):
            r.guard(f"Variable.{name} is not {r.const(found)}")
            return Bound(found, obj)
        if isinstance(found, property) and name in ("T",):
            return self.call(found.fget, [obj], {})
        if found is MISSING and default is not MISSING:
            return default
        raise NotProvable(f"the attribute {name} of a Variable")

    def _array_attribute(self, obj: Sym, name: str, default: Any) -> Any:
        if name == "shape":
            return self.dry.shape(obj)
        if name == "size":
            return self.dry.size(obj)
        if name in ("dtype", "strides"):
            return getattr(self.dry.exact(obj) if name == "strides" else self.dry.spec(obj), name)
        if name in ("ndim", "itemsize", "nbytes"):
            self.dry.exact(obj) if name == "nbytes" else self.dry.spec(obj)
            return getattr(obj.value, name)
        if name in ("T", "real"):
            return self.view(f"{self.ref(obj)}.{name}", getattr(self.native(obj), name), obj)
        if name in _safe.ARRAY_METHODS or name in _safe.ARRAY_WRITES:
            return Bound(name, obj)
        if not hasattr(np.ndarray, name) and default is not MISSING:
            self.residual.type_of(obj)
            return default
        raise NotProvable(f"the attribute {name} of an array")

    def _number_attribute(self, obj: Sym, name: str, default: Any) -> Any:
        kind = self.residual.type_of(obj)
        if not hasattr(kind, name):
            return self._plain_attribute(obj.value, name, default)
        if name in ("dtype", "shape", "ndim", "size"):
            return getattr(obj.value, name)
        if name in _safe.NUMBER_METHODS:
            return Bound(name, obj)
        if name in ("real", "T"):
            return self.pure(f"{obj.ref}.{name}", lambda: getattr(obj.value, name))
        raise NotProvable(f"the attribute {name} of a {kind.__name__}")

    # -- setting attributes

    def setattr(self, obj: Any, name: str, value: Any) -> None:
        kind = type(obj)
        if kind is OwnObject:
            found = in_class(obj.cls, name)
            if isinstance(found, property) or hasattr(type(found), "__set__"):
                raise NotProvable(f"a property {name} is set")
            if in_class(obj.cls, "__setattr__") is not object.__setattr__:
                raise NotProvable(f"a {obj.cls.__name__} has a __setattr__ of its own")
            if obj.applied:
                raise NotProvable("a function that has run is changed")
            obj.attributes[name] = value
            return
        if kind is not Sym:
            what = f"the class {obj.__name__}" if isinstance(obj, type) else (
                f"an instance of {self.class_of(obj).__name__}")
            raise NotProvable(f"an attribute of {what} is set")
        self._set_outside(obj, name, value)

    def _set_outside(self, obj: Sym, name: str, value: Any) -> None:
        real = obj.value
        cls = type(real)
        if isinstance(real, (Variable, np.ndarray, threading.local)) or not hasattr(
            real, "__dict__"
        ):
            raise NotProvable(f"the attribute {name} of a {cls.__name__} is set")
        found = in_class(cls, name)
        if isinstance(found, property):
            if found.fset is None:
                raise NotProvable(f"the property {name} cannot be set")
            self.call(found.fset, [obj, value], {})
            return
        if found is not MISSING and hasattr(type(found), "__set__"):
            raise NotProvable(f"{name} of a {cls.__name__} is set")
        if not self._sets_plainly(cls):
            raise NotProvable(f"a {cls.__name__} has a __setattr__ of its own")
        if id(real) in self.shown:
            raise NotProvable("an object is changed whose dictionary was read")
        self.stays(cls, "__setattr__", cls.__setattr__)
        if found is MISSING:  # nor will it be a property
            self.stays_without(cls, name)
        else:
            self.stays(cls, name, found)
        if isinstance(real, Link):
            # Elsewhere links and parameters are registered, too.
            self.residual.guard(f"{obj.ref}._within_init_scope is not False")
        self.dry.effect("set", obj, name, value)
        self.written.setdefault(id(real), {})[name] = value
        self.writers[id(real)] = obj

    def _sets_plainly(self, cls: type) -> bool:
        for c in cls.__mro__:
            if "__setattr__" in c.__dict__:
                return c is object or c in _REGISTER
        return True

    # -- items

    def key(self, value: Any) -> Any:
        """A key of a dictionary that the call has made."""
        if type(value) in OWN:
            raise NotProvable("an object of the call is a key")
        if type(value) is Sym and not (
            type(value.value) in PLAIN or isinstance(value.value, (np.generic, tuple))
        ):
            raise NotProvable(f"a {type(value.value).__name__} is a key")
        return self.residual.fix(value)

    def getitem(self, obj: Any, key: Any) -> Any:
        kind = type(obj)
        if kind is Sym:
            return self._sym_item(obj, key)
        if kind is OwnObject:
            return self.special(obj, "__getitem__", [key])
        if isinstance(obj, (list, tuple, str, bytes, range)):
            if kind.__getitem__ is not _ITEM_OF.get(kind, tuple.__getitem__):
                raise NotProvable(f"an item of a {kind.__name__}")
            key = self.residual.fix(key)
            if kind is tuple and type(key) is slice and key == slice(None):
                return obj
            return obj[key]
        if isinstance(obj, dict):
            key = self.key(key)
            if key not in obj:
                raise NotProvable(f"no item {key!r}")
            return obj[key]
        if obj is np.r_ or obj is np.c_:
            raise NotProvable("np.r_")
        raise NotProvable(f"an item of a {self.class_of(obj).__name__}")

    def _sym_item(self, obj: Sym, key: Any) -> Any:
        value, r = obj.value, self.residual
        kind = type(value)
        if kind is np.ndarray or isinstance(value, np.generic):
            text = f"{self.ref(obj)}[{self.ref(key)}]"
            there = self.native(obj)
            found = there[self.native(key)]
            if self._is_basic(key) or np.may_share_memory(found, there):  # a field of a structure
                return self.view(text, found, obj)
            return self.fresh(text, found)
        if kind in VARIABLES:
            return self.special(obj, "__getitem__", [key])
        if kind in (list, tuple) and type(key) is Sym and type(key.value) is int:
            found = self._any_array(obj, key)
            if found is not None:
                return found
        if kind in (list, tuple, dict, OrderedDict) or isinstance(value, tuple):
            self.readable(obj)
            key = r.fix(key)
            if kind is tuple and type(key) is slice and key == slice(None):
                return obj  # the tuple itself
            if isinstance(value, dict) and key not in value:
                raise NotProvable(f"no item {key!r}")
            found = value[key]
            if type(key) is slice:
                n = self.length(obj)
                items = [self._sym_item(obj, k) for k in range(*key.indices(n))]
                return tuple(items) if isinstance(value, tuple) else items
            return r.load(f"{obj.ref}[{r.ref(key)}]", found)
        if kind in (str, bytes):
            return r.fix(obj)[r.fix(key)]
        return self.special(obj, "__getitem__", [key])

    def _any_array(self, obj: Sym, key: Sym) -> Any:
        """The item of a list of arrays at a place that is another one in each call."""
        if key.fixed or not all([type(item) is np.ndarray for item in obj.value]):
            return None
        self._within(obj, key)
        found = self.residual.made(f"{obj.ref}[{key.ref}]", obj.value[key.value])
        self.dry.spec(found)
        return found

    def _within(self, obj: Sym, key: Any) -> None:
        """An index is not out of range, which would be an exception."""
        n = self.length(obj)
        if type(key) is Sym:
            self.residual.type_of(key)
            self.residual.guard(f"not -{n} <= {key.ref} < {n}")
        elif type(key) is not int or not -n <= key < n:
            raise NotProvable("an index is out of range, or no number")

    def _is_basic(self, key: Any) -> bool:
        keys = key if isinstance(key, tuple) else (key,)
        return all(
            k is None or k is Ellipsis or isinstance(k, (int, np.integer, slice))
            or type(k) is Sym and isinstance(k.value, (int, np.integer))
            for k in keys
        )

    def readable(self, obj: Sym) -> None:
        """Nobody may look into a container that has grown in the call."""
        if id(obj.value) in self.blind:
            raise NotProvable("a container of the outside is changed and read")

    def setitem(self, obj: Any, key: Any, value: Any) -> None:
        kind = type(obj)
        if kind is list:
            obj[self.residual.fix(key)] = value
        elif kind is dict or kind is OrderedDict:
            obj[self.key(key)] = value
        elif kind is Sym and type(obj.value) is np.ndarray:
            part = None
            if self._is_basic(key):
                keys = key if isinstance(key, tuple) else (key,)
                whole = keys if any([k is Ellipsis for k in keys]) else (*keys, Ellipsis)
                part = f"{self.ref(obj)}[{self.ref(whole)}]"
            self.dry.changes(obj, part)
            self.native(obj)[self.native(key)] = self.native(value)
            self.residual.line(f"{self.ref(obj)}[{self.ref(key)}] = {self.ref(value)}")
        elif kind is OwnObject:
            self.special(obj, "__setitem__", [key, value])
        elif kind is Sym and type(obj.value) is dict and id(obj.value) not in self.shown:
            key = self.key(key)
            self.blind.add(id(obj.value))
            self.dry.effect("item", obj, key, value)
        elif kind is Sym and type(obj.value) is list:
            self._within(obj, key)
            self.blind.add(id(obj.value))
            self.dry.effect("item", obj, key, value)
        else:
            raise NotProvable(f"an item of a {self.class_of(obj).__name__} is set")

    def delitem(self, obj: Any, key: Any) -> None:
        if type(obj) is list or type(obj) is dict:
            del obj[self.residual.fix(key)]
        else:
            raise NotProvable("an item of the outside is deleted")

    def length(self, obj: Any) -> Any:
        found = self._length(obj)
        if type(found) is not int and not (
            type(found) is Sym and type(found.value) is int or isinstance(found, lengths.Size)
        ):
            raise NotProvable("a length is no whole number")
        if type(found) is int and found < 0:
            raise NotProvable("a length is negative")
        return found

    def _length(self, obj: Any) -> Any:
        kind = type(obj)
        if isinstance(obj, type) or isinstance(obj, tuple) and kind is not tuple:
            raise NotProvable(f"the length of a {kind.__name__}")
        if kind is Sym:
            value = obj.value
            if type(value) in VARIABLES or isinstance(value, np.ndarray):
                shape = self.dry.shape(obj)
                if not shape:
                    raise NotProvable("the length of an array without axes")
                return shape[0]
            if isinstance(value, (list, tuple, dict)) and type(value).__len__ in _LENGTHS:
                self.readable(obj)
                n = len(value)
                self.residual.guard(f"len({obj.ref}) != {n}")
                return n
            return self.special(obj, "__len__", [])
        if kind is View:
            return self.length(obj.owner)
        if kind is OwnObject:
            return self.special(obj, "__len__", [])
        return len(obj)

    def iterate(self, obj: Any) -> Iterator[Any]:
        kind = type(obj)
        if kind is Sym:
            return self._iterate_sym(obj)
        if kind is OwnObject:
            return self._iterate_object(obj)
        if kind is View:
            return self._iterate_view(obj.owner, obj.name)
        own = isinstance(obj, tuple) and kind.__iter__ is not tuple.__iter__
        if own or isinstance(obj, type):
            raise NotProvable("something is iterated over in a way of its own")
        if kind in OWN or not hasattr(obj, "__iter__"):
            raise NotProvable(f"a {self.class_of(obj).__name__} is iterated over")
        if isinstance(obj, (set, frozenset)) and len(obj) > 1:
            raise NotProvable("a set is iterated over")
        return iter(obj)

    def _iterate_sym(self, obj: Sym) -> Iterator[Any]:
        value, r = obj.value, self.residual
        if type(value) in VARIABLES or isinstance(value, np.ndarray):
            # Each when its turn comes, as Python does: a function is applied for it.
            return (self.getitem(obj, k) for k in range(r.fix(self.length(obj))))
        if isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > _MOST_READ:
            # Each would be read, and compared, by a line of the proof.
            kind = type(value).__name__
            raise TooMuch(f"the method goes through a {kind} of more than {_MOST_READ} items")
        if isinstance(value, (list, tuple)) and type(value).__iter__ in _ITERATORS:
            return self.unchanged(obj, [self.getitem(obj, k) for k in range(self.length(obj))])
        if type(value) in (dict, OrderedDict):
            self.readable(obj)
            return self.unchanged(obj, self._keys(obj))
        if type(value) in (set, frozenset):
            return iter(self._keys(obj))
        return self._iterate_object(obj)

    def _keys(self, obj: Sym) -> tuple[Any, ...]:
        """The keys of a dictionary, or the items of a set, in their order."""
        r, keys = self.residual, self.residual.fix(tuple(obj.value))
        if all([type(key) is str for key in keys]):
            r.guard(f"tuple({obj.ref}) != {r.const(keys)}")
        else:  # 1, 1.0 and True are equal
            r.same_contents(f"tuple({obj.ref})", keys)
        return keys

    def unchanged(self, obj: Sym, items: Any) -> Iterator[Any]:
        """The items of a container of the outside, as long as the call does not change it."""
        for item in items:
            self.readable(obj)
            yield item
        self.readable(obj)

    def _iterate_view(self, owner: Any, name: str) -> Iterator[Any]:
        keys = self.iterate(owner)
        if name == "keys":
            return keys
        if name == "values":
            return (self.getitem(owner, k) for k in keys)
        return ((k, self.getitem(owner, k)) for k in keys)

    def extend(self, own: list[Any], items: Any) -> None:
        """``own.extend(items)``."""
        found = self.iterate(items)
        for item in [*found] if type(items) in (list, tuple, Sym) else found:
            self._step()
            own.append(item)

    def _iterate_object(self, obj: Any) -> Iterator[Any]:
        cls = self.class_of(obj)
        if in_class(cls, "__iter__") is MISSING:
            raise NotProvable(f"a {cls.__name__} is iterated over")
        found = self.special(obj, "__iter__", [])
        if not hasattr(found, "__next__") and type(found) is not OwnObject:
            raise NotProvable(f"{cls.__name__}.__iter__ gives no iterator")
        return self.iterate(found)

    def items_of(self, obj: Any) -> dict[str, Any]:
        """The items of a mapping."""
        if type(obj) is Sym and type(obj.value) in (dict, OrderedDict):
            return {k: self.getitem(obj, k) for k in self.iterate(obj)}
        if isinstance(obj, dict):
            return obj
        raise NotProvable("a mapping of a kind of its own")

    def contains(self, item: Any, obj: Any) -> Any:
        kind = type(obj)
        r = self.residual
        if kind is Sym:
            value = obj.value
            if type(value) in (dict, OrderedDict, set, frozenset):
                self.readable(obj)
                key = self.key(item)
                found = key in value
                r.guard(f"{r.ref(key)} {'not ' if found else ''}in {obj.ref}")
                return found
            if type(value) in (list, tuple):
                return self.contains(item, list(self.iterate(obj)))
            return self.truth(self.special(obj, "__contains__", [item]))
        if isinstance(obj, (dict, set, frozenset)):
            return self.key(item) in obj
        if isinstance(obj, (list, tuple)) or hasattr(obj, "__next__"):
            if isinstance(obj, tuple) and kind is not tuple:
                raise NotProvable("something is looked for in a named tuple")
            return any(
                self.identical(item, v) or self.truth(self.compare("Eq", v, item)) for v in obj
            )
        if kind is OwnObject:
            return self.truth(self.special(obj, "__contains__", [item]))
        if kind is View:
            if obj.name == "keys":
                return self.contains(item, obj.owner)
            return self.contains(item, [*self.iterate(obj)])
        if kind in (str, bytes, range):
            return r.fix(item) in obj
        raise NotProvable(f"something is looked for in a {kind.__name__}")

    # -- calling

    def special(self, obj: Any, name: str, args: list[Any]) -> Any:
        """A method that the interpreter of Python looks for in the class."""
        cls = self.class_of(obj)
        found = in_class(cls, name)
        r = self.residual
        if found is None or found is MISSING or not isinstance(found, FunctionType):
            raise NotProvable(f"{name} of a {cls.__name__}")
        r.guard(f"{attribute(r.const(cls), name)} is not {r.const(found)}")
        return self.call(found, [obj, *args], {})

    def call(self, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
        kind = type(function)
        if kind is Bound:
            if isinstance(function.function, str):
                return _safe.method(self, function.owner, function.function, args, kw)
            return self.call(function.function, [function.owner, *args], kw)
        if kind is Closure:
            return self.run_closure(function, args, kw)
        if kind is Partial:
            return self.call(function.function, [*function.args, *args], {**function.kw, **kw})
        if kind is OwnObject:
            return self.special_call(function, args, kw)
        if kind is Weak:
            return function.target
        if kind is Sym:
            return self._call_sym(function, args, kw)
        handler = _safe.handler(function)
        if handler is not None:
            return handler(self, function, args, kw)
        if isinstance(function, type):
            return self.construct(function, args, kw)
        if isinstance(function, FunctionType):
            inner = self.dry.decorated(function)
            return self.run_function(inner or function, args, kw)
        raise NotProvable(f"{_safe.name_of(function)} is called, which is not on the list")

    def special_call(self, obj: Any, args: list[Any], kw: dict[str, Any]) -> Any:
        cls = self.class_of(obj)
        found = in_class(cls, "__call__")
        if not isinstance(found, FunctionType):
            raise NotProvable(f"a {cls.__name__} is called")
        r = self.residual
        r.guard(f"{r.const(cls)}.__call__ is not {r.const(found)}")
        return self.call(found, [obj, *args], kw)

    def _call_sym(self, function: Sym, args: list[Any], kw: dict[str, Any]) -> Any:
        value = function.value
        if type(value) is functools.partial:
            inner = self.getattr(function, "func")
            first = list(self.iterate(self.getattr(function, "args")))
            _has_no_gaps(first)
            named = self.items_of(self.getattr(function, "keywords"))
            return self.call(inner, [*first, *args], {**named, **kw})
        if type(value) is MethodType:
            handler = _safe.handler(value)
            if handler is not None:
                self.residual.guard(f"{function.ref} is not {self.residual.const(value)}")
                return handler(self, value, args, kw)
            inner, owner = self.getattr(function, "__func__"), self.getattr(function, "__self__")
            return self.call(inner, [owner, *args], kw)
        return self.special_call(function, args, kw)

    def construct(self, cls: type, args: list[Any], kw: dict[str, Any]) -> Any:
        if issubclass(cls, np.generic):
            return self.apply(self.residual.const(cls), cls, args, kw)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            names = cls._fields
            if "_tuple_new" not in getattr(cls.__new__, "__globals__", ()):
                raise NotProvable(f"{cls.__name__}.__new__")
            of_tuple = tuple.__dict__
            if any([in_class(cls, m) is not of_tuple.get(m, MISSING) for m in _OF_TUPLES]):
                raise NotProvable(f"a {cls.__name__} is more than a tuple with names")
            defaults = getattr(cls, "_field_defaults", {})
            if len(args) > len(names) or any([type(v) not in PLAIN for v in defaults.values()]):
                raise NotProvable(f"arguments of {cls.__name__}")
            self.residual.guard(
                f"{self.residual.const(cls)}.__new__.__defaults__ != "
                f"{self.residual.const(cls.__new__.__defaults__)}")
            if (cls.__init__, cls.__getattribute__) != (object.__init__, tuple.__getattribute__):
                raise NotProvable(f"{cls.__name__}.__init__, or __getattribute__")
            values = dict(zip(names, args, strict=False), **kw)
            values = {**getattr(cls, "_field_defaults", {}), **values}
            return tuple.__new__(cls, [values[n] for n in names])
        if issubclass(cls, Variable):
            return self.dry.variable(cls, args, kw)
        if cls is functools.partial and args:
            _has_no_gaps(args)
            return Partial(args[0], args[1:], kw)
        if cls is weakref.ref and type(args[0]) is OwnObject and self.in_library():
            return Weak(args[0])
        if (
            cls.__new__ is not object.__new__
            or type(cls) not in (type, abc.ABCMeta)
            or issubclass(cls, (Link, BaseException, threading.local))
            or not cls.__dictoffset__
            or hasattr(cls, "__del__")
            or cls.__basicsize__ > _Empty.__basicsize__
            or getattr(cls, "__abstractmethods__", None)
        ):
            raise NotProvable(f"a {cls.__name__} is made")
        for name in ("__new__", "__setattr__", "__getattribute__"):
            self.stays(cls, name, getattr(cls, name))
        if in_class(cls, "__getattr__") is MISSING:
            self.stays_without(cls, "__getattr__")
        obj = OwnObject(cls)
        self.dry.own_objects.append(obj)
        found = in_class(cls, "__init__")
        if isinstance(found, FunctionType):
            r = self.residual
            r.guard(f"{r.const(cls)}.__init__ is not {r.const(found)}")
            if self.call(found, [obj, *args], kw) is not None:
                raise NotProvable("__init__ returns something")
        elif args or kw or found is not object.__init__:
            raise NotProvable(f"{cls.__name__}.__init__")
        return obj

    def enter(self, manager: Any) -> Any:
        if type(manager) is Context:
            manager.real.__enter__()
            return None
        return self.special(manager, "__enter__", [])

    def exit(self, manager: Any) -> None:
        if type(manager) is Context:
            manager.real.__exit__(None, None, None)
        else:
            self.special(manager, "__exit__", [None, None, None])

    def exit_quickly(self, manager: Any) -> None:
        """The proof has ended."""
        if type(manager) is Context:
            manager.real.__exit__(None, None, None)


class _Empty:
    pass


_GAP = getattr(functools, "Placeholder", _Empty)  # from 3.14 on: an argument that is given later


def _has_no_gaps(args: list[Any]) -> None:
    if any(v is _GAP for v in args):
        raise NotProvable("functools.partial with a placeholder")


def _has(cls: type, name: str) -> bool:
    """Whether instances of a class have a method, as the interpreter looks for it."""
    return in_class(cls, name) is not MISSING


_FIELD = type(collections.namedtuple("_P", "x").x)  # type: ignore[attr-defined]


_MODULES = frozenset({"chainer", "chainwright", "numpy", "scipy"})  # what they compute stays


def _is_usual(module: ModuleType) -> bool:
    """Whether no code of its own runs where a module is used, or none that matters."""
    computes = type(module) is not ModuleType or "__getattr__" in vars(module)
    return not computes or module.__name__.partition(".")[0] in _MODULES


def _stands_in(module: ModuleType, name: str) -> bool:
    """Whether an attribute is there, and none of the module's code is asked for it.

    As of ``six.moves`` and of others that import their parts when somebody asks for them.
    """
    kind = type(module)
    if name not in vars(module) or kind.__getattribute__ is not ModuleType.__getattribute__:
        return False
    return not decides(in_class(kind, name))


#: Methods of tuples: a class of named ones that has others is not read.
_OF_TUPLES = (
    "__add__", "__mul__", "__rmul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    "__len__", "__bool__", "__iter__", "__contains__", "__getitem__", "__hash__",
)
_ITEM_OF = {kind: kind.__getitem__ for kind in (list, tuple, str, bytes, range)}
_LENGTHS = (list.__len__, tuple.__len__, dict.__len__, OrderedDict.__len__)
_ITERATORS = (list.__iter__, tuple.__iter__)
