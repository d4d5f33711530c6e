"""Sequential."""
import copy
import functools
import linecache
import pickle

import numpy as np
import pytest

import chainer
from chainer import Sequential
from chainer import links as L


class Leaf(chainer.Link):
    """Knows its number, and adds it."""

    def __init__(self, number):
        super().__init__()
        self.number = number
        with self.init_scope():
            self.W = chainer.Parameter(chainer.initializers.Normal(1.0), (1,))

    def forward(self, x):
        return x + self.number


def negate(x):
    return -x


def build(pattern):
    """'K' stands for a link with its position as number, 'f' for a function."""
    return Sequential(*(Leaf(i) if kind == 'K' else negate for i, kind in enumerate(pattern)))


def numbers(layers):
    return [layer.number if isinstance(layer, Leaf) else 'f' for layer in layers]


def children(seq):
    found = list(seq.children())
    assert [child.name for child in found] == [str(i) for i in range(len(found))]
    return numbers(found)


# What Chainer gives for the layers in this order; it makes the names in saved files.
@pytest.mark.parametrize('pattern, expected', [
    ('K', [0]), ('KK', [0, 1]), ('KKK', [0, 2, 1]), ('KKKK', [0, 3, 2, 1]), ('KfKf', [0, 2]),
    ('fKfKfK', [1, 3, 5]), ('ffKKK', [2, 3, 4]), ('fKKK', [1, 2, 3]), ('KfKfKfK', [0, 6, 4, 2]),
    ('KKKKKK', [0, 5, 4, 3, 2, 1])])
def test_order_of_children(pattern, expected):
    seq = build(pattern)
    assert numbers(seq) == [i if kind == 'K' else 'f' for i, kind in enumerate(pattern)]
    assert children(seq) == expected
    extended = Sequential()
    extended.extend(list(seq))
    assert children(extended) == expected


@pytest.mark.parametrize('pattern, i, layers, expected', [
    ('KKK', 0, [9, 0, 1, 2], [9, 0, 2, 1]), ('KKK', 2, [0, 1, 9, 2], [0, 9, 2, 1]),
    ('KKK', -2, [0, 9, 1, 2], [0, 9, 2, 1]), ('KKK', 3, [0, 1, 2, 9], [0, 9, 2, 1]),
    ('fKfKfK', 0, [9, 'f', 1, 'f', 3, 'f', 5], [9, 1, 3, 5]),
    ('fKfKfK', 1, ['f', 9, 1, 'f', 3, 'f', 5], [1, 9, 3, 5]),
    ('fKfKfK', 4, ['f', 1, 'f', 3, 9, 'f', 5], [1, 3, 9, 5])])
def test_insert(pattern, i, layers, expected):
    seq = build(pattern)
    seq.insert(i, Leaf(9))
    assert numbers(seq) == layers and children(seq) == expected


class TestList:

    def test_access(self):
        seq = build('KfK')
        assert len(seq) == 3 and seq[1] is negate and seq[-1].number == 2
        assert seq[1:] == [seq[1], seq[2]]
        assert negate in seq and np.abs not in seq
        assert list(reversed(seq)) == [seq[2], seq[1], seq[0]]
        assert seq.index(negate) == 1 and seq.count(negate) == 1
        for bounds in [(2,), (0, 1)]:
            with pytest.raises(ValueError):
                seq.index(negate, *bounds)
        with pytest.raises(IndexError):
            seq[3]

    @pytest.mark.parametrize('i', [0, 1, 2, -1, -2, -3])
    def test_setitem(self, i):
        for new in (Leaf(9), np.abs):
            seq = build('KfK')
            expected = list(seq)
            expected[i] = new
            seq[i] = new
            assert list(seq) == expected
            assert sorted(children(seq)) == sorted(
                layer.number for layer in expected if isinstance(layer, Leaf))

    def test_slices(self):
        seq = build('KfKf')
        leaf = Leaf(9)
        seq[1:3] = [leaf]
        assert numbers(seq) == [0, 9, 'f'] and children(seq) == [0, 9]
        del seq[:2]
        assert numbers(seq) == ['f'] and children(seq) == []

    def test_removal(self):
        seq = build('KfKfK')
        del seq[2]
        assert numbers(seq) == [0, 'f', 'f', 4] and children(seq) == [0, 4]
        assert seq.pop().number == 4 and seq.pop(1) is negate
        seq.remove(negate)
        assert numbers(seq) == [0]
        with pytest.raises(ValueError, match='no layer object'):
            seq.remove(negate)
        seq.clear()
        assert len(seq) == 0 and children(seq) == []
        with pytest.raises(IndexError):
            seq.pop()

    def test_one_link_twice(self):
        leaf = Leaf(0)
        seq = Sequential(leaf, negate, leaf)
        assert len(list(seq.children())) == 2
        del seq[2]
        assert list(seq.children()) == [leaf]

    def test_reverse(self):
        seq = build('KfK')
        seq.reverse()
        assert numbers(seq) == [2, 'f', 0] and sorted(children(seq)) == [0, 2]

    def test_add(self):
        a, b = build('Kf'), build('fK')
        c = a + b
        assert numbers(c) == [0, 'f', 'f', 1] and numbers(a) == [0, 'f']
        d = a
        d += b
        assert d is a and numbers(a) == [0, 'f', 'f', 1]
        for add in (lambda: a + [negate], lambda: a.__iadd__([negate])):
            with pytest.raises(ValueError, match='only objects of Sequential'):
                add()

    def test_doubling_itself(self):
        seq = build('Kf')
        seq += seq
        assert numbers(seq) == [0, 'f', 0, 'f']

    def test_errors(self):
        seq = build('K')
        for change in (lambda: Sequential(3), lambda: seq.append(3), lambda: seq.insert(0, 3),
                       lambda: seq.__setitem__(0, 3), lambda: seq.__setitem__(slice(1), [3])):
            with pytest.raises(ValueError, match='3 is not callable'):
                change()
            assert numbers(seq) == [0]
        for i in (2, -2):
            with pytest.raises(IndexError, match='Index out of range'):
                seq.insert(i, negate)

    def test_layer_types(self):
        class Object:
            def __call__(self, x):
                return x

        partial = functools.partial(negate)
        seq = Sequential(Leaf(0), negate, Object(), partial, Leaf(1), np.tanh)
        counts = {name: seq.count_by_layer_type(name)
                  for name in ('Leaf', 'negate', 'Object', 'tanh', 'zz')}
        assert counts == {'Leaf': 2, 'negate': 2, 'Object': 1, 'tanh': 1, 'zz': 0}
        seq.remove_by_layer_type('zz')
        seq.remove_by_layer_type('Leaf')
        assert len(seq) == 4 and children(seq) == []
        seq.remove_by_layer_type('negate')
        assert len(seq) == 2


class TestForward:

    def test_chain(self):
        assert build('KfK')(5) == -5 + 2

    def test_tuples_are_arguments(self):
        seq = Sequential(lambda a, b: (a + b, a - b), lambda x, y: x * y)
        assert seq(3, 4) == -7

    def test_lists_and_none_are_one_argument(self):
        assert Sequential(lambda x: [x, x], lambda x: x)(3) == [3, 3]
        assert Sequential(lambda x: None, lambda x: x)(3) is None

    def test_empty(self):
        with pytest.raises(RuntimeError, match='does not have any layer'):
            Sequential()(3)


class TestCopy:

    @pytest.mark.parametrize('mode', ['share', 'copy', 'init'])
    def test_modes(self, mode):
        seq = build('KfK')
        seq.extra = 3
        other = seq.copy(mode)
        assert type(other) is Sequential and other.extra == 3
        assert numbers(other) == [0, 'f', 2] and children(other) == [0, 2]
        assert set(other.children()) == {other[0], other[2]}
        for ours, theirs in [(seq[0], other[0]), (seq[2], other[2])]:
            assert ours is not theirs
            assert (ours.W.array is theirs.W.array) == (mode == 'share')
            assert np.array_equal(ours.W.array, theirs.W.array) == (mode != 'init')
        other.append(negate)
        assert len(seq) == 3

    def test_init_draws_in_the_order_of_the_layers(self):
        seq = build('KKK')
        np.random.seed(0)
        other = seq.copy('init')
        np.testing.assert_array_equal(
            [leaf.W.array[0] for leaf in other],
            np.random.RandomState(0).normal(size=3).astype(np.float32))

    def test_one_link_twice(self):
        leaf = Leaf(0)
        for mode in ('share', 'copy', 'init'):
            other = Sequential(leaf, negate, leaf).copy(mode)
            assert other[0] is other[2] and other[0] is not leaf
            assert list(other.children()) == [other[0], other[0]]

    def test_with_lambda(self):
        seq = Sequential(lambda x: x + 1, Leaf(1))
        for mode in ('share', 'copy', 'init'):
            assert seq.copy(mode)(1) == 3
        assert copy.deepcopy(seq)(1) == 3

    def test_repeat(self):
        repeated = build('Kf').repeat(3)
        assert len(repeated) == 3 and all(type(layer) is Sequential for layer in repeated)
        assert repeated(1) == -1

    def test_copyparams(self):
        a, b = build('KfK'), build('KfK')
        a.copyparams(b)
        for ours, theirs in zip(a.params(), b.params(), strict=True):
            np.testing.assert_array_equal(ours.array, theirs.array)
        with pytest.raises(ValueError, match='other than Sequential'):
            a.copyparams(chainer.ChainList(Leaf(0), Leaf(1)))
        with pytest.raises(ValueError, match='layer 0'):
            a.copyparams(build('fKK'))


def test_pickle():
    seq = pickle.loads(pickle.dumps(build('KfK')))
    assert numbers(seq) == [0, 'f', 2] and children(seq) == [0, 2]
    assert set(seq.children()) == {seq[0], seq[2]}
    with pytest.raises(ValueError, match='functools.partial'):
        pickle.dumps(Sequential(lambda x: x))


def test_own_parameters():
    seq = build('K')
    with seq.init_scope():
        seq.scale = chainer.Parameter(0, (2,))
    assert [path for path, _ in seq.namedparams()] == ['/scale', '/0/W']
    assert seq.copy('init').scale.shape == (2,)


def test_flatten():
    inner = build('Kf')
    seq = Sequential(negate, Sequential(inner, np.abs), Leaf(7))
    flat = seq.flatten()
    assert list(flat)[1:3] == list(inner) and len(flat) == 5
    assert len(seq) == 3
    assert flat(2) == seq(2)


def test_str():
    seq = Sequential(
        L.Linear(2, 3), np.tanh, L.Linear(None, 4, nobias=True), functools.partial(max, 3),
        chainer.Link(), chainer.Chain(a=L.Linear(1, 1)), build('Kf'), int,
        lambda x: x)
    lines = str(seq).split('\n')
    assert lines[:3] == ['0\tLinear\tW(3, 2)\tb(3,)\t', '1\ttanh', '2\tLinear\tW(None)\t']
    assert lines[3] == '3\tfunctools.partial(<built-in function max>, 3)'
    assert lines[4] == '4\tLink\t'
    assert lines[5].startswith('5\tChain\t')
    assert lines[6] == '6\tSequential\twhich has 2 layers'
    assert lines[7] == '7\tint'
    assert 'lambda x: x' in lines[8]
    assert str(Sequential()) == ''


@pytest.mark.parametrize('text', [None, 'import sys\nprint(sys.argv)\n', ''])
def test_str_of_functions_without_a_source(text, monkeypatch):
    """Code of eval says that it stands in "<string>", and so does that of python -c."""
    monkeypatch.delitem(linecache.cache, '<string>', raising=False)
    if text is not None:
        monkeypatch.setitem(linecache.cache, '<string>', (
            len(text), None, text.splitlines(True), '<string>'))
    assert str(Sequential(eval('lambda x: x'))) == '0\t<lambda>'
