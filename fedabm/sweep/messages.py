"""What a sweep says while it runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fedabm.common.log import LOG
from fedabm.common.texts import visible
from fedabm.common.until import EnoughSeeds
from fedabm.sweep.runner import Count

__all__ = ["Messages"]

#: seconds between two lines where there is no terminal
LOG_SECONDS = 60.0


class Messages:
    """Lines and a progress bar on standard error, or silence; damage is always told."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._began = time.monotonic()
        self._logged = 0.0

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._console.print(visible(text), highlight=False, markup=False, soft_wrap=True)

    def damaged(self, path: Path) -> None:
        """A part was set aside."""
        LOG.warning("damaged part set aside as %s; its runs are repeated", path)

    def found(self, count: Count, others: int) -> None:
        """What was there already."""
        if count.done or count.failed:
            self._say(f"Found {count.done} runs done and {count.failed} failed; {count.left} are left.")
        if others:
            self._say(f"The folder also keeps {others} runs of other designs or other code; they are not mixed in.")

    @contextlib.contextmanager
    def progress(self, count: Count) -> Iterator[Callable[[Count], None]]:
        """A bar with done, failed, left and the time left; gives the function that moves it."""
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        silent = self._quiet or not self._console.is_terminal
        # the pace is that of the whole sweep: in a shorter time perhaps not one of its runs ends
        shown = Progress(*columns, console=self._console, disable=silent, speed_estimate_period=float("inf"))
        with shown as bar:
            task = bar.add_task(_words(count), total=count.left)
            first = count.left

            def tell(now: Count) -> None:
                bar.update(task, completed=first - now.left, description=_words(now))
                self._log(now, first)

            yield tell

    def _log(self, now: Count, first: int) -> None:
        """Where there is no terminal, as in the log of a cluster: a line now and then, and the time left."""
        seconds = time.monotonic() - self._began
        if self._console.is_terminal or seconds < self._logged + LOG_SECONDS:
            return
        self._logged = seconds
        to_go = timedelta(seconds=round(seconds / max(first - now.left, 1) * now.left))
        self._say(f"{_words(now)}, about {to_go} to go")

    def interrupted(self, count: Count, folder: Path, repeat: str) -> None:
        """How to go on."""
        how = f"go on with: {repeat}" if repeat else "run the same sweep again to go on"
        LOG.warning("stopped; %s, all kept in %s; %s", _words(count), folder, how)

    def enough(self, found: EnoughSeeds) -> None:
        """What a rule for the number of seeds came to."""
        self._say(f"{str(found)[0].upper()}{str(found)[1:]}.")

    def end(self, count: Count) -> None:
        """The last line."""
        hint = "; see error and traceback in `runs`, or try again with --retry-failed" if count.failed else ""
        self._say(f"{count.done} runs done, {count.failed} failed{hint}.")
        for why, runs in count.alone.most_common():
            self._say(f"{runs} runs were stepped one by one, which takes longer than many at once: {why}.")


def _words(count: Count) -> str:
    return f"{count.done} done, {count.failed} failed, {count.left} left"
