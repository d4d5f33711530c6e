"""Cross entropy of a softmax."""
import chainer
from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.utils import _errors, type_check
from chainer.variable import Variable
from chainwright.runtime import kernels


class SoftmaxCrossEntropy(function_node.FunctionNode):
    """Cross entropy of a softmax with integer labels (see :func:`softmax_cross_entropy`).

    Attributes:
        y: the softmax, if ``cache_score`` is set and the function has been applied.
    """

    _weight = function_node._SEVERAL
    y = None

    def __init__(self, normalize=True, cache_score=True, class_weight=None, ignore_label=-1,
                 reduce='mean'):
        self.normalize = normalize
        self.cache_score = cache_score
        _check_class_weight(class_weight)
        self.class_weight = class_weight
        self.ignore_label = ignore_label
        _check_reduce(reduce)
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            t_type.dtype.kind == 'i',
            t_type.ndim == x_type.ndim - 1,
            x_type.shape[0] == t_type.shape[0],
            x_type.shape[2:] == t_type.shape[1:],
        )

    def forward(self, inputs):
        x, t = inputs
        xp = backend.get_array_module(x)
        if chainer.is_debug():
            _check_labels(x, t, self.ignore_label)
        if self.class_weight is not None and len(self.class_weight) != x.shape[1]:
            raise ValueError(
                f'class_weight has {len(self.class_weight)} items, for {x.shape[1]} classes')
        self.retain_inputs((0, 1))
        weights = () if self.class_weight is None else (xp.asarray(self.class_weight),)
        y, coeff, loss = _loss(
            x, t, *weights, ignore_label=self.ignore_label, normalize=self.normalize,
            reduce=self.reduce)
        if self.cache_score:
            self.y = y
        if self.reduce == 'mean':
            self.coeff = coeff
        return loss,

    def backward(self, indexes, grad_outputs):
        x, t = self.get_retained_inputs()
        return _SoftmaxCrossEntropyGrad(self).apply((x, t, grad_outputs[0]))[0], None


@kernels.array_code
def _loss(x, t, *weights, ignore_label, normalize, reduce):
    """The softmax, what losses are multiplied with, and the loss."""
    xp = backend.get_array_module(x)
    kept = t != ignore_label
    t = xp.where(kept, t, 0)
    z = x - x.max(axis=1, keepdims=True)
    exp_z = xp.exp(z)
    total = exp_z.sum(axis=1, keepdims=True)
    loss = (xp.log(total).reshape(t.shape) - z[_places(xp, t)]) * kept
    for weight in weights:
        loss = loss * weight[t]
    exp_z /= total
    coeff = _coefficient(xp, kept, normalize, x.dtype)
    if reduce == 'no':
        return exp_z, coeff, utils.force_array(loss, x.dtype)
    # Half precision would overflow in the sum.
    total = loss.sum(dtype='f') if x.dtype == 'e' else loss.sum()
    return exp_z, coeff, utils.force_array(total * coeff, x.dtype)


@kernels.array_code
def _gradient(y, t, gy, *more, ignore_label, weighted, averaged):
    """What d loss / d score is multiplied with, for each label, and the gradient of the scores.

    ``more`` has the weights of classes, if it is ``weighted``, and the factor of the mean, if it is
    ``averaged``.
    """
    xp = backend.get_array_module(y)
    kept = t != ignore_label
    t = xp.where(kept, t, 0)
    factor = kept.astype(y.dtype)
    if weighted:
        factor *= more[0][t].astype(y.dtype, copy=False)
    if averaged:
        factor *= more[-1]
    scaled = factor * gy
    gx = y * xp.expand_dims(scaled, 1)
    gx[_places(xp, t)] -= scaled
    return factor, gx


class _SoftmaxCrossEntropyGrad(function_node.FunctionNode):
    """``(x, t, gy) -> gx``."""

    def __init__(self, function):
        self.y = function.y
        self.class_weight = function.class_weight
        self.ignore_label = function.ignore_label
        self.coeff = None if function.reduce == 'no' else function.coeff

    def forward(self, inputs):
        x, t, gy = inputs
        xp = backend.get_array_module(x)
        self.retain_inputs((0, 1, 2))
        if self.y is None:
            y = xp.exp(x - x.max(axis=1, keepdims=True))
            y /= y.sum(axis=1, keepdims=True)
        else:
            y = xp.asarray(self.y)
        more = [xp.asarray(a) for a in (self.class_weight, self.coeff) if a is not None]
        self.factor, gx = _gradient(
            y, t, gy, *more, ignore_label=self.ignore_label,
            weighted=self.class_weight is not None, averaged=self.coeff is not None)
        return gx,

    def backward(self, indexes, grad_outputs):
        x, t, gy = self.get_retained_inputs()
        g, = grad_outputs
        factor = F.broadcast_to(F.expand_dims(self.factor, 1), x.shape)
        g = g * factor
        y = F.softmax(x)
        g_x = g_gy = None
        if 0 in indexes:
            each_gy = gy if self.coeff is not None else F.expand_dims(gy, 1)
            h = g * F.broadcast_to(each_gy, x.shape)
            inner = F.sum(h * y, axis=1, keepdims=True)
            g_x = y * (h - F.broadcast_to(inner, x.shape))
        if 2 in indexes:
            g_gy = F.sum(g * y, axis=1) - _pick(g, t, self.ignore_label)
            if self.coeff is not None:
                g_gy = F.sum(g_gy)
        return g_x, None, g_gy


class _Pick(function_node.FunctionNode):
    """The score of each label; zero where it is to be ignored."""

    def __init__(self, ignore_label):
        self.ignore_label = ignore_label

    def forward(self, inputs):
        x, t = inputs
        self.retain_inputs((1,))
        self._shape = x.shape
        xp = backend.get_array_module(x)
        kept = t != self.ignore_label
        return x[_places(xp, xp.where(kept, t, 0))] * kept,

    def backward(self, indexes, grad_outputs):
        t, = self.get_retained_inputs()
        return _Unpick(self._shape, self.ignore_label).apply((grad_outputs[0], t))[0], None


class _Unpick(function_node.FunctionNode):
    """The transposed map of :class:`_Pick`."""

    def __init__(self, shape, ignore_label):
        self.shape = shape
        self.ignore_label = ignore_label

    def forward(self, inputs):
        g, t = inputs
        self.retain_inputs((1,))
        xp = backend.get_array_module(g)
        kept = t != self.ignore_label
        gx = xp.zeros(self.shape, g.dtype)
        gx[_places(xp, xp.where(kept, t, 0))] = g * kept
        return gx,

    def backward(self, indexes, grad_outputs):
        t, = self.get_retained_inputs()
        return _pick(grad_outputs[0], t, self.ignore_label), None


def _pick(x, t, ignore_label):
    return _Pick(ignore_label).apply((x, t))[0]


def _places(xp, t):
    """Index of the score of each label: the labels along the second axis."""
    places = [xp.arange(n).reshape((n,) + (1,) * (t.ndim - 1 - i)) for i, n in enumerate(t.shape)]
    places.insert(1, t)
    return tuple(places)


def _coefficient(xp, kept, normalize, dtype):
    """One divided by the number of labels that count, or by the batch size."""
    if not normalize:
        return xp.full((), 1 / max(len(kept), 1), dtype)
    return utils.force_array(1. / xp.maximum(kept.sum(), 1), dtype)


def _check_class_weight(class_weight):
    if class_weight is None:
        return
    if isinstance(class_weight, chainer.Variable):
        raise ValueError(
            'class_weight should be a numpy.ndarray or cupy.ndarray, not a chainer.Variable')
    _errors.check_arrays('softmax_cross_entropy', class_weight=class_weight)
    if class_weight.ndim != 1:
        raise ValueError('class_weight.ndim should be 1')
    if class_weight.dtype.kind != 'f':
        raise ValueError("The dtype of class_weight should be 'f'")


def _check_reduce(reduce):
    if reduce not in ('mean', 'no'):
        raise ValueError(f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")


def _check_labels(x, t, ignore_label):
    if not (((0 <= t) & (t < x.shape[1])) | (t == ignore_label)).all():
        raise ValueError(
            'Each label `t` need to satisfy `0 <= t < x.shape[1] or t == '
            f'{ignore_label}`')


def softmax_cross_entropy(
        x, t, normalize=True, cache_score=True, class_weight=None, ignore_label=-1, reduce='mean',
        enable_double_backprop=False, soft_target_loss='cross-entropy') -> Variable:
    r"""Cross entropy of a softmax, for classification.

    The loss of one label :math:`t` with scores :math:`x` is
    :math:`-\log \mathrm{softmax}(x)_t`.

    Args:
        x (Variable or array): scores, a floating-point array of shape ``(B, C, ...)``.
        t (Variable or array): labels, integers of shape ``(B, ...)``; or probabilities of the
            classes, in the shape and dtype of ``x``, which get no gradient.
        normalize (bool): whether the mean is taken over all labels that are not ignored; if not,
            the sum is divided by the batch size.
        cache_score (bool): whether to keep the softmax for backward; if not, it is computed again,
            which takes less memory.
        class_weight (array or None): factor on the loss of each class, a floating-point vector.
        ignore_label (int): labels of this value have no loss and no gradient.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each label.
        enable_double_backprop (bool): accepted for compatibility: the gradient can always be
            differentiated again.
        soft_target_loss (str): for probabilities, ``'cross-entropy'`` or ``'kl-divergence'``,
            which is lower by the entropy of ``t``.

    Returns:
        Variable: of the dtype of ``x``, without dimensions, or in the shape of the labels if
        ``reduce`` is ``'no'``.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``class_weight`` is no floating-point vector or ``reduce`` is not known; in
            debug mode, for labels that are no classes.

    >>> x = np.array([[-1, 0, 1, 2], [2, 0, 1, -1]], np.float32)
    >>> t = np.array([3, 0], np.int32)
    >>> round(float(F.softmax_cross_entropy(x, t).array), 4)
    0.4402
    >>> F.softmax_cross_entropy(x, t, reduce='no').array.round(4)
    array([0.4402, 0.4402], dtype=float32)
    """
    if soft_target_loss not in ('cross-entropy', 'kl-divergence'):
        raise ValueError("soft_target_loss must be 'cross-entropy' or 'kl-divergence'.")
    if getattr(t, 'dtype', None) is not None and t.dtype.kind == 'f':
        return _with_soft_target(x, t, normalize, class_weight, reduce, soft_target_loss)
    return SoftmaxCrossEntropy(
        normalize, cache_score, class_weight, ignore_label, reduce).apply((x, t))[0]


def _with_soft_target(x, t, normalize, class_weight, reduce, soft_target_loss):
    _check_class_weight(class_weight)
    _check_reduce(reduce)
    _errors.check_arrays('softmax_cross_entropy', x=x)
    if x.shape != t.shape:
        raise type_check.InvalidType(
            f'int32 labels of shape {x.shape[:1] + x.shape[2:]}, or probabilities of shape '
            f'{x.shape}', f'{t.dtype} of shape {t.shape}',
            'softmax_cross_entropy: the labels t must be int32, or have the shape of x, to be '
            f'probabilities. t: {t.dtype} of shape {t.shape}, x: {x.dtype} of shape {x.shape}')
    if isinstance(t, chainer.Variable):
        t = t.array  # no gradient goes to the probabilities
    log_p = F.log_softmax(x)
    if class_weight is not None:
        log_p = F.scale(log_p, class_weight)
    loss = -F.sum(log_p * t, axis=1)
    if soft_target_loss == 'kl-divergence':
        # A little is added, for zeros.
        loss += F.sum(F.log(F.identity(t) + 1e-7) * t, axis=1)
    if reduce == 'no':
        return loss
    return F.sum(loss) * (1. / max(loss.size if normalize else len(loss), 1))
