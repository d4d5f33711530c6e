"""Cross entropy of a sigmoid."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class SigmoidCrossEntropy(function_node.FunctionNode):
    """Cross entropy of a sigmoid (see :func:`sigmoid_cross_entropy`).

    Attributes:
        count: what the mean was divided by, once the function has been applied.
    """

    ignore_label = -1

    def __init__(self, normalize=True, reduce='mean'):
        if reduce not in ('mean', 'no'):
            raise ValueError(
                f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
        self.normalize = normalize
        self.reduce = reduce
        self.count = None

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            t_type.dtype.kind == 'i',
            x_type.shape == t_type.shape,
        )

    def forward(self, inputs):
        x, t = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0,))
        kept = t != self.ignore_label
        self.kept = kept.astype(x.dtype)
        self.target = t.astype(x.dtype)
        # Split so that no exponential overflows.
        loss = self.kept * (
            xp.maximum(x, 0) - x * self.target + xp.log1p(xp.exp(-abs(x))))
        if self.reduce == 'no':
            return utils.force_array(loss),
        self.count = utils.force_array(
            xp.maximum(kept.sum() if self.normalize else len(x), 1))
        self.scale = utils.force_array(1 / self.count, x.dtype)
        # Half precision would overflow in the sum.
        total = loss.sum(dtype='f') if x.dtype == 'e' else loss.sum()
        return utils.force_array(total / self.count, x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        if self.reduce == 'mean':
            gy = F.broadcast_to(gy * self.scale, x.shape)
        return gy * self.kept * (F.sigmoid(x) - self.target), None


def sigmoid_cross_entropy(x, t, normalize=True, reduce='mean') -> Variable:
    r"""Cross entropy of a sigmoid, for labels that are independent of each other.

    .. math:: L = -t \log \sigma(x) - (1 - t) \log (1 - \sigma(x))

    Args:
        x (Variable or array): scores, a floating-point array of any shape.
        t (Variable or array): labels, integers in the shape of ``x``: 1, 0, or -1 for those that
            are ignored.
        normalize (bool): whether the mean is taken over all labels that are not ignored; if not,
            the sum is divided by the batch size.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each label.

    Returns:
        Variable: of the dtype of ``x``, without dimensions, or in the shape of ``x``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``reduce`` is something else.

    >>> x = np.array([[0., 2.], [-1., 5.]])
    >>> t = np.array([[1, 1], [0, -1]])
    >>> F.sigmoid_cross_entropy(x, t, reduce='no').array
    array([[0.69314718, 0.12692801],
           [0.31326169, 0.        ]])
    """
    return SigmoidCrossEntropy(normalize, reduce).apply((x, t))[0]
