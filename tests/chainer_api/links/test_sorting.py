"""The order in which NStepLSTM and its kin take sequences, which dropout draws its numbers in."""
import json
import pathlib
import sys

import numpy as np

from chainer.links.rnn.n_step_rnn import argsort_list_descent

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

from record_sorting import cases  # noqa: E402


def test_sequences_of_one_length_stand_as_in_the_original():
    expected = json.loads((GOLDEN / 'sorting.json').read_text())
    for lengths, order in zip(cases(), expected, strict=True):
        actual = argsort_list_descent([range(n) for n in lengths])
        assert actual.dtype == np.int32
        assert actual.tolist() == order, lengths
