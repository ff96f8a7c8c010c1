"""Finished runs of a batch reach the disk soon, however long the rest of the batch takes.

A thread beside the runs writes what has been finished for a while as a part.  A leader that is told to stop leaves a
file, `STOP`, among the notes; then workers hand over at once what they have, and say so.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from fedabm.common.errors import in_one_line
from fedabm.common.log import LOG

__all__ = ["Saver", "ask_to_stop", "handed_over"]


#: seconds after which what is finished is written
SOON = 1.0
#: seconds between two looks
_LOOK = 0.2
#: the file by which a leader asks for everything that is finished
STOP = "stop"
#: how the names of the files end by which workers say that they have handed it over
HANDED = "handed"

Item = TypeVar("Item")


class Saver(Generic[Item]):
    """Keeps finished items for a moment and gives them to `save`, many at once; at the latest when its block ends."""

    def __init__(self, save: Callable[[list[Item]], None], notes: Path, name: str) -> None:
        self._save = save
        self._stop, self._handed = notes / STOP, notes / f"{name}.{HANDED}"
        self._items: list[Item] = []
        self._since = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._elsewhere = False
        #: whether a leader has asked for everything
        self.asked = False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def add(self, *items: Item) -> None:
        """Finished items."""
        with self._lock:
            if not self._items:
                self._since = time.monotonic()
            self._items += items

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """While more that is finished is elsewhere: whoever has it adds it now and then, and ends when `asked`."""
        self._elsewhere = True
        try:
            yield
        finally:
            self._elsewhere = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._write()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK):
            self.asked = asked = self._stop.exists()
            here = not self._elsewhere
            try:
                if asked or (self._items and time.monotonic() - self._since >= SOON):
                    self._write()
                if asked and here:
                    self._handed.touch()
            except Exception as error:  # tried again later, and in the end by the worker itself
                LOG.info("finished runs are written later: %s", in_one_line(error))

    def _write(self) -> None:
        """Write all there is; what cannot be written is kept."""
        with self._lock:
            if self._items:
                self._save(self._items)
                self._items = []


def ask_to_stop(notes: Path) -> None:
    """Ask all workers for what they have finished."""
    (notes / STOP).touch()


def handed_over(notes: Path, names: list[str], patience: float = 3.0) -> None:
    """Wait until the workers at these batches have handed over what they have finished, but not for ever."""
    end = time.monotonic() + patience
    while time.monotonic() < end and not all((notes / f"{name}.{HANDED}").exists() for name in names):
        time.sleep(_LOOK / 4)
