"""What mistakes on GPUs say: the same in define-by-run and in methods that have programs."""
import numpy as np
import pytest
from device_models import pair, programs

import chainer
import chainer.functions as F
from chainer.backends import cuda

cupy = cuda.cupy
SIMULATED = 'simulated' in cupy.__file__
two_devices = pytest.mark.skipif(
    cupy.cuda.runtime.getDeviceCount() < 2, reason='there is one device')


@pytest.fixture(params=[False, True], ids=['define-by-run', 'compiled'])
def model(request):
    """A small network; when compiled it has been called often enough to have a program."""
    made = pair('mlp')[request.param]
    made.to_device('@cupy:0')
    with chainer.using_config('static_check', 'never'):
        for _ in range(5):
            step(made)
    assert not request.param or programs(made)
    return made


def step(model):
    y = model(chainer.Variable(cupy.ones((32, 6), 'f')))
    model.cleargrads()
    F.sum(y).backward()
    return y


def still_works(model):
    y = step(model)
    assert isinstance(y.array, cupy.ndarray) and model.l1.W.grad.shape == model.l1.W.shape


def test_arrays_of_numpy(model):
    with pytest.raises(TypeError, match=(
            'inputs of LinearFunction mix arrays of different kinds: .*numpy.ndarray.*cupy.*; '
            'bring them to one device .to_gpu, to_cpu, to_device.')):
        model(np.ones((32, 6), 'f'))
    still_works(model)


@two_devices
def test_arrays_of_another_device(model):
    x = chainer.get_device('@cupy:1').send(np.ones((32, 6), 'f'))
    if not SIMULATED:
        pytest.skip('devices that reach the memory of each other only get a warning of CuPy')
    with pytest.raises(ValueError, match='array device = 0 while current = 1'):
        chainer.as_array(model(x))
    still_works(model)


@two_devices
def test_models_on_two_devices(model):
    """A part of the model has moved; what to do is to copy between the devices."""
    if not SIMULATED:
        pytest.skip('devices that reach the memory of each other only get a warning of CuPy')
    model.l2.to_device('@cupy:1')
    with pytest.raises(ValueError, match='must be same as the current device'):
        chainer.as_array(model(cupy.ones((32, 6), 'f')))
    h = F.copy(chainer.Variable(cupy.ones((2, 32), 'f')), '@cupy:1')
    with chainer.using_device('@cupy:1'):
        assert model.l2(h).array.device.id == 1


def test_gradients_of_another_kind(model):
    y = model(cupy.ones((32, 6), 'f'))
    with pytest.raises(TypeError, match=(
            'gradient of a variable must be of the same type as its data, .*cupy.*not .*numpy')):
        y.grad = np.ones((32, 3), 'f')
    del y
    still_works(model)


def test_no_memory_in_backward(model):
    y = model(cupy.ones((32, 6), 'f'))
    model.cleargrads()
    y.grad = cupy.ones((32, 3), 'f')
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(512)
    with cupy.cuda.using_allocator(pool.malloc):
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match='Out of memory allocating'):
            y.backward()
    del y
    still_works(model)


def test_no_memory_in_the_update():
    """The loop over parameters raises it, and the next update works."""
    model = pair('mlp')[0]
    model.to_device('@cupy:0')
    optimizer = chainer.optimizers.Adam().setup(model)
    step(model)
    for _ in range(5):
        optimizer.update()
    counts = [p.update_rule.t for p in model.params()]
    step(model)
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(1)
    with cupy.cuda.using_allocator(pool.malloc):
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match='Out of memory allocating'):
            optimizer.update()
    assert [p.update_rule.t for p in model.params()][1:] == counts[1:]
    optimizer.update()


def test_kernels_of_the_user_that_do_not_compile():
    kernel = cuda.elementwise('T x', 'T y', 'y = no_such_function(x)', 'wrong')
    with pytest.raises(cupy.cuda.compiler.CompileException, match='no_such_function'):
        kernel(cupy.ones(3, 'f'))
    raw = cuda.raw('extern "C" __global__ void k(float* x) { x[0] = no_such_function(x); }', 'k')
    with pytest.raises(cupy.cuda.compiler.CompileException, match='no_such_function'):
        raw((1,), (1,), (cupy.ones(3, 'f'),))


@pytest.mark.parametrize('compiled', [False, True])
def test_singular_matrices(compiled):
    """CuPy gives NaN for them, where Chainer raises."""
    class Chain(chainer.Chain):
        def forward(self, x):
            return F.inv(x) * 2

    if compiled:
        Chain.forward = chainer.static_graph(Chain.forward)
    chain, eye = Chain(), cupy.eye(3, dtype='f')
    for k in range(6):
        x = chainer.Variable(eye * (k % 3))
        if k % 3 == 0:
            with pytest.raises(ValueError, match='singular'):
                chain(x).array.get()
        else:
            np.testing.assert_allclose(chain(x).array.get(), 2 * np.eye(3) / (k % 3), rtol=1e-6)
