"""Linear transformation with connections dropped at random."""
import math

import chainer
from chainer import backend, function_node
from chainer import functions as F
from chainer.functions.noise import dropout
from chainer.utils import _errors, type_check
from chainer.variable import Variable


class SimplifiedDropconnect(function_node.FunctionNode):
    """Linear transformation with dropped connections (see :func:`simplified_dropconnect`).

    Attributes:
        mask: which connections are kept, drawn in ``forward`` if none was given.
    """

    def __init__(self, ratio, mask=None, use_batchwise_mask=True):
        if not 0.0 <= ratio < 1.0:
            raise ValueError('ratio must be in the range [0, 1)')
        if mask is not None:
            _errors.check_arrays('simplified_dropconnect', mask=mask)
        self.ratio = ratio
        self.mask = mask.array if isinstance(mask, chainer.Variable) else mask
        self.use_batchwise_mask = use_batchwise_mask

    def check_type_forward(self, in_types):
        names = ('x', 'W') if len(in_types) < 3 else ('x', 'W', 'b')
        type_check.argname(in_types, names)
        x_type, w_type = in_types[:2]
        type_check.expect(
            x_type.dtype.kind == 'f',
            w_type.dtype.kind == 'f',
            x_type.ndim >= 2,
            w_type.ndim == 2,
            type_check.prod(x_type.shape[1:]) == w_type.shape[1],
        )
        if len(in_types) == 3:
            b_type = in_types[2]
            type_check.expect(
                b_type.dtype == x_type.dtype,
                b_type.ndim == 1,
                b_type.shape[0] == w_type.shape[0],
            )
        if self.mask is not None:
            if self.mask.ndim == 3:
                type_check.expect(x_type.shape[0] == self.mask.shape[0])
            type_check.expect(w_type.shape == self.mask.shape[-2:])

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, W = inputs[:2]
        xp = backend.get_array_module(x)
        if self.mask is None:
            shape = (x.shape[0],) + W.shape if self.use_batchwise_mask else W.shape
            self.mask = xp.random.rand(*shape) >= self.ratio
        weight = W * xp.asarray(self.mask) * (1. / (1 - self.ratio))
        x = x.reshape(x.shape[0], -1)
        if weight.ndim == 2:
            y = x.dot(weight.T)
        else:
            y = xp.matmul(weight, x[:, :, None])[:, :, 0]
        y = y.astype(x.dtype, copy=False)
        if len(inputs) == 3:
            y = y + inputs[2]
        return y,

    def _drop(self, weight):
        kept, = dropout.DropoutGrad(self.mask).apply((weight,))
        return kept * (1. / (1 - self.ratio))

    def backward(self, indexes, grad_outputs):
        x, W = self.get_retained_inputs()
        gy, = grad_outputs
        n, n_in = x.shape[0], math.prod(x.shape[1:])
        n_out = W.shape[0]
        batchwise = self.mask.ndim == 3
        grads = []
        if 0 in indexes:
            if batchwise:
                weight = self._drop(F.broadcast_to(W, (n, n_out, n_in)))
                gx = F.matmul(F.reshape(gy, (n, 1, n_out)), weight)
            else:
                gx = F.matmul(gy, self._drop(W))
            grads.append(F.cast(F.reshape(gx, x.shape), x.dtype))
        if 1 in indexes:
            if batchwise:
                products = F.matmul(F.reshape(gy, (n, n_out, 1)), F.reshape(x, (n, 1, n_in)))
                gW = F.sum(self._drop(products), axis=0)
            else:
                gW = self._drop(F.matmul(gy, F.reshape(x, (n, n_in)), transa=True))
            grads.append(F.cast(gW, W.dtype))
        if 2 in indexes:
            grads.append(F.sum(gy, axis=0))
        return grads


def simplified_dropconnect(x, W, b=None, ratio=0.5, train=True, mask=None,
                           use_batchwise_mask=True) -> Variable:
    r"""Linear transformation of which connections are dropped at random.

    Each element of ``W`` is set to zero with the probability ``ratio``; the others are multiplied
    by ``1 / (1 - ratio)``. Other than in the paper, the mean of what the activation gets is taken
    before the activation, not by sampling. See: `Wan et al., Regularization of Neural Networks
    using DropConnect <https://proceedings.mlr.press/v28/wan13.html>`_.

    Args:
        x (Variable or array): Shape :math:`(n, \dots)`, any floating dtype; the axes after the
            first are taken as one of size :math:`N`.
        W (Variable or array): Weight of shape :math:`(M, N)`.
        b (Variable, array or None): Bias of shape :math:`(M,)` and the dtype of ``x``.
        ratio (float): Probability to be dropped, ``0 <= ratio < 1``.
        train (bool): If false, nothing is dropped: ``ratio`` is 0.
        mask (Variable, array or None): Which connections are kept, of shape :math:`(n, M, N)` or
            :math:`(M, N)`, instead of drawing it.
        use_batchwise_mask (bool): Whether each sample gets a mask of its own.

    Returns:
        Variable: Shape :math:`(n, M)`, dtype of ``x``.

    Raises:
        ValueError: If ``ratio`` is out of its range.
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.SimplifiedDropconnect`

    >>> x, W = np.ones((1, 2), np.float32), np.array([[3, 4]], np.float32)
    >>> F.simplified_dropconnect(x, W, mask=np.array([[True, False]])).array
    array([[6.]], dtype=float32)
    """
    if not train:
        ratio = 0
    function = SimplifiedDropconnect(ratio, mask, use_batchwise_mask)
    return function.apply((x, W) if b is None else (x, W, b))[0]
