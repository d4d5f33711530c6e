"""Hook that measures memory on the GPU."""
from chainer import function_hook
from chainer.backends import cuda
from chainer.function_hooks import _report

_UNITS = {unit: 1024.0 ** i for i, unit in reversed(
    list(enumerate(['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB', 'ZB'])))}

if cuda.available:
    from cupy.cuda.memory_hook import MemoryHook

    class _TotalsHook(MemoryHook):
        """Sums up what is taken from the memory pool, and what the pool takes from the GPU."""

        name = 'chainer.CupyMemoryProfileHook'

        def __init__(self):
            self.used_bytes = 0
            self.acquired_bytes = 0

        def alloc_preprocess(self, **kwargs):
            self.acquired_bytes += kwargs['mem_size']

        def malloc_preprocess(self, **kwargs):
            self.used_bytes += kwargs['mem_size']


class CupyMemoryProfileHook(function_hook.FunctionHook):
    """Hook that measures how much memory of CuPy's pool functions use.

    *Used* bytes are those that a function takes from the memory pool, *acquired* bytes those that
    the pool takes from the GPU meanwhile. A backward computation includes the functions that it
    applies, which are measured, too.

    Attributes:
        call_history (list): Triples of a function's name, used and acquired bytes.

    Raises:
        RuntimeError: If CUDA is not available.

    .. code-block:: python

        hook = chainer.function_hooks.CupyMemoryProfileHook()
        with hook:
            trainer.run()
        hook.print_report()
    """

    name = 'CupyMemoryProfileHook'

    def __init__(self):
        cuda.check_cuda_available()
        self.call_history = []
        self._totals = _TotalsHook()
        self._started = []  # totals at the start of the functions that run, innermost last
        self._users = 0

    def added(self, function=None):
        # It may be added to several functions; the memory hook is entered once.
        if self._users == 0:
            self._totals.__enter__()
        self._users += 1

    def deleted(self, function=None):
        self._users -= 1
        if self._users == 0:
            self._totals.__exit__(None, None, None)

    def _preprocess(self):
        self._started.append((self._totals.used_bytes, self._totals.acquired_bytes))

    def _postprocess(self, function):
        used, acquired = self._started.pop()
        self.call_history.append((
            function._impl_name,
            self._totals.used_bytes - used,
            self._totals.acquired_bytes - acquired))

    def forward_preprocess(self, function, in_data):
        self._preprocess()

    def forward_postprocess(self, function, in_data):
        self._postprocess(function)

    def backward_preprocess(self, function, in_data, out_grad):
        self._preprocess()

    def backward_postprocess(self, function, in_data, out_grad):
        self._postprocess(function)

    def total_used_bytes(self):
        """Return how many bytes functions took from the memory pool."""
        return sum([used for _, used, _ in self.call_history])

    def total_acquired_bytes(self):
        """Return how many bytes the memory pool took from the GPU."""
        return sum([acquired for _, _, acquired in self.call_history])

    def summary(self):
        """Return a dictionary: for each function's name, another one of its ``used_bytes``,
        ``acquired_bytes`` and ``occurrence`` (number of calls)."""
        summary = {}
        for name, used, acquired in self.call_history:
            record = summary.setdefault(
                name, {'used_bytes': 0, 'acquired_bytes': 0, 'occurrence': 0})
            record['used_bytes'] += used
            record['acquired_bytes'] += acquired
            record['occurrence'] += 1
        return summary

    def print_report(self, file=None, unit='auto_foreach'):
        """Write a table of bytes and numbers of calls.

        Args:
            file: Output file, standard output by default.
            unit ({'auto', 'auto_foreach', 'B', 'KB', 'MB', 'GB', ...}): Unit of the sizes; by
                default one that fits each, and with ``'auto'`` one for a column.
        """
        rows = [('FunctionName', 'UsedBytes', 'AcquiredBytes', 'Occurrence')]
        summary = self.summary()
        used, acquired = (
            _report.choose([record[key] for record in summary.values()], _UNITS, unit)
            for key in ('used_bytes', 'acquired_bytes'))
        for name, record in summary.items():
            rows.append((
                name,
                _report.with_unit(record['used_bytes'], _UNITS, used),
                _report.with_unit(record['acquired_bytes'], _UNITS, acquired),
                str(record['occurrence'])))
        _report.write_table(rows, file)
