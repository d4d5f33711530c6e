"""The distributions of distribution_cases.py against what the original gives."""
import json
import pathlib

import distribution_cases
import numpy as np
import pytest

import chainer

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden' / 'distributions.npz'

# Where ours differs, by the beginning of "case/dtype/name", and why.
APART = {
    'bernoulli_check/f/log_prob': 'the original raises FloatingPointError at points outside',
    'bernoulli_check/d/log_prob': 'the original raises FloatingPointError at points outside',
    'bernoulli_check/f/prob': 'the original compares points and parameters of other dtypes',
    'bernoulli_check/d/prob': 'the original compares points and parameters of other dtypes',
    'dirichlet/d/sample': 'the original draws float32',
    'laplace/d/sample': 'the original draws float32',
    'laplace_middle/d/sample': 'the original draws float32',
    'laplace_0d/d/sample': 'the original draws float32',
    'poisson/d/sample': 'the original draws float32',
    'poisson_0d/d/sample': 'the original draws float32',
    'poisson_one_point/d/sample': 'the original draws float32',
}


@pytest.fixture(scope='module')
def golden():
    with np.load(GOLDEN) as file:
        text = json.loads(file['index'].tobytes())
        data = file['data']

    def array(entry):
        char, shape, offset = entry
        return data[offset:offset + int(np.prod(shape))].reshape(shape).astype(char)

    return dict(text['texts'], **{key: array(entry) for key, entry in text['index'].items()})


@pytest.mark.parametrize(('case', 'char'), [
    pytest.param(case, char, id=f'{case.name}-{char}') for case in distribution_cases.CASES
    for char in ('f' if 'multivariate' in case.name else 'fd')])
def test_distributions_do_what_the_original_does(golden, case, char):
    wrong = {}
    for name, actual in distribution_cases.run(chainer, case, char).items():
        key = f'{case.name}/{char}/{name}'
        if key.startswith(tuple(APART)) or name.startswith('cross_entropy'):
            continue  # the cross entropies of the original raise a TypeError
        if key not in golden:
            assert name.split()[0] not in distribution_cases.PROPERTIES, key
            continue
        expected = golden[key]
        problem = compare(name, actual, expected)
        if problem:
            wrong[name] = problem
    assert not wrong


def compare(name, actual, expected):
    """A description of the difference, or ``None``."""
    # No gradient is a gradient of zeros.
    if 'gradient' in name and isinstance(actual, np.ndarray) and isinstance(expected, str):
        expected = np.zeros_like(actual)
    if 'gradient' in name and isinstance(expected, np.ndarray) and isinstance(actual, str):
        actual = np.zeros_like(expected)
    if isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray):
        if actual.shape != expected.shape:
            return f'shape {actual.shape}, not {expected.shape}'
        if actual.dtype != expected.dtype:
            return f'dtype {actual.dtype}, not {expected.dtype}'
        rtol = 1e-9 if expected.dtype == np.float64 else 3e-4
        close = np.isclose(actual, expected, rtol, rtol / 10, equal_nan=True)
        return None if close.all() else f'{actual[~close]}, not {expected[~close]}'
    if isinstance(actual, np.ndarray) or isinstance(expected, np.ndarray) or actual != expected:
        return f'{actual}, not {expected}'
    return None
