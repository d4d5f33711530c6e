"""Every so many iterations or epochs."""
import numbers

from chainer.training.triggers import _progress


class IntervalTrigger(_progress.ProgressTrigger):
    """Fires each time a number of iterations or epochs has passed.

    Args:
        period (int or float): The number. For epochs it may have a fraction.
        unit (str): 'iteration' or 'epoch'.

    Raises:
        TypeError: ``period`` is no number.
        ValueError: ``unit`` is something else, or ``period`` is not positive.
    """

    def __init__(self, period, unit):
        super().__init__(unit)
        if not isinstance(period, numbers.Real):
            raise TypeError(f'the period of a trigger must be a number, not {period!r}')
        if not period > 0:
            raise ValueError(f'the period of a trigger must be positive, not {period!r}')
        self.period = period

    def __call__(self, trainer):
        """Whether the end of a period was reached or passed since the last call.

        Args:
            trainer (~chainer.training.Trainer): The counts of its updater are looked at.
        """
        before, now = self._step(trainer.updater)
        return before // self.period != now // self.period

    def get_training_length(self):
        """The period and the unit."""
        return self.period, self.unit

    def __str__(self):
        return f'{type(self).__name__}({self.period}, {self.unit!r})'
