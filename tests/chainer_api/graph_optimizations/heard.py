"""What the library's log says: checks warn of what they find, and define-by-run takes over."""

import contextlib
import logging


@contextlib.contextmanager
def warnings_heard():
    """The warnings of the library's log, as a list that grows."""
    found, handler = [], logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())
    logger = logging.getLogger("chainwright")
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
