"""Grids of affine transformations."""
import numpy

from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import argument, type_check
from chainer.variable import Variable


class SpatialTransformerGrid(function_node.FunctionNode):
    """Grids of affine transformations (see :func:`spatial_transformer_grid`)."""

    def __init__(self, output_shape):
        self.output_shape = output_shape

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('theta',))
        theta_type, = in_types
        type_check.expect(
            theta_type.dtype.kind == 'f',
            theta_type.ndim == 3,
            theta_type.shape[1] == 2,
            theta_type.shape[2] == 3,
        )

    def forward(self, inputs):
        theta, = inputs
        xp = backend.get_array_module(theta)
        points = xp.asarray(self._points(theta.dtype))
        return xp.matmul(theta, points).reshape(len(theta), 2, *self.output_shape),

    def _points(self, dtype):
        """The target's pixels as columns ``(x, y, 1)``, from -1 to 1."""
        h, w = self.output_shape
        y, x = numpy.meshgrid(
            numpy.linspace(-1, 1, h), numpy.linspace(-1, 1, w), indexing='ij')
        return numpy.stack([x.ravel(), y.ravel(), numpy.ones(h * w)]).astype(dtype)

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        n = gy.shape[0]
        gy = F.reshape(gy, (n, 2, self.output_shape[0] * self.output_shape[1]))
        xp = backend.get_array_module(gy)
        points = xp.asarray(self._points(gy.dtype))
        points = F.broadcast_to(points[None], (n, *points.shape))
        return F.matmul(gy, points, transb=True),


def spatial_transformer_grid(theta, output_shape, **kwargs) -> Variable:
    """Grids of affine transformations, for :func:`~chainer.functions.spatial_transformer_sampler`.

    Each pixel of a target image has coordinates from -1 to 1; the grid tells where
    the affine transformation ``theta`` takes them. See: `Jaderberg et al., Spatial
    Transformer Networks <https://arxiv.org/abs/1506.02025>`_.

    Args:
        theta (Variable or array): matrices of shape ``(B, 2, 3)``.
        output_shape (tuple of ints): height and width of the target.

    Returns:
        Variable: of shape ``(B, 2, H, W)``: x coordinates first, then y coordinates.

    Raises:
        InvalidType: if ``theta`` is no floating-point array of that shape.

    >>> theta = np.array([[[1., 0., 0.], [0., 2., 1.]]])
    >>> F.spatial_transformer_grid(theta, (1, 3)).array
    array([[[[-1.,  0.,  1.]],
    <BLANKLINE>
            [[-1., -1., -1.]]]])
    """
    argument.check_unexpected_kwargs(
        kwargs, use_cudnn='The argument "use_cudnn" is not supported anymore. Use '
        "chainer.using_config('use_cudnn', value) context where value can be `always`, `never`, "
        'or `auto`.')
    argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerGrid(output_shape).apply((theta,))[0]
