"""What a tracker was told, in a file beside it: trackers write late, and a killed process takes that with it.

Every step is a line in the journal before it goes to the tracker, so that a run that goes on from a checkpoint can tell
a fresh run of the tracker all that was done before: there every step is found once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fedabm.simulation.watching import RunBegun, Watcher
from fedabm.simulation.writers import JsonLinesWriter

__all__ = ["Tracker", "numbers"]

#: the folder of the journals, beside what a tracker writes
_PLACE = ".steps"


class Tracker(Watcher):
    """Tells a library of a run; `open`, `put` and `close` say how."""

    owners = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._journal = _Journal(folder / _PLACE)

    def begin(self, run: RunBegun) -> None:
        """A run of the library's own; where this one goes on, with the steps that are done."""
        self._journal.begin(run)
        self.open(run)
        self.put(self._journal.lines(run))

    def step(self, values: Mapping[str, Any]) -> None:
        """One number per column."""
        self._journal.step(values)
        self.put([{"step": int(values["step"]), **numbers(values)}])

    def end(self) -> None:
        """Write what is left."""
        self._journal.end()
        self.close()

    def open(self, run: RunBegun) -> None:
        """Begin a fresh run; what a killed process wrote of it goes."""
        raise NotImplementedError

    def put(self, steps: Iterable[Mapping[str, float]]) -> None:
        """Write the numbers of some steps, with the `step` among them."""
        raise NotImplementedError

    def close(self) -> None:
        """The run has ended, or was broken off."""
        raise NotImplementedError


class _Journal(JsonLinesWriter):
    """One line per step, with numbers that JSON does not know too."""

    def step(self, values: Mapping[str, Any]) -> None:
        self._put(json.dumps({"step": int(values["step"]), **numbers(values)}) + "\n")

    def lines(self, run: RunBegun) -> list[dict[str, float]]:
        """The steps that are done."""
        text = (self._folder / f"{run.name}.{self.ending}").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The columns that hold a number."""
    return {name: float(value) for name, value in values.items() if name != "step" and value == value}
