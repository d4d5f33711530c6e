"""Indexing of datasets, and the iterator interface."""
import numpy as np
import pytest

from chainer import dataset


class Letters(dataset.DatasetMixin):
    def __len__(self):
        return 5

    def get_example(self, i):
        if not 0 <= i < 5:
            raise IndexError
        return 'abcde'[i]


@pytest.mark.parametrize('index, expected', [
    (1, 'b'), (np.int64(2), 'c'), (slice(1, 3), ['b', 'c']), (slice(None, None, -2), list('eca')),
    (slice(-2, None), ['d', 'e']), ([4, 0], ['e', 'a']), (np.array([2, 2]), ['c', 'c']),
    ([], []),
])
def test_indices(index, expected):
    assert Letters()[index] == expected


def test_iteration_ends():
    assert list(Letters()) == list('abcde')


def test_what_a_dataset_must_define():
    with pytest.raises(NotImplementedError, match=r'DatasetMixin must define __len__\(\)'):
        len(dataset.DatasetMixin())
    with pytest.raises(NotImplementedError, match='must define get_example'):
        dataset.DatasetMixin()[0]


def test_iterator_interface():
    finalized = []

    class Once(dataset.Iterator):
        def __next__(self):
            return [1]

        def finalize(self):
            finalized.append(self)

    with Once() as iterator:
        assert iter(iterator) is iterator and iterator.next() == [1]
    assert finalized == [iterator]
    finalized.clear()
    with pytest.raises(NotImplementedError, match='must define __next__'):
        next(dataset.Iterator())
