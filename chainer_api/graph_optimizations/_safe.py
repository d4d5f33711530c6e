"""What is known to be without effects, or to have known ones: built-in functions, NumPy's, the
library's doors. What is not on one of these lists ends a proof.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
import random
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from types import (
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

import numpy as np

from chainer import backend, configuration, function, reporter
from chainer._backprop import grad as chainer_grad
from chainer.function_node import FunctionNode
from chainer.variable import Variable

from ._own import IS_MADE, MISSING, Context, Super, View, in_class, is_library_class
from ._residual import PLAIN, NotProvable, Sym
from ._warned import FILTER, matches

BUILTIN_DESCRIPTORS = (
    MethodDescriptorType,
    WrapperDescriptorType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
)

# NumPy functions that compute new arrays or numbers from their arguments, and nothing else.
_NUMPY = """
abs absolute add all allclose amax amin angle any append arange arccos arccosh arcsin arcsinh
arctan arctan2 arctanh argmax argmin argpartition argsort argwhere around array array_equal
average bincount bitwise_and bitwise_or bitwise_xor ceil clip column_stack concatenate conj copy
copysign cos cosh count_nonzero cov cross cumprod cumsum deg2rad delete diag diagonal diff digitize
divide divmod dot dstack einsum empty_like equal exp exp2 expm1 eye fabs flatnonzero flip fliplr
flipud float_power floor floor_divide fmax fmin fmod full full_like gcd geomspace greater
greater_equal heaviside histogram hstack hypot identity indices inner insert interp invert isclose
isfinite isin isinf isnan ix_ kron lcm less less_equal lexsort linspace log log10 log1p log2
logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace matmul max maximum mean
median meshgrid min minimum mod multiply nan_to_num nanmax nanmean nanmin nanstd nansum nanvar
negative nonzero not_equal ones ones_like outer packbits pad partition percentile power prod ptp
quantile rad2deg reciprocal remainder repeat resize rint roll rot90 round searchsorted select sign
sin sinc sinh size sort split array_split sqrt square stack std subtract sum take take_along_axis
tan tanh tensordot tile trace tri tril tril_indices triu triu_indices true_divide trunc
unique unravel_index ravel_multi_index unwrap vander var vdot vsplit hsplit vstack where zeros
zeros_like empty
""".split()
# Those whose results may be views of their arguments.
_NUMPY_VIEWS = """
asarray ascontiguousarray asanyarray atleast_1d atleast_2d atleast_3d broadcast_to expand_dims
moveaxis ravel real reshape rollaxis squeeze swapaxes transpose
""".split()
_NUMPY_FACTS = "isscalar ndim shape result_type promote_types can_cast finfo iinfo dtype".split()
ARRAY_METHODS = frozenset("""
all any argmax argmin argpartition argsort astype clip conj copy cumprod cumsum diagonal dot flatten
item max mean min nonzero prod ptp ravel repeat reshape round searchsorted squeeze std sum swapaxes
take tobytes tolist trace transpose var view
""".split())
_VIEW_METHODS = frozenset("diagonal ravel reshape squeeze swapaxes transpose view".split())
ARRAY_WRITES = frozenset({"fill", "sort"})
#: How many arguments come before the array into which such a method may write.
_BEFORE_OUT = {
    "all": 1, "any": 1, "argmax": 1, "argmin": 1, "clip": 2, "cumprod": 2, "cumsum": 2, "dot": 1,
    "max": 1, "mean": 2, "min": 1, "prod": 2, "ptp": 1, "round": 1, "std": 2, "sum": 2, "take": 2,
    "trace": 4, "var": 2,
}  # fmt: skip
NUMBER_METHODS = ARRAY_METHODS | {"is_integer", "bit_length", "conjugate"}
_STR_METHODS = frozenset("""
capitalize casefold center count endswith find format index isalnum isalpha isdigit isidentifier
islower isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex
rjust rpartition rsplit rstrip split splitlines startswith strip title upper zfill
""".split())
_CLASS_OF_OBJECTS = vars(object)["__class__"]
# sum() has the errors of its steps in mind: with floats, and since 3.14 with complex numbers.
_SUMS_EXACTLY = sys.version_info >= (3, 12)
#: Draws from NumPy's global generator.
_DRAWS = """
beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace
logistic lognormal logseries multinomial negative_binomial noncentral_chisquare noncentral_f normal
pareto permutation poisson power rand randint randn random random_sample rayleigh standard_cauchy
standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald
weibull zipf
""".split()

_handlers: dict[Any, Callable[..., Any]] = {}


def handler(function: Any) -> Any:
    """``handler(interpreter, function, args, kw)`` for a function on a list; None for others."""
    try:
        return _handlers.get(function)
    except TypeError:
        return None


def gives_new(function: Any) -> bool:
    """Whether all that it does is to give a new value, or to draw from NumPy's generator."""
    return handler(function) in (_numpy, _draw)


def name_of(function: Any) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or repr(function)
    return f"{module}.{name}" if module and module != "builtins" else name


def _handles(*functions: Any, named: Collection[str] | None = ()) -> Any:
    """Put functions on the list; of keyword arguments ``handle`` minds those that are ``named``.

    None: all. Whatever another one means in this Python or in a later one, nothing is proved of it.
    """

    def register(handle: Any) -> Any:
        if named is None:
            _handlers.update(dict.fromkeys(functions, handle))
            return handle

        def checked(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
            for name in kw:
                if name not in named:
                    raise NotProvable(f"{name_of(function)} is given {name}=")
            return handle(interp, function, args, kw)

        _handlers.update(dict.fromkeys(functions, checked))
        return handle

    return register


# -- NumPy and numbers


def _list_of(interp: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    """Arguments with outside containers spelled out, so that their items are followed."""

    def opened(v: Any) -> Any:
        if type(v) is Sym and type(v.value) in (list, tuple):
            return type(v.value)([opened(x) for x in interp.iterate(v)])
        if isinstance(v, (list, tuple)) and type(v) in (list, tuple):
            return type(v)([opened(x) for x in v])
        if hasattr(v, "__next__"):
            raise NotProvable("NumPy is given a generator")
        return v

    return [opened(v) for v in args], {k: opened(v) for k, v in kw.items()}


def _numpy(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if isinstance(function, np.ufunc) and type(out := kw.get("out")) is Sym:
        return _into(interp, function, args, {k: v for k, v in kw.items() if k != "out"}, out)
    if any(k in kw and kw[k] is not None for k in ("out", "where", "key")):
        raise NotProvable(f"{name_of(function)} writes into an array")
    if isinstance(function, np.ufunc) and len(args) > function.nin:
        raise NotProvable(f"{name_of(function)} writes into an array")
    if not isinstance(function, np.ufunc):
        _writes_nothing(function, args, kw)
    args, kw = _list_of(interp, args, kw)
    if function is np.array and kw.get("copy", True) is not True:
        raise NotProvable("np.array without a copy")
    return interp.apply(interp.residual.const(function), function, args, kw)


_WRITING = frozenset({"out", "where", "overwrite_input", "mode", "key"})


def _writes_nothing(function: Any, args: list[Any], kw: dict[str, Any]) -> None:
    """Arguments by which a function of NumPy would write into what it is given, or run code.

    Raises:
        NotProvable: There is one, by its name or by its place.
    """
    try:
        parameters = list(inspect.signature(function).parameters)
    except ValueError:  # of a function that C code has made all arguments are values
        parameters = []
    given = {**dict(zip(parameters, args, strict=False)), **kw}
    for name, value in given.items():
        written = name in _WRITING and value is not None and value is not False
        if written and not (name == "mode" and type(value) is str):
            raise NotProvable(f"{name_of(function)} writes into an array")
    if function is np.nan_to_num and given.get("copy", True) is not True:
        raise NotProvable("nan_to_num writes into its argument")


def _numpy_view(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    args, kw = _list_of(interp, args, kw)
    found = interp.apply(interp.residual.const(function), function, args, kw)
    if type(found) is Sym:
        if any(type(v) is Sym and v.value is found.value for v in args):
            # asarray(x) is x, or another array where x is of another kind: that is known here.
            first = next(v for v in args if type(v) is Sym and v.value is found.value)
            interp.residual.guard(f"{found.ref} is not {first.ref}")
            return first
        found.own = False
        arrays = [v for v in args if type(v) is Sym and isinstance(v.value, np.ndarray)]
        if len(arrays) == 1 and type(found.value) is np.ndarray:
            interp.view_of(found, arrays[0])
    return found


def _fact(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    """What depends on kinds and shapes alone."""
    if function is np.shape and type(args[0]) is Sym and not kw:
        if isinstance(args[0].value, (np.ndarray, Variable)):
            return interp.dry.shape(args[0])
    native = []
    for v in args:
        if type(v) is Sym and isinstance(v.value, np.ndarray):
            spec = interp.dry.spec(v)
            native.append(np.broadcast_to(np.zeros((), spec.dtype), spec.shape))
        elif type(v) is Sym and isinstance(v.value, Variable):
            if function not in (np.ndim, np.shape, np.isscalar):
                raise NotProvable(f"{name_of(function)} of a Variable")
            spec = interp.dry.spec(v)
            native.append(np.broadcast_to(np.zeros((), spec.dtype), spec.shape))
        elif type(v) is Sym and function is np.isscalar:
            interp.residual.type_of(v)
            native.append(v.value)
        else:
            native.append(interp.residual.fix(v))
    return function(*native, **interp.residual.fix(kw))


def _draw(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    args, kw = _list_of(interp, args, kw)
    interp.dry.draws(function.__name__)
    parts = [interp.ref(v) for v in args] + [f"{n}={interp.ref(v)}" for n, v in kw.items()]
    value = function(*interp.native(args), **interp.native(kw))
    f = interp.residual.const(function)
    return interp.pure(f"{f}({', '.join(parts)})", lambda: value)


def _into(interp: Any, function: Any, args: list[Any], kw: dict[str, Any], out: Sym) -> Any:
    """``np.multiply(a, b, out=array)``: gives that array."""
    if len(args) != function.nin or function.nout != 1 or "where" in kw:
        raise NotProvable(f"{name_of(function)} writes into an array")
    args, kw = _list_of(interp, args, kw)
    interp._computable(*args)
    interp.dry.changes(out)
    function(*interp.native(args), **interp.native(kw), out=interp.native(out))
    parts = [interp.ref(v) for v in args] + [f"{n}={interp.ref(v)}" for n, v in kw.items()]
    f = interp.residual.const(function)
    interp.residual.line(f"{f}({', '.join(parts)}, out={out.ref})")
    return out


UFUNC_METHODS = frozenset({"at", "reduce", "accumulate", "outer"})


def _ufunc_method(interp: Any, f: np.ufunc, name: str, args: list[Any], kw: dict[str, Any]) -> Any:
    text = f"{interp.residual.const(f)}.{name}"
    if handler(f) is None:
        raise NotProvable(f"{f.__name__} is no function of NumPy's that is known")
    if name != "at":
        if "out" in kw or len(args) > 2 or "where" in kw:
            raise NotProvable(f"{f.__name__}.{name} writes into an array")
        args, kw = _list_of(interp, args, kw)
        return interp.apply(text, getattr(f, name), args, kw)
    target, *rest = args
    if kw or type(target) is not Sym or type(target.value) is not np.ndarray:
        raise NotProvable(f"{f.__name__}.at")
    rest, _ = _list_of(interp, rest, {})
    interp.dry.changes(target)
    f.at(*interp.native([target, *rest]))
    interp.residual.line(f"{text}({', '.join([interp.ref(v) for v in (target, *rest)])})")
    return None


@_handles(np.fill_diagonal, np.copyto, np.put, np.place, np.putmask)
def _fill(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    target = args[0]
    if type(target) is not Sym or type(target.value) is not np.ndarray:
        raise NotProvable(name_of(function))
    interp.dry.changes(target)
    function(*interp.native(args))
    parts = ", ".join([interp.ref(v) for v in args])
    interp.residual.line(f"{interp.residual.const(function)}({parts})")
    return None


@_handles(
    random.random, random.uniform, random.randrange, random.randint, random.gauss,
    random.normalvariate, random.betavariate, random.expovariate, random.getrandbits, named=None,
)  # fmt: skip
def _draw_of_python(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    for v in (*args, *kw.values()):
        interp._computable(v)
    interp.dry.draws_of_python()
    parts = [interp.ref(v) for v in args] + [f"{n}={interp.ref(v)}" for n, v in kw.items()]
    value = function(*interp.native(args), **interp.native(kw))
    return interp.fresh(f"{interp.residual.const(function)}({', '.join(parts)})", value)


@_handles(random.choice, named=("seq",))
def _choice_of_python(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    (values,) = [*args, *kw.values()]
    n = interp.residual.fix(interp.length(values))
    if not n:
        raise NotProvable("random.choice() of nothing")
    place = _draw_of_python(interp, random.randrange, [n], {})
    return interp.getitem(values, place)


def _fill_handlers() -> None:
    for name in _NUMPY:
        if hasattr(np, name):
            _handlers[getattr(np, name)] = _numpy
    for name in _NUMPY_VIEWS:
        _handlers[getattr(np, name)] = _numpy_view
    for name in _NUMPY_FACTS:
        _handlers[getattr(np, name)] = _fact
    for name in _DRAWS:
        _handlers[getattr(np.random, name)] = _draw
    for f in vars(math).values():
        if callable(f):
            _handlers[f] = _plainly
    for name, f in vars(operator).items():
        if callable(f) and not name.startswith("_") and name in _OPERATORS:
            _handlers[f] = _operator


def _plainly(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    """A function of numbers and other plain data."""
    args, kw = _list_of(interp, args, kw)
    for v in args:
        interp._computable(*(v if isinstance(v, (list, tuple)) else (v,)))
    return interp.apply(interp.residual.const(function), function, args, kw)


_OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mult", "truediv": "Div", "floordiv": "FloorDiv",
    "mod": "Mod", "pow": "Pow", "matmul": "MatMult",
}  # fmt: skip


def _operator(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return interp.binary(_OPERATORS[function.__name__], *args)


# -- built-in functions


@_handles(int, float, complex, round, divmod, pow, named=None)
def _number(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if args and not isinstance(args[0], (str, bytes)):
        first = args[0]
        if interp._plain_object(first):
            if interp.class_of(first).__module__.startswith("chainer.") or function is not float:
                raise NotProvable(f"{function.__name__}() of a {interp.class_of(first).__name__}")
            found = interp.special(first, "__float__", [])
            if interp.class_of(found) is not float:
                raise NotProvable("__float__ gives no floating-point number")
            return found
        interp._computable(first)
    return interp.apply(function.__name__, function, args, kw)


@_handles(abs)
def _abs(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    (value,) = args
    if interp._plain_object(value):
        return interp.special(value, "__abs__", [])
    return interp.apply("abs", abs, args, kw)


@_handles(bool)
def _bool(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return interp.truth(args[0]) if args else False


@_handles(str, repr)
def _str(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if len(args) > 1:
        raise NotProvable("str() of bytes")
    return function(*[interp.residual.fix(v) for v in args])


@_handles(len)
def _len(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return interp.length(*args)


@_handles(range, slice)
def _range(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if function is slice:
        return slice(*args)
    return range(*[operator.index(interp.residual.fix(v)) for v in args])


@_handles(enumerate, named=("start",))
def _enumerate(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    start = kw.get("start", args[1] if len(args) > 1 else 0)
    return enumerate(interp.iterate(args[0]), interp.residual.fix(start))


@_handles(zip, named=("strict",))
def _zip(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return _side_by_side(interp, args, kw)


def _side_by_side(interp: Any, args: list[Any], kw: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """What ``zip`` gives."""
    strict = interp.residual.fix(kw.get("strict", False))
    iterators = [interp.iterate(v) for v in args]
    if len({id(i) for i in iterators}) < len(iterators):
        raise NotProvable("one iterator is gone through in several places at once")

    def pairs() -> Any:
        while iterators:
            found = []
            for k, i in enumerate(iterators):
                try:
                    found.append(next(i))
                except StopIteration:
                    if strict and (k or any(next(j, ABSENT) is not ABSENT for j in iterators)):
                        raise NotProvable("arguments of different lengths") from None
                    return
            yield tuple(found)

    return pairs()


#: Another default than the one that says that there is none.
ABSENT = object()


@_handles(warnings.warn, named=("stacklevel",))
def _warn(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    """A warning of the library's own, as from its line or its caller's; the user's may go anywhere.
    """
    frames, r = interp.frames, interp.residual
    level = r.fix(kw.get("stacklevel", 1))
    if (
        not frames[-1].library
        or len(args) != 2
        or type(level) is not int
        or not 0 < level <= len(frames)
        or any([frame.comprehension for frame in frames[-level:]])  # some are calls, some are not
        or frames[-level].spans
    ):
        raise NotProvable("warnings.warn is called")
    text, category = map(r.fix, args)
    frame = frames[-level]
    warning = _Warning(text, category, frame.file, frame.line, frame.real().__globals__)
    r.guard(f"{r.const(warning.is_error)}()")
    interp.dry.warns(warning)
    return None


class _Warning(NamedTuple):
    """What ``warnings.warn`` has been called with, and where."""

    text: str
    category: type[Warning]
    file: str
    line: int
    names: dict[str, Any]

    def is_error(self) -> bool:
        """Whether it is an exception, by the first filter that it matches."""
        for entry in warnings.filters:
            action, text, category, module, line = entry
            if entry is not FILTER and (
                matches(text, self.text)
                and issubclass(self.category, category)
                and matches(module, self.names["__name__"])
                and line in (0, self.line)
            ):
                return action == "error"
        return False

    def warn(self) -> None:
        """What ``warnings.warn`` does there."""
        text, category, file, line, names = self
        registry = names.setdefault("__warningregistry__", {})
        warnings.warn_explicit(text, category, file, line, names["__name__"], registry, names)


@_handles(map, named=("strict",))
def _map(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    f, *rest = args
    return (interp.call(f, list(vs), {}) for vs in _side_by_side(interp, rest, kw))


@_handles(itertools.starmap)
def _starmap(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    f, values = args
    return (interp.call(f, [*interp.iterate(v)], {}) for v in interp.iterate(values))


@_handles(filter)
def _filter(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    f, values = args
    return (
        v for v in interp.iterate(values)
        if interp.truth(v if f is None else interp.call(f, [v], {}))
    )


@_handles(itertools.pairwise)
def _pairwise(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return itertools.pairwise(interp.iterate(args[0]))


@_handles(itertools.accumulate, named=("func", "initial"))
def _accumulate(interp: Any, accumulate: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    values, *function = args
    named = {**kw}
    function = function or [named.pop("func", None)]
    if len(function) > 1:
        raise NotProvable("other arguments of accumulate()")

    def step(a: Any, b: Any) -> Any:
        if function[0] is None:
            return interp.binary("Add", a, b)
        return interp.call(function[0], [a, b], {})

    return itertools.accumulate(interp.iterate(values), step, **named)


@_handles(itertools.islice)
def _islice(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return itertools.islice(interp.iterate(args[0]), *[interp.residual.fix(n) for n in args[1:]])


@_handles(itertools.product, named=("repeat",))
def _product(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return function(*map(interp.iterate, args), repeat=interp.residual.fix(kw.get("repeat", 1)))


@_handles(itertools.combinations, named=("r",))
def _combinations(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    values, r = [*args, *kw.values()]
    return function(interp.iterate(values), interp.residual.fix(r))


@_handles(itertools.chain)
def _chain(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return (v for values in args for v in interp.iterate(values))


@_handles(itertools.repeat, named=("times",))
def _repeat(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    value, *times = [*args, *kw.values()]
    return itertools.repeat(value, *[interp.residual.fix(n) for n in times])


@_handles(functools.reduce, named=("initial",))
def _reduce(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    f, values, *start = [*args, *kw.values()]
    return functools.reduce(
        lambda a, b: interp.call(f, [a, b], {}), interp.iterate(values), *start
    )


@_handles(reversed)
def _reversed(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    values, = args
    if type(values) is Sym and isinstance(values.value, Variable):
        places = range(interp.residual.fix(interp.length(values)))
        return (interp.getitem(values, k) for k in reversed(places))
    if type(values) in (list, tuple, range):
        return reversed(values)
    if type(values) is Sym and type(values.value) in (list, tuple):
        return interp.unchanged(values, [*interp.iterate(values)][::-1])
    raise NotProvable("reversed() of something else than a list")


@_handles(iter)
def _iter(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if len(args) != 1:
        raise NotProvable("iter() of two arguments")
    return iter(interp.iterate(args[0]))


@_handles(next)
def _next(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    it, *default = args
    if type(it) is Sym or not hasattr(it, "__next__"):
        raise NotProvable("next() of an iterator of the outside")
    try:
        return next(it)
    except StopIteration:
        if default:
            return default[0]
        raise NotProvable("an iterator has come to its end") from None


@_handles(list, tuple)
def _sequence(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if not args:
        return function()
    real = args[0].value if type(args[0]) is Sym else args[0]
    if function is tuple and type(real) is tuple:
        return args[0]  # the tuple itself
    return function(interp.iterate(args[0]))


@_handles(set, frozenset)
def _set(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return function([interp.key(v) for v in (interp.iterate(args[0]) if args else ())])


@_handles(dict, OrderedDict, named=None)
def _dict(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    found = function()
    if args:
        first = args[0]
        if isinstance(first, dict) or type(first) is Sym and isinstance(first.value, dict):
            found.update(interp.items_of(first))
        else:
            for pair in interp.iterate(first):
                k, v = interp.iterate(pair)
                found[interp.key(k)] = v
    found.update(kw)
    return found


@_handles(sum, named=("start",))
def _sum(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    total = kw.get("start", args[1] if len(args) > 1 else 0)
    if type(total) in (str, bytes):
        raise NotProvable("sum() of texts")
    for v in interp.iterate(args[0]):
        if _SUMS_EXACTLY and not {float, complex}.isdisjoint(map(interp.class_of, (total, v))):
            raise NotProvable("a sum of Python's floating-point numbers")
        total = interp.binary("Add", total, v)
    return total


@_handles(any, all)
def _any(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return function(interp.truth(v) for v in interp.iterate(args[0]))


@_handles(min, max, named=("key", "default"))
def _extreme(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    key = kw.pop("key", None)
    values, found = list[Any](), list[Any]()  # the key is asked for each as it comes
    for v in interp.iterate(args[0]) if len(args) == 1 else args:
        values.append(v)
        found.append(v if key is None else interp.call(key, [v], {}))
    if not values:
        if "default" in kw:
            return kw["default"]
        raise NotProvable(f"{function.__name__}() of nothing")
    if len(values) == 1:
        return values[0]
    if key is None and not interp.known(values):
        interp._computable(*values)
        return interp.apply(function.__name__, function, values, {})
    keys = [interp.residual.fix(k) for k in found]
    return values[keys.index(function(keys))]


@_handles(sorted, named=("key", "reverse"))
def _sorted(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    key = kw.get("key")
    if type(args[0]) in (set, frozenset):
        if key is not None:
            raise NotProvable("sorted() of a set by a key")
        return sorted(args[0], reverse=interp.residual.fix(kw.get("reverse", False)))
    values = list(interp.iterate(args[0]))
    keys = [interp.residual.fix(v if key is None else interp.call(key, [v], {})) for v in values]
    reverse = interp.residual.fix(kw.get("reverse", False))
    order = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
    return [values[k] for k in order]


@_handles(isinstance, issubclass)
def _isinstance(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    value, cls = args
    kind = interp.class_of(value) if function is isinstance else value
    said = in_class(kind, "__class__") if function is isinstance else _CLASS_OF_OBJECTS
    if said is not _CLASS_OF_OBJECTS:
        raise NotProvable(f"a {kind.__name__} says itself of which class it is")
    classes = [*_classes(interp, cls)]
    return any([_is_below(interp, kind, c) for c in classes])


def _is_below(interp: Any, kind: Any, cls: Any) -> bool:
    """Whether a class is below another one, of which an abstract one may be told at any time."""
    found, r = issubclass(kind, cls), interp.residual
    if kind.__flags__ & IS_MADE and not is_library_class(kind):
        r.guard(f"{r.const(kind)}.__mro__ != {r.const(kind.__mro__)}")
    if type(cls) is not type and cls not in kind.__mro__:
        r.guard(f"{'not ' if found else ''}issubclass({r.const(kind)}, {r.const(cls)})")
    return found


def _classes(interp: Any, cls: Any) -> Any:
    if type(cls) is tuple or type(cls) is Sym and type(cls.value) is tuple:
        for c in interp.iterate(cls):
            yield from _classes(interp, c)
    elif isinstance(cls, type) and type(cls).__module__ in ("builtins", "abc"):
        yield cls
    else:
        raise NotProvable("isinstance() with a class of a kind of its own")


@_handles(super)
def _super(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    """``super(Class, self)``, as all code was written that also ran on Python 2."""
    cls, owner = args
    if not isinstance(cls, type) or cls not in interp.class_of(owner).__mro__:
        raise NotProvable("super() of something else than an object of the class")
    return Super(cls, owner)


@_handles(type)
def _type(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if len(args) != 1:
        raise NotProvable("a class is made")
    return interp.class_of(args[0])


@_handles(callable)
def _callable(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    cls = interp.class_of(args[0])
    found = in_class(cls, "__call__") is not MISSING
    if not found:
        interp.stays_without(cls, "__call__")
    return found


@_handles(getattr)
def _getattr(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    obj, name, *default = args
    return interp.getattr(obj, interp.residual.fix(name), *default)


@_handles(hasattr)
def _hasattr(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    obj, name = args
    return interp.getattr(obj, interp.residual.fix(name), ABSENT) is not ABSENT


@_handles(setattr)
def _setattr(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    obj, name, value = args
    interp.setattr(obj, interp.residual.fix(name), value)


@_handles(object.__setattr__)
def _object_setattr(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    obj, name, value = args
    if not hasattr(obj, "attributes") or interp.has_setter(obj.cls, interp.residual.fix(name)):
        raise NotProvable("object.__setattr__")
    obj.attributes[interp.residual.fix(name)] = value


# -- the library's doors


@_handles(FunctionNode.apply)
def _apply(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    func, inputs = args
    return interp.dry.apply(func, list(interp.iterate(inputs)))


@_handles(chainer_grad, named=None)
def _grad(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    given = dict(zip(inspect.signature(function).parameters, args, strict=False), **kw)
    outputs, inputs = (list(interp.iterate(given.pop(name))) for name in ("outputs", "inputs"))
    grad_outputs = given.pop("grad_outputs", None)
    if grad_outputs is not None:
        grad_outputs = list(interp.iterate(grad_outputs))
    options = interp.residual.fix(given)
    if any(options.get(name) for name in ("grad_inputs", "set_grad", "retain_grad")):
        raise NotProvable("chainer.grad that sets gradients")
    return interp.dry.gradients(outputs, inputs, grad_outputs, options)


@_handles(backend.get_array_module)
def _array_module(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    for v in args:
        if type(v) is Sym and isinstance(v.value, (np.ndarray, Variable)):
            interp.dry.spec(v)
        elif type(v) is Sym:
            interp.residual.type_of(v)
        elif hasattr(v, "attributes"):
            raise NotProvable("get_array_module() of an object")
    return np


@_handles(configuration.using_config, named=("config",))
def _using_config(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    name, value = (interp.residual.fix(v) for v in args[:2])
    config = kw.get("config", args[2] if len(args) > 2 else configuration.config)
    config = config.value if type(config) is Sym else config
    if config is not configuration.config or name == "debug":
        raise NotProvable(f"the configuration {name} is set")
    return Context(name, value)


@_handles(function.no_backprop_mode, function.force_backprop_mode)
def _backprop_mode(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    return Context("enable_backprop", function.__name__ == "force_backprop_mode")


@_handles(reporter.report, named=None)
def _report(interp: Any, function: Any, args: list[Any], kw: dict[str, Any]) -> Any:
    if not reporter._thread_local.reporters:
        return interp.run_function(function, args, kw)  # which finds that nobody listens
    held = interp.residual.const(reporter._thread_local)
    if type(reporter._thread_local.reporters[-1]) is not reporter.Reporter:
        raise NotProvable("a reporter of another class listens")
    known = interp.residual.const(reporter.Reporter)
    interp.residual.guard(f"not {held}.reporters or type({held}.reporters[-1]) is not {known}")
    given = dict(zip(inspect.signature(function).parameters, args, strict=False), **kw)
    values, observer = given["values"], given.get("observer")
    if observer is not None:  # it may not be registered, which is a KeyError
        names = f"{held}.reporters[-1]._observer_names"
        interp.residual.guard(f"id({interp.ref(observer)}) not in {names}")
    interp.dry.effect("report", observer, None, dict(interp.items_of(values)))
    return None


# -- methods of built-in classes


_CONTAINERS = frozenset({list, tuple, dict, OrderedDict, set, frozenset})


def method(interp: Any, owner: Any, name: str, args: list[Any], kw: dict[str, Any]) -> Any:
    """Call a method of a list, a dictionary, an array, a string ..."""
    kind = type(owner)
    cls = interp.class_of(owner)
    if kw and cls in _CONTAINERS and name not in ("sort", "update"):
        raise NotProvable(f"the method {name} of a {cls.__name__} is given names")
    if kind is np.ufunc:
        return _ufunc_method(interp, owner, name, args, kw)
    if kind is Sym:
        value = owner.value
        if type(value) is np.ndarray:
            return _array_method(interp, owner, name, args, kw)
        if isinstance(value, np.generic) or type(value) in PLAIN:
            if name not in NUMBER_METHODS or hasattr(value, "__iter__"):
                raise NotProvable(f"the method {name} of a {type(value).__name__}")
            found = getattr(value, name)(*interp.native(args), **interp.native(kw))
            parts = [interp.ref(v) for v in args] + [f"{n}={interp.ref(v)}" for n, v in kw.items()]
            return interp.pure(f"{owner.ref}.{name}({', '.join(parts)})", lambda: found)
        if name == "__getitem__" and type(value) in (list, tuple, dict):
            return interp.getitem(owner, *args)
        if name == "__getattribute__" and not kw:
            return interp.getattr(owner, *map(interp.residual.fix, args))
        if isinstance(value, dict):
            return _dict_method(interp, owner, name, args, kw)
        if type(value) is list and name in ("append", "extend") and not kw:
            interp.blind.add(id(value))
            item = args[0] if name == "append" else list(interp.iterate(args[0]))
            return interp.dry.effect(name, owner, None, item)
        raise NotProvable(f"the method {name} of a {type(value).__name__} of the outside")
    if name == "__getitem__" and kind in (list, tuple, dict):
        return interp.getitem(owner, *args)
    if kind is list:
        return _list_method(interp, owner, name, args, kw)
    if kind is dict or kind is OrderedDict:
        return _dict_method(interp, owner, name, args, kw)
    if kind is str and name in _STR_METHODS:
        if name == "join":
            args = [[interp.residual.fix(v) for v in interp.iterate(args[0])]]
        fixed = [interp.residual.fix(v) for v in args]
        found = getattr(owner, name)(*fixed, **interp.residual.fix(kw))
        return found
    if kind is set and name in ("add", "discard", "union", "intersection", "difference", "copy"):
        return getattr(owner, name)(*[
            {interp.key(x) for x in interp.iterate(v)} if name not in ("add", "discard")
            else interp.key(v) for v in args
        ])
    if kind is set and name == "update":
        return owner.update(*[{interp.key(x) for x in interp.iterate(v)} for v in args])
    if kind is tuple and name in ("index", "count"):
        return getattr(interp.residual.fix(owner), name)(*[interp.residual.fix(v) for v in args])
    if hasattr(owner, "attributes"):
        if name == "__setattr__":
            key, value = args
            if interp.has_setter(owner.cls, interp.residual.fix(key)):
                raise NotProvable("object.__setattr__ of a property")
            owner.attributes[interp.residual.fix(key)] = value
            return None
        if name == "__init__" and not args and not kw:
            return None
    if isinstance(owner, np.generic) or kind in PLAIN:
        if name in NUMBER_METHODS and not isinstance(owner, (str, bytes)):
            return getattr(owner, name)(*interp.residual.fix(args), **interp.residual.fix(kw))
    raise NotProvable(f"the method {name} of a {interp.class_of(owner).__name__}")


def _array_method(interp: Any, owner: Sym, name: str, args: list[Any], kw: dict[str, Any]) -> Any:
    args, kw = _list_of(interp, args, kw)
    if name in ARRAY_WRITES:
        interp.dry.changes(owner)
    elif "out" in kw or name not in ARRAY_METHODS or len(args) > _BEFORE_OUT.get(name, 99):
        raise NotProvable(f"the method {name} of an array writes into an array")
    array = interp.native(owner)  # a copy of what is changed
    found = getattr(array, name)(*interp.native(args), **interp.native(kw))
    parts = [interp.ref(v) for v in args] + [f"{n}={interp.ref(v)}" for n, v in kw.items()]
    text = f"{interp.ref(owner)}.{name}({', '.join(parts)})"
    if name in ARRAY_WRITES:
        interp.residual.line(text)
        return None
    if found is array:
        raise NotProvable(f"{name} gives the array itself")
    if name in _VIEW_METHODS or name == "astype" and len(args) > 1 or "copy" in kw:
        return interp.view(text, found, owner)
    return interp.pure(text, lambda: found)


def _list_method(interp: Any, owner: Any, name: str, args: list[Any], kw: dict[str, Any]) -> Any:
    fix = interp.residual.fix
    if name == "append":
        owner.append(*args)
    elif name == "extend":
        interp.extend(owner, args[0])
    elif name == "insert":
        owner.insert(fix(args[0]), args[1])
    elif name == "pop":
        if not owner:
            raise NotProvable("pop from an empty list")
        return owner.pop(*[fix(v) for v in args])
    elif name in ("reverse", "copy", "clear"):
        return getattr(owner, name)()
    elif name == "sort":
        held = [*owner]
        owner.clear()  # which the key sees
        owner[:] = _sorted(interp, sorted, [held], kw)
    elif name in ("index", "count"):
        return getattr([fix(v) for v in owner], name)(*[fix(v) for v in args])
    else:
        raise NotProvable(f"the method {name} of a list")
    return None


def _dict_method(interp: Any, owner: Any, name: str, args: list[Any], kw: dict[str, Any]) -> Any:
    outside = type(owner) is Sym
    if name == "get":
        key, default = interp.key(args[0]), args[1] if len(args) > 1 else None
        return interp.getitem(owner, key) if interp.contains(key, owner) else default
    if name in ("keys", "values", "items") and not args:
        return View(owner, name)
    if name == "copy":
        return interp.class_of(owner)(interp.items_of(owner))
    if outside:
        raise NotProvable(f"the method {name} of a dictionary of the outside")
    if name == "update":
        for v in args:
            owner.update(_dict(interp, dict, [v], {}))
        owner.update(kw)
        return None
    if name in ("pop", "setdefault"):
        key = interp.key(args[0])
        if name == "pop" and key not in owner and len(args) < 2:
            raise NotProvable("no such item")
        return getattr(owner, name)(key, *args[1:])
    raise NotProvable(f"the method {name} of a dictionary")


_fill_handlers()
