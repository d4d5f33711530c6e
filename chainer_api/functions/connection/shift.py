"""Shift of channels."""
from chainer import backend, function_node
from chainer.utils import conv_nd, type_check
from chainer.variable import Variable


class Shift(function_node.FunctionNode):
    """Shift of channels (see :func:`shift`)."""

    def __init__(self, ksize=3, dilate=1):
        self.kh, self.kw = conv_nd.as_tuple(ksize, 2)
        if self.kh % 2 != 1:
            raise ValueError('kh must be odd')
        if self.kw % 2 != 1:
            raise ValueError('kw must be odd')
        self.dy, self.dx = conv_nd.as_tuple(dilate, 2)

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        x_type, = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            x_type.ndim == 4,
            x_type.shape[1] >= self.kh * self.kw,
        )

    def forward(self, inputs):
        x, = inputs
        xp = backend.get_array_module(x)
        y = xp.zeros_like(x)
        for channels, dy, dx in self._groups(x.shape[1]):
            to_rows, from_rows = _overlap(x.shape[2], dy)
            to_columns, from_columns = _overlap(x.shape[3], dx)
            y[:, channels, to_rows, to_columns] = x[:, channels, from_rows, from_columns]
        return y,

    def _groups(self, n_channels):
        """Yield each group of channels and the distance to where its values come from."""
        places = self.kh * self.kw
        size = n_channels // places
        centre = places // 2
        # The centre changes places with the last place, which also gets the channels left over.
        order = list(range(places))
        order[centre], order[-1] = order[-1], order[centre]
        for group, place in enumerate(order):
            ky, kx = divmod(place, self.kw)
            stop = n_channels if group == places - 1 else (group + 1) * size
            yield (slice(group * size, stop),
                   (self.kh // 2 - ky) * self.dy, (self.kw // 2 - kx) * self.dx)

    def backward(self, indexes, grad_outputs):
        return Shift((self.kh, self.kw), (-self.dy, -self.dx)).apply(grad_outputs)


def _overlap(length, distance):
    """Slices of an axis and of the same axis moved by ``distance``, where both exist."""
    start, stop = max(0, -distance), length - max(0, distance)
    stop = max(start, stop)
    return slice(start, stop), slice(start + distance, stop + distance)


def shift(x, ksize=3, dilate=1) -> Variable:
    """Move groups of channels by the steps of a window, each group by another.

    Channels are cut into ``kh * kw`` groups of equal size, one for each place of the window; what
    is left over stays where it is, with the group of the centre. Zeros move in. See: `Wu et al.,
    Shift: A Zero FLOP, Zero Parameter Alternative to Spatial Convolutions
    <https://arxiv.org/abs/1711.08141>`_.

    Args:
        x (Variable or array): Images of shape (n, c, h, w), any floating dtype.
        ksize (int or pair of ints): Size of the window, odd.
        dilate (int or pair of ints): Length of a step.

    Returns:
        Variable: Of the shape and dtype of ``x``.

    Raises:
        ValueError: If ``ksize`` is even.
        InvalidType: If ``x`` has fewer channels than the window has places.

    >>> x = np.arange(3, dtype=np.float32).repeat(3).reshape(1, 3, 1, 3) + 1
    >>> F.shift(x, ksize=(1, 3)).array[0, :, 0]
    array([[1., 1., 0.],
           [0., 2., 2.],
           [3., 3., 3.]], dtype=float32)
    """
    return Shift(ksize, dilate).apply((x,))[0]
