"""What the triggers that count iterations or epochs share."""
import warnings

from chainer.utils import _errors


def load_flag(serializer, key, value, default):
    """What ``serializer(key, value)`` gives; ``default`` for snapshots of older versions."""
    try:
        return serializer(key, value)
    except KeyError:
        warnings.warn(
            f'the snapshot has no {key!r}, it was made by an older version; {default} is taken')
        return default


class ProgressTrigger:
    """Knows how far training was when it was last called.

    Args:
        unit (str): 'iteration' or 'epoch'.
    """

    def __init__(self, unit):
        if unit not in ('iteration', 'epoch'):
            raise _errors.AssertedValueError(
                f"the unit of a trigger must be 'iteration' or 'epoch', not {unit!r}")
        self.unit = unit
        self._previous_iteration = 0
        self._previous_epoch_detail = 0.

    def _step(self, updater):
        """The counts of the last call and of now, in the trigger's unit."""
        if self.unit == 'epoch':
            now, before = updater.epoch_detail, self._previous_epoch_detail
            if before < 0:
                before = updater.previous_epoch_detail
        else:
            now, before = updater.iteration, self._previous_iteration
            if before < 0:
                before = now - 1
        self.synchronize(updater)
        return before, now

    def synchronize(self, updater):
        """Takes the counts of an updater as those of the last call."""
        self._previous_iteration = updater.iteration
        # Updaters of the user may count nothing but iterations.
        self._previous_epoch_detail = getattr(
            updater, 'epoch_detail', self._previous_epoch_detail)

    def serialize(self, serializer):
        """Saves or restores the counts of the last call."""
        try:
            self._previous_iteration = serializer('previous_iteration', self._previous_iteration)
            self._previous_epoch_detail = serializer(
                'previous_epoch_detail', self._previous_epoch_detail)
        except KeyError:
            warnings.warn(
                f'the snapshot does not tell when this {type(self).__name__} was last called; it '
                'is taken to be the previous iteration')
            self._previous_iteration = -1
            self._previous_epoch_detail = -1.
