"""``CHAINWRIGHT_LOGS``: which topics the logger ``chainwright`` writes to standard error.

``recompiles`` are the events of the ledger (what is compiled, and why; what cannot be), ``code``
the programs, ``graph`` the graphs, each as soon as it is made. Without the variable the logger is
as any other: events are records of level INFO, and what is wrong is a WARNING.
"""

from __future__ import annotations

import logging
import os
import warnings

TOPICS = ("recompiles", "code", "graph")
logger = logging.getLogger("chainwright")


def chosen(text: str) -> frozenset[str]:
    """The topics in a text, which commas separate; unknown ones are warned of."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in TOPICS]
    if unknown:
        warnings.warn(
            f"CHAINWRIGHT_LOGS knows {', '.join(TOPICS)}, but not {', '.join(unknown)}",
            stacklevel=2,
        )
    return frozenset(names) & frozenset(TOPICS)


#: The topics of this process.
LOGS = chosen(os.environ.get("CHAINWRIGHT_LOGS", ""))


def begin() -> None:
    """Write the records of the logger to standard error, if there is any topic."""
    if not LOGS:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("chainwright: %(message)s"))
    handler.addFilter(_is_wanted)
    logger.addHandler(handler)
    logger.setLevel(min(logger.level or logging.INFO, logging.INFO))


def _is_wanted(record: logging.LogRecord) -> bool:
    topic = getattr(record, "topic", "recompiles")
    return topic in LOGS or record.levelno >= logging.WARNING


def tell(topic: str, title: str, text: str) -> None:
    """Log a text that belongs to a topic, if somebody wants it."""
    if topic in LOGS and text:
        logger.info("%s of %s\n%s", topic, title, text, extra={"topic": topic})
