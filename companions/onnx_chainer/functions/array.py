"""Shapes, parts and places of elements."""
import numpy

from onnx_chainer._builder import Unsupported
from onnx_chainer.functions.converter import converts

_TO_THE_END = numpy.iinfo(numpy.int64).max


@converts('Cast')
def cast(b):
    return b.cast(b.inputs[0], b.dtype)


@converts('Concat')
def concat(b):
    return b.op('Concat', *b.inputs, axis=b.func.axis % b.outputs[0].ndim)


@converts('Copy', 'Identity', 'AsStrided')
def copy(b):
    if any(x.shape != y.shape or x.strides != y.strides
           for x, y in zip(b.arrays, b.outputs, strict=True)):
        raise Unsupported('views with strides of their own have no form in ONNX')
    return [b.op('Identity', x) for x in b.inputs]


@converts('Depth2Space')
def depth2space(b):
    return b.op('DepthToSpace', b.inputs[0], blocksize=b.func.r)


@converts('Space2Depth')
def space2depth(b):
    return b.op('SpaceToDepth', b.inputs[0], blocksize=b.func.r)


@converts('BroadcastTo')
def broadcast_to(b):
    return _expanded(b, b.inputs[0])


@converts('Broadcast')
def broadcast(b):
    return [_expanded(b, x) for x in b.inputs]


def _expanded(b, x):
    shape = b.outputs[0].shape
    if b.opset < 8:
        return b.op('Mul', x, b.const(numpy.ones(shape), b.dtype))
    return b.op('Expand', x, b.const(shape))


@converts('ExpandDims')
def expand_dims(b):
    return b.unsqueeze(b.inputs[0], [b.func.axis % b.outputs[0].ndim])


@converts('Squeeze')
def squeeze(b):
    x, axes = b.arrays[0], b.func.axis
    if axes is None:
        axes = [k for k, n in enumerate(x.shape) if n == 1]
    return b.squeeze(b.inputs[0], sorted(axis % x.ndim for axis in axes))


@converts('Reshape')
def reshape(b):
    return b.reshape(b.inputs[0], b.func.shape)


@converts('Transpose', 'Moveaxis', 'Rollaxis', 'Swapaxes')
def transpose(b):
    # Lengths that tell the axes apart: the result shows where each of them went.
    lengths = range(2, 2 + b.arrays[0].ndim)
    moved, = type(b.func).forward(b.func, (numpy.broadcast_to(numpy.int8(0), lengths),))
    return b.op('Transpose', b.inputs[0], perm=[n - 2 for n in moved.shape])


@converts('Flip')
def flip(b):
    return _flipped(b, b.func.axis % b.arrays[0].ndim)


@converts('FlipUD')
def flipud(b):
    return _flipped(b, 0)


@converts('FlipLR')
def fliplr(b):
    return _flipped(b, 1)


def _flipped(b, axis):
    return b.gather(b.inputs[0], numpy.arange(b.arrays[0].shape[axis])[::-1], axis)


# -- parts


@converts('GetItem')
def get_item(b):
    x, = b.arrays
    items = _one_for_each_axis(b.func.slices, x.ndim)
    plain = [isinstance(i, slice) or i is None or _is_int(i) for i in items]
    if all(plain):
        return _sliced(b, items)
    lists = [i for i, is_plain in zip(items, plain, strict=True) if not is_plain]
    array = numpy.asarray(lists[0])
    if len(lists) == 1 and array.dtype.kind in 'iu' and all(
            isinstance(i, slice) for i in items if i is not lists[0]):
        axis = next(k for k, i in enumerate(items) if i is lists[0])
        rest = [slice(None) if i is lists[0] else i for i in items]
        array = numpy.where(array < 0, array + x.shape[axis], array)
        if b.context.knows(lists[0]):  # it depends on the inputs
            return b.op('Gather', _sliced(b, rest), b.context.get_name(lists[0]), axis=axis)
        return b.gather(_sliced(b, rest), array, axis)
    if any(isinstance(i, numpy.ndarray) and b.context.knows(i) for i in items):
        raise Unsupported('several index arrays that depend on the inputs have no form in ONNX')
    places = numpy.arange(x.size).reshape(x.shape)[b.func.slices]
    return b.gather(b.reshape(b.inputs[0], [-1]), places)


def _is_int(item):
    return isinstance(item, (int, numpy.integer)) and not isinstance(item, (bool, numpy.bool_))


def _one_for_each_axis(slices, ndim):
    """The index with the axes that it leaves out; boolean arrays count for those they stand for."""
    items = list(slices)
    used = sum(
        numpy.asarray(i).ndim if numpy.asarray(i).dtype == bool else 1
        for i in items if i is not None and i is not Ellipsis)
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    at = next(k for k, i in enumerate(items) if i is Ellipsis)
    return items[:at] + [slice(None)] * (ndim - used) + items[at + 1:]


def _sliced(b, items):
    """Slices, integers and ``None``: one operator for each kind that occurs."""
    x = b.inputs[0]
    lengths = iter(b.arrays[0].shape)
    parts, dropped, added, axis, out = [], [], [], 0, 0
    for item in items:
        if item is None:
            added.append(out)
            out += 1
            continue
        length = next(lengths)
        if isinstance(item, slice):
            if item != slice(None):
                parts.append((axis, *_bounds(item, length)))
            out += 1
        else:
            start = int(item) % length
            parts.append((axis, start, start + 1, 1))
            dropped.append(axis)
        axis += 1
    if parts:
        axes, starts, ends, steps = map(list, zip(*parts, strict=True))
        x = b.slice(x, starts, ends, axes, None if set(steps) == {1} else steps)
    return b.unsqueeze(b.squeeze(x, dropped), added)


def _bounds(item, length):
    """Start, end and step; an end that was left open stays so, for axes of another length."""
    start, stop, step = item.indices(length)
    if step < 0:
        return start, (-_TO_THE_END if stop < 0 else stop), step
    return start, (_TO_THE_END if item.stop is None else stop), step


@converts('Separate')
def separate(b):
    axis = b.func.axis % b.arrays[0].ndim
    parts = b.split(b.inputs[0], [1] * len(b.outputs), axis)
    return [b.squeeze(part, [axis]) for part in parts]


@converts('SplitAxis')
def split_axis(b):
    axis = b.func.axis % b.arrays[0].ndim
    return b.split(b.inputs[0], [y.shape[axis] for y in b.outputs], axis)


@converts('SelectItem')
def select_item(b):
    b.need(11, 'select_item')
    x, t = b.inputs
    picked = b.op('GatherElements', x, b.unsqueeze(b.cast(t, numpy.int64), [1]), axis=1)
    return b.squeeze(picked, [1])


@converts('Permutate')
def permutate(b):
    x, indices = b.inputs
    if b.func.inv:
        b.need(11, 'permutate with inv')
        indices = b.cast(indices, numpy.int64)
        size = b.const([b.arrays[1].size])
        _, indices = b.op('TopK', indices, size, n=2, axis=0, largest=0, sorted=1)
    return b.op('Gather', x, indices, axis=b.func.axis % b.arrays[0].ndim)


@converts('Reordered')
def reordered(b):
    order, axis = b.func.order, b.func.axis
    return b.op('Gather', b.inputs[0], b.const(order), axis=axis)


@converts('Where')
def where(b):
    condition = b.cast(b.context.get_name(b.func.condition), bool)
    return b.op('Where', condition, *b.inputs[-2:])


# -- several arrays


@converts('Stack')
def stack(b):
    axis = b.func.axis % b.outputs[0].ndim
    return b.op('Concat', *[b.unsqueeze(x, [axis]) for x in b.inputs], axis=axis)


@converts('Hstack')
def hstack(b):
    inputs = [b.unsqueeze(name, [0]) if x.ndim == 0 else name
              for name, x in zip(b.inputs, b.arrays, strict=True)]
    return b.op('Concat', *inputs, axis=min(1, b.outputs[0].ndim - 1))


@converts('Vstack')
def vstack(b):
    axes = {0: [0, 1], 1: [0]}
    return b.op('Concat', *[b.unsqueeze(name, axes.get(x.ndim, []))
                            for name, x in zip(b.inputs, b.arrays, strict=True)], axis=0)


@converts('Dstack')
def dstack(b):
    axes = {0: [0, 1, 2], 1: [0, 2], 2: [2]}
    return b.op('Concat', *[b.unsqueeze(name, axes.get(x.ndim, []))
                            for name, x in zip(b.inputs, b.arrays, strict=True)], axis=2)


@converts('TransposeSequence')
def transpose_sequence(b):
    lengths = [len(x) for x in b.arrays]
    steps = [b.split(name, [1] * n, 0) for name, n in zip(b.inputs, lengths, strict=True)]
    return [b.op('Concat', *[s[t] for s, n in zip(steps, lengths, strict=True) if t < n], axis=0)
            for t in range(len(b.outputs))]


# -- elements that are repeated


@converts('Pad')
def pad(b):
    x, func = b.arrays[0], b.func
    widths = numpy.broadcast_to(func.pad_width, (x.ndim, 2))
    if func.mode == 'constant' and numpy.ndim(func.keywords.get('constant_values', 0)) == 0:
        value = func.keywords.get('constant_values', 0)
        return b.pad(b.inputs[0], widths, value=value)
    if func.mode not in ('reflect', 'edge', 'symmetric', 'wrap') or (
            func.keywords.get('reflect_type', 'even') != 'even'):
        raise Unsupported(f'pad with mode={func.mode!r} and {func.keywords} has no form in ONNX')
    y = b.inputs[0]
    for axis, width in enumerate(widths):
        if any(width):
            y = b.gather(y, numpy.pad(numpy.arange(x.shape[axis]), width, func.mode), axis)
    return y


@converts('Repeat')
def repeat(b):
    x, axis, repeats = b.inputs[0], b.func.axis, b.func.repeats
    if axis is None:
        x, axis, n = b.reshape(x, [-1]), 0, b.arrays[0].size
    else:
        n = b.arrays[0].shape[axis]
    repeats = repeats[0] if len(repeats) == 1 else repeats
    return b.gather(x, numpy.repeat(numpy.arange(n), repeats), axis % max(b.arrays[0].ndim, 1))


@converts('Tile')
def tile(b):
    reps, ndim = list(b.func.reps), b.arrays[0].ndim
    x = b.unsqueeze(b.inputs[0], range(len(reps) - ndim))
    return b.op('Tile', x, b.const([1] * (ndim - len(reps)) + reps))


@converts('ResizeImages')
def resize_images(b):
    b.need(11, 'resize_images')
    func = b.func
    size = b.op('Concat', b.slice(b.op('Shape', b.inputs[0]), [0], [2], [0]),
                b.const([func.out_H, func.out_W]), axis=0)
    if func.mode == 'nearest':
        settings = {'coordinate_transformation_mode': 'asymmetric', 'nearest_mode': 'floor'}
    else:
        how = 'align_corners' if func.align_corners else 'half_pixel'
        settings = {'coordinate_transformation_mode': how}
    mode = 'nearest' if func.mode == 'nearest' else 'linear'
    # Version 11 wants the regions and scales, too: empty ones.
    empty = [b.const([], numpy.float32)] * 2 if b.opset < 13 else ['', '']
    return b.op('Resize', b.inputs[0], *empty, size, mode=mode, **settings)
