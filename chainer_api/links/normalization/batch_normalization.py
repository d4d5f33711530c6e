"""Batch normalization layer."""
import numpy

import chainer
from chainer import _tracing, configuration, initializers, link, variable
from chainer import functions as F
from chainer.utils import _errors, argument


def scale_parameter(initial, default, dtype):
    """Returns a parameter that is initialized in ``dtype``, whatever the initializer says."""
    initializer = initializers._get_initializer(default if initial is None else initial)
    initializer.dtype = dtype
    return variable.Parameter(initializer)


class BatchNormalization(link.Link):
    r"""Batch normalization layer, over images or plain vectors.

    While ``chainer.config.train`` is true, the layer normalizes with the moments of the batch, and
    keeps running averages of them; otherwise it normalizes with these averages. To compute the
    moments of a whole data set by one pass, call :meth:`start_finetuning` first and each batch
    with ``finetune=True``.

    See: `Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing
    Internal Covariate Shift <https://arxiv.org/abs/1502.03167>`_.

    Args:
        size (int or tuple of ints): Shape of the axes that are not normalized over, such as the
            number of channels. Without it, the first call decides, and ``axis`` is needed.
        decay (float): What is kept of the running averages in one update.
        eps (float): Added to the variance.
        dtype: Type of the parameters and running averages; ``chainer.config.dtype`` by default,
            float32 if that is :data:`chainer.mixed16`.
        use_gamma (bool): Whether there is a scale. Otherwise it is one.
        use_beta (bool): Whether there is a shift. Otherwise it is zero.
        initial_gamma (initializer): Initializes the scale: an initializer, a scalar or an array.
            The default is one.
        initial_beta (initializer): Likewise for the shift. The default is zero.
        axis (int or tuple of ints): Axes that are normalized over, in ascending order. The default
            is the first one and those after the axes of ``size``.
        initial_avg_mean (initializer): Initial value of ``avg_mean``. The default is zero.
        initial_avg_var (initializer): Initial value of ``avg_var``. The default is one.

    Attributes:
        gamma (Parameter): Scale, or ``None``.
        beta (Parameter): Shift, or ``None``.
        avg_mean (array): Running average of the means.
        avg_var (array): Running average of the unbiased variances.
        N (int): Number of batches of the fine-tuning.
        decay (float): As given.
        eps (float): As given.

    Raises:
        RuntimeError: Neither ``size`` nor ``axis`` is given.

    .. seealso:: :func:`chainer.functions.batch_normalization`,
        :func:`chainer.functions.fixed_batch_normalization`

    Example:
        >>> bn = L.BatchNormalization(1, decay=0.5)
        >>> x = np.array([[1], [3]], np.float32)
        >>> bn(x).array.round(3)
        array([[-1.],
               [ 1.]], dtype=float32)
        >>> bn.avg_mean, bn.avg_var
        (array([1.], dtype=float32), array([1.5], dtype=float32))
        >>> with chainer.using_config('train', False):
        ...     bn(x).array.round(3)
        array([[0.   ],
               [1.633]], dtype=float32)
    """

    gamma = None
    beta = None

    avg_mean = _tracing.WrittenArray()
    avg_var = _tracing.WrittenArray()

    def __init__(self, size=None, decay=0.9, eps=2e-5, dtype=None, use_gamma=True, use_beta=True,
                 initial_gamma=None, initial_beta=None, axis=None, initial_avg_mean=None,
                 initial_avg_var=None):
        super().__init__()
        if size is None and axis is None:
            raise RuntimeError('size or axis is required')
        self._initial_avg_mean = initial_avg_mean
        self._initial_avg_var = initial_avg_var
        self.N = 0
        self.register_persistent('N')
        self.decay = decay
        self.eps = eps
        self.axis = (axis,) if isinstance(axis, (int, numpy.integer)) else axis
        self._highprec_dtype = chainer.get_dtype(dtype, map_mixed16=numpy.float32)
        with self.init_scope():
            if use_gamma:
                self.gamma = scale_parameter(initial_gamma, 1, self._highprec_dtype)
            if use_beta:
                self.beta = scale_parameter(initial_beta, 0, self._highprec_dtype)
        self.avg_mean = None
        self.avg_var = None
        if size is not None:
            self._initialize_params(size)
        self.register_persistent('avg_mean')
        self.register_persistent('avg_var')

    def __setstate__(self, state):
        super().__setstate__(state)
        if '_dtype' in state:  # as pickles of Chainer 5 call it
            self._highprec_dtype = self.__dict__.pop('_dtype')

    def _initialize_params(self, shape):
        self.avg_mean = self._init_array(self._initial_avg_mean, 0, shape)
        self.avg_var = self._init_array(self._initial_avg_var, 1, shape)
        for param in (self.gamma, self.beta):
            if param is not None:
                param.initialize(shape)

    def _init_array(self, initializer, default_value, shape):
        initializer = initializers._get_initializer(
            default_value if initializer is None else initializer)
        return initializers.generate_array(
            initializer, shape, self.xp, dtype=self._highprec_dtype, device=self.device)

    @property
    def printable_specs(self):
        yield 'size', None if self.avg_mean is None else self.avg_mean.shape[0]
        yield 'decay', self.decay
        yield 'eps', self.eps
        yield 'dtype', self._highprec_dtype
        yield 'use_gamma', self.gamma is not None
        yield 'use_beta', self.beta is not None

    def forward(self, x, *, finetune=False, **kwargs):
        """Normalizes a batch.

        Args:
            x (Variable or array): Input.
            finetune (bool): While training, whether the running averages become the averages of
                all batches since :meth:`start_finetuning`.

        Returns:
            Variable: Shape and dtype of the input.
        """
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, test='test argument is not supported anymore. Use chainer.using_config')
            argument.assert_kwargs_empty(kwargs)
        if self.avg_mean is None:
            _errors.check_arrays(type(self).__name__, x=x)
            self._initialize_params(
                tuple([n for i, n in enumerate(x.shape) if i not in self.axis]))
        gamma = self.gamma
        if gamma is None:
            gamma = self._constant(1)
        beta = self.beta
        if beta is None:
            beta = self._constant(0)

        if not configuration.config.train:
            return F.fixed_batch_normalization(
                x, gamma, beta, self.avg_mean, self.avg_var, self.eps, axis=self.axis)
        if configuration.config.in_recomputing:  # the forward before has updated the averages
            return F.batch_normalization(x, gamma, beta, eps=self.eps, axis=self.axis)
        decay = self.decay
        if finetune:
            self.N += 1
            decay = 1. - 1. / self.N
        return F.batch_normalization(
            x, gamma, beta, eps=self.eps, running_mean=self.avg_mean, running_var=self.avg_var,
            decay=decay, axis=self.axis)

    def _constant(self, value):
        with chainer.using_device(self.device):
            return self.xp.full(self.avg_mean.shape, value, dtype=self._highprec_dtype)

    def start_finetuning(self):
        """Starts to average anew in calls with ``finetune=True``."""
        self.N = 0
