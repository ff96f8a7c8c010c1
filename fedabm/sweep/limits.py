"""Limits of a single run: seconds and bytes.

A run past its time is interrupted by a signal and becomes a failed row.  One that does not heed the signal, because it
hangs in compiled code, takes its worker with it a moment later; what it was doing then is written to a file first.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

__all__ = ["TimeLimit", "memory_limit", "time_limit"]

#: seconds after the limit until a run that did not heed it takes its worker with it
GRACE = 2.0


class TimeLimit(BaseException):
    """The run was too slow.  Not an Exception, so that no handler of the model swallows it."""


@contextlib.contextmanager
def time_limit(seconds: float | None, trace: Path | None = None) -> Iterator[None]:
    """Raise TimeLimit in the body after so many seconds; with a `trace` file, end the process if that does not help."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeLimit(f"the run took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    with contextlib.ExitStack() as stack:
        if trace is not None:
            file = stack.enter_context(trace.open("w"))
            faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=file)
            stack.callback(faulthandler.cancel_dump_traceback_later)
        stack.callback(signal.signal, signal.SIGALRM, before)
        stack.callback(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield


@contextlib.contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """Let the body take so many bytes more than the process has now; beyond, Python raises MemoryError (Linux)."""
    if size is None or not os.path.exists("/proc/self/statm"):
        yield
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + size
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
