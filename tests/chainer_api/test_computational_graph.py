"""Drawing of graphs; styles and labels are compared in test_as_original.py."""
import re
import shutil

import numpy as np
import pytest

import chainer
from chainer.computational_graph import build_computational_graph


def ones(name=None):
    return chainer.Variable(np.ones(2, np.float32), name=name)


def test_text_is_stable():
    def text():
        x = ones('x')
        names = {}
        graph = build_computational_graph([(x * 2 + x) * x])
        return re.sub(
            r'\d{9,}', lambda m: names.setdefault(m.group(), f'n{len(names)}'), graph.dump())

    assert text() == text()
    assert text().count('->') == 8


def test_quotes_are_escaped():
    text = build_computational_graph([ones('a "b"')]).dump()
    assert r'label="a \"b\": (2), float32"' in text


def test_a_single_variable():
    y = ones() * 2
    assert len(build_computational_graph(y).nodes) == 3


def test_unchained_graphs():
    y = ones() * 2
    z = y * 3
    y.unchain()
    assert [n.label for n in build_computational_graph([z]).nodes] == [
        '(2), float32', '_ * 3', '(2), float32']
    z.creator.unchain()
    assert len(build_computational_graph([z]).nodes) == 1


def test_uninitialized_parameter():
    text = build_computational_graph([chainer.Parameter(name='p')]).dump()
    assert 'p: (uninitialized)' in text


def test_compiled_calls_are_drawn_from_inside():
    class Model(chainer.Chain):
        @chainer.static_graph
        def forward(self, x):
            return x * 2 * 3

    model = Model()
    for _ in range(3):
        y = model(ones('x'))
    assert model.schedule_manager.report()[0].hits == 1
    labels = [n.label for n in build_computational_graph([y]).nodes]
    assert labels == ['(2), float32', '_ * 3', '(2), float32', '_ * 2', '(2), float32']


def test_arguments():
    with pytest.raises(ValueError, match='rankdir'):
        build_computational_graph([ones()], rankdir='up')
    with pytest.raises(ValueError, match='remove_split'):
        build_computational_graph([ones()], remove_split=False)
    with pytest.raises(NotImplementedError, match="'png'"):
        build_computational_graph([ones()]).dump('png')


def test_notebooks(monkeypatch):
    """A picture where Graphviz is; otherwise they show what they always show."""
    graph = build_computational_graph([chainer.Variable(np.ones(1, np.float32)) * 2])
    if shutil.which('dot'):
        assert '_ * 2' in graph._repr_svg_()
    monkeypatch.setenv('PATH', '')
    assert graph._repr_svg_() is None
