"""Connectionist temporal classification."""
import numpy

from chainer import backend, function_node, utils
from chainer import functions as F
from chainer.functions.activation import log_softmax
from chainer.utils import _errors, type_check
from chainer.variable import Variable
from chainwright.runtime.kernels import ctc


class ConnectionistTemporalClassification(function_node.FunctionNode):
    """Connectionist temporal classification.

    See :func:`connectionist_temporal_classification`. Inputs: lengths of the inputs, lengths of
    the labels, labels, and scores of shape ``(T, B, V)``.
    """

    def __init__(self, blank_symbol, reduce='mean'):
        if reduce not in ('mean', 'no'):
            raise ValueError(
                f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")
        self.blank_symbol = blank_symbol
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('input_length', 'label_length', 't', 'x'))
        input_length_type, label_length_type, t_type, x_type = in_types
        type_check.expect(
            input_length_type.dtype == numpy.int32,
            input_length_type.ndim == 1,
            t_type.ndim == 2,
            t_type.dtype == numpy.int32,
            x_type.ndim == 3,
            x_type.dtype.kind == 'f',
            input_length_type.shape[0] == x_type.shape[1],
            label_length_type.dtype == numpy.int32,
            label_length_type.ndim == 1,
            label_length_type.shape[0] == x_type.shape[1],
            t_type.shape[0] == x_type.shape[1],
        )

    def forward(self, inputs):
        input_length, label_length, t, x = inputs
        self.retain_inputs((3,))
        self._args = log_softmax._log_softmax(
            x.astype('f') if x.dtype == 'e' else x, axis=2), t, input_length, label_length
        loss, self.alpha = ctc.ctc_forward(*self._args, blank=self.blank_symbol)
        self.loss = loss
        if self.reduce == 'mean':
            loss = loss.mean()
        return utils.force_array(loss, x.dtype),

    def backward(self, indexes, grad_outputs):
        gy, = grad_outputs
        x, = self.get_retained_inputs()
        if self.reduce == 'mean':
            gy = F.broadcast_to(gy * (1. / max(self.loss.size, 1)), self.loss.shape)
        gx, = _CTCGrad(self).apply((gy, x))
        return None, None, None, gx


class _CTCGrad(function_node.FunctionNode):

    def __init__(self, function):
        self.function = function

    def forward(self, inputs):
        gy, _ = inputs  # the scores are there to be known as what the gradient depends on
        xp = backend.get_array_module(gy)
        f = self.function
        grad = ctc.ctc_backward(
            *[xp.asarray(a) for a in (*f._args, f.loss, f.alpha)], blank=f.blank_symbol)
        return (grad * gy[None, :, None]).astype(gy.dtype, copy=False),

    def backward(self, indexes, grad_outputs):
        raise RuntimeError(
            'connectionist_temporal_classification is differentiable only once: its gradient '
            'cannot be differentiated again')


def connectionist_temporal_classification(
        x, t, blank_symbol, input_length=None, label_length=None, reduce='mean') -> Variable:
    """Connectionist temporal classification (CTC), for labels without alignment.

    The loss is minus the logarithm of the probability of the label sequence, summed over all of
    its alignments to the time steps. See: `Graves et al., Connectionist Temporal Classification
    <ftp://ftp.idsia.ch/pub/juergen/icml2006.pdf>`_.

    Args:
        x (list or tuple of Variables): scores of each time step, of shape ``(B, V)``; the softmax
            is taken here.
        t (Variable or array): label sequences, int32 of shape ``(B, M)``.
        blank_symbol (int): the label that stands for nothing.
        input_length (Variable, array or None): number of valid time steps of each item, int32;
            ``None`` for all.
        label_length (Variable, array or None): number of valid labels of each item, int32;
            ``None`` for all.
        reduce (str): ``'mean'``, or ``'no'`` for the loss of each item.

    Returns:
        Variable: without dimensions, or of length ``B``. Differentiable once, by ``x`` only.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        TypeError: if ``x`` is no list or tuple, or ``blank_symbol`` is no int.
        ValueError: if ``blank_symbol`` is no label, or ``reduce`` is something else.

    >>> x = [np.zeros((1, 3), np.float32) for _ in range(2)]
    >>> t = np.array([[1]], np.int32)
    >>> round(float(F.connectionist_temporal_classification(x, t, 0).array), 4)  # log(9 / 3)
    1.0986
    """
    if not isinstance(x, (list, tuple)):
        raise TypeError('x must be a list of Variables')
    if not isinstance(blank_symbol, int):
        raise TypeError('blank_symbol must be non-negative integer.')
    _errors.check_arrays('connectionist_temporal_classification', t=t)
    _errors.check_lists('connectionist_temporal_classification', x=x)
    if not 0 <= blank_symbol < x[0].shape[1]:
        raise _errors.AssertedValueError(
            f'blank_symbol must be a label, from 0 to {x[0].shape[1] - 1}')
    xp = backend.get_array_module(x[0])
    if input_length is None:
        input_length = xp.full(len(x[0]), len(x), 'i')
    if label_length is None:
        label_length = xp.full(len(t), t.shape[1], 'i')
    return ConnectionistTemporalClassification(blank_symbol, reduce).apply(
        (input_length, label_length, t, F.stack(x)))[0]
