"""Kernels of the user's own: their CUDA text runs on the CPU, in three orders of threads."""
import bisect
import ctypes
import json
import os
import re

import numpy as np

from . import _capture, _compile, _memory
from ._array import check_device, check_dtype, ndarray, operand, to_device

ORDERS = (0, 1, 5)  # forward, backward, mixed up


class CompileException(Exception):
    """CuPy's: the message of the compiler, and the text."""

    def __init__(self, msg, source, name, options, backend='nvrtc'):
        super().__init__(msg)
        self._msg, self.source, self.name, self.options = msg, source, name, options

    def __str__(self):
        return self._msg

    def dump(self, f):
        f.write(self.source)


def no_compiler():
    """Why kernels cannot run here; None where they can."""
    if _compile.compiler() is None:
        return 'kernels run on the CPU through a C++ compiler for x86-64, and there is none'
    return None


_ENTRY = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)')


def _write_down(code, options):
    """Give the text of a module to whoever collects all (``benchmarks/check_cuda.py``)."""
    path = os.environ.get('CUDASIM_LOG')
    if path:
        test = os.environ.get('PYTEST_CURRENT_TEST', '? ').rpartition(' ')[0]
        place, colons, name = test.partition('::')
        test = os.path.basename(place) + colons + name
        with open(path, 'a') as file:
            file.write(json.dumps({'code': code, 'options': options, 'test': test}) + '\n')


class RawModule:
    """A module of kernels by their names."""

    def __init__(self, *, code=None, path=None, options=(), backend='nvrtc',
                 translate_cucomplex=False, enable_cooperative_groups=False,
                 name_expressions=None, jitify=False):
        if code is None:
            raise ValueError('the simulated device needs the text of a module')
        self.code, self.options, self.backend = code, tuple(options), backend
        self._library = None
        if not code.startswith(_PREAMBLE):  # what stands around the user's text is CuPy's
            _write_down(code, self.options)

    def compile(self, log_stream=None):
        if self._library is None:
            names = _ENTRY.findall(self.code)
            exports = '\n'.join(f'SIM_EXPORT({name})' for name in names)
            text = f'#include "cudasim.h"\n#line 1 "module.cu"\n{self.code}\n{exports}\n'
            try:
                self._library = _compile.library(text)
            except _compile.CompileError as error:
                raise CompileException(str(error), self.code, 'module.cu', self.options) from None

    def get_function(self, name):
        self.compile()
        return Function(self._library, name, self.code)


class Function:
    """One kernel: ``function(grid, block, args)``."""

    def __init__(self, library, name, code):
        self.name = name
        try:
            self._launch = getattr(library, f'sim_launch_{name}')
        except AttributeError:
            raise _memory.CUDARuntimeError(
                'CUDA_ERROR_NOT_FOUND', 'named symbol not found') from None
        self._launch.restype = ctypes.c_char_p
        self._plain = not re.search(r'__sync|_sync\s*\(|__shared__', code)

    @_capture.device_work
    def __call__(self, grid, block, args, *, shared_mem=0, stream=None):
        size = (*grid, *(1,) * (3 - len(grid)), *block, *(1,) * (3 - len(block)))
        size = tuple(map(int, size))
        fits = np.prod(size[3:]) <= 1024 and size[0] < 1 << 31 and max(size[1:3]) < 65536
        if not fits or min(size) < 1:
            raise _memory.CUDARuntimeError('CUDA_ERROR_INVALID_VALUE', f'invalid argument {size}')
        stream = _memory.get_current_stream() if stream is None else stream
        _memory.events.append(('launch', self.name, stream.ptr))
        blocks = {}
        values = [_argument(x, blocks) for x in args]
        for x in args:
            if isinstance(x, ndarray) and x.dtype == np.int64:
                _follow_addresses(x, blocks)
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        before = [m.buffer.copy() for m in blocks.values()] if blocks else []
        results = []
        for order in ORDERS:
            for memory, old in zip(blocks.values(), before, strict=True):
                memory.buffer[...] = old
            self._run(size, pointers, order)
            for memory in blocks.values():
                if not memory.is_whole():
                    raise IndexError(f'kernel {self.name} writes out of bounds')
            results.append([m.buffer.copy() for m in blocks.values()])
        for k, others in enumerate(results[1:]):
            if not all(map(np.array_equal, results[0], others)):
                raise RuntimeError(
                    f'kernel {self.name}: results depend on the order of threads ({ORDERS[k + 1]})')

    def _run(self, size, pointers, order):
        raw = (ctypes.c_uint * 6)(*size)
        failure = self._launch(raw, pointers, order, int(self._plain))
        if failure:
            raise RuntimeError(f'kernel {self.name}: {failure.decode()}')


def _follow_addresses(table, blocks):
    """Take what integers of 64 bits point to for arguments, too: tables of addresses."""
    places = {m.ptr: m for m in list(_memory.Memory.live) if m.size}
    starts = sorted(places)
    for address in table._a.reshape(-1).tolist():
        k = bisect.bisect_right(starts, address) - 1
        if k >= 0 and address < starts[k] + places[starts[k]].size:
            blocks[id(places[starts[k]])] = places[starts[k]]


def _argument(x, blocks):
    if isinstance(x, ndarray):
        check_device(x)
        if x.data.mem.size:
            blocks[id(x.data.mem)] = x.data.mem
        return ctypes.c_void_p(x.data.ptr)
    if isinstance(x, bool):
        return ctypes.c_bool(x)
    if isinstance(x, int):
        return ctypes.c_longlong(x)
    if isinstance(x, float):
        return ctypes.c_double(x)
    if isinstance(x, np.generic):
        raw = x.tobytes()
        return (ctypes.c_char * len(raw)).from_buffer_copy(raw)
    raise TypeError(f'Unsupported type {type(x)}')


class RawKernel:
    """One kernel of a text."""

    def __init__(self, code, name, options=(), backend='nvrtc', *, translate_cucomplex=False,
                 enable_cooperative_groups=False, jitify=False):
        self.code, self.name, self.options = code, name, tuple(options)
        self._module = RawModule(code=code, options=options)

    def compile(self, log_stream=None):
        self._module.compile()

    @property
    def kernel(self):
        return self._module.get_function(self.name)

    def __call__(self, grid, block, args, **kwargs):
        self.kernel(grid, block, args, **kwargs)


# -- kernels by the text of one item -------------------------------------------------------------

C_TYPES = {'?': 'bool', 'b': 'signed char', 'B': 'unsigned char', 'h': 'short',
           'H': 'unsigned short', 'i': 'int', 'I': 'unsigned int', 'l': 'long long',
           'L': 'unsigned long long', 'q': 'long long', 'Q': 'unsigned long long',
           'e': 'float16', 'f': 'float', 'd': 'double'}
_PREAMBLE = '''
struct float16 {
  _Float16 v;
  float16() {}
  float16(float x) : v((_Float16)x) {}
  operator float() const { return (float)v; }
};
template <class T> struct CArray {  // one item after the other
  T *data; long long n; const long long *shape_;
  T &operator[](long long i) const { return data[i]; }
  long long size() const { return n; }
  const long long *shape() const { return shape_; }
};
struct CIndexer {  // how many items there are
  long long n;
  long long size() const { return n; }
};
'''


class _Param:
    def __init__(self, text):
        words = text.split()
        self.raw = 'raw' in words
        self.type, self.name = [w for w in words if w not in ('raw', 'const')]


def _params(text):
    return [_Param(item) for item in text.split(',') if item.strip()]


def _dtype_of(name):
    return None if len(name) == 1 else np.dtype(name)


class _Types:
    """The types of parameters; letters stand for those of the arguments."""

    def __init__(self, ins, args):
        self.known = {}
        for param, x in zip(ins, args, strict=False):
            fixed = _dtype_of(param.type)
            if fixed is not None:
                continue
            if isinstance(x, (ndarray, np.generic)):
                dtype = x.dtype
                if self.known.setdefault(param.type, dtype) != dtype:
                    raise TypeError(
                        f'Type is mismatched. {param.name} {dtype} {self.known[param.type]}')
        for param, x in zip(ins, args, strict=False):
            if len(param.type) == 1 and param.type not in self.known:
                self.known[param.type] = np.asarray(x).dtype

    def __getitem__(self, name):
        fixed = _dtype_of(name)
        return self.known[name] if fixed is None else fixed

    def lines(self):
        return [f'typedef {C_TYPES[dtype.char]} {name};' for name, dtype in self.known.items()]


class ElementwiseKernel:
    """``kernel(*inputs, *outputs, size=None)``; inputs are broadcast."""

    def __init__(self, in_params, out_params, operation, name='kernel', reduce_dims=True,
                 preamble='', no_return=False, return_tuple=False, *, loop_prep='',
                 after_loop='', **kwargs):
        self.ins, self.outs = _params(in_params), _params(out_params)
        self.operation, self.name, self.preamble = operation, name, preamble
        self.loop_prep, self.after_loop = loop_prep, after_loop
        self.no_return, self.return_tuple = no_return, return_tuple
        self.nin, self.nout = len(self.ins), len(self.outs)

    @_capture.device_work
    def __call__(self, *args, size=None, block_size=128, stream=None):
        n = len(self.ins)
        if len(args) not in (n, n + len(self.outs)):
            raise TypeError(f'Wrong number of arguments for {self.name!r}. '
                            f'It must be either {n} or {n + len(self.outs)} (with outputs), '
                            f'but given {len(args)}.')
        for x in args:
            operand(x)  # refuses arrays of NumPy and of other devices
        types = _Types([*self.ins, *self.outs], args)
        shapes = [np.shape(operand(x)) for p, x in zip(self.ins, args, strict=False) if not p.raw]
        if shapes and any(shapes) or size is None:
            if size is not None and any(shapes):
                raise ValueError(
                    "Specified 'size' can be used only if all of the ndarray are 'raw'.")
            shape = np.broadcast_shapes(*shapes, *(x.shape for p, x in zip(
                self.outs, args[n:], strict=False) if not p.raw))
        else:
            shape = (size,)
        outs = list(args[n:]) or [
            to_device(np.empty(shape, types[p.type])) for p in self.outs]
        self._launch(types, shape, args[:n], outs)
        if self.no_return:
            return None
        return outs[0] if len(outs) == 1 and not self.return_tuple else tuple(outs)

    def _launch(self, types, shape, ins, outs):
        signature, before, arrays, after = [], [], [], []
        pairs = [*zip(self.ins, ins, strict=True), *zip(self.outs, outs, strict=True)]
        for param, x in pairs:
            dtype = types[param.type]
            c_type = C_TYPES[dtype.char]
            is_out = param in self.outs
            if not isinstance(x, ndarray):
                x = to_device(np.asarray(x, dtype))
            plain = x._a if param.raw else np.broadcast_to(x._a, shape)
            dense = to_device(np.ascontiguousarray(plain))
            if is_out or param.raw:
                after.append((x, dense))
            arrays.append(dense)
            signature.append(f'{c_type}* _{param.name}, long long _n_{param.name}')
            if param.raw:
                sizes = ', '.join(map(str, (*x.shape, 0)))
                before.append(
                    f'const long long _shape_{param.name}[] = {{{sizes}}}; CArray<{c_type}> '
                    f'{param.name}{{_{param.name}, _n_{param.name}, _shape_{param.name}}};')
            else:
                before.append(f'{c_type}{"&" if is_out else ""} {param.name} = _{param.name}[i];')
        code = '\n'.join([
            _PREAMBLE, *types.lines(), self.preamble,
            f'extern "C" __global__ void {self.name}({", ".join(signature)}, long long n) {{',
            'const CIndexer _ind{n};', self.loop_prep,
            'for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;'
            ' i += (long long)blockDim.x * gridDim.x) {', *before, self.operation, ';', '}',
            self.after_loop, '}'])
        size = int(np.prod(shape, dtype=np.int64))
        if not size:
            return
        arguments = [item for a in arrays for item in (a, a.size)]
        RawKernel(code, self.name)((-(-size // 128),), (128,), (*arguments, size))
        for x, dense in after:
            x._a[...] = dense._a.reshape(x.shape)


class ReductionKernel:
    """Map, reduce, map: one thread goes through the items of one result."""

    def __init__(self, in_params, out_params, map_expr, reduce_expr, post_map_expr, identity,
                 name='reduce_kernel', reduce_type=None, reduce_dims=True, preamble='', options=()):
        self.ins, self.outs = _params(in_params), _params(out_params)
        self.map_expr, self.reduce_expr, self.post = map_expr, reduce_expr, post_map_expr
        self.identity, self.name, self.preamble = identity, name, preamble
        self.reduce_type = reduce_type

    @_capture.device_work
    def __call__(self, *args, out=None, axis=None, keepdims=False, stream=None):
        ins = args[:len(self.ins)]
        types = _Types(self.ins, ins)
        if out is None and len(args) > len(ins):
            out = args[len(ins)]
        (result,) = self.outs
        if len(result.type) == 1 and result.type not in types.known:
            raise TypeError(f'Type of {result.name} is not known')
        shape = np.broadcast_shapes(*(np.shape(operand(x)) for x in ins))
        axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(a % len(shape) for a in axes)
        kept = tuple(a for a in range(len(shape)) if a not in axes)
        inner = int(np.prod([shape[a] for a in axes], dtype=np.int64))
        dense = [to_device(np.ascontiguousarray(np.broadcast_to(operand(x), shape).transpose(
            kept + axes).reshape(-1, inner))) for x in ins]
        dtype = types[result.type]
        c_type = C_TYPES[dtype.char]
        work = C_TYPES[check_dtype(types[self.reduce_type]).char] if self.reduce_type else c_type
        loads = [f'{C_TYPES[d.dtype.char]} {p.name} = _{p.name}[_o * _inner + _k];'
                 for p, d in zip(self.ins, dense, strict=True)]
        signature = [f'{C_TYPES[d.dtype.char]}* _{p.name}'
                     for p, d in zip(self.ins, dense, strict=True)]
        start = self.identity if self.identity not in (None, '') else '0'
        code = '\n'.join([
            _PREAMBLE, *types.lines(), self.preamble,
            f'extern "C" __global__ void {self.name}({", ".join(signature)}, {c_type}* _out,'
            ' long long _inner, long long _n) {',
            'for (long long _o = blockIdx.x * (long long)blockDim.x + threadIdx.x; _o < _n;'
            ' _o += (long long)blockDim.x * gridDim.x) {',
            f'long long _i = 0, _in_ind = 0; {work} a = {start};',
            'for (long long _k = 0; _k < _inner; _k++) {', *loads,
            f'{work} b = ({work})({self.map_expr}); a = ({work})({self.reduce_expr}); }}',
            f'{c_type}& {result.name} = _out[_o]; {self.post}; }} }}'])
        outer = tuple(1 if a in axes else n for a, n in enumerate(shape)) if keepdims else tuple(
            shape[a] for a in kept)
        made = to_device(np.empty(outer, dtype))
        if made.size:
            RawKernel(code, self.name)(
                (-(-made.size // 128),), (128,), (*dense, made, inner, made.size))
        if out is None:
            return made
        out._a[...] = made._a
        return out
