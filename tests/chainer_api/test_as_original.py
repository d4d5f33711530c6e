"""The core does what the original does, where users can see it."""
import json
import pathlib
import sys

import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / 'golden'
sys.path.insert(0, str(GOLDEN))

import core_cases  # noqa: E402

recorded = json.loads((GOLDEN / 'core.json').read_text())


@pytest.mark.parametrize('case', core_cases.CASES, ids=lambda case: case.__name__)
def test_as_the_original(case):
    assert core_cases.run(case) == recorded[case.__name__]


def test_every_record_has_its_case():
    assert sorted(recorded) == sorted(case.__name__ for case in core_cases.CASES)
