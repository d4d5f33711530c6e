"""CUDA utilities, as far as they go without a GPU; and with one."""
import importlib

import numpy as np
import pytest

import chainer
from chainer.backends import cuda, intel64

gpu = pytest.mark.skipif(not cuda.available, reason='no GPU')
no_gpu = pytest.mark.skipif(cuda.available, reason='there is a GPU')


def test_old_place():
    assert chainer.cuda is cuda
    assert importlib.import_module('chainer.cuda') is cuda


def test_dummy_device():
    dummy = cuda.DummyDevice
    assert int(dummy) == dummy.id == -1 and dummy == cuda.DummyDeviceType() and dummy != 0
    with dummy as device:
        assert device is dummy
    dummy.use()
    dummy.synchronize()


@pytest.mark.filterwarnings('ignore:get_device is deprecated')
def test_no_device():
    x = np.zeros(3)
    for device in (cuda.get_device(), cuda.get_device(x), cuda.get_device_from_id(None),
                   cuda.get_device_from_id(-1), cuda.get_device_from_array(x),
                   cuda.get_device_from_array(), cuda.get_device(None, x)):
        assert device is cuda.DummyDevice


def test_get_device_is_deprecated():
    with pytest.warns(DeprecationWarning, match='get_device_from_id') as caught:
        cuda.get_device()
    assert caught[0].filename == __file__


@no_gpu
@pytest.mark.parametrize('call', [
    lambda: cuda.to_gpu(np.zeros(1)), lambda: cuda.copy(np.zeros(1)), lambda: cuda.get_device(0),
    lambda: cuda.get_device_from_id(0), lambda: cuda.Device(0), lambda: cuda.GpuDevice(0),
    lambda: cuda.GpuDevice.from_device_id(0), lambda: cuda.ndarray().shape,
    lambda: cuda.ndarray().device, lambda: cuda.ndarray().get(),
    lambda: cuda.ndarray().set(np.zeros(1)),
    lambda: cuda.elementwise('T x', 'T y', 'y = x', 'same'), lambda: cuda.raw('', 'name'),
    lambda: cuda.reduce('T x', 'T y', 'x', 'a + b', 'y = a', '0', 'sum')])
def test_what_needs_a_gpu(call):
    with pytest.raises(RuntimeError, match='CUDA is not available here'):
        call()


def test_to_cpu():
    x = np.zeros(3)
    assert cuda.to_cpu(x) is x and cuda.to_cpu(None) is None
    assert cuda.to_cpu([x, None])[0] is x and cuda.to_cpu((x,))[0] is x
    assert cuda.to_cpu(np.float32(2)).dtype == np.float32
    with pytest.raises(TypeError, match='Variable'):
        cuda.to_cpu(chainer.Variable(x))


@no_gpu
def test_decorators_change_nothing():
    def double(x):
        return 2 * x

    assert cuda.memoize()(double) is double and cuda.memoize(for_each_device=True)(double) is double
    assert cuda.fuse(double) is double and cuda.fuse()(double) is double
    assert cuda.fuse(kernel_name='double')(double) is double
    cuda.clear_memo()


def test_workspace_size():
    before = cuda.get_max_workspace_size()
    try:
        cuda.set_max_workspace_size(1000)
        assert cuda.get_max_workspace_size() == 1000
    finally:
        cuda.set_max_workspace_size(before)


def test_cudnn_settings():
    assert cuda.should_use_cudnn('>=auto', 10 ** 9) is False
    with pytest.raises(ValueError, match="'==always' or '>=auto'"):
        cuda.should_use_cudnn('auto')
    for key, call in (('use_cudnn', lambda: cuda.should_use_cudnn('>=auto')),
                      ('use_cudnn_tensor_core',
                       lambda: cuda.should_use_cudnn_tensor_core(np.float16)),
                      ('use_ideep', lambda: intel64.should_use_ideep('>=auto'))):
        with chainer.using_config(key, True), pytest.raises(ValueError, match=f'config.{key} True'):
            call()
    if not cuda.cudnn_enabled:
        with chainer.using_config('use_cudnn', 'always'):
            assert cuda.should_use_cudnn('==always') is False
        assert cuda.should_use_cudnn_tensor_core(np.float16) is False


def test_array_module():
    assert cuda.get_array_module(np.zeros(1)) is np


def test_intel64():
    assert not intel64.is_ideep_available() and not intel64.should_use_ideep('==always')
    assert not intel64.inputs_all_ready((np.zeros((1, 1)),))
    with pytest.raises(ValueError, match='level'):
        intel64.should_use_ideep('always')
    for call in (intel64.check_ideep_available, intel64.mdarray, intel64.Intel64Device):
        with pytest.raises(RuntimeError, match='iDeep is not available'):
            call()


@gpu
def test_to_gpu_and_back():
    x = np.arange(6.).reshape(2, 3)
    y = cuda.to_gpu(x)
    assert isinstance(y, cuda.ndarray) and cuda.to_gpu(y) is y
    np.testing.assert_array_equal(cuda.to_cpu(y), x)
    many = cuda.to_gpu([x, None, x])
    assert many[0] is many[2] and many[1] is None
    for z in (cuda.copy(y), cuda.copy(y.T), cuda.copy(y, out=cuda.cupy.zeros_like(y))):
        assert isinstance(z, cuda.ndarray)


@gpu
def test_gpu_devices():
    device = chainer.get_device('@cupy:0')
    x = device.send(np.zeros(3))
    assert device == chainer.get_device(0) == chainer.get_device(x.device)
    assert device.name == '@cupy:0' and device.xp is cuda.cupy and device.is_array_supported(x)
    assert chainer.backend.get_device_from_array(x) == device
    assert chainer.backend.get_array_module(x) is cuda.cupy
    with chainer.using_device(device):
        chainer.backend.copyto(x, np.ones(3))
    host = np.zeros(3)
    chainer.backend.copyto(host, x)
    assert host.tolist() == [1, 1, 1]


@gpu
def test_variables_on_a_gpu():
    x = chainer.Variable(np.arange(3, dtype='f'), grad=np.ones(3, 'f'))
    x.to_gpu()
    assert isinstance(x.array, cuda.ndarray) and isinstance(x.grad, cuda.ndarray)
    y = x * x + 1
    y.grad = cuda.cupy.ones(3, 'f')
    x.cleargrad()
    y.backward()
    host = chainer.Variable(np.zeros(3, 'f'))
    host.addgrad(x)
    host.copydata(y)
    x.to_cpu()
    assert x.grad.tolist() == host.grad.tolist() == [0, 2, 4]
    assert host.array.tolist() == [1, 2, 5]
    with pytest.raises(TypeError, match='mix arrays'):
        y + x
