"""The configuration under which functions are applied.

In: the entries of ``chainer.config`` that a thread sees. Out: one object for all equal ones, by
which functions of another time are told from those of now. What may not happen: an entry that
changes a result and is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainer import _tracing, configuration

from ._python import is_known
from ._values import Incomparable, image

_PLAIN_ENTRIES = {bool, str, type(None)}


class Settings:
    """The configuration under which functions are applied; equal ones are one object."""

    #: Entries on which no function's result depends. ``type_check`` changes none of arguments
    #: of the same types; the others are this compiler's, the engine's or the reporter's.
    _WITHOUT_EFFECT = frozenset(
        {"type_check", "keep_graph_on_report", "lazy_grad_sum", "warn_nondeterministic"}
    )
    _known: dict[Any, Settings] = {}

    def __init__(self, local: dict[str, Any]) -> None:
        self.local = dict(local)
        self.backprop: bool = configuration.peek("enable_backprop")
        self.debug: bool = configuration.peek("debug")
        self.train: bool = configuration.peek("train")

    #: By the entries of a thread, where these are plain, and the version of the others.
    _quickly: dict[Any, Settings | None] = {}

    @classmethod
    def now(cls) -> Settings | None:
        """Those of this thread; None where one cannot be compared, or nothing may be compiled."""
        local = configuration.local_entries.__dict__
        if not all([type(value) in _PLAIN_ENTRIES for value in local.values()]):
            return cls._found(local)
        key = (_tracing.global_config_version[0], *local.items())
        try:
            return cls._quickly[key]
        except KeyError:
            if len(cls._quickly) > 256:
                cls._quickly.clear()
            found = cls._quickly[key] = cls._found(local)
            return found

    @classmethod
    def _found(cls, local: dict[str, Any]) -> Settings | None:
        entries = {**configuration.global_entries, **local}
        if not entries["use_static_graph"] or not is_known():
            return None
        try:
            key = tuple(
                [
                    (name, image(value))
                    for name, value in sorted(entries.items())
                    if name not in cls._WITHOUT_EFFECT and not name.startswith("static_")
                ]
            )
            found = cls._known.get(key)
        except (Incomparable, TypeError):
            return None
        if found is None:
            if len(cls._known) > 256:
                cls._known.clear()
            found = cls._known[key] = cls(local)
        return found

    def call(self, function: Callable[..., Any], *args: Any, **others: Any) -> Any:
        """What a function gives in these settings, and in ``others``, and not in the thread's own.

        In the end no function of Python is called before the thread's are back: exceptions of
        signals (Ctrl-C) come with the beginning of such.
        """
        entries = configuration.local_entries.__dict__
        before = dict(entries)
        target = configuration.peek("static_target")  # large products go by it: kernels.products
        try:
            entries.clear()
            entries.update(self.local)
            entries.update(others, static_target=target)
            return function(*args)
        finally:
            try:
                entries.clear()
            finally:
                entries.update(before)


class _ThreadSettings(_tracing.threading.local):
    version = -1
    backprop: Any = None
    found: Settings | None = None


_thread = _ThreadSettings()


def settings_now() -> Settings | None:
    """:meth:`Settings.now`, found again only after an entry has changed."""
    version, backprop = _tracing.config_version[0], configuration.peek("enable_backprop")
    if _thread.version != version or _thread.backprop is not backprop:
        # Backward sets enable_backprop without telling anybody.
        _thread.found = Settings.now()
        _thread.version, _thread.backprop = version, backprop
    return _thread.found
