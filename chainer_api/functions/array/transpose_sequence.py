"""From sequences to time steps and back."""
import numpy

from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class TransposeSequence(function_node.FunctionNode):
    """Time steps of sequences (see :func:`transpose_sequence`).

    Args:
        length (int): the number of outputs: the length of the longest sequence, or more.
    """

    def __init__(self, length):
        self.length = length

    def check_type_forward(self, in_types):
        for former, latter in zip(in_types[:-1], in_types[1:], strict=True):
            type_check.expect(
                former.shape[0] >= latter.shape[0],
                former.shape[1:] == latter.shape[1:],
            )

    def forward(self, inputs):
        lengths = [len(x) for x in inputs]
        # How many sequences are longer than t, for each t.
        self._counts = [sum(n > t for n in lengths) for t in range(self.length)]
        self._lengths = lengths
        steps = backend.get_array_module(*inputs).empty(
            (self.length, len(inputs), *inputs[0].shape[1:]),
            numpy.result_type(*[x.dtype for x in inputs]))
        for i, x in enumerate(inputs):
            steps[:lengths[i], i] = x
        return tuple(steps[t, :count] for t, count in enumerate(self._counts))

    def backward(self, indexes, grad_outputs):
        present = [t for t, g in enumerate(grad_outputs) if g is not None]
        return _TransposeSteps(self._counts, self._lengths, present).apply(
            [grad_outputs[t] for t in present])


class _TransposeSteps(function_node.FunctionNode):
    """Sequences out of the time steps that are ``present``; the others are zeros."""

    def __init__(self, counts, lengths, present):
        self.counts = counts
        self.lengths = lengths
        self.present = present

    def forward(self, inputs):
        sequences = backend.get_array_module(*inputs).zeros(
            (len(self.lengths), len(self.counts), *inputs[0].shape[1:]), inputs[0].dtype)
        for t, g in zip(self.present, inputs, strict=True):
            sequences[:self.counts[t], t] = g
        return tuple(sequences[i, :n] for i, n in enumerate(self.lengths))

    def backward(self, indexes, grad_outputs):
        present = [i for i, g in enumerate(grad_outputs) if g is not None]
        gs = _TransposeSteps(self.lengths, self.counts, present).apply(
            [grad_outputs[i] for i in present])
        return tuple(gs[t] for t in self.present)


def transpose_sequence(xs) -> tuple[Variable, ...]:
    """Turn sequences into time steps: item ``t`` of the result holds element ``t`` of each.

    Sequences that have ended are left out of the later steps. Applied to the result, the
    function gives the sequences back.

    Args:
        xs (list or tuple of Variables or arrays): sequences from the longest to the shortest, of
            one shape but for the first axis.

    Returns:
        tuple of Variables: one for each time step, shorter and shorter.

    Raises:
        InvalidType: if a sequence is longer than the one before, or shapes do not fit.

    >>> xs = [np.array([1, 2, 3]), np.array([4, 5])]
    >>> [y.array.tolist() for y in F.transpose_sequence(xs)]
    [[1, 4], [2, 5], [3]]
    """
    if not xs or len(xs[0]) == 0:
        return ()
    return TransposeSequence(len(xs[0])).apply(xs)
