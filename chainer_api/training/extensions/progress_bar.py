"""How far the training is."""
import sys

from chainer.training import extension
from chainer.training.extensions import util


class ProgressBar(extension.Extension):
    """Extension that shows how far the training is, how fast it goes, and when it will end.

    On a terminal it rewrites four lines, in a notebook an output; a log file gets a line every ten
    seconds at most.

    Args:
        training_length (tuple): Length of the whole training, such as ``(20, 'epoch')``. ``None``
            takes it from the trainer's stop trigger; where that does not tell, the total is left
            out.
        update_interval (int): Number of iterations between two updates.
        bar_length (int): Length of the bars in characters.
        out: Stream.
    """

    def __init__(self, training_length=None, update_interval=100, bar_length=50, out=sys.stdout):
        self._update_interval = update_interval
        self._bar = _TrainerProgressBar(training_length, bar_length, out)
        self._shown = False

    def initialize(self, trainer):
        """Notes where the training begins."""
        self._bar.begin(trainer.updater.iteration, trainer.updater.epoch_detail)

    def __call__(self, trainer):
        """Updates the bar if it is time."""
        if trainer.updater.iteration % self._update_interval == 0:
            self._bar.trainer = trainer
            self._bar.update()
            self._shown = True

    def finalize(self):
        """Removes the bar."""
        if self._shown:
            self._bar.close()


class _TrainerProgressBar(util.ProgressBar):

    def __init__(self, training_length, bar_length, out):
        super().__init__(bar_length, out)
        self._training_length = training_length
        self.trainer = None

    def get_lines(self):
        updater = self.trainer.updater
        iteration, epoch, epoch_detail = updater.iteration, updater.epoch, updater.epoch_detail
        length, unit = self._training_length or _length_of(self.trainer.stop_trigger)
        status = f'{iteration:10} iter, {epoch} epoch'
        iterations_per_second, epochs_per_second = self.update_speed(iteration, epoch_detail)
        speed = f'{iterations_per_second:10.5g} iters/sec.'
        lines = []
        if length is not None:
            done, per_second = (
                (iteration, iterations_per_second) if unit == 'iteration'
                else (epoch_detail, epochs_per_second))
            lines.append(self.bar('     total', min(done / length, 1.)))
            status += f' / {length} {unit}s'
            speed += f' Estimated time to finish: {util.remaining(length - done, per_second)}.'
        lines.append(self.bar('this epoch', epoch_detail - int(epoch_detail)))
        return [*lines, status + '\n', speed + '\n']


def _length_of(trigger):
    get_training_length = getattr(trigger, 'get_training_length', None)
    return (None, None) if get_training_length is None else get_training_length()
