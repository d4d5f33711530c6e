"""Products of matrices through a cuBLAS handle of one's own, for captures.

CuPy refuses cuBLAS while a stream is captured, whatever the handle, so that cuBLAS itself is
called. Which of its functions, settings and algorithms give the bits of CuPy's product cannot be
known from outside of CuPy: for each form of a product (shapes, layouts, alignments) the ways are
tried on random numbers, and the first one that gives CuPy's bits is taken. CuPy copies some
matrices before, so that copying belongs to the ways. Where none gives the bits, or there is no
cuBLAS to be found, the program that has the product stays calls of CuPy.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple

import numpy as np

from chainwright.ir.layout import extent

_ALIGNMENT = 256
_WORKSPACE = 32 << 20  # bytes: what cuBLAS itself takes on the newest devices
_HANDLES = 8
_N, _T = 0, 1
_DEFAULT_ALGORITHM = -1
_COMPARED = 256  # numbers, at least: a few may agree though they are sums in other orders
_TYPES = {"e": 2, "f": 0, "d": 1}  # of cudaDataType
#: For each dtype what is tried: a function, and for gemmEx how it computes.
_SINGLE, _TENSOR, _DOUBLE = 68, 77, 70  # of cublasComputeType
_FUNCTIONS: dict[str, tuple[tuple[str, int], ...]] = {
    "e": (("gemm_ex", _SINGLE),),
    "f": (("gemm_ex", _SINGLE), ("gemm", 0), ("gemm_ex", _TENSOR)),
    "d": (("gemm_ex", _DOUBLE), ("gemm", 0)),
}


class Refused(Exception):
    """A product cannot be computed by this handle as CuPy computes it; the text says why."""


def library(version: int) -> Any:
    """cuBLAS, which CuPy has loaded; ``version`` is that of CUDA.

    Raises:
        OSError: It is not found.
    """
    name = f"cublas64_{version}.dll" if os.name == "nt" else f"libcublas.so.{version}"
    return ctypes.CDLL(name)


class _Way(NamedTuple):
    """How a product is computed."""

    function: str
    compute: int
    copied: str  # what is copied first: "gaps" or "columns" (with gaps, too); or nothing
    order: str = "C"  # of the copies


class _Gemm(NamedTuple):
    """A row-major product as cuBLAS, which thinks in columns, is told of it."""

    transposed: tuple[int, int]
    sizes: tuple[int, int, int]
    leading: tuple[int, int, int]
    steps: tuple[int, int, int]  # from one matrix of a stack to the next
    count: int


def _matrix(x: Any) -> tuple[int, int] | None:
    """Whether a matrix lies by rows (0) or by columns (1), and the items between these."""
    rows, columns = x.shape[-2:]
    size = x.dtype.itemsize
    down, along = (s // size for s in x.strides[-2:])
    if any(s % size for s in x.strides):
        return None
    if rows == 1 and down < columns:  # between rows that are not there
        down = columns if along == 1 or columns == 1 else 1
    if columns == 1 and along < rows:
        along = 1
    if along == 1 and down >= columns:
        return 0, down
    if down == 1 and along >= rows:
        return 1, along
    return None


def gemm_of(a: Any, b: Any, out: Any) -> _Gemm:
    """What cuBLAS is to be asked for.

    Raises:
        Refused: It is no product of matrices, or of stacks of them, that lie as cuBLAS takes them.
    """
    if a.ndim != b.ndim or a.ndim not in (2, 3) or not a.dtype == b.dtype == out.dtype:
        raise Refused("a product is none of matrices of one kind")
    if a.dtype.char not in _FUNCTIONS or not out.size or not a.size:
        raise Refused("cuBLAS has no such product")
    forms = [_matrix(x) for x in (a, b, out)]
    count = a.shape[0] if a.ndim == 3 else 1
    if None in forms or forms[2][0] or a.ndim == 3 and not a.shape[0] == b.shape[0]:  # type: ignore[index]
        raise Refused("the matrices of a product lie as cuBLAS does not take them")
    (fa, la), (fb, lb), (_, lo) = forms  # type: ignore[misc]
    sb, sa, so = [x.strides[0] // x.dtype.itemsize if x.ndim == 3 else 0 for x in (b, a, out)]
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    transposed = _T if fb else _N, _T if fa else _N
    return _Gemm(transposed, (n, m, k), (lb, la, lo), (sb, sa, so), count)


def parts_of(cupy: Any, a: Any, b: Any, out: Any) -> list[tuple[Any, Any, Any]]:
    """A product as products of matrices, or of stacks with one axis; all of them views.

    >>> import numpy as np
    >>> a, b, out = np.ones((2, 3)), np.ones((4, 1, 3, 5)), np.ones((4, 1, 2, 5))
    >>> [[x.shape for x in part] for part in parts_of(np, a, b, out)]
    [[(4, 2, 3), (4, 3, 5), (4, 2, 5)]]
    """
    if a.ndim == 1:
        a, out = a[None], out[..., None, :] if b.ndim > 1 else out[None]
    if b.ndim == 1:
        b, out = b[:, None], out[..., None]
    leading = out.shape[:-2]
    if a.ndim == b.ndim == out.ndim and out.ndim <= 3 and a.shape[:-2] == b.shape[:-2]:
        return [(a, b, out)]
    index = tuple([slice(None) if n > 1 else 0 for n in leading])
    a, b = (cupy.broadcast_to(x, leading + x.shape[-2:])[index] for x in (a, b))
    out = out[index]
    if out.ndim <= 3:
        return [(a, b, out)]
    return [part for k in range(len(out)) for part in parts_of(cupy, a[k], b[k], out[k])]


class Blas:
    """A handle with a workspace, for one stream at a time."""

    _known: dict[Any, Blas] = {}

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        try:
            self._lib = library(cupy.cuda.runtime.runtimeGetVersion() // 1000)
        except OSError as error:
            raise Refused(f"there is no cuBLAS to be found ({error})") from None
        self._handle = ctypes.c_void_p()
        self._done(self._lib.cublasCreate_v2(ctypes.byref(self._handle)))
        self._workspace = cupy.cuda.alloc(_WORKSPACE)
        self._ways: dict[Any, _Way] = {}

    @classmethod
    def of(cls, cupy: Any, stream: Any) -> Blas:
        """The handle whose products run in this stream: no other's use its workspace."""
        key = cupy.cuda.get_current_stream().ptr, cupy.cuda.Device().id
        if key not in cls._known:
            if len(cls._known) >= _HANDLES:
                raise Refused("programs run in too many streams for a cuBLAS handle in each")
            cls._known[key] = cls(cupy)
        blas = cls._known[key]
        blas.bind(stream)
        return blas

    def bind(self, stream: Any) -> None:
        """Have products go into a stream. It has to come before the stream is captured."""
        self._done(self._lib.cublasSetStream_v2(self._handle, ctypes.c_void_p(stream.ptr)))
        # Which asks for cuBLAS's own workspace again.
        self._done(self._lib.cublasSetWorkspace_v2(
            self._handle, ctypes.c_void_p(self._workspace.ptr), ctypes.c_size_t(_WORKSPACE)))

    def learn(self, function: Any, a: Any, b: Any, out: Any) -> None:
        """Find the way that gives the bits of CuPy's function for products of this form.

        Raises:
            Refused: There is none.
        """
        form = _form(a, b, out)
        if form in self._ways:
            return
        if a.dtype.char not in _FUNCTIONS or not out.size:
            raise Refused("cuBLAS has no such product")
        drawn = np.random.Generator(np.random.PCG64(0))
        x, y, plain, other = (_like(self._cupy, array) for array in (a, b, out, out))
        left = [way for way in _ways(a, b) if self._can(way, x, y, other)]
        if not left:  # say why
            self._do(_Way(*_FUNCTIONS[a.dtype.char][0], ""), x, y, other)
        for _ in range(-(-_COMPARED // out.size)):
            for array in (x, y):
                array[...] = self._cupy.asarray(
                    drawn.standard_normal(array.shape).astype(array.dtype))
            function(x, y, out=plain)
            expected = plain.tobytes()
            left = [way for way in left if self._gives(expected, way, x, y, other)]
        if not left:
            raise Refused("no function of cuBLAS gives the bits of CuPy's product")
        self._ways[form] = left[0]

    def _can(self, way: _Way, a: Any, b: Any, out: Any) -> bool:
        try:
            self._do(way, a, b, out)
        except Refused:
            return False
        return True

    def _gives(self, expected: bytes, way: _Way, a: Any, b: Any, out: Any) -> bool:
        out.fill(0)
        self._do(way, a, b, out)
        return out.tobytes() == expected

    def reserve(self, a: Any, b: Any, out: Any) -> None:
        """Take the memory once that `multiply` takes: in a capture CUDA gives none."""
        way = self._ways[_form(a, b, out)]
        made = [self._cupy.empty(x.shape, x.dtype) for x in (a, b) if _is_copied(x, way)]
        del made

    def multiply(self, a: Any, b: Any, out: Any) -> None:
        """Compute a product of a form that has been learned.

        Raises:
            Refused: It has not been.
        """
        way = self._ways.get(_form(a, b, out))
        if way is None:
            raise Refused("a product of another form came while it was captured")
        self._do(way, a, b, out)

    def _do(self, way: _Way, a: Any, b: Any, out: Any) -> None:
        a, b = (
            self._cupy.array(x, order=way.order) if _is_copied(x, way) else x for x in (a, b)
        )
        for part in parts_of(self._cupy, a, b, out):
            self._call(way, gemm_of(*part), *part)

    def _call(self, way: _Way, gemm: _Gemm, a: Any, b: Any, out: Any) -> None:
        name, compute = way.function, way.compute
        char = out.dtype.char
        number = ctypes.c_double if char == "d" else ctypes.c_float
        one, zero = number(1), number(0)
        pointers = [ctypes.c_void_p(x.data.ptr) for x in (b, a, out)]
        if gemm.count > 1:
            name = "gemm_ex"
            compute = compute or (_DOUBLE if char == "d" else _SINGLE)
        arguments: list[Any] = [self._handle, *gemm.transposed, *gemm.sizes, ctypes.byref(one)]
        parts = zip(pointers, gemm.leading, gemm.steps, strict=True)
        for k, (pointer, leading, step) in enumerate(parts):
            if k == 2:
                arguments.append(ctypes.byref(zero))
            arguments.append(pointer)
            if name == "gemm_ex":
                arguments.append(_TYPES[char])
            arguments.append(leading)
            if gemm.count > 1:
                arguments.append(ctypes.c_longlong(step))
        if name == "gemm_ex":
            if gemm.count > 1:
                arguments.append(gemm.count)
            arguments += [compute, _DEFAULT_ALGORITHM]
            which = "cublasGemmStridedBatchedEx" if gemm.count > 1 else "cublasGemmEx"
        else:
            which = "cublasDgemm_v2" if char == "d" else "cublasSgemm_v2"
        self._done(getattr(self._lib, which)(*arguments))

    def _done(self, status: int) -> None:
        if status:
            raise Refused(f"cuBLAS refuses, with status {status}")


def _ways(a: Any, b: Any) -> list[_Way]:
    """What may give the bits of CuPy's product of these arrays."""
    copies = [("", "C"), ("gaps", "F"), ("gaps", "C"), ("columns", "C")]
    ways = [_Way(*function, *copy) for copy in copies for function in _FUNCTIONS[a.dtype.char]]
    return [way for way in ways if not way.copied or _is_copied(a, way) or _is_copied(b, way)]


def _is_copied(x: Any, way: _Way) -> bool:
    """Whether the way has this operand copied."""
    if not way.copied or x.flags.c_contiguous:
        return False
    return way.copied == "columns" or not x.flags.f_contiguous


def _form(*arrays: Any) -> tuple[Any, ...]:
    """What an algorithm may be chosen by."""
    return tuple([(a.dtype, a.shape, a.strides, a.data.ptr % _ALIGNMENT) for a in arrays])


def _like(cupy: Any, array: Any) -> Any:
    """An array of the same form."""
    size, before = extent(array.shape, array.strides, array.dtype.itemsize)
    memory = cupy.cuda.alloc(size + _ALIGNMENT)
    start = (array.data.ptr - before - memory.ptr) % _ALIGNMENT + before
    return cupy.ndarray(array.shape, array.dtype, memory + start, array.strides)
