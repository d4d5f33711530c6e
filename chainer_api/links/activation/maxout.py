"""Maxout layer."""
import numpy

from chainer import functions as F
from chainer import initializer, link
from chainer.backends import cuda
from chainer.links.connection import linear


class Maxout(link.Chain):
    r"""Fully connected maxout layer.

    .. math:: y_i = \max_j (W_{ij} \cdot x + b_{ij})

    See: `Goodfellow et al., Maxout Networks <https://arxiv.org/abs/1302.4389>`_.

    Args:
        in_size (int or None): Size of an input. If it is ``None``, the first call decides.
        out_size (int): Size of an output.
        pool_size (int): How many linear functions the maximum is taken over.
        initialW (initializer): Initializes the weights: a scalar, an array of shape (out_size,
            pool_size, in_size) or a function that fills one; or an
            :class:`~chainer.Initializer`, which sees the shape (out_size * pool_size, in_size).
            The default is :class:`~chainer.initializers.LeCunNormal`.
        initial_bias (initializer): Likewise for the biases, of shape (out_size, pool_size); with
            ``None`` there are none.

    Attributes:
        linear (Linear): All linear functions.

    Raises:
        ValueError: An initial array has another number of axes.

    .. seealso:: :func:`chainer.functions.maxout`

    Example:
        >>> L.Maxout(3, 2, pool_size=4)(np.ones((5, 3), np.float32)).shape
        (5, 2)
    """

    def __init__(self, in_size, out_size, pool_size, initialW=None, initial_bias=0):
        super().__init__()
        sizes = out_size, pool_size
        self.out_size = out_size
        self.pool_size = pool_size
        with self.init_scope():
            self.linear = linear.Linear(
                in_size, out_size * pool_size, nobias=initial_bias is None,
                initialW=_merge_axes('initialW', initialW, 3, sizes),
                initial_bias=_merge_axes('initial_bias', initial_bias, 2, sizes))

    def forward(self, x):
        """Applies the layer.

        Args:
            x (Variable or array): Batch of inputs.

        Returns:
            Variable: Shape (batch, out_size).
        """
        return F.maxout(self.linear(x), self.pool_size)


def _merge_axes(name, initial, ndim, sizes):
    if callable(initial) and not isinstance(initial, initializer.Initializer):
        return _OfSplitAxes(initial, sizes)
    if not isinstance(initial, (numpy.ndarray, cuda.ndarray)):
        return initial
    if initial.ndim != ndim:
        raise ValueError(f'{name}.ndim should be {ndim}, but it is {initial.ndim}')
    n_out, n_pool, *rest = initial.shape
    return initial.reshape(n_out * n_pool, *rest)


class _OfSplitAxes:
    """Initializer that shows a function the first axis as the axes of output and pool."""

    def __init__(self, function, sizes):
        self._function = function
        self._sizes = sizes
        self.dtype = getattr(function, 'dtype', None)

    def __call__(self, array):
        self._function(array.reshape(self._sizes + array.shape[1:]))
