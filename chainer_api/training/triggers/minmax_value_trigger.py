"""When a reported value is better than ever before."""
import operator
import warnings

from chainer import reporter
from chainer.training import trigger as trigger_module


class BestValueTrigger:
    """Fires when the mean of a reported value over an interval is better than all before.

    Args:
        key (str): Key of the value in the observations.
        compare: Called with the best mean so far and a new one, tells whether the new one is
            better.
        trigger: When to take the mean and compare, a trigger or a tuple for
            :class:`~chainer.training.triggers.IntervalTrigger`.
    """

    def __init__(self, key, compare, trigger=(1, 'epoch')):
        self._key = key
        self._best_value = None
        self._compare = compare
        self._interval_trigger = trigger_module.get_trigger(trigger)
        self._summary = reporter.DictSummary()

    def __call__(self, trainer):
        """Takes the value of this iteration in; whether the best mean was reached.

        Args:
            trainer (~chainer.training.Trainer): Its observation is looked at.

        Raises:
            KeyError: The value was not reported in the whole interval.
        """
        if self._key in trainer.observation:
            self._summary.add({self._key: trainer.observation[self._key]})
        if not self._interval_trigger(trainer):
            return False
        means = self._summary.compute_mean()
        if self._key not in means:
            raise KeyError(
                f'{self._key!r} was not reported in the interval of a {type(self).__name__}; in '
                f'this iteration these were: {sorted(trainer.observation)}')
        self._summary = reporter.DictSummary()
        value = float(means[self._key])
        if self._best_value is not None and not self._compare(self._best_value, value):
            return False
        self._best_value = value
        return True

    def serialize(self, serializer):
        """Saves or restores the best mean and the values of the interval so far."""
        try:
            self._best_value = serializer('best_value', self._best_value)
        except KeyError:
            warnings.warn(f'the snapshot does not have the state of a {type(self).__name__}: it '
                          'starts anew (Chainer 5 did not save it)')
            return
        trigger_module.serialize_trigger(
            self._interval_trigger, serializer['interval_trigger'])
        self._summary.serialize(serializer['summary'])


class MaxValueTrigger(BestValueTrigger):
    """Fires when the mean of a reported value over an interval is higher than all before.

    Args:
        key (str): Key of the value in the observations.
        trigger: When to take the mean and compare.
    """

    def __init__(self, key, trigger=(1, 'epoch')):
        super().__init__(key, operator.lt, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires when the mean of a reported value over an interval is lower than all before.

    Args:
        key (str): Key of the value in the observations.
        trigger: When to take the mean and compare.
    """

    def __init__(self, key, trigger=(1, 'epoch')):
        super().__init__(key, operator.gt, trigger)
