"""From a short notation to triggers."""
from chainer.training.triggers import interval_trigger
from chainer.training.triggers.interval_trigger import IntervalTrigger

__all__ = ['IntervalTrigger', 'get_trigger']


def get_trigger(trigger):
    """Makes a trigger of its notation.

    A trigger is a callable that takes a trainer and tells whether something is due.

    Args:
        trigger: A trigger (returned as it is), a tuple such as ``(2, 'epoch')`` (gives an
            :class:`~chainer.training.triggers.IntervalTrigger`), or ``None`` (gives one that never
            fires).

    Raises:
        TypeError: ``trigger`` is something else.
        ValueError: Its unit is neither 'epoch' nor 'iteration', or its number is not positive.

    >>> from chainer import training
    >>> training.get_trigger((100, 'iteration')).period
    100
    """
    if callable(trigger):
        return trigger
    if trigger is None:
        return _never_fire_trigger
    if not isinstance(trigger, (tuple, list)) or len(trigger) != 2:
        raise TypeError(
            f"a trigger is a pair such as (3, 'epoch') or (100, 'iteration'), a function of the "
            f'trainer, or None; not {trigger!r}')
    return interval_trigger.IntervalTrigger(*trigger)


def _never_fire_trigger(trainer):
    return False


def serialize_trigger(trigger, serializer):
    """Serializes a trigger, if it is one that has a state."""
    serialize = getattr(trigger, 'serialize', None)
    if serialize is not None:
        serialize(serializer)
