"""Maximum pooling over regions of interest, in its first form."""
import numpy

from chainer import function_node
from chainer.functions.pooling import _roi, roi_max_pooling_2d
from chainer.utils import type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import roi


class ROIPooling2D(function_node.FunctionNode):
    """Maximum pooling over regions of interest (see :func:`roi_pooling_2d`).

    Attributes:
        argmax_data: after ``forward``, the place of each maximum in the raveled image, or -1.
    """

    _weight = function_node._SEVERAL

    def __init__(self, outh, outw, spatial_scale):
        self.outh, self.outw = _roi.check_outsize((outh, outw))
        self.spatial_scale = _roi.check_scale(spatial_scale)

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)
        x_type, roi_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim == 4,
            x_type.dtype == roi_type.dtype,
            roi_type.ndim == 2,
            roi_type.shape[1] == 5,
        )

    def forward(self, inputs):
        self.retain_inputs(())
        x, rois = inputs
        self._shape = x.shape
        self._indices = rois[:, 0].astype(numpy.int64)
        boxes = rois[:, [2, 1, 4, 3]]
        y, self.argmax_data = roi.roi_max_pooling(
            x, boxes, self._indices, outsize=(self.outh, self.outw), inclusive=True, empty=0.,
            spatial_scale=self.spatial_scale)
        return y,

    def backward(self, indexes, grad_outputs):
        gx = roi_max_pooling_2d.scatter(
            grad_outputs[0], self.argmax_data, self._indices, self._shape)
        return tuple(gx if i == 0 else None for i in indexes)


def roi_pooling_2d(x, rois, outh, outw, spatial_scale) -> Variable:
    r"""Maximum of the pixels in each part of regions of images.

    Regions are rounded to whole pixels, of which the last row and column belong to them, and cut
    into :math:`h_O \times w_O` parts; parts without pixels are zero. See: `Girshick, Fast R-CNN
    <https://arxiv.org/abs/1504.08083>`_.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        rois (Variable or array): Regions of shape :math:`(r, 5)` and the dtype of ``x``, each
            ``(batch_index, x_min, y_min, x_max, y_max)``. They get no gradient.
        outh (int): Height of the result.
        outw (int): Width of the result.
        spatial_scale (float): What the regions are multiplied by to be pixels of ``x``.

    Returns:
        Variable: Shape :math:`(r, c, h_O, w_O)`, dtype of ``x``.

    Raises:
        TypeError: If a setting has a wrong type or is not positive.
        InvalidType: If the arrays do not fit each other.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> F.roi_pooling_2d(x, np.array([[0, 0, 0, 3, 1]], np.float32), 1, 2, 1.).array
    array([[[[5., 7.]]]], dtype=float32)
    """
    return ROIPooling2D(outh, outw, spatial_scale).apply((x, rois))[0]
