"""Padding."""
import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class Pad(function_node.FunctionNode):
    """Padding (see :func:`pad`)."""

    def __init__(self, pad_width, mode, **keywords):
        self.mode = mode
        self.keywords = keywords
        self.pad_width = pad_width

    @property
    def pad_bw(self):
        """``pad_width`` as an array; not kept, since it would be one of another device on GPUs."""
        widths = numpy.asarray(self.pad_width)
        return numpy.repeat(widths, 2) if widths.size == 1 else widths

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        widths = numpy.broadcast_to(self.pad_width, (x.ndim, 2))
        self._inner = tuple(slice(before, before + n) for before, n in zip(
            widths[:, 0].tolist(), x.shape, strict=True))
        return xp.pad(x, self.pad_width, self.mode, **self.keywords),

    def backward(self, indexes, grad_outputs):
        return F.get_item(grad_outputs[0], self._inner),


def pad(x, pad_width, mode, **keywords) -> Variable:
    """Pad an array at the ends of its axes.

    Args:
        x (Variable or array): floating-point array.
        pad_width (int or array-like): how many values to add: a number for everywhere, a pair for
            before and after each axis, or a pair for each axis.
        mode (str): how to fill, as for :func:`numpy.pad`; ``'constant'`` for constants.
        keywords: more arguments of :func:`numpy.pad`, such as ``constant_values``.

    Returns:
        Variable: the padded array.

    Raises:
        InvalidType: if ``x`` is no floating-point array.
        ValueError: if the widths do not fit, or the mode is not known.

    .. note::
        As in the original, gradients of what was added are dropped in every mode: with
        ``'edge'`` or ``'reflect'``, the copies of a value do not add to its gradient.

    >>> F.pad(np.array([1., 2.]), (1, 2), 'constant').array
    array([0., 1., 2., 0., 0.])
    """
    return Pad(pad_width, mode, **keywords).apply((x,))[0]
