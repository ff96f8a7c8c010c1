"""Tests wait until something is so, and not for a time in which it should be."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["until"]

#: seconds after which something will not come any more, however busy the machine is
PATIENCE = 600.0


def until(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.01)
