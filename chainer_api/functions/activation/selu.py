"""Scaled exponential linear unit."""
from chainer.functions.activation import elu
from chainer.variable import Variable


def selu(x, alpha=1.6732632423543772848170429916717,
         scale=1.0507009873554804934193349852946) -> Variable:
    """Scaled exponential linear unit, ``scale * elu(x, alpha)``.

    The defaults keep mean zero and variance one from layer to layer. See: `Klambauer et al.,
    Self-Normalizing Neural Networks <https://arxiv.org/abs/1706.02515>`_.

    Args:
        x (Variable or array): floating-point array of any shape.
        alpha (float): parameter of :func:`~chainer.functions.elu`.
        scale (float): factor on everything.

    Returns:
        Variable: of the shape and dtype of ``x``.

    >>> F.selu(np.array([-1, 0, 2], np.float32)).array.round(4)
    array([-1.1113,  0.    ,  2.1014], dtype=float32)
    """
    return scale * elu.elu(x, alpha=alpha)
