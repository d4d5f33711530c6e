"""Training on CuPy arrays: converters, updaters, hooks, serializers, and what mistakes say."""
import contextlib
import multiprocessing
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.backends import cuda
from chainer.dataset import convert
from chainer.training.updaters import multiprocess_parallel_updater

cupy = cuda.cupy
SIMULATED = 'simulated' in cupy.__file__


def dataset(n=24):
    rng = np.random.RandomState(0)
    x = rng.standard_normal((n, 4)).astype('f')
    return chainer.datasets.TupleDataset(x, x[:, :3].argmax(1).astype('i'))


def classifier():
    np.random.seed(0)
    return L.Classifier(chainer.Sequential(L.Linear(4, 8), F.relu, L.Linear(8, 3)))


def trained(make_updater, epochs=3):
    model = classifier()
    optimizer = chainer.optimizers.Adam().setup(model)
    iterator = chainer.iterators.SerialIterator(dataset(), 8, shuffle=False)
    updater = make_updater(iterator, optimizer)
    trainer = training.Trainer(updater, (epochs, 'epoch'))
    trainer.run()
    return model, [cuda.to_cpu(p.array) for p in model.params()]


def test_standard_updater():
    _, host = trained(lambda i, o: training.updaters.StandardUpdater(i, o))

    def updater(iterator, optimizer):
        optimizer.target.to_device('@cupy:0')
        return training.updaters.StandardUpdater(iterator, optimizer, device='@cupy:0')

    model, there = trained(updater)
    assert model.xp is cupy
    for a, b in zip(there, host, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


class OnTwoDevices(chainer.Chain):
    """Parts on two devices, as Chainer's guide spreads a model; their weights come later."""

    def __init__(self, places):
        super().__init__()
        self.places = places
        with self.init_scope():
            self.first, self.second = (L.Linear(None, 5, initialW=.1 * k) for k in (1, 2))
            self.last = L.Linear(5, 3, initialW=np.linspace(-1, 1, 15).reshape(3, 5))
        self.parts = self.first, self.second, self.last
        for part, place in zip(self.parts, places, strict=True):
            part.to_device(place)

    def forward(self, x):
        here, there, _ = self.places
        h = self.second(F.copy(x, there))
        return self.last(F.tanh(self.first(x) * F.copy(h, here)))


class OnTwoDevicesCompiled(OnTwoDevices):
    forward = chainer.static_graph(OnTwoDevices.forward)


@pytest.mark.parametrize('compiled', [False, True])
def test_models_on_several_devices_stay_so(compiled):
    """``device=0`` sends batches there, and leaves the parts of the model on their devices."""
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device')
    found = []
    for places, device in ((['@numpy'] * 3, -1), (['@cupy:0', '@cupy:1', '@cupy:0'], 0)):
        model = L.Classifier((OnTwoDevicesCompiled if compiled else OnTwoDevices)(places))
        optimizer = chainer.optimizers.Adam().setup(model)
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(.01))
        optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.))
        iterator = chainer.iterators.SerialIterator(dataset(), 8, shuffle=False)
        warns = pytest.warns(UserWarning, match=r'the updater leaves .*@cupy:1.* where it is')
        with warns if device == 0 else contextlib.nullcontext():
            updater = training.updaters.StandardUpdater(iterator, optimizer, device=device)
        training.Trainer(updater, (3, 'epoch')).run()
        assert [part.device.name for part in model.predictor.parts] == places
        for part in model.predictor.parts:
            assert part.device == chainer.backend.get_device_from_array(part.W.array)
        found.append([cuda.to_cpu(p.array) for _, p in sorted(model.namedparams())])
    for there, host in zip(*found[::-1], strict=True):
        np.testing.assert_allclose(there, host, rtol=1e-4, atol=1e-6)


def test_parallel_updater():
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device')
    _, host = trained(lambda i, o: training.updaters.StandardUpdater(i, o))
    _, there = trained(lambda i, o: training.updaters.ParallelUpdater(
        i, o, devices={'main': 0, 'second': 1}))
    for a, b in zip(there, host, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize('how', ['fork', 'spawn'])
def test_multiprocess_parallel_updater(how):
    """In a process of its own, since none of these here could be forked for a GPU any more."""
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip('this system does not fork')
    if not has_nccl_and_two_devices():
        pytest.skip('NCCL and two devices are needed')
    run('device_processes.py', how)


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, pathlib.Path(__file__).with_name(script), *arguments],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def has_nccl_and_two_devices():
    return (training.updaters.MultiprocessParallelUpdater.available()
            and cupy.cuda.runtime.getDeviceCount() > 1)


class Failing:
    """A data set that cannot be read on in the process that has it."""

    def __len__(self):
        return 8

    def __getitem__(self, k):
        if k == 6:
            raise OSError('the disk is gone')
        return dataset(8)[k]


@pytest.mark.parametrize(('second', 'data', 'error'), [
    (5, dataset(8), 'invalid device'), (1, Failing(), 'the disk is gone')])
def test_processes_that_fail(second, data, error):
    """What went wrong there is raised here; nobody waits for good."""
    if not SIMULATED or multiprocessing.get_start_method() != 'fork':
        pytest.skip('a process that has used a GPU cannot be forked')
    optimizer = chainer.optimizers.SGD().setup(classifier())
    updater = training.updaters.MultiprocessParallelUpdater(
        [chainer.iterators.SerialIterator(d, 4, shuffle=False) for d in (dataset(8), data)],
        optimizer, devices=[0, second])
    trainer = training.Trainer(updater, (2, 'iteration'))
    with pytest.raises(RuntimeError, match=f'(?s)the process for GPU {second} failed:.*{error}'):
        trainer.run()
    assert not updater._workers


def test_without_the_library_of_nccl(monkeypatch):
    """CuPy 14 has the module then, without a communicator."""
    monkeypatch.setattr(
        cupy.cuda, 'nccl', types.SimpleNamespace(available=False), raising=False)
    multiprocess_parallel_updater._nccl.cache_clear()
    try:
        assert not training.updaters.MultiprocessParallelUpdater.available()
        with pytest.raises(RuntimeError, match='NCCL is not enabled.*pip install nvidia-nccl-cu13'):
            training.updaters.MultiprocessParallelUpdater([], None, devices=[0])
    finally:
        multiprocess_parallel_updater._nccl.cache_clear()


@pytest.mark.parametrize('char', 'efd')
def test_nccl_of_one_process(char):
    """The calls of it that are made, as far as one GPU can show them."""
    if not training.updaters.MultiprocessParallelUpdater.available():
        pytest.skip('NCCL is needed')
    from cupy.cuda import nccl

    comm = nccl.NcclCommunicator(1, nccl.get_unique_id(), 0)
    array = cupy.arange(5).astype(char)
    multiprocess_parallel_updater._all(comm.reduce, array, array, root=0)
    multiprocess_parallel_updater._all(comm.bcast, array, root=0)
    assert array.get().tolist() == [0, 1, 2, 3, 4]
    comm.destroy()


def test_chainermn_of_one_process():
    if not training.updaters.MultiprocessParallelUpdater.available():
        pytest.skip('NCCL is needed')
    pytest.importorskip('mpi4py')
    run('device_chainermn.py')


@pytest.mark.parametrize('converter', [
    convert.concat_examples, convert.ConcatWithAsyncTransfer()])
def test_converters(converter):
    batch = [dataset()[k] for k in range(5)]
    x, t = converter(batch, 0)
    assert isinstance(x, cupy.ndarray) and isinstance(t, cupy.ndarray)
    np.testing.assert_array_equal(x.get(), [b[0] for b in batch])
    assert t.dtype == np.int32


def test_converter_to_and_from():
    batch = [dataset()[k] for k in range(5)]
    (x, t) = convert.concat_examples(batch, device=chainer.get_device('@cupy:0'))
    back = convert.to_device(-1, x)
    assert type(back) is np.ndarray
    padded = convert.concat_examples([np.ones(2, 'f'), np.ones(3, 'f')], 0, padding=0)
    np.testing.assert_array_equal(padded.get(), [[1, 1, 0], [1, 1, 1]])


def test_models_are_saved_from_the_device(tmp_path):
    model = classifier()
    model.to_device('@cupy:0')
    chainer.serializers.save_npz(tmp_path / 'model', model)
    other = classifier()
    for p in other.params():
        p.array[...] = 0
    chainer.serializers.load_npz(tmp_path / 'model', other)
    for a, b in zip(model.params(), other.params(), strict=True):
        np.testing.assert_array_equal(a.array.get(), b.array)
    there = classifier()
    there.to_device('@cupy:0')
    chainer.serializers.load_npz(tmp_path / 'model', there)
    assert all(isinstance(p.array, cupy.ndarray) for p in there.params())


def test_moving_to_and_fro():
    model = classifier()
    with pytest.warns(DeprecationWarning):
        model.to_gpu()
    assert model.xp is cupy and model.device.name == '@cupy:0'
    with pytest.warns(DeprecationWarning):
        model.to_cpu()
    assert model.xp is np and all(type(p.array) is np.ndarray for p in model.params())
    if cupy.cuda.runtime.getDeviceCount() > 1:
        model.to_device('@cupy:1')
        assert {p.array.device.id for p in model.params()} == {1}
        model.to_device('@cupy:0')
        assert {p.array.device.id for p in model.params()} == {0}


def test_timer_and_memory_hooks():
    model = classifier()
    model.to_device('@cupy:0')
    timer, memory = chainer.function_hooks.TimerHook(), (
        chainer.function_hooks.CupyMemoryProfileHook())
    x, t = cupy.ones((6, 4), 'f'), cupy.zeros(6, 'i')
    with timer, memory:
        model(x, t).backward()
    assert {'LinearFunction', 'ReLU'} <= set(timer.summary())
    assert memory.total_used_bytes() > 0
    assert {'LinearFunction', 'ReLU'} <= {name for name, *_ in memory.call_history}


def test_profiler_marks_functions_and_programs():
    """Ranges are named after functions, and after compiled methods; they are closed again."""
    if not SIMULATED:
        pytest.skip('what a real device is told is not written down')
    model = classifier()
    model.to_device('@cupy:0')
    x, t = cupy.ones((6, 4), 'f'), cupy.zeros(6, 'i')
    del cupy.cuda.ranges[:]
    with chainer.function_hooks.CUDAProfileHook():
        model(x, t).backward()
    names = [entry[1] for entry in cupy.cuda.ranges if entry[0] == 'push']
    assert names[:2] == ['LinearFunction.forward', 'ReLU.forward']
    assert 'ReLU.backward' in names
    assert len(names) == sum(entry == ('pop',) for entry in cupy.cuda.ranges)

    class Compiled(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return F.tanh(F.exp(x) * 2)

    compiled = Compiled()
    compiled.to_device('@cupy:0')
    with chainer.using_config('static_check', 'never'):
        for _ in range(6):
            x = chainer.Variable(cupy.ones((3, 4), 'f'))
            del cupy.cuda.ranges[:]
            F.sum(compiled(x)).backward()
    name = f'{test_profiler_marks_functions_and_programs.__name__}.Compiled.forward'
    assert cupy.cuda.ranges == [
        ('push', name), ('pop',), ('push', f'{name} backward'), ('pop',)]


def test_profiler_marks_parts_of_programs():
    """With ``compiled=True`` programs run, and their parts have the names of the functions."""
    if not SIMULATED:
        pytest.skip('what a real device is told is not written down')

    class Compiled(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(4, 3)

        @chainer.static_graph
        def forward(self, x):
            return F.tanh(F.exp(self.l(x)) * 2)

    compiled, timer = Compiled(), chainer.function_hooks.TimerHook(compiled=True)
    compiled.to_device('@cupy:0')
    found = []
    with chainer.using_config('static_check', 'never'):
        for k in range(6):
            x = chainer.Variable(cupy.full((3, 4), k, 'f'))
            del cupy.cuda.ranges[:]
            if k == 5:
                with chainer.function_hooks.CUDAProfileHook(compiled=True):
                    y = compiled(x)
                    y.array.get()
            else:
                with timer if k == 4 else contextlib.nullcontext():
                    y = compiled(x)
                    y.array.get()
            found.append(y.array.tolist())
            ranges = list(cupy.cuda.ranges)
    name = f'{test_profiler_marks_parts_of_programs.__name__}.Compiled.forward'
    fused = 'LinearFunction+exp+_ * 2+Tanh'
    # A transpose, a product, memory for the result, and one kernel.
    parts = ['LinearFunction', 'LinearFunction', 'Tanh', fused]
    inner = [entry for part in parts for entry in (('push', part), ('pop',))]
    assert ranges == [('push', name), *inner, ('pop',)]
    timed = [part for part, _ in timer.call_history if part != name]
    assert timed == parts * (len(timed) // 4)  # the call is read for a proof, too
    for k, values in enumerate(found):
        with chainer.using_config('use_static_graph', False):
            assert values == compiled(cupy.full((3, 4), k, 'f')).array.tolist()
    (program,) = compiled.schedule_manager.programs
    assert program.profiles['forward'].calls == len(timed) // 4 + 1 > 1
    assert 'Tanh' in str(program.profiles['forward'])


def test_evaluator_and_reports(tmp_path):
    model = classifier()
    model.to_device('@cupy:0')
    iterator = chainer.iterators.SerialIterator(dataset(), 8, repeat=False, shuffle=False)
    found = training.extensions.Evaluator(iterator, model, device='@cupy:0')()
    assert set(found) == {'main/loss', 'main/accuracy'}
    assert 0 < float(found['main/loss']) < 3


@pytest.mark.parametrize('places', [(0, 1), (1, 0), (-1, 0), (0, -1), (1, 1)])
def test_summaries_of_several_devices(places):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device')
    summary = chainer.DictSummary()
    for value, place in zip((1., 3.), places, strict=True):
        device = chainer.get_device('@numpy' if place < 0 else f'@cupy:{place}')
        summary.add({'x': device.send(np.array(value, 'f')),
                     'y': (device.send(np.array(value, 'f')), device.send(np.array(2.)))})
    found = {name: float(value) for name, value in summary.make_statistics().items()}
    assert found == {'x': 2., 'x.std': 1., 'y': 2., 'y.std': 1.}


# -- mistakes


def test_arrays_of_two_kinds():
    model = classifier()
    model.to_device('@cupy:0')
    x, t = dataset()[:4][0][0][None], np.zeros(1, 'i')
    with pytest.raises(TypeError, match=r'mix arrays of different kinds.*to_gpu'):
        model(x, t)
    with pytest.raises(TypeError, match='mix arrays'):
        chainer.Variable(cupy.ones(3)) + np.ones(3)


def test_arrays_on_two_devices():
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device')
    x, y = (chainer.get_device(f'@cupy:{k}').send(np.ones(3, 'f')) for k in (0, 1))
    with pytest.raises((ValueError, TypeError), match='device'):
        chainer.Variable(x) * y


def test_no_such_device():
    n = cupy.cuda.runtime.getDeviceCount()
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match='invalid device'):
        chainer.get_device(f'@cupy:{n}').send(np.ones(3))


def test_out_of_memory():
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(1 << 12)
    with cupy.cuda.using_allocator(pool.malloc):
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match='Out of memory allocating'):
            cuda.to_gpu(np.ones(1 << 12))


def test_statistics_of_ones_own():
    """Functions that give several numbers give them as arrays on the device."""
    from chainer.training import extensions

    model = classifier()
    model.to_device('@cupy:0')
    extension = extensions.ParameterStatistics(model, statistics={
        'sum': lambda x: x.sum(), 'both': lambda x: (x.min(), x.max()), 'three': lambda x: x[:3]})
    array = cupy.arange(4.)
    found = dict(extension._describe(array, model, '/w', 'data'))
    assert [float(value) for value in found.values()] == [6, 0, 3, 0, 1, 2]
