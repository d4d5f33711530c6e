"""A layer of a recurrent network on sequences, in one direction, as one function.

In: the inputs of all times, weights and biases, and the first states. Out: the outputs of all
times, and the last states.
"""
import functools
import itertools

import numpy

from chainer import backend
from chainer.functions import _whole
from chainer.functions.connection import _recurrent_rows, _sequences
from chainer.utils import _errors, type_check
from chainwright.runtime import Turns, kernels, loops_are_native


def run_layer(cell, lengths, reverse, x, ws, bs, states):
    """Run a layer over the sequences of a batch.

    Args:
        cell: What happens at one time: :class:`LSTM`, :class:`GRU`, :class:`Tanh`, :class:`ReLU`.
        lengths (tuple of ints): Of the sequences, of which the longest is the first of each time.
        reverse (bool): Whether to begin at the end.
        x (Variable): The inputs: the rows of the first time, of the second, and so on.
        ws, bs (lists of Variables): Weights and biases of the gates, for the inputs and then for
            the output before.
        states (list of Variables): The first states (batch, units), the longest sequence's first;
            the first of them is the output. There may be more of them than sequences.

    Returns:
        tuple: The outputs, in rows as the inputs, and the list of the last states.
    """
    n = 2 * cell.n_gates
    if len(ws) != n or len(bs) != n:
        raise _errors.SequencesError(
            f'{n} and {n}', f'{len(ws)} and {len(bs)}',
            f'each layer and direction has {n} weights and {n} biases; got {len(ws)} and '
            f'{len(bs)}')
    hs, *finals = RecurrentLayer(cell, lengths, reverse)(x, *ws, *bs, *states)
    return hs, finals


# -- what happens at one time


class Cell:
    """What happens at one time: ``advance`` and its gradient ``retreat``.

    Attributes:
        label (str): Name of the function.
        n_states (int): Number of states.
        n_gates (int): How many times as wide as a state the gates are.
        n_saved (int): Number of values that ``retreat`` needs besides the states.
        adds (bool): Whether the gates of inputs and output before are only added up, so that they
            have the same gradients.
        direct (tuple of ints): The states that reach the next ones not through the gates alone.
    """

    n_states, adds, direct = 1, True, ()

    @staticmethod
    def advance(ops, gates, hidden, before):
        """The next states, and what is saved; ``hidden`` are the gates of the output before."""
        raise NotImplementedError

    @staticmethod
    def retreat(ops, before, after, saved, grads):
        """Gradients of the gates, of those of the output before, and of the direct states."""
        raise NotImplementedError


class LSTM(Cell):
    """Long short-term memory; the gates are ``i, f, a, o``."""

    label, n_states, n_gates, n_saved, direct = 'NStepLSTM', 2, 4, 5, (1,)

    @staticmethod
    def advance(ops, gates, hidden, before):
        _, c = before
        n = c.shape[1]
        v = gates + hidden
        i, f = ops.sigmoid(v[:, :n]), ops.sigmoid(v[:, n:2 * n])
        a, o = ops.tanh(v[:, 2 * n:3 * n]), ops.sigmoid(v[:, 3 * n:])
        c = a * i + f * c
        tanh_c = ops.tanh(c)
        return (o * tanh_c, c), (i, f, a, o, tanh_c)

    @staticmethod
    def retreat(ops, before, after, saved, grads):
        (_, c), (i, f, a, o, tanh_c), (gh, gc) = before, saved, grads
        gc = gc + gh * o * (1 - tanh_c * tanh_c)
        g = ops.concat([
            gc * a * i * (1 - i), gc * c * f * (1 - f), gc * i * (1 - a * a),
            gh * tanh_c * o * (1 - o)], 1)
        return g, g, (gc * f,)


class GRU(Cell):
    """Gated recurrent unit; the gates are ``r, z`` and the proposal."""

    label, n_gates, n_saved, adds, direct = 'NStepGRU', 3, 4, False, (0,)

    @staticmethod
    def advance(ops, gates, hidden, before):
        h, = before
        n = h.shape[1]
        r = ops.sigmoid(gates[:, :n] + hidden[:, :n])
        z = ops.sigmoid(gates[:, n:2 * n] + hidden[:, n:2 * n])
        u = r * hidden[:, 2 * n:]
        p = ops.tanh(gates[:, 2 * n:] + u)
        return (p + z * (h - p),), (r, z, u, p)

    @staticmethod
    def retreat(ops, before, after, saved, grads):
        (h,), (r, z, u, p), (g,) = before, saved, grads
        gz = g * (h - p) * z * (1 - z)
        gp = g * (1 - z) * (1 - p * p)
        gr = gp * u * (1 - r)
        return ops.concat([gr, gz, gp], 1), ops.concat([gr, gz, gp * r], 1), (g * z,)


class Tanh(Cell):
    """Hyperbolic tangent of the gate."""

    label, n_gates, n_saved = 'NStepRNNTanh', 1, 0

    @staticmethod
    def advance(ops, gates, hidden, before):
        return (ops.tanh(gates + hidden),), ()

    @staticmethod
    def retreat(ops, before, after, saved, grads):
        (h,), (g,) = after, grads
        g = g * (1 - h * h)
        return g, g, ()


class ReLU(Cell):
    """Rectified linear unit of the gate."""

    label, n_gates, n_saved = 'NStepRNNReLU', 1, 0

    @staticmethod
    def advance(ops, gates, hidden, before):
        return (ops.relu(gates + hidden),), ()

    @staticmethod
    def retreat(ops, before, after, saved, grads):
        (h,), (g,) = after, grads
        g = ops.where_positive(h, g)
        return g, g, ()


@functools.cache
def _turns(function, cell):
    return Turns(function, {'cell': cell})


def _on_devices(function):
    """Array code that is a kernel on devices; on the host all times are one (see `_turns`)."""
    code = kernels.array_code(function)

    @functools.wraps(function)
    def call(*arrays, cell):
        apply = function if type(arrays[0]) is numpy.ndarray else code
        return apply(*arrays, cell=cell)
    return call


def _advance(ops, cell, gates, W, b, before):
    """What ``cell.advance`` gives, where ``W`` and ``b`` make the gates of the output before."""
    product = ops.product(before[0], W)
    if isinstance(ops, _whole.OnVariables):
        return cell.advance(ops, gates, product + b, before)
    made = _several(_advance_arrays(gates, product, b, *before, cell=cell))
    return made[:cell.n_states], made[cell.n_states:]


@_on_devices
def _advance_arrays(gates, product, b, *before, cell):
    ops = _whole.OnArrays(backend.get_array_module(gates))
    after, saved = cell.advance(ops, gates, product + b, before)
    return _one_or_several([*after, *saved])


def _advance_rows(gates, W, b, *before, cell):
    ops = _whole.OnArrays(backend.get_array_module(gates))
    return _advance_arrays(gates, ops.product(before[0], W), b, *before, cell=cell)


def _retreat(ops, cell, W, before, after, saved, grads, g_output):
    """What ``cell.retreat`` gives, where the output has got another gradient besides.

    The gradients of the states before come from the gates by ``W``, and directly.
    """
    if isinstance(ops, _whole.OnVariables):
        if g_output is not None:
            grads = grads[0] + g_output, *grads[1:]
        g, gu, g_direct = cell.retreat(ops, before, after, saved, grads)
    else:
        more = () if g_output is None else (g_output,)
        made = _several(_retreat_arrays(*before, *after, *saved, *grads, *more, cell=cell))
        n = 2 - cell.adds
        g, gu, g_direct = made[0], made[n - 1], made[n:]
    return g, gu, _before(ops, cell, W, gu, g_direct)


def _before(ops, cell, W, g_hidden, g_direct):
    """The gradients of the states before."""
    grads = [ops.product(g_hidden, W), *[None] * (cell.n_states - 1)]
    for k, gx in zip(cell.direct, g_direct, strict=True):
        grads[k] = gx if grads[k] is None else grads[k] + gx
    return grads


@_on_devices
def _retreat_arrays(*arrays, cell):
    g_gates, g_hidden, g_direct = _retreated(cell, arrays)
    return _one_or_several([g_gates, *[g_hidden][cell.adds:], *g_direct])


def _retreat_rows(W, *arrays, cell):
    g_gates, g_hidden, g_direct = _retreated(cell, arrays)
    ops = _whole.OnArrays(backend.get_array_module(W))
    return (g_gates, *[g_hidden][cell.adds:], *_before(ops, cell, W, g_hidden, g_direct))


def _retreated(cell, arrays):
    """What ``cell.retreat`` gives of states, what is saved, and gradients, as one list."""
    ops = _whole.OnArrays(backend.get_array_module(*arrays))
    n, parts = cell.n_states, iter(arrays)
    before, after, saved, grads = (
        tuple(itertools.islice(parts, k)) for k in (n, n, cell.n_saved, n))
    for g_output in parts:
        grads = grads[0] + g_output, *grads[1:]
    return cell.retreat(ops, before, after, saved, grads)


def _one_or_several(arrays):
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _several(arrays):
    return arrays if type(arrays) is tuple else (arrays,)


# -- all times


class _Rows:
    """States of the sequences that are there, while these become more (or fewer)."""

    def __init__(self, ops, source, become_more):
        self._ops, self._source, self._become_more = ops, source, become_more
        self._now = [x[:0] for x in source] if become_more else source
        self._gone = []

    def of_first(self, n):
        """Those of the first ``n`` sequences."""
        m = self._now[0].shape[0]
        if self._become_more:
            if m == 0:
                self._now = [x if x.shape[0] == n else x[:n] for x in self._source]
            elif m < n:
                self._now = self._joined(self._now, [x[m:n] for x in self._source])
        elif n < m:
            self._gone.append([x[n:] for x in self._now])
            self._now = [x[:n] for x in self._now]
        return self._now

    def become(self, values):
        """They are these now."""
        self._now = values

    def of_all(self):
        """Those of all sequences."""
        if self._become_more:
            return self.of_first(self._source[0].shape[0])
        return self._joined(self._now, *reversed(self._gone))

    def _joined(self, *parts):
        return [self._ops.concat(list(part), 0) for part in zip(*parts, strict=True)]


class _Sweep:
    """The times of a layer, one after the other."""

    def __init__(self, ops, cell, lengths, reverse, steps=()):
        self._ops, self._cell, self._lengths, self._reverse = ops, cell, lengths, reverse
        #: Of each time: the states, and what is saved besides; or what is of all times.
        self.steps = [*steps]

    @functools.cached_property
    def _times(self):
        """Where the rows of each time stand."""
        counts = _sequences.counts(self._lengths)
        ends = itertools.accumulate(counts)
        found = [slice(end - n, end) for n, end in zip(counts, ends, strict=True)]
        return found[::-1] if self._reverse else found

    def _in_order_of_time(self, values):
        return self._ops.concat(values[::-1] if self._reverse else values, 0)

    def _joined(self, parameters):
        """The parameters of all gates, for the inputs and for the output before."""
        n = self._cell.n_gates
        return self._ops.concat(parameters[:n], 0), self._ops.concat(parameters[n:], 0)

    def forward(self, x, ws, bs, states):
        """The outputs of all times, and the last states."""
        ops = self._ops
        (W_x, W_h), (b_x, b_h) = self._joined(ws), self._joined(bs)
        gates, W_h = ops.linear(x, W_x, b_x), ops.transposed(W_h)
        if type(gates) is numpy.ndarray or self._is_recorded_as_op():
            hs, *made = _recurrent_rows.forward(gates, W_h, b_h, *states, **self._settings(
                _advance_rows))
            self.steps = made[len(states):]
            return hs, made[:len(states)]
        rows = _Rows(ops, states, self._reverse)
        for time in self._times:
            before = rows.of_first(time.stop - time.start)
            after, saved = _advance(ops, self._cell, gates[time], W_h, b_h, before)
            self.steps.append((after, saved))
            rows.become(after)
        return self._in_order_of_time([after[0] for after, _ in self.steps]), rows.of_all()

    def _is_recorded_as_op(self):
        return kernels.RECORDING.loops_are_ops and isinstance(self._ops, _whole.OnArrays)

    def _settings(self, function):
        """Those of the ops for all times."""
        return {
            'turns': _turns(function, self._cell), 'cell': self._cell, 'lengths': self._lengths,
            'reverse': self._reverse}

    def _before(self, states):
        """The states before each time."""
        rows, found = _Rows(self._ops, states, self._reverse), []
        for time, (after, _) in zip(self._times, self.steps, strict=True):
            found.append(rows.of_first(time.stop - time.start))
            rows.become(after)
        return found

    def backward(self, x, ws, states, g_hs, g_finals):
        """Gradients of the inputs, the weights, the biases and the first states."""
        ops, cell = self._ops, self._cell
        W_x, W_h = self._joined(ws)
        if isinstance(self.steps[0], (list, tuple)):
            g, gu, h, g_firsts = self._backward(W_h, states, g_hs, g_finals)
        else:
            given = [] if g_hs is None else [g_hs]
            *gates, h = (made := _recurrent_rows.backward(
                W_h, *self.steps, *g_finals, *given, **self._settings(_retreat_rows))
                )[:-cell.n_states]
            g, gu, g_firsts = gates[0], gates[-1], made[-cell.n_states:]
        gx, g_T = ops.product(g, W_x), ops.transposed(g)
        gu_T = g_T if cell.adds else ops.transposed(gu)
        gb = ops.sum(g, 0)
        gb_h = gb if cell.adds else ops.sum(gu, 0)
        return (
            gx, *self._of_gates(ops.product(g_T, x)), *self._of_gates(ops.product(gu_T, h)),
            *self._of_gates(gb), *self._of_gates(gb_h), *g_firsts)

    def _backward(self, W_h, states, g_hs, g_finals):
        """Gradients of gates, those of the output before, that output, gradients of the states."""
        ops, cell = self._ops, self._cell
        rows = _Rows(ops, g_finals, not self._reverse)
        befores = self._before(states)
        g_gates, g_hidden = [], []
        for time, before, (after, saved) in zip(
                self._times[::-1], befores[::-1], self.steps[::-1], strict=True):
            grads = rows.of_first(time.stop - time.start)
            g_output = None if g_hs is None else g_hs[time]
            g, gu, g_before = _retreat(ops, cell, W_h, before, after, saved, grads, g_output)
            g_gates.append(g)
            g_hidden.append(gu)
            rows.become(g_before)
        g = self._in_order_of_time(g_gates[::-1])
        gu = g if cell.adds else self._in_order_of_time(g_hidden[::-1])
        h = self._in_order_of_time([before[0] for before in befores])
        return g, gu, h, rows.of_all()

    def _of_gates(self, gradient):
        """The gradients of the parameters of each gate."""
        n = gradient.shape[0] // self._cell.n_gates
        return [gradient[k * n:(k + 1) * n] for k in range(self._cell.n_gates)]


class RecurrentLayer(_whole.Whole):
    """A layer; inputs are those of all times, the weights, the biases and the first states."""

    def __init__(self, cell, lengths, reverse):
        self.cell, self.lengths, self.reverse = cell, tuple(lengths), reverse

    @property
    def _n_times(self):
        return 1 if loops_are_native() else max(self.lengths)

    @property
    def label(self):
        return self.cell.label

    def split(self, inputs):
        """The inputs of all times, weights, biases and states."""
        n = 2 * self.cell.n_gates
        return inputs[0], inputs[1:1 + n], inputs[1 + n:1 + 2 * n], inputs[1 + 2 * n:]

    def check_type_forward(self, in_types):
        n = 2 * self.cell.n_gates
        names = [*[f'w{k}' for k in range(n)], *[f'b{k}' for k in range(n)], 'h', 'c']
        type_check.argname(in_types, ('x', *names)[:len(in_types)])
        x, ws, bs, states = self.split(in_types)
        units = states[0].shape[1]
        type_check.expect(x.dtype.kind == 'f', x.ndim == 2)
        for state in states:
            type_check.expect(state.dtype == x.dtype, state.ndim == 2, state.shape[1] == units)
        for k, (w, b) in enumerate(zip(ws, bs, strict=True)):
            type_check.expect(
                w.dtype.kind == 'f',
                b.dtype == x.dtype,
                w.ndim == 2,
                b.ndim == 1,
                w.shape[0] == units,
                w.shape[1] == (x.shape[1] if k < self.cell.n_gates else units),
                b.shape[0] == units,
            )

    def compute(self, ops, inputs):
        sweep = _Sweep(ops, self.cell, self.lengths, self.reverse)
        hs, finals = sweep.forward(*self.split(inputs))
        if max(self.lengths) == 1 and isinstance(sweep.steps[0], tuple):
            hs = hs + 0  # the last output is an output of its own
        return (hs, *finals), sweep.steps

    def differentiate(self, ops, inputs, saved, grads):
        x, ws, _, states = self.split(inputs)
        g_hs, *g_finals = grads
        g_finals = [
            ops.zeros_like(s) if g is None else g for g, s in zip(g_finals, states, strict=True)]
        sweep = _Sweep(ops, self.cell, self.lengths, self.reverse, saved)
        return sweep.backward(x, ws, states, g_hs, g_finals)
