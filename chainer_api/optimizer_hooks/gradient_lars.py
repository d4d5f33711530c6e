"""Layer-wise adaptive rate scaling."""
import numpy

import chainer


class GradientLARS:
    r"""Hook that scales each gradient to the norm of its parameter.

    With :math:`\beta` the weight decay, the gradient :math:`g` of a parameter :math:`w` becomes

    .. math::

        \frac{\|w\|}{\epsilon + \|g\| + \beta \|w\|} (g + \beta w)

    where :math:`\|w\|` exceeds the threshold, and :math:`g + \beta w` elsewhere. The learning rate
    of the optimizer stands for the product of the paper's learning rate and LARS coefficient.

    References: You et al., `Large Batch Training of Convolutional Networks
    <https://arxiv.org/abs/1708.03888>`_; `Convergence Analysis of Gradient Descent Algorithms with
    Proportional Updates <https://arxiv.org/abs/1801.03137>`_.

    Args:
        threshold (float): Norm above which a parameter's gradient is scaled.
        weight_decay (float): Coefficient of the weight decay.
        eps (float): Small value for numerical stability.

    Attributes:
        threshold (float): The value given to the constructor.
        weight_decay (float): The value given to the constructor.
        eps (float): The value given to the constructor.
        timing (str): When the hook is called, ``'pre'`` or ``'post'`` the update.
        call_for_each_param (bool): ``True``: the hook is called with a rule and a parameter.

    Example:
        >>> import numpy as np, chainer
        >>> link = chainer.Link()
        >>> link.add_param('W', initializer=np.array([3.0, -4.0]))
        >>> optimizer = chainer.optimizers.SGD(lr=1).setup(link)
        >>> optimizer.add_hook(chainer.optimizer_hooks.GradientLARS(weight_decay=0.25))
        >>> link.W.grad = np.array([3.0, 4.0])
        >>> optimizer.update()
        >>> link.W.grad
        array([3. , 2.4])
    """

    name = 'GradientLARS'
    call_for_each_param = True
    timing = 'pre'

    def __init__(self, threshold=0.01, weight_decay=0.0, eps=1e-9):
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule, param):
        p, g = param.array, param.grad
        if p is None or g is None:
            return
        xp = chainer.backend.get_array_module(p)
        scale = 1 if param._loss_scale is None else param._loss_scale
        with chainer.using_device(param.device):
            p_norm = float(xp.linalg.norm(p))
            g_norm = float(xp.linalg.norm(g)) / scale
            grad = (self.weight_decay * scale) * p
            grad += g
            if p_norm > self.threshold:
                rate = p_norm / (self.eps + g_norm + self.weight_decay * p_norm)
                if rate > float(numpy.finfo(g.dtype).max):
                    grad = grad.astype(numpy.float64)
                grad *= rate
            param.grad = chainer.utils.force_array(grad, g.dtype)
