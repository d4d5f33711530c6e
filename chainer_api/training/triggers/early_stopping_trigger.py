"""When a reported value does not get better any more."""
import operator
import sys
import warnings

from chainer import reporter
from chainer.training import trigger as trigger_module


class EarlyStoppingTrigger:
    """Fires when the mean of a reported value was not better than the best for several intervals.

    Meant as the stop trigger of a trainer.

    Args:
        check_trigger: When to take the mean and compare, a trigger or a tuple for
            :class:`~chainer.training.triggers.IntervalTrigger`.
        monitor (str): Key of the value in the observations.
        patients (int): Number of intervals in a row without a better mean that make it fire;
            ``patience`` is accepted as well.
        mode (str): 'max' if higher is better, 'min' if lower is, 'auto' for 'max' if ``monitor``
            has 'accuracy' in it, else 'min'.
        verbose (bool): Whether to write to standard output what it compares by, and when it fires.
        max_trigger: When to fire in any case.

    Raises:
        TypeError: Both ``patients`` and ``patience`` are given.
        ValueError: ``mode`` is none of the three.
    """

    def __init__(self, check_trigger=(1, 'epoch'), monitor='main/loss', patients=3, mode='auto',
                 verbose=False, max_trigger=(100, 'epoch'), *, patience=None):
        if patience is None:
            patience = patients
        elif patients != 3:
            raise TypeError(
                "'patients' and 'patience' are two names of one argument; give one of them")
        if mode not in ('auto', 'max', 'min'):
            raise ValueError(f"mode must be 'auto', 'max' or 'min', not {mode!r}")
        if mode == 'auto':
            mode = 'max' if 'accuracy' in monitor else 'min'
        self.count = 0
        self.patience = patience
        self.monitor = monitor
        self.verbose = verbose
        self.best = float('-inf' if mode == 'max' else 'inf')
        self._compare = operator.gt if mode == 'max' else operator.lt
        if verbose:
            name = 'greater' if mode == 'max' else 'less'
            sys.stdout.write(f'early stopping: operator is {name}\n')
        self._max_trigger = trigger_module.get_trigger(max_trigger)
        self._interval_trigger = trigger_module.get_trigger(check_trigger)
        self._summary = reporter.DictSummary()
        self._warned = False

    def __call__(self, trainer):
        """Takes the value of this iteration in; whether training should stop.

        Args:
            trainer (~chainer.training.Trainer): Its observation is looked at.
        """
        observation = trainer.observation
        if self.monitor in observation:
            self._summary.add({self.monitor: observation[self.monitor]})
        if self._max_trigger(trainer):
            return True
        if not self._interval_trigger(trainer):
            return False
        means = self._summary.compute_mean()
        if self.monitor not in means:
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f'EarlyStoppingTrigger waits for {self.monitor!r}, which was not reported; in '
                    f'this iteration these were: {sorted(observation)}')
            return False
        self._summary = reporter.DictSummary()
        value = float(means[self.monitor])
        if self._compare(value, self.best):
            self.best = value
            self.count = 0
        else:
            self.count += 1
        if self.count < self.patience:
            return False
        if self.verbose:
            sys.stdout.write(f'Epoch {trainer.updater.epoch}: early stopping\n')
        return True

    @property
    def patients(self):
        """The number of intervals, as Chainer 5 calls :attr:`patience`."""
        return self.patience

    def get_training_length(self):
        """The period and the unit of ``max_trigger``."""
        return self._max_trigger.get_training_length()

    def serialize(self, serializer):
        """Saves or restores the best mean, the count, and the values of the interval so far."""
        try:
            self.best = serializer('best', self.best)
        except KeyError:
            warnings.warn('the snapshot does not have the state of EarlyStoppingTrigger: it starts '
                          'anew (Chainer did not save it)')
            return
        self.count = serializer('count', self.count)
        self._summary.serialize(serializer['summary'])
        trigger_module.serialize_trigger(self._interval_trigger, serializer['check_trigger'])
        trigger_module.serialize_trigger(self._max_trigger, serializer['max_trigger'])
