"""What parameters and their gradients look like over the training, as a picture."""
import os

import numpy

from chainer import link as link_module
from chainer import serializer as serializer_module
from chainer import variable
from chainer.backends import cuda
from chainer.training import _files, extension
from chainer.training import trigger as trigger_module
from chainer.training.extensions import _matplotlib

_available = _matplotlib.installed
_COLOR = 'C0'


class VariableStatisticsPlot(extension.Extension):
    """Extension that plots mean, standard deviation and percentiles of variables over iterations.

    Statistics are taken in each iteration, of each variable, and averaged over the variables. Of
    long trainings a sample of iterations is kept, each of them with the same probability. The
    picture is written again at the end of each interval; it needs Matplotlib and no display.

    Args:
        targets: Variable, link, or list of these; of links all parameters are taken.
        max_sample_size (int): Number of iterations to keep.
        report_data (bool): Whether to plot the values of the variables.
        report_grad (bool): Whether to plot their gradients.
        plot_mean (bool): Whether to plot means.
        plot_std (bool): Whether to plot standard deviations.
        percentile_sigmas (float or tuple of floats): Percentiles to plot, from 0 to 100; none for
            an empty tuple.
        trigger: When an interval ends, a trigger or a tuple such as ``(1, 'epoch')``.
        file_name (str): Name of the file in the trainer's ``out``; ``filename`` is accepted as
            well.
        figsize (tuple): Matplotlib's size of the picture.
        marker (str): Matplotlib's marker for the points, or ``None``.
        grid (bool): Whether to draw grids.

    Raises:
        ValueError: There are no variables, or nothing to plot of them.
    """

    def __init__(self, targets, max_sample_size=1000, report_data=True, report_grad=True,
                 plot_mean=True, plot_std=True,
                 percentile_sigmas=(0, 0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87, 100),
                 trigger=(1, 'epoch'), file_name='statistics.png', figsize=None, marker=None,
                 grid=True, *, filename=None):
        self._variables = list(_variables_of(targets))
        if not self._variables:
            raise ValueError('Need at least one variable for which to collect statistics.')
        self._attributes = ['data'] * bool(report_data) + ['grad'] * bool(report_grad)
        self._plot_mean = plot_mean
        self._plot_std = plot_std
        self._percentiles = tuple(numpy.sort(numpy.ravel(percentile_sigmas)))
        if not self._attributes or not (plot_mean or plot_std or self._percentiles):
            raise ValueError('Nothing to plot')
        self._trigger = trigger_module.get_trigger(trigger)
        self._file_name = file_name if filename is None else filename
        self._figsize = figsize
        self._marker = marker
        self._grid = grid
        self._max_sample_size = max_sample_size
        self._seen = 0
        self._samples = []
        self._available = None

    @staticmethod
    def available():
        """Whether Matplotlib is installed; warns if it is not."""
        return _matplotlib.available()

    def __call__(self, trainer):
        """Takes in the variables as they are; writes the picture if an interval ends."""
        if self._available is None:
            self._available = self.available()
        if not self._available:
            return
        self._keep(numpy.concatenate(
            [[trainer.updater.iteration], *map(self._describe, self._attributes)]))
        if self._trigger(trainer):
            path = os.path.join(trainer.out, self._file_name)
            _files.write_whole(path, lambda temporary: self.save_plot_using_module(
                temporary, _matplotlib.Headless))

    def _describe(self, attribute):
        """Mean, standard deviation and percentiles, averaged over the variables."""
        arrays = [cuda.to_cpu(a).ravel() for a in (
            getattr(v, attribute) for v in self._variables) if a is not None and a.size]
        if not arrays:
            return numpy.full(2 + len(self._percentiles), numpy.nan)
        return numpy.mean([
            [a.mean(), a.std(), *numpy.percentile(a, self._percentiles)] for a in arrays], axis=0)

    def _keep(self, sample):
        """Reservoir sampling: Vitter, "Random sampling with a reservoir" (1985), algorithm R."""
        self._seen += 1
        if len(self._samples) < self._max_sample_size:
            self._samples.append(sample)
            return
        # Seeded by the count: independent of the training's random numbers, the same in each run.
        place = numpy.random.RandomState(self._seen).randint(self._seen)
        if place < self._max_sample_size:
            self._samples[place] = sample

    def save_plot_using_module(self, file_path, plt):
        """Writes the picture.

        Args:
            file_path (str): The file.
            plt: ``matplotlib.pyplot``, or something with its ``subplots`` and ``close``.
        """
        samples = numpy.array(sorted(self._samples, key=lambda sample: sample[0]))
        iterations = samples[:, 0]
        rows = []
        if self._plot_mean or self._plot_std:
            rows.append(self._draw_moments)
        if self._percentiles:
            rows.append(self._draw_percentiles)
        figure, axes = plt.subplots(
            len(rows), len(self._attributes), sharex=True, squeeze=False, figsize=self._figsize,
            layout='constrained')
        width = 2 + len(self._percentiles)
        for column, attribute in enumerate(self._attributes):
            part = samples[:, 1 + column * width:1 + (column + 1) * width].T
            axes[0, column].set_title(attribute)
            axes[-1, column].set_xlabel('iteration')
            for draw, ax in zip(rows, axes[:, column], strict=True):
                draw(ax, iterations, part)
                ax.grid(self._grid)
        for ax in axes[:, -1]:
            ax.legend(bbox_to_anchor=(1.02, 1), loc='upper left', borderaxespad=0.,
                      fontsize='small')
        figure.savefig(file_path)
        plt.close(figure)

    def _draw_moments(self, ax, iterations, part):
        mean, std = part[:2]
        if not self._plot_mean:
            ax.plot(iterations, std, color=_COLOR, marker=self._marker, label='std')
            return
        ax.plot(iterations, mean, color=_COLOR, marker=self._marker, label='mean')
        if self._plot_std:
            ax.fill_between(iterations, mean - std, mean + std, color=_shade(0.3), linewidth=0,
                            label='mean ± std')

    def _draw_percentiles(self, ax, iterations, part):
        percentiles = part[2:]
        names = [f'{p:g}' for p in self._percentiles]
        n = len(names)
        for i in range(n // 2):  # from the outer bands, which are lighter, to the inner ones
            ax.fill_between(
                iterations, percentiles[i], percentiles[n - 1 - i], linewidth=0,
                color=_shade(0.6 * (i + 1) / (n // 2 + 1)),
                label=f'{names[i]} to {names[n - 1 - i]} %')
        if n % 2:
            ax.plot(iterations, percentiles[n // 2], color=_COLOR, marker=self._marker,
                    label=f'{names[n // 2]} %')

    def serialize(self, serializer):
        """Saves or restores the samples."""
        trigger_module.serialize_trigger(self._trigger, serializer['_trigger'])
        loading = isinstance(serializer, serializer_module.Deserializer)
        try:
            self._seen = serializer('_seen', self._seen)
            samples = serializer('_samples', None if loading else numpy.array(self._samples))
        except KeyError:  # Chainer's snapshots have no samples
            return
        if loading:
            self._samples = list(samples)


def _shade(strength):
    """The color of the plots mixed with white."""
    from matplotlib import colors
    return tuple(1 - strength * (1 - part) for part in colors.to_rgb(_COLOR))


def _variables_of(targets):
    if isinstance(targets, variable.Variable):
        yield targets
    elif isinstance(targets, link_module.Link):
        yield from targets.params()
    elif isinstance(targets, (list, tuple)):
        for target in targets:
            yield from _variables_of(target)
    else:
        raise TypeError(f'targets must be variables or links, not {type(targets).__name__}')
