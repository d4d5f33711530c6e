"""Means of what was reported, as a picture."""
import json
import os

from chainer import reporter
from chainer.training import _files, extension
from chainer.training import trigger as trigger_module
from chainer.training.extensions import _matplotlib

_available = _matplotlib.installed


class PlotReport(extension.Extension):
    """Extension that plots the means of reported values over intervals.

    The extension itself is called in each iteration. The picture is written again at the end of
    each interval; it needs Matplotlib and no display.

    Args:
        y_keys (iterable of str): Keys of the values to plot.
        x_key (str): Key of the value to plot them over: 'iteration', 'epoch', or a reported one.
        trigger: When an interval ends, a trigger or a tuple such as ``(1, 'epoch')``.
        postprocess: Called with the figure, its axes and a dictionary of the means before the
            picture is written.
        file_name (str): Name of the file in the trainer's ``out``, a format string that is
            formatted with the means; the extension chooses the format of the picture. ``filename``
            is accepted as well.
        marker (str): Matplotlib's marker for the points, or ``None``.
        grid (bool): Whether to draw a grid.
    """

    def __init__(self, y_keys, x_key='iteration', trigger=(1, 'epoch'), postprocess=None,
                 file_name='plot.png', marker='x', grid=True, *, filename=None):
        self._y_keys = [y_keys] if isinstance(y_keys, str) else list(y_keys or ())
        self._x_key = x_key
        self._trigger = trigger_module.get_trigger(trigger)
        self._postprocess = postprocess
        self._file_name = file_name if filename is None else filename
        self._marker = marker
        self._grid = grid
        self._summary = reporter.DictSummary()
        self._data = {key: [] for key in self._y_keys}
        self._available = None

    @staticmethod
    def available():
        """Whether Matplotlib is installed; warns if it is not."""
        return _matplotlib.available()

    def __call__(self, trainer):
        """Takes in the values of this iteration; writes the picture if an interval ends."""
        wanted = (*self._y_keys, self._x_key)
        observation = trainer.observation
        self._summary.add({key: observation[key] for key in wanted if key in observation})
        if not self._trigger(trainer):
            return
        means = {key: float(mean) for key, mean in self._summary.compute_mean().items()}
        self._summary = reporter.DictSummary()
        means['epoch'] = trainer.updater.epoch
        means['iteration'] = trainer.updater.iteration
        if self._x_key not in means:
            return
        for key in self._y_keys:
            if key in means:
                self._data[key].append([means[self._x_key], means[key]])
        if self._available is None:
            self._available = self.available()
        if self._available and any(self._data.values()):
            self._plot(trainer.out, means)

    def _plot(self, out, means):
        figure, axes = _matplotlib.Headless.subplots()
        axes.set_xlabel(self._x_key)
        axes.grid(self._grid)
        for key, points in self._data.items():
            if points:
                axes.plot(*zip(*points, strict=True), marker=self._marker, label=key)
        if self._postprocess is not None:
            self._postprocess(figure, axes, means)
        legend = axes.legend(bbox_to_anchor=(1.05, 1), loc='upper left', borderaxespad=0.)
        path = os.path.join(out, self._file_name.format(**means))
        _files.write_whole(path, lambda temporary: figure.savefig(
            temporary, bbox_extra_artists=(legend,), bbox_inches='tight'))
        _matplotlib.Headless.close(figure)

    def serialize(self, serializer):
        """Saves or restores the points and the values of the interval so far."""
        trigger_module.serialize_trigger(self._trigger, serializer['_trigger'])
        self._summary.serialize(serializer['_summary'])
        points = json.loads(str(
            serializer(f'_plot_{self._file_name}', json.dumps(self._data))))
        self._data = {key: points.get(key, []) for key in self._y_keys}
