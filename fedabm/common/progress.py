"""How far long work has come: a bar on a terminal and in a notebook, else a line now and then with the time left.

The lines go to the error stream, so that tables in a file stay clean.  The first comes after some seconds, so that
short work says nothing; the pauses grow, so that a night fills no log.  They come from a thread of their own, so that
one long step is no silence.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from fedabm.common.notebooks import in_notebook, notebook_bar

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["following", "heartbeat", "track"]

#: seconds before the first line, by what each pause is longer than the last, and the longest pause
FIRST = 5.0
GROWTH = 1.5
LONGEST = 600.0

Item = TypeVar("Item")
#: what is called after each piece of the work
Advance = Callable[[], None]


@contextlib.contextmanager
def following(
    label: str, total: int, done: int = 0, *, console: Console | None = None, quiet: bool = False
) -> Iterator[Advance]:
    """Show how far work of this many pieces has come; gives what to call after each of them."""
    from rich.console import Console  # slow to import

    console = console or Console(stderr=True)
    if quiet:
        yield lambda: None
    elif console.is_terminal:
        with _bar(label, total, done, console) as advance:
            yield advance
    elif in_notebook():
        with notebook_bar(label, total, done) as advance:
            yield advance
    else:
        with heartbeat(label, total, done) as advance:
            yield advance


@contextlib.contextmanager
def _bar(label: str, total: int, done: int, console: Console) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total, completed=done)
        yield lambda: bar.advance(task)


@contextlib.contextmanager
def heartbeat(label: str, total: int, done: int = 0) -> Iterator[Advance]:
    """Lines on the error stream, at growing intervals."""
    count = [done]
    began = time.monotonic()
    over = threading.Event()

    def beat() -> None:
        pause = FIRST
        while not over.wait(pause):
            print(_line(label, count[0], total, done, time.monotonic() - began), file=sys.stderr, flush=True)
            pause = min(pause * GROWTH, LONGEST)

    def advance() -> None:
        count[0] += 1

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield advance
    finally:
        over.set()
        thread.join()


def _line(label: str, now: int, total: int, before: int, seconds: float) -> str:
    """What has been done, and about how long the rest takes at the pace so far.

    >>> _line("ShapleyShare", 30, 100, 10, 40.0)
    'fedabm: ShapleyShare: 30 of 100 after 0:00:40, about 0:02:20 to go'
    """
    text = f"fedabm: {label}: {now} of {total} after {timedelta(seconds=round(seconds))}"
    if now == before:
        return text
    rest = seconds / (now - before) * max(total - now, 0)
    return f"{text}, about {timedelta(seconds=round(rest))} to go"


def track(
    items: Sequence[Item] | Iterable[Item], label: str, *, console: Console | None = None, quiet: bool = False
) -> Iterator[Item]:
    """Go through the items of a long piece of work, and show how far it has come."""
    items = list(items)
    with following(label, len(items), console=console, quiet=quiet) as advance:
        for item in items:
            yield item
            advance()
