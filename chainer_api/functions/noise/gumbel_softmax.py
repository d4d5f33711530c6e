"""Sampling from relaxed categorical distributions."""
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import type_check


class _AddGumbel(function_node.FunctionNode):
    """Adds samples of the standard Gumbel distribution."""

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('log_pi',))
        type_check.expect(in_types[0].dtype.kind == 'f')

    def forward(self, inputs):
        log_pi, = inputs
        xp = backend.get_array_module(log_pi)
        noise = xp.random.gumbel(size=log_pi.shape)
        return utils.force_array(log_pi + noise.astype(log_pi.dtype)),

    def backward(self, indexes, grad_outputs):
        return grad_outputs


def gumbel_softmax(log_pi, tau=0.1, axis=1):
    r"""Draw samples from the Gumbel-softmax distribution, differentiably.

    .. math::
        y_i = \frac{\exp((g_i + \log \pi_i) / \tau)}{\sum_j \exp((g_j + \log \pi_j) / \tau)},
        \quad g_i \sim \mathrm{Gumbel}(0, 1)

    The lower the temperature :math:`\tau`, the closer the samples are to one-hot vectors. See:
    `Jang et al., Categorical Reparameterization with Gumbel-Softmax
    <https://arxiv.org/abs/1611.01144>`_.

    Args:
        log_pi (Variable or array): Logarithms of probabilities, not necessarily normalized.
        tau (float, Variable or array): Temperature.
        axis (int): The axis of the categories.

    Returns:
        Variable: Of the shape and dtype of ``log_pi``.

    Raises:
        InvalidType: If ``log_pi`` is no floating-point array.

    >>> y = F.gumbel_softmax(np.log(np.array([[.2, .8]], np.float32)))
    >>> F.sum(y, axis=1).array.round(5)
    array([1.], dtype=float32)
    """
    noisy, = _AddGumbel().apply((log_pi,))
    return F.softmax(noisy / tau, axis=axis)
