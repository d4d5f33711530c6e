"""Mini-batches of a long text that is read at several places at once."""
import chainer


class ParallelSequentialIterator(chainer.dataset.Iterator):
    """Iterator that reads a text from equally spaced places, one word further at each step.

    Each mini-batch is a list of pairs: a word, and the word that follows. When all words have been
    read once, an epoch is over; the places go on into the parts where others have begun.

    Args:
        dataset: Array of the words' numbers.
        batch_size (int): At how many places the text is read.
        repeat (bool): Whether it goes on after one epoch.
    """

    def __init__(self, dataset, batch_size, repeat=True):
        self.dataset = dataset
        self.batch_size = batch_size
        self.repeat = repeat
        self.epoch = 0
        self.is_new_epoch = False
        self.offsets = [i * len(dataset) // batch_size for i in range(batch_size)]
        self.iteration = 0  # of this iterator; an update can take several
        self._previous_epoch_detail = -1.

    def __next__(self):
        length = len(self.dataset)
        if not self.repeat and self.iteration * self.batch_size >= length:
            raise StopIteration
        words = self.get_words()
        self._previous_epoch_detail = self.epoch_detail
        self.iteration += 1
        next_words = self.get_words()

        epoch = self.iteration * self.batch_size // length
        self.is_new_epoch = self.epoch < epoch
        self.epoch = epoch
        return list(zip(words, next_words))

    def get_words(self):
        return [self.dataset[(offset + self.iteration) % len(self.dataset)]
                for offset in self.offsets]

    @property
    def epoch_detail(self):
        return self.iteration * self.batch_size / len(self.dataset)

    @property
    def previous_epoch_detail(self):
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    def serialize(self, serializer):
        self.iteration = serializer('iteration', self.iteration)
        self.epoch = serializer('epoch', self.epoch)
        self._previous_epoch_detail = serializer(
            'previous_epoch_detail', self._previous_epoch_detail)
