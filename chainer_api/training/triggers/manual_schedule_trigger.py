"""At given iterations or epochs."""
from chainer.training.triggers import _progress


class ManualScheduleTrigger(_progress.ProgressTrigger):
    """Fires at given numbers of iterations or epochs.

    Args:
        points (int, float, or list of int or float): The numbers. For epochs they may have
            fractions.
        unit (str): 'iteration' or 'epoch'.

    Attributes:
        finished (bool): Whether the last point has passed.

    Raises:
        ValueError: ``unit`` is something else.
    """

    def __init__(self, points, unit):
        super().__init__(unit)
        self.points = list(points) if isinstance(points, (list, tuple)) else [points]
        self.finished = False

    def __call__(self, trainer):
        """Whether a point was reached or passed since the last call.

        Args:
            trainer (~chainer.training.Trainer): The counts of its updater are looked at.
        """
        before, now = self._step(trainer.updater)
        self.finished = self.finished or now >= max(self.points, default=float('inf'))
        return any(before < point <= now for point in self.points)

    def serialize(self, serializer):
        """Saves or restores the counts of the last call."""
        super().serialize(serializer)
        self.finished = _progress.load_flag(serializer, 'finished', self.finished, default=False)
