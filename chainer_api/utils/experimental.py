"""Marking of features that may change."""
import warnings

import chainer


def experimental(api_name):
    """Warn that an experimental feature is used.

    A function calls it first thing. Setting ``chainer.disable_experimental_feature_warning`` to
    ``True`` turns the warnings off.

    Args:
        api_name (str): Name of the feature.

    .. doctest::

        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter('always')
        ...     chainer.utils.experimental('my.feature')
        >>> print(caught[0].message)
        my.feature is experimental. The interface can change in the future.
    """
    if not chainer.disable_experimental_feature_warning:
        warnings.warn(
            f'{api_name} is experimental. The interface can change in the future.',
            FutureWarning, stacklevel=2)
