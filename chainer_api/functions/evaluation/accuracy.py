"""Accuracy of classification."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class Accuracy(function_node.FunctionNode):
    """Accuracy of classification (see :func:`accuracy`)."""

    def __init__(self, ignore_label=None):
        self.ignore_label = ignore_label

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            t_type.dtype.kind == 'i',
            t_type.ndim < x_type.ndim,
            x_type.shape[0] == t_type.shape[0],
        )
        ndim = type_check.eval(t_type.ndim)
        type_check.expect(x_type.shape[2:ndim + 1] == t_type.shape[1:])
        for i in range(ndim + 1, type_check.eval(x_type.ndim)):
            type_check.expect(x_type.shape[i] == 1)

    def forward(self, inputs):
        y, t = inputs
        xp = backend.get_array_module(y)
        right = y.argmax(axis=1).reshape(t.shape) == t
        if self.ignore_label is None:
            accuracy = right.mean()
        else:
            kept = t != self.ignore_label
            accuracy = (right & kept).sum() / xp.maximum(kept.sum(), 1)
        return utils.force_array(accuracy, y.dtype),


def accuracy(y, t, ignore_label=None) -> Variable:
    """Part of the labels that have the highest score.

    Args:
        y (Variable or array): scores, a floating-point array of shape ``(B, C, ...)``.
        t (Variable or array): labels, integers of shape ``(B, ...)``.
        ignore_label (int or None): labels of this value do not count. If no label counts, the
            accuracy is zero.

    Returns:
        Variable: of the dtype of ``y``, without dimensions. No gradient goes back.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> y = np.array([[.1, .7, .2], [8., 1., 2.], [-8., 1., 2.], [-8., -1., -2.]])
    >>> F.accuracy(y, np.array([1, 0, 0, 0])).array
    array(0.5)
    >>> F.accuracy(y, np.array([1, 0, 0, 0]), ignore_label=0).array
    array(1.)
    """
    return Accuracy(ignore_label).apply((y, t))[0]
