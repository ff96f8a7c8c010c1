"""Jobs whose runs are of one kind are done together: stepped as one stack, at a fraction of the price.

Their rows are those of single runs, bit for bit.  What cannot be stacked, and what goes wrong in a stack, is done one
by one, so that a failure is the row of the run that failed.  So are runs with a limit on time or memory, as these hold
for one run.  Runs that end before the others of their stack are handed over soon after; the stack itself has no
checkpoint, so that of runs that were cut short nothing is kept.  Why runs were done one by one is counted and told at
the end of the sweep.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from fedabm.common.errors import in_one_line
from fedabm.results.nested import nest_stacked
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stack import StackedRuns
from fedabm.simulation.stacking import kind_of, why_alone
from fedabm.sweep.jobs import Job, as_text, scenario_of

__all__ = ["Grouped", "JobGroup", "Made", "groups_of"]

#: the most owners in one stack: enough to make the last few runs, which take longest, cheap; few enough for a cache
MOST_ROWS = 2**14
#: seconds between two looks for runs of a stack that have ended
_LOOK = 0.5


class Made(NamedTuple):
    """A job, its scenario, and of which kind that is."""

    job: Job
    scenario: Scenario
    kind: Hashable


@dataclass(frozen=True)
class JobGroup:
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

    def do(self, hand: Callable[[list[Job], pa.Table], None], asked: Callable[[], bool]) -> None:
        """All runs, one row each, given to `hand` soon after they end; ends early when `asked` to, or by Ctrl-C."""
        began = time.perf_counter()
        look = began + _LOOK
        runs = StackedRuns([one.scenario for one in self.made], [job.seed for job in self.jobs])
        try:
            while len(runs.runs) and not asked():
                runs.step()
                if (now := time.perf_counter()) >= look:
                    self._hand_over(runs, began, hand)
                    after = time.perf_counter()
                    look = after + max(_LOOK, after - now)  # at most half of the time goes into it
        except KeyboardInterrupt:
            self._hand_over(runs, began, hand)
            raise
        self._hand_over(runs, began, hand)

    def _hand_over(self, runs: StackedRuns, began: float, hand: Callable[[list[Job], pa.Table], None]) -> None:
        """Hand over the runs that have ended, and forget them."""
        ended = runs.ended
        if not len(ended):
            return
        frames, jobs = runs.frames(ended), [self.made[run].job for run in ended.tolist()]
        seconds = (time.perf_counter() - began) / len(self.made)
        for job, row in zip(jobs, frames.runs, strict=True):
            row |= {"label": job.cell, "parameters": as_text(job), "wall_time": seconds}
        table = nest_stacked(frames)
        runs.forget(ended)
        hand(jobs, table)


class Grouped(NamedTuple):
    """The groups among some jobs, and for each reason why others are not in any, how many."""

    groups: list[JobGroup]
    alone: Counter[str]


def groups_of(jobs: Sequence[Job], note: Callable[[Job], None]) -> Grouped:
    """Jobs that make scenarios in groups; `note` is told whose scenario is being made.

    A cell whose first scenario cannot be stacked is not looked at any further.
    """
    kinds: dict[Hashable, list[Made]] = {}
    alone: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for job in jobs:
        if job.target.kind != "function":
            continue
        if job.cell not in reasons:
            note(job)
            found = _made(job)
            if isinstance(found, Made):
                kinds.setdefault(found.kind, []).append(found)
                continue
            reasons[job.cell] = found
        alone[reasons[job.cell]] += 1
    return Grouped([part for made in kinds.values() for part in _parted(JobGroup(tuple(made)))], alone)


def _made(job: Job) -> Made | str:
    """The scenario of a job, or why it cannot be stacked."""
    try:
        scenario = scenario_of(job)
        why = why_alone(scenario)
        return Made(job, scenario, kind_of(scenario)) if why is None else f"{why} cannot be stacked"
    except (Exception, SystemExit) as error:  # the row of the job that is done by itself says more
        return in_one_line(error)


def _parted(group: JobGroup) -> list[JobGroup]:
    """Groups of a size that can be stepped at once."""
    return [JobGroup(group.made[first : first + group.room]) for first in range(0, len(group.made), group.room)]
