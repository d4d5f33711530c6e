"""Maximum pooling over regions of interest, with interpolation."""
import functools

from chainer.functions.pooling import _roi
from chainer.variable import Variable
from chainwright.runtime.kernels import roi


class ROIMaxAlign2D(_roi.ROIFunction):
    """Interpolating maximum over regions of interest (see :func:`roi_max_align_2d`)."""

    def __init__(self, outsize, spatial_scale, sampling_ratio=None):
        super().__init__(outsize, spatial_scale)
        self.sampling_ratio = _roi.check_sampling_ratio(sampling_ratio)

    @property
    def settings(self):
        """Keyword arguments of the kernels."""
        return {**super().settings, 'sampling': self.sampling_ratio}

    def forward(self, inputs):
        self.retain_inputs((1, 2))
        self._shape = inputs[0].shape
        y, self.argmax_data = roi.roi_max_align(*inputs, **self.settings)
        return y,

    def backward(self, indexes, grad_outputs):
        kernel = functools.partial(roi.roi_max_align_gather, **self.settings)
        adjoint = functools.partial(roi.roi_max_align_scatter, shape=self._shape, **self.settings)
        gx, = _roi.LinearNode(adjoint, kernel, (self.argmax_data,)).apply(
            (*grad_outputs, *self.get_retained_inputs()))
        return tuple(gx if i == 0 else None for i in indexes)


def roi_max_align_2d(x, rois, roi_indices, outsize, spatial_scale, sampling_ratio=None) -> Variable:
    r"""Maximum of interpolated samples in each part of regions of images.

    Regions are cut into :math:`h_O \times w_O` parts without rounding; in each part a grid of
    samples is read by bilinear interpolation. Parts without a sample in the image are minus
    infinity. See: `He et al., Mask R-CNN <https://arxiv.org/abs/1703.06870>`_.

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
    >>> F.roi_max_align_2d(x, rois, roi_indices, (1, 2), 1., sampling_ratio=2).array
    array([[[[7.125, 8.625]]]], dtype=float32)
    """
    function = ROIMaxAlign2D(outsize, spatial_scale, sampling_ratio)
    return function.apply((x, rois, roi_indices))[0]
