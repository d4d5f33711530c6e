"""Bilinear form of two vectors."""
import math

from chainer import function_node
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class BilinearFunction(function_node.FunctionNode):
    """Bilinear form (see :func:`bilinear`)."""

    def check_type_forward(self, in_types):
        n_in = type_check.eval(in_types.size())
        if n_in not in (3, 6):
            raise type_check.InvalidType(
                f'{in_types.size()} == 3 or {in_types.size()} == 6', f'{n_in} == 3 or 6')
        e1_type, e2_type, w_type = in_types[:3]
        type_check.expect(
            e1_type.dtype.kind == 'f',
            e1_type.ndim >= 2,
            e2_type.dtype == e1_type.dtype,
            e2_type.ndim >= 2,
            e1_type.shape[0] == e2_type.shape[0],
            w_type.dtype == e1_type.dtype,
            w_type.ndim == 3,
            type_check.prod(e1_type.shape[1:]) == w_type.shape[0],
            type_check.prod(e2_type.shape[1:]) == w_type.shape[1],
        )
        if n_in == 6:
            out_size = w_type.shape[2]
            v1_type, v2_type, b_type = in_types[3:]
            type_check.expect(
                v1_type.dtype == e1_type.dtype,
                v1_type.ndim == 2,
                v1_type.shape[0] == w_type.shape[0],
                v1_type.shape[1] == out_size,
                v2_type.dtype == e1_type.dtype,
                v2_type.ndim == 2,
                v2_type.shape[0] == w_type.shape[1],
                v2_type.shape[1] == out_size,
                b_type.dtype == e1_type.dtype,
                b_type.ndim == 1,
                b_type.shape[0] == out_size,
            )

    def forward(self, inputs):
        self.retain_inputs(tuple(range(min(len(inputs), 5))))
        e1, e2 = (e.reshape(len(e), math.prod(e.shape[1:])) for e in inputs[:2])
        W = inputs[2]
        n = e1.shape[1] * e2.shape[1]
        pairs = (e1[:, :, None] * e2[:, None, :]).reshape(len(e1), n)
        y = pairs.dot(W.reshape(n, W.shape[2]))
        if len(inputs) == 6:
            V1, V2, b = inputs[3:]
            y += e1.dot(V1)
            y += e2.dot(V2)
            y += b
        return y,

    def backward(self, indexes, grad_outputs):
        e1, e2, W, *linear = self.get_retained_inputs()
        gy, = grad_outputs
        shapes = e1.shape, e2.shape
        e1, e2 = _as_matrix(e1), _as_matrix(e2)
        j, k, l = W.shape
        grads = dict.fromkeys(range(6))
        if 0 in indexes:
            ge1 = F.linear(_pairs(e2, gy), F.reshape(W, (j, k * l)))
            if linear:
                ge1 += F.linear(gy, linear[0])
            grads[0] = F.reshape(ge1, shapes[0])
        if 1 in indexes:
            ge2 = F.linear(_pairs(e1, gy), F.reshape(F.transpose(W, (1, 0, 2)), (k, j * l)))
            if linear:
                ge2 += F.linear(gy, linear[1])
            grads[1] = F.reshape(ge2, shapes[1])
        if 2 in indexes:
            grads[2] = F.reshape(F.matmul(_pairs(e1, e2), gy, transa=True), W.shape)
        if 3 in indexes:
            grads[3] = F.matmul(e1, gy, transa=True)
        if 4 in indexes:
            grads[4] = F.matmul(e2, gy, transa=True)
        if 5 in indexes:
            grads[5] = F.sum(gy, axis=0)
        return tuple(grads[i] for i in indexes)


def _as_matrix(x):
    return x if x.ndim == 2 else F.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


def _pairs(a, b):
    """Products of each pair of elements of the rows: (n, p) and (n, q) give (n, p q)."""
    n, p = a.shape
    q = b.shape[1]
    products = F.broadcast_to(a[:, :, None], (n, p, q)) * F.broadcast_to(b[:, None], (n, p, q))
    return F.reshape(products, (n, p * q))


def bilinear(e1, e2, W, V1=None, V2=None, b=None) -> Variable:
    r"""Bilinear form of two vectors, the core of a neural tensor network.

    .. math::
        y_{il} = \sum_{jk} e^1_{ij} e^2_{ik} W_{jkl} + \sum_j e^1_{ij} V^1_{jl}
        + \sum_k e^2_{ik} V^2_{kl} + b_l

    See: `Socher et al., Reasoning With Neural Tensor Networks for Knowledge Base Completion
    <https://papers.nips.cc/paper/5028-reasoning-with-neural-tensor-networks-for-knowledge-base-completion>`_.

    Args:
        e1 (Variable or array): Left vectors :math:`(I, J)`; further axes are taken as one.
        e2 (Variable or array): Right vectors :math:`(I, K)`; further axes are taken as one.
        W (Variable or array): Weights :math:`(J, K, L)`.
        V1 (Variable, array or None): Coefficients :math:`(J, L)` of ``e1``.
        V2 (Variable, array or None): Coefficients :math:`(K, L)` of ``e2``.
        b (Variable, array or None): Bias :math:`(L,)`.

    Returns:
        Variable: Shape :math:`(I, L)`; all arrays have one floating dtype.

    Raises:
        ValueError: If only some of ``V1``, ``V2`` and ``b`` are given.
        InvalidType: If the arrays do not fit each other.

    .. seealso:: :class:`~chainer.links.Bilinear`

    >>> e1, e2 = np.array([[1, 2]], np.float32), np.array([[3]], np.float32)
    >>> F.bilinear(e1, e2, np.ones((2, 1, 2), np.float32)).array
    array([[9., 9.]], dtype=float32)
    """
    rest = (V1, V2, b)
    given = [v for v in rest if v is not None]
    if len(given) not in (0, 3):
        raise ValueError(
            'All coefficients and bias for bilinear() must be None, if at least one of them is '
            'None.')
    return BilinearFunction().apply((e1, e2, W, *given))[0]
