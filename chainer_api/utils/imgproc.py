"""Image processing."""
import numpy


def oversample(images, crop_dims):
    """Crop each image at its four corners and its centre, and mirror the crops.

    Args:
        images (iterable of arrays): Images ``(h, w, c)``, all of one size.
        crop_dims (tuple of int): Height and width of the crops.

    Returns:
        numpy.ndarray: ``(10 * len(images), crop_h, crop_w, c)``, float32.

    .. doctest::

        >>> chainer.utils.imgproc.oversample(np.zeros((2, 8, 8, 3)), (4, 4)).shape
        (20, 4, 4, 3)
    """
    height, width = crop_dims
    crops = []
    for image in images:
        bottom, right = image.shape[0] - height, image.shape[1] - width
        starts = [(0, 0), (0, right), (bottom, 0), (bottom, right),
                  ((image.shape[0] - height) // 2, (image.shape[1] - width) // 2)]
        views = [image[y:y + height, x:x + width] for y, x in starts]
        crops.extend(views)
        crops.extend([view[:, ::-1] for view in views])
    return numpy.asarray(crops, numpy.float32)
