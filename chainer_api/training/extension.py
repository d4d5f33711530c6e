"""What trainers call between iterations."""

PRIORITY_WRITER = 300
PRIORITY_EDITOR = 200
PRIORITY_READER = 100


class Extension:
    """Base of trainer extensions.

    An extension is any callable that takes the trainer; this class gives it the defaults that
    :meth:`chainer.training.Trainer.extend` looks for.

    Attributes:
        trigger: When to call it, ``(1, 'iteration')``.
        priority (int): Extensions of higher priority are called earlier. ``PRIORITY_WRITER`` (300)
            is for those that report values, ``PRIORITY_EDITOR`` (200) for those that change
            reported values, ``PRIORITY_READER`` (100, the default) for those that read them.
        name (str): The name under which a trainer knows it; set by ``extend``.
    """

    trigger = (1, 'iteration')
    priority = PRIORITY_READER
    name = None
    #: The default name in files of Chainer 7, if it is another one.
    default_name_in_7 = None

    @property
    def default_name(self):
        """The name to use where no other is given: that of the class."""
        return type(self).__name__

    def __call__(self, trainer):
        """Does the work; called in the iterations that the trigger picks."""
        raise NotImplementedError(f'{type(self).__name__} must define __call__(trainer)')

    def initialize(self, trainer):
        """Called before the training loop, after a snapshot was loaded; does nothing by default."""

    def on_error(self, trainer, exc, tb):
        """Called when an exception ends the training loop; does nothing by default.

        Args:
            trainer: The trainer.
            exc (Exception): The exception.
            tb: Its traceback.
        """

    def finalize(self):
        """Called at the end of the training loop, however it ended; does nothing by default."""

    def serialize(self, serializer):
        """Saves or restores the extension's state; nothing by default."""


def make_extension(trigger=None, default_name=None, priority=None, finalizer=None,
                   initializer=None, on_error=None, **kwargs):
    """Makes a decorator that gives a function the attributes of an :class:`Extension`.

    Args:
        trigger: When to call it; each iteration if ``None``.
        default_name (str): Its name; that of the function if ``None``.
        priority (int): Its priority; ``PRIORITY_READER`` if ``None``.
        finalizer: Called at the end of the training loop, with the trainer if it takes an
            argument.
        initializer: Called with the trainer before the training loop.
        on_error: Called with the trainer, an exception and a traceback if the loop ends so.

    >>> from chainer import training
    >>> @training.make_extension(trigger=(1, 'epoch'), priority=training.PRIORITY_WRITER)
    ... def rest(trainer):
    ...     pass
    >>> rest.trigger, rest.priority, rest.default_name
    ((1, 'epoch'), 300, 'rest')
    """
    if 'invoke_before_training' in kwargs:
        raise ValueError(
            'invoke_before_training has been removed since Chainer v2.0.0. Use initializer= '
            'instead.')
    if kwargs:
        raise TypeError(f'make_extension() got unexpected arguments: {", ".join(kwargs)}')

    def decorator(function):
        function.trigger = Extension.trigger if trigger is None else trigger
        function.default_name = function.__name__ if default_name is None else default_name
        function.priority = Extension.priority if priority is None else priority
        function.finalize = finalizer
        function.initialize = initializer
        function.on_error = on_error
        return function

    return decorator
