"""In which order the axes of images lie in memory.

Chainer 7 lets Variables lie in memory as cuDNN likes it best. Shapes do not change by that: an
image is (batch, channels, height, width) for all who look at it. Here the order is one of strides,
so that every function takes such a Variable; what it returns has no layout again.
"""
from chainer import backend, function_node, variable

CUDNN_CHANNEL_FIRST_X = None
CUDNN_CHANNEL_FIRST_W = None
CUDNN_CHANNEL_LAST_X = 'CUDNN_CHANNEL_LAST_X'
CUDNN_CHANNEL_LAST_W = 'CUDNN_CHANNEL_LAST_W'

_CHANNEL_LAST = (CUDNN_CHANNEL_LAST_X, CUDNN_CHANNEL_LAST_W)


class _Unspecified:

    def __repr__(self):
        return '<unspecified>'


_unspecified = _Unspecified()


def _let_know_of_layouts(cls):
    """Have a class of functions with ``check_layout_forward`` get arrays as they lie in memory."""
    apply, backward = cls._apply, cls.backward

    def _apply(self, inputs):
        xs = tuple([variable.as_variable(x) for x in inputs])
        self._layouts = tuple([x.layout for x in xs]), None
        self.check_layout_forward(xs)
        forward, own = self.forward, self.__dict__.copy()

        def forward_of_raw(arrays):
            raw = forward(tuple(map(_transpose_array, arrays, (None,) * len(xs), self._layouts[0])))
            if self._layouts[1] is None:
                self._layouts = self._layouts[0], (None,) * len(raw)
            if len(raw) != len(self._layouts[1]):
                raise ValueError(f'output_layouts of {type(self).__name__} has '
                                 f'{len(self._layouts[1])} elements for {len(raw)} outputs')
            return tuple(map(_transpose_array, raw, self._layouts[1], (None,) * len(raw)))

        self.forward = forward_of_raw
        try:
            ys = apply(self, xs)
        finally:
            del self.forward
            if 'forward' in own:
                self.forward = own['forward']
        for y, layout in zip(ys, self._layouts[1], strict=True):
            y._layout = layout
        return ys

    def backward_of_layouts(self, indexes, grad_outputs):
        return backward(self, indexes, tuple([
            gy if gy is None else gy.as_layout(layout)
            for gy, layout in zip(grad_outputs, self._layouts[1], strict=True)]))

    cls._apply, cls.backward = _apply, backward_of_layouts


class AsLayout(function_node.FunctionNode):
    """Brings an array into another order in memory (see :meth:`chainer.Variable.as_layout`)."""

    def __init__(self, layout):
        _get_layout_transpose_axes(2, None, layout)  # is there such a layout?
        self.out_layout = layout

    def forward(self, inputs):
        return _laid_out(inputs[0], self.out_layout),

    def backward(self, indexes, grad_outputs):
        return grad_outputs


def get_raw_shape(arr_or_var):
    """Returns the shape as it is in memory.

    Args:
        arr_or_var (array or Variable): the array, or a Variable with a layout.

    >>> x = chainer.Variable(np.zeros((2, 3, 4, 5), np.float32))
    >>> x = x.as_layout(chainer.memory_layouts.CUDNN_CHANNEL_LAST_X)
    >>> x.shape, chainer.memory_layouts.get_raw_shape(x)
    ((2, 3, 4, 5), (2, 4, 5, 3))
    """
    if not isinstance(arr_or_var, variable.Variable):
        return arr_or_var.shape
    return _transpose_shape(arr_or_var.shape, None, arr_or_var.layout)


def get_semantic_shape(arr_or_var, *, assumed_layout=_unspecified):
    """Returns the shape with the channels where they are expected, behind the batch.

    Args:
        arr_or_var (array or Variable): the array, or a Variable with a layout.
        assumed_layout: the layout in which an array lies. For a Variable it must be that of the
            Variable.

    Raises:
        AssertionError: the Variable has another layout.

    >>> layout = chainer.memory_layouts.CUDNN_CHANNEL_LAST_X
    >>> chainer.memory_layouts.get_semantic_shape(np.zeros((2, 4, 5, 3)), assumed_layout=layout)
    (2, 3, 4, 5)
    """
    if not isinstance(arr_or_var, variable.Variable):
        layout = None if assumed_layout is _unspecified else assumed_layout
        return _transpose_shape(arr_or_var.shape, layout, None)
    if assumed_layout is not _unspecified and assumed_layout != arr_or_var.layout:
        raise AssertionError(
            f'the layout of the Variable is {arr_or_var.layout}, not {assumed_layout}')
    return arr_or_var.shape


def _get_layout_transpose_axes(ndim, src_layout, dst_layout, inverse=False):
    """Returns the axes to transpose by, from one layout to another; ``None`` if they are equal."""
    if src_layout == dst_layout:
        return None
    if src_layout in _CHANNEL_LAST and dst_layout in _CHANNEL_LAST:
        raise AssertionError(
            f'images ({src_layout}) and weights ({dst_layout}) are different things')
    first, last = (0, *range(2, ndim), 1), (0, ndim - 1, *range(1, ndim - 1))
    if src_layout is None and dst_layout in _CHANNEL_LAST:
        return last if inverse else first
    if dst_layout is None and src_layout in _CHANNEL_LAST:
        return first if inverse else last
    raise ValueError(f"Unknown layout conversion: from '{src_layout}' to '{dst_layout}'")


def _transpose_array(arr, src_layout, dst_layout):
    axes = _get_layout_transpose_axes(arr.ndim, src_layout, dst_layout)
    return arr if axes is None else arr.transpose(axes)


def _laid_out(array, layout):
    """Returns the array with its elements in another order in memory."""
    if array.ndim == 0:
        return array
    raw = backend.get_array_module(array).ascontiguousarray(
        _transpose_array(array, None, layout))
    return _transpose_array(raw, layout, None)


def _transpose_shape(shape, src_layout, dst_layout):
    axes = _get_layout_transpose_axes(len(shape), src_layout, dst_layout)
    return shape if axes is None else tuple([shape[axis] for axis in axes])
