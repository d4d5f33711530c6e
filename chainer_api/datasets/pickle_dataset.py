"""Any Python objects in one file, read when they are asked for."""
import functools
import pickle
import threading

from chainer.dataset import dataset_mixin
from chainer.datasets import _process_file


class PickleDataset(dataset_mixin.DatasetMixin):
    """Objects from a file of pickles, as :class:`PickleDatasetWriter` writes it.

    The constructor reads through the file to find where each pickle starts; an object is loaded
    when it is asked for. Unpickling can run any code: open only files you trust.

    Args:
        reader: Binary file object that can seek. One opened by :func:`open_pickle_dataset` can
            also be read in forked processes.

    Raises:
        ValueError: The file is no sequence of pickles, or ends in the middle of one.

    >>> import io
    >>> from chainer.datasets import PickleDataset, PickleDatasetWriter
    >>> file = io.BytesIO()
    >>> writer = PickleDatasetWriter(file)
    >>> for example in (1, 'one'), (2, 'two'):
    ...     writer.write(example)
    >>> PickleDataset(file)[1]
    (2, 'two')
    """

    def __init__(self, reader):
        self._reader = reader
        self._lock = threading.Lock()
        self._positions = _pickle_starts(self._file())

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def __len__(self):
        """The number of objects."""
        return len(self._positions)

    def close(self):
        """Closes the file; the dataset cannot be read any more."""
        with self._lock:
            self._reader.close()

    def get_example(self, index):
        """The object number ``index``."""
        with self._lock:
            file = self._file()
            file.seek(self._positions[index])
            return pickle.load(file)

    def _file(self):
        if isinstance(self._reader, _process_file.ProcessFile):
            return self._reader.get()
        return self._reader

    def __getstate__(self):
        return {key: value for key, value in vars(self).items() if key != '_lock'}

    def __setstate__(self, state):
        vars(self).update(state)
        self._lock = threading.Lock()


class PickleDatasetWriter:
    """Writes objects one after the other into a file for :class:`PickleDataset`.

    Args:
        writer: Binary file object.
        protocol (int): Protocol of :mod:`pickle`.
    """

    def __init__(self, writer, protocol=pickle.HIGHEST_PROTOCOL):
        self._writer = writer
        self._protocol = protocol

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.close()

    def write(self, x):
        """Appends an object."""
        pickle.dump(x, self._writer, protocol=self._protocol)

    def flush(self):
        """Flushes the file."""
        self._writer.flush()

    def close(self):
        """Closes the file."""
        self._writer.close()


def open_pickle_dataset(path):
    """Opens the :class:`PickleDataset` in the file ``path``; close it, or use it with ``with``."""
    return PickleDataset(_process_file.ProcessFile(functools.partial(open, path, 'rb')))


def open_pickle_dataset_writer(path, protocol=pickle.HIGHEST_PROTOCOL):
    """Makes the file ``path`` and a :class:`PickleDatasetWriter` on it.

    Args:
        path (str): The file, replaced if it exists.
        protocol (int): Protocol of :mod:`pickle`.

    Returns:
        PickleDatasetWriter: Close it, or use it with ``with``.
    """
    return PickleDatasetWriter(open(path, 'wb'), protocol)


def _pickle_starts(file):
    end = file.seek(0, 2)
    position = file.seek(0)
    starts = []
    while position < end:
        starts.append(position)
        try:
            pickle.load(file)
        except (pickle.UnpicklingError, EOFError) as error:
            raise ValueError(
                f'{getattr(file, "name", "the file")} is no dataset of pickles, or it is truncated '
                f'or damaged: object {len(starts) - 1}, at byte {position} of {end}, '
                f'cannot be read ({error})') from error
        position = file.tell()
    return starts
