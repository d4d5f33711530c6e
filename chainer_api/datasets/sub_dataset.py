"""Parts of a dataset: intervals, random splits, cross validation."""
import functools
import numbers

import numpy

from chainer.dataset import dataset_mixin


class SubDataset(dataset_mixin.DatasetMixin):
    """An interval of a dataset, of its own order or of a given one.

    Example ``i`` is example ``start + i`` of the base dataset, or ``order[start + i]`` where an
    ``order`` is given. Negative indices count from ``finish``.

    Args:
        dataset: The base dataset.
        start (int): First position of the interval.
        finish (int): Position behind its last.
        order (sequence of int): As many positions of the base dataset as it has examples.

    Raises:
        ValueError: The interval reaches beyond the dataset, or ``order`` has another length.

    >>> from chainer.datasets import SubDataset
    >>> SubDataset('abcdef', 2, 5)[:]
    ['c', 'd', 'e']
    >>> SubDataset('abc', 0, 2, order=[2, 1, 0])[:]
    ['c', 'b']
    """

    def __init__(self, dataset, start, finish, order=None):
        if start < 0 or finish > len(dataset):
            raise ValueError(
                f'subset overruns the base dataset: [{start}, {finish}) of {len(dataset)} examples')
        if order is not None and len(order) != len(dataset):
            raise ValueError(
                'order option must have the same length as the base dataset: len(order) = '
                f'{len(order)} while len(dataset) = {len(dataset)}')
        self._dataset = dataset
        self._start = start
        self._finish = finish
        self._size = finish - start
        self._order = order

    def __len__(self):
        """The number of examples in the interval."""
        return self._size

    def get_example(self, i):
        """The ``i``-th example of the interval; raises ``IndexError`` outside of it."""
        if not -self._size <= i < self._size:
            raise IndexError(f'dataset index out of range: {i} of {self._size} examples')
        position = (self._start if i >= 0 else self._finish) + i
        if self._order is not None:
            position = self._order[position]
        return self._dataset[position]


def split_dataset(dataset, split_at, order=None):
    """Splits a dataset in two.

    Args:
        dataset: The dataset.
        split_at (int): Size of the first part.
        order (sequence of int): Order of the examples, see :class:`SubDataset`.

    Returns:
        tuple: Two :class:`SubDataset` s, of the positions before and from ``split_at``.

    Raises:
        TypeError: ``split_at`` is no integer.
        ValueError: ``split_at`` is negative or larger than the dataset.

    >>> from chainer.datasets import split_dataset
    >>> train, test = split_dataset('abcde', 3)
    >>> train[:], test[:]
    (['a', 'b', 'c'], ['d', 'e'])
    """
    if not isinstance(split_at, numbers.Integral):
        raise TypeError(f'split_at must be int, got {type(split_at)} instead')
    if split_at < 0:
        raise ValueError(f'split_at must be non-negative, not {split_at}')
    if split_at > len(dataset):
        raise ValueError(f'split_at exceeds the dataset size: {split_at} > {len(dataset)}')
    return (SubDataset(dataset, 0, split_at, order),
            SubDataset(dataset, split_at, len(dataset), order))


def split_dataset_random(dataset, first_size, seed=None):
    """Splits a dataset in two at random.

    Args:
        dataset: The dataset.
        first_size (int): Size of the first part.
        seed (int): Seed of the permutation: the same one gives the same split. ``None`` gives
            another split each time, whatever the state of ``numpy.random``.

    Returns:
        tuple: Two :class:`SubDataset` s.

    >>> from chainer.datasets import split_dataset_random
    >>> first, second = split_dataset_random(range(6), 2, seed=0)
    >>> first[:], second[:]
    ([5, 2], [1, 3, 0, 4])
    """
    return split_dataset(dataset, first_size, _permutation(dataset, seed))


def split_dataset_n(dataset, n, order=None):
    """Splits a dataset into ``n`` parts of equal size; up to ``n - 1`` last examples are left out.

    >>> from chainer.datasets import split_dataset_n
    >>> [part[:] for part in split_dataset_n(range(7), 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    if n < 1:
        raise ValueError(f'a dataset cannot be split into {n} parts')
    size = len(dataset) // n
    return [SubDataset(dataset, size * i, size * (i + 1), order) for i in range(n)]


def split_dataset_n_random(dataset, n, seed=None):
    """Splits a dataset into ``n`` parts of equal size at random; ``len(dataset) % n`` examples
    are left out. ``seed`` is as for :func:`split_dataset_random`."""
    return split_dataset_n(dataset, n, _permutation(dataset, seed))


def _also_n_folds(function):
    """Accepts the keyword ``n_folds`` of Chainer 7 for ``n_fold``."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if 'n_folds' in kwargs:
            kwargs['n_fold'] = kwargs.pop('n_folds')
        return function(*args, **kwargs)
    return wrapper


@_also_n_folds
def get_cross_validation_datasets(dataset, n_fold, order=None):
    """Makes the splits of a cross validation.

    Each example is in exactly one test part, and the sizes of the test parts differ by one at
    most.

    Args:
        dataset: The dataset.
        n_fold (int): The number of splits; ``n_folds`` is accepted as well.
        order (sequence of int): Order of the examples, see :class:`SubDataset`.

    Returns:
        list of tuple: Pairs of :class:`SubDataset` s, for training and for test.

    Raises:
        ValueError: There are more folds than examples, or less than one.

    >>> from chainer.datasets import get_cross_validation_datasets
    >>> for train, test in get_cross_validation_datasets(range(4), 2):
    ...     train[:], test[:]
    ([0, 1], [2, 3])
    ([2, 3], [0, 1])
    """
    whole = len(dataset)
    if not 1 <= n_fold <= whole:
        raise ValueError(f'cannot make {n_fold} folds of {whole} examples')
    order = numpy.arange(whole) if order is None else numpy.asarray(order)
    borders = [whole * i // n_fold for i in range(n_fold + 1)]
    splits = []
    for start, finish in reversed(list(zip(borders, borders[1:], strict=False))):
        rotated = numpy.roll(order, whole - finish)
        splits.append(split_dataset(dataset, whole - (finish - start), rotated))
    return splits


@_also_n_folds
def get_cross_validation_datasets_random(dataset, n_fold, seed=None):
    """Makes the splits of a cross validation at random.

    Like :func:`get_cross_validation_datasets` over a random permutation; ``seed`` is as for
    :func:`split_dataset_random`.
    """
    return get_cross_validation_datasets(dataset, n_fold, _permutation(dataset, seed))


def _permutation(dataset, seed):
    return numpy.random.RandomState(seed).permutation(len(dataset))
