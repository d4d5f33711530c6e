"""Precision, recall and F-score of classification."""
from chainer import backend, function_node
from chainer.utils import type_check


class ClassificationSummary(function_node.FunctionNode):
    """Precision, recall, F-score and support (see :func:`classification_summary`)."""

    def __init__(self, label_num, beta, ignore_label):
        self.label_num = label_num
        self.beta = beta
        self.ignore_label = ignore_label
        if label_num is None:
            self.opaque = 'the number of classes is found in the labels'

    def check_type_forward(self, in_types):
        type_check.argname(in_types, ('x', 't'))
        x_type, t_type = in_types
        type_check.expect(
            x_type.dtype.kind == 'f',
            t_type.dtype.kind == 'i',
            t_type.ndim < x_type.ndim,
            x_type.shape[0] == t_type.shape[0],
        )
        ndim = type_check.eval(t_type.ndim)
        type_check.expect(x_type.shape[2:ndim + 1] == t_type.shape[1:])
        for i in range(ndim + 1, type_check.eval(x_type.ndim)):
            type_check.expect(x_type.shape[i] == 1)

    def forward(self, inputs):
        y, t = inputs
        xp = backend.get_array_module(y)
        n = int(t.max()) + 1 if self.label_num is None else self.label_num
        predicted = y.argmax(axis=1).reshape(-1, 1)
        t = t.reshape(-1, 1)
        kept = t != self.ignore_label
        classes = xp.arange(n)
        relevant = (t == classes) & kept
        selected = (predicted == classes) & kept
        right = (relevant & selected).sum(axis=0)
        support = relevant.sum(axis=0)
        precision = _ratio(xp, right, selected.sum(axis=0))
        recall = _ratio(xp, right, support)
        return precision, recall, _fbeta(xp, precision, recall, self.beta), support


def _ratio(xp, a, b):
    """``a / b``, and NaN for nothing of nothing."""
    return xp.where(b == 0, float('nan'), a / xp.where(b == 0, 1, b))


def _fbeta(xp, precision, recall, beta):
    square = beta * beta
    return _ratio(xp, (1 + square) * precision * recall, square * precision + recall)


def classification_summary(y, t, label_num=None, beta=1.0, ignore_label=-1):
    r"""Precision, recall, F-score and support of each class.

    With true positives :math:`tp`, precision is :math:`tp` by the number of predictions of
    the class, recall is :math:`tp` by its support, and the F-score is
    :math:`(1 + \beta^2) p r / (\beta^2 p + r)`.

    Args:
        y (Variable or array): scores, a floating-point array of shape ``(B, C, ...)``.
        t (Variable or array): labels, integers of shape ``(B, ...)``.
        label_num (int or None): number of classes; ``None`` to find it in the labels.
        beta (float): weight of recall in the F-score.
        ignore_label (int): labels of this value do not count.

    Returns:
        tuple of four Variables: precision, recall and F-score (float64, NaN where there is nothing
        to divide by) and support (integers), each of length ``label_num``. No gradient goes back.

    Raises:
        InvalidType: if shapes or dtypes do not fit.

    >>> y = np.array([[5., 1.], [5., 1.], [0., 1.]])
    >>> precision, recall, f1, support = F.classification_summary(y, np.array([0, 1, 1]))
    >>> precision.array, recall.array, support.array
    (array([0.5, 1. ]), array([1. , 0.5]), array([1, 2]))
    """
    return ClassificationSummary(label_num, beta, ignore_label).apply((y, t))


def precision(y, t, label_num=None, ignore_label=-1):
    """Precision and support of each class (see :func:`classification_summary`).

    >>> y = np.array([[5., 1.], [5., 1.], [0., 1.]])
    >>> F.precision(y, np.array([0, 1, 1]))[0].array
    array([0.5, 1. ])
    """
    ret = classification_summary(y, t, label_num, 1.0, ignore_label)
    return ret[0], ret[3]


def recall(y, t, label_num=None, ignore_label=-1):
    """Recall and support of each class (see :func:`classification_summary`).

    >>> y = np.array([[5., 1.], [5., 1.], [0., 1.]])
    >>> F.recall(y, np.array([0, 1, 1]))[0].array
    array([1. , 0.5])
    """
    ret = classification_summary(y, t, label_num, 1.0, ignore_label)
    return ret[1], ret[3]


def fbeta_score(y, t, label_num=None, beta=1.0, ignore_label=-1):
    """F-score and support of each class (see :func:`classification_summary`)."""
    ret = classification_summary(y, t, label_num, beta, ignore_label)
    return ret[2], ret[3]


def f1_score(y, t, label_num=None, ignore_label=-1):
    """F1-score and support of each class (see :func:`classification_summary`).

    >>> y = np.array([[5., 1.], [5., 1.], [0., 1.]])
    >>> F.f1_score(y, np.array([0, 0, 1]))[0].array
    array([1., 1.])
    """
    return fbeta_score(y, t, label_num, 1.0, ignore_label)
