"""Average pooling over regions of interest, with interpolation."""
from chainer.functions.pooling import _roi, roi_average_pooling_2d
from chainer.variable import Variable


class ROIAverageAlign2D(roi_average_pooling_2d.ROIAveragePooling2D):
    """Interpolating average over regions of interest (see :func:`roi_average_align_2d`)."""

    def __init__(self, outsize, spatial_scale, sampling_ratio=None):
        super().__init__(outsize, spatial_scale)
        self.sampling_ratio = _roi.check_sampling_ratio(sampling_ratio)

    @property
    def settings(self):
        """Keyword arguments of the kernels."""
        return {**super().settings, 'kind': 'samples', 'sampling': self.sampling_ratio}


def roi_average_align_2d(
        x, rois, roi_indices, outsize, spatial_scale, sampling_ratio=None) -> Variable:
    r"""Average of interpolated samples in each part of regions of images.

    Regions are cut into :math:`h_O \times w_O` parts without rounding; in each part a grid of
    samples is read by bilinear interpolation. Samples outside of the image are zero. See: `He et
    al., Mask R-CNN <https://arxiv.org/abs/1703.06870>`_.

    Args:
        x (Variable or array): Images of shape :math:`(n, c, h, w)`, any floating dtype.
        rois (Variable or array): Regions of shape :math:`(r, 4)` and the dtype of ``x``, each
            ``(y_min, x_min, y_max, x_max)``. They get no gradient.
        roi_indices (Variable or array): Index of the image of each region, integers of shape
            :math:`(r,)`.
        outsize (int or pair of ints): Height and width of the result.
        spatial_scale (float): What the regions are multiplied by to be pixels of ``x``.
        sampling_ratio (int, pair of ints or None): Number of samples along each axis of a part;
            by default as many as the part has pixels.

    Returns:
        Variable: Shape :math:`(r, c, h_O, w_O)`, dtype of ``x``.

    Raises:
        TypeError: If a setting has a wrong type or is not positive.
        InvalidType: If the arrays do not fit each other.

    >>> x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    >>> rois, roi_indices = np.array([[0, 0, 2, 3]], np.float32), np.array([0], np.int32)
    >>> F.roi_average_align_2d(x, rois, roi_indices, (1, 2), 1., sampling_ratio=2).array
    array([[[[4.75, 6.25]]]], dtype=float32)
    """
    function = ROIAverageAlign2D(outsize, spatial_scale, sampling_ratio)
    return function.apply((x, rois, roi_indices))[0]
