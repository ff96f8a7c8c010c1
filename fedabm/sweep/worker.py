"""What a worker does: run a batch of jobs, write their results as one part, and tell the leader only how it went.

Before each job it notes in a file which one it is at, so that the leader knows which job a dead worker had in hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pyarrow as pa

from fedabm.common.device import on_device
from fedabm.common.errors import in_one_line
from fedabm.common.files import Unwritable, clear_drafts, unwritable
from fedabm.results import parts
from fedabm.results.nested import Tables, nest, stack
from fedabm.sweep.jobs import Job, do, failed
from fedabm.sweep.limits import TimeLimit, memory_limit, time_limit
from fedabm.sweep.saving import HANDED, STOP, Saver
from fedabm.sweep.stacking import JobGroup, groups_of

__all__ = [
    "Batch",
    "CodeChanged",
    "Done",
    "Note",
    "Settings",
    "merge_parts",
    "peek",
    "read_note",
    "run_batch",
    "write_rows",
]


#: a job and the tables of its runs, or jobs that were done together and their rows
Finished = tuple[Job, list[Tables]] | tuple[list[Job], pa.Table]


class Stacked(NamedTuple):
    """Which jobs were done together, which of those are to be done again, and as `Found` has them `room` and `alone`.

    To be done again are those of a stack that has failed after it had handed them over.
    """

    done: set[str]
    again: set[str]
    room: int
    alone: Counter[str]


class Found(NamedTuple):
    """Which jobs failed, how many make a full stack, and how many went alone for what reasons."""

    failed: tuple[str, ...]
    room: int
    alone: Counter[str]


#: notes and traces of batches, checkpoints of jobs, and folders of the rows that these have streamed
_OURS = re.compile(rf"([0-9a-f]{{32}})(-\d+)?\.(json|txt|{HANDED}|checkpoint(\.rows)?)")


class CodeChanged(Exception):
    """The worker's source code is not the leader's."""


@dataclass(frozen=True)
class Settings:
    """What holds for every job of a sweep."""

    folder: Path
    code: str
    path: tuple[str, ...]
    time_limit: float | None = None
    memory_limit: int | None = None
    checkpoint: float | None = None
    hard: bool = True
    together: bool = True
    device: str = "auto"


@dataclass(frozen=True)
class Batch:
    """Some jobs that one worker does, alike ones `together`, the others one after the other."""

    name: str
    jobs: tuple[Job, ...]
    together: bool = True


@dataclass(frozen=True)
class Done:
    """How a batch went.

    Its parts, which jobs failed, the seconds it took, how many such jobs make a full stack, and how many that might
    have been stacked were done one by one for what reasons.
    """

    parts: tuple[parts.PartFile, ...]
    failed: tuple[str, ...]
    seconds: float
    stack: int = 1
    alone: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Note:
    """What a worker was doing when it last said so."""

    key: str
    began: float
    trace: str


def run_batch(settings: Settings, batch: Batch) -> Done:
    """Do the jobs of a batch and write them, what is finished before the rest if that takes long."""
    began = time.perf_counter()
    prepare(settings, batch)
    written: list[parts.PartFile] = []

    def save(finished: list[Finished]) -> None:
        written.append(write_rows(settings.folder, batch.name, finished))

    try:
        with on_device(settings.device), Saver(save, settings.folder / "running", batch.name) as saver:
            found = _run(settings, batch, saver)
    except OSError as error:  # of the note; what goes wrong in a run is a row
        raise unwritable(settings.folder, error, "free some space and resume") from None
    _clear(settings, batch)
    return Done(tuple(written), found.failed, time.perf_counter() - began, found.room, found.alone)


def _clear(settings: Settings, batch: Batch) -> None:
    """Remove the note, checkpoints and streamed rows of a batch that is done; a script has some for each run."""
    names = {batch.name, *(job.key for job in batch.jobs)}
    for path in (settings.folder / "running").iterdir():
        ours = _OURS.fullmatch(path.name)
        if ours and ours[1] in names:
            _remove(path)


def _remove(path: Path) -> None:
    """Remove a file, or a folder of streamed rows."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def clear_leftovers(folder: Path, done: Collection[str]) -> None:
    """Remove what killed workers left: notes, drafts, checkpoints and rows of jobs that are done; no other file."""
    clear_drafts(folder / "running")
    (folder / "running" / STOP).unlink(missing_ok=True)
    for leftover in (folder / "running").iterdir():
        ours = _OURS.fullmatch(leftover.name)
        if ours and (ours[3] in ("json", "txt", HANDED) or ours[1] in done):
            _remove(leftover)


def _run(settings: Settings, batch: Batch, saver: Saver[Finished]) -> Found:
    """Do the jobs, alike ones together and the others one by one."""
    lost: list[str] = []
    with _note(settings, batch).open("w") as note:
        stacked = _stacks(settings, batch, note, saver)
        for job in batch.jobs:
            if saver.asked:  # the leader has stopped
                break
            if job.key in stacked.done:
                continue
            _write_note(note, job.key)
            tables = _attempt(settings, batch, job)
            lost += [job.key] * any(one["runs"]["status"] == "failed" for one in tables)
            saver.add((replace(job, attempt=job.attempt + (job.key in stacked.again)), tables))
        _write_note(note, " " * len(job.key))  # at no run any more
    return Found(tuple(sorted(lost)), stacked.room, stacked.alone)


def _stacks(settings: Settings, batch: Batch, note: TextIO, saver: Saver[Finished]) -> Stacked:
    """Do alike jobs together.

    Jobs with a limit of their own, or a checkpoint to go on from, go one by one.
    """
    limited = settings.time_limit is not None or settings.memory_limit is not None
    functions = [job for job in batch.jobs if job.target.kind == "function"]
    if not settings.together:
        return Stacked(set(), set(), 1, Counter())
    if limited or not batch.together:
        why = "a limit on time or memory holds for one run" if limited else "a worker has died"
        return Stacked(set(), set(), 1, Counter({why: len(functions)} if functions else {}))
    fresh = [job for job in batch.jobs if not _saved(settings, job).exists()]
    groups, alone = groups_of(fresh, lambda job: _write_note(note, job.key))
    found = Stacked(set(), set(), max((group.room for group in groups), default=1), alone)
    for group in groups:
        if len(group.jobs) == 1:
            continue
        done: set[str] = set()
        try:
            _stack(group, note, saver, done)
        except Exception as error:  # should it come from one of the runs, that fails when it is done by itself
            alone[in_one_line(error)] += len(group.jobs)
            found.again.update(done)
            found = found._replace(room=1)
        else:
            found.done.update(done)
    return found


def _stack(group: JobGroup, note: TextIO, saver: Saver[Finished], done: set[str]) -> None:
    """Do the jobs of a group together; `done` gets the keys of those that have ended."""

    def hand(jobs: list[Job], table: pa.Table) -> None:
        saver.add((jobs, table))
        done.update(job.key for job in jobs)
        for job in [job for job in group.jobs if job.key not in done][:1]:
            _write_note(note, job.key)  # should the worker die, it is none of those that have ended

    _write_note(note, group.jobs[0].key)
    with saver.elsewhere():
        group.do(hand, lambda: saver.asked)


def prepare(settings: Settings, batch: Batch) -> None:
    """Make the leader's modules importable, and make sure that they are the leader's."""
    sys.path += [entry for entry in settings.path if entry not in sys.path]
    if batch.jobs[0].target.code != settings.code:
        raise CodeChanged
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _attempt(settings: Settings, batch: Batch, job: Job) -> list[Tables]:
    """The tables of a job, or the row that says why there are none."""
    began = time.perf_counter()
    trace = _trace(settings, batch) if settings.hard else None
    try:
        with time_limit(settings.time_limit, trace), memory_limit(settings.memory_limit):
            return do(job, _saved(settings, job), settings.checkpoint)
    except Unwritable:  # no fault of the run: it is left to do
        raise
    except (Exception, SystemExit, TimeLimit) as error:
        return [failed(job, error, time.perf_counter() - began)]


def _write_note(file: TextIO, key: str) -> None:
    """Over the last note, which is as long."""
    file.seek(0)
    file.write(json.dumps({"key": key, "began": f"{time.time():.3f}"}))
    file.flush()


def write_rows(folder: Path, batch: str, finished: Sequence[Finished]) -> parts.PartFile:
    """Write the tables of some runs as one part."""
    singles = [(job, one) for job, tables in finished if isinstance(job, Job) for one in tables]
    stacks = [(jobs, table) for jobs, table in finished if not isinstance(jobs, Job)]
    table = stack([nest([one for _, one in singles])] * bool(singles) + [table for _, table in stacks])
    jobs = [*(job for job, _ in singles), *(job for jobs, _ in stacks for job in jobs)]
    numbers = _numbers(jobs)
    marks: dict[str, Any] = {
        "key": pa.array([job.key for job in jobs]),
        "attempt": pa.array([job.attempt for job in jobs], pa.int64()),
        "batch": pa.array([batch] * len(jobs)),
        "number": pa.array(numbers, pa.int64()),
    }
    for place, (name, column) in enumerate(marks.items()):
        table = table.add_column(place, name, column)
    return parts.write(table, folder / "parts")


def _numbers(jobs: Sequence[Job]) -> list[int]:
    """For each row, how many rows of the same attempt at the same job come before it."""
    before: Counter[tuple[str, int]] = Counter()
    numbers = []
    for job in jobs:
        numbers.append(before[job.key, job.attempt])
        before[job.key, job.attempt] += 1
    return numbers


def merge_parts(settings: Settings, names: Sequence[str]) -> parts.PartFile:
    """Merge some parts into one."""
    return parts.merge(settings.folder / "parts", names)


def read_note(settings: Settings, batch: Batch) -> Note | None:
    """What the worker of a batch was doing when it died, if it had begun; the note is taken away."""
    path, trace = _note(settings, batch), _trace(settings, batch)
    try:
        found = json.loads(path.read_text())
        text = trace.read_text() if trace.exists() else ""
    except (OSError, ValueError):
        return None
    for leftover in (path, trace):
        with contextlib.suppress(OSError):
            os.unlink(leftover)
    return Note(found["key"], float(found["began"]), text)


def peek(settings: Settings, batch: Batch) -> str:
    """Which run the worker of a batch is at, and since when; nothing if it is at none."""
    try:
        found = json.loads(_note(settings, batch).read_text())
        return f"{found['key']} {found['began']}" if found["key"].strip() else ""
    except (OSError, ValueError):
        return ""


def _note(settings: Settings, batch: Batch) -> Path:
    return settings.folder / "running" / f"{batch.name}.json"


def _trace(settings: Settings, batch: Batch) -> Path:
    return settings.folder / "running" / f"{batch.name}.txt"


def _saved(settings: Settings, job: Job) -> Path:
    return settings.folder / "running" / f"{job.key}.checkpoint"
