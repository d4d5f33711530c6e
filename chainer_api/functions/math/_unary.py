"""The common part of functions of one floating-point array."""
from chainer import function_node
from chainer.utils import type_check


class UnaryFunction(function_node.FunctionNode):
    """A function of one floating-point array. The formula stands in the subclass."""

    is_elementwise = True

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x',))
        type_check.expect(in_types[0].dtype.kind == 'f')
