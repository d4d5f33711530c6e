"""Collecting values to watch, and their statistics."""
import collections
import contextlib
import json
import math
import threading
import warnings

import numpy

from chainer import _tracing, backend, configuration, serializer, variable
from chainer.backends import cuda


class _ThreadLocal(threading.local):
    def __init__(self):
        self.reporters = []


_thread_local = _ThreadLocal()


class Reporter:
    """Object to which values are reported.

    A value is reported under a name. If the *observer* that reports it is registered, the name of
    the observer stands before it: a link registered as ``'main'`` that reports ``'loss'`` gives
    ``'main/loss'``.

    Within ``with reporter:`` or ``with reporter.scope(...):`` the reporter is the current one of
    the thread, to which :func:`chainer.report` goes.

    Attributes:
        observation (dict): Reported values, by name.

    .. doctest::

        >>> reporter = chainer.Reporter()
        >>> observer = object()
        >>> reporter.add_observer('my_observer', observer)
        >>> observation = {}
        >>> with reporter.scope(observation):
        ...     chainer.report({'x': 1}, observer)
        >>> observation
        {'my_observer/x': 1}
    """

    def __init__(self):
        self._observer_names = {}
        self.observation = {}

    def __enter__(self):
        """Make the reporter the current one."""
        _thread_local.reporters.append(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        """Make the reporter before it the current one again."""
        _thread_local.reporters.pop()

    @contextlib.contextmanager
    def scope(self, observation):
        """Context manager in which the reporter is current and reports go to ``observation``.

        Args:
            observation (dict): Where reported values are put.
        """
        with self, _observing(self, observation):
            yield

    def add_observer(self, name, observer):
        """Register an observer.

        Args:
            name (str): What stands before the names of its values.
            observer: Any object; it is told from others by identity.
        """
        self._observer_names[id(observer)] = name

    def add_observers(self, prefix, observers):
        """Register several observers.

        Args:
            prefix (str): What stands before each name.
            observers (iterable): Pairs of name and observer.
        """
        for name, observer in observers:
            self._observer_names[id(observer)] = prefix + name

    def report(self, values, observer=None):
        """Take values.

        Variables are stored without the graph before them, unless
        ``chainer.config.keep_graph_on_report`` is set.

        Args:
            values (dict): Values by name.
            observer: The object that reports; it must be registered.

        Raises:
            KeyError: If the observer is not registered.
        """
        if not configuration.config.keep_graph_on_report:
            values = {name: _without_graph(value) for name, value in values.items()}
        if observer is not None:
            prefix = self._observer_names.get(id(observer))
            if prefix is None:
                raise KeyError(
                    f'the observer {type(observer).__name__} is not registered to the reporter; '
                    'register it by add_observer')
            values = {f'{prefix}/{name}': value for name, value in values.items()}
        self.observation.update(values)


@contextlib.contextmanager
def _observing(reporter, observation):
    old = reporter.observation
    reporter.observation = observation
    try:
        yield
    finally:
        reporter.observation = old


def _without_graph(value):
    if isinstance(value, variable.Variable):
        run = _tracing.state.run
        if run is not None and (found := run.detached(value)) is not None:
            return found
        return variable.Variable(
            value.array, name=value.name, requires_grad=value.requires_grad)
    return value


class _NoReporter(RuntimeError, IndexError):
    """No reporter is current: an ``IndexError`` in Chainer, which code may catch."""


def get_current_reporter():
    """Return the current reporter of the thread.

    Raises:
        RuntimeError: If no reporter is current; it is an ``IndexError``, too, as in Chainer.

    .. doctest::

        >>> reporter = chainer.Reporter()
        >>> with reporter:
        ...     chainer.get_current_reporter() is reporter
        True
    """
    reporters = _thread_local.reporters
    if not reporters:
        raise _NoReporter('no reporter is current in this thread; enter one: `with reporter:`')
    return reporters[-1]


def report(values, observer=None):
    """Report values to the current reporter; without one, do nothing.

    Args:
        values (dict): Values by name.
        observer: The object that reports (see :meth:`Reporter.report`), such as a link.

    .. doctest::

        >>> reporter = chainer.Reporter()
        >>> with reporter:
        ...     chainer.report({'loss': 0.5})
        >>> reporter.observation
        {'loss': 0.5}
    """
    reporters = _thread_local.reporters
    if reporters:
        reporters[-1].report(values, observer)


def report_scope(observation):
    """Return a context manager in which the current reporter writes to ``observation``.

    Args:
        observation (dict): Where reported values are put.

    .. doctest::

        >>> with chainer.Reporter():
        ...     observation = {}
        ...     with chainer.report_scope(observation):
        ...         chainer.report({'x': 1})
        >>> observation
        {'x': 1}
    """
    return _observing(get_current_reporter(), observation)


def _in_double(value):
    """Return a scalar such that sums of it are made in double precision; or a copy of an array."""
    if isinstance(value, (numpy.ndarray, cuda.ndarray)):
        with cuda.get_device_from_array(value):  # copies: the array may change later
            return value.copy() if value.ndim else value.astype(numpy.float64)
    return float(value) if isinstance(value, numpy.floating) else value


def _beside(total, value):
    """Return a value where its sum is: several devices may report under one name."""
    if isinstance(total, cuda.ndarray):
        if isinstance(value, (numpy.ndarray, cuda.ndarray)):
            return backend.GpuDevice.from_array(total).send(value)
    elif isinstance(value, cuda.ndarray) and isinstance(total, (numpy.ndarray, numpy.generic)):
        return value.get()
    return value


def serialize_number(serializer, name, number):
    """Save or load a number: as an integer if it is one, as Chainer 7 saves and loads sums."""
    number = float(number)
    if isinstance(serializer, _Serializer) and number.is_integer():
        number = int(number)
    return serializer(name, number)


class Summary:
    """Mean and standard deviation of a series of scalars, computed as they come.

    .. doctest::

        >>> summary = chainer.Summary()
        >>> for value in 1.0, 2.0, 3.0:
        ...     summary.add(value)
        >>> summary.compute_mean()
        2.0
    """

    def __init__(self):
        self._x = 0.0
        self._x2 = 0.0
        self._n = 0

    def add(self, value, weight=1):
        """Add a scalar.

        Args:
            value: A number, or a zero-dimensional array (on the CPU or a GPU).
            weight: Its weight: how often it counts.
        """
        value = _beside(self._x, _in_double(value))
        weight = _beside(value, _in_double(weight))
        with cuda.get_device_from_array(value):
            self._x += weight * value
            self._x2 += weight * value * value
            self._n += weight

    def compute_mean(self):
        """Return the mean.

        Raises:
            ZeroDivisionError: If nothing has been added.
        """
        with cuda.get_device_from_array(self._x):
            return self._x / self._n

    def make_statistics(self):
        """Return the mean and the standard deviation.

        Raises:
            ZeroDivisionError: If nothing has been added.
        """
        mean = self.compute_mean()
        with cuda.get_device_from_array(mean):
            variance = self._x2 / self._n - mean * mean
            if type(variance) is float:
                return mean, math.sqrt(max(variance, 0.0))  # rounding may leave it below zero
            xp = backend.get_array_module(variance)
            return mean, xp.sqrt(xp.maximum(variance, 0))

    def serialize(self, serializer):
        """Save or load the sums.

        Args:
            serializer (~chainer.AbstractSerializer): Where to or from.
        """
        try:
            self._x = serializer('_x', self._x)
            self._x2 = serializer('_x2', self._x2)
            self._n = serialize_number(serializer, '_n', self._n)
        except KeyError:
            warnings.warn('The previous statistics are not saved.')


class DictSummary:
    """Mean and standard deviation of each entry of a series of dictionaries.

    Entries that are no scalars are left out.

    .. doctest::

        >>> summary = chainer.DictSummary()
        >>> summary.add({'loss': 1.0, 'name': 'a'})
        >>> summary.add({'loss': 3.0, 'name': 'b'})
        >>> summary.make_statistics()
        {'loss': 2.0, 'loss.std': 1.0}
    """

    def __init__(self):
        self._summaries = collections.defaultdict(Summary)

    def add(self, d):
        """Add a dictionary.

        Args:
            d (dict): Numbers, zero-dimensional arrays or variables of these, by name; or tuples
                of such a value and its weight.

        Raises:
            ValueError: If a weight is no scalar.
        """
        for name, value in d.items():
            weight = 1
            if isinstance(value, tuple):
                value, weight = value[:2]
                weight = variable.as_array(weight)
                if not _is_scalar(weight):
                    raise ValueError(f'Given weight to {name} was not scalar.')
            value = variable.as_array(value)
            if _is_scalar(value):
                self._summaries[name].add(value, weight=weight)

    def compute_mean(self):
        """Return the dictionary of the means."""
        return {name: summary.compute_mean() for name, summary in self._summaries.items()}

    def make_statistics(self):
        """Return the dictionary of means, and of standard deviations under ``NAME.std``."""
        statistics = {}
        for name, summary in self._summaries.items():
            mean, std = summary.make_statistics()
            statistics[name] = mean
            statistics[name + '.std'] = std
        return statistics

    def serialize(self, serializer):
        """Save or load names and sums.

        Args:
            serializer (~chainer.AbstractSerializer): Where to or from.
        """
        if isinstance(serializer, _Serializer):
            names = list(self._summaries)
            serializer('_names', json.dumps(names))
            for i, name in enumerate(names):
                self._summaries[name].serialize(serializer['_summaries'][str(i)])
            return
        self._summaries.clear()
        try:
            names = json.loads(str(serializer('_names', '')))
        except KeyError:
            warnings.warn('The names of statistics are not saved.')
            return
        for i, name in enumerate(names):
            self._summaries[name].serialize(serializer['_summaries'][str(i)])


_Serializer = serializer.Serializer


def _is_scalar(value):
    if isinstance(value, (str, bytes)):
        return False
    return numpy.isscalar(value) or getattr(value, 'ndim', -1) == 0
