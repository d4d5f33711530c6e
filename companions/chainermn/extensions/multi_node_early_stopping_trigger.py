"""When to stop, decided by all processes together."""
from chainer.training.triggers import early_stopping_trigger
from chainermn.extensions import observation_aggregator


class MultiNodeEarlyStoppingTrigger:
    """Fires in all processes at once when the mean of a value over them gets no better any more.

    With :class:`~chainer.training.triggers.EarlyStoppingTrigger` each process would decide for
    itself, and those that go on would wait for the others.

    Args:
        comm (CommunicatorBase): Communicator.
        check_trigger: When to compare.
        monitor (str): Key of the value in the observations.
        patience (int): Number of intervals in a row without a better mean; ``patients`` is
            accepted as well.
        mode (str): 'max', 'min' or 'auto'.
        verbose (bool): Whether to write to standard output when it fires.
        max_trigger: When to fire in any case.
        suffix (str): Appended to ``monitor`` for the key under which the mean is reported.

    Raises:
        TypeError: There are other arguments.
    """

    def __init__(self, comm, *, check_trigger=(1, 'epoch'), monitor='main/loss', patience=None,
                 mode='auto', verbose=False, max_trigger=(100, 'epoch'), suffix='_aggregated',
                 **kwargs):
        patients = kwargs.pop('patients', 3)
        if kwargs:
            names = ', '.join(map(repr, kwargs))
            raise TypeError(f'__init__() got unexpected keyword argument(s) {names}')
        self.aggregator = observation_aggregator.ObservationAggregator(
            comm, monitor, monitor + suffix)
        self.actual_trigger = early_stopping_trigger.EarlyStoppingTrigger(
            check_trigger, monitor + suffix, patients, mode, verbose, max_trigger,
            patience=patience)

    def __call__(self, trainer):
        """Takes the value of this iteration in; whether training should stop."""
        self.aggregator(trainer)
        return self.actual_trigger(trainer)

    def get_training_length(self):
        """The period and the unit of ``max_trigger``."""
        return self.actual_trigger.get_training_length()

    def serialize(self, serializer):
        """Saves or restores the best mean and the count."""
        self.actual_trigger.serialize(serializer)
