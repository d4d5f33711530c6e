"""Gradients in one flat buffer, and back."""
import numpy

import chainer
from chainer.backends import cuda


def by_dtype(params):
    """Return lists of the parameters whose gradients have the same dtype."""
    groups = {}
    for param in params:
        groups.setdefault(param.grad.dtype, []).append(param)
    return list(groups.values())


def pack(arrays):
    """Return a flat array on the host with the elements of all arrays."""
    return numpy.concatenate([cuda.to_cpu(x).reshape(-1) for x in arrays])


def unpack(flat, params):
    """Make the parts of a flat array the gradients of parameters."""
    for param, grad in zip(params, parts(flat, [p.grad for p in params]), strict=True):
        with chainer.using_device(param.device):
            param.grad = param.device.send(grad)


def pack_on_gpu(arrays, dtype, batched):
    """Return a flat array on the GPU with the elements of all arrays.

    Args:
        arrays: Arrays on the GPU.
        dtype: That of the result.
        batched (bool): Whether to copy by one kernel instead of one for each array.
    """
    xp = cuda.cupy
    if batched:
        return xp.concatenate([x.reshape(-1).astype(dtype, copy=False) for x in arrays])
    flat = xp.empty(sum(x.size for x in arrays), dtype)
    for part, x in zip(parts(flat, arrays), arrays, strict=True):
        part[...] = x
    return flat


def parts(flat, arrays):
    """Return the parts of a flat array in the shapes of arrays."""
    end = 0
    for x in arrays:
        start, end = end, end + x.size
        yield flat[start:end].reshape(x.shape)
