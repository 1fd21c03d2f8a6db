"""Tracebacks that are logged again and again, shown once with a count."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class _Once(logging.Filter):
    """Lets each distinct traceback pass once, and every record without one."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is shown."""
        if not record.exc_info or record.exc_info[1] is None:
            return True
        # Where it was raised and what kind it is: the words may name the task.
        error = record.exc_info[1]
        frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        text = f"{type(error).__name__} {frames}"
        self.counts[text] += 1
        if self.counts[text] == 1:
            return True
        record.exc_info = record.exc_text = None
        return False


@contextmanager
def tracebacks_once(logger: logging.Logger) -> Iterator[None]:
    """Show each distinct traceback of a logger once in the block, and at its end how many came.

    Args:
        logger: The logger.
    """
    once = _Once()
    logger.addFilter(once)
    try:
        yield
    finally:
        logger.removeFilter(once)
        for text, count in once.counts.items():
            if count > 1:
                kind = text.partition(" ")[0]
                logger.warning("the %s above was raised %d times in all", kind, count)
