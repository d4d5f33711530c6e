"""Largest and smallest elements, and where they stand."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.math import _axes
from chainer.utils import _plain, type_check
from chainer.variable import Variable


class SelectorBase(function_node.FunctionNode):
    """An extreme element along axes. Subclasses say which."""

    def __init__(self, axis=None, keepdims=False):
        self.axis = _axes.as_tuple(axis)
        self.keepdims = keepdims

    def _fwd(self, x):
        raise NotImplementedError

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f')
        _axes.expect(x_type, self.axis)

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        self.retain_outputs((0,))
        return _plain.plain_array(self._fwd(x)),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        y, = self.get_retained_outputs()
        return _SelectorGrad(x.array, y.array, self.axis, self.keepdims).apply(grad_outputs)


class _SelectorGrad(function_node.FunctionNode):
    """Gives the gradient to each element that equals the extreme one."""

    def __init__(self, x, y, axes, keepdims):
        self.x = x
        self.y = y
        self.axes = axes
        self.keepdims = keepdims

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        x = xp.asarray(self.x)
        shape = _axes.kept_shape(x.shape, self.axes)
        self.chosen = (x == xp.asarray(self.y).reshape(shape)).astype(gy.dtype)
        return utils.force_array(self.chosen * gy.reshape(shape)),

    def backward(self, indexes, grad_outputs):
        return F.sum(grad_outputs[0] * self.chosen, axis=self.axes, keepdims=self.keepdims),


class Max(SelectorBase):
    """Largest element (see :func:`max`)."""

    def _fwd(self, x):
        return x.max(axis=self.axis, keepdims=self.keepdims)


class Min(SelectorBase):
    """Smallest element (see :func:`min`)."""

    def _fwd(self, x):
        return x.min(axis=self.axis, keepdims=self.keepdims)


class IndexSelectorBase(function_node.FunctionNode):
    """The index of an extreme element along an axis. Subclasses say which."""

    def __init__(self, axis=None):
        if not (axis is None or isinstance(axis, int)):
            raise TypeError('None or int are required')
        self.axis = axis

    def _fwd(self, x):
        raise NotImplementedError

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1, in_types[0].dtype.kind == 'f')
        _axes.expect(in_types[0], None if self.axis is None else (self.axis,))

    def forward(self, inputs):
        return utils.force_array(self._fwd(inputs[0]).astype('i')),

    def backward(self, indexes, grad_outputs):
        return None,


class ArgMin(IndexSelectorBase):
    """Index of the smallest element (see :func:`argmin`)."""

    def _fwd(self, x):
        return x.argmin(axis=self.axis)


class ArgMax(IndexSelectorBase):
    """Index of the largest element (see :func:`argmax`)."""

    def _fwd(self, x):
        return x.argmax(axis=self.axis)


def max(x, axis=None, keepdims=False) -> Variable:
    """Largest element, over all or some axes.

    Args:
        x (Variable or array): floating-point array.
        axis (None, int or tuple of ints): axes to reduce; all by default.
        keepdims (bool): whether the axes stay, with length one.

    Returns:
        Variable: of the dtype of ``x``. Where several elements are largest, each gets the whole
        gradient.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if there is no element, or an axis is named twice.

    >>> F.max(np.array([[1., 2.], [4., 3.]]), axis=1).array
    array([2., 4.])
    """
    return Max(axis, keepdims).apply((x,))[0]


def min(x, axis=None, keepdims=False) -> Variable:
    """Smallest element, over all or some axes.

    Args:
        x (Variable or array): floating-point array.
        axis (None, int or tuple of ints): axes to reduce; all by default.
        keepdims (bool): whether the axes stay, with length one.

    Returns:
        Variable: of the dtype of ``x``. Where several elements are smallest, each gets the whole
        gradient.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if there is no element, or an axis is named twice.

    >>> F.min(np.array([[1., 2.], [4., 3.]]), axis=1).array
    array([1., 3.])
    """
    return Min(axis, keepdims).apply((x,))[0]


def argmax(x, axis=None) -> Variable:
    """Index of the largest element; the first, if there are several.

    Args:
        x (Variable or array): floating-point array.
        axis (None or int): axis to reduce; ``None`` for the index in the flattened array.

    Returns:
        Variable: indices, of dtype int32. No gradient goes back.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if there is no element.

    >>> F.argmax(np.array([[1., 2.], [4., 3.]]), axis=1).array
    array([1, 0], dtype=int32)
    """
    return ArgMax(axis).apply((x,))[0]


def argmin(x, axis=None) -> Variable:
    """Index of the smallest element; the first, if there are several.

    Args:
        x (Variable or array): floating-point array.
        axis (None or int): axis to reduce; ``None`` for the index in the flattened array.

    Returns:
        Variable: indices, of dtype int32. No gradient goes back.

    Raises:
        InvalidType: if ``x`` is no floating-point array or has no such axis.
        ValueError: if there is no element.

    >>> F.argmin(np.array([[1., 2.], [4., 3.]]), axis=1).array
    array([0, 1], dtype=int32)
    """
    return ArgMin(axis).apply((x,))[0]
