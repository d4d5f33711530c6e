"""Copying between devices."""
import chainer
from chainer import backend, function_node
from chainer.backends import cuda
from chainer.utils import type_check
from chainer.variable import Variable


class Copy(function_node.FunctionNode):
    """Brings an array to a device (see :func:`copy`)."""

    def __init__(self, in_device, out_device):
        self._in_device = in_device
        self.out_device = out_device

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)

    def forward(self, inputs):
        x, = inputs
        return x if self._in_device == self.out_device else self.out_device.send(x),

    def backward(self, indexes, grad_outputs):
        return Copy(self.out_device, self._in_device).apply(grad_outputs)


def copy(x, dst) -> Variable:
    """Bring an array to a device; its gradient comes back.

    Args:
        x (Variable or array): the array.
        dst: the device, as :func:`chainer.get_device` takes it: the number of a GPU, a negative
            number for the CPU, or ``'@cupy:0'`` and the like.

    Returns:
        Variable: on the device ``dst``; the same array, if it is there already.

    Raises:
        RuntimeError: if there is no such device.

    >>> F.copy(np.array([1., 2.]), -1).array
    array([1., 2.])
    """
    if dst is cuda.DummyDevice:
        dst = -1
    return Copy(backend.get_device_from_array(x), chainer.get_device(dst)).apply((x,))[0]
