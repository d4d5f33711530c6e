"""Adam and its variants."""
import math
import warnings

import numpy

from chainer import backend, optimizer


class AdamRule(optimizer._StepRule):
    """Update rule of :class:`~chainer.optimizers.Adam`.

    Args:
        parent_hyperparam (~chainer.optimizer.Hyperparameter): Where missing ones come from.
        alpha, beta1, beta2, eps, eta, weight_decay_rate, amsgrad, adabound, final_lr, gamma:
            See :class:`~chainer.optimizers.Adam`.
    """

    _own_numbers = 'initial_alpha',

    def __init__(self, parent_hyperparam=None, alpha=None, beta1=None, beta2=None, eps=None,
                 eta=None, weight_decay_rate=None, amsgrad=None, adabound=None, final_lr=None,
                 gamma=None):
        super().__init__(parent_hyperparam or _default_hyperparam)
        optimizer._set_given(
            self.hyperparam, alpha=alpha, beta1=beta1, beta2=beta2, eps=eps, eta=eta,
            weight_decay_rate=weight_decay_rate, amsgrad=amsgrad, adabound=adabound,
            final_lr=final_lr, gamma=gamma)
        if self.hyperparam.adabound:
            # AdaBound's bounds follow later changes of alpha.
            self.initial_alpha = self.hyperparam.alpha

    def __setstate__(self, state):
        super().__setstate__(state)
        # Pickles of Chainer 5 lack the hyperparameters that came later.
        hyperparam = self.hyperparam
        while hyperparam.parent is not None:
            hyperparam = hyperparam.parent
        for name, value in _default_hyperparam.get_dict().items():
            if not hasattr(hyperparam, name):
                setattr(hyperparam, name, value)

    def init_state(self, param):
        xp = backend.get_array_module(param.array)
        self.state['m'] = xp.zeros_like(param.array)
        self.state['v'] = xp.zeros_like(param.array)
        if self.hyperparam.amsgrad:
            self.state['vhat'] = xp.zeros_like(param.array)

    def _numbers(self, dtype):
        hp = self.hyperparam._nearest()
        if hp.eps != 0 and abs(hp.eps) < 1e-37:  # from there on no type makes it 0
            dtype = _arithmetic_dtype(dtype)
            if dtype.type(hp.eps) == 0:
                raise ValueError(f'eps of Adam optimizer is too small for {dtype.name} ({hp.eps})')
        bounds = self.bounds if hp.adabound else (None, None)
        eta = None if hp.eta == 1 else hp.eta
        keep = None if hp.weight_decay_rate == 0 else 1 - hp.weight_decay_rate * hp.eta
        amsgrad = True if hp.amsgrad else None
        return 1 - hp.beta1, 1 - hp.beta2, hp.eps, self.alpha_t, amsgrad, *bounds, eta, keep

    @staticmethod
    def _step(xp, array, grad, state, numbers):
        rest1, rest2, eps, alpha, amsgrad, lower, upper, eta, keep = numbers
        dtype = _arithmetic_dtype(grad.dtype)
        grad = grad.astype(dtype, copy=False)
        m, v = state['m'], state['v']
        m = _follow(m, grad - m, rest1, dtype)
        change = grad * grad
        change -= v
        v = _follow(v, change, rest2, dtype)
        del change
        if amsgrad is not None:
            vhat = state['vhat']
            xp.maximum(vhat, state['v'], out=vhat)
            v = vhat.astype(dtype, copy=False)
        # One temporary array at a time, written in place: large ones are expensive to allocate.
        step = xp.sqrt(v)
        step += eps
        step = xp.divide(alpha, step, out=step if step.ndim else None)
        if lower is not None:
            step = xp.clip(step, lower, upper)
        step *= m
        if eta is not None:
            step *= eta
        if keep is not None:
            array *= keep
        array -= step

    @property
    def alpha_t(self):
        """Learning rate of the last update, corrected for the bias of the moments."""
        return _learning_rate(self.hyperparam._nearest(), self.t)

    @property
    def lr(self):
        """Old name of :attr:`alpha_t`."""
        warnings.warn(
            'AdamRule.lr has been renamed to AdamRule.alpha_t. '
            'Use of AdamRule.lr is deprecated in Chainer v6.', DeprecationWarning, stacklevel=2)
        return self.alpha_t

    @property
    def bounds(self):
        """Bounds of AdaBound for the learning rate of the last update."""
        if self.t == 0:
            raise RuntimeError(
                "Can't determine the bounds of AdaBound optimizer because the update steps have "
                'not been started.')
        hp = self.hyperparam
        final_lr = hp.final_lr * hp.alpha / self.initial_alpha
        lower = final_lr * (1.0 - 1.0 / (hp.gamma * self.t + 1))
        upper = final_lr * (1.0 + 1.0 / (hp.gamma * self.t))
        return lower, upper


def _arithmetic_dtype(dtype):
    """float16 is too narrow for the moments: the arithmetic is in float32."""
    return numpy.dtype(numpy.float32) if dtype == numpy.float16 else dtype


def _follow(mean, change, rate, dtype):
    """Moves a running mean in the direction of ``change``, which is overwritten.

    Returns the mean in the type of the arithmetic.
    """
    change *= rate
    if mean.dtype == dtype:
        mean += change
        return mean
    change += mean
    mean[...] = change
    return mean.astype(dtype)


def _learning_rate(hp, t):
    if t == 0:
        raise RuntimeError(
            "Can't determine the learning rate of Adam optimizer because the update steps have "
            'not been started.')
    return hp.alpha * math.sqrt(1. - math.pow(hp.beta2, t)) / (1. - math.pow(hp.beta1, t))


class Adam(optimizer.GradientMethod):
    r"""Adam, with its variants AdamW, AMSGrad, AdaBound and AMSBound.

    .. math::

        m &\leftarrow \beta_1 m + (1 - \beta_1) g, \\
        v &\leftarrow \beta_2 v + (1 - \beta_2) g^2, \\
        w &\leftarrow w - \eta \left(\alpha \frac{\sqrt{1 - \beta_2^t}}{1 - \beta_1^t}
            \frac{m}{\sqrt{v} + \epsilon} + \lambda w\right)

    where :math:`\lambda` is the weight decay rate. float16 parameters are updated with float32
    arithmetic.

    References: Kingma and Ba, `Adam: A Method for Stochastic Optimization
    <https://arxiv.org/abs/1412.6980>`_; weight decay: Loshchilov and Hutter, `Fixing Weight Decay
    Regularization in Adam <https://openreview.net/forum?id=rk6qdGgCZ>`_; AMSGrad: Reddi et al.,
    `On the Convergence of Adam and Beyond <https://openreview.net/forum?id=ryQu7f-RZ>`_;
    AdaBound: Luo et al., `Adaptive Gradient Methods with Dynamic Bound of Learning Rate
    <https://openreview.net/forum?id=Bkg3g2R9FX>`_.

    Args:
        alpha (float): Learning rate.
        beta1 (float): Decay rate of the first moment.
        beta2 (float): Decay rate of the second moment.
        eps (float): Small value for numerical stability.
        eta (float): Schedule multiplier, for warm restarts.
        weight_decay_rate (float): Weight decay rate, decoupled from ``alpha``.
        amsgrad (bool): Whether to divide by the largest second moment so far.
        adabound (bool): Whether to clip the learning rate of each element to bounds that
            approach ``final_lr``.
        final_lr (float): Learning rate that AdaBound approaches.
        gamma (float): Speed of this approach.

    Raises:
        ValueError: In the update, where ``eps`` is zero in the type of the arithmetic.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.Adam(alpha=1e-4, weight_decay_rate=0.01).setup(model)
        >>> optimizer.alpha
        0.0001
    """

    alpha = optimizer.HyperparameterProxy('alpha')
    beta1 = optimizer.HyperparameterProxy('beta1')
    beta2 = optimizer.HyperparameterProxy('beta2')
    eps = optimizer.HyperparameterProxy('eps')
    eta = optimizer.HyperparameterProxy('eta')
    weight_decay_rate = optimizer.HyperparameterProxy('weight_decay_rate')
    amsgrad = optimizer.HyperparameterProxy('amsgrad')
    adabound = optimizer.HyperparameterProxy('adabound')
    final_lr = optimizer.HyperparameterProxy('final_lr')
    gamma = optimizer.HyperparameterProxy('gamma')

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-8, eta=1.0,
                 weight_decay_rate=0, amsgrad=False, adabound=False, final_lr=0.1, gamma=1e-3):
        super().__init__()
        self.hyperparam.alpha = alpha
        self.hyperparam.beta1 = beta1
        self.hyperparam.beta2 = beta2
        self.hyperparam.eps = eps
        self.hyperparam.eta = eta
        self.hyperparam.weight_decay_rate = weight_decay_rate
        self.hyperparam.amsgrad = amsgrad
        self.hyperparam.adabound = adabound
        self.hyperparam.final_lr = final_lr
        self.hyperparam.gamma = gamma

    def create_update_rule(self):
        return AdamRule(self.hyperparam)

    @property
    def alpha_t(self):
        """Learning rate of the last update, corrected for the bias of the moments."""
        return _learning_rate(self.hyperparam._nearest(), self.t)

    @property
    def lr(self):
        """Old name of :attr:`alpha_t`."""
        warnings.warn(
            'Adam.lr has been renamed to AdamRule.alpha_t. '
            'Use of Adam.lr is deprecated in Chainer v6.', DeprecationWarning, stacklevel=2)
        return self.alpha_t


class AdamW(Adam):
    """Adam with decoupled weight decay, see :class:`~chainer.optimizers.Adam`.

    Args:
        alpha, beta1, beta2, eps, eta, weight_decay_rate:
            See :class:`~chainer.optimizers.Adam`.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.AdamW(weight_decay_rate=0.01).setup(model)
        >>> optimizer.weight_decay_rate
        0.01
    """

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-8, eta=1.0,
                 weight_decay_rate=0):
        super().__init__(alpha, beta1, beta2, eps, eta, weight_decay_rate)


class AMSGrad(Adam):
    """AMSGrad, see :class:`~chainer.optimizers.Adam`.

    Args:
        alpha, beta1, beta2, eps, eta: See :class:`~chainer.optimizers.Adam`.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.AMSGrad(alpha=1e-4).setup(model)
        >>> optimizer.alpha
        0.0001
    """

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, eps=1e-8, eta=1.0):
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True)


class AdaBound(Adam):
    """AdaBound, see :class:`~chainer.optimizers.Adam`.

    Args:
        alpha, beta1, beta2, final_lr, gamma, eps, eta: See :class:`~chainer.optimizers.Adam`.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.AdaBound(final_lr=0.01).setup(model)
        >>> optimizer.final_lr
        0.01
    """

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, final_lr=0.1, gamma=1e-3, eps=1e-8,
                 eta=1.0):
        super().__init__(
            alpha, beta1, beta2, eps, eta, adabound=True, final_lr=final_lr, gamma=gamma)


class AMSBound(Adam):
    """AMSBound: AdaBound with AMSGrad, see :class:`~chainer.optimizers.Adam`.

    Args:
        alpha, beta1, beta2, final_lr, gamma, eps, eta: See :class:`~chainer.optimizers.Adam`.

    Example:
        >>> import chainer
        >>> model = chainer.Link(W=(2, 3))
        >>> optimizer = chainer.optimizers.AMSBound(final_lr=0.01).setup(model)
        >>> optimizer.final_lr
        0.01
    """

    def __init__(self, alpha=0.001, beta1=0.9, beta2=0.999, final_lr=0.1, gamma=1e-3, eps=1e-8,
                 eta=1.0):
        super().__init__(
            alpha, beta1, beta2, eps, eta, amsgrad=True, adabound=True, final_lr=final_lr,
            gamma=gamma)


_default_hyperparam = Adam().hyperparam
