"""What every serializer and deserializer shares."""


class AbstractSerializer:
    """Base class of serializers and deserializers.

    Both give access to named values in a hierarchy. A method ``serialize(serializer)`` of an
    object handles each value in one line, ``self.x = serializer('x', self.x)``, which saves it or
    loads it, whichever the serializer does; children get ``serializer['name']``.
    """

    def __getitem__(self, key):
        """Returns the serializer of a child.

        Args:
            key (str): Name of the child.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement __getitem__(key)')

    def __call__(self, key, value):
        """Saves or loads a value.

        Args:
            key (str): Name of the value.
            value (scalar, N-dimensional array, str or None): What is saved; or, in loading, an
                example: an array is overwritten in place, a scalar tells the type of the returned
                one, and ``None`` asks for whatever was saved.

        Returns:
            The saved or loaded value. A ``None`` that was saved is returned as ``None``.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement __call__(key, value)')


class Serializer(AbstractSerializer):
    """Base class of serializers, which save."""

    def save(self, obj):
        """Saves an object; the same as ``obj.serialize(self)``.

        Args:
            obj: Object to be saved.
        """
        obj.serialize(self)


class Deserializer(AbstractSerializer):
    """Base class of deserializers, which load."""

    def load(self, obj):
        """Loads an object; the same as ``obj.serialize(self)``.

        Args:
            obj: Object to be loaded.
        """
        obj.serialize(self)

    def _describe(self, key):
        """Names a value in messages, with its place in the hierarchy where that is known."""
        return repr(key)
