"""What the functions on regions of interest share."""
import numbers

from chainer import backend, function_node
from chainer.utils import type_check


def check_outsize(outsize):
    """Return ``outsize`` as a pair of positive ints; raise ``TypeError`` if it is none."""
    outsize = outsize if hasattr(outsize, '__getitem__') else (outsize, outsize)
    height, width = outsize
    for i, size in enumerate((height, width)):
        if not isinstance(size, numbers.Integral) or size <= 0:
            raise TypeError(f'outsize[{i}] must be positive integer: {type(size)}, {size}')
    return int(height), int(width)


def check_scale(spatial_scale):
    """Return ``spatial_scale`` as a float; raise ``TypeError`` unless it is positive."""
    if not isinstance(spatial_scale, numbers.Real) or spatial_scale <= 0:
        raise TypeError(
            f'spatial_scale must be a positive float number: {type(spatial_scale)}, '
            f'{spatial_scale}')
    return float(spatial_scale)


def check_sampling_ratio(sampling_ratio):
    """Return ``sampling_ratio`` as a pair of ints or ``None``; raise ``TypeError`` if it is none.
    """
    pair = sampling_ratio
    if not hasattr(pair, '__getitem__'):
        pair = pair, pair
    if not all(s is None or isinstance(s, numbers.Integral) and s >= 1 for s in pair):
        raise TypeError(
            f'sampling_ratio must be integer >= 1 or a pair of it: {pair}')
    return tuple(pair)


class ROIFunction(function_node.FunctionNode):
    """A function of images, boxes and the indices of the images that the boxes lie in."""

    _weight = function_node._SEVERAL

    def __init__(self, outsize, spatial_scale):
        self.outh, self.outw = self.outsize = check_outsize(outsize)
        self.spatial_scale = check_scale(spatial_scale)

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x_type, roi_type, roi_index_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim == 4,
            x_type.dtype == roi_type.dtype,
            roi_type.ndim == 2,
            roi_type.shape[1] == 4,
            roi_index_type.dtype.kind == 'i',
            roi_index_type.ndim == 1,
            roi_type.shape[0] == roi_index_type.shape[0],
        )

    @property
    def settings(self):
        """Keyword arguments of the kernels."""
        return {'outsize': self.outsize, 'spatial_scale': self.spatial_scale}


class LinearNode(function_node.FunctionNode):
    """A kernel that is linear in its first argument; its adjoint is its gradient.

    Inputs are the images, then arrays that get no gradient.

    Args:
        kernel: called with the images, ``held``, and the other inputs.
        adjoint: its adjoint, called likewise.
        held: arrays that are no inputs.
    """

    def __init__(self, kernel, adjoint, held=()):
        self.kernel = kernel
        self.adjoint = adjoint
        self.held = held

    def forward(self, inputs):
        x, *arrays = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs(tuple(range(1, len(inputs))))
        return self.kernel(x, *map(xp.asarray, self.held), *arrays),

    def backward(self, indexes, grad_outputs):
        arrays = self.get_retained_inputs()
        gx, = LinearNode(self.adjoint, self.kernel, self.held).apply((*grad_outputs, *arrays))
        return tuple(gx if i == 0 else None for i in indexes)
