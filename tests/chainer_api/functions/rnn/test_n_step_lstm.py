"""Single steps of recurrent networks on sequences."""
import numpy as np

import chainer.functions as F
from chainer.functions.rnn import n_step_lstm


def test_one_step_is_a_sequence_of_length_one():
    rng = np.random.RandomState(0)
    ws = [rng.standard_normal((2, 3 if i < 4 else 2)).astype('f') for i in range(8)]
    bs = [rng.standard_normal(2).astype('f') for _ in range(8)]
    x, h, c = (rng.standard_normal((4, n)).astype('f') for n in (3, 2, 2))
    h1, c1 = n_step_lstm._lstm(x, h, c, ws, bs)
    hy, cy, (y,) = F.n_step_lstm(1, 0., h[None], c[None], [ws], [bs], [x])
    np.testing.assert_array_equal(h1.array, hy.array[0])
    np.testing.assert_array_equal(c1.array, cy.array[0])
    np.testing.assert_array_equal(h1.array, y.array)
