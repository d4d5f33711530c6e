"""Pooling, and what reverses it."""
import math

import numpy

from onnx_chainer._builder import Unsupported
from onnx_chainer.functions.connection import pads, transposed, window
from onnx_chainer.functions.converter import converts


def _windows(b):
    """Settings of a pooling operator; whether a window may lie outside of the input."""
    func, x, y = b.func, b.arrays[0], b.outputs[0]
    ksize, stride, pad, dilate = window(func, func.ksize)
    before, after = pads(x.shape[2:], y.shape[2:], ksize, stride, pad, dilate)
    outside = any(p >= k for p, k in zip([*before, *after], [*ksize, *ksize], strict=True))
    after = [max(p, 0) for p in after]  # where the last elements are in no window
    return {'kernel_shape': ksize, 'strides': stride, 'pads': [*before, *after]}, outside


@converts('MaxPooling2D', 'MaxPoolingND')
def max_pooling(b):
    settings, outside = _windows(b)
    if outside:
        raise Unsupported('a window that lies in the padding has no form in ONNX')
    return b.op('MaxPool', b.inputs[0], **settings)


@converts('AveragePooling2D', 'AveragePoolingND')
def average_pooling(b):
    counts_padding = getattr(b.func, 'pad_value', 0) is not None
    x, (settings, outside) = b.inputs[0], _windows(b)
    if outside:
        if not counts_padding:
            raise Unsupported('a window that lies in the padding has no form in ONNX')
        channels, ksize = b.arrays[0].shape[1], b.func.ksize
        shares = numpy.full((channels, 1, *ksize), 1 / math.prod(ksize))
        return b.op('Conv', x, b.const(shares, b.dtype), group=channels, **settings)
    return b.op('AveragePool', x, count_include_pad=int(counts_padding), **settings)


@converts('Unpooling2D', 'UnpoolingND')
def unpooling(b):
    func, x, y = b.func, b.arrays[0], b.outputs[0]
    channels = x.shape[1]
    ones = b.const(numpy.ones((channels, 1, *func.ksize)), b.dtype)
    return transposed(
        b, [b.inputs[0], ones], x.shape[2:], y.shape[2:], window(func, func.ksize), channels)


@converts('ROIPooling2D')
def roi_pooling_2d(b):
    # Corners are rounded here, halves to even numbers: the operator rounds halves up.
    b.need(11, 'roi_pooling_2d')
    x, rois = b.inputs
    images, corners = b.split(rois, [1, 4], 1)
    corners = b.op('Round', b.op('Mul', corners, b.scalar(b.func.spatial_scale)))
    rois = b.op('Concat', images, corners, axis=1)
    return b.op('MaxRoiPool', x, rois, pooled_shape=[b.func.outh, b.func.outw], spatial_scale=1.)
