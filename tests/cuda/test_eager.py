"""Array code of define-by-run: kernels of its own after some calls, with the bits of CuPy's."""
import dataclasses
import logging

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda
from chainwright.codegen.cuda_target import CudaTarget
from chainwright.runtime import OPTIONS, eager, kernels

cupy = cuda.cupy


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Programs are made in the third call, and none is known."""
    monkeypatch.setattr(OPTIONS, 'target', lambda: 'native')
    monkeypatch.setattr(eager, '_on_devices', type(eager._on_devices)())


@kernels.array_code
def smooth(x, y, *, factor):
    z = cupy.exp(x) * factor if isinstance(x, cupy.ndarray) else np.exp(x) * factor
    return z + y, z - y


def plain(x, y, factor):
    return smooth.__wrapped__(x, y, factor=factor)


def arrays(seed=0, shape=(3, 4), char='f', device=0):
    rng = np.random.RandomState(seed)
    send = chainer.get_device(f'@cupy:{device}').send
    return [send(rng.standard_normal(shape).astype(char)) for _ in 'xy']


def programs():
    return list(eager._on_devices.values())


LINKS = {
    'NStepLSTM': (lambda: L.NStepLSTM(2, 6, 6, 0.), lambda m, x: m(None, None, [x, x[:2]])[0]),
    'NStepGRU': (lambda: L.NStepGRU(1, 6, 6, 0.), lambda m, x: m(None, [x, x[:2]])[0]),
    'LSTM': (lambda: L.LSTM(6, 6), lambda m, x: (m.reset_state(), m(x), m(x + 1))[-1]),
    'LayerNormalization': (lambda: L.LayerNormalization(6), lambda m, x: m(x)),
    'BatchNormalization': (lambda: L.BatchNormalization(6), lambda m, x: m(x)),
}


@pytest.mark.parametrize('char', 'fd')
@pytest.mark.parametrize('name', LINKS)
def test_bits_of_links(name, char, monkeypatch):
    """All calls, forward and backward, give what CuPy's calls give."""
    make, call = LINKS[name]
    found = []
    for fused in (eager.fused, None):
        monkeypatch.setattr(kernels, 'fused', fused)
        with chainer.using_config('dtype', np.dtype(char)):
            np.random.seed(0)
            model = make().to_device('@cupy:0')
        steps = []
        for k in range(6):
            x = chainer.Variable(arrays(k, (5, 6), char)[0])
            model.cleargrads()
            y = call(model, x)
            F.sum(y * y).backward()
            steps += [y.array.get(), x.grad.get(), *(p.grad.get() for p in model.params())]
        found.append(steps)
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [p for p in programs() if p._trusted]


def test_layouts_settings_and_devices_are_told_apart():
    n = cupy.cuda.runtime.getDeviceCount()
    for seed in range(6):
        for shape, char, factor, device in (
                ((3, 4), 'f', 2, 0), ((2, 3), 'f', 2, 0), ((3, 4), 'd', 2, 0), ((3, 4), 'f', 2., 0),
                ((3, 4), 'e', 2, 0), ((3, 4), 'f', 2, n - 1)):
            with cupy.cuda.Device(device):
                x, y = arrays(seed, shape, char, device)
                for a, b in zip(smooth(x, y, factor=factor), plain(x, y, factor), strict=True):
                    assert a.dtype == b.dtype and a.device.id == device
                    np.testing.assert_array_equal(a.get(), b.get())
                a, b = smooth(x.T, y.T, factor=factor)[0], plain(x.T, y.T, factor)[0]
                assert a.strides == b.strides
    assert len(programs()) == (10 if n == 1 else 12)
    # What lies by columns is no kernel.
    assert [p._trusted for p in programs()] == [True, False] * (len(programs()) // 2)


def test_results_and_memory_belong_to_the_call():
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in 'ab']
    kept = []
    for k in range(8):
        with streams[k % 2]:
            x, y = arrays(k)
            kept.append((*smooth(x, y, factor=3), *plain(x, y, 3)))
    for a, b, c, d in kept:
        np.testing.assert_array_equal(a.get(), c.get())
        np.testing.assert_array_equal(b.get(), d.get())
    assert len({a.data.ptr for a, *_ in kept}) == 8


def test_other_bits_are_not_used(caplog):
    x, y = arrays()
    for _ in range(4):
        smooth(x, y, factor=2)
    (program,) = programs()
    program.run = lambda *args, _run=program.run: tuple(a * 2 for a in _run(*args))
    with caplog.at_level(logging.WARNING, 'chainwright'):
        for _ in range(2):
            np.testing.assert_array_equal(
                smooth(x, y, factor=2)[0].get(), plain(x, y, 2)[0].get())
    assert program.run is None
    assert [r.message for r in caplog.records] == [
        'smooth stays calls of CuPy: its kernels gave other bits']


def test_a_first_run_that_fails(caplog):
    x, y = arrays()
    for _ in range(4):
        smooth(x, y, factor=2)
    (program,) = programs()

    def fails(*args):
        raise cupy.cuda.memory.OutOfMemoryError(512, 0)

    program.run = fails
    with caplog.at_level(logging.WARNING, 'chainwright'):
        for _ in range(2):
            np.testing.assert_array_equal(
                smooth(x, y, factor=2)[0].get(), plain(x, y, 2)[0].get())
    assert program.run is None
    assert [r.message for r in caplog.records] == ['smooth stays calls of CuPy']


def test_what_does_not_compile(caplog, monkeypatch):
    original = CudaTarget.program

    def wrong(self, *args):
        program = original(self, *args)
        wrong = program.source.replace('expf(', 'no_such_function(')
        return dataclasses.replace(program, source=wrong)

    monkeypatch.setattr(CudaTarget, 'program', wrong)
    x, y = arrays()
    with caplog.at_level(logging.WARNING, 'chainwright'):
        for _ in range(6):
            smooth(x, y, factor=2)
    (program,) = programs()
    assert program.run is None and [r.message for r in caplog.records] == [
        'smooth stays calls of CuPy']


def test_a_capture_of_the_users_is_left_alone():
    """A first run is compared on the host, which would end a capture."""
    x, y = arrays()
    for _ in range(4):
        smooth(x, y, factor=2)
    assert programs()[0].run is not None
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        made = smooth(x, y, factor=2)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    np.testing.assert_array_equal(made[0].get(), plain(x, y, 2)[0].get())


def test_what_stays_with_cupy(monkeypatch):
    monkeypatch.setattr(OPTIONS, 'target', lambda: 'numpy')
    x, y = arrays()
    for _ in range(5):
        smooth(x, y, factor=2)
    assert not programs()
    monkeypatch.setattr(OPTIONS, 'target', lambda: 'native')
    with pytest.raises(TypeError):
        smooth(x, np.ones((3, 4), 'f'), factor=2)
    assert not programs()
