"""Hook that measures time."""
import time

from chainer import function_hook
from chainer.backends import cuda
from chainer.function_hooks import _report


class TimerHook(function_hook.FunctionHook):
    """Hook that measures how long functions take.

    The time of a backward computation includes that of the functions that it applies, which are
    measured, too.

    Methods compiled by :func:`chainer.static_graph` go define-by-run in the block of a hook, so
    that each function has its time. With ``compiled=True`` their programs run, and what is
    measured are the parts of these: a kernel that computes several functions has the names of all
    of them, joined by ``+``.

    Args:
        compiled (bool): Whether compiled methods are measured as they are compiled.

    Attributes:
        table (dict): How many of each unit a second is.
        call_history (list): Pairs of a function's name and its time in seconds.

    .. doctest::

        >>> x = chainer.Variable(np.ones(3, np.float32))
        >>> hook = chainer.function_hooks.TimerHook()
        >>> with hook:
        ...     y = x * 2 + x
        >>> [name for name, seconds in hook.call_history]
        ['MulConstant', 'Add']
        >>> hook.print_report()  # doctest: +SKIP
        FunctionName  ElapsedTime  Occurrence
         MulConstant      24.55us           1
                 Add      18.81us           1
    """

    name = 'TimerHook'
    table = _report.PER_SECOND

    def __init__(self, compiled=False):
        self.sees_programs = compiled
        self.call_history = []
        self._started = []  # of the functions that are running, innermost last
        self._total = 0.0

    def _preprocess(self, arrays):
        if any([isinstance(x, cuda.ndarray) for x in arrays]):
            start = cuda.Event()
            start.record()
        else:
            start = time.perf_counter()
        self._started.append(start)

    def _postprocess(self, function):
        start = self._started.pop()
        if isinstance(start, float):
            seconds = time.perf_counter() - start
        else:
            stop = cuda.Event()
            stop.record()
            stop.synchronize()
            seconds = cuda.cupy.cuda.get_elapsed_time(start, stop) / 1000
        self.call_history.append((function._impl_name, seconds))
        if not self._started:
            self._total += seconds

    def forward_preprocess(self, function, in_data):
        self._preprocess(in_data)

    def forward_postprocess(self, function, in_data):
        self._postprocess(function)

    def backward_preprocess(self, function, in_data, out_grad):
        self._preprocess(in_data + out_grad)

    def backward_postprocess(self, function, in_data, out_grad):
        self._postprocess(function)

    def program_part(self, name, seconds):
        self.call_history.append((name, seconds))
        if not self._started:
            self._total += seconds

    def total_time(self):
        """Return the time of all functions in seconds; what ran inside of another counts once."""
        return self._total

    def summary(self):
        """Return a dictionary: for each function's name, another one of its ``elapsed_time``
        (seconds) and ``occurrence`` (number of calls)."""
        summary = {}
        for name, seconds in self.call_history:
            record = summary.setdefault(name, {'elapsed_time': 0, 'occurrence': 0})
            record['elapsed_time'] += seconds
            record['occurrence'] += 1
        return summary

    def print_report(self, file=None, unit='auto_foreach'):
        """Write a table of times and numbers of calls.

        Args:
            file: Output file, standard output by default.
            unit ({'auto', 'auto_foreach', 'sec', 'ms', 'us', 'ns'}): Unit of the times; by default
                one that fits each, and with ``'auto'`` one for all.
        """
        rows = [('FunctionName', 'ElapsedTime', 'Occurrence')]
        summary = self.summary()
        unit = _report.choose([r['elapsed_time'] for r in summary.values()], _report.SECONDS, unit)
        for name, record in summary.items():
            elapsed = _report.with_unit(record['elapsed_time'], _report.SECONDS, unit)
            rows.append((name, elapsed, str(record['occurrence'])))
        _report.write_table(rows, file)
