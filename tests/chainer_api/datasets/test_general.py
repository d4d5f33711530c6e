"""Datasets made of other datasets."""
import pickle

import numpy as np
import pytest

from chainer import datasets


def test_tuple_dataset():
    data = datasets.TupleDataset(np.arange(4), list('abcd'))
    assert len(data) == 4
    assert data[1] == (1, 'b') and data[-1] == (3, 'd')
    assert data[1:3] == [(1, 'b'), (2, 'c')] and data[1:1] == []
    with pytest.raises(IndexError):
        data[4]
    with pytest.raises(ValueError, match='no datasets are given'):
        datasets.TupleDataset()
    with pytest.raises(ValueError, match='index 1 has a wrong length: 1 examples'):
        datasets.TupleDataset([1, 2], [3])


def test_dict_dataset():
    data = datasets.DictDataset(x=np.arange(3), y=[4, 5, 6])
    assert len(data) == 3
    assert data[1] == {'x': 1, 'y': 5} and data[-1] == {'x': 2, 'y': 6}
    assert data[1:] == [{'x': 1, 'y': 5}, {'x': 2, 'y': 6}]
    with pytest.raises(ValueError, match='no datasets are given'):
        datasets.DictDataset()
    with pytest.raises(ValueError, match='dataset length conflicts at "b": 1 examples'):
        datasets.DictDataset(a=[1, 2], b=[3])


def test_concatenated_dataset():
    data = datasets.ConcatenatedDataset([1, 2, 3], [], np.array([4, 5]))
    assert len(data) == 5 and data[:] == [1, 2, 3, 4, 5]
    assert data[3] == 4 and data[1:5:2] == [2, 4] and data[[4, 0]] == [5, 1]
    for i in -1, 5:
        with pytest.raises(IndexError, match=f'index {i} of a ConcatenatedDataset of 5'):
            data[i]
    assert len(datasets.ConcatenatedDataset()) == 0


def test_sub_dataset():
    part = datasets.SubDataset([10, 11, 12, 13], 1, 3)
    assert len(part) == 2 and part[:] == [11, 12] and part[-1] == 12 and part[-2] == 11
    for i in 2, -3:
        with pytest.raises(IndexError, match='dataset index out of range'):
            part[i]
    assert datasets.SubDataset('abcd', 1, 3, [3, 2, 1, 0])[:] == ['c', 'b']
    for start, finish in (-1, 2), (1, 5):
        with pytest.raises(ValueError, match='subset overruns the base dataset'):
            datasets.SubDataset('abcd', start, finish)
    with pytest.raises(ValueError, match=r'len\(order\) = 2 while len\(dataset\) = 4'):
        datasets.SubDataset('abcd', 0, 2, [0, 1])


def test_split_errors():
    with pytest.raises(TypeError, match="must be int, got <class 'float'>"):
        datasets.split_dataset('abc', 1.5)
    with pytest.raises(ValueError, match='non-negative'):
        datasets.split_dataset('abc', -1)
    with pytest.raises(ValueError, match='exceeds the dataset size: 4 > 3'):
        datasets.split_dataset('abc', 4)
    with pytest.raises(ValueError, match='into 0 parts'):
        datasets.split_dataset_n('abc', 0)
    first, second = datasets.split_dataset('abc', np.int64(1))
    assert first[:] == ['a'] and second[:] == ['b', 'c']


def test_random_splits_ignore_the_global_seed():
    splits = set()
    for _ in range(3):
        np.random.seed(0)
        first, _ = datasets.split_dataset_random(range(1000), 10)
        splits.add(tuple(first[:]))
    assert len(splits) > 1


@pytest.mark.parametrize('n', [0, 4, -1])
def test_cross_validation_errors(n):
    with pytest.raises(ValueError, match=f'cannot make {n} folds of 3 examples'):
        datasets.get_cross_validation_datasets('abc', n)


def test_cross_validation_by_either_name():
    five = datasets.get_cross_validation_datasets(range(5), n_fold=2)
    seven = datasets.get_cross_validation_datasets(range(5), n_folds=2)
    assert [(a[:], b[:]) for a, b in five] == [(a[:], b[:]) for a, b in seven]
    random = datasets.get_cross_validation_datasets_random(range(5), n_folds=5, seed=0)
    assert sorted(test[0] for _, test in random) == [0, 1, 2, 3, 4]


def test_transform_dataset():
    data = datasets.TransformDataset([1, 2, 3], lambda x: -x)
    assert len(data) == 3 and data[1] == -2 and data[:2] == [-1, -2] and data[[2, 0]] == [-3, -1]
    assert pickle.loads(pickle.dumps(datasets.TransformDataset([-2], abs)))[0] == 2
