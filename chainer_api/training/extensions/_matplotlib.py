"""Matplotlib where it is installed, without windows."""
import importlib.util
import warnings

installed = importlib.util.find_spec('matplotlib') is not None


def available():
    """Whether Matplotlib is installed; warns if it is not."""
    if not installed:
        warnings.warn(
            'matplotlib is not installed on your environment, so nothing will be plotted at this '
            'time. Please install matplotlib to plot figures.\n\n  $ pip install matplotlib\n')
    return installed


class Headless:
    """What the plots need of ``matplotlib.pyplot``: figures that belong to no window, whatever
    backend the user has chosen."""

    @staticmethod
    def subplots(nrows=1, ncols=1, *, sharex=False, squeeze=True, **figure_arguments):
        from matplotlib import figure
        made = figure.Figure(**figure_arguments)
        return made, made.subplots(nrows, ncols, sharex=sharex, squeeze=squeeze)

    @staticmethod
    def close(figure):
        figure.clear()
