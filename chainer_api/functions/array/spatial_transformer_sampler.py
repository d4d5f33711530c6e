"""Sampling images at points of a grid."""
from chainer import backend, function_node
from chainer import functions as F
from chainer.utils import argument, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels.places import add_at_places


class SpatialTransformerSampler(function_node.FunctionNode):
    """Samples images at points of a grid (see :func:`spatial_transformer_sampler`)."""

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        x_type, grid_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            grid_type.dtype == x_type.dtype,
            x_type.ndim == 4,
            grid_type.ndim == 4,
            grid_type.shape[1] == 2,
            x_type.shape[0] == grid_type.shape[0],
        )

    def forward(self, inputs):
        x, grid = inputs
        self.retain_inputs((0, 1))
        xp = backend.get_array_module(x)
        n, c, h, w = x.shape
        # Places in images with a border of zeros. What lies outside is clipped onto the border.
        u = (grid[:, 0] + 1) * ((w - 1) / 2) + 1
        v = (grid[:, 1] + 1) * ((h - 1) / 2) + 1
        self.inside = xp.stack(
            [(u > 0) & (u < w + 1), (v > 0) & (v < h + 1)], axis=1).astype(x.dtype)
        u = xp.clip(u, 0, w + 1)
        v = xp.clip(v, 0, h + 1)
        u0 = xp.clip(xp.floor(u), 0, w)
        v0 = xp.clip(xp.floor(v), 0, h)
        corner = (v0.astype('i8') * (w + 2) + u0.astype('i8')).reshape(n, -1)
        self.places = corner, corner + 1, corner + w + 2, corner + w + 3
        self.origin = u0, v0
        u, v = u - u0, v - v0
        weights = (1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v
        pixels = _bordered(x)
        y = 0
        for place, weight in zip(self.places, weights, strict=True):
            y = y + xp.take_along_axis(pixels, place[:, None], axis=2) * weight.reshape(n, 1, -1)
        return y.reshape(n, c, *grid.shape[2:]),

    def backward(self, indexes, grad_outputs):
        x, grid = self.get_retained_inputs()
        n, c, h, w = x.shape
        points = grid.shape[2:]
        gy = F.reshape(grad_outputs[0], (n, c, points[0] * points[1]))
        u, v = (
            F.broadcast_to(F.reshape(a, (n, 1, points[0] * points[1])), gy.shape) for a in (
                F.clip((grid[:, 0] + 1) * ((w - 1) / 2) + 1, 0., w + 1.) - self.origin[0],
                F.clip((grid[:, 1] + 1) * ((h - 1) / 2) + 1, 0., h + 1.) - self.origin[1]))
        gx = ggrid = None
        if 0 in indexes:
            weights = (1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v
            gx = F.add(*[
                _Place(place, (h, w)).apply((gy * weight,))[0]
                for place, weight in zip(self.places, weights, strict=True)])
        if 1 in indexes:
            p, q, r, s = (_Pick(place).apply((x,))[0] for place in self.places)
            gu = F.sum(gy * ((q - p) * (1 - v) + (s - r) * v), axis=1) * ((w - 1) / 2)
            gv = F.sum(gy * ((r - p) * (1 - u) + (s - q) * u), axis=1) * ((h - 1) / 2)
            ggrid = F.reshape(F.stack((gu, gv), axis=1), grid.shape) * self.inside
        return gx, ggrid


class _Pick(function_node.FunctionNode):
    """Pixels ``(n, c, p)`` of images at places ``(n, p)`` of their bordered form."""

    def __init__(self, places):
        self.places = places

    def forward(self, inputs):
        x, = inputs
        self._size = x.shape[2:]
        xp = backend.get_array_module(x)
        return xp.take_along_axis(_bordered(x), xp.asarray(self.places)[:, None], axis=2),

    def backward(self, indexes, grad_outputs):
        return _Place(self.places, self._size).apply(grad_outputs)


class _Place(function_node.FunctionNode):
    """The transposed map: adds values ``(n, c, p)`` to the pixels of zeros."""

    def __init__(self, places, size):
        self.places = places
        self.size = size

    def forward(self, inputs):
        g, = inputs
        h, w = self.size
        xp = backend.get_array_module(g)
        gx = add_at_places(g, xp.asarray(self.places), length=(h + 2) * (w + 2))
        return gx.reshape(*g.shape[:2], h + 2, w + 2)[:, :, 1:-1, 1:-1],

    def backward(self, indexes, grad_outputs):
        return _Pick(self.places).apply(grad_outputs)


def _bordered(x):
    """Images with a border of zeros, each raveled."""
    x = backend.get_array_module(x).pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3])


def spatial_transformer_sampler(x, grid, **kwargs) -> Variable:
    """Sample images at the points of a grid, linearly between pixels.

    Outside of the images are zeros. See: `Jaderberg et al., Spatial Transformer
    Networks <https://arxiv.org/abs/1506.02025>`_.

    Args:
        x (Variable or array): floating-point images of shape ``(B, C, h, w)``.
        grid (Variable or array): points of shape ``(B, 2, H, W)`` and the dtype of ``x``: x
            coordinates first, then y coordinates; -1 and 1 are the centres of the outermost
            pixels. :func:`~chainer.functions.spatial_transformer_grid` makes such grids.

    Returns:
        Variable: images of shape ``(B, C, H, W)``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> x = np.array([[[[1., 2.], [3., 4.]]]])
    >>> grid = np.array([0., 1., 0., -1.]).reshape(1, 2, 1, 2)
    >>> F.spatial_transformer_sampler(x, grid).array
    array([[[[2.5, 2. ]]]])
    """
    argument.check_unexpected_kwargs(
        kwargs, use_cudnn='The argument "use_cudnn" is not supported anymore. Use '
        "chainer.using_config('use_cudnn', value) context where value can be `always`, `never`, "
        'or `auto`.')
    argument.assert_kwargs_empty(kwargs)
    return SpatialTransformerSampler().apply((x, grid))[0]
