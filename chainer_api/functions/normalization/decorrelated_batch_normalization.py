"""Decorrelated batch normalization."""
from chainer import _tracing, backend, function_node
from chainer import functions as F
from chainer.functions.normalization import _moments
from chainer.utils import _errors, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import linear_algebra


def _to_groups(x, groups):
    """(n, c, ...) as (groups, c / groups, samples)."""
    order = (1, 0, *range(2, x.ndim))
    size = x.shape[0] * _moments.size_over(x.shape, range(2, x.ndim))
    return x.transpose(order).reshape(groups, x.shape[1] // groups, size)


def _from_groups(y, shape):
    """The inverse of `_to_groups`."""
    order = (1, 0, *range(2, len(shape)))
    return y.reshape((shape[1], shape[0]) + shape[2:]).transpose(order)


def _transposed(a):
    return a.swapaxes(1, 2)


class DecorrelatedBatchNormalization(function_node.FunctionNode):
    """Decorrelated batch normalization (see :func:`decorrelated_batch_normalization`).

    Attributes:
        running_mean: the array given, updated in place.
        running_projection: the array given, updated in place.
    """

    _weight = function_node._SEVERAL

    def __init__(self, groups=16, eps=2e-5, mean=None, projection=None, decay=0.9):
        if mean is not None:
            _errors.check_arrays(
                'decorrelated_batch_normalization', running_mean=mean,
                running_projection=projection)
        self.groups = groups
        self.running_mean = mean
        self.running_projection = projection
        self.eps = eps
        self.decay = decay

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        x_type = in_types[0]
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.shape[1] % self.groups == 0,
        )

    def forward(self, inputs):
        self.retain_inputs((0,))
        x, = inputs
        xp = backend.get_array_module(x)
        dtype = _moments.work_dtype(x)
        xg = _to_groups(x.astype(dtype, copy=False), self.groups)
        count = xg.shape[2]
        mean = xg.mean(axis=2)
        centered = xg - mean[:, :, None]
        covariance = xp.matmul(centered, _transposed(centered)) / count
        covariance += self.eps * xp.eye(xg.shape[1], dtype=dtype)
        eigenvalues, vectors = linear_algebra.symmetric_eigen(covariance)
        projection = xp.matmul(vectors / xp.sqrt(eigenvalues)[:, None], _transposed(vectors))
        self._decomposition = mean, eigenvalues, vectors
        if self.running_mean is not None:
            _tracing.note_function(self, self.running_mean, self.running_projection)
            running_mean = xp.asarray(self.running_mean)
            running_mean *= self.decay
            running_mean += (1 - self.decay) * mean
        if self.running_projection is not None:
            adjust = count / max(count - 1., 1.)
            running_projection = xp.asarray(self.running_projection)
            running_projection *= self.decay
            running_projection += (1 - self.decay) * adjust * projection
        y = _from_groups(xp.matmul(projection, centered), x.shape)
        return y.astype(x.dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        return DecorrelatedBatchNormalizationGrad(
            self.groups, *self._decomposition).apply((x, grad_outputs[0]))


class DecorrelatedBatchNormalizationGrad(function_node.FunctionNode):
    """Gradient of decorrelated batch normalization."""

    def __init__(self, groups, mean, eigenvalues, vectors):
        self.groups = groups
        self.mean = mean
        self.eigenvalues = eigenvalues
        self.vectors = vectors

    def forward(self, inputs):
        x, gy = inputs
        xp = backend.get_array_module(x)
        mean, eigenvalues, vectors = map(
            xp.asarray, (self.mean, self.eigenvalues, self.vectors))
        dtype = eigenvalues.dtype
        centered = _to_groups(x.astype(dtype, copy=False), self.groups) - mean[:, :, None]
        gy = _to_groups(gy.astype(dtype, copy=False), self.groups)
        root = xp.sqrt(eigenvalues)
        projection = xp.matmul(vectors / root[:, None], _transposed(vectors))
        # How a function of a symmetric matrix varies is known in the basis of its eigenvectors:
        # by the difference quotients of the function, here -1 / (r s (r + s)) for roots r and s.
        rows, columns = root[:, :, None], root[:, None]
        quotients = -1 / (rows * columns * (rows + columns))
        g_projection = xp.matmul(gy, _transposed(centered))
        inner = xp.matmul(_transposed(vectors), xp.matmul(g_projection, vectors)) * quotients
        g_covariance = xp.matmul(vectors, xp.matmul(inner, _transposed(vectors)))
        g_covariance = g_covariance + _transposed(g_covariance)
        gx = xp.matmul(projection, gy)
        gx += xp.matmul(g_covariance, centered) / centered.shape[2]
        gx -= gx.mean(axis=2, keepdims=True)
        return _from_groups(gx, x.shape).astype(x.dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        raise NotImplementedError(
            'decorrelated_batch_normalization cannot be differentiated twice')


class FixedDecorrelatedBatchNormalization(function_node.FunctionNode):
    """Decorrelation with given moments (see :func:`fixed_decorrelated_batch_normalization`)."""

    def __init__(self, groups):
        self.groups = groups

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, mean_type, projection_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            mean_type.dtype == x_type.dtype,
            projection_type.dtype == x_type.dtype,
            x_type.shape[1] % self.groups == 0,
            mean_type.shape == (self.groups, x_type.shape[1] // self.groups),
            projection_type.shape == mean_type.shape + (x_type.shape[1] // self.groups,),
        )

    def forward(self, inputs):
        self.retain_inputs((0, 1, 2))
        x, mean, projection = inputs
        xp = backend.get_array_module(x)
        centered = _to_groups(x, self.groups) - mean[:, :, None]
        return _from_groups(xp.matmul(projection, centered), x.shape),

    def backward(self, indexes, grad_outputs):
        x, mean, projection = self.get_retained_inputs()
        shape = x.shape
        order = (1, 0, *range(2, len(shape)))
        grouped = mean.shape + (x.size // mean.size,)

        def to_groups(v):
            return F.reshape(F.transpose(v, order), grouped)

        gy = to_groups(grad_outputs[0])
        g_centered = F.matmul(projection, gy, transa=True)
        grads = []
        if 0 in indexes:
            gx = F.reshape(g_centered, (shape[1], shape[0]) + shape[2:])
            grads.append(F.transpose(gx, order))
        if 1 in indexes:
            grads.append(-F.sum(g_centered, axis=2))
        if 2 in indexes:
            centered = to_groups(x) - F.broadcast_to(mean[:, :, None], grouped)
            grads.append(F.matmul(gy, centered, transb=True))
        return grads


def decorrelated_batch_normalization(x, *, groups=16, eps=2e-5, running_mean=None,
                                     running_projection=None, decay=0.9) -> Variable:
    r"""Decorrelated batch normalization: make groups of channels uncorrelated and standard.

    Each group of channels is multiplied by the inverse square root of its covariance matrix (ZCA
    whitening). See: `Huang et al., Decorrelated Batch Normalization
    <https://arxiv.org/abs/1804.08450>`_.

    Args:
        x (Variable or array): Shape (batch size, channels, ...), any floating dtype.
        groups (int): Number of groups, a divisor of the number of channels.
        eps (float): Added to the variances.
        running_mean (array or None): Running average of the means, of shape (groups, channels /
            groups), updated in place.
        running_projection (array or None): Running average of the matrices, of shape (groups,
            channels / groups, channels / groups), updated in place.
        decay (float): What is kept of the running averages in one update.

    Returns:
        Variable: Of the shape and dtype of ``x``. It is not differentiable twice.

    Raises:
        InvalidType: If ``groups`` does not divide the number of channels.

    .. seealso:: :class:`~chainer.links.DecorrelatedBatchNormalization`

    >>> x = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]], np.float32)
    >>> F.decorrelated_batch_normalization(2 * x, groups=1, eps=0).array.round(3)
    array([[ 1.,  1.],
           [-1., -1.],
           [ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    return DecorrelatedBatchNormalization(
        groups, eps, running_mean, running_projection, decay).apply((x,))[0]


def fixed_decorrelated_batch_normalization(x, mean, projection, groups=16) -> Variable:
    """:func:`decorrelated_batch_normalization` with given moments, as used after training.

    Args:
        x (Variable or array): Shape (batch size, channels, ...), any floating dtype.
        mean (Variable or array): Shape (groups, channels / groups), dtype of ``x``.
        projection (Variable or array): Shape (groups, channels / groups, channels / groups),
            likewise.
        groups (int): Number of groups.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        InvalidType: If the arrays do not fit each other.

    >>> x = np.array([[1, 2]], np.float32)
    >>> turn = np.array([[[0, 1], [-1, 0]]], np.float32)
    >>> F.fixed_decorrelated_batch_normalization(x, np.ones((1, 2), np.float32), turn, 1).array
    array([[1., 0.]], dtype=float32)
    """
    return FixedDecorrelatedBatchNormalization(groups).apply((x, mean, projection))[0]
