"""Every so many seconds."""


class TimeTrigger:
    """Fires in the first iteration that ends after each period of time.

    Args:
        period (float): Seconds, of :attr:`chainer.training.Trainer.elapsed_time`.
    """

    def __init__(self, period):
        self._period = period
        self._next_time = period

    def __call__(self, trainer):
        """Whether the end of a period has passed.

        Args:
            trainer (~chainer.training.Trainer): Its elapsed time is looked at.
        """
        if self._next_time >= trainer.elapsed_time:
            return False
        self._next_time += self._period
        return True

    def serialize(self, serializer):
        """Saves or restores the time at which to fire next."""
        self._next_time = serializer('next_time', self._next_time)
