"""Programs as CUDA graphs: the bits of the programs, and what happens where there can be none."""
import copy
import logging
import threading

import numpy as np
import pytest
from device_models import GPU, Model, pair, programs

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda
from chainwright.runtime.cuda import blas, graphs

cupy = cuda.cupy
SIMULATED = 'simulated' in cupy.__file__
only_simulated = pytest.mark.skipif(not SIMULATED, reason='of the simulated device')


@pytest.fixture(autouse=True)
def handles_of_this_test(monkeypatch):
    monkeypatch.setattr(blas.Blas, '_known', {})


class Trainer:
    """Steps of training whose arrays are gone when they are over."""

    def __init__(self, model, shape):
        model.to_device(GPU)
        self.model, self.shape = model, shape
        self.optimizer = chainer.optimizers.MomentumSGD(0.05).setup(model)
        self.rng = np.random.RandomState(1)

    def step(self):
        send = self.model.device.send
        x = chainer.Variable(send(self.rng.standard_normal(self.shape).astype('f')))
        y = self.model(x)
        weights = send(self.rng.standard_normal(y.shape).astype('f'))
        self.model.cleargrads()
        F.sum(y * weights).backward()
        self.optimizer.update()
        return y.array, x.grad

    def run(self, steps):
        found = []
        for _ in range(steps):
            made = self.step()
            found += [cuda.to_cpu(a).tobytes() for a in (
                *made, *(p.grad for p in self.model.params()))]
            del made
        state = chainer.serializers.DictionarySerializer()
        state.save(self.model)  # parameters and running statistics
        return found + [value.tobytes() for _, value in sorted(state.target.items())]


def graphed(model):
    """What is captured of the programs, forward and backward."""
    return [g for program in programs(model) for g in program._schedule.cuda_graphs]


def trained(name, steps=14, check='never'):
    plain, compiled, shape = pair(name)
    with chainer.using_config('static_check', check):
        expected, found = Trainer(plain, shape).run(steps), Trainer(compiled, shape).run(steps)
    return found == expected, compiled


@pytest.mark.parametrize('name', ['mlp', 'attention', 'recurrent', 'deviation', 'convolutions'])
def test_same_bits(name):
    """Products go through a handle of their own, whose bits are those of CuPy's product."""
    equal, compiled = trained(name)
    assert equal
    for program in graphed(compiled):
        assert program.why_not is None and program.launches > 2
        assert program.graphs == 1 or not SIMULATED  # CuPy's pools may let memory take turns


def test_products_within_library_functions():
    """Convolutions whose products are stacks of stacks, and stacks that share a matrix."""
    links = {'a': L.Convolution2D(4, 6, 3, pad=1, groups=2), 'b': L.Convolution2D(6, 4, 1),
             'c': L.Convolution2D(4, 4, 1, groups=2), 'd': L.Deconvolution2D(4, 2, 2, stride=2)}
    plain, compiled = both(lambda self, x: self.d(self.c(F.tanh(self.b(self.a(x))))), links)
    shape = 3, 4, 5, 5
    with chainer.using_config('static_check', 'never'):
        assert Trainer(plain, shape).run(14) == Trainer(compiled, shape).run(14)
    for program in graphed(compiled):
        assert program.why_not is None and program.launches > 2


@pytest.mark.parametrize('name', ['vectors', 'rows', 'joined'])
def test_what_cupy_does_in_its_own_way(name):
    """Products of vectors, and what goes through tables of the host's: here it is in graphs."""
    body = {
        'vectors': lambda self, x: F.tanh(self.a(x)) * F.mean_squared_error(F.tanh(self.b(x)), x),
        'rows': lambda self, x: F.matmul(self.a(x)[0], self.b(x)) + self.b(x),
        'joined': lambda self, x: F.concat(
            [F.tanh(self.a(x)), *F.separate(F.stack([self.b(x)] * 9), 0), x], axis=1),
    }[name]
    plain, compiled = both(body, {'a': L.Linear(6, 6), 'b': L.Linear(6, 6)})
    with chainer.using_config('static_check', 'never'):
        assert Trainer(plain, (6, 6)).run(14) == Trainer(compiled, (6, 6)).run(14)
    for program in graphed(compiled):
        assert program.why_not is None and program.launches > 2


def both(body, links):
    np.random.seed(0)
    plain = Model(body, links, False)
    compiled = copy.deepcopy(plain)
    compiled._compiled = True
    return plain, compiled


def normalized(self, x):
    return self.bn(F.tanh(x)) * 2


@pytest.mark.parametrize('how', ['moves', 'no memory'])
def test_statistics_without_a_graph(how, monkeypatch):
    """They are written once in each call, whatever is tried on the way."""
    plain, compiled = both(normalized, {'bn': L.BatchNormalization(4)})
    trainers = Trainer(plain, (5, 4)), Trainer(compiled, (5, 4))
    run, held = graphs.GraphedProgram._run, []

    def short(self, arguments, inner, given):
        made = run(self, arguments, inner, given)
        if self.products._stream is not None:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1, 1)
        return made

    if how == 'no memory':
        monkeypatch.setattr(graphs.GraphedProgram, '_run', short)
    found = []
    with chainer.using_config('static_check', 'never'):
        for trainer in trainers:
            for _ in range(14):
                if how == 'moves':
                    held.append(trainer.model.bn.avg_var)
                    trainer.model.bn.avg_var = trainer.model.bn.avg_var.copy()
                trainer.step()
            found.append(trainer.model.bn.avg_mean.tobytes() + trainer.model.bn.avg_var.tobytes())
    assert found[0] == found[1]
    forward, _ = graphed(compiled)
    assert {'moves': 'writes to is another one', 'no memory': 'no memory'}[how] in forward.why_not


def test_copies_from_the_host():
    """CuPy makes them through memory that it uses again, where a graph would still look."""
    boxes = np.array([[0, 0, 3, 3], [1, 1, 4, 4]], 'f')

    def body(self, x):
        there = x.xp.asarray(boxes)
        y = F.roi_average_align_2d(F.tanh(x), there, x.xp.zeros(2, 'i'), 2, 1.0, 1)
        return F.tanh(y) * self.b

    plain, compiled = both(body, {'b': chainer.Parameter(np.ones(1, 'f'))})
    with chainer.using_config('static_check', 'never'):
        assert Trainer(plain, (1, 2, 5, 5)).run(14) == Trainer(compiled, (1, 2, 5, 5)).run(14)
    assert any('copies arrays from the host' in (g.why_not or '') for g in graphed(compiled))
    assert not any(g.launches for g in graphed(compiled))


@only_simulated
def test_a_program_is_one_launch():
    from cupy import _memory

    _, compiled, shape = pair('mlp')
    trainer = Trainer(compiled, shape)
    with chainer.using_config('static_check', 'never'):
        for _ in range(14):
            trainer.step()
        x = chainer.Variable(cupy.zeros(shape, 'f'))
        del _memory.events[:]
        assert compiled(x).array is not None
    launched = [event[:2] for event in _memory.events if event[0] in ('graph', 'launch')]
    assert launched == [('graph', 4)]


def test_results_that_are_kept_stay_as_they_are():
    plain, compiled, shape = pair('mlp')
    with chainer.using_config('static_check', 'never'):
        found = [[a for _ in range(12) for a in t.step()] for t in (
            Trainer(plain, shape), Trainer(compiled, shape))]
        compiled.cleargrads()
        again = Trainer(compiled, shape)
        for _ in range(8):
            again.step()
    for a, b in zip(*found, strict=True):
        assert a.tobytes() == b.tobytes()


def test_arguments_of_changing_places_and_layouts():
    """Parameters that are bound anew, arguments that are views: graphs are for addresses."""
    plain, compiled, shape = pair('mlp')
    trainers = Trainer(plain, shape), Trainer(compiled, shape)
    found = []
    with chainer.using_config('static_check', 'never'):
        for trainer in trainers:
            results, memory = [], cupy.zeros((80, 6), 'f')
            for k in range(24):
                if k in (12, 17):
                    trainer.model.l1.W.array = trainer.model.l1.W.array * 2
                if k > 18:
                    memory[k - 18:k + 14] = cupy.asarray(np.full(shape, k, 'f'))
                    trainer.model.cleargrads()
                    y = trainer.model(memory[k - 18:k + 14])
                    F.sum(y * y).backward()
                    results.append(trainer.model.l1.W.grad.tobytes())
                    del y
                results += [a.tobytes() for a in trainer.step()]
            found.append(results)
    assert found[0] == found[1]
    assert any(program.launches for program in graphed(compiled))


def test_where_addresses_go_on_changing(caplog, monkeypatch):
    monkeypatch.setattr(graphs, '_MISSES', 6)
    monkeypatch.setattr(graphs, '_STAYS', 100)  # nothing is copied
    held = []
    _, compiled, shape = pair('deviation')
    trainer = Trainer(compiled, shape)
    caplog.set_level(logging.INFO, 'chainwright')
    with chainer.using_config('static_check', 'never'):
        for _ in range(24):
            held.append(trainer.step())
    lines = [r.message for r in caplog.records if 'no CUDA graph' in r.message]
    assert len(lines) == len(set(lines)) == 2 and all('addresses' in line for line in lines)
    assert not any(program.graphs or program.launches for program in graphed(compiled))


def no_library(version):
    raise OSError('libcublas.so: cannot open shared object file')


@only_simulated
@pytest.mark.parametrize(('how', 'why'), [
    ('none', 'there is no cuBLAS to be found'), ('all', 'no function of cuBLAS gives the bits'),
    ('refuses', 'cuBLAS refuses, with status 13')])
def test_products_that_cannot_be_captured(how, why, caplog, monkeypatch):
    from cupy import _cublas

    library = _cublas.CuBlas()
    monkeypatch.setattr(blas, 'library', no_library if how == 'none' else lambda version: library)
    if how == 'all':
        library.product = lambda a, b, compute: np.matmul(a, b) * np.float32(1.000001)
    if how == 'refuses':
        library.cublasGemmEx = library.cublasSgemm_v2 = lambda *args: 13
    with caplog.at_level(logging.INFO, 'chainwright'):
        equal, compiled = trained('mlp')
    assert equal
    for program in graphed(compiled):
        assert why in program.why_not and not program.launches
    lines = [r.message for r in caplog.records if 'no CUDA graph' in r.message]
    assert len(lines) == 2 and all(why in line for line in lines)


@only_simulated
def test_the_way_of_a_product_is_the_one_with_cupys_bits(monkeypatch):
    from cupy import _cublas

    library = _cublas.CuBlas()
    library.product = lambda a, b, compute: np.matmul(a, b) * np.float32(
        1.000001 if compute == 68 else 1)
    monkeypatch.setattr(blas, 'library', lambda version: library)
    equal, compiled = trained('mlp')
    assert equal and all(program.launches for program in graphed(compiled))
    assert library.calls[-1] == 'gemm'


@pytest.mark.parametrize('name', ['attention', 'convolutions'])
def test_a_graph_that_does_something_else(name, caplog, monkeypatch):
    """Its first launch is compared with the program, whose results and statistics stay."""

    class Nothing:
        def launch(self, stream):
            pass

    record = graphs.Capture.record

    def lost(self, run):
        made = record(self, run)
        self._graph = Nothing()
        return made

    monkeypatch.setattr(graphs.Capture, 'record', lost)
    with caplog.at_level(logging.INFO, 'chainwright'):
        equal, compiled = trained(name)
    assert equal
    assert all('other values' in program.why_not for program in graphed(compiled))


@only_simulated
@pytest.mark.parametrize('error', ['wait', 'library', 'memory'])
def test_what_cannot_be_captured(error, caplog, monkeypatch):
    """CUDA refuses, the capture is lost, and the program runs as ever."""
    run = graphs.GraphedProgram._run

    def refused(self, arguments, inner, given):
        if cupy.cuda.get_current_stream().is_capturing():
            if error == 'wait':
                cupy.cuda.Device().synchronize()
            elif error == 'library':
                cupy.matmul(cupy.ndarray((1, 1), 'f', arguments[0].data), arguments[0][:1])
            else:
                cupy.cuda.MemoryPool().malloc(8)
        return run(self, arguments, inner, given)

    monkeypatch.setattr(graphs.GraphedProgram, '_run', refused)
    with caplog.at_level(logging.INFO, 'chainwright'):
        equal, compiled = trained('deviation')
    assert equal
    why = {'library': 'during stream capture is currently unsupported'}.get(
        error, 'cudaErrorStreamCaptureUnsupported')
    assert all(why in program.why_not for program in graphed(compiled))
    assert len([r for r in caplog.records if 'no CUDA graph' in r.message]) == 2
    x = cupy.ones(3)
    assert float((x + x).sum()) == 6, 'the device goes on'


@pytest.mark.parametrize('check', ['spaced', 'always'])
def test_programs_are_checked_as_ever(check):
    assert trained('mlp', 24, check)[0]


def test_switched_off():
    with chainer.using_config('static_cuda_graphs', False):
        equal, compiled = trained('mlp')
    assert equal and not any(program.graphs for program in graphed(compiled))


def test_memory_of_the_users_choice():
    """An allocator of the user's gives all memory."""
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        equal, compiled = trained('mlp')
    assert equal and not any(program.graphs for program in graphed(compiled))


def test_streams_have_graphs_of_their_own():
    plain, compiled, shape = pair('deviation')
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in 'ab']
    compiled.to_device(GPU)
    plain.to_device(GPU)
    send = compiled.device.send

    def infer(model, x):
        with chainer.no_backprop_mode():
            return model(x).array

    with chainer.using_config('static_check', 'never'):
        for k in range(30):
            x = send(np.random.RandomState(k).standard_normal(shape).astype('f'))
            cupy.cuda.Stream.null.synchronize()
            with streams[k % 2]:
                found = infer(compiled, x).get()
            assert found.tobytes() == infer(plain, x).tobytes()
    (forward,) = graphed(compiled)
    assert {key[0] for key in forward._graphs} == {stream.ptr for stream in streams}
    assert forward.launches > 4


def test_threads():
    plain, compiled, shape = pair('attention')
    for model in (plain, compiled):
        model.to_device(GPU)
    xs = [cupy.asarray(np.random.RandomState(k).standard_normal(shape).astype('f'))
          for k in range(6)]
    with chainer.no_backprop_mode():
        expected = [plain(x).array.tobytes() for x in xs]
    wrong = []

    def work():
        with chainer.no_backprop_mode(), chainer.using_config('static_check', 'never'):
            for k in range(60):
                if compiled(xs[k % 6]).array.tobytes() != expected[k % 6]:
                    wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_does_more_than_to_launch():
    from chainwright.ir import Graph, make, placeholder

    x = placeholder('x', (3,), 'f')
    nodes = [make('exp', x)]
    step = object.__new__(type(nodes[0]))
    for name in nodes[0].__slots__:
        object.__setattr__(step, name, getattr(nodes[0], name))
    object.__setattr__(step, 'op', 'host')
    with pytest.raises(graphs.NotCaptured, match='host is none of the steps'):
        graphs.launches_of(Graph((x,), (*nodes, step), (nodes[0],), 'f'))


