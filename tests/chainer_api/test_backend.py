"""Array modules, devices, and copies between them."""
import numpy as np
import pytest

import chainer
from chainer import backend

no_gpu = pytest.mark.skipif(chainer.backends.cuda.available, reason='there is a GPU')


def test_array_module():
    x = np.zeros(3)
    v = chainer.Variable(x)
    for args in ((), (x,), (x, x), (v,), (v, x, None, 3), (chainer.Parameter(),), ('text',),
                 (np.float32(1),)):
        assert backend.get_array_module(*args) is np


def test_array_module_of_objects_that_name_it():
    class Recording:
        __chainwright_xp__ = 'its module'

    assert backend.get_array_module(Recording()) == 'its module'
    assert backend.get_array_module(np.zeros(1), 2.0, Recording()) == 'its module'


def test_copyto():
    x = np.zeros((2, 3), np.float32)
    backend.copyto(x, np.arange(3))
    assert x.tolist() == [[0, 1, 2]] * 2
    backend.copyto(x, 5)
    assert (x == 5).all()
    with pytest.raises(TypeError, match='cannot copy into .*list'):
        backend.copyto([1], x)
    with pytest.raises(ValueError, match='broadcast'):
        backend.copyto(x, np.zeros(2))
    with pytest.raises(TypeError, match='cast'):
        backend.copyto(np.zeros(3, 'i'), np.zeros(3))


@pytest.mark.parametrize('spec', ['@numpy', 'cpu', -1, '-1', np.int64(-1), backend.CpuDevice()])
def test_cpu_device(spec):
    device = chainer.get_device(spec)
    assert isinstance(device, backend.CpuDevice) and isinstance(device, backend.Device)
    assert device == backend.CpuDevice() and hash(device) == hash(backend.CpuDevice())
    assert device.name == str(device) == '@numpy' and device.xp is np
    assert repr(device) == '<CpuDevice (numpy)>'
    assert device.supported_array_types == (np.ndarray,)
    assert device.is_array_supported(np.zeros(1)) and not device.is_array_supported([1])
    device.use()
    with chainer.using_device(spec):
        with device.create_context():
            pass


def test_devices_are_not_entered():
    with pytest.raises(RuntimeError, match='using_device'), backend.CpuDevice():
        pass


def test_send():
    device = backend.CpuDevice()
    x, y = np.zeros(1), np.ones(2)
    assert device.send(x) is x and device.send(None) is None
    sent = device.send([x, y, x, None])
    assert sent[0] is x and sent[2] is x and sent[1] is y and sent[3] is None
    assert device.send((x,)) == (x,)
    assert device.send(3.5).tolist() == 3.5
    with pytest.raises(TypeError, match='cannot convert to numpy.ndarray.*dict'):
        device.send({'x': x})


@pytest.mark.parametrize(('spec', 'exception'), [
    ('@foo', ValueError), ('@cupy', ValueError), ('@cupy:x', ValueError), ('@numpy:0', ValueError),
    (None, TypeError), (1.5, TypeError), (True, TypeError),
    (('@cupy', 0), TypeError), (np, TypeError)])
def test_unknown_devices(spec, exception):
    with pytest.raises(exception, match='no device is named .*: use "@numpy"'):
        chainer.get_device(spec)


@pytest.mark.parametrize('spec', ['native', 'native:0', 'cuda:1', 'gpu', ''])
def test_devices_of_chainerx(spec):
    with pytest.raises(RuntimeError, match='ChainerX is not available'):
        chainer.get_device(spec)


def test_chainerx_names():
    with pytest.raises(RuntimeError, match='ChainerX'):
        backend.ChainerxDevice('native')
    with pytest.raises(RuntimeError, match='ChainerX'):
        backend.to_chx(np.zeros(1))
    x = np.zeros(1)
    assert backend.from_chx(x) is x


@no_gpu
@pytest.mark.parametrize('spec', ['@cupy:0', 0, '0', np.int32(1)])
def test_missing_gpu(spec):
    with pytest.raises(RuntimeError, match='CUDA is not available here .*pip install "cupy'):
        chainer.get_device(spec)


def test_intel64():
    with pytest.raises(RuntimeError, match='iDeep is not available'):
        chainer.get_device('@intel64')
    assert backend.Intel64Device.from_array(np.zeros(1)) is None


def test_device_from_array():
    cpu = backend.CpuDevice()
    for args in ((), (np.zeros(1),), (chainer.Variable(np.zeros(1)),), (None, 3)):
        assert backend.get_device_from_array(*args) == cpu
    assert backend.CpuDevice.from_array(np.zeros(1)) == cpu
    assert backend.CpuDevice.from_array(3) is None and backend.GpuDevice.from_array(3) is None


def test_base_class_says_what_is_missing():
    class Bare(backend.Device):
        pass

    for read in (lambda d: d.name, lambda d: d.xp, lambda d: d.supported_array_types,
                 lambda d: d.send(np.zeros(1)), lambda d: d.is_array_supported(None)):
        with pytest.raises(NotImplementedError, match='Bare'):
            read(Bare())


def test_array_types():
    assert np.ndarray in chainer.get_array_types()
    assert chainer.get_cpu_array_types() == (np.ndarray,)
    assert chainer.is_arrays_compatible([]) and chainer.is_arrays_compatible([np.zeros(1), None])
    assert not chainer.is_arrays_compatible([np.zeros(1), 3])
