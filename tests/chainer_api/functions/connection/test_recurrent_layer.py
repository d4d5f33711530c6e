"""Layers of recurrent networks: one function gives what small ones give."""
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.functions import _small
from chainer.functions.connection import _recurrent_layer
from chainwright.runtime.native import native_target

LINKS = [L.NStepLSTM, L.NStepBiLSTM, L.NStepGRU, L.NStepBiGRU, L.NStepRNNTanh, L.NStepBiRNNTanh,
         L.NStepRNNReLU, L.NStepBiRNNReLU]
LENGTHS = [(3, 5, 2, 5), (4, 4, 4), (1,), (1, 1), (6, 1)]


def gradients(link, xs, states):
    """Outputs, gradients, and gradients of the squares of gradients."""
    link.cleargrads()
    xs = [chainer.Variable(x) for x in xs]
    states = [chainer.Variable(s) for s in states]
    *finals, ys = link(*states, xs)
    loss = sum([F.sum(F.sin(y) * (k + 1)) for k, y in enumerate([*ys, *finals])])
    first = chainer.grad([loss], [*xs, *states], enable_double_backprop=True)
    sum([F.sum(g * g) for g in first], loss).backward()
    return [
        loss.array, *[g.array for g in first], *[x.grad for x in [*xs, *states]],
        *[p.grad for p in link.params()]]


@pytest.mark.parametrize('lengths', LENGTHS)
@pytest.mark.parametrize('cls', LINKS)
def test_second_derivatives_are_those_of_small_functions(cls, lengths):
    rng = np.random.RandomState(len(lengths))
    link = cls(2, 3, 4, 0.)
    for p in link.params():
        p.array = rng.standard_normal(p.shape)
    xs = [rng.standard_normal((n, 3)) for n in lengths]
    size = 2 * link.direction, len(lengths), 4
    states = [rng.standard_normal(size) for _ in range(link.n_cells)]
    one = gradients(link, xs, states)
    with _small.made_of_small_functions():
        several = gradients(link, xs, states)
    assert len(one) == len(several)
    for a, b in zip(one, several, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def layer(lengths=(2, 1), units=3):
    rng = np.random.RandomState(0)
    ws = [rng.standard_normal((units, 2 if k < 4 else units)) for k in range(8)]
    bs = [rng.standard_normal(units) for _ in range(8)]
    x, h, c = (rng.standard_normal(s) for s in
               ((sum(lengths), 2), (len(lengths), units), (len(lengths), units)))
    return x, ws, bs, [h, c]


def test_a_layer_is_one_function():
    applied = []

    class Hook(chainer.FunctionHook):
        def forward_postprocess(self, function, in_data):
            applied.append(function.label)

    with Hook():
        _recurrent_layer.run_layer(_recurrent_layer.LSTM, (2, 1), False, *layer())
    assert applied == ['NStepLSTM']
    applied.clear()
    with Hook(), _small.made_of_small_functions():
        _recurrent_layer.run_layer(_recurrent_layer.LSTM, (2, 1), False, *layer())
    assert 'LinearFunction' in applied and 'NStepLSTM' not in applied


def test_small_functions_are_made_in_one_thread_and_within_the_block():
    seen = []
    with _small.made_of_small_functions():
        thread = threading.Thread(target=lambda: seen.append(
            _recurrent_layer.run_layer(_recurrent_layer.LSTM, (2, 1), False, *layer())[0]))
        thread.start()
        thread.join()
        with _small.made_of_small_functions():
            pass
        here, _ = _recurrent_layer.run_layer(_recurrent_layer.LSTM, (2, 1), False, *layer())
    after, _ = _recurrent_layer.run_layer(_recurrent_layer.LSTM, (2, 1), False, *layer())
    assert seen[0].creator.label == after.creator.label == 'NStepLSTM'
    assert here.creator.label != 'NStepLSTM'


@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('lengths', [(2,), (2, 2), (2, 1)])
def test_no_output_is_the_memory_of_another_one(lengths, reverse):
    hs, states = _recurrent_layer.run_layer(
        _recurrent_layer.LSTM, lengths, reverse, *layer(lengths))
    arrays = [v.array for v in (hs, *states)]
    for k, a in enumerate(arrays):
        assert not any([np.shares_memory(a, b) for b in arrays[:k]])


def test_weights_that_do_not_fit():
    x, ws, bs, states = layer()
    with pytest.raises(chainer.utils.type_check.InvalidType, match='w1'):
        _recurrent_layer.run_layer(
            _recurrent_layer.LSTM, (2, 1), False, x, [ws[0], ws[0][:2], *ws[2:]], bs, states)
    with pytest.raises(chainer.utils.type_check.InvalidType, match='b7'):
        _recurrent_layer.run_layer(
            _recurrent_layer.LSTM, (2, 1), False, x, ws, [*bs[:7], bs[7][:1]], states)
    with pytest.raises(chainer.utils.type_check.InvalidType, match='h.dtype'):
        _recurrent_layer.run_layer(
            _recurrent_layer.LSTM, (2, 1), False, x, ws, bs, [s.astype('f') for s in states])


# -- all times in one native call

native_code = pytest.mark.skipif(native_target() is None, reason='there is no native code here')
CELLS = [_recurrent_layer.LSTM, _recurrent_layer.GRU, _recurrent_layer.Tanh, _recurrent_layer.ReLU]


def _step(cell, lengths, reverse, dtype, given, batch, seed):
    """Outputs and gradients of a layer, as bytes; ``given`` says which outputs are used."""
    rng = np.random.RandomState(seed)
    n = cell.n_gates

    def variable(*shape):
        return chainer.Variable(rng.standard_normal(shape).astype(dtype))

    x = variable(sum(lengths), 3)
    ws = [variable(4, 3 if k < n else 4) for k in range(2 * n)]
    bs = [variable(4) for _ in range(2 * n)]
    states = [variable(batch, 4) for _ in range(cell.n_states)]
    hs, finals = _recurrent_layer.run_layer(cell, lengths, reverse, x, ws, bs, states)
    outputs = [hs, *finals]
    loss = sum([F.sum(F.sin(outputs[k])) for k in given])
    loss.backward()
    return [y.array.tobytes() for y in outputs] + [
        None if v.grad is None else (v.grad.tobytes(), v.grad.strides)
        for v in (x, *ws, *bs, *states)]


@native_code
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('cell', CELLS)
@pytest.mark.parametrize('lengths, batch', [
    ((5, 4, 3, 3, 1), 5), ((3, 3, 3), 3), ((2,), 1), ((1, 1, 1, 1), 4), ((2, 2, 1), 5), ((7,), 2)])
def test_native_code_has_the_bits_of_small_calls(cell, reverse, dtype, lengths, batch):
    for given in ((0,), (1,), (0, *range(1, 1 + cell.n_states))):
        for seed in range(5):
            steps = []
            for target in ('numpy', 'native'):
                with chainer.using_config('static_target', target):
                    steps.append(_step(cell, lengths, reverse, dtype, given, batch, seed))
            assert steps[0] == steps[1], (given, seed)
    ready = _recurrent_layer._turns(_recurrent_layer._advance_rows, cell)._forms
    assert any([p.trusted for form in ready.values() for p in form._programs.values()])


@native_code
@pytest.mark.parametrize('reverse', [False, True])
def test_errors_of_native_times_are_those_of_small_calls(reverse):
    def run(scale):
        x, ws, bs, states = layer((3, 3, 1), 5)
        x = chainer.Variable(x * scale)
        hs, _ = _recurrent_layer.run_layer(
            _recurrent_layer.ReLU, (3, 3, 1), reverse, x, [ws[0] * scale, ws[4]], bs[:2],
            states[:1])
        return hs

    with chainer.using_config('static_target', 'native'):
        for _ in range(5):
            run(1)
        for _ in range(2):
            with pytest.warns(RuntimeWarning) as caught:
                infinite = run(1e200)
        with np.errstate(all='raise'), pytest.raises(FloatingPointError):
            run(1e200)
    with chainer.using_config('static_target', 'numpy'), pytest.warns(RuntimeWarning) as wanted:
        same = run(1e200)
    assert infinite.array.tobytes() == same.array.tobytes()
    assert [str(w.message) for w in caught] == [str(w.message) for w in wanted]


@native_code
def test_outputs_of_native_times_may_be_written_to():
    found = []
    for target in ('numpy', 'native'):
        with chainer.using_config('static_target', target):
            for _ in range(5):
                x, ws, bs, states = layer((3, 3, 1), 5)
                x, states = chainer.Variable(x), [chainer.Variable(s) for s in states]
                hs, finals = _recurrent_layer.run_layer(
                    _recurrent_layer.LSTM, (3, 3, 1), False, x, ws, bs, states)
                loss = F.sum(hs) + F.sum(finals[1])
                hs.array[:] = 7
                loss.backward()
        found.append((x.grad.tobytes(), *[s.grad.tobytes() for s in states]))
    assert found[0] == found[1]


@native_code
def test_second_derivatives_with_native_times():
    rng = np.random.RandomState(3)
    link = L.NStepBiGRU(2, 3, 4, 0.)
    for p in link.params():
        p.array = rng.standard_normal(p.shape)
    xs = [rng.standard_normal((n, 3)) for n in (5, 3, 3)]
    states = [rng.standard_normal((4, 3, 4))]
    with chainer.using_config('static_target', 'native'):
        for _ in range(5):
            one = gradients(link, xs, states)
    with _small.made_of_small_functions():
        several = gradients(link, xs, states)
    for a, b in zip(one, several, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
