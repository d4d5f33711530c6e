"""Base of two-dimensional pooling."""
from chainer.functions.pooling import pooling_nd


class Pooling2D(pooling_nd._PoolingND):
    """Two-dimensional pooling: its settings and its type check."""

    def __init__(self, ksize, stride=None, pad=0, cover_all=True, return_indices=False):
        super().__init__(2, ksize, stride, pad, cover_all, return_indices)
        self.kh, self.kw = self.ksize
        self.sy, self.sx = self.stride
        self.ph, self.pw = self.pad
