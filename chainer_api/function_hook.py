"""Base class of function hooks, and the hooks registered in a thread."""
import collections
import threading

from chainer import _tracing


class _ThreadLocal(threading.local):
    function_hooks = None


_thread_local = _ThreadLocal()


def get_function_hooks():
    """Return the ordered dictionary of the hooks registered in this thread, by name."""
    hooks = _thread_local.function_hooks
    if hooks is None:
        hooks = _thread_local.function_hooks = collections.OrderedDict()
    return hooks


def functions_are_watched():
    """Return whether a hook of this thread is to see each function, so that no program may run."""
    hooks = _thread_local.function_hooks
    return bool(hooks) and not all([hook.sees_programs for hook in hooks.values()])


def tell_of_part(name, seconds):
    """Call the hooks of this thread after a part of a program."""
    for hook in (_thread_local.function_hooks or {}).values():
        hook.program_part(name, seconds)


class FunctionHook:
    """Base class of hooks that are called before and after functions run.

    Used as a context manager (``with hook:``) a hook is called for all functions applied in
    the block by this thread; given to :meth:`chainer.FunctionNode.add_hook` it is called for
    that function only. A subclass overrides the methods it needs; ``name`` identifies the hook
    and must be unique among those registered together.

    Each hook method gets the function (a :class:`~chainer.FunctionNode`, or the
    :class:`~chainer.Function` for an old-style one), the tuple of its input arrays
    (``None`` for those not retained when backward runs) and, in backward, the tuple of output
    gradient arrays.

    Methods compiled by :func:`chainer.static_graph` go define-by-run in the block, so that there
    are functions to see; but if ``sees_programs`` is true for all hooks of the thread, programs
    run, and :meth:`program_part` is called for each part of them.

    .. doctest::

        >>> class Names(chainer.FunctionHook):
        ...     name = 'Names'
        ...     def forward_preprocess(self, function, in_data):
        ...         print(function.label)
        >>> x = chainer.Variable(np.ones(3, np.float32))
        >>> with Names():
        ...     y = x * 2 + x
        _ * 2
        _ + _
    """

    name = 'FunctionHook'
    sees_programs = False

    def __enter__(self):
        _tracing.stop('a function hook was registered')
        hooks = get_function_hooks()
        if self.name in hooks:
            raise KeyError(
                f'a function hook named {self.name!r} is already registered in this thread; '
                'give this one another name or leave the other block first')
        hooks[self.name] = self
        self.added(None)
        return self

    def __exit__(self, *_):
        get_function_hooks().pop(self.name).deleted(None)

    def added(self, function):
        """Called when the hook is registered; ``function`` is ``None`` for a thread's hook."""

    def deleted(self, function):
        """Called when the hook is taken off; ``function`` is ``None`` for a thread's hook."""

    def forward_preprocess(self, function, in_data):
        """Called before the forward computation of ``function``."""

    def forward_postprocess(self, function, in_data):
        """Called after the forward computation of ``function``."""

    def backward_preprocess(self, function, in_data, out_grad):
        """Called before the backward computation of ``function``."""

    def backward_postprocess(self, function, in_data, out_grad):
        """Called after the backward computation of ``function``."""

    def program_part(self, name, seconds):
        """Called after a part of a compiled program, if ``sees_programs`` is true.

        Args:
            name (str): The functions that it computes, joined by ``+``; the title of the program
                for what serves none of them.
            seconds (float): How long it took.
        """
