"""ChainerX as an installation without its compiled part has it: there to be asked for."""


def is_available():
    """Return whether arrays of ChainerX can be made: never here, so ``False``.

    .. doctest::

        >>> import chainerx
        >>> chainerx.is_available()
        False
    """
    return False


class ndarray:
    """The type of ChainerX's arrays, for ``isinstance``; there are none.

    Raises:
        RuntimeError: When one is made.

    .. doctest::

        >>> import chainerx
        >>> isinstance(np.zeros(3), chainerx.ndarray)
        False
    """

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            'chainerx is not available: its compiled part is not installed. Make a NumPy array '
            '(or one of CuPy, for a GPU) instead')


def __getattr__(name):
    if name.startswith('__'):
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    raise AttributeError(
        f"module 'chainerx' has no attribute {name!r}: its compiled part is not installed. "
        'Ask chainerx.is_available() first, or use NumPy or CuPy')
