"""Splitting an array along an axis."""
import collections.abc
import itertools

import numpy

from chainer import backend, function_node
from chainer.backends import cuda
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class SplitAxis(function_node.FunctionNode):
    """Sections of an array along an axis (see :func:`split_axis`)."""

    def __init__(self, indices_or_sections, axis):
        if isinstance(indices_or_sections, collections.abc.Sequence):
            indices_or_sections = list(indices_or_sections)
        self.sections, self.ends = _sections_or_ends(indices_or_sections)
        self._is_array = isinstance(indices_or_sections, backend.get_array_types())
        # No array is kept: it would be one of another device on GPUs.
        self._given = indices_or_sections.tolist() if self._is_array else indices_or_sections
        self.axis = axis

    @property
    def indices_or_sections(self):
        """What the function was given."""
        return numpy.array(self._given) if self._is_array else self._given

    @property
    def indices(self):
        """The ends of the sections, as they were given; ``None`` if their number was given."""
        return None if self.ends is None else self.indices_or_sections

    def check_type_forward(self, in_types):
        type_check.expect(in_types[0].ndim > self.axis)
        length = in_types[0].shape[self.axis]
        if self.sections is None:
            if self.ends:
                largest = type_check.make_variable(self.ends[-1], 'max_index')
                type_check.expect(length >= largest)
        else:
            sections = type_check.make_variable(self.sections, 'sections')
            type_check.expect(length % sections == 0)

    def forward(self, inputs):
        x, = inputs
        length = x.shape[self.axis]
        if self.sections is None:
            ends = self.ends
        else:
            step = length // self.sections
            ends = [step * i for i in range(1, self.sections)]
        before = (slice(None),) * (self.axis % x.ndim)
        ys = tuple(x[(*before, slice(start, end))]
                   for start, end in itertools.pairwise((0, *ends, length)))
        self._shapes = [y.shape for y in ys]
        return ys

    def backward(self, indexes, grad_outputs):
        present = [i for i, gy in enumerate(grad_outputs) if gy is not None]
        return _SplitAxisGrad(self._shapes, present, self.axis).apply(
            [grad_outputs[i] for i in present])


class _SplitAxisGrad(function_node.FunctionNode):
    """Joins the sections that are ``present``; the others are zeros."""

    def __init__(self, shapes, present, axis):
        self.shapes = shapes
        self.present = present
        self.axis = axis

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        gys = dict(zip(self.present, inputs, strict=True))
        dtype = inputs[0].dtype
        return xp.concatenate(
            [gys[i] if i in gys else xp.zeros(shape, dtype)
             for i, shape in enumerate(self.shapes)], axis=self.axis),

    def backward(self, indexes, grad_outputs):
        lengths = [shape[self.axis] for shape in self.shapes]
        gs = split_axis(grad_outputs[0], list(itertools.accumulate(lengths))[:-1], self.axis)
        return tuple(gs[i] for i in self.present)


def _sections_or_ends(given):
    """``(number of sections, None)`` or ``(None, list of ends)``."""
    if isinstance(given, cuda.ndarray):
        given = given.get()
    if not isinstance(given, (int, list, numpy.ndarray)):
        raise TypeError(
            f'indices_or_sections must be integer or 1-D array.\nActual: {type(given)}')
    array = numpy.asarray(int(given) if isinstance(given, bool) else given)
    if array.size > 0 and array.dtype.kind not in 'iu':
        raise TypeError('indices_or_sections must be integers')
    if array.ndim > 1:
        raise TypeError(
            f'indices_or_sections must be integer or 1-D array.\nActual: {array.ndim}-D array')
    if array.ndim == 0:
        if array < 0:
            raise ValueError(f'number sections must be larger than 0, not {array}')
        if array == 0:
            raise _errors.ZeroSectionsError('number sections must be larger than 0, not 0')
        return int(array), None
    return None, [int(i) for i in array]


def split_axis(x, indices_or_sections, axis, force_tuple=True) -> tuple[Variable, ...]:
    """Split an array along an axis.

    Args:
        x (Variable or array): the array to split.
        indices_or_sections (int or 1-D array): the number of sections of equal length, or
            the ends of all sections but the last.
        axis (int): the axis along which it is split.
        force_tuple (bool): ``False`` to get the Variable itself where there is one section only.

    Returns:
        tuple of Variables: the sections.

    Raises:
        InvalidType: if there is no such axis, the number of sections does not divide its length,
            or an end lies outside.
        TypeError: if ``indices_or_sections`` is something else.
        ValueError: if the number of sections is not positive.

    >>> x = np.arange(12).reshape(3, 4)
    >>> [y.shape for y in F.split_axis(x, 2, axis=1)]
    [(3, 2), (3, 2)]
    >>> [y.shape for y in F.split_axis(x, [1], axis=0)]
    [(1, 4), (2, 4)]
    """
    ys = SplitAxis(indices_or_sections, axis).apply((x,))
    return ys[0] if len(ys) == 1 and not force_tuple else ys
