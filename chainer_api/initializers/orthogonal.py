"""Initializer that makes orthonormal rows or columns."""
from chainer import backend, initializer

_MODES = ('auto', 'projection', 'embedding', 'basis')


class Orthogonal(initializer.Initializer):
    """Fills the array with ``scale`` times an orthonormal system.

    The array is taken as a matrix of ``shape[0]`` rows, all other axes joined into the second.
    A matrix of standard normal numbers is drawn and orthogonalized: the rows of a wide or square
    matrix, the columns of a tall one, are the system. An array without axes becomes plus or minus
    ``scale``.

    Reference: Saxe et al., `Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks <https://arxiv.org/abs/1312.6120>`_.

    Args:
        scale (float): Factor of the orthonormal system.
        dtype: See :class:`chainer.Initializer`.
        mode (str): What shapes to accept. ``'projection'``: no more outputs (rows) than inputs
            (columns); ``'embedding'``: no more inputs than outputs; ``'basis'``: as many of both;
            ``'auto'`` (the default): any.
        rng (numpy.random.RandomState or cupy.random.RandomState): Generator to draw from. The
            default is the global one, ``numpy.random`` or ``cupy.random``.

    Raises:
        ValueError: ``mode`` is another one; or, when called, the array is empty or its shape is
            refused by ``mode``.

    Example:
        >>> import numpy as np, chainer
        >>> w = np.empty((2, 4), np.float32)
        >>> chainer.initializers.Orthogonal(scale=1.0)(w)
        >>> bool(np.allclose(w @ w.T, np.eye(2), atol=1e-5))
        True
    """

    # Also for pickles of Chainer 5
    mode = 'auto'
    rng = None

    def __init__(self, scale=1.1, dtype=None, mode='auto', *, rng=None):
        if mode not in _MODES:
            modes = ', '.join(map(repr, _MODES))
            raise ValueError(f'Invalid mode: {mode!r}. Choose from {modes}.')
        self.scale = scale
        self.mode = mode
        self.rng = rng
        super().__init__(dtype)

    def __call__(self, array):
        self._check_dtype(array)
        xp = backend.get_array_module(array)
        if array.size == 0:
            raise ValueError(
                f'Array to be initialized must be non-empty. Actual shape: {array.shape}')
        rng = xp.random if self.rng is None else self.rng
        if array.ndim == 0:
            array[...] = self.scale * (2 * rng.randint(2) - 1)
            return
        n_out = array.shape[0]
        n_in = array.size // n_out
        self._check_shape(array.shape, n_in, n_out)

        drawn = rng.normal(loc=0.0, scale=1.0, size=(n_out, n_in))
        system = _orthonormal_columns(xp, drawn.T).T if n_in > n_out \
            else _orthonormal_columns(xp, drawn)
        array[...] = (self.scale * system).reshape(array.shape)

    def _check_shape(self, shape, n_in, n_out):
        too_wide = n_in > n_out and self.mode in ('embedding', 'basis')
        too_tall = n_in < n_out and self.mode in ('projection', 'basis')
        if too_wide or too_tall:
            raise ValueError(
                f'Cannot make orthogonal {self.mode}. shape = {shape}, interpreted as '
                f'{n_in}-dim input and {n_out}-dim output.')


def _orthonormal_columns(xp, matrix):
    # With the signs of R's diagonal taken out, Q is distributed uniformly (by Haar's measure).
    q, r = xp.linalg.qr(matrix)
    return q * xp.sign(xp.diag(r))
