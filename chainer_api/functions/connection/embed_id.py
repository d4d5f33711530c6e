"""Look-up of embedding vectors."""
import chainer
from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import embedding


class EmbedIDFunction(function_node.FunctionNode):
    """Rows of a matrix (see :func:`embed_id`)."""

    def __init__(self, ignore_label=None):
        self.ignore_label = ignore_label

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        x_type, w_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'i',
            x_type.ndim >= 1,
        )
        type_check.expect(
            w_type.dtype.kind == 'f',
            w_type.ndim == 2,
        )

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, W = inputs
        if chainer.is_debug():
            _check_range(x, len(W), self.ignore_label)
        self._w_shape = W.shape
        return _take(x, W, self.ignore_label),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gW, = EmbedIDGrad(self._w_shape, self.ignore_label).apply((x, grad_outputs[0]))
        return None, gW


def _take(x, W, ignore_label):
    if ignore_label is None:
        return W[x]
    xp = backend.get_array_module(x)
    ignored = x == ignore_label
    return xp.where(ignored[..., None], W.dtype.type(0), W[xp.where(ignored, 0, x)])


def _check_range(x, length, ignore_label):
    valid = (x >= 0) & (x < length)
    if ignore_label is not None:
        valid |= x == ignore_label
    if not valid.all():
        raise ValueError('Each not ignored `x` value need to satisfy `0 <= x < len(W)`')


class EmbedIDGrad(function_node.FunctionNode):
    """Gradient of :func:`embed_id` with respect to the matrix."""

    def __init__(self, w_shape, ignore_label=None):
        self.w_shape = w_shape
        self.ignore_label = ignore_label

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, gy = inputs
        return embedding.add_rows(
            gy, x, length=self.w_shape[0], ignore_label=self.ignore_label),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return None, embed_id(x, grad_outputs[0], self.ignore_label)


def embed_id(x, W, ignore_label=None) -> Variable:
    r"""Look up a row of a matrix for each identifier.

    The product of the matrix and one-hot vectors, without making them. Only ``W`` gets a
    gradient.

    Args:
        x (Variable or array): Identifiers, signed integers of shape :math:`(s_1, \dots, s_n)`.
        W (Variable or array): Matrix of shape :math:`(V, d)`, any floating dtype.
        ignore_label (int or None): Identifier that stands for nothing: its vectors are zero and
            add nothing to the gradient.

    Returns:
        Variable: Shape :math:`(s_1, \dots, s_n, d)`, dtype of ``W``.

    Raises:
        InvalidType: If the arrays have other dtypes or dimensions.
        IndexError: If an identifier is not less than :math:`V`; in debug mode (see
            :func:`chainer.is_debug`) a ``ValueError``, and negative identifiers raise it too.

    .. seealso:: :class:`~chainer.links.EmbedID`

    >>> W = np.array([[0, 0], [1, 2], [3, 4]], np.float32)
    >>> F.embed_id(np.array([2, 1, -1]), W, ignore_label=-1).array
    array([[3., 4.],
           [1., 2.],
           [0., 0.]], dtype=float32)
    """
    return EmbedIDFunction(ignore_label).apply((x, W))[0]
