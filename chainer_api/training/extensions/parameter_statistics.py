"""Numbers that describe parameters and their gradients."""
import numpy

from chainer import backend, reporter
from chainer import link as link_module
from chainer.training import extension
from chainer.training import trigger as trigger_module

# Where a normal distribution has -3, -2, -1, 0, 1, 2 and 3 standard deviations.
_SIGMAS = (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)


def _percentile(x):
    return backend.get_array_module(x).percentile(x, _SIGMAS)


class ParameterStatistics(extension.Extension):
    """Extension that reports statistics of parameters and their gradients.

    They are computed in each iteration, and their means over an interval are reported under names
    such as ``VGG16Layers/conv1_1/W/data/mean`` (name of the link, path of the parameter, ``data``
    or ``grad``, name of the statistic), with an index behind them for a statistic of several
    numbers.

    Args:
        links (~chainer.Link or iterable of links): Links whose parameters to describe.
        statistics (dict): Functions by name, see :meth:`register_statistics`. ``'default'`` takes
            :attr:`default_statistics`; ``None`` takes none.
        report_params (bool): Whether to describe the parameters.
        report_grads (bool): Whether to describe the gradients.
        prefix (str): Put in front of all names, with a slash between.
        trigger: When an interval ends, a trigger or a tuple such as ``(1, 'epoch')``.
        skip_nan_params (bool): Whether to report a NaN for each statistic of an array with a NaN,
            instead of calling the functions.

    Attributes:
        default_statistics (dict): Mean, standard deviation, minimum, maximum, number of zeros, and
            the percentiles at whole standard deviations of a normal distribution.
        report_key_template (str): Format of the names.
    """

    default_name = 'parameter_statistics'
    priority = extension.PRIORITY_WRITER
    report_key_template = '{prefix}{link_name}{param_name}/{attr_name}/{function_name}'
    default_statistics = {
        'mean': lambda x: x.mean(),
        'std': lambda x: x.std(),
        'min': lambda x: x.min(),
        'max': lambda x: x.max(),
        'zeros': lambda x: (x == 0).sum(),
        'percentile': _percentile,
    }

    def __init__(self, links, statistics='default', report_params=True, report_grads=True,
                 prefix=None, trigger=(1, 'epoch'), skip_nan_params=False):
        self._links = [links] if isinstance(links, link_module.Link) else list(links)
        if isinstance(statistics, str) and statistics == 'default':
            statistics = self.default_statistics
        self._statistics = dict(statistics or {})
        self._attributes = ['data'] * bool(report_params) + ['grad'] * bool(report_grads)
        self._prefix = '' if prefix is None else prefix + '/'
        self._trigger = trigger_module.get_trigger(trigger)
        self._skip_nan_params = skip_nan_params
        self._summary = reporter.DictSummary()

    def register_statistics(self, name, function):
        """Adds a statistic.

        Args:
            name (str): Its name.
            function: Called with a one-dimensional array; returns one number or several.
        """
        self._statistics[name] = function

    def __call__(self, trainer):
        """Describes the parameters as they are; reports the means if an interval ends."""
        statistics = {}
        for link in self._links:
            for path, param in link.namedparams():
                for attribute in self._attributes:
                    array = getattr(param, attribute)
                    if array is not None:
                        statistics.update(self._describe(array.ravel(), link, path, attribute))
        self._summary.add(statistics)
        if self._trigger(trainer):
            reporter.report(self._summary.compute_mean())
            self._summary = reporter.DictSummary()

    def _describe(self, array, link, path, attribute):
        has_nan = self._skip_nan_params and bool(
            backend.get_array_module(array).isnan(array).any())
        for name, function in self._statistics.items():
            key = self.report_key_template.format(
                prefix=self._prefix, link_name=link.name, param_name=path, attr_name=attribute,
                function_name=name)
            value = float('nan') if has_nan else function(array)
            if not isinstance(value, (list, tuple)) and numpy.ndim(value) == 0:
                yield key, value
            else:
                for i, each in enumerate(value):
                    yield f'{key}/{i}', each

    def serialize(self, serializer):
        """Saves or restores the statistics of the interval so far."""
        trigger_module.serialize_trigger(self._trigger, serializer['_trigger'])
        self._summary.serialize(serializer['_summary'])
