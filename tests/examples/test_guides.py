"""examples/guides: each file checks itself."""
import unittest

import pytest


@pytest.mark.parametrize('name', [
    'variables', 'links', 'own_functions', 'models', 'optimizer', 'trainer_extensions', 'gpu',
    'type_checks', 'saving'])
def test_guide(name, example, capsys):
    names = example(f'guides/{name}.py').load()
    cases = [c for c in names.values() if isinstance(c, type) and issubclass(c, unittest.TestCase)]
    assert len(cases) == (2 if name == 'own_functions' else 0)
    for case in cases:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        assert result.testsRun == 1
        assert result.wasSuccessful()


def test_reports(example, mnist):
    lines = example('guides/reports.py').run().splitlines()
    assert lines[:5] == [
        "{'my_observer:/x': 1}", '/predictor', '/predictor/l1', '/predictor/l2', '/predictor/l3']
    assert lines[5].split() == [
        'epoch', 'main/accuracy', 'main/loss', 'main/predictor/sum_y', 'validation/main/accuracy']
    assert len(lines[6].split()) == 5


def test_reports_without_mnist(example, monkeypatch):
    monkeypatch.setattr('sys.argv', ['reports.py', '--test'])
    lines = example('guides/reports.py').run().splitlines()
    assert 0 < float(lines[6].split()[2]) < 10
