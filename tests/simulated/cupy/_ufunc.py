"""Ufuncs and functions: NumPy's on the simulated memory, called as CuPy takes it.

What is no arithmetic (exp, tanh, power ...) comes from the C library, item by item, as in the
kernels that the simulator compiles: so a fused kernel has to give the very bits of single calls.
"""
import ctypes
import functools
import inspect

import numpy as np

from . import _capture, _compile, _memory
from ._array import NAMES, check_device, check_dtype, ndarray, operand, to_device, view

#: NumPy's name and that of C.
UNARY = {
    'arccos': 'acos', 'arccosh': 'acosh', 'arcsin': 'asin', 'arcsinh': 'asinh', 'arctan': 'atan',
    'arctanh': 'atanh', 'cbrt': 'cbrt', 'cos': 'cos', 'cosh': 'cosh', 'exp': 'exp',
    'exp2': 'two_to', 'expm1': 'expm1', 'log': 'log', 'log10': 'log10', 'log1p': 'log1p',
    'log2': 'log2',
    'sin': 'sin', 'sinh': 'sinh', 'tan': 'tan', 'tanh': 'tanh',
    # cupyx.scipy.special
    'erf': 'erf', 'erfc': 'erfc', 'gammaln': 'lgamma', 'gamma': 'tgamma',
}
BINARY = {'arctan2': 'atan2', 'fmod': 'fmod', 'hypot': 'hypot', 'power': 'pow',
          'maximum': 'maximum', 'minimum': 'minimum'}
#: As on a GPU: a NaN goes on, and 0 is greater than -0. CuPy's exp2 is a power.
_OWN = """
static {T} two_to{f}({T} x) {{ return pow{f}(2, x); }}
static {T} maximum{f}({T} a, {T} b) {{
  return a != a ? a : b != b ? b : a == b ? (signbit(a) ? b : a) : a > b ? a : b; }}
static {T} minimum{f}({T} a, {T} b) {{
  return a != a ? a : b != b ? b : a == b ? (signbit(a) ? a : b) : a < b ? a : b; }}"""


@functools.cache
def _c_functions():
    lines = ['#include <math.h>']
    for c_type, end in (('float', 'f'), ('double', '')):
        lines.append(_OWN.format(T=c_type, f=end))
        for name in UNARY.values():
            lines.append(
                f'extern "C" void u_{name}{end}(const {c_type}* x, {c_type}* y, long n)'
                f' {{ for (long i = 0; i < n; i++) y[i] = {name}{end}(x[i]); }}')
        for name in BINARY.values():
            lines.append(
                f'extern "C" void b_{name}{end}(const {c_type}* a, const {c_type}* b, {c_type}* y,'
                f' long n) {{ for (long i = 0; i < n; i++) y[i] = {name}{end}(a[i], b[i]); }}')
    return _compile.library('\n'.join(lines))


def _by_c(name, dtype, arrays):
    """A function of the C library on arrays of one shape; half precision is computed in single."""
    work = np.dtype(np.float32) if dtype.char == 'e' else dtype
    end = 'f' if work.char == 'f' else ''
    c_name = f'u_{UNARY[name]}' if len(arrays) == 1 else f'b_{BINARY[name]}'
    like = np.empty_like(np.broadcast_arrays(*arrays)[0] if len(arrays) > 1 else arrays[0])
    dense = [np.ascontiguousarray(np.broadcast_to(a, like.shape), work) for a in arrays]
    out = np.empty(like.shape, work)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*dense, out)]
    getattr(_c_functions(), c_name + end)(*pointers, ctypes.c_long(out.size))
    result = np.empty_like(like, dtype)  # of the layout that NumPy would give
    result[...] = out
    return result


class Settings:
    shuffled = False  # whether ``at`` takes elements in any order, as atomic operations do


settings = Settings()


class ufunc:
    """A ufunc: on arrays of the device and scalars, with the settings that CuPy's take."""

    _settings = {'out', 'dtype', 'casting', 'where'}

    def __init__(self, name, numpy_ufunc):
        self.name, self._ufunc = 'cupy_' + name, numpy_ufunc
        self.__name__ = name
        self.nin, self.nout = numpy_ufunc.nin, numpy_ufunc.nout
        self.nargs = self.nin + self.nout
        self.types = numpy_ufunc.types

    def __repr__(self):
        return f'<ufunc {self.name!r}>'

    @_capture.device_work
    def __call__(self, *args, **kwargs):
        if set(kwargs) - self._settings:
            raise TypeError(f'Wrong arguments {set(kwargs) - self._settings}')
        if len(args) > self.nin:
            if len(args) > self.nargs or kwargs.get('out') is not None:
                raise TypeError(f'Wrong number of arguments for {self.name!r}')
            kwargs['out'] = args[self.nin:] if self.nout > 1 else args[self.nin]
            args = args[:self.nin]
        for x in args:
            if isinstance(x, (list, tuple)):
                raise TypeError(f'Unsupported type {type(x)}')
        out = kwargs.pop('out', None)
        if isinstance(out, tuple) and self.nout == 1:
            (out,) = out
        if kwargs.get('dtype') is None:
            kwargs.pop('dtype', None)
        if 'where' in kwargs:
            kwargs['where'] = operand(kwargs['where'])
        plain = [operand(x) for x in args]
        with np.errstate(all='ignore'):
            results = self._compute(plain, kwargs)
        if self.nout > 1:
            return tuple(map(to_device, results))
        if out is None:
            return to_device(results)
        if not isinstance(out, ndarray):
            raise TypeError('Output arguments type must be cupy.ndarray')
        check_device(out)
        if out.shape != np.shape(results):
            raise ValueError('Out shape is mismatched')
        np.copyto(out._a, results, casting=kwargs.get('casting', 'same_kind'),
                  where=kwargs.get('where', True))
        return out

    def _compute(self, args, kwargs):
        if not set(kwargs) - {'dtype'} and (self.__name__ in UNARY or self.__name__ in BINARY):
            weak = [type(x) if type(x) in (bool, int, float, complex) else np.asarray(x).dtype
                    for x in args]
            given = {'signature': (None,) * self.nin + (np.dtype(kwargs['dtype']),),
                     'casting': 'unsafe'} if kwargs else {}
            loop = self._ufunc.resolve_dtypes((*weak, None), **given)
            if loop[-1].char in 'efd' and len(set(loop)) == 1 and _compile.compiler():
                return _by_c(self.__name__, loop[-1], [np.asarray(x, loop[-1]) for x in args])
        return self._ufunc(*args, **kwargs)

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        """CuPy has these two only."""
        name = {'cupy_add': 'sum', 'cupy_multiply': 'prod'}.get(self.name)
        if name is None:
            raise NotImplementedError(f'`{self.name}.reduce` is not supported yet')
        return getattr(array, name)(axis, dtype, out, keepdims)

    @_capture.device_work
    def at(self, a, indices, b=None):
        if self.name not in ('cupy_add', 'cupy_maximum', 'cupy_minimum', 'cupy_subtract'):
            raise NotImplementedError(f'`{self.name}.at` is not supported yet')
        from ._array import unwrapped_index

        indices, b = unwrapped_index(indices), operand(b)
        if settings.shuffled and isinstance(indices, np.ndarray) and np.shape(b) == indices.shape:
            order = np.random.default_rng().permutation(len(indices))
            indices, b = indices[order], b[order]
        self._ufunc.at(operand(a), indices, b)

    def outer(self, a, b, **kwargs):
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)

    @_capture.device_work
    def accumulate(self, array, axis=0, dtype=None, out=None):
        return to_device(self._ufunc.accumulate(operand(array), axis, dtype))


# -- functions -----------------------------------------------------------------------------------

#: These answer on the host, or take arrays of the host.
ON_HOST = {'can_cast', 'result_type', 'promote_types', 'min_scalar_type', 'shape', 'ndim', 'size',
           'iscomplexobj', 'isrealobj', 'isscalar', 'may_share_memory', 'shares_memory',
           'broadcast_shapes', 'typename', 'common_type', 'get_include', 'binary_repr', 'base_repr',
           'format_float_positional', 'iterable'}
#: CuPy takes places where to cut from arrays of NumPy, too.
PLACES_ON_HOST = {'split', 'array_split'}
FROM_HOST = {'array', 'asarray', 'asanyarray', 'ascontiguousarray', 'asfortranarray'}
#: Whose order of memory is not handed on: the arguments of NumPy that CuPy does not have.
_MISSING = object()


def _unwrap(x, found):
    if isinstance(x, ndarray):
        found.append(x)
        return operand(x)
    if isinstance(x, (list, tuple)):
        return type(x)(_unwrap(item, found) for item in x)
    if isinstance(x, np.ndarray):
        raise TypeError(f'Unsupported type {type(x)}')
    return x


def wrap(result, bases):
    if isinstance(result, (tuple, list)):
        items = [wrap(item, bases) for item in result]
        return items if type(result) is list else tuple(items)
    if isinstance(result, np.ndarray):
        for base in bases:
            if result is base._a:
                return base
        for base in bases:
            if result.size and np.may_share_memory(result, base.data.mem.buffer):
                return view(base, result)
        return to_device(result)
    return to_device(result) if isinstance(result, (np.generic, bool, int, float)) else result


#: What CuPy has cuBLAS compute.
BY_CUBLAS = {'dot', 'matmul', 'tensordot', 'inner', 'vdot', 'einsum'}
#: For some of these CuPy makes a table of the arrays on the host, and copies it to the device.
JOINED = {'concatenate', 'stack', 'hstack', 'vstack', 'dstack', 'column_stack'}


def _are_vectors(args):
    """Products of two vectors are a kernel of CuPy's own."""
    return [getattr(x, 'ndim', None) for x in args[:2]] == [1, 1]


@_capture.device_work
def run(function, args, kwargs):
    """A function of NumPy on arrays of the device."""
    found = []
    args = [_unwrap(x, found) for x in args]
    kwargs = {key: _unwrap(x, found) for key, x in kwargs.items()}
    for key in ('dtype',):
        if kwargs.get(key) is not None:
            check_dtype(kwargs[key])
    with np.errstate(all='ignore'):
        return wrap(function(*args, **kwargs), found)


def function(name, signature, target):
    """A function of CuPy with CuPy's signature, computed by NumPy's."""
    signature = _parsed(signature)

    def call(*args, **kwargs):
        if signature is not None:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f'{name}() {error}') from None
        if (name in BY_CUBLAS and not _are_vectors(args)
                or target.__module__ == 'numpy.linalg'):
            _capture.refuse_library('cuBLAS')
        if name in JOINED:
            _capture.refuse_in_stream()
        if name in PLACES_ON_HOST and len(args) > 1 and isinstance(args[1], np.ndarray):
            args = (args[0], args[1].tolist(), *args[2:])
        if name in ON_HOST:
            plain = [x._a if isinstance(x, ndarray) else x for x in args]
            return target(*plain, **kwargs)
        return run(target, args, kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = 'cupy'
    return call


class _Anything:
    """Stands for a default or annotation of CuPy's that is no literal."""

    def __getattr__(self, name):
        return self


@functools.cache
def _parsed(text):
    if text in (None, '?'):
        return None
    space = {}
    names = {name: _Anything() for name in ('numpy', 'cupy', 'object', 'ndarray')}
    try:
        exec(f'def f{text}: pass', names, space)
    except Exception:
        return None
    return inspect.signature(space['f'])


def array(obj, dtype=None, copy=True, order='K', subok=False, ndmin=0, *, blocking=False):
    """``cupy.array``: a copy on the current device; lists may hold arrays of the device."""
    dtype = None if dtype is None else check_dtype(dtype)
    if isinstance(obj, ndarray):
        same = dtype in (None, obj.dtype) and obj.ndim >= ndmin
        fits = order in ('K', 'A', None) or obj.flags[f'{order}_CONTIGUOUS']
        if not copy and same and fits:
            if obj.data.device_id == _memory._current.device:
                return obj
        return _copied(obj, dtype, order, ndmin)
    if isinstance(obj, (list, tuple)):
        found = []
        obj = _unwrap_list(obj, found)
    host = np.array(obj, dtype, order='C' if order is None else order, ndmin=ndmin)
    check_dtype(host.dtype)
    _capture.refuse_in_stream()
    _memory.events.append(('to device', host.nbytes))
    return to_device(host)


@_capture.device_work
def _copied(x, dtype, order, ndmin):
    away = x.data.device_id != _memory._current.device
    return to_device(np.array(x._a if away else operand(x), dtype, order=order, ndmin=ndmin))


def _unwrap_list(x, found):
    if isinstance(x, (list, tuple)):
        return [_unwrap_list(item, found) for item in x]
    return operand(x) if isinstance(x, ndarray) else x


def asarray(a, dtype=None, order=None, *, blocking=False):
    return array(a, dtype, False, 'K' if order is None else order)


def ascontiguousarray(a, dtype=None):
    return array(a, dtype, False, 'C', ndmin=1)


def asfortranarray(a, dtype=None):
    return array(a, dtype, False, 'F')


def _method(name):
    def call(self, *args, **kwargs):
        if name == 'dot' and not _are_vectors((self, *args)):
            _capture.refuse_library('cuBLAS')
        return run(lambda x, *a, **k: getattr(x, name)(*a, **k), (self, *args), kwargs)

    call.__name__ = name
    return call


def _operator(name, symbol, reflected):
    def call(self, other):
        if not _computes(other):
            return NotImplemented
        mine = UFUNCS[name]
        return mine(other, self) if reflected else mine(self, other)

    call.__name__ = symbol
    return call


def _in_place(name, symbol):
    def call(self, other):
        UFUNCS[name](self, other, self)
        return self

    call.__name__ = symbol
    return call


def _computes(x):
    return isinstance(x, (ndarray, np.ndarray, bool, int, float, complex, np.generic))


UFUNCS = {name: ufunc(name, getattr(np, name)) for name, text in NAMES['cupy'].items()
          if text.startswith('ufunc') and isinstance(getattr(np, name, None), np.ufunc)}

_BINARY_OPERATORS = {
    'add': 'add', 'sub': 'subtract', 'mul': 'multiply', 'truediv': 'true_divide',
    'floordiv': 'floor_divide', 'mod': 'remainder', 'pow': 'power', 'and': 'bitwise_and',
    'or': 'bitwise_or', 'xor': 'bitwise_xor', 'lshift': 'left_shift', 'rshift': 'right_shift'}
_COMPARISONS = {'lt': 'less', 'le': 'less_equal', 'gt': 'greater', 'ge': 'greater_equal',
                'eq': 'equal', 'ne': 'not_equal'}
for _symbol, _name in _BINARY_OPERATORS.items():
    setattr(ndarray, f'__{_symbol}__', _operator(_name, f'__{_symbol}__', False))
    setattr(ndarray, f'__r{_symbol}__', _operator(_name, f'__r{_symbol}__', True))
    setattr(ndarray, f'__i{_symbol}__', _in_place(_name, f'__i{_symbol}__'))
for _symbol, _name in _COMPARISONS.items():
    setattr(ndarray, f'__{_symbol}__', _operator(_name, f'__{_symbol}__', False))
ndarray.__neg__ = lambda self: UFUNCS['negative'](self)
ndarray.__pos__ = lambda self: UFUNCS['positive'](self)
ndarray.__abs__ = lambda self: UFUNCS['absolute'](self)
ndarray.__invert__ = lambda self: UFUNCS['invert'](self)


def _matmul(self, other):
    _capture.refuse_library('cuBLAS')
    return run(np.matmul, (self, other), {}) if _computes(other) else NotImplemented


ndarray.__matmul__ = _matmul
ndarray.__rmatmul__ = lambda self, other: run(np.matmul, (other, self), {})
for _name, _kind in NAMES['ndarray'].items():
    if _kind == 'method' and not hasattr(ndarray, _name) and hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _method(_name))
