"""Coefficient of determination."""
from chainer import backend, function_node, utils
from chainer.utils import type_check
from chainer.variable import Variable


class R2_score(function_node.FunctionNode):
    """Coefficient of determination (see :func:`r2_score`)."""

    def __init__(self, sample_weight, multioutput):
        if sample_weight is not None:
            raise NotImplementedError('sample_weight is not supported')
        if multioutput not in ('uniform_average', 'raw_values'):
            raise ValueError('invalid multioutput argument')
        self.multioutput = multioutput

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('pred', 'true'))
        pred_type, true_type = in_types
        type_check.expect(
            pred_type.dtype.kind == 'f',
            true_type.dtype.kind == 'f',
            pred_type.shape == true_type.shape,
        )

    def forward(self, inputs):
        pred, true = inputs
        xp = backend.get_array_module(pred)
        residual = xp.asarray(xp.square(true - pred).sum(axis=0))
        total = xp.asarray(xp.square(true - true.mean(axis=0)).sum(axis=0))
        score = xp.where(total == 0, 0, 1 - residual / xp.where(total == 0, 1, total))
        if self.multioutput == 'uniform_average':
            score = score.mean()
        return utils.force_array(score, pred.dtype),


def r2_score(pred, true, sample_weight=None, multioutput='uniform_average') -> Variable:
    r"""Coefficient of determination of a regression.

    .. math:: R^2 = 1 - \frac{\sum_n (t_n - p_n)^2}{\sum_n (t_n - \bar t)^2}

    Args:
        pred (Variable or array): predictions, a floating-point array of shape ``(N, ...)``.
        true (Variable or array): right values, in the same shape.
        sample_weight (None): not supported.
        multioutput (str): ``'uniform_average'`` for the mean over all outputs, ``'raw_values'``
            for one value each.

    Returns:
        Variable: without dimensions, or of the shape of one item. It is 0 for an output whose
        right values are all the same. No gradient goes back.

    Raises:
        InvalidType: if shapes or dtypes do not fit.
        ValueError: if ``multioutput`` is something else.
        NotImplementedError: if ``sample_weight`` is given.

    >>> F.r2_score(np.array([1., 2., 4.]), np.array([1., 2., 3.])).array
    array(0.5)
    """
    return R2_score(sample_weight, multioutput).apply((pred, true))[0]
