"""Sampling from relaxed categorical distributions."""
import chainer
from chainer import backend
from chainer import functions as F


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

    >>> y = F.gumbel_softmax(np.log(np.array([[.2, .8]], np.float32)))
    >>> F.sum(y, axis=1).array.round(5)
    array([1.], dtype=float32)
    """
    log_pi = chainer.as_variable(log_pi)
    if log_pi.size == 0:
        raise ValueError('gumbel_softmax: log_pi is empty')
    xp = backend.get_array_module(log_pi)
    noise = xp.random.gumbel(size=log_pi.shape).astype(log_pi.dtype, copy=False)
    return F.softmax((log_pi + noise) / tau, axis=axis)
