"""Link hook that measures time."""
import sys
import time

from chainer import link_hook
from chainer.backends import cuda
from chainer.function_hooks import _report


class TimerHook(link_hook.LinkHook):
    """Link hook that measures how long the forward methods of links take.

    The time of a link includes that of the links that it calls, which are measured, too.

    Attributes:
        table (dict): How many of each unit a second is.
        call_history (list): Pairs of a link's class name and its time in seconds.

    Example:
        >>> import chainer
        >>> class Twice(chainer.Link):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> hook = chainer.link_hooks.TimerHook()
        >>> with hook:
        ...     y = Twice()(3)
        >>> [name for name, seconds in hook.call_history]
        ['Twice']
        >>> hook.print_report()  # doctest: +SKIP
        LinkName  ElapsedTime  Occurrence
           Twice       0.72us           1
    """

    name = 'TimerHook'
    table = _report.PER_SECOND

    def __init__(self):
        self.call_history = []
        self._running = []  # pairs of a link and the time when it started, innermost last
        self._total_time = 0

    def forward_preprocess(self, args):
        if args.link.xp is cuda.cupy:
            start = cuda.Event()
            start.record()
        else:
            start = time.perf_counter()
        self._running.append((args.link, start))

    def forward_postprocess(self, args):
        link, start = self._running.pop()
        while link is not args.link:  # calls that ended with an exception
            link, start = self._running.pop()
        if isinstance(start, float):
            seconds = time.perf_counter() - start
        else:
            stop = cuda.Event()
            stop.record()
            stop.synchronize()
            seconds = cuda.cupy.cuda.get_elapsed_time(start, stop) / 1000
        self.call_history.append((type(link).__name__, seconds))
        if not self._running:
            self._total_time += seconds

    def total_time(self):
        """Returns the time of all outermost calls, in seconds."""
        return self._total_time

    def summary(self):
        """Returns a summary of all calls.

        Returns:
            dict: For each class name, a dict of its ``elapsed_time`` (seconds) and ``occurrence``
            (number of calls).
        """
        summary = {}
        for name, seconds in self.call_history:
            record = summary.setdefault(name, {'elapsed_time': 0, 'occurrence': 0})
            record['elapsed_time'] += seconds
            record['occurrence'] += 1
        return summary

    def print_report(self, file=sys.stdout, unit='auto'):
        """Writes a table of times and numbers of calls.

        Args:
            file: Output file.
            unit (str): Unit of the times: ``'sec'``, ``'ms'``, ``'us'`` or ``'ns'``, ``'auto'``
                (the one that fits the largest) or ``'auto_foreach'`` (one for each).

        Raises:
            ValueError: ``unit`` is another one.
        """
        if isinstance(file, str):  # Chainer 7 takes the unit first
            file, unit = sys.stdout if unit == 'auto' else unit, file
        rows = [('LinkName', 'ElapsedTime', 'Occurrence')]
        summary = self.summary()
        unit = _report.choose([r['elapsed_time'] for r in summary.values()], _report.SECONDS, unit)
        for name, record in summary.items():
            elapsed = _report.with_unit(record['elapsed_time'], _report.SECONDS, unit)
            rows.append((name, elapsed, str(record['occurrence'])))
        _report.write_table(rows, file)
