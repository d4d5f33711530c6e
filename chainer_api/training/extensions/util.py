"""Progress on terminals, in notebooks and in log files."""
import collections
import datetime
import sys
import time


class ProgressBar:
    """Base of progress bars: lines of text that replace each other.

    On a terminal the lines are written over the ones before. In a Jupyter notebook they are an
    output of their own. Any other stream is taken to be a log file and gets a line every now and
    then, without bars and control characters.

    Subclasses define :meth:`get_lines`.

    Args:
        bar_length (int): Length of the bars in characters; 50 if ``None``.
        out: Stream; standard output if ``None``.
    """

    def __init__(self, bar_length=None, out=None):
        out = sys.stdout if out is None else out
        self._display = _display_for(out)
        self._bar_length = 50 if bar_length is None else bar_length
        if isinstance(self._display, _LogFile):
            self._bar_length = 0
        self._recent = collections.deque(maxlen=101)

    def get_lines(self):
        """The lines to show now, each with its line end."""
        raise NotImplementedError(f'{type(self).__name__} must define get_lines()')

    def update(self):
        """Shows the lines."""
        self._display.show(self.get_lines())

    def close(self):
        """Removes the lines from a terminal."""
        self._display.close()

    def begin(self, iteration, epoch_detail):
        """Notes where the work begins, so that the first speed is known as well."""
        self._recent.append((iteration, epoch_detail, time.perf_counter()))

    def update_speed(self, iteration, epoch_detail):
        """Iterations and epochs per second, from the last hundred calls of this.

        They are infinite in the first call, if :meth:`begin` was not called before.
        """
        now = time.perf_counter()
        self._recent.append((iteration, epoch_detail, now))
        if len(self._recent) == 1:
            return float('inf'), float('inf')
        old_iteration, old_epoch_detail, then = self._recent[0]
        seconds = max(now - then, 1e-9)
        return (iteration - old_iteration) / seconds, (epoch_detail - old_epoch_detail) / seconds

    def bar(self, label, rate):
        """A line with a bar that is filled to ``rate``, a number from 0 to 1."""
        if not self._bar_length:
            return f'{label} {rate:6.2%}\n'
        marks = '#' * int(rate * self._bar_length)
        return f'{label} [{marks:.<{self._bar_length}}] {rate:6.2%}\n'


def remaining(length, per_second):
    """The time that something takes, as text."""
    if not per_second:
        return 'unknown'
    return str(datetime.timedelta(seconds=max(length, 0.) / per_second))


def flush(out):
    """Flushes a stream that can be flushed; all that a stream needs is ``write``."""
    method = getattr(out, 'flush', None)
    if method is not None:
        method()


def _display_for(out):
    if getattr(out, 'isatty', bool)():
        return _Terminal(out)
    if type(out).__module__.partition('.')[0] == 'ipykernel':
        return Notebook()
    return _LogFile(out)


class _Terminal:

    def __init__(self, out):
        self._out = out

    def show(self, lines):
        self._out.write('\033[J')
        self._out.write(''.join(lines))
        self._out.write(f'\033[{len(lines)}A')
        flush(self._out)

    def close(self):
        self._out.write('\033[J')
        flush(self._out)


class _LogFile:

    interval = 10.  # seconds

    def __init__(self, out):
        self._out = out
        self._next = float('-inf')
        self._waiting = None

    def show(self, lines):
        self._waiting = ', '.join(line.strip() for line in lines) + '\n'
        if time.monotonic() >= self._next:
            self._write()

    def _write(self):
        self._out.write(self._waiting)
        flush(self._out)
        self._waiting = None
        self._next = time.monotonic() + self.interval

    def close(self):
        if self._waiting is not None:
            self._write()


class Notebook:
    """An output of a notebook's cell that can be replaced."""

    def __init__(self):
        self._handle = None

    def show(self, lines):
        """Shows lines of text instead of what was shown before."""
        self.show_data({'text/plain': ''.join(lines)})

    def show_data(self, data):
        """Shows data by MIME type instead of what was shown before."""
        from IPython import display
        if self._handle is None:
            self._handle = display.display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def close(self):
        """Leaves what is shown."""
