"""The logger `fedabm`: what is worth a word beside results, one line each on the error stream.

logging.getLogger("fedabm").handlers.clear()    # for a program that shows records in its own way
"""

from __future__ import annotations

import logging
import sys

from fedabm.common.texts import visible

__all__ = ["LOG"]


class _ErrorStream(logging.Handler):
    """Lines such as "fedabm: bad checkpoint set aside", on whatever the error stream is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"fedabm: {visible(record.getMessage())}", file=sys.stderr)


LOG = logging.getLogger("fedabm")
LOG.addHandler(_ErrorStream(logging.WARNING))
