"""The API reference has an entry for every public name, and no other."""
import importlib
import inspect
import pathlib
import re
import runpy
import sys

import pytest

import chainer

ENTRIES = runpy.run_path(str(pathlib.Path(__file__).parents[2] / 'docs/_entries.py'))
PAGES, imported, NAMES = ENTRIES['PAGES'], ENTRIES['imported'], ENTRIES['listed']()


@pytest.mark.parametrize('namespace', [
    'chainer', 'chainer.backend', 'chainer.computational_graph', 'chainer.dataset',
    'chainer.datasets', 'chainer.distributions', 'chainer.function_hooks', 'chainer.functions',
    'chainer.gradient_check', 'chainer.initializers', 'chainer.iterators', 'chainer.link_hooks',
    'chainer.links', 'chainer.memory_layouts', 'chainer.optimizer_hooks', 'chainer.optimizers',
    'chainer.serializers',
    'chainer.testing', 'chainer.training', 'chainer.training.extensions',
    'chainer.training.triggers', 'chainer.training.updaters', 'chainer.utils', 'chainermn',
    'chainermn.extensions', 'chainermn.functions', 'chainermn.iterators', 'chainermn.links',
    'onnx_chainer'])
def test_every_public_name_has_an_entry(namespace):
    entries = {id(imported(name)) for name in NAMES}
    missing = []
    for name, thing in vars(importlib.import_module(namespace)).items():
        ours = getattr(thing, '__module__', None) or ''
        if name.startswith('_') or not ours.startswith(('chainer', 'onnx_chainer')):
            continue
        if not inspect.isclass(thing) and not inspect.isfunction(thing):
            continue
        # Classes of functions are there for code of Chainer 4 and before.
        old = namespace == 'chainer.functions' and inspect.isclass(thing)
        if not old and id(thing) not in entries:
            missing.append(name)
    assert missing == MISSING.get(namespace, [])


MISSING = {
    'chainer.computational_graph': ['DotNode'],  # a part of the output of to_dot
}


def test_every_name_has_one_entry_and_a_docstring():
    assert len(NAMES) > 600
    assert sorted(set(NAMES)) == sorted(NAMES)
    data = {'chainer.config', 'chainer.global_config', 'chainer.mixed16',
            'chainer.disable_experimental_feature_warning'}
    assert [name for name in NAMES if name not in data and not inspect.getdoc(imported(name))] == []


def test_every_setting_is_explained():
    page = (PAGES / 'configuration.rst').read_text()
    rows = re.findall(r'^   \* - (``.*``)$', page, re.MULTILINE)
    explained = re.findall(r'``(\w+)``', ' '.join(rows))
    settings = vars(chainer.global_config)
    assert sorted(explained) == sorted(name for name in settings if not name.startswith('_'))


ROLE = re.compile(r':(mod|class|func|meth|attr|data|exc):`(?:[^`<]*<)?[~!]?([\w.]+)')


def test_what_entries_link_to_has_one():
    pages = ' '.join(page.read_text() for page in PAGES.glob('*.rst'))
    modules = set(re.findall(r'^\.\. module:: (\S+)$', pages, re.MULTILINE))
    lost = []
    for name in NAMES:
        thing = imported(name)
        members = vars(thing).items() if inspect.isclass(thing) else ()
        docs = [thing, *(m for key, m in members if not key.startswith('_') or key == '__call__')]
        for role, target in ROLE.findall(' '.join(inspect.getdoc(x) or '' for x in docs)):
            known = modules if role == 'mod' else NAMES
            if target.startswith(('chainer', 'onnx_chainer')) and not (
                    target in known or role != 'mod' and target.rpartition('.')[0] in known):
                lost.append((name, role, target))
    assert lost == []


def test_names_are_exported_where_the_reference_has_them():
    """Type checkers know a name of an installed package if __all__ or its definition has it."""
    hidden = []
    for name in NAMES:
        path, _, attribute = name.rpartition('.')
        module = sys.modules.get(path)
        exported = getattr(module, '__all__', None)
        if exported is not None and attribute not in exported:
            hidden.append(name)
    assert hidden == []
