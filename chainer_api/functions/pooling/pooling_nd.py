"""Base of pooling over any number of axes."""
from chainer import function_node
from chainer.utils import _errors, conv_nd, type_check


class _PoolingND(function_node.FunctionNode):
    """Pooling over ``ndim`` axes: its settings and its type check."""

    _weight = function_node._SEVERAL

    def __init__(self, ndim, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
        if ndim <= 0:
            raise ValueError('pooling operation requires at least one spatial dimension.')
        self.ndim = ndim
        self.ksize = conv_nd.as_tuple(ksize, ndim)
        self.stride = self.ksize if stride is None else conv_nd.as_tuple(stride, ndim)
        self.pad = conv_nd.as_tuple(pad, ndim)
        self.cover_all = cover_all
        self.return_indices = return_indices
        if min(self.ksize) <= 0 or min(self.stride) <= 0:
            raise ValueError(
                f'{type(self).__name__}: ksize and stride must be positive, not {self.ksize} and '
                f'{self.stride}')

    def check_type_forward(self, in_types):
        type_check.expect(
            in_types.size() == 1,
            in_types[0].dtype.kind == 'f',
            in_types[0].ndim == 2 + self.ndim,
        )

    @property
    def settings(self):
        """Keyword arguments of the pooling kernels."""
        return {'ksize': self.ksize, 'stride': self.stride, 'pad': self.pad}

    def _get_outsize(self, shape):
        """Number of windows along each axis of an input with the spatial shape ``shape``."""
        outsize = conv_nd.get_conv_outsizes(
            shape, self.ksize, self.stride, self.pad, self.cover_all)
        if min(outsize) <= 0:
            raise _errors.AssertedValueError(
                f'{type(self).__name__}: an input of size {shape} with pad {self.pad} is smaller '
                f'than windows of size {self.ksize}')
        return outsize
