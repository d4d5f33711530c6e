"""Resizing images."""
import numpy

from chainer import backend, function_node
from chainer.utils import type_check
from chainer.variable import Variable


class ResizeImages(function_node.FunctionNode):
    """Resizes images (see :func:`resize_images`)."""

    def __init__(self, output_shape, mode='bilinear', align_corners=True):
        if mode not in ('bilinear', 'nearest'):
            raise ValueError(f"mode must be 'bilinear' or 'nearest', not {mode!r}")
        self.out_H, self.out_W = output_shape[0], output_shape[1]
        self.mode = mode
        self.align_corners = align_corners

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(x_type.dtype.kind == 'f', x_type.ndim == 4)

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        self._shape = x.shape
        for axis, size in (2, self.out_H), (3, self.out_W):
            low, high, weight = _taps(x.shape[axis], size, self.mode, self.align_corners)
            y = xp.take(x, xp.asarray(low), axis=axis)
            if weight is not None:
                weight = xp.asarray(weight.astype(x.dtype)[:, None] if axis == 2
                                    else weight.astype(x.dtype))
                y = y + (xp.take(x, xp.asarray(high), axis=axis) - y) * weight
            x = y
        return x,

    def backward(self, indexes, grad_outputs):
        return _ResizeImagesGrad(
            self._shape, (self.out_H, self.out_W), self.mode, self.align_corners,
        ).apply(grad_outputs)


class _ResizeImagesGrad(function_node.FunctionNode):
    """The transposed linear map, as a matrix product for each of the two axes."""

    def __init__(self, input_shape, *settings):
        self.input_shape = input_shape
        self.settings = settings

    def forward(self, inputs):
        gy, = inputs
        xp = backend.get_array_module(gy)
        output_shape, mode, align_corners = self.settings
        rows, columns = (
            xp.asarray(_matrix(size, out_size, mode, align_corners).astype(gy.dtype))
            for size, out_size in zip(self.input_shape[2:], output_shape, strict=True))
        return xp.matmul(rows.T, xp.matmul(gy, columns)),

    def backward(self, indexes, grad_outputs):
        return ResizeImages(*self.settings).apply(grad_outputs)


def _taps(size, out_size, mode, align_corners):
    """Indices of the two source pixels of each target pixel, and the weight of the second."""
    if mode == 'nearest':
        return numpy.arange(out_size) * size // out_size, None, None
    if align_corners:
        at = numpy.linspace(0, size - 1, out_size)
    else:
        at = numpy.clip((numpy.arange(out_size) + .5) * (size / out_size) - .5, 0, size - 1)
    low = numpy.clip(numpy.floor(at), 0, max(size - 2, 0)).astype(numpy.intp)
    return low, numpy.minimum(low + 1, size - 1), at - low


def _matrix(size, out_size, mode, align_corners):
    """The weight of each source pixel (column) for each target pixel (row)."""
    low, high, weight = _taps(size, out_size, mode, align_corners)
    target = numpy.arange(out_size)
    matrix = numpy.zeros((out_size, size))
    if weight is None:
        matrix[target, low] = 1
    else:
        matrix[target, low] = 1 - weight
        matrix[target, high] += weight
    return matrix


def resize_images(x, output_shape, *, mode='bilinear', align_corners=True) -> Variable:
    """Resize images.

    Args:
        x (Variable or array): floating-point images of shape ``(B, C, H, W)``.
        output_shape (tuple of ints): height and width of the result.
        mode (str): ``'bilinear'``, between the four nearest pixels, or ``'nearest'``, where target
            pixel ``i`` is source pixel ``i * size // output_size``.
        align_corners (bool): for ``'bilinear'``, whether the centres of the corner pixels stay the
            corners; if not, the outer edges of the corner pixels do.

    Returns:
        Variable: of shape ``(B, C, output_shape[0], output_shape[1])``.

    Raises:
        InvalidType: if ``x`` is no floating-point array of four dimensions.
        ValueError: if the mode is not known.

    >>> x = np.array([[[[1., 2.], [3., 4.]]]])
    >>> F.resize_images(x, (3, 3)).array
    array([[[[1. , 1.5, 2. ],
             [2. , 2.5, 3. ],
             [3. , 3.5, 4. ]]]])
    """
    return ResizeImages(output_shape, mode, align_corners).apply((x,))[0]
