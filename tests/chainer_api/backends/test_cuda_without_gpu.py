"""The module of CUDA utilities with stand-ins for CuPy: how it starts, and what it hands on."""
import importlib.util
import os
import sys
import types
from unittest import mock

import numpy as np
import pytest

import chainer


class FakeDevice:
    entered = []

    def __init__(self, device=0):
        self.id = device

    def __eq__(self, other):
        return isinstance(other, FakeDevice) and other.id == self.id

    def __hash__(self):
        return self.id

    def __enter__(self):
        FakeDevice.entered.append(self.id)
        return self

    def __exit__(self, *error):
        FakeDevice.entered.pop()

    def use(self):
        FakeDevice.used = self.id


class FakeArray:
    """An array on a device; its memory is a NumPy array."""

    def __init__(self, values, device):
        self.values = values
        self.device = device
        self.dtype, self.shape = values.dtype, values.shape
        self.flags = types.SimpleNamespace(c_contiguous=values.flags.c_contiguous)
        self.nbytes = values.nbytes
        self.data = self

    def get(self, stream=None):
        return self.values.copy()

    def copy_from_device(self, source, nbytes):
        self.values[...] = source.values

    def __setitem__(self, key, value):
        self.values[key] = value.values


def insufficient_driver():
    raise RuntimeError('cudaErrorInsufficientDriver: CUDA driver version is insufficient')


def fake_cupy(available=True):
    cupy = types.ModuleType('cupy')
    current = lambda: FakeDevice.entered[-1] if FakeDevice.entered else 0  # noqa: E731
    cupy.ndarray = FakeArray
    cupy.cuda = types.ModuleType('cupy.cuda')
    cupy.cuda.is_available = lambda: available
    cupy.cuda.runtime = types.SimpleNamespace(getDeviceCount=insufficient_driver)
    cupy.cuda.Device, cupy.cuda.Event, cupy.cuda.Stream = FakeDevice, object, object
    cupy.asarray = lambda x: FakeArray(np.array(x), FakeDevice(current()))
    cupy.empty_like = lambda x: FakeArray(np.empty_like(x.values), FakeDevice(current()))
    cupy.ascontiguousarray = lambda x: FakeArray(np.ascontiguousarray(x.values), x.device)
    cupy.memoize = lambda for_each_device: lambda f: f
    cupy.clear_memo = lambda: None
    cupy.ElementwiseKernel = cupy.ReductionKernel = cupy.RawKernel = lambda *args, **kw: (args, kw)
    cupy.fuse = lambda *args, **kwargs: 'fused'
    return cupy


def load(cupy):
    """The module, started with ``cupy`` installed."""
    path = os.path.join(os.path.dirname(chainer.__file__), 'backends', 'cuda.py')
    spec = importlib.util.spec_from_file_location('cuda_under_test', path)
    module = importlib.util.module_from_spec(spec)
    installed = {'cupy': cupy, 'cupyx': types.ModuleType('cupyx')}
    if cupy is not None:
        installed['cupy.cuda'] = vars(cupy).get('cuda')
    with mock.patch.dict(sys.modules, installed):
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope='module')
def cuda():
    return load(fake_cupy())


def test_broken_cupy():
    class Broken(types.ModuleType):
        @property
        def cuda(self):
            raise OSError('libcuda is broken')

    cuda = load(Broken('cupy'))
    assert not cuda.available
    with pytest.raises(RuntimeError, match='finds no usable GPU: libcuda is broken'):
        cuda.check_cuda_available()


def test_cupy_without_a_gpu():
    cuda = load(fake_cupy(available=False))
    assert not cuda.available and not cuda.cudnn_enabled
    with pytest.raises(RuntimeError, match=(
            'CuPy is installed, but finds no usable GPU: cudaErrorInsufficientDriver: CUDA driver '
            'version is insufficient.*install the CuPy package')):
        cuda.to_gpu(np.zeros(1))
    assert not isinstance(np.zeros(1), cuda.ndarray)


def test_missing_cupy():
    cuda = load(None)  # None in sys.modules makes the import fail
    with pytest.raises(RuntimeError, match='CuPy cannot be imported'):
        cuda.check_cuda_available()


def test_seed_of_the_environment(monkeypatch):
    monkeypatch.setenv('CHAINER_SEED', '7')
    monkeypatch.delenv('CUPY_SEED', raising=False)
    try:
        load(fake_cupy())
        assert os.environ['CUPY_SEED'] == '7'
    finally:
        os.environ.pop('CUPY_SEED', None)


def test_names_of_cupy(cuda):
    assert cuda.available and not cuda.cudnn_enabled
    assert cuda.ndarray is FakeArray and cuda.Device is FakeDevice
    cuda.check_cuda_available()
    cuda.clear_memo()
    assert cuda.elementwise('a', 'b', 'c', 'n', preamble='p') == (
        ('a', 'b', 'c', 'n'), {'preamble': 'p'})
    assert cuda.reduce('a', 'b', 'c', 'd', 'e', '0', 'n')[0][-2:] == ('0', 'n')
    assert cuda.raw('code', 'n') == (('code', 'n'), {})
    assert cuda.fuse() == 'fused'


@pytest.mark.filterwarnings('ignore:get_device is deprecated')
def test_devices(cuda):
    x = cuda.to_gpu(np.zeros(2), device=1)
    assert x.device == FakeDevice(1) and not FakeDevice.entered
    assert cuda.get_device(x) == cuda.get_device(1) == cuda.get_device(FakeDevice(1))
    assert cuda.get_device(np.zeros(1), x).id == 1 and cuda.get_device(True) is cuda.DummyDevice
    assert cuda.get_device_from_array(np.zeros(1), x).id == 1
    assert cuda.get_device_from_id(np.int64(2)).id == 2
    assert cuda.get_device_from_id(-1) is cuda.DummyDevice
    device = cuda.GpuDevice.from_device_id(1)
    assert device == cuda.GpuDevice.from_array(x) and hash(device) == hash('@cupy:1')
    assert device.name == '@cupy:1' and repr(device) == '<GpuDevice (cupy):1>'
    assert device != cuda.GpuDevice.from_device_id(0)
    assert device.is_array_supported(x) and not device.is_array_supported(np.zeros(1))
    with device.create_context():
        assert FakeDevice.entered == [1]
    device.use()
    assert FakeDevice.used == 1
    assert device.send([x, None])[0] is x
    with pytest.raises(TypeError, match='from_device_id'):
        cuda.GpuDevice(1)
    with pytest.raises(ValueError, match='numbered from 0'):
        cuda.GpuDevice.from_device_id(-1)


def test_copies(cuda):
    values = np.arange(6.).reshape(2, 3)
    x = cuda.to_gpu(values)
    assert x.device.id == 0 and cuda.to_gpu(x) is x
    moved = cuda.to_gpu(x, 1)
    assert moved.device.id == 1 and moved.values.tolist() == values.tolist()
    assert cuda.to_gpu(2.5).values == 2.5
    both = cuda.to_gpu([values, None, values])
    assert both[0] is both[2] and both[1] is None
    transposed = FakeArray(values.T, FakeDevice(0))
    copied = cuda.copy(transposed, out_device=1)
    assert copied.device.id == 1 and copied.values.tolist() == values.T.tolist()
    out = FakeArray(np.zeros((3, 2)).T, FakeDevice(1))
    assert cuda.copy(x, out=out) is out and out.values.tolist() == values.tolist()
    for wrong in ([object()], {'x': 1}):
        with pytest.raises(TypeError, match='cannot copy to a GPU'):
            cuda.to_gpu(wrong)
    with pytest.raises(ValueError, match='a CUDA device is given by'):
        cuda.to_gpu(values, device='gpu')
