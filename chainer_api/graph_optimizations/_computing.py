"""What an interpreted method may compute: operators and functions of plain data and arrays.

In: values as the interpreter knows them. Out: values, and lines of the residual code that compute
the same. What may not happen: code of anybody's that is not known to be without effects.
"""

from __future__ import annotations

import operator
from types import FunctionType
from typing import Any

import numpy as np

from chainer import _tracing
from chainer.variable import Variable
from chainwright.ir.layout import reuse_matters
from chainwright.tracer import DIFFERENT_LAYOUTS

from ._own import CONTAINERS, IS_MADE, MISSING, OWN, Bound, OwnObject, View, in_class
from ._residual import PLAIN, NotProvable, Sym, is_number


class Computing:
    """The operations."""

    residual: Any
    dry: Any
    # What objects add.
    class_of: Any
    contains: Any
    iterate: Any
    special: Any
    truth: Any
    _static: Any
    is_plain: Any

    def ref(self, value: Any) -> str:
        return self.residual.ref(value)

    def native(self, value: Any, computes: bool = True) -> Any:
        """What a value is in this call, for NumPy and Python to compute with.

        Without ``computes`` it is only held: an object of any class may be.
        """
        kind = type(value)
        if kind is Sym:
            real = value.value
            if isinstance(real, Variable):
                raise NotProvable("a Variable is handed to code that is not read")
            if type(real) is _tracing.Promise:
                raise NotProvable("values that are still to be computed are read")
            return _of_known_kind(real) if computes else real
        if kind is tuple or kind is list:
            return kind([self.native(v, computes) for v in value])
        if isinstance(value, tuple):
            return type(value)(*[self.native(v, computes) for v in value])
        if kind is dict:
            return {k: self.native(v, computes) for k, v in value.items()}
        if kind is slice:
            return slice(*[self.native(v, computes) for v in (value.start, value.stop, value.step)])
        if kind in OWN:
            raise NotProvable("an object of the call is handed to code that is not read")
        if computes:
            self.is_plain(value)
        return value

    def known(self, *values: Any) -> bool:
        """Whether values are the same in all calls."""
        for v in values:
            kind = type(v)
            if kind is Sym:
                if not v.fixed:
                    return False
                if self.residual.blind:
                    self.residual.fix(v)  # which says whether it may be read
            elif isinstance(v, (tuple, list)):
                if not self.known(*v):
                    return False
            elif kind is slice:
                if not self.known(v.start, v.stop, v.step):
                    return False
            elif isinstance(v, dict) and not self.known(*v.values()):
                return False
        return True

    def pure(self, text: str, compute: Any, fresh: bool = True) -> Any:
        """Compute something without effects, here and in the residual code."""
        value = compute()
        if fresh or isinstance(value, np.generic):
            self.dry.computes()
        sym = self.residual.made(text, value)
        if type(sym) is Sym:
            if isinstance(value, Variable) or type(value) not in _RESULTS and not isinstance(
                value, np.generic
            ):
                raise NotProvable(f"a {type(value).__name__} is computed")
            sym.own = fresh and type(value) is np.ndarray
        return sym

    def fresh(self, text: str, value: Any) -> Any:
        return self.pure(text, lambda: value)

    def view(self, text: str, value: Any, base: Sym) -> Any:
        """A view of an array, which is the call's own where the array is."""
        sym = self.pure(text, lambda: value, False)
        if type(sym) is Sym and type(value) is np.ndarray:
            self.view_of(sym, base)
        return sym

    def view_of(self, sym: Sym, base: Sym) -> None:
        """``sym`` may share the memory of ``base``."""
        sym.own = base.own
        self.dry.views.setdefault(id(sym), sym)
        self.dry.bases[id(sym)] = base

    def apply(self, name: str, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
        """A function of plain data and arrays, by its name in the generated code."""
        a, k = self.native(args), self.native(kw)
        if self.known(args, kw):
            value = self._folded(lambda: function(*a, **k))
            if type(value) in PLAIN or isinstance(value, (np.generic, np.dtype, type)):
                return value
            if type(value) is tuple and all(type(v) in PLAIN for v in value):
                return value
        else:
            value = function(*a, **k)
        parts = [self.ref(v) for v in args] + [f"{n}={self.ref(v)}" for n, v in kw.items()]
        fresh = type(value) is np.ndarray and not _shares(value, (a, k))
        return self.pure(f"{name}({', '.join(parts)})", lambda: value, fresh)

    def _folded(self, compute: Any) -> Any:
        """What is the same in all calls, and is left out of them."""
        hearing = self.dry.hearing
        hearing.warned = False
        try:
            with np.errstate(all="raise"):
                value = compute()
        except FloatingPointError:
            raise NotProvable("a computation has floating-point errors in each call") from None
        if hearing.warned:
            raise NotProvable("a computation warns in each call")
        return value

    def binary(self, op: str, a: Any, b: Any) -> Any:
        name, symbol = _BINARY[op]
        for v, other in ((a, b), (b, a)):
            self.is_plain(v)
            if type(v) is Sym and isinstance(v.value, np.ndarray) and type(other) is OwnObject:
                raise NotProvable("an operator of an array and an object")
            if isinstance(v, dict) and op == "BitOr":
                if type(a) is not dict or type(b) is not dict:
                    raise NotProvable("an operator of a dictionary")
                return {**a, **b}
            if isinstance(v, tuple) and type(v) is not tuple:
                raise NotProvable("an operator of a named tuple")
        found = self._by_method(f"__{name}__", f"__r{name}__", a, b)
        if found is not MISSING:
            return found
        if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
            return self._join(op, a, b)
        if type(a) is Sym and type(a.value) in (list, tuple):
            return self._join(op, a, b)
        if type(a) is str and op == "Mod":
            return a % self.residual.fix(b)
        function = getattr(operator, f"{name}_" if name in ("and", "or") else name)
        if self.known(a, b):
            return self._folded(lambda: function(self.native(a), self.native(b)))
        self._computable(a, b)
        operands = self.native(a), self.native(b)
        loose = [type(v) is Sym and v.own for v in (a, b)]
        if all([type(v) is np.ndarray for v in operands]) and reuse_matters(
            _UFUNCS.get(op, op), operands, loose, self.dry.large
        ):
            raise NotProvable(DIFFERENT_LAYOUTS)
        return self.fresh(f"{self.ref(a)} {symbol} {self.ref(b)}", function(*operands))

    def _computable(self, *values: Any) -> None:
        for v in values:
            v = v.value if type(v) is Sym else v
            if type(v) not in PLAIN and not isinstance(v, (np.ndarray, np.generic, np.dtype)):
                raise NotProvable(f"an operator of a {type(v).__name__}")

    def _join(self, op: str, a: Any, b: Any) -> Any:
        def items(v: Any) -> Any:
            if type(v) is Sym and type(v.value) in (list, tuple):
                return type(v.value)(self.iterate(v))
            return v

        a, b = items(a), items(b)
        if op == "Add" and type(a) is type(b):
            return a + b
        if op == "Mult":
            return self.residual.fix(a) * b if isinstance(b, (list, tuple)) else a * (
                self.residual.fix(b)
            )
        raise NotProvable("an operator of a list")

    def _tried(self, a: Any, b: Any, name: str, reflected: str) -> list[tuple[Any, Any, str]]:
        """Which methods of which operand are asked first: those of a class below the other's."""
        ways = [(a, b, name), (b, a, reflected)]
        if self._plain_object(a) and self._plain_object(b):
            first, second = self.class_of(a), self.class_of(b)
            if first is second and name != reflected and name not in _COMPARISONS:
                return ways[:1]
            if first is not second and issubclass(second, first):
                if name in _COMPARISONS or (
                    in_class(second, reflected) is not in_class(first, reflected)
                ):
                    return ways[::-1]
        return ways

    def _by_method(self, name: str, reflected: str, a: Any, b: Any) -> Any:
        """Operators of classes written in Python."""
        for own, other, method in self._tried(a, b, name, reflected):
            if type(own) is OwnObject or type(own) is Sym and not self._has_plain_operators(own):
                cls = self.class_of(own)
                if in_class(cls, method) is MISSING:
                    self.stays_without(cls, method)
                    continue
                found = self._asked(own, method, other)
                if found is not NotImplemented:
                    return found
        return MISSING

    def _has_plain_operators(self, value: Sym) -> bool:
        real = value.value
        return (
            type(real) in PLAIN
            or isinstance(real, (np.ndarray, np.generic))
            or type(real) in CONTAINERS
        )

    def inplace(self, op: str, a: Any, b: Any) -> Any:
        if type(a) is list and op == "Add":
            self.extend(a, b)
            return a
        if type(a) is list and op == "Mult":
            a *= self.residual.fix(b)
            return a
        if type(a) is Sym and type(a.value) is np.ndarray:
            self.dry.changes(a)
            value = _INPLACE[op](self.native(a), self.native(b))
            if value is not a.value:
                raise NotProvable("an operator in place")
            self.residual.line(f"{self.ref(a)} {_BINARY[op][1]}= {self.ref(b)}")
            return a
        if type(a) is Sym and type(a.value) in (list, dict, set):
            raise NotProvable("a container of the outside is changed")
        if type(a) is OwnObject or type(a) is Sym and not self._has_plain_operators(a):
            method = f"__i{_BINARY[op][0]}__"
            if in_class(self.class_of(a), method) is not MISSING:
                raise NotProvable(f"{method} of a {self.class_of(a).__name__}")
        if type(a) in (dict, set):
            raise NotProvable("an operator in place")
        if type(a) is Sym:
            self.residual.type_of(a)  # an array would be changed itself
        return self.binary(op, a, b)

    def unary(self, op: str, value: Any) -> Any:
        name, symbol = _UNARY[op]
        if type(value) is OwnObject or type(value) is Sym and not self._has_plain_operators(value):
            return self.special(value, f"__{name}__", [])
        function = getattr(operator, name)
        if self.known(value):
            return self._folded(lambda: function(self.native(value)))
        return self.fresh(f"{symbol}{self.ref(value)}", function(self.native(value)))

    def identical(self, a: Any, b: Any) -> bool:
        if a is b:
            return True
        if type(a) is Sym and type(b) is Sym:
            if is_number(a.value) or is_number(b.value):
                raise NotProvable("numbers are compared by identity")
            if a.value is b.value:
                raise NotProvable("identity")
            if self.dry.is_made(a) or self.dry.is_made(b):
                return False
            self.residual.guard(f"{a.ref} is {b.ref}")
            return False
        if type(a) is Sym or type(b) is Sym:
            sym, other = (a, b) if type(a) is Sym else (b, a)
            if type(sym.value) in PLAIN:
                found = sym.value is other
                # By name: Python warns of literals that are compared by identity.
                is_literal = type(other) in (int, float, complex, str, bytes)
                text = (self.residual.const if is_literal else self.residual.ref)(other)
                self.residual.guard(f"{sym.ref} is {'not ' if found else ''}{text}")
                return found
            return False
        if type(a) is Bound and type(b) is Bound:
            raise NotProvable("methods are compared by identity")
        return False

    def _asked(self, own: Any, method: str, other: Any) -> Any:
        """What a method of an operator gives; NotImplemented where that is known."""
        found = self.special(own, method, [other])
        if type(found) is Sym and found.value is NotImplemented:
            raise NotProvable("a method gives NotImplemented")
        return found

    def compare(self, op: str, a: Any, b: Any) -> Any:
        kinds = [type(v.value if type(v) is Sym else v) for v in (a, b)]
        plain = [type(v) in _NO_IDENTITY for v in (a, b)]
        if op in ("Is", "IsNot") and kinds[0] is kinds[1] and (all(plain) or kinds[0] is tuple):
            raise NotProvable("numbers, texts or tuples are compared by identity")
        if op == "Is":
            return self.identical(a, b)
        if op == "IsNot":
            return not self.identical(a, b)
        if op == "In":
            return self.contains(a, b)
        if op == "NotIn":
            return not self.contains(a, b)
        name, symbol = _COMPARE[op]
        for v in (a, b):
            self.is_plain(v)
        for own, other, method in self._tried(a, b, f"__{name}__", f"__{_MIRROR[name]}__"):
            if type(own) is OwnObject or type(own) is Sym and not self._has_plain_operators(own):
                cls = self.class_of(own)
                found = in_class(cls, method)
                if isinstance(found, FunctionType):
                    result = self._asked(own, method, other)
                    if result is not NotImplemented:
                        return result
                elif name in ("eq", "ne") and found is getattr(object, method):
                    self.stays(cls, method, found)
                    # What is not equal is what __eq__ says, where nothing else does.
                    if name == "ne" and in_class(cls, "__eq__") is not object.__eq__:
                        result = self.special(own, "__eq__", [other])
                        if result is not NotImplemented:
                            return not self.truth(result)
                    elif name == "ne":
                        self.stays(cls, "__eq__", object.__eq__)
                    continue
                elif found is not MISSING:
                    raise NotProvable(f"a {cls.__name__} is compared")
        if self._plain_object(a) or self._plain_object(b):
            if name not in ("eq", "ne"):
                raise NotProvable("objects are compared")
            return self.identical(a, b) is (name == "eq")
        function = getattr(operator, name)
        if self.known(a, b):
            return self._folded(lambda: function(self.native(a), self.native(b)))
        if View in (type(a), type(b)):
            raise NotProvable("what a dictionary shows is compared")
        if self._is_container(a) or self._is_container(b):
            if self.dry.any_size and op in ("Eq", "NotEq") and type(a) is type(b) is tuple:
                return self._same_items(a, b) is (op == "Eq")
            return function(self.residual.fix(a), self.residual.fix(b))
        self._computable(a, b)
        return self.fresh(
            f"{self.ref(a)} {symbol} {self.ref(b)}", function(self.native(a), self.native(b))
        )

    def _same_items(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        """Whether tuples are equal, such as shapes, which may have lengths that are not fixed."""
        return len(a) == len(b) and all(
            [self.truth(self.compare("Eq", x, y)) for x, y in zip(a, b, strict=True)])

    def _plain_object(self, v: Any) -> bool:
        return type(v) is OwnObject or type(v) is Sym and not self._has_plain_operators(v)

    def _is_container(self, v: Any) -> bool:
        return isinstance(v.value if type(v) is Sym else v, CONTAINERS)


def _of_known_kind(value: Any) -> Any:
    """Plain data, in which there is no object whose own code may run where NumPy computes with it.
    """
    kind = type(value)
    if kind is np.ndarray:
        if value.dtype.hasobject:
            raise NotProvable("an array of objects")
    elif isinstance(value, np.ndarray):
        raise NotProvable(f"a {kind.__name__}")
    elif kind in (list, tuple):
        for item in value:
            _of_known_kind(item)
    elif kind is dict:
        for item in value.values():
            _of_known_kind(item)
    elif kind.__flags__ & IS_MADE and not isinstance(value, (np.generic, np.dtype, type)):
        raise NotProvable(f"a {kind.__name__} is handed to code that is not read")
    return value


def _shares(array: np.ndarray, values: Any) -> bool:
    """Whether an array may share memory with one among nested values."""
    if isinstance(values, np.ndarray):
        return np.may_share_memory(array, values)
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (list, tuple)):
        return False
    return any([_shares(array, v) for v in values])


_NO_IDENTITY = frozenset({int, float, complex, str, bytes, tuple})
_RESULTS = frozenset({*PLAIN, np.ndarray, tuple, list, dict})
_BINARY = {
    "Add": ("add", "+"), "Sub": ("sub", "-"), "Mult": ("mul", "*"), "Div": ("truediv", "/"),
    "FloorDiv": ("floordiv", "//"), "Mod": ("mod", "%"), "Pow": ("pow", "**"),
    "MatMult": ("matmul", "@"), "LShift": ("lshift", "<<"), "RShift": ("rshift", ">>"),
    "BitOr": ("or", "|"), "BitXor": ("xor", "^"), "BitAnd": ("and", "&"),
}  # fmt: skip
#: The names of the ufuncs of what is commutative.
_UFUNCS = {
    "Add": "add", "Mult": "multiply", "BitOr": "bitwise_or", "BitXor": "bitwise_xor",
    "BitAnd": "bitwise_and",
}  # fmt: skip
_INPLACE = {op: getattr(operator, f"i{name}") for op, (name, _) in _BINARY.items()}
_UNARY = {"USub": ("neg", "-"), "UAdd": ("pos", "+"), "Invert": ("invert", "~")}
_COMPARE = {
    "Eq": ("eq", "=="), "NotEq": ("ne", "!="), "Lt": ("lt", "<"), "LtE": ("le", "<="),
    "Gt": ("gt", ">"), "GtE": ("ge", ">="),
}  # fmt: skip
_COMPARISONS = frozenset({f"__{name}__" for name, _ in _COMPARE.values()})
_MIRROR = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
