"""Limits of a single run: seconds and bytes.

A run past its time or memory is interrupted by a signal and becomes a failed row.  One that does not heed its time,
because it hangs in compiled code, takes its worker with it a moment later; what it was doing then is written to a file
first.
"""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from fedabm.common.errors import InputError

try:
    import resource
except ImportError:  # Windows, which knows neither such limits nor such signals
    resource = None  # type: ignore[assignment]

__all__ = ["TimeLimit", "memory_limit", "time_limit"]

#: seconds after the limit until a run that did not heed it takes its worker with it
GRACE = 2.0
#: seconds after which a limit that was swallowed, as by a destructor, is raised again
AGAIN = 1.0
#: references to an error that nobody holds any more but the list of those raised: that, and the question itself
_FORGOTTEN = 2
#: seconds between two looks at the memory
WATCH = 0.02
#: bytes of addresses that may be reserved beyond the memory
ROOM = 4 * 2**30

_STATUS = Path("/proc/self/statm")


class TimeLimit(BaseException):
    """The run was too slow.  Not an Exception, so that no handler of the model swallows it."""


@contextlib.contextmanager
def time_limit(seconds: float | None, trace: Path | None = None) -> Iterator[None]:
    """Raise TimeLimit in the body after these seconds; with a `trace` file, end the process if that does not help."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _check_possible("time")

    words = f"the run took longer than {seconds:g} s"
    raised: list[TimeLimit] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if raised and sys.getrefcount(raised[-1]) > _FORGOTTEN:
            return  # on its way through the body, or being dealt with: a second one could strike outside
        raised.append(TimeLimit(words))
        raise raised[-1]

    before = signal.signal(signal.SIGALRM, stop)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_unreported(TimeLimit, words))
        if trace is not None:
            file = stack.enter_context(trace.open("w"))
            faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=file)
            stack.callback(faulthandler.cancel_dump_traceback_later)
        stack.callback(signal.signal, signal.SIGALRM, before)
        stack.callback(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        yield


@contextlib.contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """Raise MemoryError in the body once the process holds this many bytes more than now.

    What counts is memory in use.  On Linux a single request far beyond the limit is also refused at once, by a limit on
    addresses; it leaves room, as libraries reserve addresses that they never use.  Elsewhere (macOS) only the most that
    the process ever held is known, so that a run may fill what an earlier run of its worker has given back.

    Parameters
    ----------
    size : int | None
        Bytes beyond what is in use now; None: no limit.

    Returns
    -------
    Iterator[None]
        A context in which the limit holds.
    """
    if size is None:
        yield
        return
    _check_possible("memory")
    with _addresses(size), _watched(_held() + size, f"the run took more than {size / 2**20:.0f} MiB of memory"):
        yield


def _check_possible(what: str) -> None:
    if resource is None or not hasattr(signal, "SIGALRM"):
        raise InputError(f"a limit of {what} needs signals, which this system lacks; leave it out")


@contextlib.contextmanager
def _addresses(size: int) -> Iterator[None]:
    """Refuse requests for far more than this many further bytes, where that is known to work."""
    if not _STATUS.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _pages(0) + size + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def _watched(most: int, words: str) -> Iterator[None]:
    """Interrupt the body by a signal when the process holds more than this many bytes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise MemoryError(words)

    def watch() -> None:
        while not ended.wait(WATCH):
            if _held() > most:
                signal.pthread_kill(body, signal.SIGUSR2)
                ended.wait(GRACE)

    ended, body = threading.Event(), threading.get_ident()
    before = signal.signal(signal.SIGUSR2, stop)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with _unreported(MemoryError, words):
            yield
    finally:
        ended.set()
        watcher.join()
        signal.signal(signal.SIGUSR2, before)


@contextlib.contextmanager
def _unreported(kind: type[BaseException], words: str) -> Iterator[None]:
    """Have Python say nothing of a limit that a destructor swallowed, since it is raised again."""
    before = sys.unraisablehook

    def report(found: sys.UnraisableHookArgs) -> None:
        if not (isinstance(found.exc_value, kind) and str(found.exc_value) == words):
            before(found)

    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = before


def _held() -> int:
    """Bytes of memory that the process holds, or the most it ever held where nothing else is known."""
    if _STATUS.exists():
        return _pages(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _pages(column: int) -> int:
    """Bytes of addresses (0) or of memory held (1)."""
    return int(_STATUS.read_text().split()[column]) * resource.getpagesize()
