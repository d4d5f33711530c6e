"""Sampling from relaxed categorical distributions."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check
from chainer.variable import Variable


class _AddGumbel(function_node.FunctionNode):
    """Adds samples of the standard Gumbel distribution."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('log_pi',))
        type_check.expect(in_types[0].dtype.kind != 'c')

    def forward(self, inputs):
        log_pi, = inputs
        xp = backend.get_array_module(log_pi)
        # Without axes NumPy gives a Python number.
        noise = xp.asarray(xp.random.gumbel(size=log_pi.shape))
        dtype = log_pi.dtype if log_pi.dtype.kind == 'f' else noise.dtype
        return utils.force_array(log_pi + noise.astype(dtype)),

    def backward(self, indexes, grad_outputs):
        return grad_outputs


def gumbel_softmax(log_pi, tau=0.1, axis=1) -> Variable:
    r"""Draw samples from the Gumbel-softmax distribution, differentiably.

    .. math::
        y_i = \frac{\exp((g_i + \log \pi_i) / \tau)}{\sum_j \exp((g_j + \log \pi_j) / \tau)},
        \quad g_i \sim \mathrm{Gumbel}(0, 1)

    The lower the temperature :math:`\tau`, the closer the samples are to one-hot vectors. See:
    `Jang et al., Categorical Reparameterization with Gumbel-Softmax
    <https://arxiv.org/abs/1611.01144>`_.

    Args:
        log_pi (Variable or array): Logarithms of probabilities, not necessarily normalized. A
            0-dimensional array is a single category.
        tau (float, Variable or array): Temperature.
        axis (int): The axis of the categories.

    Returns:
        Variable: Of the shape of ``log_pi``, and its dtype; ``float64`` for integers.

    Raises:
        InvalidType: If ``log_pi`` has no such axis, or is complex.

    >>> y = F.gumbel_softmax(np.log(np.array([[.2, .8]], np.float32)))
    >>> F.sum(y, axis=1).array.round(5)
    array([1.], dtype=float32)
    """
    noisy, = _AddGumbel().apply((log_pi,))
    logits = noisy / tau
    if logits.ndim == 0:  # a single category
        return F.reshape(F.softmax(F.reshape(logits, (1,)), axis=0), ())
    return F.softmax(logits, axis=axis)
