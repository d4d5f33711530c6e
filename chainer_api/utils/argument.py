"""Checking of ``**kwargs``."""
import sys


def check_unexpected_kwargs(kwargs, **unexpected):
    """Raise ``ValueError`` with the given message for each removed argument that was passed."""
    for name, message in unexpected.items():
        if name in kwargs:
            raise ValueError(message)


def parse_kwargs(kwargs, *name_and_values, **unexpected):
    """Take known keyword arguments out of ``kwargs``.

    Args:
        kwargs (dict): Arguments that were passed.
        name_and_values: Pairs of a name and its default.
        unexpected: For each removed argument, the message of the ``ValueError`` it raises.

    Returns:
        tuple: The values, in the order of ``name_and_values``.

    Raises:
        TypeError: If a name in ``kwargs`` is not known.

    .. doctest::

        >>> from chainer.utils.argument import parse_kwargs
        >>> parse_kwargs({'a': 3}, ('a', 1), ('b', 2))
        (3, 2)
    """
    rest = dict(kwargs)
    values = tuple([rest.pop(name, default) for name, default in name_and_values])
    if rest:
        check_unexpected_kwargs(rest, **unexpected)
        assert_kwargs_empty(rest)
    return values


def assert_kwargs_empty(kwargs):
    """Raise ``TypeError`` if ``kwargs`` is not empty.

    The message names the function that has called this one, or :func:`parse_kwargs`.
    """
    if kwargs:
        caller = sys._getframe(1)
        while caller.f_globals is globals() and caller.f_back is not None:
            caller = caller.f_back
        names = ', '.join(repr(name) for name in sorted(kwargs))
        raise TypeError(
            f'{caller.f_code.co_qualname}() got unexpected keyword argument(s) {names}')
