"""Random methods of plain Python do in calls without Python what they do."""

import pytest
import random_python

import chainer


@pytest.mark.parametrize("first", range(0, 160, 10))
def test_random_python(first):
    before, found, served = chainer.global_config.static_budget, {}, 0

    def count(model):
        nonlocal served
        served += sum([report.without_python for report in model.schedule_manager.report()])

    try:
        for seed in range(first, first + 10):
            found[seed] = random_python.program(seed).differs(count)
    finally:
        chainer.global_config.static_budget = before
    assert not any(found.values()), {seed: told for seed, told in found.items() if told}
    assert served > 20


def test_the_script_of_a_program_runs():
    text = random_python.program(1).source()
    exec(compile(text, "<a script>", "exec"), {"__name__": "script"})
