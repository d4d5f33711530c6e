"""Classifier."""
from chainer import _tracing, link, reporter
from chainer import functions as F


class Classifier(link.Chain):
    """Model that turns a predictor into the loss and the accuracy of a classification.

    Each call reports ``loss`` and ``accuracy`` to the current :class:`chainer.Reporter`.

    Args:
        predictor (Link): Predictor of scores.
        lossfun (callable): Takes the prediction and the labels and returns the loss.
        accfun (callable): Takes the prediction and the labels and returns the accuracy.
        label_key (int or str): Which positional argument, or keyword argument, of a call has the
            labels. All others go to the predictor.

    Attributes:
        predictor (Link): Predictor.
        lossfun (callable): Loss function.
        accfun (callable): Accuracy function.
        y (Variable): Prediction of the last call.
        loss (Variable): Loss of the last call.
        accuracy (Variable): Accuracy of the last call.
        compute_accuracy (bool): Whether calls compute the accuracy; true by default.

    Raises:
        TypeError: ``label_key`` is neither an int nor a string.

    Example:
        >>> model = L.Classifier(L.Linear(3, 2))
        >>> x, t = np.ones((4, 3), np.float32), np.array([0, 1, 1, 0], np.int32)
        >>> loss = model(x, t)
        >>> loss is model.loss, model.y.shape, float(model.accuracy.array)
        (True, (4, 2), 0.5)
    """

    compute_accuracy = True

    def __init__(self, predictor, lossfun=F.softmax_cross_entropy, accfun=F.accuracy,
                 label_key=-1):
        if not isinstance(label_key, (int, str)):
            raise TypeError(f'label_key must be int or str, but is {type(label_key)}')
        super().__init__()
        self.lossfun = lossfun
        self.accfun = accfun
        self.y = None
        self.loss = None
        self.accuracy = None
        self.label_key = label_key
        with self.init_scope():
            self.predictor = predictor

    @_tracing.with_what_is_inside
    def forward(self, *args, **kwargs):
        """Predicts, and compares with the labels.

        Args:
            args, kwargs: Arguments of the predictor, and among them the labels.

        Returns:
            Variable: The loss.

        Raises:
            ValueError: There is no argument ``label_key``.
        """
        key = self.label_key
        if isinstance(key, int):
            if not -len(args) <= key < len(args):
                raise ValueError(f'Label key {key} is out of bounds')
            t = args[key]
            key %= len(args)
            args = args[:key] + args[key + 1:]
        else:
            if key not in kwargs:
                raise ValueError(f'Label key "{key}" is not found')
            t = kwargs.pop(key)

        self.y = None
        self.loss = None
        self.accuracy = None
        self.y = self.predictor(*args, **kwargs)
        self.loss = self.lossfun(self.y, t)
        reporter.report({'loss': self.loss}, self)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
            reporter.report({'accuracy': self.accuracy}, self)
        return self.loss
