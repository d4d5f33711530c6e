"""Ratios of sums."""
from chainer import reporter, variable
from chainer.training import extension
from chainer.training import trigger as trigger_module


class MicroAverage(extension.Extension):
    r"""Extension that reports the ratio of the sums of two reported values over an interval.

    .. math:: \frac{\sum_i n_i}{\sum_i d_i}

    With the numbers of right answers and of examples in each batch this is the accuracy over all
    examples, whatever the sizes of the batches.

    Args:
        numerator_key (str): Key of :math:`n_i` in the observations.
        denominator_key (str): Key of :math:`d_i`.
        result_key (str): Key to report the ratio under.
        trigger: When an interval ends, a trigger or a tuple such as ``(1, 'epoch')``.
    """

    priority = extension.PRIORITY_EDITOR

    def __init__(self, numerator_key, denominator_key, result_key, trigger=(1, 'epoch')):
        self._trigger = trigger_module.get_trigger(trigger)
        self._numerator_key = numerator_key
        self._denominator_key = denominator_key
        self._result_key = result_key
        self._numerator = 0.
        self._denominator = 0.

    def __call__(self, trainer):
        """Takes in the values of this iteration; reports the ratio if an interval ends."""
        observation = trainer.observation
        if self._numerator_key in observation and self._denominator_key in observation:
            self._numerator += float(variable.as_array(observation[self._numerator_key]))
            self._denominator += float(variable.as_array(observation[self._denominator_key]))
        if self._trigger(trainer) and self._denominator:
            observation[self._result_key] = self._numerator / self._denominator
            self._numerator = 0.
            self._denominator = 0.

    def serialize(self, serializer):
        """Saves or restores the sums so far."""
        trigger_module.serialize_trigger(self._trigger, serializer['_trigger'])
        self._numerator = reporter.serialize_number(serializer, '_numerator', self._numerator)
        self._denominator = reporter.serialize_number(
            serializer, '_denominator', self._denominator)
