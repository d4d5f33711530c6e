"""cuBLAS by its C interface, as ``ctypes`` would find it: products of matrices on the device.

Strict about what cuBLAS demands: sizes, leading dimensions, types, and that memory is there. What
is asked of it goes into the handle's stream, also while that is captured.
"""
import numpy as np

from . import _capture

INVALID_VALUE, NOT_SUPPORTED = 7, 15
_TYPES = {2: np.dtype('e'), 0: np.dtype('f'), 1: np.dtype('d')}
_COMPUTES = {68: 'ef', 77: 'f', 70: 'd'}
WORKSPACE = 32 << 20


class CuBlas:
    """The library; ``calls`` are the names of what was asked for."""

    def __init__(self):
        self.streams, self.workspaces, self.calls = {}, {}, []

    def cublasCreate_v2(self, handle):
        handle._obj.value = len(self.streams) + 1
        self.streams[handle._obj.value] = 0
        return 0

    def cublasSetStream_v2(self, handle, stream):
        self.streams[handle.value] = stream.value or 0
        self.workspaces[handle.value] = None
        return 0

    def cublasSetWorkspace_v2(self, handle, pointer, size):
        self.workspaces[handle.value] = size.value
        return 0

    def cublasSgemm_v2(self, handle, *args):
        return self._plain(handle, np.dtype('f'), *args)

    def cublasDgemm_v2(self, handle, *args):
        return self._plain(handle, np.dtype('d'), *args)

    def cublasGemmEx(self, handle, ta, tb, m, n, k, one, a, at, lda, b, bt, ldb, zero, c, ct, ldc,
                     compute, algorithm):
        self.calls.append('gemm_ex')
        if not at == bt == ct or _TYPES[at].char not in _COMPUTES.get(compute, ''):
            return NOT_SUPPORTED
        return self._gemm(handle, _TYPES[at], (ta, tb), (m, n, k), (a, b, c), (lda, ldb, ldc),
                          (0, 0, 0), 1, compute)

    def cublasGemmStridedBatchedEx(self, handle, ta, tb, m, n, k, one, a, at, lda, sa, b, bt, ldb,
                                   sb, zero, c, ct, ldc, sc, count, compute, algorithm):
        self.calls.append('gemm_ex of many')
        if not at == bt == ct or _TYPES[at].char not in _COMPUTES.get(compute, ''):
            return NOT_SUPPORTED
        steps = [s.value for s in (sa, sb, sc)]
        return self._gemm(handle, _TYPES[at], (ta, tb), (m, n, k), (a, b, c), (lda, ldb, ldc),
                          steps, count, compute)

    def _plain(self, handle, dtype, ta, tb, m, n, k, one, a, lda, b, ldb, zero, c, ldc):
        self.calls.append('gemm')
        return self._gemm(handle, dtype, (ta, tb), (m, n, k), (a, b, c), (lda, ldb, ldc),
                          (0, 0, 0), 1, 0)

    def _gemm(self, handle, dtype, transposed, sizes, pointers, leading, steps, count, compute):
        m, n, k = sizes
        # By columns: (m, k) (k, n) -> (m, n). As arrays by rows, which are their transposes:
        shapes = [(k, m), (n, k), (n, m)]
        arrays = []
        for x, (shape, ld) in enumerate(zip(shapes, leading, strict=True)):
            rows, columns = shape
            turned = x < 2 and transposed[x]
            if ld < max(1, rows if turned else columns):
                return INVALID_VALUE
            strides = (1, ld) if turned else (ld, 1)
            strides = tuple(s * dtype.itemsize for s in strides)
            if count > 1:
                shape, strides = (count, *shape), (steps[x] * dtype.itemsize, *strides)
            arrays.append(_capture.array_at(pointers[x].value, shape, dtype, strides))
        if not self.workspaces[handle.value]:
            return INVALID_VALUE
        b, a, out = arrays
        stream = self.streams[handle.value]
        for capture in _capture._active:
            if capture.stream.ptr == stream:
                capture.record(self._multiply, (a, b, out, compute), {})
                return 0
        self._multiply(a, b, out, compute)
        return 0

    def _multiply(self, a, b, out, compute):
        with np.errstate(all='ignore'):
            out._a[...] = self.product(a._a, b._a, compute)

    def product(self, a, b, compute):
        """Tests put others here."""
        return np.matmul(a, b) if a.ndim > 2 else np.dot(a, b)


LIBRARY = CuBlas()
