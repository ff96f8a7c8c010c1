"""Until when work may go on: whoever sets a limit, every long loop below it asks.

    with deadline(time.perf_counter() + 10.0):
        ...  # loops call check_time(), which raises TimeUp once ten seconds have passed

A limit holds in its own thread and inside the `with` only.  Nested limits: the earlier one counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["TimeUp", "check_time", "deadline", "in_time"]

Answer = TypeVar("Answer")

_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)


class TimeUp(Exception):
    """The time limit has passed."""


@contextmanager
def deadline(until: float) -> Iterator[None]:
    """Work inside may go on until then (`time.perf_counter`)."""
    before = _UNTIL.set(min(until, _UNTIL.get()))
    try:
        yield
    finally:
        _UNTIL.reset(before)


def check_time() -> None:
    """Raise `TimeUp` if the limit has passed.

    >>> check_time()
    >>> with deadline(0.0):
    ...     check_time()
    Traceback (most recent call last):
    fedabm.common.deadline.TimeUp
    """
    until = _UNTIL.get()
    if until < math.inf and time.perf_counter() > until:
        raise TimeUp


def in_time(work: Callable[..., Answer], *given: Any) -> Answer:
    """What the work gives, if there is time for it."""
    check_time()
    return work(*given)
