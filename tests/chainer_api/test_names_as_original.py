"""Names that Chainer 7 has besides those of 5.4 do what they do there."""
import importlib
import json
import pathlib
import subprocess
import sys

import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / 'golden'
sys.path.insert(0, str(GOLDEN))

import record_names  # noqa: E402

MODULES = [importlib.import_module(name) for name in record_names.MODULES]
CASES = [(module, case) for module in MODULES for case in module.CASES]


def recorded(module):
    return json.loads((GOLDEN / module.__name__.replace('_cases', '.json')).read_text())


@pytest.mark.parametrize(
    ('module', 'case'), CASES, ids=lambda part: part.__name__)
def test_as_the_original(module, case):
    result = json.loads(json.dumps(module.run(case)))
    assert result == recorded(module)[case.__name__]


@pytest.mark.parametrize('module', MODULES, ids=lambda module: module.__name__)
def test_every_record_has_its_case(module):
    assert sorted(recorded(module)) == sorted([case.__name__ for case in module.CASES])


@pytest.mark.parametrize('name', ['functions', 'links'])
def test_modules_are_there_without_an_import_of_their_own(name):
    code = (f'import chainer, pkgutil\nparts = chainer.{name}.rnn\n'
            'for module in pkgutil.iter_modules(parts.__path__): getattr(parts, module.name)')
    subprocess.run([sys.executable, '-c', code], check=True)
