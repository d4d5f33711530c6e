"""Accuracy of binary classification."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class BinaryAccuracy(function_node.FunctionNode):
    """Accuracy of binary classification (see :func:`binary_accuracy`)."""

    ignore_label = -1

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            t_type.dtype.kind == 'i',
            t_type.shape == x_type.shape,
        )

    def forward(self, inputs):
        y, t = inputs
        xp = backend.get_array_module(y)
        kept = t != self.ignore_label
        right = ((y >= 0) == t) & kept
        return utils.force_array(right.sum() / xp.maximum(kept.sum(), 1), y.dtype),


def binary_accuracy(y, t) -> Variable:
    """Part of the labels whose score has the right sign.

    Args:
        y (Variable or array): scores, a floating-point array; the prediction is 1 from zero on.
        t (Variable or array): labels, integers in the shape of ``y``: 1, 0, or -1 for those that
            do not count. If no label counts, the accuracy is zero.

    Returns:
        Variable: of the dtype of ``y``, without dimensions. No gradient goes back.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> y = np.array([[-2., 0.], [3., -5.]])
    >>> F.binary_accuracy(y, np.array([[0, 0], [-1, -1]])).array
    array(0.5)
    """
    return BinaryAccuracy().apply((y, t))[0]
