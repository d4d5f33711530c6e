"""The interface between datasets and whoever eats minibatches."""


class Iterator:
    """Base of all dataset iterators: each ``next`` gives a minibatch, a list of examples.

    An iterator has the attributes ``batch_size``, ``epoch`` (finished sweeps over the dataset),
    ``epoch_detail`` (the same with a fraction), ``previous_epoch_detail`` (its value one batch
    before, ``None`` before the first batch) and ``is_new_epoch`` (whether the last batch finished a
    sweep). :meth:`serialize` saves what changes while iterating, so that training can resume.
    """

    def __del__(self):
        self.finalize()

    def __iter__(self):
        """The iterator itself."""
        return self

    def __next__(self):
        """The next minibatch; raises ``StopIteration`` at the end."""
        raise NotImplementedError(f'{type(self).__name__} must define __next__()')

    def next(self):
        """The same as ``__next__()``."""
        return self.__next__()

    def finalize(self):
        """Releases what the iterator holds (processes, threads, files); nothing by default."""

    def __enter__(self):
        """The iterator itself, finalized at the end of the ``with`` block."""
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        """Finalizes the iterator."""
        self.finalize()

    def serialize(self, serializer):
        """Saves or restores the state that changes while iterating; nothing by default."""
