"""Sequences of different lengths as one array."""
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class PadSequence(function_node.FunctionNode):
    """Sequences padded to one length (see :func:`pad_sequence`)."""

    def __init__(self, length, padding):
        self.length = length
        self.padding = padding

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() > 0)
        type_check.argname(in_types, tuple(f'x{i}' for i in range(len(in_types))))
        for i, in_type in enumerate(in_types):
            type_check.expect(in_type.ndim > 0)
            if self.length is not None:
                type_check.expect(in_type.shape[0] <= self.length)
            if i > 0:
                type_check.expect(
                    in_type.shape[1:] == in_types[0].shape[1:],
                    in_type.dtype == in_types[0].dtype,
                )

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        self._lengths = [len(x) for x in inputs]
        length = max(self._lengths) if self.length is None else self.length
        y = xp.full(
            (len(inputs), length, *inputs[0].shape[1:]), self.padding, dtype=inputs[0].dtype)
        for i, x in enumerate(inputs):
            y[i, :len(x)] = x
        return y,

    def backward(self, indexes, grad_outputs):
        return _UnpadSequence(self._lengths).apply(grad_outputs)


class _UnpadSequence(function_node.FunctionNode):

    def __init__(self, lengths):
        self.lengths = lengths

    def forward(self, inputs):
        gy, = inputs
        self._shape = gy.shape
        return tuple(gy[i, :length] for i, length in enumerate(self.lengths))

    def backward(self, indexes, grad_outputs):
        present = [i for i, g in enumerate(grad_outputs) if g is not None]
        return _PadSome(present, self._shape).apply([grad_outputs[i] for i in present])


class _PadSome(function_node.FunctionNode):
    """Puts the rows that are ``present`` into zeros."""

    def __init__(self, present, shape):
        self.present = present
        self.shape = shape

    def forward(self, inputs):
        self._lengths = [len(x) for x in inputs]
        y = backend.get_array_module(*inputs).zeros(self.shape, inputs[0].dtype)
        for i, x in zip(self.present, inputs, strict=True):
            y[i, :len(x)] = x
        return y,

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        return tuple(gy[i, :n] for i, n in zip(self.present, self._lengths, strict=True))


def pad_sequence(xs, length=None, padding=0) -> Variable:
    """Stack sequences of different lengths, padded at their ends.

    Args:
        xs (list or tuple of Variables or arrays): of one dtype, and of one shape but for the first
            axis.
        length (int or None): length to pad to; ``None`` for that of the longest.
        padding (int or float): the value to pad with.

    Returns:
        Variable: of shape ``(len(xs), length, ...)``.

    Raises:
        InvalidType: if ``xs`` is empty, shapes or dtypes do not fit, or one is longer than
            ``length``.

    >>> F.pad_sequence([np.array([1, 2, 3]), np.array([4])], padding=-1).array
    array([[ 1,  2,  3],
           [ 4, -1, -1]])
    """
    return PadSequence(length, padding).apply(xs)[0]
