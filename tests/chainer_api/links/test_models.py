"""Whole models: three training steps as in the original, and compiled as define-by-run."""
import pathlib

import compare
import model_cases
import numpy as np
import pytest

import chainer

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden' / 'models.npz'
CLASSES = model_cases.classes(chainer)


@pytest.mark.parametrize('name', model_cases.NAMES)
def test_training_is_that_of_the_original(name):
    with np.load(GOLDEN) as golden:
        for key, actual in model_cases.train(chainer, name, CLASSES[name]).items():
            expected = golden[name + ' ' + key.replace('/', '.')]
            assert actual.shape == expected.shape
            np.testing.assert_allclose(
                actual, expected, 2e-4, 2e-6 * max(1, abs(expected).max()), err_msg=key)


@pytest.mark.parametrize('name', model_cases.NAMES)
def test_compiled_training_is_define_by_run(name):
    expected = model_cases.train(chainer, name, CLASSES[name], 4)
    actual = model_cases.train(chainer, name, compare.decorated(CLASSES[name]), 4)
    assert list(actual) == list(expected)
    for key, array in actual.items():
        assert array.tobytes() == expected[key].tobytes(), key
