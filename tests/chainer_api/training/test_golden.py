"""Iterations, trainings and their files, compared with Chainer's."""
import io
import json
import pathlib
import sys

import pytest

GOLDEN = pathlib.Path(__file__).parents[2] / 'golden'
sys.path.insert(0, str(GOLDEN))

import training_cases as cases  # noqa: E402

recorded = json.loads((GOLDEN / 'training.json').read_text())

# NumPy 2 interpolates percentiles of float32 in float32, NumPy 1 did it in float64.
TOLERANCE = {'parameter_statistics': 1e-6}

# Keys that Chainer saves and we do not need, and those that we save to lose nothing.
NOT_SAVED = {'extension_triggers/best/summary/_names'}
SAVED_AS_WELL = ('_init', '_summary', '_trigger')


def assert_same(got, expected, rel, where=''):
    if isinstance(expected, dict):
        assert sorted(got) == sorted(expected), where
        for key, value in expected.items():
            assert_same(got[key], value, rel, f'{where}/{key}')
    elif isinstance(expected, list):
        assert len(got) == len(expected), where
        for i, (g, e) in enumerate(zip(got, expected, strict=True)):
            assert_same(g, e, rel, f'{where}/{i}')
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=rel, abs=0, nan_ok=True), where
    else:
        assert got == expected, where


@pytest.mark.parametrize('case', cases.CASES, ids=lambda case: case.__name__)
def test_same_as_chainer(case):
    name = case.__name__
    got = json.loads(json.dumps(cases.run(case)))
    expected = recorded[name]
    if name == 'snapshot_keys':
        extra = set(got) - set(expected)
        assert set(expected) <= set(got)
        assert all(any(part in key for part in SAVED_AS_WELL) for key in extra), extra
        return
    # float32 arithmetic of another NumPy and BLAS
    assert_same(got, expected, TOLERANCE.get(name, 1e-6))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_bar_on_a_terminal():
    expected = json.loads((GOLDEN / 'training_progress.json').read_text())
    assert cases.progress_text(Terminal()) == expected
