"""The simulated device itself: what it refuses, what it notices."""
import contextlib
import threading

import numpy as np
import pytest

from chainer.backends import cuda

cupy = cuda.cupy
if 'simulated' not in cupy.__file__:
    pytest.skip('CuPy is the real one', allow_module_level=True)

from cupy import _memory  # noqa: E402
from cupy.cuda.compiler import CompileException  # noqa: E402


@pytest.mark.parametrize('mix', [
    lambda x, y: x + y, lambda x, y: y + x, lambda x, y: cupy.exp(y), lambda x, y: x.dot(y),
    lambda x, y: cupy.concatenate([x, y]), lambda x, y: np.asarray(x),
    lambda x, y: x.__setitem__(slice(None), y), lambda x, y: np.add(y, x),
    lambda x, y: cupy.ElementwiseKernel('T x', 'T y', 'y = x', 'same')(y)])
def test_refuses_arrays_of_numpy(mix):
    with pytest.raises(TypeError, match='Unsupported type|Implicit conversion'):
        mix(cupy.ones(3), np.ones(3))


def test_has_only_what_cupy_has():
    with pytest.raises(TypeError, match='unexpected keyword'):
        cupy.concatenate([cupy.ones(1)], axes=0)
    with pytest.raises(NotImplementedError, match='not supported'):
        cupy.maximum.reduce(cupy.ones(3))
    assert not hasattr(cupy, 'nditer') and not hasattr(cupy.ndarray, 'ctypes')
    with pytest.raises(ValueError, match='Unsupported dtype'):
        cupy.array(['text'])


def test_results_have_no_scalars_and_views_share_memory():
    x = cupy.arange(6.).reshape(2, 3)
    assert isinstance(x.sum(), cupy.ndarray) and x.sum().shape == ()
    x.T[1, 1] = 9
    assert float(x[1, 1]) == 9 and x[1].data.ptr == x.data.ptr + 24
    assert cupy.broadcast_to(x, (2, 2, 3)).data.mem is x.data.mem
    assert isinstance(np.exp(x), cupy.ndarray) and isinstance(np.sum(x), cupy.ndarray)


def test_two_devices():
    with cupy.cuda.Device(1):
        x = cupy.ones(3)
    assert x.device.id == 1
    with pytest.raises(ValueError, match='array device = 1 while current = 0'):
        x + 1


def test_limit_of_a_pool():
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(4096)
    with cupy.cuda.using_allocator(pool.malloc):
        x = cupy.zeros(256)
        assert pool.used_bytes() == 2048
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match='limit set to: 4,096 bytes'):
            cupy.zeros(512)
        del x
        cupy.zeros(512)
    assert pool.used_bytes() == 0


SUM = '''
extern "C" __global__ void total(const float* x, float* y, int n) {
  __shared__ float part[64];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int o = 32; o > 0; o >>= 1) {
    if (threadIdx.x < o) part[threadIdx.x] += part[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
'''


def launch(code, x, name='total'):
    y = cupy.zeros(1, 'f')
    kernel = cupy.RawKernel(code, name)
    kernel((1,), (64,), (x, y, np.int32(x.size)))
    return float(y[0])


def test_kernels_with_barriers():
    x = np.random.RandomState(0).randn(1000).astype('f')
    assert launch(SUM, cupy.asarray(x)) == pytest.approx(x.sum(), rel=1e-5)


@pytest.mark.parametrize(('old', 'new', 'error', 'text'), [
    ('part[threadIdx.x] = s;\n  __syncthreads();', 'part[threadIdx.x] = s;', RuntimeError,
     'depend on the order of threads'),
    ('if (threadIdx.x < o) part', 'if (threadIdx.x > 40) return; part', RuntimeError,
     '__syncthreads after some threads'),
    ('y[0] = part[0]', 'y[1] = part[0]', IndexError, 'writes out of bounds'),
    ('s += x[i]', 's += q[i]', CompileException, r'module.cu:5:.*q'),
    ('s += x[i]', 's += INFINITY', CompileException, 'INFINITY')])
def test_wrong_kernels(old, new, error, text):
    assert old in SUM
    with pytest.raises(error, match=text):
        launch(SUM.replace(old, new), cupy.ones(1000, 'f'))


def test_shuffles():
    code = '''
extern "C" __global__ void k(float* x) {
  float v = x[threadIdx.x];
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  x[threadIdx.x] = v;
}'''
    x = cupy.arange(32, dtype='f')
    cupy.RawKernel(code, 'k')((1,), (32,), (x,))
    assert set(x.tolist()) == {496.}
    with pytest.raises(RuntimeError, match='a lane that takes no part'):
        cupy.RawKernel(code.replace('float v', 'if (threadIdx.x > 7) return; float v'), 'k')(
            (1,), (32,), (x,))


def test_streams_and_events_are_written_down():
    del _memory.events[:]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        launch(SUM, cupy.ones(3, 'f'))
    assert ('launch', 'total', stream.ptr) in _memory.events
    assert ('to host', 4) in _memory.events
    assert cupy.cuda.get_current_stream() is cupy.cuda.Stream.null


def test_elementwise_and_reduction_kernels():
    x = np.random.RandomState(0).randn(3, 4).astype('f')
    scaled = 'T x, raw T table, int32 k', 'T y', 'y = x * table[k] + (T)i', 'scaled'
    kernel = cuda.elementwise(*scaled)
    table = cupy.asarray(np.array([2, 3], 'f'))
    found = kernel(cupy.asarray(x), table, 1)
    np.testing.assert_array_equal(found.get(), x * 3 + np.arange(12, dtype='f').reshape(3, 4))
    assert cuda.elementwise(*scaled) is kernel
    norm = cuda.reduce('T x', 'T y', 'x * x', 'a + b', 'y = sqrt(a)', '0', 'norm')
    np.testing.assert_allclose(
        norm(cupy.asarray(x), axis=1).get(), np.sqrt((x * x).sum(1)), rtol=1e-6)
    ends = cuda.elementwise(  # names that CuPy has in such texts
        'T x, raw T y', 'T z', 'z = x + y[_ind.size() - i - 1] + y.shape()[0]', 'ends')
    column = cupy.asarray(x[:, 0])
    np.testing.assert_array_equal(ends(column, column).get(), x[:, 0] + x[::-1, 0] + 3)
    cuts = np.array([1, 3])  # on the host, where CuPy takes them
    assert [part.shape for part in cupy.split(cupy.asarray(x), cuts, 1)] == [(3, 1), (3, 2), (3, 1)]
    with pytest.raises(TypeError, match='Wrong number of arguments'):
        kernel(table)
    raw = cuda.raw(SUM, 'total')
    assert isinstance(raw, cupy.RawKernel)


# -- captures


@contextlib.contextmanager
def captured(mode=None):
    """A stream that is captured, and what has become of the capture."""
    stream, found = cupy.cuda.Stream(non_blocking=True), []
    with stream:
        stream.begin_capture(mode)
        try:
            yield stream, found
        finally:
            try:
                found.append(stream.end_capture())
            except cupy.cuda.runtime.CUDARuntimeError as error:
                found.append(error)


def test_what_is_captured_is_not_done():
    x, y = cupy.arange(4, dtype='f'), cupy.zeros(4, 'f')
    total = cupy.full(1, 7, 'f')
    kernel = cupy.RawKernel(SUM, 'total')
    with captured() as (stream, found):
        assert stream.is_capturing()
        z = x * 2
        cupy.add(z, 1, y)
        kernel((1,), (64,), (y, total, np.int32(4)))
        x[0] = 5
    (graph,) = found
    assert (x.tolist(), y.tolist(), total.tolist()) == ([0, 1, 2, 3], [0] * 4, [7])
    graph.launch()
    assert (x.tolist(), y.tolist(), total.tolist()) == ([5, 1, 2, 3], [1, 3, 5, 7], [16])
    del _memory.events[:]
    graph.launch(stream)
    assert _memory.events == [('graph', 4, stream.ptr)]
    assert total.tolist() == [26] and z.tolist() == [10, 2, 4, 6]
    assert not stream.is_capturing()


def test_graphs_have_addresses_and_no_memory():
    x, y = cupy.ones(8, 'f'), cupy.zeros(8, 'f')
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        z = cupy.zeros(8, 'f')
    with captured() as (_, found):
        cupy.add(x, y, z)
    (graph,) = found
    address = z.data.ptr
    del z
    with cupy.cuda.using_allocator(pool.malloc):
        others = cupy.zeros(8, 'f')
    assert others.data.ptr == address
    graph.launch()
    assert others.tolist() == [1] * 8, 'it writes to what is somebody else\'s now'
    del others
    pool.free_all_blocks()
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match='cudaErrorIllegalAddress'):
        graph.launch()


RUNTIME = cupy.cuda.runtime
BY_THREAD = RUNTIME.streamCaptureModeThreadLocal


@pytest.mark.parametrize(('mode', 'work'), [
    (None, lambda x: x.get()), (None, lambda x: float(x[0])), (None, lambda x: cupy.asarray([1])),
    (None, lambda x: x.set(np.ones(3, 'f'))), (None, lambda x: x[x > 0]),
    (None, lambda x: cupy.cuda.get_current_stream().synchronize()),
    (None, lambda x: cupy.cuda.Device().synchronize()),
    (BY_THREAD, lambda x: cupy.cuda.MemoryPool().malloc(8)),
    (BY_THREAD, lambda x: cupy.cuda.Event().synchronize()),
    (RUNTIME.streamCaptureModeGlobal, lambda x: cupy.cuda.MemoryPool().malloc(8))])
def test_what_cuda_refuses_ends_a_capture(mode, work):
    x = cupy.ones(3, 'f')
    with captured(mode) as (_, found):
        with pytest.raises(RUNTIME.CUDARuntimeError, match='Unsupported'):
            work(x)
        with pytest.raises(RUNTIME.CUDARuntimeError, match='Invalidated'):
            x += 1
    assert 'Invalidated' in str(found[0])
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize('work', [
    lambda x: x.dot(x), lambda x: cupy.dot(x, x), lambda x: cupy.matmul(x, x), lambda x: x @ x,
    lambda x: cupy.tensordot(x, x, 1), lambda x: cupy.linalg.inv(x),
    lambda x: cupy.random.uniform(size=3)])
def test_what_cupy_refuses_leaves_a_capture(work):
    x = cupy.eye(3, dtype='f')
    with captured() as (_, found):
        with pytest.raises(NotImplementedError, match='stream capture is currently unsupported'):
            work(x)
        x += 1
    found[0].launch()
    assert float(x.sum()) == 12


def test_captures_of_streams():
    with pytest.raises(RUNTIME.CUDARuntimeError, match='Unsupported'):
        cupy.cuda.Stream.null.begin_capture()
    with pytest.raises(RUNTIME.CUDARuntimeError, match='IllegalState'):
        cupy.cuda.Stream().end_capture()
    x = cupy.ones(3, 'f')
    with captured() as (_, found), cupy.cuda.Stream.null:
        x += 1  # of another stream: it is done
    assert x.tolist() == [2] * 3 and found[0]._nodes == []
    with captured(), cupy.cuda.Stream.null:  # memory from the driver, but in relaxed mode
        cupy.cuda.MemoryPool().malloc(8)
    blocking = cupy.cuda.Stream()
    blocking.begin_capture()
    with pytest.raises(RUNTIME.CUDARuntimeError, match='Implicit'):
        x += 1
    with pytest.raises(RUNTIME.CUDARuntimeError, match='Invalidated'):
        blocking.end_capture()
    with pytest.raises(RuntimeError, match='end_capture'):
        cupy.cuda.Graph()


def test_pools_give_again_what_came_back():
    pool = cupy.cuda.MemoryPool()
    first = pool.malloc(100)
    address = first.ptr
    del first
    assert pool.free_bytes() == pool.total_bytes() == 512 and pool.used_bytes() == 0
    with cupy.cuda.Stream(non_blocking=True):
        assert pool.malloc(100).ptr != address, 'of another stream'
    assert pool.malloc(90).ptr == address
    pool.free_all_blocks()
    assert pool.total_bytes() == 0


def test_threads_work_one_after_the_other():
    """A kernel runs several times over its memory, which others fill meanwhile."""
    kernel = cupy.RawKernel(
        'extern "C" __global__ void twice(float* x, int n) {'
        ' for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2; }', 'twice')
    shared, wrong = cupy.ones(20000, 'f'), []

    def work(k):
        try:
            for _ in range(60):
                if k:
                    shared[...] = 3
                else:
                    kernel((1,), (64,), (shared, np.int32(shared.size)))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
