"""Tabular datasets that must behave as those of the original, down to what they ask of what lies
below them. (Negative numbers of rows in views, steps backwards in concatenations and empty slices
are not among them: there the original gives other rows than a list would.)

Read by record_names.py (under Chainer 7.8.1, Python 3.8) and by
tests/chainer_api/test_names_as_original.py (ours). See core_cases.py.
"""
import operator

import numpy as np
from core_cases import attempt

from chainer import dataset
from chainer.dataset import tabular

CASES = []


def case(function):
    CASES.append(function)
    return function


def plain(value):
    """Tells lists, tuples, arrays and slices apart."""
    if isinstance(value, np.ndarray):
        return ['array', str(value.dtype), value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, slice):
        return ['slice', list(range(100)[value])]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__] + [plain(v) for v in value]
    if isinstance(value, dict):
        return ['dict'] + [[k, plain(v)] for k, v in value.items()]
    if isinstance(value, dataset.TabularDataset):
        mode = value.mode
        return ['table', len(value), list(value.keys), getattr(mode, '__name__', mode)]
    return value


def tried(function, *args):
    return attempt(lambda: function(*args))


class Table(dataset.TabularDataset):
    """A table of numbers that writes down what it is asked for."""

    def __init__(self, mode=tuple, keys=('a', 'b', 'c'), n=5, first=0, array=True, tag=None):
        self._mode = mode
        self._keys = keys
        self.columns = np.arange(len(keys) * n).reshape(len(keys), n) + first
        self.array = array
        self.tag = tag
        self.asked = []

    def __len__(self):
        return self.columns.shape[1]

    @property
    def keys(self):
        return self._keys

    @property
    def mode(self):
        return self._mode

    def get_examples(self, indices, key_indices):
        self.asked.append((indices, key_indices))
        found = self.columns
        if indices is not None:
            found = found[:, indices]
        if key_indices is not None:
            found = found[list(key_indices)]
        return tuple(found) if self.array else tuple([list(column) for column in found])

    def convert(self, data):
        return (self.tag, data) if self.tag else super().convert(data)


TABLES = (
    lambda: Table(), lambda: Table(dict), lambda: Table(None, ('a',)), lambda: Table(array=False))


def look(table, *below):
    """Reads a dataset in many ways, and says what was asked of those below."""
    ways = (
        lambda: table, lambda: table.fetch(), lambda: table[0], lambda: table[1:3],
        lambda: table[[1, 0]], lambda: table.get_examples([1, 0], None),
        lambda: table.get_examples(slice(None, None, -1), (0,)),
        lambda: table.get_examples(None, ()), lambda: list(table),
        lambda: table.asdict()[1], lambda: table.astuple().fetch(),
        lambda: table.slice[1:].slice[::-1].fetch())
    seen = []
    for way in ways:
        for one in below:
            one.asked.clear()
        result = plain(attempt(way))
        seen.append([result, plain([one.asked for one in below])])
    return seen


@case
def base_class_leaves_it_to_subclasses():
    table = dataset.TabularDataset()
    return [attempt(lambda: len(table)), attempt(lambda: table.keys), attempt(lambda: table.mode),
            attempt(lambda: table.get_examples(None, None))]


@case
def read():
    return [look(table, table) for table in [make() for make in TABLES]]


@case
def modes():
    return [look(way(table), table) for make in TABLES for table in [make()]
            for way in (Table.astuple, Table.asdict, tabular.DelegateDataset)]


ROWS = (
    slice(None), slice(1, 4), slice(None, None, -1), slice(4, 0, -2), slice(2, 100),
    [0, 2], [-1, 0], [0, 0], [], [5], [-6], np.array([1, 2]), np.array([1, -2]),
    [True, False, True, False, True], [True, False], np.array([1, 0, 1, 0, 1], bool), range(1, 3),
    3, None)


@case
def slice_rows():
    seen = []
    for rows in ROWS:
        table = Table()
        result = tried(operator.getitem, table.slice, rows)
        seen.append(result if isinstance(result, str) else look(result, table))
    return seen


KEYS = (
    ('a',), ('c', 'a'), ('a', 'a'), 'a', 0, -1, (0,), (-1,), (2, 'a'), (), ('x',), 'x', (3,), 3,
    (-4,), None, 1.5, ['a'], slice(None))


@case
def slice_keys():
    seen = []
    for make in TABLES[:3]:
        for keys in KEYS:
            table = make()
            result = tried(operator.getitem, table.slice, (slice(1, None), keys))
            seen.append(result if isinstance(result, str) else look(result, table))
    return seen


@case
def slice_takes_two_arguments():
    return attempt(lambda: Table().slice[1:3, 'a', 'b'])


PAIRS = ((tuple, tuple), (tuple, dict), (dict, tuple), (None, None), (None, tuple), (dict, None))


@case
def join():
    seen = []
    for left, right in PAIRS:
        a = Table(left, ('a', 'b') if left else ('a',))
        b = Table(right, ('d', 'e') if right else ('d',), first=100, array=False)
        joined = a.join(b)
        seen.append(look(joined, a, b))
        seen.append(look(joined.slice[:, ('d', 'a')], a, b))
        seen.append(look(joined.slice[[2, 0, 1], ('d', 'd')], a, b))
    return seen


@case
def join_of_three_and_none():
    a, b, c = [Table(keys=(k + '1', k + '2'), first=f) for k, f in (('a', 0), ('b', 50), ('c', 90))]
    return [look(a.join(b, c), a, b, c), look(a.join(), a)]


@case
def join_of_what_does_not_fit():
    return [attempt(lambda: Table().join(Table())),
            attempt(lambda: Table().join(Table(keys=('d',), n=6)))]


@case
def concat():
    seen = []
    for left, right in PAIRS[:4]:
        keys = ('a', 'b') if left else ('a',)
        a, b = Table(left, keys, 3), Table(right, keys, 4, 100)
        both = a.concat(b)
        for rows in ([4, 1], [4, 5], [0, 1], [1, 4, 0, 5], [], slice(1, 5), slice(1, 3),
                     slice(4, 6), slice(0, 7, 3), [2, 2, 4, 4]):
            seen.append(plain(both.slice[rows].fetch()))
            a.asked.clear(), b.asked.clear()
            seen.append([plain(both.get_examples(rows, (0,))), plain([a.asked, b.asked])])
    return seen


@case
def concat_of_many():
    parts = [Table(keys=('a',), n=n, first=10 * n, array=n % 2) for n in (4, 1, 0, 2)]
    both = parts[0].concat(*parts[1:])
    return [plain(both.fetch()), plain(both.slice[::-1].fetch()), plain(both.slice[[5, 4]].fetch()),
            look(Table().concat())]


@case
def concat_of_what_does_not_fit():
    return [attempt(lambda: Table().concat(Table(keys=('a', 'b')))),
            attempt(lambda: Table().concat(Table(keys=('a', 'c', 'b'))))]


@case
def transform_a_tuple():
    seen = []
    for function in (
            lambda a, b, c: (a + b, c), lambda a, b, c: {'y': a, 'x': c},
            lambda a, b, c: {'x': a, 'y': c, 'z': b}):
        for method in ('transform', 'transform_batch'):
            table = Table()
            seen.append(look(getattr(table, method)(('x', 'y'), function), table))
    return seen


@case
def transform_a_dict():
    seen = []
    for function in (lambda a, b, c: (a + b, c), lambda c, a, b: {'y': a, 'x': c}):
        for method in ('transform', 'transform_batch'):
            table = Table(dict)
            seen.append(look(getattr(table, method)(('x', 'y'), function), table))
    return seen


@case
def transform_to_one_column():
    seen = []
    for keys in ('x', ('x',)):
        for function in (lambda a: a * 2, lambda a: (a,), lambda a: {'x': a}):
            for method in ('transform', 'transform_batch'):
                table = Table(None, ('a',))
                seen.append(look(getattr(table, method)(keys, function), table))
    return seen


@case
def transform_is_lazy():
    calls = []

    def function(a, b, c):
        calls.append(plain([a, b, c]))
        return a

    seen = []
    for method in ('transform', 'transform_batch'):
        made = getattr(Table(), method)('x', function)
        seen.append([len(made), list(made.keys), list(calls)])
        seen.append([made.mode, list(calls)])
        made[2], made.mode
        seen.append(list(calls))
        calls.clear()
    return seen


@case
def transform_must_keep_its_kind():
    return [
        attempt(lambda: Table().transform('x', lambda a, b, c: (1,) if a else 5).fetch()),
        attempt(lambda: Table().transform('x', lambda a, b, c: (1,) if a else {'x': 5}).fetch()),
        attempt(lambda: Table().transform(('x', 'y'), lambda a, b, c: (1,)).fetch()),
        attempt(lambda: Table().transform(('x', 'y'), lambda a, b, c: {'x': 1}).fetch()),
        attempt(lambda: Table().transform_batch('x', lambda a, b, c: a[1:]).fetch())]


@case
def converters():
    def converter(*args, **kwargs):
        return [plain(args), plain(kwargs)]

    return [
        [table.convert(table.fetch()), table.convert(5), table.convert([1, 2]),
         table.slice[:2, ('a',)].convert({'b': 1}), table.asdict().convert(7)]
        for table in [make().with_converter(converter) for make in TABLES]]


@case
def convert():
    table = Table()
    rows = (
        [1, 2], ([1, 2], [3, 4]), np.array([1, 2]), {'a': [1, 2]}, [np.zeros(2), np.ones(2)],
        ([1., 2.], np.array([1])), (), {}, table.fetch(), table.asdict().fetch(), table[:3])
    return [plain(table.convert(row)) for row in rows]


@case
def the_first_one_converts():
    a, b = Table(tag='a'), Table(tag='b')
    other = Table(keys=('d',), tag='d')
    views = (
        a.join(other), other.join(a), a.concat(b), b.concat(a), a.slice[1:, 'a'], a.asdict(),
        a.astuple(), a.transform('x', max), a.transform_batch('x', max),
        tabular.DelegateDataset(a))
    return [plain(view.convert([1])) for view in views]


COLUMNS = dict(
    list=lambda: ('k', [1, 2, 3]), array=lambda: ('k', np.arange(3) * 10),
    matrix=lambda: ('k', np.arange(6).reshape(3, 2)), table=lambda: (('k', [1, 2, 3]),),
    tuple=lambda: (('k', [1, 2, 3]), ('m', np.arange(3))),
    dict=lambda: {'k': [1, 2, 3], 'm': np.arange(3)},
    function=lambda: (('k', lambda i: i * 2), ('m', np.arange(3))),
    functions=lambda: {('p', 'q'): lambda i: (i, i + 1), 'a': np.arange(3)},
    dicts=lambda: {('p', 'q'): lambda i: {'q': i, 'p': -i}, 'a': np.arange(3)},
    lengths=lambda: (('k', [1, 2]), ('m', [1])), twice=lambda: (('k', [1, 2]), ('k', [1, 2])),
    no_key=lambda: ([1, 2], lambda i: i), no_size=lambda: {'k': lambda i: i},
    several=lambda: (('p', 'q'), [1, 2, 3]))


@case
def from_data():
    seen = {}
    for name, make in COLUMNS.items():
        result = tried(tabular.from_data, make())
        seen[name] = result if isinstance(result, str) else look(result)
    return seen


@case
def from_functions():
    return [
        look(tabular.from_data(('k', lambda i: i * 2), size=4)),
        look(tabular.from_data((('p', 'q'), lambda i: (i, -i)), size=3)),
        look(tabular.from_data({'k': lambda i: i * 2}, size=3)),
        look(tabular.from_data((('k', lambda i: i * 2), ('l', [1, 2, 3])), size=3)),
        attempt(lambda: tabular.from_data((('k', abs), ('l', [1, 2, 3])), size=9)),
        attempt(lambda: tabular.from_data(lambda i: i, size=2))]


@case
def from_data_without_keys():
    numbers, array = [1, 2, 3], np.arange(3)
    tables = [tabular.from_data(data) for data in (
        numbers, array, (numbers, array), (array,), (numbers, ('k', array)), [('k', 1)])]
    # A key that nothing else has.
    assert all([len(set(table.keys)) == len(table.keys) for table in tables])
    return [[plain(table.fetch()), plain(table[0]), len(table.keys)] for table in tables]


def run(function):
    return function()
