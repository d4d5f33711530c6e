"""Programs as CUDA graphs: the bits of the programs, and what happens where there can be none."""
import logging
import threading

import numpy as np
import pytest
from device_models import GPU, pair, programs

import chainer
import chainer.functions as F
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
        return found + [cuda.to_cpu(p.array).tobytes() for p in self.model.params()]


def graphed(model):
    """What is captured of the programs, forward and backward."""
    return [g for program in programs(model) for g in program._schedule.cuda_graphs]


def trained(name, steps=14, check='never'):
    plain, compiled, shape = pair(name)
    with chainer.using_config('static_check', check):
        expected, found = Trainer(plain, shape).run(steps), Trainer(compiled, shape).run(steps)
    return found == expected, compiled


@pytest.mark.parametrize('name', ['mlp', 'attention', 'recurrent', 'deviation'])
def test_same_bits(name):
    """Products go through a handle of their own, whose bits are those of CuPy's product."""
    equal, compiled = trained(name)
    assert equal
    for program in graphed(compiled):
        assert program.why_not is None and program.graphs == 1 and program.launches > 2


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
        library.cublasGemmEx = lambda *args: 13
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


def test_a_graph_that_does_something_else(caplog, monkeypatch):
    """Its first launch is compared with the program, whose results stay."""

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
        equal, compiled = trained('attention')
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


@pytest.mark.parametrize(('op', 'why'), [
    ('write', 'write is none of the steps'), ('host', 'host is none of the steps')])
def test_what_does_more_than_to_launch(op, why):
    from chainwright.ir import Graph, make, placeholder

    x = placeholder('x', (3,), 'f')
    nodes = [make('exp', x)]
    step = object.__new__(type(nodes[0]))
    for name in nodes[0].__slots__:
        object.__setattr__(step, name, getattr(nodes[0], name))
    object.__setattr__(step, 'op', op)
    with pytest.raises(graphs.NotCaptured, match=why):
        graphs.launches_of(Graph((x,), (*nodes, step), (nodes[0],), 'f'))


