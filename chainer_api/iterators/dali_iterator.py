"""Batches from an NVIDIA DALI pipeline."""
from chainer.dataset import iterator


class DaliIterator(iterator.Iterator):
    """Iterator over the batches of a DALI pipeline (experimental).

    A batch is what ``pipeline.run()`` returns, a tuple of DALI's tensor lists: give the updater a
    ``converter`` that makes arrays of them. A pipeline cannot be set to a position: resuming
    restores the counts of epochs, but the pipeline starts anew.

    Args:
        pipeline: A ``nvidia.dali.pipeline.Pipeline`` with one reader; built here at the first
            batch.
        repeat (bool): Whether to go on after the first epoch.

    Raises:
        TypeError: ``pipeline`` is no pipeline.
    """

    def __init__(self, pipeline, repeat=True):
        missing = [name for name in ('build', 'run', 'epoch_size', 'batch_size')
                   if not hasattr(pipeline, name)]
        if missing:
            raise TypeError(
                'DaliIterator takes a pipeline of the package nvidia-dali, but '
                f'{type(pipeline).__name__} has no {", ".join(missing)}')
        self.pipeline = pipeline
        self._repeat = repeat
        self._epoch_size = None
        self.reset()

    def reset(self):
        """Sets the counts to zero."""
        self.current_position = 0
        self.epoch = 0
        self.is_new_epoch = False
        self._previous_epoch_detail = None

    @property
    def batch_size(self):
        """The batch size of the pipeline."""
        return self.pipeline.batch_size

    @property
    def repeat(self):
        """Whether the iterator goes on after the first epoch."""
        return self._repeat

    @property
    def epoch_detail(self):
        """The number of finished epochs, with the fraction of the current one."""
        return self.epoch + self.current_position / (self._epoch_size or 1)

    @property
    def previous_epoch_detail(self):
        """:attr:`epoch_detail` before the last batch; ``None`` before the first one."""
        return self._previous_epoch_detail

    def __next__(self):
        """What the pipeline gives next; raises ``StopIteration`` at the end."""
        if self._epoch_size is None:
            self.pipeline.build()
            self._epoch_size = next(iter(self.pipeline.epoch_size().values()))
        if not self._repeat and self.epoch > 0:
            raise StopIteration
        self._previous_epoch_detail = self.epoch_detail
        batch = self.pipeline.run()
        epochs, position = divmod(self.current_position + self.batch_size, self._epoch_size)
        self.is_new_epoch = epochs > 0
        self.epoch += epochs
        self.current_position = position if self._repeat or not epochs else 0
        return batch

    next = __next__

    def serialize(self, serializer):
        """Saves or restores the counts."""
        self.current_position = serializer('current_position', self.current_position)
        self.epoch = serializer('epoch', self.epoch)
        self.is_new_epoch = serializer('is_new_epoch', self.is_new_epoch)
        previous = self._previous_epoch_detail
        previous = serializer('previous_epoch_detail', -1. if previous is None else previous)
        self._previous_epoch_detail = None if previous < 0 else previous
