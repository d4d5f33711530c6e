"""Maximum pooling over regions of interest."""
import functools
import math

from chainer.functions.pooling import _roi
from chainer.variable import Variable
from chainwright.runtime.kernels import roi


class ROIMaxPooling2D(_roi.ROIFunction):
    """Maximum pooling over regions of interest (see :func:`roi_max_pooling_2d`).

    Attributes:
        argmax_data: after ``forward``, the place of each maximum in the raveled image, or -1.
    """

    def forward(self, inputs):
        self.retain_inputs(())
        self._shape, self._indices = inputs[0].shape, inputs[2]
        y, self.argmax_data = roi.roi_max_pooling(
            *inputs, inclusive=False, empty=-math.inf, **self.settings)
        return y,

    def backward(self, indexes, grad_outputs):
        gx = scatter(grad_outputs[0], self.argmax_data, self._indices, self._shape)
        return tuple(gx if i == 0 else None for i in indexes)


def scatter(gy, places, indices, shape):
    """Gradient of maximum pooling, as a Variable: ``gy`` on the places of the maxima."""
    adjoint = functools.partial(roi.roi_scatter, shape=shape)
    return _roi.LinearNode(adjoint, roi.roi_gather, (places, indices)).apply((gy,))[0]


def roi_max_pooling_2d(x, rois, roi_indices, outsize, spatial_scale) -> Variable:
    r"""Maximum of the pixels in each part of regions of images.

    Regions are rounded to whole pixels and cut into :math:`h_O \times w_O` parts; parts without
    pixels are minus infinity. See: `Girshick, Fast R-CNN <https://arxiv.org/abs/1504.08083>`_.

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
    >>> F.roi_max_pooling_2d(x, rois, roi_indices, (1, 2), 1.).array
    array([[[[5., 7.]]]], dtype=float32)
    """
    return ROIMaxPooling2D(outsize, spatial_scale).apply((x, rois, roi_indices))[0]
