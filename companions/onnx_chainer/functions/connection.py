"""Products, convolutions, look-up tables."""
import numpy

from onnx_chainer.functions.converter import converts


@converts('LinearFunction')
def linear(b):
    return b.op('Gemm', *b.inputs, alpha=1., beta=1., transA=0, transB=1)


@converts('Convolution2DFunction', 'ConvolutionND')
def convolution(b):
    func, (x, W), y = b.func, b.arrays[:2], b.outputs[0]
    ksize, stride, pad, dilate = window(func, W.shape[2:])
    before, after = pads(x.shape[2:], y.shape[2:], ksize, stride, pad, dilate)
    after = [max(p, 0) for p in after]  # where the last elements are in no window
    return b.op('Conv', *b.inputs, kernel_shape=ksize, strides=stride, pads=[*before, *after],
                dilations=dilate, group=func.groups)


@converts('Deconvolution2DFunction', 'DeconvolutionND')
def deconvolution(b):
    func, (x, W), y = b.func, b.arrays[:2], b.outputs[0]
    return transposed(
        b, b.inputs, x.shape[2:], y.shape[2:], window(func, W.shape[2:]), func.groups)


def window(func, ksize):
    """Size, stride, padding and dilation of the windows of a function: lists, one for each axis."""
    n = len(ksize)
    if hasattr(func, 'sy'):
        stride, pad = (func.sy, func.sx), (func.ph, func.pw)
    else:
        stride, pad = func.stride, func.pad
    dilate = getattr(func, 'dilate', 1)
    if hasattr(func, 'dy'):
        dilate = func.dy, func.dx
    return [[int(v) for v in numpy.broadcast_to(value, (n,))]
            for value in (ksize, stride, pad, dilate)]


def pads(sizes, out_sizes, ksize, stride, pad, dilate):
    """What is added before and after, so that windows give a result of that size."""
    after = [
        (out - 1) * s + (k - 1) * d + 1 - size - p
        for size, out, k, s, p, d in zip(
            sizes, out_sizes, ksize, stride, pad, dilate, strict=True)]
    return pad, after


def transposed(b, inputs, sizes, out_sizes, windows, groups):
    """``ConvTranspose`` with a result of that size."""
    ksize, stride, pad, dilate = windows
    after = [
        s * (size - 1) + (k - 1) * d + 1 - p - out
        for size, out, k, s, p, d in zip(
            sizes, out_sizes, ksize, stride, pad, dilate, strict=True)]
    return b.op('ConvTranspose', *inputs, kernel_shape=ksize, strides=stride,
                pads=[*pad, *[max(a, 0) for a in after]], dilations=dilate, group=groups,
                output_padding=[max(-a, 0) for a in after])


@converts('EmbedIDFunction')
def embed_id(b):
    x, W = b.inputs
    ignored = b.func.ignore_label
    if ignored is None:
        return b.op('Gather', W, x, axis=0)
    x = b.cast(x, numpy.int64)
    is_ignored = b.op('Equal', x, b.const(ignored))
    rows = b.op('Gather', W, b.op('Where', is_ignored, b.const(0), x), axis=0)
    wide = b.unsqueeze(is_ignored, [b.arrays[0].ndim])
    return b.op('Where', wide, b.scalar(0), rows)


@converts('BilinearFunction')
def bilinear(b):
    b.need(12, 'bilinear')
    e1, e2, W = b.inputs
    return b.op('Einsum', e1, e2, W, equation='ij,ik,jkl->il')
