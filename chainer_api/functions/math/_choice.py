"""One of two arrays' elements, by their order."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.array import where
from chainer.utils import type_check


class Choice(function_node.FunctionNode):
    """The larger of two elements, or the smaller one where a child class says so."""

    is_elementwise = True
    larger = True

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x1', 'x2'))
        x1_type, x2_type = in_types
        type_check.expect(x1_type.dtype.kind == 'f', x1_type.dtype == x2_type.dtype)
        type_check.expect_broadcast_shapes(x1_type.shape, x2_type.shape)

    def forward(self, inputs):
        x1, x2 = inputs
        self.retain_inputs((0, 1))
        xp = backend.get_array_module(x1)
        return utils.force_array(xp.maximum(x1, x2) if self.larger else xp.minimum(x1, x2)),

    def backward(self, indexes, grad_outputs):
        x1, x2 = self.get_retained_inputs()
        first, = _TakesFirst(self.larger).apply((x1.array, x2.array))
        return tuple(
            F.sum_to(where.Keep(first.array, i == 0).apply(grad_outputs)[0], (x1, x2)[i].shape)
            for i in indexes)


class _TakesFirst(function_node.FunctionNode):

    def __init__(self, larger):
        self.larger = larger

    def forward(self, inputs):
        x1, x2 = inputs
        return utils.force_array(x1 >= x2 if self.larger else x1 <= x2),
