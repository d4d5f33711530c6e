"""Layers of recurrent networks: one function gives what small ones give."""
import threading

import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.functions import _small
from chainer.functions.connection import _recurrent_layer

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
               ((sum(lengths), 2), (lengths[0], units), (lengths[0], units)))
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
