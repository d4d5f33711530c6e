"""Sequences of several lengths as one array, and back."""
import numpy as np
import pytest

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import gradient_check
from chainer.functions.connection._sequences import Packed, Reordered, counts, longest_first

LENGTHS = [(3, 5, 2, 5), (4, 4, 4), (1,), (1, 1), (6, 1), (2, 0, 3), tuple(range(1, 20)) + (7,) * 5]


def sequences(lengths):
    rng = np.random.RandomState(sum(lengths))
    return [rng.standard_normal((n, 3)) for n in lengths]


@pytest.mark.parametrize('lengths', LENGTHS)
def test_rows_are_those_of_each_time_longest_first(lengths):
    xs = sequences(lengths)
    packed = Packed.of(xs)
    times = F.transpose_sequence([xs[k] for k in longest_first(lengths)])
    assert len(packed) == len(times) == max(lengths)
    for one, other in zip(packed, times, strict=True):
        np.testing.assert_array_equal(one.array, other.array)
    for one, other in zip(packed.sequences(), xs, strict=True):
        np.testing.assert_array_equal(one.array, other)


@pytest.mark.parametrize('lengths', LENGTHS)
def test_counts_of_counts_are_the_lengths(lengths):
    assert counts(counts(lengths)) == tuple(sorted([n for n in lengths if n], reverse=True))


@pytest.mark.parametrize('back', [False, True])
@pytest.mark.parametrize('by, shape', [('time', (11, 2)), ('length', (2, 4, 3))])
def test_gradients(by, shape, back):
    lengths, rng = (3, 5, 1, 2), np.random.RandomState(0)
    x, gy, ggx = (rng.standard_normal(shape) for _ in range(3))

    def function(x):
        return Reordered(lengths, by, back).apply((x,))[0]

    gradient_check.check_backward(function, x, gy, dtype='d')
    gradient_check.check_double_backward(lambda x: function(x) ** 2, x, gy, ggx, dtype='d')
    again, = Reordered(lengths, by, not back).apply((function(x),))
    np.testing.assert_array_equal(again.array, x)


@pytest.mark.parametrize('cls', [L.NStepLSTM, L.NStepBiGRU, L.NStepRNNTanh])
def test_as_many_functions_for_all_lengths(cls):
    """So that a method that is called with other lengths has the same graph."""
    link, found = cls(2, 3, 4, 0.5), []
    for lengths in ((3, 2), (9, 9), (1, 7)):
        applied = []

        class Hook(chainer.FunctionHook):
            def forward_postprocess(self, function, in_data, applied=applied):
                applied.append((function.label, len(in_data)))

        with Hook():
            link(*[None] * link.n_cells, [x.astype('f') for x in sequences(lengths)])
        found.append(applied)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize('lengths', LENGTHS[:3])
def test_a_network_of_the_users_gets_the_rows_of_each_time(lengths):
    """``rnn`` may be written anew, over a sequence of the inputs of each time."""

    class Mine(L.NStepRNNTanh):
        def rnn(self, n_layers, dropout, hx, ws, bs, xs):
            seen.append([x.shape for x in xs])
            hy, ys = F.n_step_rnn(n_layers, dropout, hx, ws, bs, [*xs], activation='tanh')
            return hy, list(ys)

    seen = []
    mine = Mine(1, 3, 4, 0.)
    theirs = L.NStepRNNTanh(1, 3, 4, 0.)
    theirs.copyparams(mine)
    xs = [x.astype('f') for x in sequences(lengths)]
    (hy, ys), (hy_of_theirs, ys_of_theirs) = mine(None, xs), theirs(None, xs)
    assert seen == [[(n, 3) for n in counts(lengths)]]
    np.testing.assert_array_equal(hy.array, hy_of_theirs.array)
    for one, other in zip(ys, ys_of_theirs, strict=True):
        np.testing.assert_array_equal(one.array, other.array)
