"""The simulated device itself: what it refuses, what it notices."""
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
    with pytest.raises(TypeError, match='Wrong number of arguments'):
        kernel(table)
    raw = cuda.raw(SUM, 'total')
    assert isinstance(raw, cupy.RawKernel)
