"""A layer of a recurrent network on sequences, in one direction, as one function.

In: the inputs of all times, weights and biases, and the first states. Out: the outputs of all
times, and the last states.

The mathematics stands once, over operations that arrays have (:class:`_OnArrays`) and Variables
(:class:`_OnVariables`): a layer runs on arrays, and is differentiated a second time on Variables.
"""
import contextlib
import itertools
import threading

import chainer
from chainer import backend, configuration, function_node
from chainer import functions as F
from chainer.functions.connection import linear
from chainer.utils import _errors, type_check
from chainwright.runtime import kernels

_local = threading.local()


@contextlib.contextmanager
def made_of_small_functions():
    """Have layers be made of products, sums and activations, for those who know only these."""
    before = getattr(_local, 'small', False)
    _local.small = True
    try:
        yield
    finally:
        _local.small = before


def run_layer(cell, lengths, reverse, x, ws, bs, states):
    """Run a layer over the sequences of a batch.

    Args:
        cell: What happens at one time: :class:`LSTM`, :class:`GRU`, :class:`Tanh`, :class:`ReLU`.
        lengths (list of ints): How many sequences there are at each time; it does not grow.
        reverse (bool): Whether to begin at the end.
        x (Variable): The inputs: the rows of the first time, of the second, and so on.
        ws, bs (lists of Variables): Weights and biases of the gates, for the inputs and then for
            the output before.
        states (list of Variables): The first states (batch, units), the first of them the output.

    Returns:
        tuple: The outputs, in rows as the inputs, and the list of the last states.
    """
    n = 2 * cell.n_gates
    if len(ws) != n or len(bs) != n:
        raise _errors.SequencesError(
            f'{n} and {n}', f'{len(ws)} and {len(bs)}',
            f'each layer and direction has {n} weights and {n} biases; got {len(ws)} and '
            f'{len(bs)}')
    if getattr(_local, 'small', False):
        sweep = _Sweep(_OnVariables(), cell, lengths, reverse)
        hs, finals = sweep.forward(x, ws, bs, states)
    else:
        hs, *finals = RecurrentLayer(cell, lengths, reverse).apply((x, *ws, *bs, *states))
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


# -- what arrays and Variables have in common


class _OnVariables:
    def __getattr__(self, name):
        return getattr(F, name)  # tanh, sigmoid, relu

    def product(self, a, b):
        return F.matmul(a, b)

    def transposed(self, x):
        return F.transpose(x)

    def linear(self, x, W, b):
        return F.linear(x, W, b)

    def concat(self, values, axis):
        return values[0] if len(values) == 1 else F.concat(values, axis)

    def where_positive(self, y, g):
        return g * F.sign(y)  # of a rectified linear unit: 0 or 1

    def sum_of_rows(self, x):
        return F.sum(x, axis=0)

    def advance(self, cell, gates, product, b, before):
        return cell.advance(self, gates, product + F.broadcast_to(b, product.shape), before)

    def retreat(self, cell, before, after, saved, grads, g_output):
        if g_output is not None:
            grads = grads[0] + g_output, *grads[1:]
        return cell.retreat(self, before, after, saved, grads)


class _OnArrays:
    def __init__(self, xp):
        self._xp, self.tanh = xp, xp.tanh

    def concat(self, values, axis):
        return values[0] if len(values) == 1 else self._xp.concatenate(values, axis)

    def sigmoid(self, x):
        return self._xp.tanh(x * 0.5) * 0.5 + 0.5

    def relu(self, x):
        return self._xp.maximum(x, 0)

    def product(self, a, b):
        return linear._dot(a, b, a.dtype)

    def transposed(self, x):
        return x.T

    def linear(self, x, W, b):
        y = self.product(x, W.T)
        y += b
        return y

    def where_positive(self, y, g):
        return self._xp.where(y > 0, g, g.dtype.type(0))

    def sum_of_rows(self, x):
        return x.sum(axis=0)

    def advance(self, cell, gates, product, b, before):
        made = _several(_advance(gates, product, b, *before, cell=cell))
        return made[:cell.n_states], made[cell.n_states:]

    def retreat(self, cell, before, after, saved, grads, g_output):
        more = () if g_output is None else (g_output,)
        made = _several(_retreat(*before, *after, *saved, *grads, *more, cell=cell))
        n = 2 - cell.adds
        return made[0], made[n - 1], made[n:]


@kernels.array_code
def _advance(gates, product, b, *before, cell):
    ops = _OnArrays(backend.get_array_module(gates))
    after, saved = cell.advance(ops, gates, product + b, before)
    return _one_or_several([*after, *saved])


@kernels.array_code
def _retreat(*arrays, cell):
    ops = _OnArrays(backend.get_array_module(*arrays))
    n, parts = cell.n_states, iter(arrays)
    before, after, saved, grads = (
        tuple(itertools.islice(parts, k)) for k in (n, n, cell.n_saved, n))
    for g_output in parts:
        grads = grads[0] + g_output, *grads[1:]
    g_gates, g_hidden, g_direct = cell.retreat(ops, before, after, saved, grads)
    return _one_or_several([g_gates, *[g_hidden][cell.adds:], *g_direct])


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

    def __init__(self, ops, cell, lengths, reverse):
        self._ops, self._cell, self._reverse = ops, cell, reverse
        ends = list(itertools.accumulate(lengths))
        self._times = [slice(end - n, end) for n, end in zip(lengths, ends, strict=True)]
        if reverse:
            self._times.reverse()
        self.steps = []  # of each time: the states, and what is saved besides

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
        rows = _Rows(ops, states, self._reverse)
        for time in self._times:
            before = rows.of_first(time.stop - time.start)
            product = ops.product(before[0], W_h)
            after, saved = ops.advance(self._cell, gates[time], product, b_h, before)
            self.steps.append((after, saved))
            rows.become(after)
        return self._in_order_of_time([after[0] for after, _ in self.steps]), rows.of_all()

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
        rows = _Rows(ops, g_finals, not self._reverse)
        befores = self._before(states)
        g_gates, g_hidden = [], []
        for time, before, (after, saved) in zip(
                self._times[::-1], befores[::-1], self.steps[::-1], strict=True):
            grads = rows.of_first(time.stop - time.start)
            g_output = None if g_hs is None else g_hs[time]
            g, gu, g_direct = ops.retreat(cell, before, after, saved, grads, g_output)
            g_gates.append(g)
            g_hidden.append(gu)
            g_before = [ops.product(gu, W_h), *[None] * (cell.n_states - 1)]
            for k, gx in zip(cell.direct, g_direct, strict=True):
                g_before[k] = gx if g_before[k] is None else g_before[k] + gx
            rows.become(g_before)
        g = self._in_order_of_time(g_gates[::-1])
        gu = g if cell.adds else self._in_order_of_time(g_hidden[::-1])
        h = self._in_order_of_time([before[0] for before in befores])
        gx, g_T = ops.product(g, W_x), ops.transposed(g)
        gu_T = g_T if cell.adds else ops.transposed(gu)
        gb = ops.sum_of_rows(g)
        gb_h = gb if cell.adds else ops.sum_of_rows(gu)
        return (
            gx, *self._of_gates(ops.product(g_T, x)), *self._of_gates(ops.product(gu_T, h)),
            *self._of_gates(gb), *self._of_gates(gb_h), *rows.of_all())

    def _of_gates(self, gradient):
        """The gradients of the parameters of each gate."""
        n = gradient.shape[0] // self._cell.n_gates
        return [gradient[k * n:(k + 1) * n] for k in range(self._cell.n_gates)]


class RecurrentLayer(function_node.FunctionNode):
    """A layer; inputs are those of all times, the weights, the biases and the first states."""

    def __init__(self, cell, lengths, reverse):
        self.cell, self.lengths, self.reverse = cell, tuple(lengths), reverse

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

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        sweep = _Sweep(
            _OnArrays(backend.get_array_module(inputs[0])), self.cell, self.lengths, self.reverse)
        hs, finals = sweep.forward(*self.split(inputs))
        self.steps = sweep.steps
        if len(self.lengths) == 1:
            hs = hs.copy()  # the last output is an output of its own
        return hs, *finals

    def backward(self, indexes, grad_outputs):
        given = [g for g in grad_outputs if g is not None]
        grads = _RecurrentLayerGrad(self, grad_outputs).apply(
            (*self.get_retained_inputs(), *given))
        return tuple([grads[k] for k in indexes])


class _RecurrentLayerGrad(function_node.FunctionNode):
    """Its gradients; inputs are those of the layer, and the gradients that are not None."""

    def __init__(self, layer, grad_outputs):
        self.layer = layer
        self.present = tuple([g is not None for g in grad_outputs])

    @property
    def label(self):
        return self.layer.label + 'Grad'

    def _split(self, inputs, zeros_like):
        n = len(inputs) - sum(self.present)
        x, ws, bs, states = self.layer.split(inputs[:n])
        given = iter(inputs[n:])
        g_hs, *g_finals = [next(given) if p else None for p in self.present]
        g_finals = [
            zeros_like(s) if g is None else g for g, s in zip(g_finals, states, strict=True)]
        return x, ws, bs, states, g_hs, g_finals

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        layer, xp = self.layer, backend.get_array_module(*inputs)
        x, ws, _, states, g_hs, g_finals = self._split(inputs, xp.zeros_like)
        sweep = _Sweep(_OnArrays(xp), layer.cell, layer.lengths, layer.reverse)
        sweep.steps = [[[xp.asarray(a) for a in part] for part in step] for step in layer.steps]
        return sweep.backward(x, ws, states, g_hs, g_finals)

    def backward(self, indexes, grad_outputs):
        layer, differentiable = self.layer, configuration.config.enable_backprop
        with configuration.using_config('enable_backprop', True):
            # Inputs may have been made of each other: their gradients here stop at them.
            inputs = [F.identity(x) for x in self.get_retained_inputs()]
            x, ws, bs, states, g_hs, g_finals = self._split(inputs, lambda s: s * 0)
            sweep = _Sweep(_OnVariables(), layer.cell, layer.lengths, layer.reverse)
            sweep.forward(x, ws, bs, states)
            made = sweep.backward(x, ws, states, g_hs, g_finals)
        pairs = [(y, g) for y, g in zip(made, grad_outputs, strict=True) if g is not None]
        ys, gys = zip(*pairs, strict=True)
        return chainer.grad(
            ys, [inputs[k] for k in indexes], gys, enable_double_backprop=differentiable)
