"""Reported values, averaged over the processes."""
import chainer
from chainer.training import extension, trigger


class ObservationAggregator(extension.Extension):
    """Extension that reports the mean of an observed value over all processes.

    Args:
        comm (CommunicatorBase): Communicator.
        original_key (str): Key of the value.
        aggregated_key (str): Key of the mean; ``original_key`` by default, whose value it takes
            the place of.
        comm_trigger: When the processes communicate; the mean is then over all values since the
            last time.
        aggregator: Called with a list, for each process, of the list of its values, instead of
            taking the mean.
    """

    trigger = 1, 'iteration'
    priority = extension.PRIORITY_EDITOR
    name = None

    def __init__(self, comm, original_key, aggregated_key=None, *, comm_trigger=(1, 'iteration'),
                 aggregator=None):
        self.comm = comm
        self.original_key = original_key
        self.aggregated_key = original_key if aggregated_key is None else aggregated_key
        self.comm_trigger = trigger.get_trigger(comm_trigger)
        self.aggregator = _mean if aggregator is None else aggregator
        self.observation_history = []

    def __call__(self, trainer):
        if self.original_key in trainer.observation:
            value = trainer.observation[self.original_key]
            if isinstance(value, chainer.Variable):
                value = value.array
            if isinstance(value, chainer.get_array_types()):
                value = chainer.backends.cuda.to_cpu(value)
                value = value.item() if value.ndim == 0 else value
            self.observation_history.append(value)
        if not self.comm_trigger(trainer):
            return
        everything = self.comm.gather_obj(self.observation_history)
        self.observation_history = []
        result = None if everything is None else self.aggregator(everything)
        result = self.comm.bcast_obj(result)
        if result is not None:
            trainer.observation[self.aggregated_key] = result

    def serialize(self, serializer):
        self.comm_trigger.serialize(serializer['comm_trigger'])


def _mean(everything):
    values = [value for each in everything for value in each]
    return sum(values) / len(values) if values else None
