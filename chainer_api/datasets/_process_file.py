"""Files shared by the processes of a dataset's readers."""
import os


class ProcessFile:
    """A file that each process opens for itself, and that can be pickled while open.

    A forked process shares the position in its parent's open files, so that two readers would move
    it under each other's hands. This one notices that the process is another, and opens again.

    Args:
        opener: Called without arguments, opens the file; pickled together with the object.
    """

    def __init__(self, opener):
        self._opener = opener
        self._closed = False
        self._open()

    def _open(self):
        self._file = self._opener()
        self._pid = os.getpid()

    def get(self):
        """The open file of this process; raises ``ValueError`` after :meth:`close`."""
        if self._closed:
            raise ValueError('I/O operation on closed file.')
        if self._pid != os.getpid():
            self._open()
        return self._file

    def close(self):
        """Closes the file in this process, for good."""
        self._closed = True
        self._file.close()

    def __getstate__(self):
        return self._opener, self._closed

    def __setstate__(self, state):
        self._opener, self._closed = state
        self._open()
        if self._closed:
            self._file.close()
