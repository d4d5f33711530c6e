"""Compiled methods on CuPy arrays: bit for bit what define-by-run on CuPy arrays gives."""
import copy
import logging

import numpy as np
import pytest
from device_models import GPU, MODELS, Model, pair, programs, train
from device_rows import has_same_bits
from trust import decorated_class
from written_arrays import USES, make_chain
from written_views import VIEWS, WRITTEN, gradients
from written_views import pair as pair_of_views

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.backends import cuda
from chainer.graph_optimizations import _piece

cupy = cuda.cupy
SIMULATED = 'simulated' in cupy.__file__


@pytest.mark.parametrize('name', MODELS)
def test_same_bits(name):
    plain, compiled, shape = pair(name)
    with chainer.using_config('static_check', 'never'):
        expected, found = train(plain, shape), train(compiled, shape)
    for a, e in zip(found, expected, strict=True):
        assert a.tobytes() == e.tobytes() and a.dtype == e.dtype
    assert compiled.schedule_manager.report()[0].hits == 4
    host = train(pair(name)[0], shape, device='@numpy')
    for a, e in zip(found, host, strict=True):
        np.testing.assert_allclose(a, e, rtol=2e-4, atol=1e-4)  # of gradients that cancel out


def test_half_precision():
    with chainer.using_config('dtype', np.float16), chainer.using_config('static_check', 'never'):
        plain, compiled, shape = pair('mlp')
        expected = train(plain, shape, dtype='e')
        found = train(compiled, shape, dtype='e')
    for a, e in zip(found, expected, strict=True):
        assert a.dtype == np.float16 and a.tobytes() == e.tobytes()
    assert '__half2float(' in programs(compiled)[0].source


def test_source_has_the_kernels_with_the_lines_of_the_user():
    _, compiled, shape = pair('mlp')
    train(compiled, shape)
    (program,) = programs(compiled)
    source = program.source
    assert 'extern "C" __global__ void kernel0(' in source
    assert 'float t1 = maximum(t0, c0);' in source and 'device_models.py:' in source
    assert "module = cp.RawModule(code=CUDA, options=OPTIONS)" in source
    assert "-fmad=false" in source and "-lineinfo" in source
    assert program.listing == program.llvm == ''


def test_device_stays_busy():
    """Programs neither wait for the device nor copy to or from it, and launch few kernels."""
    if not SIMULATED:
        pytest.skip('what a real device does is not written down')
    from cupy import _memory

    _, compiled, shape = pair('mlp')
    train(compiled, shape)
    x = chainer.Variable(cupy.ones(shape, 'f'))
    with chainer.using_config('static_check', 'never'):
        compiled(x)
        del _memory.events[:]
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            y = compiled(x)
        events = list(_memory.events)
    assert events == [('launch', events[0][1], stream.ptr)]
    assert isinstance(y.array, cupy.ndarray)


def test_streams_have_memory_of_their_own():
    """What one stream computes with is not overwritten by a call in another."""
    from chainwright.runtime.cuda.schedule import StreamPool

    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    made = iter([('first',), ('second',), ('third',)])
    pool = StreamPool(lambda: next(made), cupy.cuda.get_current_stream)
    with streams[0]:
        first = pool.take()
    with streams[1]:
        pool.give(first)
        assert pool.take() == ('second',)
    with streams[0]:
        assert pool.take() is first and pool.take() == ('third',)


def test_what_was_lent_comes_back_to_its_stream():
    from chainwright.runtime import Kept
    from chainwright.runtime.cuda.schedule import StreamPool

    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    made = iter([('first',), ('second',)])
    pool, holder = StreamPool(lambda: next(made), cupy.cuda.get_current_stream), Kept(())
    with streams[0]:
        first = pool.take()
        pool.lend(first, holder)
    del holder
    with streams[1]:
        assert pool.take() == ('second',)
    with streams[0]:
        assert pool.take() is first


def test_on_the_second_device():
    plain, compiled, shape = pair('mlp')
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip('one device')
    expected = train(plain, shape)
    found = train(compiled, shape, device='@cupy:1')
    for a, e in zip(found, expected, strict=True):
        assert a.tobytes() == e.tobytes()
    assert compiled.schedule_manager.report()[0].hits == 4
    # The same method goes on with arrays that are elsewhere.
    compiled.to_device(GPU)
    plain.to_device('@numpy')
    again = compiled(cupy.ones(shape, 'f')).array
    np.testing.assert_allclose(again.get(), plain(np.ones(shape, 'f')).array, rtol=1e-5, atol=1e-6)


def test_arguments_written_after_their_use():
    """Programs run late, on what the arrays were when the functions were applied."""
    links = {'l': L.Linear(4, 4)}

    def body(self, x):
        h = F.tanh(self.l(x)) * 2
        x.array[...] = 7
        return F.exp(h) + 1

    np.random.seed(0)
    plain = Model(body, links, False)
    compiled = copy.deepcopy(plain)
    compiled._compiled = True
    for model in (plain, compiled):
        model.to_device(GPU)
    for k in range(6):
        values = np.random.RandomState(k).randn(3, 4).astype('f')
        a, b = (model(chainer.Variable(cupy.asarray(values))) for model in (plain, compiled))
        assert a.array.get().tobytes() == b.array.get().tobytes()


def test_draws_stay_define_by_run_between_programs():
    def body(self, x):
        return F.sigmoid(F.dropout(F.relu(self.l(x)), .5)) * 2

    np.random.seed(0)
    plain = Model(body, {'l': L.Linear(4, 8)}, False)
    compiled = copy.deepcopy(plain)
    compiled._compiled = True
    results = []
    for model in (plain, compiled):
        model.to_device(GPU)
        cupy.random.seed(3)
        results.append([model(cupy.ones((5, 4), 'f')).array.get() for _ in range(6)])
    for a, b in zip(*results, strict=True):
        assert a.tobytes() == b.tobytes()
    assert 'random' in str(compiled.schedule_manager.report()[0])


def test_xp_of_pending_variables():
    seen = []

    def body(self, x):
        h = self.l(x)
        seen.append((chainer.backend.get_array_module(h), h.xp, h.device.name))
        return F.relu(h) + 1

    compiled = Model(body, {'l': L.Linear(4, 8)}, True)
    compiled.to_device(GPU)
    for _ in range(5):
        compiled(cupy.ones((5, 4), 'f'))
    assert set(seen) == {(cupy, cupy, GPU)}


def test_kernels_that_do_not_compile(monkeypatch, caplog):
    """Define-by-run goes on, and the log says what the compiler said."""
    from chainwright.codegen.cuda_target import ops

    wrong = ops.FORMS['maximum']._replace(text='no_such_function({0}, {1})')
    monkeypatch.setitem(ops.FORMS, 'maximum', wrong)
    plain, compiled, shape = pair('mlp')
    with caplog.at_level(logging.WARNING, 'chainwright'):
        expected, found = train(plain, shape), train(compiled, shape)
    for a, e in zip(found, expected, strict=True):
        assert a.tobytes() == e.tobytes()
    assert 'do not compile' in caplog.text and 'no_such_function' in caplog.text
    assert compiled.schedule_manager.report()[0].hits == 0


def test_out_of_memory():
    """A program that gets no memory leaves the call to define-by-run, whose error passes."""
    _, compiled, shape = pair('mlp')
    train(compiled, shape)
    x = cupy.ones(shape, 'f')
    compiled.schedule_manager.end_forward()
    pool = cupy.cuda.MemoryPool()
    pool.set_limit(512)
    with cupy.cuda.using_allocator(pool.malloc):
        with pytest.raises(cupy.cuda.memory.OutOfMemoryError, match='Out of memory'):
            compiled(x)
    assert compiled(x).shape == (32, 3)


@pytest.mark.parametrize('large', [False, True])
@pytest.mark.parametrize('name', USES)
def test_arrays_written_before_backward(name, large, monkeypatch):
    monkeypatch.setattr(_piece, '_LARGE', -1 if large else 1 << 40)
    make, found = make_chain(USES[name], cupy), []
    for make_class in (make, lambda: decorated_class(make)):  # which changes the class
        np.random.seed(7)
        model = make_class()().to_device(GPU)
        found.append([])
        for k in range(12):
            model.cleargrads()
            y, x = model.step(k)
            arrays = y.array, x.grad, y.grad, *(p.grad for p in model.params())
            found[-1] += [a.get() for a in arrays if a is not None]
    assert len(found[0]) == len(found[1])
    assert all(has_same_bits(a, e, model) for e, a in zip(*found, strict=True))
    report, = model.schedule_manager.report()
    assert report.without_python + report.with_python > 4 and not report.failed_checks


@pytest.mark.parametrize('large', [False, True])
@pytest.mark.parametrize('written', WRITTEN)
@pytest.mark.parametrize('view', VIEWS)
def test_functions_that_retain_views_of_what_is_written(view, written, large, monkeypatch):
    if large:
        monkeypatch.setattr(_piece, '_LARGE', -1)
    for seed in (None, 1, 5):
        compiled, plain = pair_of_views(view, written)
        assert gradients(compiled, cupy, seed) == gradients(plain, cupy, seed), seed


def test_sums_without_an_order(monkeypatch, caplog):
    """The order of atomic operations is another one each time: last bits say nothing then."""
    if SIMULATED:
        from cupy import _ufunc

        monkeypatch.setattr(_ufunc.settings, 'shuffled', True)
    ids = cupy.asarray(np.random.RandomState(0).randint(0, 4, 400).astype('i'))
    model = Model(lambda self, x: F.tanh(self.embed(ids) * x), {'embed': L.EmbedID(5, 3)}, True)
    model.to_device(GPU)
    found = []
    with chainer.using_config('static_check', 'always'):
        for _ in range(8):
            model.cleargrads()
            x = chainer.Variable(cupy.asarray(np.random.RandomState(0).randn(400, 3).astype('f')))
            F.sum(model(x)).backward()
            found.append(model.embed.W.grad.get())
    assert 'distrusted' not in caplog.text
    report, = model.schedule_manager.report()
    assert report.hits > 4
    for gradient in found:
        np.testing.assert_allclose(gradient, found[0], rtol=1e-4, atol=1e-5)
    assert not SIMULATED or len({gradient.tobytes() for gradient in found}) > 1


# -- without their Python


class Perceptron(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.l2 = L.Linear(4, 5), L.Linear(5, 3)
        self.scale = 2.0
        self.to_device(GPU)

    def forward(self, x):
        return self.l2(F.tanh(self.l1(x)) * self.scale)


class CompiledPerceptron(Perceptron):
    forward = chainer.static_graph(Perceptron.forward)


def gradients_of(model, x):
    model.cleargrads()
    y = model(x)
    F.sum(y * y).backward()
    return [a.get().tobytes() for a in (y.array, *(p.grad for p in model.params()))]


def pair_of_perceptrons():
    np.random.seed(0)
    compiled = CompiledPerceptron()
    plain = Perceptron()
    plain.copyparams(compiled)
    return compiled, plain


def argument(k, device=GPU, shape=(6, 4)):
    values = np.random.RandomState(k).standard_normal(shape).astype('f')
    return chainer.Variable(chainer.get_device(device).send(values))


def without_python(model):
    return sum(report.without_python for report in model.schedule_manager.report())


def test_calls_without_python():
    compiled, plain = pair_of_perceptrons()
    for k in range(12):
        assert gradients_of(compiled, argument(k)) == gradients_of(plain, argument(k)), k
    assert without_python(compiled) >= 4


def changed_scale(models):
    for model in models:
        model.scale = 3.0


def changed_parameters(models):
    for model in models:
        model.l1.W.array *= 0.5
        model.l2.W.array = model.l2.W.array * 2


@pytest.mark.parametrize('change', [changed_scale, changed_parameters])
def test_what_proofs_rest_on_changes(change):
    compiled, plain = pair_of_perceptrons()
    for k in range(16):
        if k in (8, 12):
            change((compiled, plain))
        assert gradients_of(compiled, argument(k)) == gradients_of(plain, argument(k)), k
    assert without_python(compiled) >= 4


def test_other_devices_and_shapes_after_a_proof():
    compiled, plain = pair_of_perceptrons()
    for k in range(8):
        gradients_of(compiled, argument(k))
    assert without_python(compiled) >= 2
    x = argument(9, shape=(2, 4))
    assert gradients_of(compiled, x) == gradients_of(plain, argument(9, shape=(2, 4)))
    for device in ('@numpy', '@cupy:1'):
        if device == '@cupy:1' and cupy.cuda.runtime.getDeviceCount() < 2:
            continue
        with pytest.raises((TypeError, ValueError), match='device') as expected:
            plain(argument(3, device))
        with pytest.raises(type(expected.value), match='device'):
            compiled(argument(3, device))
    assert gradients_of(compiled, argument(5)) == gradients_of(plain, argument(5))
    for model in (compiled, plain):
        model.to_device('@numpy')
    x = np.ones((6, 4), 'f')
    for _ in range(8):
        assert compiled(x).array.tobytes() == plain(x).array.tobytes()
    before = without_python(compiled)
    for model in (compiled, plain):
        model.to_device(GPU)
    for k in range(4):
        assert gradients_of(compiled, argument(k)) == gradients_of(plain, argument(k)), k
    assert before >= 4


def test_draws_are_those_of_the_calls():
    """A call that is read for a proof draws nothing: CuPy's generators cannot be set back."""

    class Dropping(Perceptron):
        def forward(self, x):
            return self.l2(F.dropout(F.tanh(self.l1(x)) * self.scale, 0.5))

    class Compiled(Dropping):
        forward = chainer.static_graph(Dropping.forward)

    np.random.seed(0)
    models = Compiled(), Dropping()
    models[1].copyparams(models[0])
    found = []
    for model in models:
        cupy.random.seed(3)
        found.append([gradients_of(model, argument(k)) for k in range(14)])
        found[-1].append(cupy.random.uniform(size=3).tolist())
    assert found[0] == found[1]


def test_statistics_are_written_once_in_each_call():
    class Normalizing(Perceptron):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.bn = L.BatchNormalization(5)
            self.to_device(GPU)

        def forward(self, x):
            return self.l2(self.bn(self.l1(x)))

    class Compiled(Normalizing):
        forward = chainer.static_graph(Normalizing.forward)

    np.random.seed(0)
    models = Compiled(), Normalizing()
    models[1].copyparams(models[0])
    for k in range(14):
        found = [gradients_of(m, argument(k)) + [m.bn.avg_mean.tolist(), m.bn.avg_var.tolist()]
                 for m in models]
        assert found[0] == found[1], k
    (report,) = models[0].schedule_manager.report()
    assert 'BatchNormalization has an array that is no argument of it' in str(report)


@pytest.mark.parametrize('modes', ['rw', 'wrw', 'rw w', 'w rw'])
def test_statistics_are_read_and_written(modes):
    """In another mode they are only read, as arrays that somebody may hold."""
    class Normalizing(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.bn = L.BatchNormalization(4)
            self.to_device(GPU)

        def forward(self, x):
            for part in modes.split():
                for mode in part:
                    with chainer.using_config('train', mode == 'w'):
                        x = self.bn(x) + x
                x = x * float(x.array.sum() > 1e9) + x
            return x

    class Compiled(Normalizing):
        forward = chainer.static_graph(Normalizing.forward)

    models = Compiled(), Normalizing()
    for k in range(14):
        found = [gradients_of(m, argument(k)) + [m.bn.avg_mean.tolist(), m.bn.avg_var.tolist()]
                 for m in models]
        assert found[0] == found[1], k
    assert models[0].schedule_manager.report()[0].hits > 5
