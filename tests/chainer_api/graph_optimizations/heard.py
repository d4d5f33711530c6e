"""What the library's log says: checks warn of what they find, and define-by-run takes over."""

import contextlib
import logging

_LISTENERS: list[logging.Handler] = []


@contextlib.contextmanager
def warnings_heard():
    """The warnings of the library's log, as a list that grows. Of several at once, the innermost
    hears: one that expects warnings keeps them from the one that forbids them."""
    found, handler = [], logging.Handler(logging.WARNING)
    handler.addFilter(lambda record: _LISTENERS[-1] is handler)
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("chainwright")
    logger.addHandler(handler)
    _LISTENERS.append(handler)
    try:
        yield found
    finally:
        _LISTENERS.remove(handler)
        logger.removeHandler(handler)
