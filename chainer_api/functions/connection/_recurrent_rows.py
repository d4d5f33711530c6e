"""The times of a recurrent layer on arrays of NumPy: all of them in one native call, each way.

In: what one time does (see :mod:`._recurrent_layer`), how many sequences there are at each, gates
and states. Out: outputs of all times, last states, and what gradients need, or None where there is
no native code for it (yet). The rows of all times stand in one array: of states those before the
first time as well, so that the states before and after a time are parts of it.
"""
import functools

import numpy as np

from chainwright.runtime import Rows


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
        ways (tuples of arrays): For gradients, of each turn backward: the first row in each half of
            an array of twice the states.
        g_first (array): The rows of that array that are gradients of the first states.
    """

    def __init__(self, lengths, reverse, batch):
        n = np.array(lengths)
        ends = n.cumsum()
        begins, total, places = ends - n, int(ends[-1]), np.arange(batch)
        times = np.searchsorted(-n, -places)  # of each sequence
        if reverse:
            counts = np.append(n[::-1], batch)
            blocks = counts.cumsum() - counts
            self.n_states = total + batch
            self.source = np.arange(self.n_states) - blocks.repeat(counts)
            self.before, self.after = blocks[:-1], blocks[1:]
            self.time, self.counts = begins[::-1], list(lengths[::-1])
            self.final = slice(total, None)
            self.outputs = (self.after[::-1] - begins).repeat(n) + np.arange(total)
            self.earlier = (self.before[::-1] - begins).repeat(n) + np.arange(total)
            half = times % 2
        else:
            self.n_states, self.source = batch + total, None
            self.after = batch + begins
            self.before = np.append(0, self.after[:-1])
            self.time, self.counts = begins, list(lengths)
            self.final = np.where(times > 0, self.after[times - 1], 0) + places
            self.outputs = slice(batch, None)
            whole = lengths[-1] == batch
            self.earlier = slice(total) if whole else (
                (self.before - begins).repeat(n) + np.arange(total))
            half = np.where(times > 0, len(n) % 2, 0)
        turns = np.arange(len(n)) % 2 * batch
        self.ways = turns, batch - turns
        self.g_first = half * batch + places


@functools.lru_cache(64)
def _order(lengths, reverse, batch):
    """The order; None if there is nothing to do, or not as it has to be."""
    if not lengths or lengths[-1] < 1 or lengths[0] > batch or any(
            [a < b for a, b in zip(lengths, lengths[1:], strict=False)]):
        return None
    return _Order(lengths, reverse, batch)


def _is_plain(a, dtype):
    return type(a) is np.ndarray and a.dtype == dtype and a.flags.aligned


def forward(turns, cell, lengths, reverse, gates, W, b, states):
    """Returns the outputs, the last states, and what gradients need: a list of arrays; or None."""
    if not all([_is_plain(a, gates.dtype) for a in (gates, b, *states)]):
        return None
    batch, units = states[0].shape
    order = _order(lengths, reverse, batch)
    if order is None:
        return None
    made = [np.empty((order.n_states, units), gates.dtype) for _ in states]
    arguments = [
        Rows(gates, order.time), Rows(W, None), Rows(b, None),
        *[Rows(s, order.before) for s in made]]
    prepared = turns.prepared(order.counts, arguments, (units,) * (cell.n_states + cell.n_saved))
    if prepared is None:
        return None
    for s, first in zip(made, states, strict=True):
        if order.source is None:
            s[:batch] = first
        else:
            first.take(order.source, 0, s)
    saved = [np.empty((len(gates), units), gates.dtype) for _ in range(cell.n_saved)]
    results = [*[Rows(s, order.after) for s in made], *[Rows(s, order.time) for s in saved]]
    if not prepared.run(results):
        return None
    finals = [_rows(s, order.final) for s in made]
    return _rows(made[0], order.outputs), finals, [*made, *saved]


def backward(turns, cell, lengths, reverse, W, saved, g_hs, g_finals):
    """Returns the gradients of the gates, of those of the output before, that output, and the
    gradients of the first states; or None."""
    dtype = W.dtype
    given = [] if g_hs is None else [g_hs]
    if not all([_is_plain(a, dtype) for a in (W, *given, *g_finals)]):
        return None
    batch, units = g_finals[0].shape
    order, n = _order(lengths, reverse, batch), cell.n_states
    time, before, after = (a[::-1] for a in (order.time, order.before, order.after))
    states, saved = saved[:n], saved[n:]
    grads = [np.empty((2 * batch, units), dtype) for _ in states]
    arguments = [
        Rows(W, None), *[Rows(s, before) for s in states], *[Rows(s, after) for s in states],
        *[Rows(s, time) for s in saved], *[Rows(g, order.ways[0]) for g in grads],
        *[Rows(g, time) for g in given]]
    width = cell.n_gates * units
    widths = [*[width] * (2 - cell.adds), *[units] * n]
    prepared = turns.prepared(order.counts[::-1], arguments, widths)
    if prepared is None:
        return None
    for g, final in zip(grads, g_finals, strict=True):
        g.reshape((2, batch, units))[:] = final
    gates = [np.empty((order.n_states - batch, width), dtype) for _ in widths[n:]]
    results = [*[Rows(g, time) for g in gates], *[Rows(g, order.ways[1]) for g in grads]]
    if not prepared.run(results):
        return None
    firsts = [g.take(order.g_first, 0) for g in grads]
    return gates[0], gates[-1], _rows(states[0], order.earlier), firsts


def steps(cell, lengths, reverse, saved, batch):
    """What :func:`forward` has saved, for each time: the states, and the rest."""
    order, n = _order(lengths, reverse, batch), cell.n_states
    found = []
    for k, count in enumerate(order.counts):
        places = [order.after[k]] * n + [order.time[k]] * (len(saved) - n)
        rows = [s[at:at + count] for s, at in zip(saved, places, strict=True)]
        found.append((tuple(rows[:n]), tuple(rows[n:])))
    return found


def _rows(array, which):
    """An array of its own with some rows of another one."""
    return array[which].copy() if type(which) is slice else array.take(which, 0)
