"""Jobs whose runs are of one kind are done together: stepped as one stack, at a fraction of the price.

Their rows are those of single runs, bit for bit.  What cannot be stacked, and what goes wrong in a stack, is done one
by one, so that a failure is the row of the run that failed.  So are runs with a limit on time or memory, as these hold
for one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from fedabm.results.nested import nest_stacked
from fedabm.simulation.alike import kind_of, why_alone
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stack import Stack
from fedabm.sweep.jobs import Job, as_text, scenario_of

__all__ = ["Group", "Made", "groups_of"]

#: the most owners in one stack: enough to make the last few runs, which take longest, cheap; few enough for a cache
MOST_ROWS = 2**14


class Made(NamedTuple):
    """A job and its scenario."""

    job: Job
    scenario: Scenario


@dataclass(frozen=True)
class Group:
    """Jobs whose runs are of one kind."""

    made: tuple[Made, ...]

    @property
    def jobs(self) -> list[Job]:
        """In order."""
        return [one.job for one in self.made]

    @property
    def room(self) -> int:
        """How many such runs make a full stack."""
        return max(1, MOST_ROWS // len(self.made[0].scenario.owners))

    def do(self) -> pa.Table:
        """All runs, one row each."""
        began = time.perf_counter()
        frames = Stack([one.scenario for one in self.made], [job.seed for job in self.jobs]).run()
        seconds = (time.perf_counter() - began) / len(self.made)
        for job, row in zip(self.jobs, frames.runs, strict=True):
            row |= {"label": job.cell, "parameters": as_text(job), "wall_time": seconds}
        return nest_stacked(frames)


def groups_of(jobs: Sequence[Job], note: Callable[[Job], None]) -> list[Group]:
    """The groups among some jobs; `note` is told whose scenario is being made.

    A cell whose first scenario cannot be stacked is not looked at any further.
    """
    kinds: dict[Hashable, list[Made]] = {}
    alone: set[str] = set()
    for job in jobs:
        if job.target.kind != "function" or job.cell in alone:
            continue
        note(job)
        try:
            made = Made(job, scenario_of(job))
            if why_alone(made.scenario) is None:
                kinds.setdefault(kind_of(made.scenario), []).append(made)
                continue
        except (Exception, SystemExit):  # it is told when the job is done by itself
            pass
        alone.add(job.cell)
    return [part for made in kinds.values() for part in _parted(Group(tuple(made)))]


def _parted(group: Group) -> list[Group]:
    """Groups of a size that can be stepped at once."""
    return [Group(group.made[first : first + group.room]) for first in range(0, len(group.made), group.room)]
