"""Marking of computations that do not give the same result each time."""
import warnings

import chainer


def nondeterministic(f_name):
    """Warn, if ``chainer.config.warn_nondeterministic`` is set, that a result may vary.

    Args:
        f_name (str): Name of the function that is running.
    """
    if chainer.config.warn_nondeterministic:
        warnings.warn(
            'Potentially non-deterministic code is being executed while '
            f'config.warn_nondeterministic set. Source: {f_name}', stacklevel=2)
