r"""What the cells with long short-term memory share.

.. math::
    c &= \sum_j \tanh(a_j) \sigma(i_j) + \sum_k \sigma(f_k) c_k, \\
    h &= \sigma(o) \tanh(c)

The cells differ in where the gates stand in their inputs.
"""
from typing import Any, NamedTuple

from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.activation import sigmoid
from chainwright.runtime import kernels


class Gates(NamedTuple):
    """Arrays or Variables of the gates, ``a``, ``i`` and ``f`` in lists."""

    a: Any
    i: Any
    f: Any
    o: Any


class Cell(function_node.FunctionNode):
    """A cell; inputs are the previous ``c_k``, then what the gates are made of."""

    n_inputs = None  # how many inputs the gates stand in

    @staticmethod
    def split(xs, n_states):
        """The gates in ``xs``, of a cell that has ``n_states`` of the ``c_k``."""
        raise NotImplementedError

    @staticmethod
    def join(stack, gates):
        """The reverse of `split`: values for ``xs``."""
        raise NotImplementedError

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        n = len(inputs) - self.n_inputs
        c, h, self.tanh_c, *values = _cell(*inputs, n=n, split=self.split)
        self.values = _gates(values, n)
        return c, h

    def backward(self, indexes, grad_outputs):
        grads = CellGrad(self, grad_outputs).apply(
            (*self.get_retained_inputs(), *(g for g in grad_outputs if g is not None)))
        return tuple(grads[i] for i in indexes)


@kernels.array_code
def _cell(*inputs, n, split):
    """``c``, ``h``, ``tanh(c)``, and the values of the gates as `_gates` wants them."""
    cs, gates = inputs[:n], split(inputs[n:], n)
    xp = backend.get_array_module(inputs[0])
    tanh_a = [xp.tanh(a) for a in gates.a]
    i, f = ([sigmoid.of_array(xp, v) for v in vs] for vs in (gates.i, gates.f))
    o = sigmoid.of_array(xp, gates.o)
    terms = [*zip(tanh_a, i, strict=True), *zip(f, cs, strict=True)]
    c = terms[0][0] * terms[0][1]
    for p, q in terms[1:]:
        c += p * q
    tanh_c = xp.tanh(c)
    return c, o * tanh_c, tanh_c, o, *f, *tanh_a, *i


def _gates(values, n):
    """The gates ``o``, ``n`` times ``f``, then all ``a`` and all ``i``."""
    o, f, rest = values[0], list(values[1:1 + n]), values[1 + n:]
    half = len(rest) // 2
    return Gates(list(rest[:half]), list(rest[half:]), f, o)


class CellGrad(function_node.FunctionNode):
    """Gradient of a cell; inputs are those of the cell and the gradients that are not None."""

    def __init__(self, cell, grad_outputs):
        self.cell = cell
        self.has_gc, self.has_gh = (g is not None for g in grad_outputs)

    def _split_inputs(self, inputs):
        n_grads = self.has_gc + self.has_gh
        stop = len(inputs) - n_grads
        n = stop - self.cell.n_inputs
        gc = inputs[stop] if self.has_gc else None
        gh = inputs[-1] if self.has_gh else None
        return inputs[:n], inputs[n:stop], gc, gh

    def forward(self, inputs):
        self.retain_inputs(tuple(range(len(inputs))))
        cs, _, gc, gh = self._split_inputs(inputs)
        xp = backend.get_array_module(*inputs)
        tanh_a, i, f, o = self.cell.values
        values = [xp.asarray(v) for v in (self.cell.tanh_c, o, *f, *tanh_a, *i)]
        grads = [g for g in (gc, gh) if g is not None]
        return _cell_grad(
            *cs, *grads, *values, n=len(cs), has_gc=self.has_gc, has_gh=self.has_gh,
            join=self.cell.join)

    def backward(self, indexes, grad_outputs):
        inputs = self.get_retained_inputs()
        cs, xs, gc, gh = self._split_inputs(inputs)
        ucs, us = grad_outputs[:len(cs)], grad_outputs[len(cs):]
        # What came in, as values of the gates; what is missing is zero.
        us = [x * 0 if u is None else u for x, u in zip(xs, us, strict=True)]
        ucs = [c * 0 if u is None else u for c, u in zip(cs, ucs, strict=True)]
        u = self.cell.split(us, len(cs))
        gates = self.cell.split(xs, len(cs))
        tanh_a = [F.tanh(v) for v in gates.a]
        i, f = ([F.sigmoid(v) for v in vs] for vs in (gates.i, gates.f))
        o = F.sigmoid(gates.o)
        c = sum([p * q for p, q in zip(tanh_a, i, strict=True)]
                + [q * v for q, v in zip(f, cs, strict=True)])
        tanh_c = F.tanh(c)
        slope_c, slope_o = 1 - tanh_c * tanh_c, o * (1 - o)
        slope_a = [1 - p * p for p in tanh_a]
        slope_i, slope_f = ([q * (1 - q) for q in v] for v in (i, f))

        # The gradients are linear in d = gc + gh o slope_c; this is what stands before it.
        before_d = sum(
            [p * q * s for p, q, s in zip(u.a, i, slope_a, strict=True)]
            + [p * q * s for p, q, s in zip(u.i, tanh_a, slope_i, strict=True)]
            + [p * v * s for p, v, s in zip(u.f, cs, slope_f, strict=True)]
            + [p * q for p, q in zip(ucs, f, strict=True)])
        d = c * 0 if gc is None else gc
        through_c = through_o = c * 0
        if gh is not None:
            d = d + gh * o * slope_c
            through_c = gh * (u.o * slope_o - 2 * before_d * o * tanh_c) * slope_c
            through_o = gh * (before_d * slope_c + u.o * tanh_c * (1 - 2 * o))

        g_a, g_i, g_f, g_c = [], [], [], []
        for p, q, up, uq, sp, sq in zip(tanh_a, i, u.a, u.i, slope_a, slope_i, strict=True):
            g_a.append((d * (uq * sq - 2 * up * q * p) + through_c * q) * sp)
            g_i.append((d * (up * sp + uq * p * (1 - 2 * q)) + through_c * p) * sq)
        for q, v, uq, uv, sq in zip(f, cs, u.f, ucs, slope_f, strict=True):
            g_f.append((d * (uq * v * (1 - 2 * q) + uv) + through_c * v) * sq)
            g_c.append(d * uq * sq + through_c * q)
        grads = [*g_c, *self.cell.join(F.stack, Gates(g_a, g_i, g_f, through_o * slope_o))]
        if gc is not None:
            grads.append(before_d)
        if gh is not None:
            grads.append(before_d * o * slope_c + u.o * tanh_c * slope_o)
        return tuple(grads[k] for k in indexes)


@kernels.array_code
def _cell_grad(*arrays, n, has_gc, has_gh, join):
    """Gradients of the ``c_k`` and of what the gates are made of."""
    cs, arrays = arrays[:n], arrays[n:]
    gc, arrays = (arrays[0], arrays[1:]) if has_gc else (None, arrays)
    gh, arrays = (arrays[0], arrays[1:]) if has_gh else (None, arrays)
    tanh_c, *values = arrays
    xp = backend.get_array_module(tanh_c)
    tanh_a, i, f, o = _gates(values, n)
    if gh is None:
        d, go = gc, xp.zeros_like(o)
    else:
        d = gh * o * (1 - tanh_c * tanh_c)
        if gc is not None:
            d += gc
        go = gh * tanh_c * o * (1 - o)
    gates = Gates(
        [d * q * (1 - p * p) for p, q in zip(tanh_a, i, strict=True)],
        [d * p * q * (1 - q) for p, q in zip(tanh_a, i, strict=True)],
        [d * c * q * (1 - q) for c, q in zip(cs, f, strict=True)],
        go)
    return *[d * q for q in f], *join(xp.stack, gates)
