"""Base class of device objects."""


class _NullContext:
    """A context that does nothing."""

    __slots__ = ()

    def __enter__(self):
        return None

    def __exit__(self, exc_type, exc_value, traceback):
        return None


null_context = _NullContext()


def convert_arrays(arrays, convert):
    """Apply ``convert`` to one array, or to each array of a list or tuple."""
    if isinstance(arrays, (list, tuple)):
        done = {}  # one array given twice is sent once
        result = []
        for array in arrays:
            key = id(array)
            if key not in done:
                done[key] = convert(array)
            result.append(done[key])
        return type(arrays)(result)
    return convert(arrays)


class Device:
    """A place where arrays live, and the array module that works on them.

    Devices are made by :func:`chainer.get_device`; two objects for the same place are equal.
    """

    @property
    def name(self):
        """Specifier that :func:`chainer.get_device` turns back into this device."""
        raise NotImplementedError(f'{type(self).__name__} does not define its name')

    @property
    def xp(self):
        """Array module for arrays of the device (``numpy`` or ``cupy``)."""
        raise NotImplementedError(f'{type(self).__name__} does not define its array module')

    @property
    def supported_array_types(self):
        """Tuple of the array types that can live on the device."""
        raise NotImplementedError(f'{type(self).__name__} does not define its array types')

    def __str__(self):
        return self.name

    def __enter__(self):
        raise RuntimeError(
            'a device is no context manager; write `with chainer.using_device(device):`')

    def __exit__(self, exc_type, exc_value, traceback):
        raise RuntimeError(
            'a device is no context manager; write `with chainer.using_device(device):`')

    def create_context(self):
        """Return a context manager in which the device is the current one."""
        return null_context

    def send(self, arrays):
        """Bring arrays to the device.

        Args:
            arrays: An array, or a list or tuple of arrays. ``None`` stays ``None``; an array that
                is there already is returned as it is.

        Returns:
            An array, or a list or tuple of arrays, as given.
        """
        return convert_arrays(arrays, self.send_array)

    def send_array(self, array):
        """Bring one array (or ``None``) to the device."""
        raise NotImplementedError(f'{type(self).__name__} cannot receive arrays')

    def use(self):
        """Make the device the current one."""

    def is_array_supported(self, array):
        """Tell whether ``array`` lives on this device."""
        raise NotImplementedError(f'{type(self).__name__} cannot tell its arrays')
