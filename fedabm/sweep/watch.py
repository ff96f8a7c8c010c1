"""The time limit from outside: a worker that is stopped or hangs cannot heed its own clock.

A worker notes which run it is at.  The leader looks at these notes by its own clock: one that stays the same for longer
than a run may take is the note of a worker that must be ended.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from fedabm.sweep.limits import GRACE
from fedabm.sweep.worker import Batch, Settings, peek

__all__ = ["LOOK", "Watch"]

#: seconds between two looks
LOOK = 0.5
#: seconds that a worker has, beyond the limit of its run, to end it itself
MARGIN = GRACE + 3.0
#: seconds that a worker may take to start, to write results or to merge
IDLE = 180.0


@dataclass
class Watch:
    """How long every worker has been at what it is doing."""

    settings: Settings
    _seen: dict[Future, tuple[str, float]] = field(default_factory=dict)

    @property
    def pause(self) -> float | None:
        """Seconds until the next look; None where nothing is to be watched."""
        return None if self.settings.time_limit is None or not self.settings.hard else LOOK

    def overdue(self, running: Mapping[Future, Batch | tuple[str, ...]]) -> list[Future]:
        """The futures of workers that have been at one thing for too long."""
        if self.pause is None:
            return []
        now = time.monotonic()
        before, self._seen = self._seen, {}
        for future, what in running.items():
            note = peek(self.settings, what) if isinstance(what, Batch) else ""
            known, since = before.get(future, ("", now))
            self._seen[future] = (note, since if note == known else now)
        return [future for future, (note, since) in self._seen.items() if now - since > self._patience(note)]

    def _patience(self, note: str) -> float:
        limit = self.settings.time_limit or 0.0
        return limit + MARGIN if note else max(limit, IDLE)
