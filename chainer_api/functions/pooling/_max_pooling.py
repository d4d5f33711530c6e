"""Maximum pooling, whatever the number of axes."""
from chainer import backend, function_node
from chainer.utils import type_check
from chainwright.runtime.kernels import pooling as kernels


class _MaxPooling:
    """What maximum pooling does, whatever the number of axes."""

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        type_check.expect(in_types[0].size > 0)

    def forward(self, inputs):
        x, = inputs
        self._in_shape = x.shape[2:]
        y, self.indexes = kernels.max_pooling(
            x, outsize=self._get_outsize(x.shape[2:]), **self.settings)
        return y,

    def backward(self, indexes, grad_outputs):
        return MaxPoolingNDGrad(self).apply(grad_outputs)


class MaxPoolingNDGrad(function_node.FunctionNode):
    """Gradient of maximum pooling: adds each value onto the place of its window's maximum."""

    def __init__(self, func):
        self.indexes = func.indexes
        self.settings = func.settings
        self._in_shape = func._in_shape

    def forward(self, inputs):
        gy, = inputs
        indexes = backend.get_array_module(gy).asarray(self.indexes)
        return kernels.max_pooling_scatter(
            gy, indexes, shape=self._in_shape, **self.settings),

    def backward(self, indexes, grad_outputs):
        return MaxPoolingNDWithIndexes(self).apply(grad_outputs)


class MaxPoolingNDWithIndexes(function_node.FunctionNode):
    """Reads from each window the place where another array had its maximum."""

    def __init__(self, func):
        self.indexes = func.indexes
        self.settings = func.settings
        self._in_shape = func._in_shape

    def forward(self, inputs):
        x, = inputs
        indexes = backend.get_array_module(x).asarray(self.indexes)
        return kernels.max_pooling_gather(x, indexes, **self.settings),

    def backward(self, indexes, grad_outputs):
        return MaxPoolingNDGrad(self).apply(grad_outputs)
