"""The log as a table on the screen."""
import html
import sys

from chainer.training import extension
from chainer.training.extensions import log_report as log_report_module
from chainer.training.extensions import util


class PrintReport(extension.Extension):
    """Extension that writes entries of a log as a table, a row for each new one.

    In a Jupyter notebook (with ``out`` the standard output) the table is one output that grows.

    Args:
        entries (list of str): Keys of the log, the columns of the table.
        log_report (str or LogReport): Where the log is: the name of a
            :class:`~chainer.training.extensions.LogReport` of the trainer, or one for this
            extension only.
        out: Stream.
    """

    def __init__(self, entries, log_report='LogReport', out=sys.stdout):
        self._entries = entries
        self._log_report = log_report
        self._out = out
        self._log_len = 0
        self._header_written = False
        self._widths = [max(10, len(entry)) for entry in entries]
        self._notebook = None
        if type(out).__module__.partition('.')[0] == 'ipykernel':
            self._notebook = util.Notebook()

    def initialize(self, trainer):
        """Prepares a log of its own, if it has one."""
        log_report = self._own_log()
        if log_report is not None:
            log_report.initialize(trainer)

    def __call__(self, trainer):
        """Writes the rows that are new."""
        log_report = self._own_log()
        if log_report is None:
            log_report = trainer.get_extension(self._log_report)
        else:
            log_report(trainer)
        log = log_report.log
        if self._notebook is None and not self._header_written:
            self._out.write(self._header())
            self._header_written = True
        if self._log_len == len(log):
            return
        if self._notebook is not None:
            self._notebook.show_data({
                'text/html': self._html_table(log), 'text/plain': self._text_table(log)})
        else:
            self._write_rows(log[self._log_len:])
        self._log_len = len(log)

    def serialize(self, serializer):
        """Saves or restores a log of its own, if it has one."""
        log_report = self._own_log()
        if log_report is not None:
            log_report.serialize(serializer['_log_report'])

    def _own_log(self):
        own = isinstance(self._log_report, log_report_module.LogReport)
        return self._log_report if own else None

    def _write_rows(self, log):
        for observation in log:
            self._out.write('\033[J')
            self._out.write(self._row(observation))
        util.flush(self._out)

    def _header(self):
        cells = [f'{e:<{w}}' for e, w in zip(self._entries, self._widths, strict=True)]
        return '  '.join(cells) + '\n'

    def _cells(self, observation):
        return [_cell(observation[entry]) if entry in observation else ''
                for entry in self._entries]

    def _row(self, observation):
        cells = zip(self._cells(observation), self._widths, strict=True)
        return ''.join(f'{cell:<{width}}  ' for cell, width in cells) + '\n'

    def _text_table(self, log):
        return self._header() + ''.join(map(self._row, log))

    def _html_table(self, log):
        head = ''.join(f'<th>{html.escape(entry)}</th>' for entry in self._entries)
        body = ''
        for observation in log:
            cells = ''.join(f'<td>{html.escape(cell)}</td>' for cell in self._cells(observation))
            body += f'<tr>{cells}</tr>'
        return f'<table><tr>{head}</tr>{body}</table>'


def _cell(value):
    # Postprocessing may have put in anything.
    return f'{value:g}' if isinstance(value, (int, float)) else str(value)
