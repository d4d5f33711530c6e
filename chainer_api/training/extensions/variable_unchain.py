"""Freeing the graphs of reported values."""
import chainer
from chainer.training import extension


class unchain_variables(extension.Extension):  # noqa: N801  Chainer's name
    """Extension that cuts the graphs off the variables among the reported values.

    It is called in each iteration after all others (of priority 0 and above): where
    ``chainer.config.keep_graph_on_report`` is set, graphs would live on until the next iteration
    otherwise.
    """

    priority = 0

    def __call__(self, trainer):
        """Cuts the graphs."""
        for value in trainer.observation.values():
            if isinstance(value, chainer.Variable):
                value.unchain_backward()
