"""Average pooling over regions of interest."""
import functools

from chainer.functions.pooling import _roi
from chainer.variable import Variable
from chainwright.runtime.kernels import roi


class ROIAveragePooling2D(_roi.ROIFunction):
    """Average pooling over regions of interest (see :func:`roi_average_pooling_2d`)."""

    @property
    def settings(self):
        """Keyword arguments of the kernels."""
        return {**super().settings, 'kind': 'cells'}

    def forward(self, inputs):
        self.retain_inputs((1, 2))
        self._shape = inputs[0].shape
        return roi.roi_average(*inputs, **self.settings),

    def backward(self, indexes, grad_outputs):
        kernel = functools.partial(roi.roi_average, **self.settings)
        adjoint = functools.partial(roi.roi_average_spread, shape=self._shape, **self.settings)
        gx, = _roi.LinearNode(adjoint, kernel).apply(
            (*grad_outputs, *self.get_retained_inputs()))
        return tuple(gx if i == 0 else None for i in indexes)


def roi_average_pooling_2d(x, rois, roi_indices, outsize, spatial_scale) -> Variable:
    r"""Average of the pixels in each part of regions of images.

    Regions are rounded to whole pixels and cut into :math:`h_O \times w_O` parts; what lies
    outside of the image does not count, and parts without pixels are zero.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        rois (Variable or array): Regions of shape :math:`(r, 4)` and the dtype of ``x``, each
            ``(y_min, x_min, y_max, x_max)``. They get no gradient.
        roi_indices (Variable or array): Index of the image of each region, integers of shape
            :math:`(r,)`.
        outsize (int or pair of ints): Height and width of the result.
        spatial_scale (float): What the regions are multiplied by to be pixels of ``x``.

    Returns:
        Variable: Shape :math:`(r, c, h_O, w_O)`, dtype of ``x``.

    Raises:
        TypeError: If a setting has a wrong type or is not positive.
        InvalidType: If the arrays do not fit each other.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> rois, roi_indices = np.array([[0, 0, 2, 4]], np.float32), np.array([0], np.int32)
    >>> F.roi_average_pooling_2d(x, rois, roi_indices, (1, 2), 1.).array
    array([[[[2.5, 4.5]]]], dtype=float32)
    """
    return ROIAveragePooling2D(outsize, spatial_scale).apply((x, rois, roi_indices))[0]
