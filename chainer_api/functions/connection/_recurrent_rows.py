"""The times of a recurrent layer on arrays of NumPy: two library ops, forward and backward.

In: what one time does (see :mod:`._recurrent_layer`), how long the sequences are, gates and
states. Out: outputs of all times, last states, and what gradients need. The rows of all times stand
in one array: of states those before the first time as well, so that the states before and after a
time are parts of it. All times are one native call, as soon as there is native code.
"""
import functools

import numpy as np

from chainer.functions.connection import _sequences
from chainwright.runtime import Loop, kernels
from chainwright.tracer import blank


class _Order:
    """Where the rows of each turn stand; the first turn is the first time, or the last one.

    Attributes:
        counts (list of ints): How many rows each turn has.
        time, before, after (arrays): The first of them in what stands in the order of time, and
            in states.
        n_states (int): How many rows states have.
        source (array or None): For each of these, which of the first states it is to begin with;
            None if these are the first rows, and the others are computed.
        final, outputs, earlier (arrays or slices): Of the states: the rows that are the last ones,
            those after each time, in the order of time, and those before each.
        ways (pair of arrays): For gradients, of each turn backward: the first row in each half of
            an array of twice the states.
        g_first (array): The rows of that array that are gradients of the first states.
    """

    def __init__(self, cell, lengths, reverse, batch):
        self._cell, self._backwards = cell, {}
        sizes = _sequences.counts(lengths)
        n = np.array(sizes)
        ends = n.cumsum()
        begins, total, places = ends - n, int(ends[-1]), np.arange(batch)
        times = np.searchsorted(-n, -places)  # of each sequence
        if reverse:
            counts = np.append(n[::-1], batch)
            blocks = counts.cumsum() - counts
            self.n_states = total + batch
            self.source = np.arange(self.n_states) - blocks.repeat(counts)
            self.before, self.after = blocks[:-1], blocks[1:]
            self.time, self.counts = begins[::-1], list(sizes[::-1])
            self.final = slice(total, None)
            self.outputs = (self.after[::-1] - begins).repeat(n) + np.arange(total)
            self.earlier = (self.before[::-1] - begins).repeat(n) + np.arange(total)
            half = times % 2
        else:
            self.n_states, self.source = batch + total, None
            self.after = batch + begins
            self.before = np.append(0, self.after[:-1])
            self.time, self.counts = begins, list(sizes)
            self.final = np.where(times > 0, self.after[times - 1], 0) + places
            self.outputs = slice(batch, None)
            whole = sizes[-1] == batch
            self.earlier = slice(total) if whole else (
                (self.before - begins).repeat(n) + np.arange(total))
            half = np.where(times > 0, len(n) % 2, 0)
        turns = np.arange(len(n)) % 2 * batch
        self.ways = turns, batch - turns
        self.g_first = half * batch + places

    @functools.cached_property
    def forward(self):
        """The loop of :func:`forward`."""
        n, more = self._cell.n_states, self._cell.n_saved
        return Loop(self.counts, [
            self.time, None, None, *[self.before] * n, *[self.after] * n, *[self.time] * more])

    def backward(self, outputs):
        """The loop of :func:`backward`, for so many gradients of the outputs: none or one."""
        if outputs not in self._backwards:
            n, more, gates = self._cell.n_states, self._cell.n_saved, 2 - self._cell.adds
            time, before, after = (a[::-1] for a in (self.time, self.before, self.after))
            here, there = self.ways
            self._backwards[outputs] = Loop(self.counts[::-1], [
                None, *[before] * n, *[after] * n, *[time] * more, *[here] * n, *[time] * outputs,
                *[time] * gates, *[there] * n])
        return self._backwards[outputs]


@functools.lru_cache(64)
def _order(cell, lengths, reverse, batch):
    """That of sequences of certain lengths; there is one time at least, and a state for each."""
    return _Order(cell, lengths, reverse, batch)


def _blanks(dtype, *shapes):
    """Arrays of these shapes, of which no more is wanted where they are recorded."""
    return tuple([blank(shape, dtype) for shape in shapes])


@kernels.library_op('recurrent')
def forward(gates, W, b, *states, turns, cell, lengths, reverse):
    """The outputs and the last states; then the states and the rest of what gradients need."""
    total, (batch, units), n = len(gates), states[0].shape, len(states)
    if kernels.RECORDING.loops_are_ops:
        return _blanks(
            gates.dtype, (total, units), *[(batch, units)] * n, *[(total + batch, units)] * n,
            *[(total, units)] * cell.n_saved)
    order = _order(cell, lengths, reverse, batch)
    made = [np.empty((order.n_states, units), gates.dtype) for _ in states]
    for s, first in zip(made, states, strict=True):
        if order.source is None:
            s[:batch] = first
        else:
            first.take(order.source, 0, s, 'clip')  # 'raise' would take a copy
    saved = [np.empty((total, units), gates.dtype) for _ in range(cell.n_saved)]
    turns.run(order.forward, [gates, W, b, *made], [*made, *saved])
    finals = [_rows(s, order.final) for s in made]
    return _rows(made[0], order.outputs), *finals, *made, *saved


@kernels.library_op('recurrent_grad')
def backward(W, *arrays, turns, cell, lengths, reverse):
    """The gradients of the gates, those of what the output before adds to them, that output, and
    the gradients of the first states. Arrays are what is saved, and the gradients of the last
    states and of the outputs, if there are any."""
    n = cell.n_states
    states, saved, g_finals, given = (
        arrays[:n], arrays[n:n + cell.n_saved], arrays[n + cell.n_saved:2 * n + cell.n_saved],
        arrays[2 * n + cell.n_saved:])
    dtype, (batch, units) = g_finals[0].dtype, g_finals[0].shape
    total, width, n_gates = len(states[0]) - batch, cell.n_gates * units, 2 - cell.adds
    if kernels.RECORDING.loops_are_ops:
        return _blanks(
            dtype, *[(total, width)] * n_gates, (total, units), *[(batch, units)] * n)
    order = _order(cell, lengths, reverse, batch)
    grads = [np.empty((2 * batch, units), dtype) for _ in states]
    for g, final in zip(grads, g_finals, strict=True):
        g.reshape((2, batch, units))[:] = final
    gates = [np.empty((total, width), dtype) for _ in range(n_gates)]
    turns.run(
        order.backward(len(given)), [W, *states, *states, *saved, *grads, *given],
        [*gates, *grads])
    firsts = [g.take(order.g_first, 0) for g in grads]
    return *gates, _rows(states[0], order.earlier), *firsts


def _rows(array, which):
    """An array of its own with some rows of another one."""
    return array[which].copy() if type(which) is slice else array.take(which, 0)
