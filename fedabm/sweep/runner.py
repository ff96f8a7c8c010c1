"""The leader of a sweep: hands out batches, counts deaths, merges parts, and knows what is left."""

from __future__ import annotations

import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

from fedabm.common.errors import InputError
from fedabm.results import parts
from fedabm.results.sweeps import states
from fedabm.sweep.executors import WorkerDied, Workers
from fedabm.sweep.jobs import Job, failed
from fedabm.sweep.saving import ask_to_stop, handed_over
from fedabm.sweep.watch import Watch
from fedabm.sweep.worker import Batch, CodeChanged, Done, Note, Settings, merge_parts, read_note, run_batch, write_rows

__all__ = ["Count", "Runner"]

#: how often a job may take its worker with it
DEATHS = 3
#: how often in a row workers may be killed while they start
STARTS = 20
#: seconds of work that one batch should hold
BATCH_SECONDS = 1.0
#: the most jobs in one batch, unless they make a full stack
BATCH_JOBS = 200


@dataclass
class Count:
    """How far a sweep is; `alone`: how many runs were stepped one by one though they might be stacked, and why."""

    total: int
    done: int = 0
    failed: int = 0
    alone: Counter[str] = field(default_factory=Counter, compare=False)

    @property
    def left(self) -> int:
        """Jobs that have no row yet."""
        return self.total - self.done - self.failed


@dataclass
class Runner:
    """Leads the jobs that are left to their end.  `tell` is called with the count after each batch."""

    settings: Settings
    executor: Workers
    jobs: Sequence[Job]
    count: Count
    tell: Callable[[Count], None]
    _queue: deque[Job] = field(default_factory=deque)
    _running: dict[Future, Batch | tuple[str, ...]] = field(default_factory=dict)
    _deaths: Counter = field(default_factory=Counter)
    _overdue: set[Future] = field(default_factory=set)
    _failed_starts: int = 0
    _pace: float | None = None
    _stack: int = 1

    def run(self) -> None:
        """Do all jobs.  On Ctrl-C workers hand over what they have finished, and the count is that of what is kept."""
        before = (self.count.done, self.count.failed)
        try:
            self._lead()
        except KeyboardInterrupt:
            self._take_over()
            self._recount(*before)
            raise

    def _lead(self) -> None:
        self._queue.extend(self.jobs)
        self._parts = {part.name: part for part in parts.parts_in(self.settings.folder / "parts")}
        watch = Watch(self.settings)
        while self._queue or self._running:
            self._hand_out()
            done, _ = wait(self._running, watch.pause, FIRST_COMPLETED)
            for future in done:
                self._settle(future, self._running.pop(future))
            for future in watch.overdue(self._running):
                self._overdue.add(future)
                self.executor.end(future)

    def _take_over(self) -> None:
        """Let workers hand over what they have finished."""
        if batches := [what.name for what in self._running.values() if isinstance(what, Batch)]:
            notes = self.settings.folder / "running"
            ask_to_stop(notes)
            handed_over(notes, batches)

    def _recount(self, done: int, lost: int) -> None:
        """Count what is on disk of the jobs that were left, beside what was there before."""
        known = states(self.settings.folder)
        found = [
            known[job.key].failed for job in self.jobs if job.key in known and known[job.key].attempt >= job.attempt
        ]
        self.count.done, self.count.failed = done + found.count(False), lost + found.count(True)

    def _hand_out(self) -> None:
        """Keep every worker busy; merging goes first, as it is due only now and then."""
        if due := self._due():
            self._submit(merge_parts, due)
        while self._queue and len(self._running) < self.executor.workers:
            self._submit(run_batch, self._next())

    def _submit(self, function: Callable[..., Any], what: Batch | tuple[str, ...]) -> None:
        self._running[self.executor.submit(function, self.settings, what)] = what

    def _next(self) -> Batch:
        """As many jobs as should take about a second, or make a full stack where runs are stepped together.

        Fewer at the end, so that no worker is left with all of it.  A job that has taken a worker with it goes alone.
        """
        enough = 1 if self._pace is None else int(BATCH_SECONDS / max(self._pace, 1e-6))
        size = max(1, min(BATCH_JOBS, enough), self._stack)
        fair = -(-len(self._queue) // (2 * self.executor.workers))
        taken = [self._queue.popleft()]
        while (
            self._queue and len(taken) < min(size, fair) and not {taken[0].key, self._queue[0].key} & set(self._deaths)
        ):
            taken.append(self._queue.popleft())
        # Once a worker has died, who is to blame matters more than speed.
        return Batch(uuid.uuid4().hex, tuple(taken), together=not self._deaths)

    def _settle(self, future: Future, what: Batch | tuple[str, ...]) -> None:
        error = future.exception()
        if isinstance(error, CodeChanged):
            raise InputError("the source code has changed since the sweep began; start it again") from None
        if isinstance(error, WorkerDied):
            self._worker_died(error, what, overdue=future in self._overdue)
        elif error is not None:
            raise error
        elif isinstance(what, Batch):
            self._finished(what, future.result())
        else:
            self._merged(what, future.result())

    def _finished(self, batch: Batch, done: Done) -> None:
        self._failed_starts = 0
        self._parts |= {part.name: part for part in done.parts}
        self._stack = done.stack
        self.count.alone += done.alone
        pace = done.seconds / len(batch.jobs)
        self._pace = pace if self._pace is None else 0.5 * (self._pace + pace)
        self._tally(batch.jobs, done.failed)

    def _tally(self, jobs: Sequence[Job], lost: Sequence[str]) -> None:
        self.count.failed += len(lost)
        self.count.done += len(jobs) - len(lost)
        self.tell(self.count)

    def _worker_died(self, error: WorkerDied, what: Batch | tuple[str, ...], *, overdue: bool) -> None:
        """Repeat what the worker had in hand, unless its job has done this too often."""
        self._failed_starts = 0 if error.started else self._failed_starts + 1
        if self._failed_starts >= (STARTS if error.killed else DEATHS):
            raise InputError(
                f"workers cannot start ({error}); does your script call the sweep under if __name__ == '__main__'?"
            )
        if not isinstance(what, Batch):
            self._merged(what, None)
            return
        note = read_note(self.settings, what)
        jobs = self._not_handed_over(what)
        guilty = next((job for job in jobs if note and job.key == note.key), None)
        repeated = [job for job in jobs if job is not guilty]
        if note and guilty and not self._given_up(guilty, error, note, overdue=overdue):
            repeated.insert(0, guilty)
        self._queue.extendleft(reversed(repeated))

    def _not_handed_over(self, batch: Batch) -> list[Job]:
        """The jobs of a batch that its worker had not written when it died; the others count."""
        here = {part.name: part for part in parts.parts_in(self.settings.folder / "parts")}
        if here.keys() <= self._parts.keys():
            return list(batch.jobs)
        self._parts = here
        known = states(self.settings.folder)
        there = [job for job in batch.jobs if job.key in known and known[job.key].attempt >= job.attempt]
        self._tally(there, [job.key for job in there if known[job.key].failed])
        keys = {job.key for job in there}
        return [job for job in batch.jobs if job.key not in keys]

    def _given_up(self, job: Job, error: WorkerDied, note: Note, *, overdue: bool) -> bool:
        """Whether the job has had its chances; then its row says why."""
        limit = self.settings.time_limit
        seconds = time.time() - note.began
        late = limit is not None and (overdue or (seconds >= limit and bool(note.trace)))
        self._deaths[job.key] += error.blame
        if not late and self._deaths[job.key] < DEATHS:
            return False
        reason = f"TimeLimit: the run took longer than {limit:g} s" if late else f"WorkerDied: {error} ({DEATHS} times)"
        row = failed(job, reason, seconds, note.trace)
        part = write_rows(self.settings.folder, uuid.uuid4().hex, [(job, [row])])
        self._parts[part.name] = part
        self._tally([job], [job.key])
        return True

    # Merging

    def _due(self) -> tuple[str, ...]:
        """The parts to merge now, unless some are being merged."""
        merging = any(not isinstance(what, Batch) for what in self._running.values())
        return () if merging else parts.due(self._parts.values())

    def _merged(self, names: tuple[str, ...], part: parts.PartFile | None) -> None:
        """Forget the parts that were merged; after a death look at what is there."""
        if part is None:
            parts.tidy(self.settings.folder / "parts", unfinished=False)
            self._parts = {part.name: part for part in parts.parts_in(self.settings.folder / "parts")}
            return
        for name in names:
            self._parts.pop(name, None)
        self._parts[part.name] = part
