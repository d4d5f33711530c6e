"""Sequences of several lengths as one array: the rows of their first time, of the second, ...

The longest sequence is the first of each time, and those that have ended are left out. What
functions are told are the lengths alone, so a batch of other lengths is the same functions.
"""
import collections.abc
import functools
import itertools

import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainwright.runtime import kernels


def longest_first(lengths):
    """Positions of the longest sequence, the second longest and so on, as a list.

    Sequences of one length stand in the order that NumPy gave them when Chainer was written, for
    dropout draws its numbers in it. NumPy sorts otherwise by now, and on each processor in its own
    way.
    """
    keys = [-n for n in lengths]
    order = list(range(len(keys)))
    _sort(keys, order, 0, len(order) - 1)
    return order


def _sort(keys, order, first, last):
    """Quicksort of ``order[first:last + 1]`` by their keys: the pivot is the median of the first,
    middle and last element, and short pieces are sorted by insertion, which keeps equal ones in
    place."""
    while last - first > 15:
        middle = _split(keys, order, first, last)
        _sort(keys, order, middle + 1, last)
        last = middle - 1
    order[first:last + 1] = sorted(order[first:last + 1], key=keys.__getitem__)


def _split(keys, order, first, last):
    """Moves what is less than the pivot before it, and what is greater behind it; returns its
    place. Equal ones are exchanged, too."""
    middle = (first + last) // 2
    for low, high in (first, middle), (middle, last), (first, middle):
        if keys[order[high]] < keys[order[low]]:
            _swap(order, low, high)
    pivot = keys[order[middle]]
    _swap(order, middle, last - 1)
    low, high = first + 1, last - 2
    while True:
        while keys[order[low]] < pivot:
            low += 1
        while keys[order[high]] > pivot:
            high -= 1
        if low >= high:
            break
        _swap(order, low, high)
        low, high = low + 1, high - 1
    _swap(order, low, last - 1)
    return low


def _swap(order, i, j):
    order[i], order[j] = order[j], order[i]


@functools.lru_cache(64)
def counts(lengths):
    """How many sequences there are at each time; of these numbers, the lengths, longest first.

    >>> from chainer.functions.connection._sequences import counts
    >>> counts((2, 4, 1)), counts((3, 2, 1, 1))
    ((3, 2, 1, 1), (4, 2, 1))
    """
    times = numpy.arange(max(lengths, default=0))
    return tuple((numpy.array(lengths)[:, None] > times).sum(axis=0).tolist())


@functools.lru_cache(64)
def _order(lengths, by, back):
    """Which slice of an array is to come first, second and so on."""
    order = numpy.array(longest_first(lengths), numpy.intp)
    if by == 'time':
        n = numpy.array(lengths, numpy.intp)
        times, ranks = numpy.nonzero(numpy.arange(max(lengths, default=0))[:, None] < n[order])
        order = (n.cumsum() - n)[order][ranks] + times
    if back:
        inverse = numpy.empty_like(order)
        inverse[order] = numpy.arange(order.size)
        order = inverse
    order.flags.writeable = False  # each call with such lengths has it
    return order


_AXES = {'time': 0, 'length': 1}


def _reordered(x, *, lengths, by, back):
    xp = backend.get_array_module(x)
    return xp.take(x, xp.asarray(_order(lengths, by, back)), axis=_AXES[by])


_reordered_for_any_lengths = kernels.library_op('reordered')(_reordered)


class Reordered(function_node.FunctionNode):
    """Parts of an array in another order, which sequences of certain lengths have.

    Args:
        lengths (tuple of ints): Of the sequences.
        by (str): ``'time'``: rows, which stand one sequence after the other, go where they are by
            time. ``'length'``: of states (layers, sequences, units), the longest sequence's come
            first.
        back (bool): Whether to undo that.
    """

    _may_raise = False

    def __init__(self, lengths, by, back=False):
        self.lengths, self.by, self.back = lengths, by, back

    @property
    def axis(self):
        """The axis along which they stand."""
        return _AXES[self.by]

    @property
    def order(self):
        """Which of them comes first, second and so on: an array."""
        return _order(self.lengths, self.by, self.back)

    def forward(self, inputs):
        x, = inputs
        apply = _reordered_for_any_lengths if kernels.RECORDING.for_any_sizes else _reordered
        return apply(x, lengths=self.lengths, by=self.by, back=self.back),

    def backward(self, indexes, grad_outputs):
        return Reordered(self.lengths, self.by, not self.back).apply(grad_outputs)


class Packed(collections.abc.Sequence):
    """Sequences as rows, by time; as a sequence of Python it has the rows of each time.

    Attributes:
        rows (Variable): Those of all times.
        lengths (tuple of ints): Of the sequences, in their own order.
    """

    def __init__(self, rows, lengths):
        self.rows, self.lengths = rows, lengths

    @classmethod
    def of(cls, xs):
        """That of a list of sequences."""
        lengths = tuple([len(x) for x in xs])
        return cls(Reordered(lengths, 'time').apply((F.concat(xs, axis=0),))[0], lengths)

    @classmethod
    def of_times(cls, xs):
        """That of a list of the rows of each time."""
        return cls(F.concat(xs, axis=0), counts(tuple([x.shape[0] for x in xs])))

    def sequences(self):
        """The list of sequences."""
        rows, = Reordered(self.lengths, 'time', True).apply((self.rows,))
        return _cut(rows, self.lengths)

    @functools.cached_property
    def _times(self):
        return _cut(self.rows, counts(self.lengths))

    def __len__(self):
        return max(self.lengths, default=0)

    def __getitem__(self, index):
        return self._times[index]


def _cut(rows, lengths):
    ends = list(itertools.accumulate(lengths[:-1]))
    return F.split_axis(rows, ends, axis=0, force_tuple=True)
