"""Hooks that run before and after the forward method of links."""
import threading


class _LinkHooks(threading.local):
    # Immutable until the first hook comes, so that the class can hold it for all threads.
    hooks = None


_thread_local = _LinkHooks()


def _get_link_hooks():
    """Returns the dict of the hooks of this thread that are called for every link."""
    hooks = _thread_local.hooks
    if hooks is None:
        hooks = _thread_local.hooks = {}
    return hooks


class _ForwardPreprocessCallbackArgs:
    """What :meth:`LinkHook.forward_preprocess` is given."""

    def __init__(self, link, forward_name, args, kwargs):
        self.link = link
        self.forward_name = forward_name
        self.args = args
        self.kwargs = kwargs

    def __repr__(self):
        entries = ', '.join(f'{name}={value!r}' for name, value in vars(self).items())
        return f'<{type(self).__name__} {entries}>'


class _ForwardPostprocessCallbackArgs(_ForwardPreprocessCallbackArgs):
    """What :meth:`LinkHook.forward_postprocess` is given."""

    def __init__(self, link, forward_name, args, kwargs, out):
        super().__init__(link, forward_name, args, kwargs)
        self.out = out


class LinkHook:
    """Base class of hooks that see the calls of links.

    A hook is registered in one of two ways: ``with hook:`` registers it for every link that this
    thread calls inside of the block, :meth:`chainer.Link.add_hook` for one link. A call of a
    registered link then runs :meth:`forward_preprocess`, the link's ``forward``, and
    :meth:`forward_postprocess`; hooks of the thread come before hooks of the link.

    The two methods take an object with these attributes:

    * ``link``: the link that is called;
    * ``forward_name`` (str): the name of its method, ``'forward'``;
    * ``args`` (tuple) and ``kwargs`` (dict): the arguments of the call;
    * ``out``: what the call returned (in :meth:`forward_postprocess` only).

    Attributes:
        name (str): Name of the hook, under which it is registered.

    Example:
        >>> import chainer
        >>> class Calls(chainer.LinkHook):
        ...     name = 'Calls'
        ...     seen = ()
        ...     def forward_preprocess(self, args):
        ...         self.seen += type(args.link).__name__,
        >>> class Twice(chainer.Link):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> with Calls() as calls:
        ...     y = Twice()(3)
        >>> y, calls.seen
        (6, ('Twice',))
    """

    name = 'LinkHook'

    def __enter__(self):
        hooks = _get_link_hooks()
        if self.name in hooks:
            raise KeyError(f'hook {self.name} already exists')
        hooks[self.name] = self
        self.added(None)
        return self

    def __exit__(self, *_):
        del _get_link_hooks()[self.name]
        self.deleted(None)

    def added(self, link):
        """Runs when the hook is registered.

        Args:
            link (chainer.Link): The link; ``None`` for a registration with ``with``.
        """

    def deleted(self, link):
        """Runs when the hook is taken away.

        Args:
            link (chainer.Link): The link; ``None`` for a registration with ``with``.
        """

    def forward_preprocess(self, args):
        """Runs before the forward method of a link.

        Args:
            args: Object with the attributes ``link``, ``forward_name``, ``args``, ``kwargs``.
        """

    def forward_postprocess(self, args):
        """Runs after the forward method of a link.

        Args:
            args: Object with the attributes ``link``, ``forward_name``, ``args``, ``kwargs``,
                ``out``.
        """
