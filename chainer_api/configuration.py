"""Global and thread-local settings."""
import sys
import threading

from chainer import _tracing


def _show(entries, file):
    file = sys.stdout if file is None else file
    width = max((len(name) for name in entries), default=0)
    for name in sorted(entries):
        file.write(f'{name:<{width}} {entries[name]}\n')


class GlobalConfig:
    """Settings shared by all threads of the process.

    Entries are plain attributes; any name may be set. A thread that has not set a name in its
    :class:`LocalConfig` sees the value from here. Of entries for static graphs a value that has no
    meaning raises ``ValueError``.

    .. doctest::

        >>> conf = chainer.configuration.GlobalConfig()
        >>> conf.user_beam_width = 5
        >>> conf.show()
        user_beam_width 5
    """

    def __setattr__(self, name, value):
        if name in allowed:
            _check(name, value)
        _tracing.global_config_version[0] += 1
        _changes(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        _tracing.global_config_version[0] += 1
        _changes(name)
        super().__delattr__(name)

    def show(self, file=None):
        """Write all entries to ``file`` (by default standard output), one a line, sorted by
        name."""
        _show(vars(self), file)


#: Of entries that not every value makes sense for: whether one does, and a text that says which.
allowed = {}


def _check(name, value):
    is_allowed, which = allowed[name]
    if not is_allowed(value):
        raise ValueError(f'chainer.config.{name} must be {which}, not {value!r}')


def _changes(name):
    """An entry is about to change: compiled methods look at the configuration again."""
    _tracing.config_version[0] += 1
    run = _tracing.state.run
    if run is not None:
        run.config_changes(name)


class LocalConfig:
    """Settings of the current thread on top of a :class:`GlobalConfig`.

    Setting an attribute changes it for the current thread only; deleting it uncovers the global
    value again. Reading a name that is set nowhere raises ``AttributeError``.

    Args:
        global_config (GlobalConfig): Where names that the thread has not set are looked up.
    """

    def __init__(self, global_config):
        super().__setattr__('_global', global_config)
        super().__setattr__('_local', threading.local())

    # Entries never stand in the instance itself, so that each read comes through here.
    def __getattr__(self, name):
        entries = self._local.__dict__
        if name in entries:
            return entries[name]
        return getattr(self._global, name)

    def __setattr__(self, name, value):
        if name in allowed:
            _check(name, value)
        _changes(name)
        setattr(self._local, name, value)

    def __delattr__(self, name):
        if name not in self._local.__dict__:
            raise AttributeError(f'the thread has not set {name!r}')
        _changes(name)
        delattr(self._local, name)

    def show(self, file=None):
        """Write all entries that the thread sees to ``file`` (by default standard output), one a
        line, sorted by name."""
        _show({**vars(self._global), **self._local.__dict__}, file)


global_config = GlobalConfig()
config = LocalConfig(global_config)

# For the few places where reading an attribute takes too long: ``local_entries.__dict__`` holds
# what the thread has set, ``global_entries`` the rest.
local_entries = config._local
global_entries = vars(global_config)


def peek(name):
    """Return an entry of Chainer's own configuration; faster than the attribute."""
    entries = local_entries.__dict__
    return entries[name] if name in entries else global_entries[name]


class _ConfigContext:
    __slots__ = ('config', 'name', 'value', 'old')

    def __init__(self, config, name, value):
        self.config = config
        self.name = name
        self.value = value

    def __enter__(self):
        entries = self.config._local.__dict__
        self.old = (entries[self.name],) if self.name in entries else ()
        setattr(self.config, self.name, self.value)

    def __exit__(self, exc_type, exc_value, traceback):
        try:
            _changes(self.name)
        finally:  # no function begins here, as which a timeout by a signal may come
            entries = self.config._local.__dict__
            if self.old:
                entries[self.name] = self.old[0]
            elif self.name in entries:
                del entries[self.name]
            else:
                raise AttributeError(f'the thread has not set {self.name!r}')
            _tracing.config_version[0] += 1


def using_config(name, value, config=config):
    """Return a context manager that sets one entry for the current thread.

    On leaving, the entry is as it was before, even if the block raised.

    Args:
        name (str): Name of the entry.
        value: Value inside the block.
        config (LocalConfig): The configuration to change, Chainer's own by default.

    .. doctest::

        >>> with chainer.using_config('train', False):
        ...     chainer.config.train
        False
        >>> chainer.config.train
        True
    """
    return _ConfigContext(config, name, value)
