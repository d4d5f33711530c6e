"""Examples in docstrings, in docs/*.md and in the README do what they show."""
import doctest
import importlib
import pathlib
import pkgutil
import random
import re
import tomllib

import numpy as np
import pytest

import chainer

ROOT = pathlib.Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / 'pyproject.toml').read_text())['tool']['setuptools']
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# What Chainer's guide takes as imported, and np, F and L above all.
PRELUDE = '''
import math
import numpy as np
import chainer
from chainer import backend
from chainer import backends
from chainer.backends import cuda
from chainer import Function, FunctionNode, gradient_check, report, training, utils, Variable
from chainer import datasets, initializers, iterators, optimizers, serializers
from chainer import Link, Chain, ChainList
import chainer.functions as F
import chainer.links as L
from chainer.training import extensions
'''


def module_names():
    for top in sorted({name.partition('.')[0] for name in SETTINGS['packages']}):
        package = importlib.import_module(top)
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
            yield module.name


def doctests_of(module):
    """The doctests of a module, without those of what it imports."""
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


def namespace():
    names = {}
    exec(PRELUDE, names)
    return names


def run(test):
    """Run one doctest; return the report of its failures."""
    random.seed(0)
    np.random.seed(0)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append)
    return ''.join(report)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('CHAINER_DATASET_ROOT', str(tmp_path / 'datasets'))
    # As who types them has it: what is to be compiled at once says so.
    monkeypatch.setattr(chainer.global_config, 'static_budget', 0.1)


@pytest.mark.parametrize('name', sorted(module_names()))
def test_docstrings(name):
    # A module that cannot be imported is a failure, too: optional packages are imported late.
    module = importlib.import_module(name)
    needed = {'chainermn': 'mpi4py', 'onnx_chainer': 'onnx'}.get(name.partition('.')[0])
    if needed and doctests_of(module):
        pytest.importorskip(needed)
    failures = []
    for test in doctests_of(module):
        test.globs = namespace()
        failures.append(run(test))
    assert not ''.join(failures), ''.join(failures)


def test_docstrings_are_found():
    names = [test.name for test in doctests_of(chainer.variable)]
    assert 'chainer.variable.Variable' in names
    assert len(list(module_names())) > 100


# Text files

def blocks(path, language):
    """Fenced blocks of a Markdown file, with the numbers of their lines."""
    text = path.read_text()
    for match in re.finditer(rf'^```{language}\n(.*?)^```$', text, re.MULTILINE | re.DOTALL):
        yield text.count('\n', 0, match.start(1)), match[1]


TEXTS = [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]


@pytest.mark.parametrize('path', TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_sessions_in_texts(path):
    names = namespace()
    failures = []
    for line, source in blocks(path, '(?:python|pycon)'):
        if '>>>' not in source:
            continue
        test = doctest.DocTestParser().get_doctest(source, names, path.name, str(path), line)
        # One session goes on in the next block.
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=failures.append, clear_globs=False)
        names = test.globs
    assert not failures, ''.join(failures)


def test_programs_in_the_readme():
    """Blocks of Python without prompts are programs; later ones go on where earlier ones end."""
    path = ROOT / 'README.md'
    names = {'__name__': '__main__'}
    for line, source in blocks(path, 'python'):
        if '>>>' not in source:
            exec(compile('\n' * line + source, str(path), 'exec'), names)
