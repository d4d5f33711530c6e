"""Zoneout."""
import chainer
from chainer import backend, function_node, utils
from chainer.functions.noise import dropout
from chainer.utils import argument, type_check
from chainer.variable import Variable


class Zoneout(function_node.FunctionNode):
    """Zoneout (see :func:`zoneout`).

    Attributes:
        flag_h: where the previous value was kept.
        flag_x: where the new value was taken.
    """

    def __init__(self, zoneout_ratio):
        self.zoneout_ratio = zoneout_ratio

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('h', 'x'))
        for in_type in in_types:
            type_check.expect(in_type.dtype.kind == 'f')
        type_check.expect(in_types[0].shape == in_types[1].shape)

    def forward(self, inputs):
        h, x = inputs
        xp = backend.get_array_module(x)
        self.flag_x = xp.random.rand(*x.shape) >= self.zoneout_ratio
        self.flag_h = xp.logical_not(self.flag_x)
        return utils.force_array(h * self.flag_h + x * self.flag_x),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        flags = self.flag_h, self.flag_x
        return tuple(dropout.DropoutGrad(flags[i]).apply((gy,))[0] for i in indexes)


def zoneout(h, x, ratio=.5, **kwargs) -> Variable:
    """Keep elements of the previous state at random.

    Each element is that of ``h`` with the probability ``ratio``, else that of ``x``. With
    ``chainer.config.train`` off, ``x`` comes back as it is. See: `Krueger et al., Zoneout:
    Regularizing RNNs by Randomly Preserving Hidden Activations
    <https://arxiv.org/abs/1606.01305>`_.

    Args:
        h (Variable or array): Previous state, any floating dtype.
        x (Variable or array): New state, of the shape of ``h``.
        ratio (float): Probability of an element to stay what it was.

    Returns:
        Variable: Of the shape of ``x``.

    Raises:
        InvalidType: If ``h`` and ``x`` do not fit.

    >>> h, x = np.zeros(3, np.float32), np.ones(3, np.float32)
    >>> F.zoneout(h, x, ratio=1).array, F.zoneout(h, x, ratio=0).array
    (array([0., 0., 0.], dtype=float32), array([1., 1., 1.], dtype=float32))
    """
    if kwargs:
        argument.check_unexpected_kwargs(
            kwargs, train='train argument is not supported anymore. Use chainer.using_config')
        argument.assert_kwargs_empty(kwargs)
    if not chainer.config.train:
        return chainer.as_variable(x)
    return Zoneout(ratio).apply((h, x))[0]
