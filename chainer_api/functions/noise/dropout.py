"""Dropout."""
import chainer
from chainer import backend, function_node, utils
from chainer.utils import argument, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import random


class Dropout(function_node.FunctionNode):
    """Dropout (see :func:`dropout`).

    Attributes:
        mask: what the input is multiplied by, drawn in ``forward`` if none was given.
    """

    def __init__(self, dropout_ratio, mask=None, return_mask=False):
        if not 0.0 <= dropout_ratio < 1.0:
            raise ValueError('dropout_ratio must be in the range [0, 1)')
        self.dropout_ratio = dropout_ratio
        self.mask = mask
        self.return_mask = return_mask

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        if self.mask is None:
            scale = x.dtype.type(1. / (1 - self.dropout_ratio))
            self.mask = random.draw_mask(xp, x.shape, self.dropout_ratio, scale)
        return utils.force_array(x * xp.asarray(self.mask)),

    def backward(self, indexes, grad_outputs):
        return DropoutGrad(self.mask).apply(grad_outputs)


class DropoutGrad(function_node.FunctionNode):
    """Gradient of :func:`dropout`: the same mask again."""

    def __init__(self, mask):
        self.mask = mask

    def forward(self, inputs):
        gy, = inputs
        return utils.force_array(gy * backend.get_array_module(gy).asarray(self.mask)),

    def backward(self, indexes, grad_outputs):
        return DropoutGrad(self.mask).apply(grad_outputs)


def dropout(x, ratio=.5, *, mask=None, return_mask=False, **kwargs) -> Variable:
    """Drop elements at random.

    Each element is set to zero with the probability ``ratio``; the others are multiplied by
    ``1 / (1 - ratio)``. With ``chainer.config.train`` off, ``x`` comes back as it is. See: `Hinton
    et al., Improving neural networks by preventing co-adaptation of feature detectors
    <https://arxiv.org/abs/1207.0580>`_.

    Args:
        x (Variable or array): Floating-point array of any shape.
        ratio (float): Probability to be dropped, ``0 <= ratio < 1``.
        mask (array or None): What to multiply ``x`` by, of its shape and dtype, instead of
            drawing it.
        return_mask (bool): Whether to return the mask too.

    Returns:
        Variable: Of the shape and dtype of ``x``; with ``return_mask`` a tuple of it and the mask,
        which is ``None`` with ``chainer.config.train`` off.

    Raises:
        ValueError: If ``ratio`` is out of its range.
        InvalidType: If ``x`` is no floating-point array.

    >>> x = np.array([[-1, 0], [2, -3]], np.float32)
    >>> y, mask = F.dropout(x, return_mask=True)
    >>> (F.dropout(x, mask=mask).array == y.array).all()
    np.True_
    >>> with chainer.using_config('train', False):
    ...     F.dropout(x).array
    array([[-1.,  0.],
           [ 2., -3.]], dtype=float32)
    """
    if kwargs:
        argument.check_unexpected_kwargs(
            kwargs, train='train argument is not supported anymore. Use chainer.using_config')
        argument.assert_kwargs_empty(kwargs)
    if not chainer.config.train:
        y = chainer.as_variable(x)
        return (y, None) if return_mask else y
    function = Dropout(ratio, mask, return_mask)
    if return_mask:
        function.opaque = 'its mask is wanted'
    y, = function.apply((x,))
    return (y, function.mask) if return_mask else y
