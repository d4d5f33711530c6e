"""Tabular datasets: any chain of views against lists, errors, and where datasets are used.

What the original does in each case is in tests/golden/tabular_cases.py.
"""
import pickle

import numpy as np
import pytest

from chainer import dataset, datasets, iterators
from chainer.dataset import tabular

N = 7


def make(kind):
    numbers = list(range(N))
    if kind == 'list':
        return tabular.from_data(('x', numbers))
    if kind == 'array':
        return tabular.from_data(('x', np.arange(N)))
    if kind == 'function':
        return tabular.from_data(('x', lambda i: i), size=N)
    parts = [tabular.from_data(('x', part)) for part in (numbers[:3], [], np.arange(3, N))]
    return parts[0].concat(*parts[1:])


def random_rows(random, n):
    kind = random.randint(3)
    if kind == 0 and n:
        return [int(i) for i in random.randint(-n, n, random.randint(5))]
    if kind == 1:
        return [bool(b) for b in random.randint(2, size=n)]
    start, stop = random.randint(-n - 2, n + 3, 2).tolist()
    return slice(random.choice([None, start]), random.choice([None, stop]),
                 random.choice([None, -3, -2, -1, 1, 2, 3]))


def chosen(numbers, rows):
    if isinstance(rows, slice):
        return numbers[rows]
    if rows and isinstance(rows[0], bool):
        return [x for x, keep in zip(numbers, rows, strict=True) if keep]
    return [numbers[i] for i in rows]


@pytest.mark.parametrize('kind', ['list', 'array', 'function', 'concat'])
def test_views_of_views_have_the_rows_of_lists(kind):
    random = np.random.RandomState(0)
    for _ in range(100):
        table, numbers = make(kind), list(range(N))
        for _ in range(3):
            rows = random_rows(random, len(numbers))
            table, numbers = table.slice[rows], chosen(numbers, rows)
            if random.randint(3) == 0:
                table, numbers = table.concat(table), numbers * 2
            if numbers and random.randint(3) == 0:
                table, numbers = table.transform('x', lambda x: x + 1), [x + 1 for x in numbers]
            assert len(table) == len(numbers)
            assert list(table.slice[:, 'x'].fetch()) == numbers
            assert [table[i] for i in range(-len(numbers), len(numbers))] == numbers * 2
            for i in (len(numbers), -len(numbers) - 1):
                with pytest.raises(IndexError):
                    table[i]


def test_rows_of_different_shapes_become_an_array_of_objects():
    table = tabular.from_data(('x', [[1], [2, 3]]))
    converted = table.convert(table.fetch())
    assert converted.dtype == object
    assert converted.tolist() == [[1], [2, 3]]
    # Here NumPy would try to broadcast.
    rows = [np.zeros((2, 3)), np.zeros((2, 4))]
    converted = table.convert(rows)
    assert converted.shape == (2,)
    assert converted[1] is rows[1]


def test_a_delegate_is_a_dataset_to_derive_from():
    class Mine(tabular.DelegateDataset):
        def __init__(self):
            super().__init__(tabular.from_data({'x': [1, 2]}))

    assert isinstance(Mine(), dataset.TabularDataset)
    assert Mine().asdict().fetch() == {'x': [1, 2]}
    assert Mine().slice[1:].join(tabular.from_data({'y': [5]}))[0] == {'x': 2, 'y': 5}


def test_delegates_do_not_hand_on_converters():
    table = tabular.from_data(('x', [1, 2])).with_converter(sum)
    assert table.slice[:1].convert([1, 2]) == 3
    assert tabular.DelegateDataset(table).convert([1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize('iterator', [
    iterators.SerialIterator, iterators.MultithreadIterator, iterators.MultiprocessIterator])
def test_iterators_give_rows_that_converters_take(iterator):
    table = tabular.from_data((('x', np.arange(5) / 2), ('t', [0, 1, 0, 1, 1])))
    with iterator(table, 2, repeat=False, shuffle=False) as batches:
        batches = list(batches)
    assert batches[1] == [(1.0, 0), (1.5, 1)]
    x, t = dataset.concat_examples(batches[1])
    np.testing.assert_array_equal(x, [1, 1.5])
    np.testing.assert_array_equal(t, [0, 1])


def test_other_datasets_take_tables():
    table = tabular.from_data({'x': [1, 2, 3, 4]})
    first, second = datasets.split_dataset(table, 3)
    assert list(first[:]) == [{'x': 1}, {'x': 2}, {'x': 3}]
    assert second[0] == {'x': 4}
    assert datasets.TransformDataset(table, lambda row: row['x'] * 2)[1:3] == [4, 6]


def test_views_can_be_pickled():
    table = tabular.from_data((('x', [1, 2, 3]), ('y', np.arange(3)))).slice[::-1, ('y', 'x')]
    copy = pickle.loads(pickle.dumps(table.concat(table.astuple())))
    assert [list(column) for column in copy.fetch()] == [[2, 1, 0] * 2, [3, 2, 1] * 2]


TABLE = tabular.from_data((('x', [1, 2, 3]), ('y', [4, 5, 6])))


@pytest.mark.parametrize(('wrong', 'error', 'message'), [
    (lambda: TABLE.slice[1], TypeError, r'one row is dataset\[i\]'),
    (lambda: TABLE.slice[:, 'x', 'y'], ValueError, 'Several keys are a tuple'),
    (lambda: TABLE.slice[[3]], IndexError, 'index 3 is out of bounds for dataset with size 3'),
    (lambda: TABLE.slice[[1.5]], TypeError, 'integer'),
    (lambda: TABLE.slice[[True]], ValueError, 'number of booleans'),
    (lambda: TABLE.slice[:, 'z'], KeyError, "'z' does not exist; the keys are 'x', 'y'"),
    (lambda: TABLE.slice[:, np.arange(2)], KeyError, 'does not exist'),
    (lambda: TABLE.slice[:, 2], IndexError, 'out of bounds for keys'),
    (lambda: TABLE.join(TABLE), ValueError, 'All keys must be unique'),
    (lambda: TABLE.join(TABLE.slice[:2]), ValueError, 'same length'),
    (lambda: TABLE.concat(TABLE.slice[:, ('y', 'x')]), ValueError, 'same keys'),
    (lambda: TABLE.transform(('a', 'b'), lambda x, y: (x,))[0], IndexError, "keys 'a', 'b'"),
    (lambda: TABLE.transform(('a', 'b'), lambda x, y: {'a': x})[0], KeyError, "'b' is missing"),
    (lambda: TABLE.transform('a', lambda x, y: (x,) if x > 1 else x).fetch(), ValueError,
     'must not change its return type: it returned a single value before, and now a tuple'),
    (lambda: TABLE.transform_batch('a', lambda x, y: x[1:]).fetch(), ValueError,
     'must not change the length'),
    (lambda: tabular.from_data(3), TypeError, 'must be a list, an array or a function, not int'),
    (lambda: tabular.from_data(()), ValueError, 'at least one column'),
    (lambda: tabular.from_data(abs), ValueError, r'write \(key, function\)'),
    (lambda: tabular.from_data(('x', abs)), ValueError, 'size=n'),
])
def test_errors(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
