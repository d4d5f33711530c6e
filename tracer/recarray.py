"""Recording arrays: the real data and the graph value it stands for, in one object.

A wrapper, not an ``ndarray`` subclass (NumPy's C code reads a subclass without asking). Array code
written for NumPy records itself through ``__array_ufunc__`` and ``__array_function__``; looking
at values (``float(x)``, ``if x:``, ``np.asarray(x)``) ends the recording instead.

Memory is versioned: a view is its storage plus the steps that lead to it, a write makes a new
version of the storage, and other views are derived anew from it when they are read.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from chainwright.ir import OPS, Node, Slot, freeze, make
from chainwright.ir.frozen import Unknown
from chainwright.ir.layout import dense_strides, reuse_matters
from chainwright.ir.reductions import axes_of

from .blank import LARGE, blank, emptied, is_virtual

if TYPE_CHECKING:
    from .recorder import Recorder


#: Why a recording ends where Python warns: a program would have done so when it is given up.
TOO_FEW_ITEMS = "NumPy warns of too few items for a mean or a variance"
#: Why one ends where NumPy decides by who holds an array.
DIFFERENT_LAYOUTS = "large arrays in different layouts, of which one may be reused, are operands"
_MANY_STEPS = 1 << 16  # of a product: multiplications from which on it is not computed


class Step(NamedTuple):
    """One move from an array to a view of it."""

    op: str
    attrs: dict[str, Any]
    inputs: tuple[Any, ...]
    result: np.ndarray


class Storage:
    """Memory that views share: the node of its newest version."""

    __slots__ = ("node", "version", "shared")

    def __init__(self, node: Node) -> None:
        self.node, self.version = node, 0
        self.shared = False  # with another storage, in a way that writes cannot follow


def unwrap(value: Any) -> Any:
    """The same nested structure with real arrays for recording ones."""
    kind = type(value)
    if kind is RecArray:
        return value.held
    if kind is tuple or kind is list:
        return kind([unwrap(v) for v in value])
    if hasattr(kind, "_fields"):
        return kind(*[unwrap(v) for v in value])
    if kind is dict:
        return {k: unwrap(v) for k, v in value.items()}
    if kind is slice:
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    return value


class Template:
    """An argument structure with its arrays taken out: ``Slot(k)`` stands for the k-th."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []

    def take(self, value: Any) -> Any:
        if isinstance(value, (RecArray, np.ndarray)):
            self.arrays.append(value)
            return Slot(len(self.arrays) - 1)
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([self.take(v) for v in value])
        if kind is dict:
            return {k: self.take(v) for k, v in value.items()}
        return value

    def take_index(self, index: Any) -> tuple[Any, ...]:
        """The template of an index; lists are index arrays."""
        items = index if type(index) is tuple else (index,)
        return tuple(self.take(np.asarray(i) if type(i) is list else i) for i in items)


def find(value: Any) -> RecArray | None:
    """The first recording array in a nested structure."""
    if type(value) is RecArray:
        return value
    if type(value) in (tuple, list):
        return next((f for v in value if (f := find(v)) is not None), None)
    if type(value) is dict:
        return find(list(value.values()))
    return None


def root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _shares(result: np.ndarray, base: np.ndarray) -> bool:
    return root(result) is root(base) and (result.size == 0 or np.may_share_memory(result, base))


def record(
    rec: Recorder,
    op: str,
    inputs: tuple[Any, ...],
    run: Callable[[], Any],
    view_of: RecArray | None = None,
    **attrs: Any,
) -> Any:
    """Run an operation once, for real, and write it down as a node.

    ``view_of`` is the first input of an operation whose result may be a view of it.
    """
    operands = tuple(rec.wrap(i) if isinstance(i, np.ndarray) else i for i in inputs)
    result = _by_rule(rec, op, operands, attrs)
    if result is None:
        with rec.suspended():
            result = run()
    if not rec.live:
        return result
    result = _emptied(result, operands)
    if isinstance(result, (tuple, list)):
        views = tuple(_looks_into(r, operands) for r in result)
        if any(v is not None for v in views):
            attrs["view"] = views
        node = rec.emit(op, operands, n_outputs=len(result), **attrs)
        parts = rec.results(node, tuple(result))
        for part, view in zip(parts, views, strict=True):
            if view is not None:
                part.storage.shared = operands[view].storage.shared = True
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if not isinstance(result, (np.ndarray, np.generic)):
        rec.escape(f"{op} gave a {type(result).__name__}, which is no array")
        return result
    if view_of is not None and isinstance(result, np.ndarray):
        if result is view_of.held:
            return view_of
        if _shares(result, view_of.held):
            if "args" in attrs:
                attrs["view"] = True
            step = Step(op, attrs, operands[1:], result)
            return RecArray(rec, result, view_of.storage, (*view_of.path, step))
    view = _looks_into(result, operands) if "args" in attrs else None
    if view is not None:
        attrs["view"] = view
    made = RecArray(rec, result, Storage(rec.emit(op, operands, result, **attrs)))
    if view is not None:
        made.storage.shared = operands[view].storage.shared = True
    return made


def _by_rule(
    rec: Recorder, op: str, operands: tuple[Any, ...], attrs: dict[str, Any]
) -> np.ndarray | None:
    """An array like a large result, as the op table has it, where values are let go of anyway.

    To compute it would take most of the time of a trace.
    """
    if not is_virtual() or not _is_large(op, operands):
        return None
    node = make(op, *map(rec.operand, operands), **attrs)
    if node.dtype is None or node.dtype.hasobject:
        return None
    if node.nbytes < LARGE and OPS[op].kind != "product":
        return None
    return blank(node.dims, node.dtype, node.steps)


def _is_large(op: str, operands: tuple[Any, ...]) -> bool:
    """Whether rules say what NumPy makes of the operands, and to compute it takes long."""
    row = OPS.get(op)
    if row is None or row.shape is None or row.dtype is None or row.view:
        return False
    if row.kind == "product":
        a, b = operands
        return row.strides is not None and a.size * b.shape[-1] >= _MANY_STEPS
    if row.kind == "elementwise":
        return any([type(x) is RecArray and x.held.nbytes >= LARGE for x in operands])
    # Without a rule for strides: of usual arrays NumPy makes a usual one.
    if row.strides is not None or not all([type(x) is RecArray for x in operands]):
        return False
    return sum([x.held.nbytes for x in operands]) >= LARGE and all(map(_is_usual, operands))


def _is_usual(x: RecArray) -> bool:
    """Whether an array is laid out as NumPy allocates arrays, axes of length one as well."""
    return x.held.strides == dense_strides(x.held.shape, x.held.itemsize)


def _emptied(result: Any, operands: tuple[Any, ...]) -> Any:
    """The result without its values, unless it shows memory of an operand."""
    if type(result) in (tuple, list):
        return type(result)([_emptied(r, operands) for r in result])
    return result if _looks_into(result, operands) is not None else emptied(result)


def _looks_into(result: Any, operands: tuple[Any, ...]) -> int | None:
    """The number of the operand whose memory a result shows."""
    if not isinstance(result, np.ndarray):
        return None
    for k, operand in enumerate(operands):
        if type(operand) is RecArray and _shares(result, operand.held):
            return k
    return None


def call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record ``fn(*args, **kwargs)`` as one generic node."""
    first = find((args, kwargs))
    assert first is not None
    rec = first.recorder
    if not rec.live:
        return fn(*unwrap(args), **unwrap(kwargs))
    template = Template()
    frozen = template.take(args), template.take(kwargs)
    # While recording nothing is computed with what happened to be in memory: indexes, for one.
    run = np.zeros_like if fn is np.empty_like else fn
    return record(
        rec,
        "call",
        tuple(template.arrays),
        lambda: run(*unwrap(args), **unwrap(kwargs)),
        view_of=template.arrays[0] if type(template.arrays[0]) is RecArray else None,
        fn=fn,
        args=freeze(frozen[0]),
        kwargs=freeze(frozen[1]),
    )


class RecArray(NDArrayOperatorsMixin):
    """A real array that writes down what is done with it."""

    __slots__ = ("recorder", "held", "storage", "path", "scalar", "_node", "_version")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, recorder: Recorder, real: Any, storage: Storage, path: tuple[Step, ...] = ()
    ) -> None:
        self.recorder = recorder
        self.scalar = isinstance(real, np.generic)
        self.held: np.ndarray = np.asarray(real) if self.scalar else real
        self.storage, self.path = storage, path
        self._node: Node | None = None
        self._version = -1

    # -- the value

    def node(self) -> Node:
        """The node that gives this array's present value."""
        if not self.path:
            return self.storage.node
        if self._node is None or self._version != self.storage.version:
            node = self.storage.node
            for step in self.path:
                node = self.recorder.emit(step.op, (node, *step.inputs), step.result, **step.attrs)
            self._node, self._version = node, self.storage.version
        return self._node

    def update(self, value: Node) -> None:
        """Replace this array's value: a new version of its storage."""
        bases = [self.storage.node]
        for step in self.path[:-1]:
            bases.append(
                self.recorder.emit(step.op, (bases[-1], *step.inputs), step.result, **step.attrs)
            )
        for base, step in zip(reversed(bases), reversed(self.path), strict=False):
            value = self._put(base, step, value)
        self.recorder.write(self.storage, value)

    def _put(self, base: Node, step: Step, value: Node) -> Node:
        """``base`` with the part that ``step`` views replaced by ``value``."""
        index, emit = freeze((Ellipsis,)), self.recorder.emit
        if step.op == "getitem":
            index = step.attrs["index"]
        elif step.op == "reshape" and not step.attrs.get("fortran"):
            value = emit("reshape", (value,), shape=base.shape)
        elif step.op == "transpose":
            inverse = tuple(int(i) for i in np.argsort(step.attrs["axes"]))
            value = emit("transpose", (value,), axes=inverse)
        else:
            self.recorder.escape(f"a write through a view made by {step.op} cannot be recorded")
            return base
        return emit("setitem", (base, value), index=index)

    def _write(self, op: str, inputs: tuple[Any, ...], run: Callable[[], Any], **attrs: Any) -> Any:
        """Run ``op`` with this array as its destination."""
        rec = self.recorder
        operands = tuple(rec.operand(i) for i in inputs)
        if not self._is_only_noted(op, operands):
            with rec.suspended():
                run()
            if not rec.live:
                return self.held
        node = rec.emit(op, operands, **attrs)
        if node.shape != self.held.shape:
            node = rec.emit("broadcast_to", (node,), shape=self.held.shape)
            node = rec.emit("copy", (node,), self.held)
        if node.dtype != self.held.dtype:
            node = rec.emit("cast", (node,), self.held)
        if node.strides != self.held.strides:
            node = rec.emit("copy", (node,), self.held)
        self.update(node)
        return self

    def _is_only_noted(self, op: str, operands: tuple[Node, ...]) -> bool:
        """Whether an operation writes as many items of the same dtype, whose values are let go of.

        Then nothing has to be computed.
        """
        if not is_virtual() or self.held.nbytes < LARGE or OPS[op].kind != "elementwise":
            return False
        node = make(op, *operands)
        return node.shape == self.held.shape and node.dtype == self.held.dtype

    # -- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        rec = self.recorder
        if any([isinstance(i, Unknown) for i in inputs]):
            return NotImplemented  # it knows what it is in the company of arrays
        fn = ufunc if method == "__call__" else getattr(ufunc, method)
        if not rec.live:
            return fn(*unwrap(inputs), **unwrap(kwargs))
        out = kwargs.get("out")
        simple = method == "__call__" and ufunc.nout == 1 and not set(kwargs) - {"out"}
        if simple and ufunc.__name__ in OPS and getattr(np, ufunc.__name__, None) is ufunc:
            if out is None or out[0] is None:
                if len(inputs) == 2 and self._reuse_matters(ufunc.__name__, inputs):
                    rec.escape(DIFFERENT_LAYOUTS)
                    return ufunc(*unwrap(inputs))
                return record(rec, ufunc.__name__, inputs, lambda: ufunc(*unwrap(inputs)))
            target = out[0] if type(out[0]) is RecArray else rec.wrap(out[0])
            done = target._write(
                ufunc.__name__, inputs, lambda: ufunc(*unwrap(inputs), out=target.held)
            )
            return done if out[0] is target else out[0]
        if method == "at":
            return self._at(ufunc, inputs)
        if out is not None and any(o is not None for o in out):
            return self._call_into(fn, inputs, kwargs, out)
        return call(fn, inputs, kwargs)

    def _reuse_matters(self, ufunc: str, inputs: tuple[Any, ...]) -> bool:
        """Whether the layout of a result depends on who holds the operands, which is not known."""
        arrays = [i.held if type(i) is RecArray else i for i in inputs]
        if not isinstance(arrays[0], np.ndarray) or not isinstance(arrays[1], np.ndarray):
            return False
        loose = [type(i) is RecArray and i._is_made_here() for i in inputs]
        return True in loose and reuse_matters(ufunc, arrays, loose)

    def _is_made_here(self) -> bool:
        """Whether the function that runs now has made it, and it is no view."""
        node = self.storage.node
        return not self.path and node.op != "placeholder" and node.origin is self.recorder.origin

    def _call_into(self, fn: Any, inputs: Any, kwargs: dict[str, Any], out: Any) -> Any:
        """A call with ``out=`` of a function that has no row: compute, then copy into it."""
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        if len(out) != 1:
            self.recorder.escape(f"{fn} with several out= arrays")
            return fn(*unwrap(inputs), out=unwrap(out), **unwrap(kwargs))
        target = out[0] if type(out[0]) is RecArray else self.recorder.wrap(out[0])
        target[...] = call(fn, inputs, kwargs)
        return out[0]

    def _at(self, ufunc: np.ufunc, inputs: tuple[Any, ...]) -> None:
        rec, (base, index, *values) = self.recorder, inputs
        base = base if type(base) is RecArray else rec.wrap(base)
        if ufunc is not np.add or not rec.live:
            rec.escape(f"{ufunc.__name__}.at cannot be recorded")
            ufunc.at(base.held, unwrap(index), *unwrap(values))
            return
        template = Template()
        frozen = freeze(template.take_index(index))
        base._write(
            "add_at",
            (base, values[0], *template.arrays),
            lambda: np.add.at(base.held, unwrap(index), unwrap(values[0])),
            index=frozen,
        )

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rec = self.recorder
        if not rec.live or func in STATIC:
            return func(*unwrap(args), **unwrap(kwargs))
        if func in DATA:
            rec.escape(
                f"the result of numpy.{func.__name__} depends on values, not on shapes alone"
            )
            return func(*unwrap(args), **unwrap(kwargs))
        if kwargs.get("out") is not None:
            out = kwargs["out"]
            return self._call_into(func, args, kwargs, out if type(out) is tuple else (out,))
        handler = FUNCTIONS.get(func)
        if handler is not None:
            done = handler(*args, **kwargs)
            if done is not NotImplemented:
                return done
        return call(func, args, kwargs)

    @staticmethod
    def __chainwright_op__(
        rec_array: RecArray, name: str, implementation: Any, args: Any, kwargs: Any
    ) -> Any:
        rec = rec_array.recorder
        if not rec.live:
            return implementation(*unwrap(args), **unwrap(kwargs))
        run = lambda: implementation(*unwrap(args), **unwrap(kwargs))  # noqa: E731
        if OPS[name].kind == "product":
            return record(rec, name, args, run)
        template = Template()
        frozen = template.take(args)
        return record(
            rec,
            name,
            tuple(template.arrays),
            run,
            view_of=template.arrays[0] if type(template.arrays[0]) is RecArray else None,
            args=freeze(frozen),
            kwargs=freeze(kwargs),
        )

    @property
    def __chainwright_xp__(self) -> Any:
        from .namespace import namespace

        return namespace(self.recorder)

    # -- looking at values ends the recording

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.recorder.escape("the array was converted to a NumPy array")
        array = np.asarray(self.held, dtype)
        return array.copy() if copy and array is self.held else array

    def __bool__(self) -> bool:
        return bool(self._look("bool()"))

    def __int__(self) -> int:
        return int(self._look("int()"))

    def __float__(self) -> float:
        return float(self._look("float()"))

    def __complex__(self) -> complex:
        return complex(self._look("complex()"))

    def __index__(self) -> int:
        return operator.index(self._look("index()"))

    def __contains__(self, value: Any) -> bool:
        return value in self._look("in")

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._look("round()").item(), digits)

    def __reduce__(self) -> Any:
        return self._look("pickling").__reduce__()

    def item(self, *args: Any) -> Any:
        return self._look("item()").item(*args)

    def tolist(self) -> Any:
        return self._look("tolist()").tolist()

    def tobytes(self, *args: Any) -> bytes:
        return self._look("tobytes()").tobytes(*args)

    def _look(self, how: str) -> np.ndarray:
        self.recorder.escape(f"{how} looked at the values of an array")
        return self.held

    def __repr__(self) -> str:
        return f"RecArray({self.held!r})"

    # -- facts that do not depend on values

    @property
    def shape(self) -> tuple[int, ...]:
        return self.held.shape

    @property
    def dtype(self) -> np.dtype:
        return self.held.dtype

    @property
    def ndim(self) -> int:
        return self.held.ndim

    @property
    def size(self) -> int:
        return self.held.size

    @property
    def itemsize(self) -> int:
        return self.held.itemsize

    @property
    def nbytes(self) -> int:
        return self.held.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self.held.strides

    @property
    def flags(self) -> Any:
        return self.held.flags

    @property
    def device(self) -> str:
        return "cpu"

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.held)))

    # -- parts

    def __getitem__(self, index: Any) -> Any:
        if not self.recorder.live:
            return self.held[unwrap(index)]
        template = Template()
        frozen = freeze(template.take_index(index))
        if any(a.dtype.kind == "b" for a in template.arrays):
            self.recorder.escape("a boolean mask gives a shape that depends on values")
            return self.held[unwrap(index)]
        return record(
            self.recorder,
            "getitem",
            (self, *template.arrays),
            lambda: self.held[unwrap(index)],
            view_of=self,
            index=frozen,
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.recorder.live:
            self.held[unwrap(index)] = unwrap(value)
            return
        template = Template()
        frozen = freeze(template.take_index(index))

        def run() -> None:
            self.held[unwrap(index)] = unwrap(value)

        self._write("setitem", (self, value, *template.arrays), run, index=frozen)

    def __pow__(self, exponent: Any) -> Any:
        # ndarray.__pow__ has short cuts for some single exponents that numpy.power has not, or,
        # before NumPy 2.3, not for all layouts.
        if not self.recorder.live or not self._has_short_cuts(exponent):
            return NDArrayOperatorsMixin.__pow__(self, exponent)
        if self.scalar:
            return call(_scalar_power, (self, exponent), {})
        power = self.held ** unwrap(exponent)
        if isinstance(exponent, (np.generic, np.ndarray, RecArray)):
            if power.dtype != np.result_type(self.held.dtype, exponent.dtype):
                # NumPy 2.0 takes some of these for Python numbers.
                if isinstance(exponent, RecArray):
                    self.recorder.escape("a power, of which the dtype depends on the exponent")
                    return power
                exponent = exponent.item()
        return record(self.recorder, "pow", (self, exponent), lambda: power)

    def _has_short_cuts(self, exponent: Any) -> bool:
        if type(exponent) in (int, float):
            return True
        if self.scalar or self.held.dtype.kind not in "fc":
            return False
        if isinstance(exponent, np.generic):
            return exponent in (-1, 0, 0.5, 1, 2)
        return isinstance(exponent, (np.ndarray, RecArray)) and exponent.shape == ()

    def __ipow__(self, exponent: Any) -> Any:
        if self.scalar:
            return self**exponent
        self[...] = self**exponent
        return self

    @property
    def T(self) -> Any:  # noqa: N802
        return self.transpose()

    @property
    def real(self) -> Any:
        return call(np.real, (self,), {})

    @property
    def imag(self) -> Any:
        return call(np.imag, (self,), {})

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        shape = shape[0] if len(shape) == 1 and type(shape[0]) in (tuple, list) else shape
        if not self.recorder.live:
            return self.held.reshape(tuple(shape), order=order)
        if order not in "CF":
            return call(np.reshape, (self, tuple(shape)), {"order": order})
        return record(
            self.recorder,
            "reshape",
            (self,),
            lambda: self.held.reshape(tuple(shape), order=order),
            view_of=self,
            fortran=order == "F",
        )

    def transpose(self, *axes: Any) -> Any:
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes
        axes = axes or tuple(range(self.ndim))[::-1]
        full = tuple(int(a) % self.ndim for a in axes)
        if not self.recorder.live:
            return self.held.transpose(full)
        return record(
            self.recorder,
            "transpose",
            (self,),
            lambda: self.held.transpose(full),
            view_of=self,
            axes=full,
        )

    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        return _unary(self, "cast", lambda a: a.astype(dtype, order))

    def copy(self, order: Any = "C") -> Any:
        if not self.recorder.live:
            return self.held.copy(order)
        return record(self.recorder, "copy", (self,), lambda: self.held.copy(order))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        self[...] = call(np.sort, (self, axis, kind), {})

    def __getattr__(self, name: str) -> Any:
        # Dunder names are answered by the class alone: handing out __array_interface__ or
        # __array_struct__ would give C code the memory behind our back.
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a recording array has no attribute {name!r}")
        method = getattr(np, name, None)
        if name in NP_METHODS and method is not None:
            return lambda *args, **kwargs: method(self, *args, **kwargs)
        return getattr(self._look(f"ndarray.{name}"), name)


def _inplace(name: str) -> Any:
    base = getattr(NDArrayOperatorsMixin, name)
    plain = "__" + name[3:]

    def method(self: RecArray, other: Any) -> Any:
        # NumPy scalars are immutable: += binds the name anew.
        return getattr(self, plain)(other) if self.scalar else base(self, other)

    method.__name__ = name
    return method


for _name in "add sub mul truediv floordiv mod lshift rshift and xor or matmul".split():
    setattr(RecArray, f"__i{_name}__", _inplace(f"__i{_name}__"))


def _unary(x: RecArray, op: str, run: Callable[[np.ndarray], Any], **attrs: Any) -> Any:
    if not x.recorder.live:
        return run(x.held)
    return record(x.recorder, op, (x,), lambda: run(x.held), **attrs)


# -- NumPy functions that have a row of their own in the op table

NP_METHODS = frozenset(
    "sum prod mean max min any all argmax argmin var std cumsum cumprod dot ravel swapaxes squeeze "
    "diagonal clip take repeat round conj conjugate trace choose argsort searchsorted "
    "argpartition".split()
)
STATIC = {
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.can_cast,
    np.iscomplexobj,
    np.isrealobj,
    np.may_share_memory,
    np.shares_memory,
    np.min_scalar_type,
}
DATA = {
    np.array_equal,
    np.allclose,
    np.array_equiv,
    np.array_repr,
    np.array_str,
    np.array2string,
    np.save,
    np.savez,
    np.nonzero,
    np.unique,
    np.flatnonzero,
    np.argwhere,
    np.extract,
    np.compress,
}


def _axes(axis: Any) -> Any:
    if axis is None:
        return None
    return tuple(int(a) for a in axis) if type(axis) in (tuple, list) else int(axis)


def _reduction(name: str, *extra: str) -> Callable[..., Any]:
    """A reduction with a row: ``extra`` are its arguments besides axis and keepdims, in order."""
    function = getattr(np, name)
    names = ("axis", *[e for e in extra if e == "dtype"], "out", *[e for e in extra if e == "ddof"])

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip((*names, "keepdims"), args, strict=False)), **kwargs}
        given.pop("out", None)
        if type(a) is not RecArray or set(given) - {"axis", "keepdims", *extra}:
            return NotImplemented
        settings = {"axis": _axes(given.get("axis")), "keepdims": bool(given.get("keepdims"))}
        attrs = dict(settings)
        if given.get("dtype") is not None:
            settings["dtype"] = attrs["compute"] = np.dtype(given["dtype"])
        if "ddof" in given:
            settings["ddof"] = attrs["ddof"] = given["ddof"]
        if name in ("mean", "var", "std"):
            items = math.prod([a.shape[k] for k in axes_of(settings["axis"], a.ndim)])
            if items <= settings.get("ddof", 0):
                a.recorder.escape(TOO_FEW_ITEMS)
                return function(a.held, **settings)
        return _unary(a, name, lambda r: function(r, **settings), **attrs)

    return handler


def _scan(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def handler(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        compute = None if dtype is None else np.dtype(dtype)
        axis = _axes(axis)
        return _unary(a, name, lambda r: function(r, axis, dtype), axis=axis, compute=compute)

    return handler


def _dot(a: Any, b: Any) -> Any:
    rec = a if type(a) is RecArray else b
    return record(rec.recorder, "dot", (a, b), lambda: np.dot(unwrap(a), unwrap(b)))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Any:
    if kwargs or type(a) is not RecArray:
        return NotImplemented
    run = lambda: a.held.clip(unwrap(a_min), unwrap(a_max))  # noqa: E731
    return record(a.recorder, "clip", (a, a_min, a_max), run)


def _joined(function: Any) -> Callable[..., Any]:
    """concatenate and stack."""

    def handler(arrays: Any, axis: Any = 0, **kwargs: Any) -> Any:
        first = find(tuple(arrays))
        if kwargs or first is None:
            return NotImplemented
        items = tuple(arrays)
        return record(
            first.recorder,
            function.__name__,
            items,
            lambda: function(unwrap(items), axis),
            axis=axis,
        )

    return handler


def _scalar_power(base: Any, exponent: Any) -> Any:
    return np.asarray(base)[()] ** exponent


def _where(*args: Any) -> Any:
    rec = find(args)
    if len(args) != 3 or rec is None:
        rec.recorder.escape("numpy.where(mask) gives a shape that depends on values")  # type: ignore[union-attr]
        return np.where(*unwrap(args))
    return record(rec.recorder, "where", args, lambda: np.where(*unwrap(args)))


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose() if axes is None else a.transpose(*axes)


def _moved(function: Any) -> Callable[..., Any]:
    """Axis moves are transpositions: find which by moving numbered axes."""

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        axes = function(np.empty(tuple(range(a.ndim)), np.int8), *args, **kwargs).shape
        return a.transpose(*axes) if a.ndim else a

    return handler


def _reshaped(function: Any) -> Callable[..., Any]:
    """squeeze, expand_dims and ravel are reshapes to a shape known beforehand."""

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("order", "C") != "C" or type(a) is not RecArray:
            return NotImplemented
        shape = function(np.broadcast_to(np.empty((), np.int8), a.shape), *args, **kwargs).shape
        return a.reshape(shape)

    return handler


def _ravel(a: Any, order: Any = "C") -> Any:
    return a.reshape(-1, order=order)


def _broadcast_to(a: Any, shape: Any, subok: bool = False) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return record(
        a.recorder, "broadcast_to", (a,), lambda: np.broadcast_to(a.held, shape), view_of=a
    )


def _split(function: Any) -> Callable[..., Any]:
    """Splits are slices."""

    def handler(a: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        if type(a) is not RecArray or type(indices_or_sections) is RecArray:
            return NotImplemented
        marks = np.empty(a.shape[axis], np.int8)
        pieces, start = [], 0
        for piece in function(marks, indices_or_sections):
            lead = (slice(None),) * (axis % a.ndim)
            pieces.append(a[(*lead, slice(start, start + len(piece)))])
            start += len(piece)
        return pieces

    return handler


def _diagnosed_split(function: Any) -> Callable[..., Any]:
    handler = _split(function)

    def checked(a: Any, indices_or_sections: Any, axis: int = 0) -> Any:
        sections = indices_or_sections
        if not isinstance(sections, (int, np.integer)):
            # Indices may repeat or run backwards: only ascending ones are plain slices.
            flat = [0, *(int(i) for i in sections), a.shape[axis]]
            if any(i > j for i, j in zip(flat, flat[1:], strict=False)):
                return NotImplemented
        return handler(a, sections, axis)

    return checked


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, n): _reduction(n, "dtype") for n in ("sum", "prod", "mean")},
    **{getattr(np, n): _reduction(n, "dtype", "ddof") for n in ("var", "std")},
    **{getattr(np, n): _reduction(n) for n in ("max", "min", "any", "all", "argmax", "argmin")},
    np.amax: _reduction("max"),
    np.amin: _reduction("min"),
    np.cumsum: _scan("cumsum"),
    np.cumprod: _scan("cumprod"),
    np.dot: _dot,
    np.clip: _clip,
    np.concatenate: _joined(np.concatenate),
    np.stack: _joined(np.stack),
    np.where: _where,
    np.transpose: _transpose,
    np.permute_dims: _transpose,
    np.swapaxes: _moved(np.swapaxes),
    np.rollaxis: _moved(np.rollaxis),
    np.moveaxis: _moved(np.moveaxis),
    np.squeeze: _reshaped(np.squeeze),
    np.expand_dims: _reshaped(np.expand_dims),
    np.ravel: _ravel,
    np.reshape: lambda a, shape, order="C", **kw: (
        NotImplemented if kw else a.reshape(shape, order=order)
    ),
    np.broadcast_to: _broadcast_to,
    np.split: _diagnosed_split(np.split),
    np.array_split: _diagnosed_split(np.array_split),
    np.copy: lambda a, order="K", subok=False: a.copy(order),
    np.astype: lambda a, dtype, copy=True, **kw: a.astype(dtype, copy=copy),
}
