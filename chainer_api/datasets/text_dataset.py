"""Lines of text files, read when they are asked for."""
import functools
import threading

from chainer.dataset import dataset_mixin
from chainer.datasets import _process_file


class TextDataset(dataset_mixin.DatasetMixin):
    """Lines of one text file, or of several in parallel.

    The constructor notes where each line starts; a line is read when it is asked for. Lines keep
    their line ends. May be pickled, and read by several threads and forked processes, as long as
    nobody changes the files.

    Args:
        paths (str or list of str): A file, whose examples are strings, or a list of files with one
            number of lines, whose examples are tuples of strings (for a list of one: strings).
        encoding (str or list of str): As for :func:`open`; a list has one for each file.
        errors (str or list of str): As for :func:`open`; a list has one for each file.
        newline (str or list of str): As for :func:`open`; a list has one for each file.
        filter_func: Called with a line of each file; the lines are left out if it returns false.

    Raises:
        ValueError: No files, files of different length, or an option for another number of files.

    >>> import tempfile
    >>> from chainer.datasets import TextDataset
    >>> with tempfile.NamedTemporaryFile('w', suffix='.txt') as file:
    ...     _ = file.write('one\\ntwo\\nthree\\n')
    ...     file.flush()
    ...     lines = TextDataset(file.name, filter_func=lambda line: 'o' in line)
    ...     lines[:]
    ['one\\n', 'two\\n']
    """

    def __init__(self, paths, encoding=None, errors=None, newline=None, filter_func=None):
        if isinstance(paths, str):
            paths = [paths]
        if not paths:
            raise ValueError('at least one text file must be specified')
        options = [_one_for_each(paths, option) for option in (encoding, errors, newline)]
        self._files = [
            _process_file.ProcessFile(
                functools.partial(open, path, encoding=e, errors=r, newline=n))
            for path, e, r, n in zip(paths, *options, strict=True)]
        self._lock = threading.Lock()
        starts = [_line_starts(file.get()) for file in self._files]
        if len(set(map(len, starts))) > 1:
            counts = ', '.join(f'{p}: {len(s)}' for p, s in zip(paths, starts, strict=True))
            raise ValueError(f'number of lines in files does not match ({counts})')
        self._starts = list(zip(*starts, strict=True))
        if filter_func is not None:
            self._starts = [s for s in self._starts if filter_func(*self._read(s))]

    def __len__(self):
        """The number of lines."""
        return len(self._starts)

    def get_example(self, idx):
        """Line ``idx`` of the file, or the tuple of these lines of all files."""
        if not 0 <= idx < len(self._starts):
            raise IndexError(f'line {idx} of a TextDataset of {len(self)} lines')
        lines = self._read(self._starts[idx])
        return lines if len(lines) > 1 else lines[0]

    def close(self):
        """Closes the files; they also close when the dataset goes out of scope."""
        for file in self._files:
            file.close()

    def _read(self, starts):
        lines = []
        with self._lock:
            for file, start in zip(self._files, starts, strict=True):
                opened = file.get()
                opened.seek(start)
                lines.append(opened.readline())
        return tuple(lines)

    def __getstate__(self):
        return {key: value for key, value in vars(self).items() if key != '_lock'}

    def __setstate__(self, state):
        vars(self).update(state)
        self._lock = threading.Lock()


def _one_for_each(paths, option):
    if option is None or isinstance(option, str):
        return [option] * len(paths)
    if len(option) != len(paths):
        raise ValueError(
            'length of each option must match with the number of text files to read: '
            f'{len(option)} for {len(paths)} files')
    return option


def _line_starts(file):
    starts = []
    position = file.tell()
    while file.readline():
        starts.append(position)
        position = file.tell()
    return starts
