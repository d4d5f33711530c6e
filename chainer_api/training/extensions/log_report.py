"""Means of what was reported, in a file."""
import json
import os

from chainer import reporter
from chainer.training import _files, extension
from chainer.training import trigger as trigger_module


class LogReport(extension.Extension):
    """Extension that writes the means of reported values over intervals to a log, a JSON file.

    The extension itself is called in each iteration. An entry of the log is a dictionary of means,
    with 'epoch', 'iteration' and 'elapsed_time' (in seconds) at the end of its interval.

    Args:
        keys (iterable of str): Keys of the values; all that are reported if ``None``.
        trigger: When an interval ends, a trigger or a tuple such as ``(1, 'epoch')``.
        postprocess: Called with each new entry, which it may change.
        log_name (str): Name of the file in the trainer's ``out``, a format string that is formatted
            with the last entry; no file is written if it is ``None``. ``filename`` is accepted as
            well.
    """

    def __init__(self, keys=None, trigger=(1, 'epoch'), postprocess=None, log_name='log', *,
                 filename=None):
        self._keys = keys
        self._trigger = trigger_module.get_trigger(trigger)
        self._postprocess = postprocess
        self._log_name = log_name if filename is None else filename
        self._log = []
        self._init_summary()

    def _init_summary(self):
        """Begin an interval; what derives from this class calls it as well."""
        self._summary = reporter.DictSummary()

    @property
    def log(self):
        """The entries so far, a list of dictionaries."""
        return self._log

    def __call__(self, trainer):
        """Takes in the values of this iteration; writes an entry if an interval ends."""
        observation = trainer.observation
        if self._keys is not None:
            observation = {key: observation[key] for key in self._keys if key in observation}
        self._summary.add(observation)
        if not self._trigger(trainer):
            return
        entry = {key: float(mean) for key, mean in self._summary.compute_mean().items()}
        self._init_summary()
        updater = trainer.updater
        entry['epoch'] = updater.epoch
        entry['iteration'] = updater.iteration
        entry['elapsed_time'] = trainer.elapsed_time
        if self._postprocess is not None:
            self._postprocess(entry)
        self._log.append(entry)
        if self._log_name is not None:
            path = os.path.join(trainer.out, self._log_name.format(**entry))
            _files.write_whole(path, self._write)

    def _write(self, path):
        with open(path, 'w', encoding='ascii') as file:
            json.dump(self._log, file, indent=4)

    def serialize(self, serializer):
        """Saves or restores the log and the values of the interval so far."""
        trigger_module.serialize_trigger(self._trigger, serializer['_trigger'])
        self._summary.serialize(serializer['_summary'])
        self._log = json.loads(str(serializer('_log', json.dumps(self._log))))
